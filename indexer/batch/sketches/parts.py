"""The parts of a batch: which documents of the input go into one file of sketches, and under which name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any

from indexer.batch.sketches.inputs import seen_from, state_of
from indexer.ingest.naming import absolute, id_of_path
from indexer.ingest.readers import ColumnNames, FileReader, reader_by_head, reader_of
from indexer.ingest.readers.compression import BROKEN, decompressed
from indexer.ingest.remote import is_remote
from indexer.ingest.sources import Rejected, Selection, Sources, UnreadableError, open_regular
from indexer.model.paths import path_of_printable, printable_path

_FILES_TOGETHER = 5000
_HEAD = 512
# What of a selection decides which documents a file has.
_READ_BY = ("include", "exclude", "hidden", "id_from", "base", "line_limit")
_UNFIT = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class Part:
    """Documents that go into one file of sketches, which is called `name`.

    They are those of the one of `files` that a `reader` takes apart, or the files themselves, which lie in one folder.
    `seen` says where that was: see `indexer.batch.sketches.inputs.seen_from`.
    """

    name: str
    files: tuple[Any, ...]
    reader: FileReader | None = None
    seen: str = ""

    @property
    def path(self) -> str:
        """The path or URL of the only file, or of the folder."""
        return str(self.files[0].path) if self.reader else os.path.dirname(str(self.files[0].path))

    @property
    def place(self) -> str:
        """The same as an absolute path, with the number of the part where a folder has several."""
        absolute = self.path if is_remote(self.path) else printable_path(os.path.abspath(self.path))
        return absolute if self.reader else f"{absolute}#{self.name.rpartition('.')[2]}"

    def opened(self) -> Any:
        """The stream of the only file. Raises UnreadableError."""
        return self.files[0].opened() if self.files[0].opened else open_regular(self.files[0].path)

    def state(self) -> str:
        """See `indexer.batch.sketches.inputs.state_of`."""
        return state_of(file.place for file in self.files)

    def noted(self, selection: Selection) -> dict[str, Any]:
        """The entries in a footer of its sketches about the part and the way it was read."""
        together = 0 if self.reader else len(self.files)
        how = {name: getattr(selection, name) for name in _READ_BY} | {"columns": asdict(selection.columns)}
        return {"input": self.place, "state": self.state(), "seen": self.seen, "together": together, "read": how}


def selection_of(footer: Mapping[str, Any]) -> Selection:
    """The selection by which the part that a footer notes was read."""
    how = dict(footer["read"])
    names = {name: tuple(how.pop(name)) for name in ("include", "exclude")}
    return Selection(**{**how, **names, "columns": ColumnNames(**how.pop("columns"))})


def part_again(footer: Mapping[str, Any], sources: Sequence[str]) -> Part:
    """The part that a footer notes, as it was read, from the sources of its documents.

    Raises UnreadableError where a file of it is not there any more.
    """
    place, is_folder = footer["input"], bool(footer["together"])
    names = [name if is_remote(name) else path_of_printable(name) for name in (sources if is_folder else [place])]
    files = []
    for file in Sources([], selection_of(footer), paths_from=names).files():
        if isinstance(file, Rejected):
            raise UnreadableError(file.reason, f"{file.source}: {file.detail}")
        # What was found in a folder is not looked into for documents inside.
        files.append(replace(file, named=False) if is_folder else file)
    reader = None if is_folder else reader_of(files[0].path) or _reader_inside(files[0])
    return Part(os.path.basename(place), tuple(files), reader)


def parts_of(sources: Sources, rejected: Callable[[Rejected], object]) -> list[Part]:
    """The parts of all files that are named, by name; what can't be a document is given to `rejected`."""
    base = sources.selection.base
    single: dict[str, list[Any]] = {}
    parts: dict[str, Part] = {}
    for file in sources.files():
        if isinstance(file, Rejected):
            rejected(file)
        elif reader := reader_of(file.path) or _reader_inside(file):
            name = _name(file.path, base)
            parts[name] = Part(name, (file,), reader, seen_from(os.path.dirname(os.path.realpath(file.path))))
        else:
            # By the name, so that a folder is one, however its files' paths are written.
            single.setdefault(_name(os.path.dirname(file.path) or ".", base), []).append(file)
    for folder, files in single.items():
        seen = seen_from(os.path.dirname(files[0].path))
        for number, together in enumerate(_cut(files)):
            name = f"{folder}.{number:04}"
            parts[name] = Part(name, tuple(together), seen=seen)
    return [parts[name] for name in sorted(parts)]


def task_of(parts: Sequence[Part], task: tuple[int, int]) -> list[Part]:
    """The parts of task I of N, counted from 1: every part belongs to one task, whatever order they were named in."""
    number, count = task
    return [part for place, part in enumerate(parts) if place % count == number - 1]


def _cut(files: Sequence[Any]) -> Iterator[Sequence[Any]]:
    ordered = sorted({absolute(file.path): file for file in files}.items())
    for start in range(0, len(ordered), _FILES_TOGETHER):
        yield [file for _, file in ordered[start : start + _FILES_TOGETHER]]


def _name(path: str, base: str) -> str:
    """A name that no other path has: its last part, and a digest of the whole as seen from the batch's folder."""
    seen = path if is_remote(path) else id_of_path(path, base)
    digest = blake2b(seen.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    # Readers of datasets pass over files that begin with a dot or an underline.
    last = _UNFIT.sub("_", os.path.basename(seen))[:80].lstrip("._") or "folder"
    return f"{last}-{digest}"


def _reader_inside(file: Any) -> FileReader | None:
    """The reader of a named file whose name says nothing and whose first bytes do."""
    if not file.named:
        return None
    try:
        with file.opened() if file.opened else open_regular(file.path) as stream:
            return reader_by_head(decompressed(stream).read(_HEAD))
    except (UnreadableError, *BROKEN):
        return None
