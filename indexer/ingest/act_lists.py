"""Acts on files, listed on disk before they are done, for undo."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from indexer.errors import NeardupError, UsageError, machines_fault
from indexer.ingest.regular_files import UnreadableError, open_regular
from indexer.ingest.relocating import FileAct
from indexer.model.paths import printable_path

# The name of the form in the first line of a list.
FORM = {"form": "neardup acts 1"}
_LONGEST_LINE = 200_000
_KINDS = {"mode": int, "size": int, "modified_ns": int}


class ActList:
    """A list of acts written as they are done, one JSON object a line; a context manager.

    It always makes a new file. Raises UsageError if it exists.
    """

    def __init__(self, path: str) -> None:
        self._shown = f"{printable_path(path)}: the list of what is done"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(f"{self._shown} can't be made here: {error.strerror}") from None
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._write(FORM)

    def begin(self, act: FileAct) -> None:
        """Write an act before doing it; it is on disk when this returns."""
        self._write(asdict(act))

    def _write(self, value: Mapping[str, Any]) -> None:
        line = json.dumps(value).encode() + b"\n"
        try:
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            doing = f"{self._shown} can't be written"
            raise machines_fault(error, doing) or NeardupError(f"{doing}: {error.strerror}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def acts_backwards(path: str | os.PathLike[str]) -> Iterator[FileAct]:
    """The acts in a list, the last first, without a last line cut off by a kill.

    Raises UsageError for another file.
    """
    name = printable_path(os.fspath(path))
    try:
        with open_regular(os.fspath(path)) as file:
            starts, end = array("Q"), 0
            while (line := file.readline(_LONGEST_LINE)).endswith(b"\n"):
                starts.append(end)
                end += len(line)
                _checked(line, name, len(starts))
            if not starts or len(line) == _LONGEST_LINE:
                raise UsageError(f"{name}:{len(starts) + 1}: no list of acts by neardup")
            for number in range(len(starts), 1, -1):
                file.seek(starts[number - 1])
                yield FileAct(**_checked(file.readline(_LONGEST_LINE), name, number))
    except (UnreadableError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error.detail
        raise UsageError(f"{name}: the list can't be read: {why}") from None


def _checked(line: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(line)
        if number > 1:
            _require_act(value)
        elif value != FORM:
            raise ValueError("the first line is another one")
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"{name}:{number}: no list of acts by neardup: {error}") from None
    return value


def _require_act(value: dict[str, Any]) -> None:
    act = FileAct(**value)
    for name, held in value.items():
        kind = _KINDS.get(name, str)
        if type(held) is not kind:
            raise ValueError(f"{name} is no {kind.__name__}")
    if act.act not in ("move", "hard", "symbolic") or not os.path.isabs(act.path) or not os.path.isabs(act.target):
        raise ValueError("an act of another kind, or a relative path")
