"""Documents refused by a store, as JSON lines to read again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from indexer.errors import ExtractionError, StoreError, UsageError
from indexer.extract.base import Limits, Options
from indexer.ingest.readers.base import json_text
from indexer.ingest.regular_files import UnreadableError, read_file, write_line
from indexer.ingest.sources import Input
from indexer.model import REASON_KEY, Record, own_files

PATTERN = "neardup-refused-*.jsonl"
"""The names of the default files; folders are walked without them."""


def letters_path(asked: str | None, inputs: Iterable[str]) -> Path:
    """The file for refused documents: the requested one, or one of this run's own in the current folder.

    Raises UsageError for an input of the same run, and for a file of a store.
    """
    if asked is None:
        # The time to the microsecond, so that a run that reads an earlier one's file never takes it for its own.
        return Path(PATTERN.replace("*", datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ") + f"-{os.getpid()}"))
    if any(_is_same(asked, name) for name in inputs):
        raise UsageError(f"--dead-letters {asked}: this file is read in the same run; name another one")
    try:
        own_files.require_free(asked)
    except own_files.OwnFileError as error:
        raise UsageError(f"--dead-letters {asked}: {error.strerror}") from None
    return Path(asked)


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


class DeadLetters:
    """The file of refused documents of a run, called with each of them; a context manager.

    It is made at the first one and only readable by its owner. Every line is on disk when the call returns, so a kill
    loses none. `tell` is called with a sentence about a document that can't be read again. Raises StoreError if the
    file can't be written.
    """

    def __init__(self, path: Path, options: Options, limits: Limits, tell: Callable[..., None]) -> None:
        self.path, self.count = path, 0
        self._options, self._limits, self._tell = options, limits, tell
        self._descriptor: int | None = None

    def __call__(self, item: Input, record: Record, reason: str) -> None:
        html, title = item.format == "html" and not item.path, item.title
        if item.path or item.format not in ("text", "html"):
            from indexer.extract import extract

            try:
                data = read_file(item.path, self._limits.input_bytes) if item.path else item.data
                options = replace(self._options, format=item.format) if item.format else self._options
                document = extract(data, name=item.path or item.name, options=options, limits=self._limits)
            except (ExtractionError, UnreadableError) as error:
                said = f"{item.source}: was refused ({reason}), and can't be read again for {self.path}: {error}"
                self._tell(said, level="warning", error=type(error).__name__, reason=error.reason)
                return
            text, title = document.text, title or document.title
        else:
            text = item.data.decode("utf-8-sig" if html else "utf-8")
        known = {key: value for key, value in (("title", title), ("url", item.source)) if value}
        body = {"id": record.ref.id, **known, "html" if html else "text": text}
        self._write({**item.metadata, **body, REASON_KEY: reason})

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            if self._descriptor is None:
                self._descriptor = own_files.writer(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            # Escapes alone, so that text that is no Unicode is a line all the same.
            write_line(self._descriptor, json_text(line).encode("ascii"))
        except OSError as error:
            raise StoreError(f"{self.path}: a refused document can't be written: {error.strerror}") from error
        self.count += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
