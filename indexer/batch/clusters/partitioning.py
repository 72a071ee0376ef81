"""Split a batch into parts for one process each; documents that may be near share a part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import arrow, column_of, numbers_of, present_in
from indexer.batch.clusters.blocking import connected, finder_blocks, finder_key_blocks, shared, verified, verified_by
from indexer.batch.clusters.grouping import (
    EQUAL_COLUMNS,
    ClusteringFigures,
    compared,
    equal_keys,
    found_by,
    partitions,
    sketches_of,
    whole_runs,
)
from indexer.batch.clusters.spilling import SpillFiles, table_of
from indexer.batch.reading import Sketched, taken
from indexer.core.components import Components
from indexer.errors import UsageError
from indexer.matching.rule import MatchRule
from indexer.schemes.base import Positions

# What sketches take while they are compared, in proportion to themselves.
_TIMES = 4
# A file is open for each part and scheme at a time.
_MOST_PARTS = 256


def parts_for(size: int, memory: int) -> int:
    """The number of parts for sketches of so many bytes. Raises UsageError for more than can be open at once."""
    count = max(1, -(-_TIMES * size // memory))
    if count > _MOST_PARTS:
        raise UsageError(
            f"--memory {memory:,}: too little for these sketches; give at least {-(-_TIMES * size // _MOST_PARTS):,}"
        )
    return count


def whole(sketched: Sketched, columns: Sequence[str], rule: MatchRule) -> Iterator[tuple[Any, Positions]]:
    tables, places = [], []
    for place, batch in sketched.batches(columns):
        kept = compared(batch, rule) & ~sketched.without[place : place + batch.num_rows]
        tables.append(batch.filter(column_of(kept)))
        places.append(place + np.flatnonzero(kept))
    if tables:
        yield arrow.Table.from_batches(tables), np.concatenate(places)


def equal_documents(sketched: Sketched, columns: Sequence[str]) -> Iterator[tuple[Any, Positions]]:
    places, keys = [np.empty(0, dtype=np.int64)], [b""]
    for place, batch in sketched.batches(EQUAL_COLUMNS):
        known = equal_keys(batch)
        inside = np.flatnonzero(present_in(known) & ~sketched.without[place : place + batch.num_rows])
        places.append(place + inside)
        keys += known.take(column_of(inside)).to_pylist()
    _, number, counts = np.unique(np.array(keys[1:], dtype=object), return_inverse=True, return_counts=True)
    several = counts[number] > 1
    wanted = np.concatenate(places)[several]
    if wanted.size:
        tables = [batch for _, batch in taken(sketched.batches(columns), wanted)]
        yield arrow.Table.from_batches(tables).append_column("label", column_of(number[several])), wanted


@dataclass(frozen=True, slots=True)
class Parts:
    """The documents of a batch in `count` parts, spilled to a folder meanwhile.

    Components with more than `most_grouped` documents, by default a part's capacity, are verified bucket by bucket
    first, in parts of so much `memory` too; near documents are never parted. `figures` counts the work.
    """

    sketched: Sketched
    rule: MatchRule
    count: int
    spill: Path
    figures: ClusteringFigures
    memory: int
    most_grouped: int | None
    threads: int | None

    def tables(self, columns: Sequence[str]) -> Iterator[tuple[Any, Positions]]:
        labels, inside = self._may_be_near()
        most = self.most_grouped or -(-inside.size // self.count)
        sizes = np.bincount(labels[inside], minlength=labels.size)
        large = inside[sizes[labels[inside]] > most]
        del sizes
        if large.size:
            labels[large] = self._near(large)
        of = partitions(labels[inside], self.count)
        dealt = SpillFiles(self.spill, "sketches")
        for part, batch in taken(self.sketched.batches(columns), inside):
            dealt.deal(batch, of[part])
        for number, table in dealt.read():
            yield table, inside[of == number]

    def _may_be_near(self) -> tuple[Positions, Positions]:
        components = Components(len(self.sketched))
        inside, blocks = self._blocks(self.sketched.without, finder_blocks)
        for finder, values, owners in blocks:
            for left, right in connected(self.rule.finders[finder], values, owners, self.threads):
                components.join(left, right)
        return components.labels(), inside

    def _near(self, large: Positions) -> Positions:
        without = np.ones(len(self.sketched), dtype=np.bool_)
        without[large] = False
        components = Components(large.size)
        for table in self._buckets(without):
            pairs = verified(table, self.rule, self.figures, self.threads)
            components.join(*(np.searchsorted(large, owners) for owners in pairs))
        return np.asarray(large[components.labels()], dtype=np.int64)

    def _buckets(self, without: npt.NDArray[np.bool_]) -> Iterator[Any]:
        sketched, columns = self.sketched, verified_by(self.rule)
        last = len(sketched.files)
        by_file, rows = SpillFiles(self.spill, "shared"), 0
        for finder, keys, owners in self._blocks(without, finder_key_blocks)[1]:
            owner, label = shared(finder, keys, owners)
            files = np.searchsorted(sketched.offsets, owner, side="right") - 1
            rows += owner.size
            by_file.deal(table_of(owner=owner, label=label), files * self.count // last)
        count = max(self.count, parts_for(rows * sketched.bytes_of(columns) // max(1, len(sketched)), self.memory))
        dealt = SpillFiles(self.spill, "buckets")
        for number, table in by_file.read():
            known = table.sort_by("owner")
            owner, label = numbers_of(known["owner"]), numbers_of(known["label"])
            for file in range(-(-number * last // self.count), -(-(number + 1) * last // self.count)):
                for part, batch in taken(sketched.batches_in(file, columns), owner):
                    with_owner = batch.append_column("owner", column_of(owner[part]))
                    dealt.deal(with_owner.append_column("label", column_of(label[part])), label[part] % count)
        for _, table in dealt.read():
            yield from whole_runs(table.sort_by("label").to_batches())

    def _blocks(
        self, without: npt.NDArray[np.bool_], blocking: Callable[..., Any]
    ) -> tuple[Positions, Iterator[tuple[int, Positions, Positions]]]:
        blocks, places = SpillFiles(self.spill, "blocks"), [np.empty(0, dtype=np.int64)]
        for place, batch in self.sketched.batches(found_by(self.rule)):
            inside = np.flatnonzero(compared(batch, self.rule) & ~without[place : place + batch.num_rows])
            found = sketches_of(batch.take(column_of(inside)), self.rule)
            places.append(place + inside)
            for number, finder in enumerate(self.rule.finders):
                for block, values, owners in blocking(finder, found[finder.name], place + inside, self.count):
                    blocks.add(number * self.count + block, table_of(value=values, owner=owners))

        def read() -> Iterator[tuple[int, Positions, Positions]]:
            for at, table in blocks.read():
                yield at // self.count, numbers_of(table["value"]), numbers_of(table["owner"])

        return np.concatenate(places), read()
