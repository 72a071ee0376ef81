"""Documents in memory that can be looked up like those of a store: those of a batch, and those not yet searchable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from indexer.matching.lookups import Asking
from indexer.matching.nodes import found_of
from indexer.model import Record, Ref

Slot = tuple[str, int]


class Recent:
    """The last `most` documents that were added, by the keys of a rule's finders; all of them where None."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._records: dict[Ref, tuple[Record, list[Slot]]] = {}
        self._holders: dict[Slot, dict[Ref, None]] = {}

    def __contains__(self, ref: Ref) -> bool:
        return ref in self._records

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: Record, families: list[str]) -> None:
        """Add a document, in the place of an older one with its identity."""
        self.remove(record.ref)
        sketches = ((name, record.sketch_of(name)) for name in families)
        slots = [(name, key) for name, sketch in sketches if sketch for key in sketch.keys]
        self._records[record.ref] = record, slots
        for slot in slots:
            self._holders.setdefault(slot, {})[record.ref] = None
        if self._most is not None and len(self._records) > self._most:
            self.remove(next(iter(self._records)))

    def remove(self, ref: Ref) -> None:
        """Forget a document, if it is there."""
        _, slots = self._records.pop(ref, (None, ()))
        for slot in slots:
            holders = self._holders[slot]
            del holders[ref]
            if not holders:
                del self._holders[slot]

    def near(self, asking: Asking, most: int) -> Iterator[tuple[float, Ref]]:
        """Up to `most` documents that are near a question, with their similarities, in no given order."""
        if not self._records:
            return
        refs = dict.fromkeys(
            ref for probe in asking.probes for ref in self._meeting(probe.scheme, probe.keys, probe.agreeing)
        )
        listed = list(refs)
        count = 0
        for start in range(0, len(listed), 500):
            records = [self._records[ref][0] for ref in listed[start : start + 500]]
            values = asking.near(found_of(records, asking.rule, keys=False))
            for place in np.flatnonzero(values >= 0).tolist():
                yield float(values[place]), records[place].ref
                count += 1
                if count >= most:
                    return

    def _meeting(self, family: str, keys: object, agreeing: int) -> list[Ref]:
        slots = [self._holders[slot] for key in keys if (slot := (family, key)) in self._holders]  # type: ignore[attr-defined]
        if agreeing == 1:
            return [ref for holders in slots for ref in holders]
        counts = Counter(ref for holders in slots for ref in holders)
        return [ref for ref, count in counts.items() if count >= agreeing]
