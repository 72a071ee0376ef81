"""Documents of a batch, looked up in memory like stored ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from indexer.matching.lookups import Asking
from indexer.matching.measures.tables import Comparer
from indexer.matching.rule import MatchRule
from indexer.model import Record, Ref
from indexer.model.ragged import Ragged
from indexer.schemes.base import Similarities
from indexer.schemes.keys.layout import KeyLayout
from indexer.stores.sketches import Probe

SchemeKey = tuple[str, int]
SketchIdentity = tuple[object, ...]

_JUDGED_AT_ONCE = 10_000
# Of documents with equal sketches so many are tried beside the first, of which each may say something else.
_MOST_EQUAL = 3


class BatchDocuments:
    def __init__(self, rule: MatchRule) -> None:
        self._rule = rule
        self._first: dict[SketchIdentity, Ref] = {}
        self._equal: dict[Ref, list[Ref]] = {}
        self._holders: dict[SchemeKey, list[Ref]] = {}

    def add(self, record: Record) -> None:
        if (first := self._first.setdefault(self._sketches(record), record.ref)) != record.ref:
            if len(others := self._equal.setdefault(first, [])) < _MOST_EQUAL:
                others.append(record.ref)
            return
        for finder in self._rule.finders:
            sketch = record.sketches.get(finder.name)
            for key in dict.fromkeys(sketch.keys) if sketch else ():
                self._holders.setdefault((finder.name, key), []).append(record.ref)

    def equal(self, record: Record) -> Ref | None:
        return self._first.get(self._sketches(record))

    def beside(self, first: Ref) -> Sequence[Ref]:
        return self._equal.get(first, ())

    def met(self, asking: Asking) -> list[Ref]:
        if not self._holders:
            return []
        met = dict.fromkeys(
            ref for probe in asking.probes for ref in self._meeting(probe, asking.rule.schemes[probe.scheme].layout)
        )
        return list(met)

    def _sketches(self, record: Record) -> SketchIdentity:
        sketches = (record.sketches.get(name) for name in self._rule.schemes)
        return tuple((sketch.payload, sketch.keys) if sketch else None for sketch in sketches)

    def _meeting(self, probe: Probe, layout: KeyLayout) -> list[Ref]:
        keys = [key for key in dict.fromkeys(probe.keys) if (probe.scheme, key) in self._holders]
        owners = [(key >> layout.bits, self._holders[probe.scheme, key]) for key in keys]
        if probe.agreeing == 1:
            return [ref for _, holders in owners for ref in holders]
        tables = {(ref, table) for table, holders in owners for ref in holders}
        counts = Counter(ref for ref, _ in tables)
        return [ref for ref, count in counts.items() if count >= probe.agreeing]


class BulkJudge:
    """Judges many questions at once: a question by its row in `asked`, against the rows met for it."""

    def __init__(self, rule: MatchRule, asked: Mapping[str, Ragged]) -> None:
        self._rule, self._asked = rule, asked
        self._met: list[tuple[int, Mapping[str, Ragged], int, Callable[[Similarities], None]]] = []
        self.rows = 0

    def add(self, asked: int, met: Mapping[str, Ragged], rows: int, take: Callable[[Similarities], None]) -> None:
        self._met.append((asked, met, rows, take))
        self.rows += rows
        if self.rows >= _JUDGED_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        met, self._met, self.rows = self._met, [], 0
        if not met:
            return
        places = np.array([asked for asked, *_ in met], dtype=np.int64)
        tables = {
            name: Ragged.joined([rows.take(places), *(payloads[name] for _, payloads, *_ in met)])
            for name, rows in self._asked.items()
        }
        sizes = np.array([rows for _, _, rows, _ in met], dtype=np.int64)
        left = np.repeat(np.arange(sizes.size), sizes)
        values = Comparer(self._rule, tables).judged(left, sizes.size + np.arange(left.size))
        for (*_, take), own in zip(met, np.split(values, np.cumsum(sizes)[:-1]), strict=True):
            take(own)


def sketch_identity(asking: Asking) -> SketchIdentity:
    return tuple(asking.sketches[name].payload for name in sorted(asking.sketches)) + tuple(
        np.array(probe.keys, dtype=np.int64).tobytes() for probe in asking.probes
    )
