"""What to do with the documents of a cluster that another one stands for: mark or delete them.

Nothing is named that is not, compared anew at this moment, as near to the canonical document as the rule demands by
which the clusters were made. What is called a near-duplicate and is none would be lost.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from indexer.clustering.assign import READ_AT_ONCE, Changes, alone, cluster_of
from indexer.clustering.remembered import Remembered, require_remembered
from indexer.clustering.stored import Cluster, stored_clusters
from indexer.errors import UsageError
from indexer.matching.reading import Reader, TextReader, preferred, reader_of
from indexer.matching.rule import DEFAULT_SHARE, DEFAULT_VERIFIED, Finder, MatchRule, Reading
from indexer.model import Record, Ref
from indexer.ragged import Ragged
from indexer.refs import RefSet, RefTable
from indexer.schemes.base import SLACK, Similarities
from indexer.stores.base import Store

# The annotation of a marked document: the id of the document that stands for it.
MARK = "duplicate_of"
_GONE = "the canonical document of its cluster is gone; run neardup cluster again"

Measure = Finder | Reading


@dataclass(frozen=True, slots=True)
class Surplus:
    """A document that is not canonical in its cluster; `kept` says why it is kept all the same, empty where it is not.

    `similarity` (0 to 1) is that to the canonical document, found anew; below 0 where it could not be told.
    `identical` is whether their texts are known to be equal but for case and white space. `version` is the document's
    at that moment.
    """

    record: Record
    cluster: str
    canonical: Ref
    similarity: float
    kept: str = ""
    identical: bool = False
    version: Hashable = None


@dataclass(slots=True)
class Tally:
    """Counts of surplus documents: `named` would go, of them `identical` ones, `octets` in all; others are `kept`.

    `least` is the smallest similarity (0 to 1) of those that would go.
    """

    named: int = 0
    identical: int = 0
    octets: int = 0
    kept: int = 0
    least: float = 1.0

    def add(self, each: Surplus) -> None:
        """Count one more."""
        if each.kept:
            self.kept += 1
            return
        self.named += 1
        self.octets += each.record.size
        self.identical += each.identical
        # Texts that are equal are wholly similar, whatever their sketches say.
        self.least = min(self.least, 1.0 if each.identical else each.similarity)


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
        for cluster in stored_clusters(self.store, least=2):
            for some in self._of(cluster):
                yield from some

    def _of(self, cluster: Cluster) -> Iterator[list[Surplus]]:
        """The members of a cluster as they are now, each list read together with the document that stands for them."""
        for start in range(1, len(cluster.members), READ_AT_ONCE):
            first, *others = self.store.versioned([cluster.canonical, *cluster.members[start : start + READ_AT_ONCE]])
            members = [each for each in others if each and each.record and cluster_of(each.annotations) == cluster.id]
            records = [each.record for each in members if each.record]
            canonical = first.record if first and first.annotations.get("cluster", {}).get("is_canonical") else None
            if canonical is None:
                values, reasons = np.full(len(records), -1.0), [_GONE] * len(records)
            else:
                values, reasons = self._compared(canonical, records)
            same = [canonical is not None and record.is_identical(canonical) for record in records]
            if self.identical:
                other = f"its text is not identical with that of {cluster.canonical.id}"
                reasons = [why or other * (not equal) for why, equal in zip(reasons, same, strict=True)]
            found = zip(members, records, values.tolist(), reasons, same, strict=True)
            yield [
                Surplus(record, cluster.id, cluster.canonical, value, why, equal, each.version)
                for each, record, value, why, equal in found
            ]

    def _compared(self, canonical: Record, records: Sequence[Record]) -> tuple[Similarities, list[str]]:
        """The similarities of records to the canonical one, and why each is kept, empty where it is not."""
        values, reasons = self._judged(self.rule.measure, canonical, records)
        judged = [reasons]
        if self.rule.verifier is not None:
            judged.append(self._found(canonical, records))
        if self._verify is not None:
            judged.append(self._judged(self._verify, canonical, records)[1])
        return values, [next(filter(None, why), "") for why in zip(*judged, strict=True)]

    def _judged(self, measure: Measure, canonical: Record, records: Sequence[Record]) -> tuple[Similarities, list[str]]:
        """The similarities of records to the canonical one, and why each is kept, empty where it is near enough."""
        values = self._similarities(measure, canonical, records)
        rule = MatchRule(self.rule.finders, measure)
        unread = self._reader(measure).unread if isinstance(measure, Reading) else {}
        reasons = []
        for value, record in zip(values.tolist(), records, strict=True):
            if record.short:
                reasons.append("it has too few words to be compared")
            elif value < 0:
                why = unread.get(record.ref) or unread.get(canonical.ref)
                reasons.append(
                    f"it can't be compared with {canonical.ref.id} by {measure.name}" + (f": {why}" * bool(why))
                )
            elif value < measure.similarity - SLACK:
                reasons.append(f"{rule.said(value, canonical.ref.id)}, and {measure} is demanded")
            else:
                reasons.append("")
        return values, reasons

    def _found(self, canonical: Record, records: Sequence[Record]) -> list[str]:
        """Why each is kept that none of the rule's finders calls near the canonical one; empty for the others."""
        found = np.zeros(len(records), dtype=np.bool_)
        for finder in self.rule.finders:
            found |= self._similarities(finder, canonical, records) >= finder.similarity - SLACK
        finders = " or ".join(map(str, self.rule.finders))
        return ["" if each else f"it is not near {canonical.ref.id} by {finders}" for each in found.tolist()]

    def _similarities(self, measure: Measure, canonical: Record, records: Sequence[Record]) -> Similarities:
        if isinstance(measure, Reading):
            refs = [record.ref for record in records]
            return self._reader(measure).between([canonical.ref] * len(refs), refs)
        found = np.full(len(records), -1.0)
        own = canonical.sketch_of(measure.name)
        sketches = [record.sketch_of(measure.name) for record in records]
        there = [
            place for place, each in enumerate(sketches) if each and each.payload and each.scheme == measure.scheme.id
        ]
        if own is None or not own.payload or own.scheme != measure.scheme.id or not there:
            return found
        rows = Ragged.of_bytes([own.payload, *(each.payload for place in there if (each := sketches[place]))])
        others = np.arange(1, len(there) + 1)
        found[there] = measure.scheme.compare(rows, np.zeros(len(there), dtype=np.int64), others)
        return found

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
        found = (each for each in self.surplus() if not each.kept)
        while some := list(islice(found, READ_AT_ONCE)):
            refs = [each.record.ref for each in some]
            marked.extend(refs)
            noted = store.annotations(refs)
            changed = [
                (each.record.ref, {MARK: each.canonical.id})
                for each, old in zip(some, noted, strict=True)
                if old is not None and old.get(MARK) != each.canonical.id
            ]
            changes.documents += len(changed)
            if changed and not dry_run:
                before = store.contended.count
                store.annotate(changed)
                changes.documents -= store.contended.count - before
        right = RefSet(marked, np.arange(len(marked)))
        having = (ref for ref, noted in store.scan_annotations() if MARK in noted)
        while refs := list(islice(having, READ_AT_ONCE)):
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
        for cluster in stored_clusters(store, least=2):
            gone = 0
            for some in self._of(cluster):
                versions = {each.record.ref: each.version for each in some if not each.kept}
                gone += store.delete(list(versions), versions=versions)
            count += gone
            if gone and gone == len(cluster.members) - 1:
                store.annotate([(cluster.canonical, {"cluster": alone(cluster.canonical)})])
                store.delete_clusters([cluster.id])
        return count


def verification(store: Store, way: str) -> Measure:
    """What "sketch" or "text" verifies by; UsageError where the store has no sketch to verify by."""
    if way == "text":
        return Reading("text", DEFAULT_VERIFIED)
    scheme = preferred(store)
    if scheme is None:
        raise UsageError("the store has no sketches to verify by; index with --scheme minhash, or use --verify text")
    return Finder(scheme, DEFAULT_SHARE)
