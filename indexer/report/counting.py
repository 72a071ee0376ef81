"""The figures of a report."""

from __future__ import annotations

import heapq
import os
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import compress, takewhile
from typing import Any

import numpy as np

from indexer.clustering.annotations import StoredCluster, stored_clusters
from indexer.clustering.canonical import value_of
from indexer.clustering.memory import ClusterSettings
from indexer.clustering.sampling import Sampler
from indexer.ingest.left_out import MARKED_DUPLICATE
from indexer.ingest.remembered import PASSED_OVER, files_passed_over
from indexer.matching.rule import MatchRule
from indexer.model import DECLARED, SIMHASH_DOC, Record, name_of
from indexer.model.chunking import chunks
from indexer.model.origins import UNKNOWN, origin_name, origin_parts
from indexer.model.paths import path_of_printable
from indexer.model.refs import RefSet, RefTable
from indexer.relations.relation import SAME_WORK, verdict_of
from indexer.report.figures import Amount, LeftOut, NamedShare, RelationCount, ReportFigures, SimilarityStep, SizeClass
from indexer.stores.base import Store
from indexer.text.visible import printable

OTHERS = "others"

_READ_AT_ONCE = 2000
# This many different folders, hosts or times are counted separately before they are merged.
_MOST_GROUPS = 20_000
_SHOWN_SOURCES = 25
_SHOWN_TIMES = 36
# Why documents of a store are in no figure, beside the reasons of failures.
NOT_COMPARED = {
    "no-text": "It has no words, so only equal documents match. neardup index --ocr reads scans by tesseract.",
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
# The groups of documents that repeat others: "stays" was not compared by its text, or could not be read.
_GROUPS = ("could go", "same work", "differs", "stays")
_DATES = ("modified", "published", "dated")
_SIZE_BOUNDS = (2, 3, 4, 5, 6, 11, 21, 51, 101, 1001, 10_001, 100_001)


@dataclass(slots=True)
class Share:
    """The share of a part of the collection that repeats another document, and of that what could go."""

    documents: int = 0
    repeating: int = 0
    could_go: int = 0
    total_bytes: int = 0
    could_go_bytes: int = 0

    def add(self, other: Share) -> None:
        self.documents += other.documents
        self.repeating += other.repeating
        self.could_go += other.could_go
        self.total_bytes += other.total_bytes
        self.could_go_bytes += other.could_go_bytes


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
        kept = heapq.nlargest(most - 1, finer, key=lambda key: (finer[key].repeating, finer[key].documents))
        return self._only(set(kept), finer)

    @staticmethod
    def _only(kept: set[Hashable], shares: dict[Hashable, Share]) -> dict[Hashable, Share]:
        few: dict[Hashable, Share] = {}
        for key, share in shares.items():
            few.setdefault(key if key in kept else OTHERS, Share()).add(share)
        return few


def figures(
    store: Store, name: str, made: ClusterSettings, *, most: int, time_field: str = "", sampler: Sampler | None = None
) -> tuple[ReportFigures, str, list[StoredCluster]]:
    """The figures of a clustered store with this name, without its largest clusters; the path above the common folder
    of all files, empty for none; and the `most` largest clusters, the largest first, then by id.

    `time_field` names metadata (ISO 8601) to count by; without it, the date of the document, its mail or its file, else
    the time of indexing. Memory: some 100 bytes a document beside its id. Raises StoreError.
    """
    sizes: Counter[int] = Counter()
    near: Counter[tuple[float, str]] = Counter()
    relations: Counter[str] = Counter()
    groups, inside = {group: RefTable() for group in _GROUPS}, RefTable()

    def counted() -> Iterable[StoredCluster]:
        for cluster in stored_clusters(store, least=2, repeating=True):
            if sampler:
                sampler.add(cluster)
            rows = zip(cluster.members, cluster.repeats, cluster.shares, cluster.relations, strict=True)
            for ref, other, share, relation in rows:
                if other is None:
                    continue
                relations[relation] += 1
                groups[group_name(relation)].extend((ref,))
                near[_step(share, made.rule)] += 1
            inside.extend(cluster.members)
            if len(cluster.members) > 1:
                sizes[len(cluster.members)] += 1
                yield cluster

    # Where none is asked for, nsmallest would look at none, and nothing would be counted.
    largest = heapq.nsmallest(max(most, 1), counted(), key=lambda cluster: (-len(cluster.members), cluster.id))[:most]
    scan = _RecordCounts(time_field or made.canonical.time)
    sets = {group: RefSet(refs, np.arange(len(refs), dtype=np.int64)) for group, refs in groups.items()}
    clustered = RefSet(inside, np.arange(len(inside), dtype=np.int64))
    unclustered = 0
    for page in chunks(store.scan(sketches=False), _READ_AT_ONCE):
        refs = [record.ref for record in page]
        times = scan.times_of(store, page)
        group_of = {ref: group for group, found in sets.items() for ref in compress(refs, found.contains(refs))}
        for record, time, known in zip(page, times, clustered.contains(refs), strict=True):
            scan.count(record, time, group_of.get(record.ref))
            unclustered += not known and not made.has_seen(record.indexed_at)
    left_out, info = _left_out(scan, store, made.rule), store.info
    counts = ReportFigures(
        store=name,
        made_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        made_with=f"{info.scheme}, content {info.content}, extraction rules {info.extractor}, Unicode {info.unicode}",
        rule=made.rule.written(whole=True),
        documents=scan.total.documents,
        bytes=scan.total.total_bytes,
        repeating=scan.amount(*_GROUPS),
        could_go=scan.amount("could go"),
        same_work=scan.amount("same work"),
        differ=scan.amount("differs"),
        undecided=scan.amount("stays"),
        not_compared=sum(each.documents for each in left_out if not each.uncounted),
        left_out=left_out,
        fingerprinted=scan.fingerprinted,
        short=scan.short,
        unclustered=unclustered,
        clusters=sizes.total(),
        in_clusters=sum(size * count for size, count in sizes.items()),
        spanning=sum(len(cluster.origins) > 1 for cluster in store.clusters()),
        cluster_sizes=_size_classes(sizes),
        similarities=tuple(SimilarityStep(label, -below, near[below, label]) for below, label in sorted(near)),
        relations=tuple(RelationCount(*each) for each in relations.most_common()),
        by_format=_by_amount(scan.formats),
        by_source=_by_amount(
            {_source_name(key): share for key, share in scan.sources.readable(_SHOWN_SOURCES).items()}
        ),
        by_time=_named(sorted((str(key), share) for key, share in scan.times.readable(_SHOWN_TIMES).items())),
    )
    return counts, scan.above, largest


def _left_out(scan: _RecordCounts, store: Store, rule: MatchRule) -> tuple[LeftOut, ...]:
    names, counts = scan.names, scan.left_out
    for failure in store.failures():
        if failure.reason == MARKED_DUPLICATE:
            continue
        scan.leave_out(failure.reason, failure.source or name_of(failure.ref))
    kept = {SIMHASH_DOC, *(known.name for known in store.info.schemes)} & set(rule.schemes)
    if lacking := rule.lacking(store.lacking(sorted(kept))):
        counts["no-sketch"] += lacking
    if passed := files_passed_over(store):
        counts[PASSED_OVER] = sum(passed.values())
        names[PASSED_OVER] = [f"{count:,} {kind}" for kind, count in passed.items()]
    return tuple(
        LeftOut(reason, count, tuple(name.removeprefix(scan.above) for name in names.get(reason, ())))
        for reason, count in counts.most_common()
    )


def _step(similarity: float, rule: MatchRule) -> tuple[float, str]:
    if rule.unit == "bits":
        return -round(similarity, 6), rule.shown(similarity).split(" ")[0]
    percent = 100 if similarity >= 1 else min(int(100 * similarity + 1e-6), 99) // 5 * 5
    return -percent / 100, "all" if percent == 100 else f"{percent} to {percent + 4}%"


def group_name(relation: str | None) -> str:
    return "same work" if relation in SAME_WORK else verdict_of(relation)


class _RecordCounts:
    def __init__(self, time_field: str) -> None:
        self.total = Share()
        self._groups = {group: Share() for group in _GROUPS}
        self.fingerprinted = self.short = 0
        self.formats: dict[str, Share] = {}
        self.left_out: Counter[str] = Counter()
        self.names: dict[str, list[str]] = {}
        self.sources = _SharesByKey(1, _DEEPEST, _cut_source)
        self.times = _SharesByKey(0, len(_TIME_LENGTHS) - 1, _cut_time)
        self._time_field = time_field
        self.folder: tuple[str, ...] = ()

    @property
    def above(self) -> str:
        return f"{origin_name(self.folder[:-1])}/" if len(self.folder) > 2 else ""

    def times_of(self, store: Store, records: Sequence[Record]) -> list[Any]:
        if not (name := self._time_field):
            return [date_of(record) or record.indexed_at for record in records]
        found = zip(records, store.owners_values(records, [name]), strict=True)
        return [value_of(record, owners, name) for record, owners in found]

    def amount(self, *groups: str) -> Amount:
        """The documents of some groups."""
        documents = sum(self._groups[group].documents for group in groups)
        share = documents / self.total.documents if documents else 0.0
        return Amount(documents, round(share, 6), sum(self._groups[group].total_bytes for group in groups))

    def count(self, record: Record, time: Any, group: str | None) -> None:
        """Count a document, of that group if it repeats another one."""
        goes = group == "could go"
        share = Share(1, int(group is not None), int(goes), record.size, record.size if goes else 0)
        self.total.add(share)
        if group is not None:
            self._groups[group].add(share)
        self.fingerprinted += record.has_words
        self.short += record.short
        if not record.has_words or record.short:
            reason = "no-text" if not record.has_words else "too-short"
            self.leave_out(reason, record.source or name_of(record.ref))
        # A format is one of few; whatever else a store says is one more.
        known = record.format if record.format in self.formats or len(self.formats) < _SHOWN_SOURCES else OTHERS
        self.formats.setdefault(known or UNKNOWN, Share()).add(share)
        # Each keeps the share that it is given, so each gets its own.
        origin = origin_parts(record.source)
        self.sources.add(origin, replace(share))
        if origin[0] == "/":
            pairs = zip(self.folder or origin, origin, strict=False)
            self.folder = tuple(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
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


def date_of(record: Record) -> str:
    """The day of a document (ISO 8601): its own date, else that of a mail, else that of its file; or empty."""
    declared = record.metadata.get(DECLARED)
    said = [declared.get(name) for name in _DATES] if isinstance(declared, dict) else []
    for value in (*said, record.metadata.get("date")):
        if isinstance(value, str) and value:
            return printable(value[:10])
    if os.path.isabs(record.source):
        try:
            status = os.lstat(path_of_printable(record.source))
        except (OSError, ValueError):
            return ""
        return datetime.fromtimestamp(status.st_mtime, UTC).strftime("%Y-%m-%d")
    return ""


def _source_name(key: Hashable) -> str:
    return origin_name(key) if isinstance(key, tuple) else str(key)


def _cut_source(key: Hashable, depth: int) -> Hashable:
    return key[:depth] if isinstance(key, tuple) else key


def _cut_time(key: Hashable, level: int) -> Hashable:
    if not isinstance(key, str) or key in (UNKNOWN, OTHERS):
        return key
    return key[: _TIME_LENGTHS[len(_TIME_LENGTHS) - 1 - level]].replace(" ", "T")


def _by_amount(shares: dict[str, Share]) -> tuple[NamedShare, ...]:
    order = sorted(
        shares.items(), key=lambda item: (item[0] == OTHERS, -item[1].repeating, -item[1].documents, item[0])
    )
    return _named(order)


def _named(shares: Iterable[tuple[str, Share]]) -> tuple[NamedShare, ...]:
    return tuple(
        NamedShare(
            name, each.documents, each.repeating, round(each.repeating / max(each.documents, 1), 6), each.could_go,
            each.total_bytes, each.could_go_bytes,
        )
        for name, each in shares
    )  # fmt: skip


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
