"""The files that sketches were made of, as they are now: the same, changed, gone, or not to be seen from here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from indexer.batch.arrow import parquet
from indexer.batch.form import read_footer
from indexer.errors import UsageError
from indexer.ingest.regular_files import UnreadableError, open_regular
from indexer.ingest.remote import is_remote
from indexer.model import own_files
from indexer.model.paths import path_of_printable
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
    """The inputs that count on although they are not as they were sketched, by name.

    Those `unseen` are not to be seen from here: in an object store, on another machine, on a file system that is not
    there, or of an older batch, which may be gone. Those `stale` are gone or changed.
    """

    unseen: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()


def state_of(places: Iterable[str]) -> str:
    """A digest that changes when a file does: of absolute paths as they are printed, and of what the files hold.

    Of a file of more than 64 MB both ends are read, and its size and time count.
    """
    seen = blake2b(digest_size=16)
    for place in places:
        # What lies in an object store is taken at its name.
        held = "" if is_remote(place) else _digest_of(path_of_printable(place))
        seen.update(f"{place}\0{held}\n".encode("utf-8", "surrogateescape"))
    return seen.hexdigest()


def _digest_of(path: str) -> str:
    """A digest of what a file holds; empty where it can't be read."""
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
    """The machine and the file system that show a folder; empty where it is not on a file system."""
    if is_remote(folder):
        return ""
    with suppress(OSError):
        return f"{own_files.machine()}:{os.stat(folder or os.curdir).st_dev}"
    return ""


def input_of(footer: dict[str, Any]) -> str:
    """The path or URL of the file that sketches were made of, or of the folder of the files."""
    place: str = footer["input"]
    return place.rpartition("#")[0] if footer["together"] else place


def standing(path: Path, footer: dict[str, Any]) -> Standing:
    """The present state of the input of a file of sketches.

    Gone is what is not there while the file system that had it is, on the machine that saw it.
    """
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
    """The files that go together in one of sketches, in their order."""
    return list(dict.fromkeys(parquet.read_table(path, columns=["container"])["container"].to_pylist()))


def _is_there(path: str) -> bool | None:
    """None where that can't be known."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return None
    return True


def forget_gone(folder: str, listed: Iterable[str], roots: Sequence[str]) -> list[str]:
    """Remove the sketches of what lay below `roots` and is gone; the names of these inputs.

    `listed` are the names of parts that are there.
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
    """The inputs of a folder's sketches that are not as they were, and of those of an older one, which count on.

    With `stale` "forget" the sketches of those that are gone or changed are removed. Raises UsageError, which lists
    them, where that is not said, and StoreError.
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
            f"was sketched; run neardup batch sketch again, or say with --stale what becomes of it: {named}"
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
