"""Keys and their owners, in memory: one sorted array, and later keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from indexer.schemes.base import Positions

Owners = npt.NDArray[np.int32]

_SORTED_AFTER = 1 << 16


class Postings:
    """The owners of packed keys: 12 bytes a key, and some 200 for recent unsorted ones."""

    def __init__(self) -> None:
        self._keys: Positions = np.empty(0, dtype=np.int64)
        self._owners: Owners = np.empty(0, dtype=np.int32)
        self._recent: dict[int, list[int]] = {}
        self._waiting = 0

    def add(self, owner: int, keys: Sequence[int]) -> None:
        for key in keys:
            self._recent.setdefault(key, []).append(owner)
        self._waiting += len(keys)
        # A share of what is there, so that each key is sorted a few times only, however many come.
        if self._waiting > max(_SORTED_AFTER, self._keys.size // 4):
            self._sort()

    def extend(self, owners: Positions, keys: Positions) -> None:
        """Note many keys, each with its owner: twice shape (n,)."""
        self._merge(keys, owners.astype(np.int32))

    def owners(self, keys: Sequence[int]) -> list[tuple[int, list[int]]]:
        """Of these keys the owned ones, with their owners; a key may come twice."""
        owned = [(key, self._recent[key]) for key in keys if key in self._recent]
        if self._keys.size:
            asked = np.array(keys, dtype=np.int64)
            starts = self._keys.searchsorted(asked)
            for place in np.flatnonzero(self._keys.take(starts, mode="clip") == asked).tolist():
                start, end = int(starts[place]), int(self._keys.searchsorted(asked[place], side="right"))
                owned.append((int(asked[place]), self._owners[start:end].tolist()))
        return owned

    def in_order(self) -> tuple[Positions, Positions]:
        """(keys, owners): every key, in order, with its owner."""
        self._sort()
        return self._keys, self._owners.astype(np.int64)

    def keep(self, place: Positions) -> None:
        self._sort()
        owners = place[self._owners]
        kept = owners >= 0
        self._keys, self._owners = self._keys[kept], owners[kept].astype(np.int32)

    def _sort(self) -> None:
        keys = [key for key, owners in self._recent.items() for _ in owners]
        owners = [owner for listed in self._recent.values() for owner in listed]
        self._recent, self._waiting = {}, 0
        self._merge(np.array(keys, dtype=np.int64), np.array(owners, dtype=np.int32))

    def _merge(self, keys: Positions, owners: Owners) -> None:
        every, owning = np.concatenate((self._keys, keys)), np.concatenate((self._owners, owners))
        order = np.argsort(every, kind="stable")
        self._keys, self._owners = every[order], owning[order]
