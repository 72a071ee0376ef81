"""Count the files skipped by walks of folders."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING

from indexer.model import own_files

if TYPE_CHECKING:
    from indexer.stores.base import Store

# The name of the resource in a store.
PASSED_OVER = "passed-over"
# Beyond this many kinds of files the rest are counted as one, and beyond this many folders the first are forgotten.
_MOST_KINDS, _MOST_FOLDERS = 20, 1000
_OTHERS = "others"


class PassedOver:
    def __init__(self) -> None:
        self.folders: dict[str, Counter[str]] = {}

    @property
    def total(self) -> int:
        return sum(counts.total() for counts in self.folders.values())

    def add(self, folder: str, path: str, kind: str = "") -> None:
        if own_files.is_own(path):
            return
        counts = self.folders.setdefault(folder, Counter())
        kind = kind or os.path.splitext(path)[1].lower() or "without suffix"
        is_plain = len(kind) < 16 and kind.isascii() and kind.isprintable()
        counts[kind if is_plain and (kind in counts or len(counts) < _MOST_KINDS) else _OTHERS] += 1

    def keep(self, store: Store, walked: list[str]) -> None:
        old = _kept(store)
        new = {store.folder.kept(folder): dict(self.folders.get(folder, {})) for folder in walked}
        counts = {folder: known for folder, known in old.items() if not any(_is_within(folder, other) for other in new)}
        # The folder around one of these is counted whole.
        counts |= {
            folder: of for folder, of in new.items() if of and not any(_is_within(folder, other) for other in counts)
        }
        if counts != old:
            store.put_resource(PASSED_OVER, json.dumps(dict(list(counts.items())[-_MOST_FOLDERS:])).encode("ascii"))


def files_passed_over(store: Store) -> dict[str, int]:
    kinds: Counter[str] = Counter()
    for counts in _kept(store).values():
        kinds.update(counts)
    return dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0])))


def _is_within(folder: str, other: str) -> bool:
    return f"{folder}/".startswith(other if other.endswith("/") else f"{other}/")


def _kept(store: Store) -> dict[str, dict[str, int]]:
    data = store.get_resource(PASSED_OVER)
    # In an engine others can have written anything there.
    try:
        folders = json.loads(data) if data else {}
    except (ValueError, RecursionError):
        return {}
    return {
        folder: {kind: count for kind, count in counts.items() if type(count) is int}
        for folder, counts in (folders.items() if isinstance(folders, dict) else ())
        if isinstance(counts, dict)
    }
