"""The sketches of a store in memory: identities, and equal sketches once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from indexer.model import Sketch
from indexer.refs import RefTable
from indexer.schemes.base import Scheme
from indexer.stores.base import Store

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SketchTable:
    """Documents by position: document i has the identity `refs[i]` and the distinct sketch `sketches[distinct[i]]`."""

    scheme: Scheme
    refs: RefTable
    distinct: Positions
    sketches: list[Sketch]

    def similarities(self, one: int, others: Positions) -> npt.NDArray[np.float64]:
        """The similarities of a distinct sketch to others; shape (len(others),)."""
        return self.scheme.similarities(
            self.sketches[one].payload, [self.sketches[other].payload for other in others.tolist()]
        )

    def apart(self, position: int, positions: Positions) -> Positions:
        """The distances of a document to others, in 64ths, rounded up."""
        wanted, inverse = np.unique(self.distinct[positions], return_inverse=True)
        return distance_of(self.similarities(int(self.distinct[position]), wanted))[inverse]


def distance_of(similarities: npt.ArrayLike) -> Positions:
    """Similarities (0 to 1) as distances of 0 to 64: the dissimilarity in 64ths, rounded up."""
    # What a float has too much by its last digits is no 64th.
    return np.ceil(64 * (1 - np.asarray(similarities, dtype=np.float64)) - 1e-9).clip(0, 64).astype(np.int64)


def read_sketches(store: Store, scheme: Scheme, *, include_short: bool = False) -> SketchTable:
    """The sketches of all documents of a store; some 150 octets a document beside its id, and each distinct sketch."""
    refs = RefTable()
    distinct: list[Positions] = []
    known: dict[tuple[bytes, bytes], int] = {}
    sketches: list[Sketch] = []
    for batch in store.scan_sketches(scheme.family, include_short=include_short):
        refs.extend(batch.refs)
        numbers = np.empty(len(batch.refs), dtype=np.int64)
        for place, (payload, keys) in enumerate(zip(batch.payloads, batch.keys, strict=True)):
            number = known.setdefault((payload, keys.tobytes()), len(sketches))
            if number == len(sketches):
                sketches.append(Sketch(scheme.id, payload, tuple(keys.tolist()), 0))
            numbers[place] = number
        distinct.append(numbers)
    return SketchTable(scheme, refs, np.concatenate(distinct) if distinct else np.empty(0, dtype=np.int64), sketches)
