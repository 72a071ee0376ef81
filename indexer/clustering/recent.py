"""Documents in memory that can be looked up like those of a store: those of a batch, and those not yet searchable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from indexer.matching.lookups import Asking
from indexer.matching.measures.tables import Comparison
from indexer.matching.nodes import found_of
from indexer.matching.rule import MatchRule
from indexer.model import Record, Ref
from indexer.model.ragged import Ragged
from indexer.schemes.base import Similarities
from indexer.schemes.keys.layout import KeyLayout
from indexer.stores.sketches import Probe

Slot = tuple[str, int]
Held = tuple[object, ...]

_COMPARED_AT_ONCE = 500
_JUDGED_AT_ONCE = 10_000


@dataclass(slots=True)
class _Equal:
    """Documents with equal sketches, in the order in which they came, and one of them."""

    record: Record
    slots: list[Slot]
    refs: dict[Ref, None] = field(default_factory=dict)


class Recent:
    """The last `most` documents that were added, by the keys of a rule's finders; all of them where None.

    Those with equal sketches are compared once, and the first of them stands for all.
    """

    def __init__(self, rule: MatchRule, most: int | None = None) -> None:
        self._rule, self._most = rule, most
        self._held: dict[Ref, Held] = {}
        self._equal: dict[Held, _Equal] = {}
        self._holders: dict[Slot, dict[Held, None]] = {}

    def __contains__(self, ref: Ref) -> bool:
        return ref in self._held

    def __len__(self) -> int:
        return len(self._held)

    def add(self, record: Record) -> None:
        """Add a document, in the place of an older one with its identity."""
        self.remove(record.ref)
        held = self._sketches(record)
        self._held[record.ref] = held
        if held not in self._equal:
            sketches = ((finder.name, record.sketch_of(finder.name)) for finder in self._rule.finders)
            slots = [(name, key) for name, sketch in sketches if sketch for key in dict.fromkeys(sketch.keys)]
            self._equal[held] = _Equal(record, slots)
            for slot in slots:
                self._holders.setdefault(slot, {})[held] = None
        self._equal[held].refs[record.ref] = None
        if self._most is not None and len(self._held) > self._most:
            self.remove(next(iter(self._held)))

    def remove(self, ref: Ref) -> None:
        """Forget a document, if it is there."""
        held = self._held.pop(ref, None)
        if held is None:
            return
        equal = self._equal[held]
        del equal.refs[ref]
        if equal.refs:
            return
        del self._equal[held]
        for slot in equal.slots:
            holders = self._holders[slot]
            del holders[held]
            if not holders:
                del self._holders[slot]

    def equal(self, record: Record) -> Ref | None:
        """The first document with the same sketches that is another one; None where there is none."""
        earlier = self._equal.get(self._sketches(record))
        return _first(earlier, (record.ref,)) if earlier else None

    def near(self, asking: Asking, without: Collection[Ref] = ()) -> Iterator[tuple[float, Ref]]:
        """What is near a question, with its similarity, in no given order: of equal documents the first.

        Those in `without` are passed over.
        """
        listed = self._met(asking)
        for start in range(0, len(listed), _COMPARED_AT_ONCE):
            part = listed[start : start + _COMPARED_AT_ONCE]
            values = asking.near(found_of([holder.record for holder in part], asking.rule, keys=False))
            for place in np.flatnonzero(values >= 0).tolist():
                ref = _first(part[place], without)
                if ref is not None:
                    yield float(values[place]), ref

    def met(self, asking: Asking) -> list[Ref]:
        """What shares enough keys with a question to be near: of equal documents the first."""
        return [next(iter(equal.refs)) for equal in self._met(asking)]

    def _met(self, asking: Asking) -> list[_Equal]:
        if not self._held:
            return []
        met = dict.fromkeys(
            held for probe in asking.probes for held in self._meeting(probe, asking.rule.schemes[probe.scheme].layout)
        )
        return [self._equal[held] for held in met]

    def _sketches(self, record: Record) -> Held:
        """All that a rule needs of a document."""
        sketches = (record.sketch_of(name) for name in self._rule.schemes)
        return tuple((sketch.payload, sketch.keys) if sketch else None for sketch in sketches)

    def _meeting(self, probe: Probe, layout: KeyLayout) -> list[Held]:
        """Those that share a key with a probe in enough tables."""
        keys = [key for key in dict.fromkeys(probe.keys) if (probe.scheme, key) in self._holders]
        owners = [(key >> layout.bits, self._holders[probe.scheme, key]) for key in keys]
        if probe.agreeing == 1:
            return [held for _, holders in owners for held in holders]
        tables = {(held, table) for table, holders in owners for held in holders}
        counts = Counter(held for held, _ in tables)
        return [held for held, count in counts.items() if count >= probe.agreeing]


class Judging:
    """Judges many questions at once: a question by its row in `asked`, against the rows of what was met for it."""

    def __init__(self, rule: MatchRule, asked: Mapping[str, Ragged]) -> None:
        self._rule, self._asked = rule, asked
        self._met: list[tuple[int, Mapping[str, Ragged], int, Callable[[Similarities], None]]] = []
        self.rows = 0

    def add(self, asked: int, met: Mapping[str, Ragged], rows: int, take: Callable[[Similarities], None]) -> None:
        """Judge so many rows at the next flush(); `take` gets their similarities, below 0 for what is not near."""
        self._met.append((asked, met, rows, take))
        self.rows += rows
        if self.rows >= _JUDGED_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Judge what waits."""
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
        values = Comparison(self._rule, tables).judged(left, sizes.size + np.arange(left.size))
        for (*_, take), own in zip(met, np.split(values, np.cumsum(sizes)[:-1]), strict=True):
            take(own)


def held_of(asking: Asking) -> Held:
    """What a question is asked by: equal for documents with equal sketches."""
    return tuple(asking.sketches[name].payload for name in sorted(asking.sketches)) + tuple(
        np.array(probe.keys, dtype=np.int64).tobytes() for probe in asking.probes
    )


def _first(equal: _Equal, without: Collection[Ref]) -> Ref | None:
    return next((ref for ref in equal.refs if ref not in without), None)
