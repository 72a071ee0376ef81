"""Documents in memory that can be looked up like those of a store: those of a batch, and those not yet searchable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np

from indexer.matching.lookups import Asking
from indexer.matching.nodes import found_of
from indexer.matching.rule import MatchRule
from indexer.model import Record, Ref
from indexer.schemes.keys.layout import KeyLayout
from indexer.stores.sketches import Probe

Slot = tuple[str, int]
Held = tuple[object, ...]

_COMPARED_AT_ONCE = 500


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
            found = ((finder.name, record.sketch_of(finder.name)) for finder in self._rule.finders)
            slots = [(name, key) for name, sketch in found if sketch for key in dict.fromkeys(sketch.keys)]
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
        found = self._equal.get(self._sketches(record))
        return _first(found, (record.ref,)) if found else None

    def near(self, asking: Asking, without: Collection[Ref] = ()) -> Iterator[tuple[float, Ref]]:
        """What is near a question, with its similarity, in no given order: of equal documents the first.

        Those in `without` are passed over.
        """
        if not self._held:
            return
        met = dict.fromkeys(
            held for probe in asking.probes for held in self._meeting(probe, asking.rule.schemes[probe.scheme].layout)
        )
        listed = [self._equal[held] for held in met]
        for start in range(0, len(listed), _COMPARED_AT_ONCE):
            some = listed[start : start + _COMPARED_AT_ONCE]
            values = asking.near(found_of([each.record for each in some], asking.rule, keys=False))
            for place in np.flatnonzero(values >= 0).tolist():
                ref = _first(some[place], without)
                if ref is not None:
                    yield float(values[place]), ref

    def _sketches(self, record: Record) -> Held:
        """All that a rule needs of a document."""
        sketches = (record.sketch_of(name) for name in self._rule.schemes)
        return tuple((each.payload, each.keys) if each else None for each in sketches)

    def _meeting(self, probe: Probe, layout: KeyLayout) -> list[Held]:
        """Those that share a key with a probe in enough tables."""
        keys = [key for key in dict.fromkeys(probe.keys) if (probe.scheme, key) in self._holders]
        found = [(key >> layout.bits, self._holders[probe.scheme, key]) for key in keys]
        if probe.agreeing == 1:
            return [held for _, holders in found for held in holders]
        tables = {(held, table) for table, holders in found for held in holders}
        counts = Counter(held for held, _ in tables)
        return [held for held, count in counts.items() if count >= probe.agreeing]


def _first(equal: _Equal, without: Collection[Ref]) -> Ref | None:
    return next((ref for ref in equal.refs if ref not in without), None)
