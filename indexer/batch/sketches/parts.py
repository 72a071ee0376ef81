"""The parts of a batch: the documents of one file of sketches."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import groupby
from typing import Any

from indexer.batch.sketches.inputs import seen_from, state_of
from indexer.ingest.naming import absolute, id_of_path, walk_order
from indexer.ingest.readers import ColumnNames, FileReader
from indexer.ingest.readers.mails import Mail
from indexer.ingest.regular_files import UnreadableError, open_regular
from indexer.ingest.remote import is_remote
from indexer.ingest.sources import Rejected, Selection, Sources
from indexer.model.chunking import chunks
from indexer.model.paths import path_of_printable, printable_path

_FILES_TOGETHER = 5000
# What of a selection decides which documents a file has.
_READ_BY = ("include", "exclude", "hidden", "id_from", "base", "line_limit")
_UNFIT = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class Part:
    """Documents for one file of sketches, called `name`.

    They come from one of `files`, taken apart by a `reader`, or `together` from files of one folder: the files
    themselves, or mails, each taken apart by a `reader`. `seen` is the place of reading: see
    `indexer.batch.sketches.inputs.seen_from`.
    """

    name: str
    files: tuple[Any, ...]
    reader: FileReader | None = None
    seen: str = ""
    together: bool = False

    @property
    def path(self) -> str:
        return os.path.dirname(str(self.files[0].path)) if self.together else str(self.files[0].path)

    @property
    def place(self) -> str:
        absolute = self.path if is_remote(self.path) else printable_path(os.path.abspath(self.path))
        return f"{absolute}#{self.name.rpartition('.')[2]}" if self.together else absolute

    def opened(self) -> Any:
        return self.files[0].opened() if self.files[0].opened else open_regular(self.files[0].path)

    def state(self) -> str:
        return state_of(file.place for file in self.files)

    def noted(self, selection: Selection) -> dict[str, Any]:
        together = len(self.files) if self.together else 0
        how = {name: getattr(selection, name) for name in _READ_BY} | {"columns": asdict(selection.columns)}
        where = {"input": self.place, "first": self.files[0].place, "seen": self.seen}
        return {**where, "state": self.state(), "together": together, "read": how}


def selection_of(footer: Mapping[str, Any]) -> Selection:
    how = dict(footer["read"])
    names = {name: tuple(how.pop(name)) for name in ("include", "exclude")}
    return Selection(**{**how, **names, "columns": ColumnNames(**how.pop("columns"))})


def part_again(footer: Mapping[str, Any], sources: Sequence[str]) -> Part:
    """The part noted in a footer, as it was read, from the sources of its documents.

    Raises UnreadableError if one of its files is gone.
    """
    place, is_folder = footer["input"], bool(footer["together"])
    names = [name if is_remote(name) else path_of_printable(name) for name in (sources if is_folder else [place])]
    files = []
    chosen = Sources([], selection_of(footer), paths_from=names)
    for file in chosen.files():
        if isinstance(file, Rejected):
            raise UnreadableError(file.reason, f"{file.source}: {file.detail}")
        # What was found in a folder is not looked into for documents inside.
        files.append(replace(file, named=False) if is_folder else file)
    reader = None if is_folder else chosen.reader_of(files[0])
    return Part(os.path.basename(place), tuple(files), reader, together=is_folder)


def parts_of(sources: Sources, rejected: Callable[[Rejected], object]) -> list[Part]:
    base = sources.selection.base
    files: dict[str, Any] = {}
    for file in sources.files():
        if isinstance(file, Rejected):
            rejected(file)
        else:
            files[absolute(file.path)] = file
    parts: list[Part] = []
    numbers: Counter[str] = Counter()
    ordered = sorted(files, key=walk_order)
    readers = {place: sources.reader_of(file) for place, file in files.items()}

    def kind(place: str) -> tuple[str, bool]:
        reader = readers[place]
        return (os.path.dirname(place) if reader is None or isinstance(reader, Mail) else place, reader is None)

    for (folder, _), places in groupby(ordered, kind):
        for some in chunks(places, _FILES_TOGETHER):
            reader, together = readers[some[0]], folder != some[0]
            name = _name(folder, base)
            first = files[some[0]].path
            seen = seen_from(os.path.dirname(first if together else os.path.realpath(first)))
            if together:
                numbers[folder] += 1
                name += f".{numbers[folder] - 1:04}"
            parts.append(Part(name, tuple(files[place] for place in some), reader, seen, together))
    return parts


def input_order(footer: Mapping[str, Any]) -> Any:
    place = footer["first"]
    return walk_order(place if is_remote(place) else path_of_printable(place))


def task_of(parts: Sequence[Part], task: tuple[int, int]) -> list[Part]:
    """The parts of task I of N, counted from 1: every part belongs to one task, whatever the order of names."""
    number, count = task
    return [part for place, part in enumerate(parts) if place % count == number - 1]


def _name(path: str, base: str) -> str:
    seen = path if is_remote(path) else id_of_path(path, base)
    digest = blake2b(seen.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    # Readers of datasets pass over files that begin with a dot or an underline.
    last = _UNFIT.sub("_", os.path.basename(seen))[:80].lstrip("._") or "folder"
    return f"{last}-{digest}"
