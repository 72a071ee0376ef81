"""What to do with the documents of a cluster that another one stands for: mark or delete them.

Nothing is named that is not, compared anew at this moment, as near to the canonical document as the rule demands by
which the clusters were made. A document wrongly called a near-duplicate would be lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from indexer.clustering.assign import READ_AT_ONCE, Changes, alone, cluster_of
from indexer.clustering.memory import Remembered, require_remembered
from indexer.clustering.stored import Cluster, stored_clusters
from indexer.errors import UsageError
from indexer.matching.measures.reading import Reader, TextReader, preferred, reader_of
from indexer.matching.rule import DEFAULT_SHARE, DEFAULT_VERIFIED, Finder, MatchRule, Reading
from indexer.model import Record, Ref
from indexer.model.chunking import chunks
from indexer.model.ragged import Ragged
from indexer.model.refs import RefSet, RefTable
from indexer.schemes.base import SLACK, Similarities
from indexer.stores.base import Store, Versioned

# The annotation of a marked document: the id of the document that stands for it.
MARK = "duplicate_of"
_GONE = "the canonical document of its cluster is gone; run neardup cluster again"

Measure = Finder | Reading


@dataclass(frozen=True, slots=True)
class Surplus:
    """A document that is not canonical in its cluster; `kept` says why it is kept all the same, empty where it is not.

    `similarity` (0 to 1) is that to the canonical document, found anew; below 0 where it is unknown.
    `identical` is whether their texts are known to be equal but for case and white space. `version` is the document's
    at that moment, and `others` how many documents of the cluster are not canonical.
    """

    record: Record
    cluster: str
    canonical: Ref
    similarity: float
    kept: str = ""
    identical: bool = False
    version: Hashable = None
    others: int = 0


@dataclass(slots=True)
class Tally:
    """Counts of surplus documents: `named` would go, of them `identical` ones, `total_bytes` in all; others are `kept`.

    `least` is the smallest similarity (0 to 1) of those that would go.
    """

    named: int = 0
    identical: int = 0
    total_bytes: int = 0
    kept: int = 0
    least: float = 1.0

    def add(self, surplus: Surplus) -> None:
        """Count one more."""
        if surplus.kept:
            self.kept += 1
            return
        self.named += 1
        self.total_bytes += surplus.record.size
        self.identical += surplus.identical
        # Texts that are equal are wholly similar, whatever their sketches say.
        self.least = min(self.least, 1.0 if surplus.identical else surplus.similarity)


class Pruning:
    """The documents of a store's clusters that another one stands for.

    `verify` demands another measure beside the remembered rule. A clustering by a simhash alone has called documents
    near that share nothing but their language, so delete() then takes a verification, or `unverified`. With
    `identical` nothing is named whose text is not known to be the canonical document's. Raises StoreError where the
    store does not remember how its clusters were made.
    """

    def __init__(
        self, store: Store, *, verify: Measure | None = None, unverified: bool = False, identical: bool = False
    ) -> None:
        self.store = store
        self.remembered: Remembered = require_remembered(store)
        self.unverified, self.identical = unverified, identical
        self._verify = verify
        self._readers: dict[str, Reader] = {}

    @property
    def rule(self) -> MatchRule:
        """The rule by which the clusters were made."""
        return self.remembered.rule

    def surplus(self) -> Iterator[Surplus]:
        """The documents of clusters that are not canonical, by cluster, the most similar first."""
        for page in self._checked():
            yield from page

    def _checked(self) -> Iterator[list[Surplus]]:
        """The same in batches, each read together with the documents that stand for it, and compared as it is then."""
        pairs = ((stored, ref) for stored in stored_clusters(self.store, least=2) for ref in stored.members[1:])
        for page in chunks(pairs, READ_AT_ONCE):
            stand_ins = list(dict.fromkeys(cluster.canonical for cluster, _ in page))
            versions = self.store.versioned([*stand_ins, *(ref for _, ref in page)])
            first = dict(zip(stand_ins, versions, strict=False))
            members = [
                (cluster, stored, stored.record)
                for (cluster, _), stored in zip(page, versions[len(stand_ins) :], strict=True)
                if stored and stored.record and cluster_of(stored.annotations) == cluster.id
            ]
            canonical = [_still_canonical(first[cluster.canonical]) for cluster, _, _ in members]
            yield self._surplus(members, canonical)

    def _surplus(
        self, members: Sequence[tuple[Cluster, Versioned, Record]], canonical: Sequence[Record | None]
    ) -> list[Surplus]:
        values, reasons = np.full(len(members), -1.0), [_GONE] * len(members)
        there = [place for place, one in enumerate(canonical) if one is not None]
        beside = [one for one in canonical if one is not None]
        values[there], judged = self._compared(beside, [members[place][2] for place in there])
        for place, why in zip(there, judged, strict=True):
            reasons[place] = why
        surplus = []
        for (cluster, one, record), own, value, why in zip(members, canonical, values.tolist(), reasons, strict=True):
            same = own is not None and record.is_identical(own)
            other = f"its text is not identical with that of {cluster.canonical.id}" * (self.identical and not same)
            surplus.append(
                Surplus(
                    record, cluster.id, cluster.canonical, value, why or other, same, one.version,
                    len(cluster.members) - 1,
                )
            )  # fmt: skip
        return surplus

    def _compared(self, canonical: Sequence[Record], records: Sequence[Record]) -> tuple[Similarities, list[str]]:
        """The similarities of records to those that stand for them, and why each is kept, empty where it is not."""
        values, reasons = self._judged(self.rule.measure, canonical, records)
        judged = [reasons]
        if self.rule.verifier is not None:
            judged.append(self._found(canonical, records))
        if self._verify is not None:
            judged.append(self._judged(self._verify, canonical, records)[1])
        return values, [next(filter(None, why), "") for why in zip(*judged, strict=True)]

    def _judged(
        self, measure: Measure, canonical: Sequence[Record], records: Sequence[Record]
    ) -> tuple[Similarities, list[str]]:
        """The similarities of records to those that stand for them, and why each is kept, empty where it is near."""
        values = self._similarities(measure, canonical, records)
        rule = MatchRule(self.rule.finders, measure)
        unread = self._reader(measure).unread if isinstance(measure, Reading) else {}
        reasons = []
        for value, own, record in zip(values.tolist(), canonical, records, strict=True):
            if record.short:
                reasons.append("it has too few words to be compared")
            elif value < 0:
                why = unread.get(record.ref) or unread.get(own.ref)
                reasons.append(f"it can't be compared with {own.ref.id} by {measure.name}" + (f": {why}" * bool(why)))
            elif value < measure.similarity - SLACK:
                reasons.append(f"{rule.said(value, own.ref.id)}, and {measure} is demanded")
            else:
                reasons.append("")
        return values, reasons

    def _found(self, canonical: Sequence[Record], records: Sequence[Record]) -> list[str]:
        """Why each is kept that none of the rule's finders calls near the one that stands for it; else empty."""
        near = np.zeros(len(records), dtype=np.bool_)
        for finder in self.rule.finders:
            near |= self._similarities(finder, canonical, records) >= finder.similarity - SLACK
        finders = " or ".join(map(str, self.rule.finders))
        return [
            "" if value else f"it is not near {own.ref.id} by {finders}"
            for value, own in zip(near.tolist(), canonical, strict=True)
        ]

    def _similarities(self, measure: Measure, canonical: Sequence[Record], records: Sequence[Record]) -> Similarities:
        """Below 0 where they are unknown."""
        if isinstance(measure, Reading):
            return self._reader(measure).between([one.ref for one in canonical], [one.ref for one in records])
        similarities = np.full(len(records), -1.0)
        payloads = [
            one.payload if one and one.scheme == measure.scheme.id else b""
            for one in (record.sketch_of(measure.name) for record in (*canonical, *records))
        ]
        left = np.arange(len(records))
        sizes = np.array([len(one) for one in payloads], dtype=np.int64)
        left = left[(sizes[left] > 0) & (sizes[left + len(records)] > 0)]
        if left.size:
            # Without the empty ones all rows have the length that the scheme's payloads have.
            rows, place = Ragged.of_bytes([one for one in payloads if one]), np.cumsum(sizes > 0) - 1
            similarities[left] = measure.scheme.compare(rows, place[left], place[left + len(records)])
        return similarities

    def _reader(self, reading: Reading) -> Reader:
        if str(reading) not in self._readers:
            own = reader_of(self.store, self.rule) if self.rule.verifier == reading else None
            self._readers[str(reading)] = own or TextReader(self.store, reading)
        return self._readers[str(reading)]

    def mark(self, *, dry_run: bool = False) -> Changes:
        """Give each surplus document the annotation `duplicate_of`, the id of its canonical one; take old marks away.

        Only what changed is written. The counts are of documents marked (`documents`) and unmarked (`removed`).
        """
        store, changes, marked = self.store, Changes(), RefTable()
        surplus = (document for document in self.surplus() if not document.kept)
        for page in chunks(surplus, READ_AT_ONCE):
            refs = [document.record.ref for document in page]
            marked.extend(refs)
            annotations = store.annotations(refs)
            changed = [
                (document.record.ref, {MARK: document.canonical.id})
                for document, old in zip(page, annotations, strict=True)
                if old is not None and old.get(MARK) != document.canonical.id
            ]
            changes.documents += len(changed)
            if changed and not dry_run:
                before = store.contended.count
                store.annotate(changed)
                changes.documents -= store.contended.count - before
        right = RefSet(marked, np.arange(len(marked)))
        having = (ref for ref, annotations in store.scan_annotations() if MARK in annotations)
        for refs in chunks(having, READ_AT_ONCE):
            stale = [(ref, {MARK: None}) for ref, known in zip(refs, right.contains(refs), strict=True) if not known]
            changes.removed += len(stale)
            if stale and not dry_run:
                before = store.contended.count
                store.annotate(stale)
                changes.removed -= store.contended.count - before
        return changes

    def require_verified(self) -> None:
        """UsageError where documents would be deleted that a simhash alone calls near."""
        verified = self._verify is not None and self._verify.unit == "share"
        if self.rule.by_hash_alone and not (verified or self.unverified or self.identical):
            raise UsageError(
                f"the clusters were made by {self.rule} alone, which also calls documents near that share nothing but "
                "their language; verify what is deleted (--verify sketch or --verify text), take what is identical "
                "(--identical), cluster again by a verified rule, or say --unverified"
            )

    def delete(self) -> int:
        """Delete each surplus document that is still as it was checked; how many were. Their clusters become singles.

        Raises UsageError where that needs a verification; see `require_verified`.
        """
        self.require_verified()
        store, count = self.store, 0
        # A store whose marks can't be written keeps its documents.
        store.annotate(())
        gone: Counter[str] = Counter()
        for page in self._checked():
            named = {document.record.ref: document for document in page if not document.kept}
            deleted = store.delete(list(named), versions={ref: document.version for ref, document in named.items()})
            count += deleted
            if deleted < len(named):
                left = zip(list(named), store.get(list(named), sketches=False), strict=True)
                for ref in [ref for ref, record in left if record is not None]:
                    del named[ref]
            gone.update(document.cluster for document in named.values())
            emptied = {
                document.cluster: document.canonical for document in page if gone[document.cluster] == document.others
            }
            if emptied:
                store.annotate([(ref, {"cluster": alone(ref)}) for ref in emptied.values()])
                store.delete_clusters(list(emptied))
            # The members of one cluster come one after the other.
            gone = Counter({document.cluster: gone[document.cluster] for document in page[-1:]})
        return count


def _still_canonical(read: Versioned | None) -> Record | None:
    """The record of a document that still stands for its cluster."""
    return read.record if read and read.annotations.get("cluster", {}).get("is_canonical") else None


def verification(store: Store, way: str) -> Measure:
    """What "sketch" or "text" verifies by; UsageError where the store has no sketch to verify by."""
    if way == "text":
        return Reading("text", DEFAULT_VERIFIED)
    scheme = preferred(store)
    if scheme is None:
        raise UsageError("the store has no sketches to verify by; index with --scheme minhash, or use --verify text")
    return Finder(scheme, DEFAULT_SHARE)
