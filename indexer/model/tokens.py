"""Tokens as parts of one text, from the core to the hashes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TokenPlaces = NDArray[np.uintp]


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Tokens in order, in a text of UTF-8: token i is `text[starts[i]:ends[i]]`; starts and ends have shape (n,)."""

    text: bytes
    starts: TokenPlaces
    ends: TokenPlaces

    @property
    def tokens(self) -> tuple[bytes, ...]:
        spans = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return tuple([self.text[start:end] for start, end in spans])

    @property
    def adjacent(self) -> NDArray[np.bool_]:
        """True for each token with nothing between it and the one before: shape (n,)."""
        return np.append(False, self.starts[1:] == self.ends[:-1])[: self.starts.size]

    def where(self, kept: NDArray[np.bool_]) -> Tokens:
        return Tokens(self.text, self.starts[kept], self.ends[kept])
