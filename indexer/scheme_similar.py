"""Lookup by a scheme beside the store's first: documents whose sketch is similar, the most similar first."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from indexer.errors import UsageError
from indexer.model import Record, Ref, Sketch
from indexer.refs import ref_order
from indexer.schemes.base import Plan, Scheme
from indexer.sketch_table import distance_of
from indexer.stores.base import Store

Passes = Callable[[Sequence[Ref]], npt.NDArray[np.bool_]]

CLOSE, LOOSE = 0.98, 0.90


@dataclass(frozen=True, slots=True)
class SketchMatch:
    """A stored document and its similarity, 0 to 1, to the question."""

    record: Record
    similarity: float

    @property
    def distance(self) -> int:
        """The dissimilarity in 64ths, rounded up."""
        return int(distance_of(self.similarity))

    @property
    def label(self) -> str:
        """ "close" from a similarity of 0.98, "loose" from 0.90, else empty."""
        return "close" if self.similarity >= CLOSE else "loose" if self.similarity >= LOOSE else ""


@dataclass(frozen=True, slots=True)
class SketchAnswer:
    """What a lookup found: the most similar, how many there are in all, and how many candidates were compared."""

    matches: list[SketchMatch]
    total: int
    similarity: float
    plan: Plan
    candidates: int


def similar_by(
    store: Store,
    scheme: Scheme,
    sketch: Sketch | None,
    similarity: float | None = None,
    *,
    limit: int | None = 10,
    include_short: bool = False,
    exclude: Ref | None = None,
    passes: Passes | None = None,
) -> SketchAnswer:
    """The stored documents that a scheme finds at least so similar (the scheme's own default where None).

    What it finds for certain and what it may miss is the `plan` of the answer. `passes` verifies documents in another
    way too. `limit` is the number of matches listed, None for all; memory grows with it, not with the candidates. A
    sketch of None, or without features, matches nothing. Raises UsageError where the scheme can't serve the similarity.
    """
    if limit is not None and limit < 0:
        raise UsageError(f"limit {limit}: the number of matches can't be negative")
    asked = scheme.default_similarity if similarity is None else similarity
    plan = scheme.plan(asked)
    if sketch is None or not sketch.payload:
        return SketchAnswer([], 0, asked, plan, 0)
    counts = [0, 0]

    def found() -> Iterator[tuple[float, tuple[str, str, str], Ref]]:
        keys = scheme.probes(sketch, asked)
        for batch in store.sketched(scheme.family, keys, agreeing=plan.agreeing, include_short=include_short):
            counts[0] += len(batch.refs)
            values = scheme.similarities(sketch.payload, batch.payloads)
            near = np.flatnonzero(values >= asked - 1e-9)
            near = near[[batch.refs[place] != exclude for place in near.tolist()]] if exclude else near
            if passes and near.size:
                near = near[passes([batch.refs[place] for place in near.tolist()])]
            counts[1] += near.size
            for place in near.tolist():
                yield -float(values[place]), ref_order(batch.refs[place]), batch.refs[place]

    best = sorted(found()) if limit is None else heapq.nsmallest(limit, found())
    records = store.get([ref for _, _, ref in best], sketches=False)
    matches = [SketchMatch(record, -value) for (value, _, _), record in zip(best, records, strict=True) if record]
    return SketchAnswer(matches, counts[1], asked, plan, counts[0])
