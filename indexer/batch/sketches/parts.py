"""The parts of a batch, the documents of one file of sketches each, and what became of their inputs since."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from indexer.batch.arrow import parquet
from indexer.batch.form import read_footer
from indexer.errors import UsageError
from indexer.ingest.naming import absolute, id_of_path, walk_order
from indexer.ingest.readers import ColumnNames, FileReader
from indexer.ingest.readers.mails import Mail
from indexer.ingest.regular_files import UnreadableError, open_regular
from indexer.ingest.remote import is_remote
from indexer.ingest.sources import Rejected, Selection, Sources
from indexer.model import own_files
from indexer.model.chunking import chunks
from indexer.model.paths import path_of_printable, printable_path
from indexer.text.counts import counted

SKETCHES = "sketches"
Stale = Literal["refuse", "forget", "keep"]
"""The fate of sketches whose input is gone or another one."""
Standing = Literal["same", "changed", "gone", "unseen"]
_LISTED = 50
# What is read of either end of a large file, and at once.
_END, _PIECE = 32 << 20, 1 << 20


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs that still count although changed, by name.

    `unseen` ones are out of sight: in an object store, on another machine, on an unmounted file system, or of an older
    batch, possibly gone. `stale` ones are gone or changed.
    """

    unseen: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()


def state_of(places: Iterable[str]) -> str:
    seen = blake2b(digest_size=16)
    for place in places:
        # What lies in an object store is taken at its name.
        held = "" if is_remote(place) else _digest_of(path_of_printable(place))
        seen.update(f"{place}\0{held}\n".encode("utf-8", "surrogateescape"))
    return seen.hexdigest()


def _digest_of(path: str) -> str:
    digest = blake2b(digest_size=16)
    with suppress(OSError, UnreadableError), open_regular(path) as file:
        status = os.fstat(file.fileno())
        if status.st_size > 2 * _END:
            digest.update(f"{status.st_size} {status.st_mtime_ns}".encode() + file.read(_END))
            file.seek(-_END, os.SEEK_END)
        while piece := file.read(_PIECE):
            digest.update(piece)
        return digest.hexdigest()
    return ""


def seen_from(folder: str) -> str:
    if is_remote(folder):
        return ""
    with suppress(OSError):
        return f"{own_files.machine()}:{os.stat(folder or os.curdir).st_dev}"
    return ""


def input_of(footer: dict[str, Any]) -> str:
    place: str = footer["input"]
    return place.rpartition("#")[0] if footer["together"] else place


def standing(path: Path, footer: dict[str, Any]) -> Standing:
    place = input_of(footer)
    if is_remote(place):
        return "unseen"
    places = _files_of(path) if footer["together"] else [place]
    if state_of(places) == footer["state"]:
        return "same"
    if footer["seen"].partition(":")[0] != own_files.machine():
        return "unseen"
    there = [_is_there(path_of_printable(each)) for each in places]
    if True in there or None in there:
        return "changed" if True in there else "unseen"
    folder = os.path.dirname(os.path.realpath(path_of_printable(places[0])))
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return "gone" if seen_from(folder) == footer["seen"] else "unseen"


def _files_of(path: Path) -> list[str]:
    return list(dict.fromkeys(parquet.read_table(path, columns=["container"])["container"].to_pylist()))


def _is_there(path: str) -> bool | None:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return None
    return True


def forget_gone(folder: str, listed: Iterable[str], roots: Sequence[str]) -> list[str]:
    """Remove the sketches of missing inputs below `roots`; returns their names.

    `listed` are the names of existing parts.
    """
    forgotten, there = [], set(listed)
    below = [os.path.join(root, "") for root in roots]
    for path in sorted(Path(folder, SKETCHES).glob("*.parquet")) if below else ():
        if path.stem in there:
            continue
        footer = read_footer(os.fspath(path), SKETCHES)
        place = os.path.join(input_of(footer), "")
        if any(place.startswith(root) for root in below) and standing(path, footer) == "gone":
            path.unlink(missing_ok=True)
            forgotten.append(footer["input"])
    return forgotten


def inputs_for(folder: str, against: str | None = None, stale: Stale = "refuse") -> Inputs:
    """The changed inputs of a folder's sketches, and of an older one's, that still count.

    Raises UsageError with a list unless `stale` decides, and StoreError.
    """
    unseen, wrong = [], list[tuple[Path, str, Standing]]()
    for path in sorted(Path(folder, SKETCHES).glob("*.parquet")):
        footer = read_footer(os.fspath(path), SKETCHES)
        how = standing(path, footer)
        if how == "unseen":
            unseen.append(footer["input"])
        elif how != "same":
            wrong.append((path, footer["input"], how))
    if wrong and stale == "refuse":
        named = ", ".join(f"{place} ({how})" for _, place, how in wrong[:_LISTED])
        raise UsageError(
            f"{folder}: {counted(len(wrong), 'input')} of its sketches {'is' if len(wrong) == 1 else 'are'} not as it "
            f"was sketched; run neardup batch sketch again, or use --stale: {named}"
            + (f", and {len(wrong) - _LISTED:,} more" if len(wrong) > _LISTED else "")
        )
    if stale == "forget":
        for path, _, _ in wrong:
            path.unlink(missing_ok=True)
        wrong = []
    for path in sorted(Path(against, SKETCHES).glob("*.parquet")) if against else ():
        footer = read_footer(os.fspath(path), SKETCHES)
        if standing(path, footer) != "same":
            unseen.append(footer["input"])
    return Inputs(tuple(unseen), tuple(place for _, place, _ in wrong))


_FILES_TOGETHER = 5000
# What of a selection decides which documents a file has.
_READ_BY = ("include", "exclude", "hidden", "id_from", "base", "line_limit")
_UNFIT = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class Part:
    """Documents for one file of sketches, called `name`.

    They come from one of `files`, taken apart by a `reader`, or `together` from files of one folder: the files
    themselves, or mails, each taken apart by a `reader`. `seen` is the place of reading: see
    `indexer.batch.sketches.parts.seen_from`.
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
