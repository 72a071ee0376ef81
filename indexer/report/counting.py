"""The figures of a report."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from indexer.clustering.canonical import value_of
from indexer.clustering.memory import Remembered
from indexer.clustering.noted import could_go
from indexer.clustering.sampling import Sampler
from indexer.clustering.stored import StoredCluster, stored_clusters
from indexer.ingest.failures import DUPLICATE
from indexer.ingest.passed_over import PASSED_OVER, files_passed_over
from indexer.matching.rule import MatchRule
from indexer.model import Record, name_of
from indexer.model.chunking import chunks
from indexer.model.origins import UNKNOWN, origin_name, origin_parts
from indexer.model.records import SIMHASH_DOC
from indexer.model.refs import RefSet, RefTable
from indexer.report.dates import date_of
from indexer.stores.base import Store

OTHERS = "others"

_READ_AT_ONCE = 2000
# This many different folders, hosts or times are counted separately before they are merged.
_MOST_GROUPS = 20_000
_SHOWN_SOURCES = 25
_SHOWN_TIMES = 36
# Why documents of a store are in no figure, beside the reasons of failures.
NOT_COMPARED = {
    "no-text": "No text was found in it: it is empty, or a scan, which neardup index --ocr reads by tesseract.",
    "too-short": "It has too few words to be compared.",
    "no-sketch": "It has no sketch for the rule yet; neardup index or annotate adds it.",
    PASSED_OVER: "Files of indexed folders left out by name or kind in the last run; --include takes them.",
}
# This many of the documents that are left out for one reason are named.
_NAMED = 20
_DEEPEST = 32
# The longest form of a time that is counted by, then what it is cut to: hour, day, month, year.
_TIME_LENGTHS = (13, 10, 7, 4)
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d)?", re.ASCII)
_SIZE_BOUNDS = (2, 3, 4, 5, 6, 11, 21, 51, 101, 1001, 10_001, 100_001)


@dataclass(slots=True)
class Share:
    """The redundant share of a part of the collection: documents and their bytes.

    Redundant documents repeat a kept one, and are not known to be forms or parts.
    """

    documents: int = 0
    redundant: int = 0
    total_bytes: int = 0
    redundant_bytes: int = 0

    @property
    def part(self) -> float:
        return self.redundant / self.documents if self.documents else 0.0

    def add(self, other: Share) -> None:
        self.documents += other.documents
        self.redundant += other.redundant
        self.total_bytes += other.total_bytes
        self.redundant_bytes += other.redundant_bytes


@dataclass(frozen=True, slots=True)
class SizeClass:
    """Clusters of a size.

    Attributes:
        low: The least number of members
        high: The largest number of members
        clusters: The clusters of so many members
        documents: The documents in them
    """

    low: int
    high: int
    clusters: int
    documents: int

    @property
    def label(self) -> str:
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"


@dataclass(frozen=True, slots=True)
class SimilarityStep:
    """Redundant documents of a similarity to the repeated one.

    Attributes:
        label: The similarity in the unit of the rule, as "3" for bits, or a range of shares
        least: The least similarity (0 to 1), up to that of the step before
        documents: The documents
    """

    label: str
    least: float
    documents: int


@dataclass(frozen=True, slots=True)
class RelationCount:
    """Documents, redundant or not, of a relation to their near kept ones.

    Attributes:
        relation: "identical", "reflowed", "noise", "rendition", "form", "reworded", "edited", "contains", "part",
            "unverified" for an unreadable text, or empty if unknown
        documents: The documents
    """

    relation: str
    documents: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Documents outside the other figures.

    Attributes:
        reason: A reason of `neardup failures`, or "no-text", "too-short", "no-sketch" or "passed-over"
        documents: Their number
        names: The names of the first 20; for files skipped their number by suffix
    """

    reason: str
    documents: int
    names: tuple[str, ...]

    @property
    def uncounted(self) -> bool:
        return self.reason in (DUPLICATE, PASSED_OVER)


@dataclass(frozen=True, slots=True)
class ReportCounts:
    """The numbers of a report; `neardup.report.figures.ReportFigures` explains them.

    `by_source` is by host, or by folder as deep as stays readable; `by_time` by hour, day, month or year.
    """

    rule: MatchRule
    total: Share
    left_out: tuple[LeftOut, ...]
    fingerprinted: int
    short: int
    unclustered: int
    clusters: int
    in_clusters: int
    spanning: int
    sizes: tuple[SizeClass, ...]
    similarities: tuple[SimilarityStep, ...]
    relations: tuple[RelationCount, ...]
    by_format: dict[str, Share]
    by_source: dict[str, Share]
    by_time: dict[str, Share]

    @property
    def not_compared(self) -> int:
        return sum(each.documents for each in self.left_out if not each.uncounted)

    @property
    def passed_over(self) -> int:
        return sum(each.documents for each in self.left_out if each.reason == PASSED_OVER)

    @property
    def differing(self) -> int:
        return sum(each.documents for each in self.relations if not could_go(each.relation))

    @property
    def exact(self) -> int:
        return sum(step.documents for step in self.similarities if step.least == 1.0)


