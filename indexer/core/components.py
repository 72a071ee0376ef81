"""Connected components of pairs: a union-find over arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Labels = npt.NDArray[np.int64]


class Components:
    """A union-find over `count` positions. It takes whole blocks of pairs at once and uses 8 bytes a position."""

    def __init__(self, count: int) -> None:
        self._parent: Labels = np.arange(count, dtype=np.int64)

    def join(self, left: Labels, right: Labels) -> None:
        a, b = left, right
        while a.size:
            a, b = np.split(self.roots(np.concatenate((a, b))), 2)
            separate = a != b
            low, high = np.minimum(a, b)[separate], np.maximum(a, b)[separate]
            # Of several pairs with one root the lowest wins; the others come again.
            np.minimum.at(self._parent, high, low)
            a, b = low, high

    def roots(self, positions: Labels) -> Labels:
        """The root of each position: equal for two of one component, until the next join."""
        while True:
            up = self._parent[positions]
            top = self._parent[up]
            if np.array_equal(up, top):
                return up
            # All at once, so that each round halves the way: a chain of a million takes twenty rounds.
            self._parent[positions] = top

    def labels(self) -> Labels:
        return self.roots(np.arange(self._parent.size, dtype=np.int64)).copy()


class NamedComponents:
    def __init__(self) -> None:
        self._parent: dict[object, object] = {}

    def add(self, name: object) -> None:
        self._parent.setdefault(name, name)

    def root(self, name: object) -> object:
        while (up := self._parent[name]) != name:
            self._parent[name] = name = self._parent[up]
        return name

    def join(self, a: object, b: object) -> None:
        self.add(a)
        self.add(b)
        self._parent[self.root(b)] = self.root(a)
