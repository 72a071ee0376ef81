"""The entries of a folder by their names, in bounded memory."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator

# So many entries of a folder are held; one with millions of files is listed once for each part of this size, so that
# its files come by name all the same.
FOLDER_PART = 50_000


def entries_by_name(folder: str) -> Iterator[os.DirEntry[str]]:
    """The entries in the order of `indexer.ingest.naming.walk_order`. Raises OSError."""
    part = _least_entries(folder, "")
    while len(part) == FOLDER_PART:
        yield from part
        part = _least_entries(folder, part[-1].name)
    yield from part


def _least_entries(folder: str, after: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        left = (entry for entry in entries if entry.name > after)
        return heapq.nsmallest(FOLDER_PART, left, key=lambda entry: entry.name)


def is_folder(entry: os.DirEntry[str], follow_links: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow_links)
    except OSError:
        return False