@dataclass(slots=True)
class _SharesByKey:
    """Shares by a key; if there are too many keys, each is cut shorter."""

    coarsest: int
    finest: int
    cut: Callable[[Hashable, int], Hashable]
    shares: dict[Hashable, Share] = field(default_factory=dict)

    def add(self, key: Hashable, share: Share) -> None:
        key = self.cut(key, self.finest)
        if key in self.shares:
            self.shares[key].add(share)
            return
        self.shares[key] = share
        if len(self.shares) > _MOST_GROUPS:
            self._shrink()

    def _shrink(self) -> None:
        while len(self.shares) > _MOST_GROUPS // 2 and self.finest > self.coarsest:
            self.finest -= 1
            self.shares = self.at(self.finest)
        if len(self.shares) > _MOST_GROUPS // 2:
            kept = heapq.nlargest(_MOST_GROUPS // 4, self.shares, key=lambda key: self.shares[key].documents)
            self.shares = self._only(set(kept), self.shares)

    def at(self, level: int) -> dict[Hashable, Share]:
        cut: dict[Hashable, Share] = {}
        for key, share in self.shares.items():
            cut.setdefault(self.cut(key, level), Share()).add(share)
        return cut

    def readable(self, most: int) -> dict[Hashable, Share]:
        finer: dict[Hashable, Share] = {}
        for level in range(self.finest, self.coarsest - 1, -1):
            shares = self.at(level)
            if len(shares) <= most and (len(shares) > 1 or not finer):
                return shares
            if len(shares) == 1:
                break
            finer = shares
        kept = heapq.nlargest(most - 1, finer, key=lambda key: (finer[key].redundant, finer[key].documents))
        return self._only(set(kept), finer)

    @staticmethod
    def _only(kept: set[Hashable], shares: dict[Hashable, Share]) -> dict[Hashable, Share]:
        few: dict[Hashable, Share] = {}
        for key, share in shares.items():
            few.setdefault(key if key in kept else OTHERS, Share()).add(share)
        return few


def figures(
    store: Store, made: Remembered, *, most: int, time_field: str = "", sampler: Sampler | None = None
) -> tuple[ReportCounts, list[StoredCluster]]:
    """The figures of a clustered store, and its `most` largest clusters, the largest first, then by id.

    `time_field` names metadata (ISO 8601) to count by; without it, the date of the document, its mail or its file, else
    the time of indexing. Memory: some 100 bytes a document beside its id. Raises StoreError.
    """
    sizes: Counter[int] = Counter()
    near: Counter[tuple[float, str]] = Counter()
    relations: Counter[str] = Counter()
    redundant, inside = RefTable(), RefTable()

    def counted() -> Iterable[StoredCluster]:
        for cluster in stored_clusters(store, least=2, repeating=True):
            if sampler:
                sampler.add(cluster)
            rows = zip(cluster.members, cluster.repeats, cluster.shares, cluster.relations, strict=True)
            for ref, other, share, relation in rows:
                if other is None:
                    continue
                relations[relation] += 1
                if could_go(relation):
                    redundant.extend((ref,))
                    near[_step(share, made.rule)] += 1
            inside.extend(cluster.members)
            if len(cluster.members) > 1:
                sizes[len(cluster.members)] += 1
                yield cluster

    # Where none is asked for, nsmallest would look at none, and nothing would be counted.
    largest = heapq.nsmallest(max(most, 1), counted(), key=lambda cluster: (-len(cluster.members), cluster.id))[:most]
    scan = _RecordCounts(time_field or made.canonical.time)
    gone = RefSet(redundant, np.arange(len(redundant), dtype=np.int64))
    clustered = RefSet(inside, np.arange(len(inside), dtype=np.int64))
    unclustered = 0
    records = store.scan(sketches=False)
    for page in chunks(records, _READ_AT_ONCE):
        refs = [record.ref for record in page]
        times = scan.times_of(store, page)
        inside_of = zip(page, times, gone.contains(refs), clustered.contains(refs), strict=True)
        for record, time, is_redundant, known in inside_of:
            scan.count(record, time, is_redundant)
            unclustered += not known and not made.has_seen(record.indexed_at)
    return (
        ReportCounts(
            rule=made.rule,
            total=scan.total,
            left_out=_left_out(scan, store, made.rule),
            fingerprinted=scan.fingerprinted,
            short=scan.short,
            unclustered=unclustered,
            clusters=sizes.total(),
            in_clusters=sum(size * count for size, count in sizes.items()),
            spanning=sum(len(cluster.origins) > 1 for cluster in store.clusters()),
            sizes=_size_classes(sizes),
            similarities=tuple(SimilarityStep(label, -below, near[below, label]) for below, label in sorted(near)),
            relations=tuple(RelationCount(*each) for each in relations.most_common()),
            by_format=_by_amount(scan.formats),
            by_source=_by_amount(
                {_source_name(key): share for key, share in scan.sources.readable(_SHOWN_SOURCES).items()}
            ),
            by_time={str(key): share for key, share in sorted(scan.times.readable(_SHOWN_TIMES).items(), key=str)},
        ),
        largest,
    )


def _left_out(scan: _RecordCounts, store: Store, rule: MatchRule) -> tuple[LeftOut, ...]:
    names, counts = scan.names, scan.left_out
    for failure in store.failures():
        scan.leave_out(failure.reason, failure.source or name_of(failure.ref))
    kept = {SIMHASH_DOC, *(known.name for known in store.info.schemes)} & set(rule.schemes)
    if lacking := rule.lacking(store.lacking(sorted(kept))):
        counts["no-sketch"] += lacking
    if passed := files_passed_over(store):
        counts[PASSED_OVER] = sum(passed.values())
        names[PASSED_OVER] = [f"{count:,} {kind}" for kind, count in passed.items()]
    return tuple(LeftOut(reason, count, tuple(names.get(reason, ()))) for reason, count in counts.most_common())


def _step(similarity: float, rule: MatchRule) -> tuple[float, str]:
    if rule.unit == "bits":
        return -round(similarity, 6), rule.shown(similarity).split(" ")[0]
    percent = 100 if similarity >= 1 else min(int(100 * similarity + 1e-6), 99) // 5 * 5
    return -percent / 100, "all" if percent == 100 else f"{percent} to {percent + 4}%"


class _RecordCounts:
    def __init__(self, time_field: str) -> None:
        self.total = Share()
        self.fingerprinted = self.short = 0
        self.formats: dict[str, Share] = {}
        self.left_out: Counter[str] = Counter()
        self.names: dict[str, list[str]] = {}
        self.sources = _SharesByKey(1, _DEEPEST, _cut_source)
        self.times = _SharesByKey(0, len(_TIME_LENGTHS) - 1, _cut_time)
        self._time_field = time_field

    def times_of(self, store: Store, records: Sequence[Record]) -> list[Any]:
        if not (name := self._time_field):
            return [date_of(record) or record.indexed_at for record in records]
        found = zip(records, store.owners_values(records, [name]), strict=True)
        return [value_of(record, owners, name) for record, owners in found]

    def count(self, record: Record, time: Any, redundant: bool) -> None:
        share = Share(1, int(redundant), record.size, record.size if redundant else 0)
        self.total.add(share)
        self.fingerprinted += record.has_words
        self.short += record.short
        if not record.has_words or record.short:
            reason = "no-text" if not record.has_words else "too-short"
            self.leave_out(reason, record.source or name_of(record.ref))
        # A format is one of few; whatever else a store says is one more.
        known = record.format if record.format in self.formats or len(self.formats) < _SHOWN_SOURCES else OTHERS
        self.formats.setdefault(known or UNKNOWN, Share()).add(share)
        # Each keeps the share that it is given, so each gets its own.
        self.sources.add(origin_parts(record.source), replace(share))
        matched = _TIME.match(time) if isinstance(time, str) else None
        if matched and len(matched[0]) == _TIME_LENGTHS[1]:
            # Where some say no hour, all are counted by days.
            self.times.finest = min(self.times.finest, len(_TIME_LENGTHS) - 2)
        self.times.add(matched[0] if matched else UNKNOWN, share)

    def leave_out(self, reason: str, name: str) -> None:
        reason = reason if reason in self.left_out or len(self.left_out) < _SHOWN_SOURCES else OTHERS
        self.left_out[reason] += 1
        if self.left_out[reason] <= _NAMED:
            self.names.setdefault(reason, []).append(name)


def _source_name(key: Hashable) -> str:
    return origin_name(key) if isinstance(key, tuple) else str(key)


def _cut_source(key: Hashable, depth: int) -> Hashable:
    return key[:depth] if isinstance(key, tuple) else key


def _cut_time(key: Hashable, level: int) -> Hashable:
    if not isinstance(key, str) or key in (UNKNOWN, OTHERS):
        return key
    return key[: _TIME_LENGTHS[len(_TIME_LENGTHS) - 1 - level]].replace(" ", "T")


def _by_amount(shares: dict[str, Share]) -> dict[str, Share]:
    order = sorted(
        shares.items(), key=lambda item: (item[0] == OTHERS, -item[1].redundant, -item[1].documents, item[0])
    )
    return dict(order)


def _size_classes(sizes: Counter[int]) -> tuple[SizeClass, ...]:
    if not sizes:
        return ()
    classes = []
    for low, above in zip(_SIZE_BOUNDS, (*_SIZE_BOUNDS[1:], max(*sizes, _SIZE_BOUNDS[-1]) + 1), strict=True):
        inside = {size: count for size, count in sizes.items() if low <= size < above}
        classes.append(
            SizeClass(low, above - 1, sum(inside.values()), sum(size * count for size, count in inside.items()))
        )
        if above > max(sizes):
            break
    return tuple(classes)
