"""The inputs of sketches: the same, changed, gone, or out of sight."""

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
