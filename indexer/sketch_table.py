"""The sketches of a store in memory: identities, and equal sketches once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from indexer.model import Sketch
from indexer.refs import RefTable
from indexer.schemes.base import Scheme
from indexer.stores.base import Store
from indexer.stores.sketches import Found, SketchBatch

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SketchTable:
    """Documents by position: document i has the identity `refs[i]` and the distinct sketch `distinct[i]`.

    Distinct sketch n has the payload `payloads[n]` and the packed keys `keys[offsets[n]:offsets[n + 1]]`.
    """

    scheme: Scheme
    refs: RefTable
    distinct: Positions
    payloads: list[bytes]
    keys: Positions
    offsets: Positions

    def sketch(self, number: int) -> Sketch:
        """A distinct sketch; the number of its features is not kept."""
        keys = self.keys[self.offsets[number] : self.offsets[number + 1]]
        return Sketch(self.scheme.id, self.payloads[number], tuple(keys.tolist()), 0)

    def similarities(self, one: int, others: Positions) -> npt.NDArray[np.float64]:
        """The similarities of a distinct sketch to others; shape (len(others),)."""
        return self.scheme.similarities(self.payloads[one], [self.payloads[other] for other in others.tolist()])

    def apart(self, position: int, positions: Positions) -> Positions:
        """The distances of a document to others, in 64ths, rounded up."""
        wanted, inverse = np.unique(self.distinct[positions], return_inverse=True)
        return distance_of(self.similarities(int(self.distinct[position]), wanted))[inverse]


def runs(ordered: Positions) -> Iterator[tuple[int, int]]:
    """Start and end of each run of equal numbers; nothing for no numbers."""
    if ordered.size:
        yield from pairwise((0, *(np.flatnonzero(np.diff(ordered)) + 1).tolist(), ordered.size))


def distance_of(similarities: npt.ArrayLike) -> Positions:
    """Similarities (0 to 1) as distances of 0 to 64: the dissimilarity in 64ths, rounded up."""
    # What a float has too much by its last digits is no 64th.
    return np.ceil(64 * (1 - np.asarray(similarities, dtype=np.float64)) - 1e-9).clip(0, 64).astype(np.int64)


def table_of_sketches(scheme: Scheme, sketches: Sequence[Sketch]) -> SketchTable:
    """A table of sketches, each taken for a distinct one, without identities."""
    offsets = np.concatenate(([0], np.cumsum([len(sketch.keys) for sketch in sketches], dtype=np.int64)))
    keys = np.fromiter(chain.from_iterable(sketch.keys for sketch in sketches), dtype=np.int64)
    payloads = [sketch.payload for sketch in sketches]
    return SketchTable(scheme, RefTable(), np.arange(len(sketches)), payloads, keys, offsets)


def table_of(scheme: Scheme, refs: RefTable, batches: Iterable[SketchBatch]) -> SketchTable:
    """The table of batches with keys, whose identities are appended to `refs`."""
    distinct: list[Positions] = []
    known: dict[bytes, int] = {}
    payloads: list[bytes] = []
    kept: list[Positions] = []
    counts: list[int] = []
    for batch in batches:
        refs.extend(batch.refs)
        numbers = np.empty(len(batch.refs), dtype=np.int64)
        fresh: list[Positions] = []
        for place, (payload, keys) in enumerate(zip(batch.payloads, batch.keys, strict=True)):
            # The digest stands for payload and keys, which are four times as long.
            whole = hashlib.blake2b(
                payload, digest_size=16, key=hashlib.blake2b(keys.tobytes(), digest_size=16).digest()
            )
            number = known.setdefault(whole.digest(), len(payloads))
            if number == len(payloads):
                payloads.append(payload)
                fresh.append(keys)
                counts.append(keys.size)
            numbers[place] = number
        distinct.append(numbers)
        if fresh:
            kept.append(np.concatenate(fresh))
    nothing = np.empty(0, dtype=np.int64)
    offsets = np.concatenate(([0], np.cumsum(counts, dtype=np.int64))) if counts else np.zeros(1, dtype=np.int64)
    return SketchTable(
        scheme, refs, np.concatenate([nothing, *distinct]), payloads, np.concatenate([nothing, *kept]), offsets
    )


def read_sketches(store: Store, scheme: Scheme, *, include_short: bool = False) -> SketchTable:
    """The sketches of all documents of a store.

    Memory: some 30 octets a document beside its id; for each distinct sketch its payload, 8 octets a key, and some 170.
    """
    name = scheme.family
    found = store.scan_sketches([name], keys=[name], include_short=include_short)
    return table_of(scheme, RefTable(), (_batch(each, name) for each in found))


def _batch(found: Found, name: str) -> SketchBatch:
    payloads, keys = found.payloads[name], found.keys[name]
    places = range(len(found.refs))
    return SketchBatch(found.refs, list(map(payloads.bytes_of, places)), list(map(keys.row, places)))
