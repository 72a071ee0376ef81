"""Mark or delete documents that repeat a kept one.

The clustering has chosen them. A document is named only if it is, compared anew, as near to the repeated one as the
rule demands, and that one stays. A document wrongly called a near-duplicate would be lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from indexer.clustering.annotations import READ_AT_ONCE, StoredCluster, cluster_of, repeated_by, stored_clusters
from indexer.clustering.canonical import loses_mail, values_for
from indexer.clustering.held_decisions import HeldDecisions
from indexer.clustering.memory import ClusterSettings, require_remembered
from indexer.clustering.removal import RedundantDocument, Removal
from indexer.clustering.verdicts import APART, Permitted, Reason, Relations, mail_reason
from indexer.clustering.versions import signs_among
from indexer.errors import UsageError
from indexer.matching.measures.reading import Reader, ShingleReader, preferred, reader_of
from indexer.matching.measures.tables import Comparer
from indexer.matching.nodes import found_of
from indexer.matching.relating import read_lexicon, stored_texts
from indexer.matching.rule import DEFAULT_SHARE, Finder, MatchRule, TextVerification
from indexer.model import Record, Ref
from indexer.model.chunking import chunks, chunks_by_size
from indexer.model.mails import is_mail
from indexer.relations.lexicon import Lexicon
from indexer.relations.versions.order import lineages
from indexer.schemes.base import SLACK, Positions, Similarities
from indexer.stores.base import Store, Versioned

_GONE = "the document it repeats is gone, or goes itself; run neardup cluster again"

Measure = Finder | TextVerification


_ALONE = Reason("the repeated document is gone or goes itself", _GONE)
_SHORT = Reason("too few words", "it has too few words to be compared")


class Pruning(Removal):
    """The documents of a store that repeat another one, which is kept.

    `verify` demands another measure beside the remembered rule; for shares it demands no less than the rule does. A
    clustering by a simhash alone calls documents near with only their language in common, so delete() then takes a
    verification, or `unverified`. With `permitted` only documents with a permitted relation to a kept one are named.
    Raises StoreError if the store does not remember how its clusters were made, UsageError for a rule of parts, and
    ExtractionError at the end if the rule compares texts and none could be read.
    """

    def __init__(
        self,
        store: Store,
        *,
        verify: Measure | None = None,
        unverified: bool = False,
        permitted: Permitted | None = None,
    ) -> None:
        super().__init__(store)
        self.remembered: ClusterSettings = require_remembered(store)
        self.rule = self.remembered.rule
        self._decisions = HeldDecisions(store)
        self.rule.require_copies()
        self.unverified, self._permitted = unverified, permitted
        self._relations: Relations[Record] | None = None
        if verify and verify.unit == self.rule.measure.unit == "share":
            verify = replace(verify, similarity=max(verify.similarity, self.rule.measure.similarity))
        self.verify = verify
        self._readers: dict[str, Reader] = {}

    def remark(self) -> str:
        way = "--unverified goes by the simhash" if self.rule.by_hash_alone else "--verify sketch goes by the sketches"
        instead = f"nothing near is removed but what is identical; {way} alone"
        return self._relations.texts.remark(instead) if self._relations else ""

    def _found(self) -> Iterator[RedundantDocument]:
        if self._permitted:
            kept = read_lexicon(self.store)
            texts = stored_texts(self.store, lexicon=kept or Lexicon(), learns=kept is None)
            self._relations = Relations(self._permitted, texts, lambda record: is_mail(record.source))
        for page in _pages(self.store):
            stand_ins = list(dict.fromkeys(other for *_, other in page))
            versions = self.store.versioned([*stand_ins, *(ref for _, _, ref, _ in page)])
            first = dict(zip(stand_ins, versions, strict=False))
            members = [
                _Member(
                    RedundantDocument(stored.record, cluster, other, -1.0, version=stored.version),
                    _staying(other, first[other]),
                    count,
                )
                for (cluster, count, ref, other), stored in zip(page, versions[len(stand_ins) :], strict=True)
                if stored and stored.record and repeated_by(ref, stored.annotations) == other
            ]
            yield from self._surplus(members)
        for reader in self._readers.values():
            reader.require_read()

    def _surplus(self, members: Sequence[_Member]) -> Iterator[RedundantDocument]:
        both = [(member.stand_in.record, member.document.record) for member in members if member.stand_in]
        values, reasons = self._compared([one for one, _ in both], [record for _, record in both])
        compared = zip(values.tolist(), reasons, strict=True)
        clusters: dict[str, list[_Member]] = {}
        for member in members:
            document, stand_in = member.document, member.stand_in
            if stand_in is None:
                yield replace(document, reason=_ALONE)
                continue
            value, reason = next(compared)
            if self._decisions.are_apart(document.record.ref, document.repeats):
                reason = APART
            elif not (reason or self._relations) and loses_mail(document.record.source, stand_in.record.source):
                reason = mail_reason(document.repeats.id)
            same = document.record.is_identical(stand_in.record)
            judged = replace(document, similarity=value, reason=reason, identical=same)
            if reason or not self._relations:
                yield judged
            else:
                clusters.setdefault(document.cluster, []).append(replace(member, document=judged))
        if self._relations:
            yield from self._related(self._relations, clusters)

    def _related(
        self, relations: Relations[Record], clusters: Mapping[str, Sequence[_Member]]
    ) -> Iterator[RedundantDocument]:
        relations.prepare((name, *pair) for name, some in clusters.items() for pair in _pairs(some))
        for cluster, some in clusters.items():
            # Of copies of one form the first that is judged stays.
            rule, records = self.remembered.canonical, [member.document.record for member in some]
            owners = values_for(rule, self.store, records)
            keys = {record.ref: rule.key(record, values) for record, values in zip(records, owners, strict=True)}
            ordered = sorted(some, key=lambda each: keys[each.document.record.ref])
            yield from self._judged_by_text(relations, cluster, ordered)

    def _judged_by_text(
        self, relations: Relations[Record], cluster: str, some: Sequence[_Member]
    ) -> Iterator[RedundantDocument]:
        known = {member.document.record.ref: member.document for member in some}
        stand_ins = {member.document.repeats: member.stand_in for member in some if member.stand_in}
        here = Counter(member.document.repeats for member in some)
        # A document can be replaced where all that repeat it are judged together, and nobody decided on it.
        whole = {member.document.repeats for member in some if here[member.document.repeats] == member.repeating}
        whole = {ref for ref in whole if not any(self._decisions.sides([ref]))}
        values = {
            pair: document.similarity
            for ref, document in known.items()
            for pair in ((ref, document.repeats), (document.repeats, ref))
        }

        def near(record: Record, other: Record) -> bool:
            if self._decisions.are_apart(record.ref, other.ref):
                return False
            if record.is_identical(other):
                values[record.ref, other.ref] = 1.0
                return True
            [values[record.ref, other.ref]], [why] = self._compared([other], [record])
            return why is None

        def may_go(record: Record) -> bool:
            return record.ref in known or record.ref in whole

        for record, (other, relation, reason) in relations.verdicts(cluster, _pairs(some), near, may_go):
            # A stand-in goes for a cleaner document, which repeats it.
            document = known.get(record.ref) or stand_ins[record.ref]
            yield replace(
                document, repeats=other.ref, reason=reason, relation=relation,
                similarity=float(values[record.ref, other.ref]),
                identical=relation is not None and relation.word == "identical",
            )  # fmt: skip

    def _compared(
        self, canonical: Sequence[Record], records: Sequence[Record]
    ) -> tuple[Similarities, list[Reason | None]]:
        values, reasons = self._judged(self.rule.measure, canonical, records)
        judged = [reasons]
        if self.rule.verifier is not None:
            judged.append(self._by_finders(canonical, records))
        if self.verify is not None:
            judged.append(self._judged(self.verify, canonical, records)[1])
        return values, [next(filter(None, why), None) for why in zip(*judged, strict=True)]

    def _judged(
        self, measure: Measure, canonical: Sequence[Record], records: Sequence[Record]
    ) -> tuple[Similarities, list[Reason | None]]:
        values = self._similarities(measure, canonical, records)
        rule = MatchRule(self.rule.finders, measure)
        unread = self._reader(measure).unread if isinstance(measure, TextVerification) else {}
        reasons: list[Reason | None] = []
        for value, own, record in zip(values.tolist(), canonical, records, strict=True):
            if record.short:
                reasons.append(_SHORT)
            elif value < 0:
                why = unread.get(record.ref) or unread.get(own.ref)
                says = f"it can't be compared with {own.ref.id} by {measure.name}" + (f": {why}" * bool(why))
                reasons.append(Reason(f"not comparable by {measure.name}", says))
            elif value < measure.similarity - SLACK:
                says = f"{rule.said(value, own.ref.id)}, and {measure} is demanded"
                reasons.append(Reason(f"not near by {measure}", says))
            else:
                reasons.append(None)
        return values, reasons

    def _by_finders(self, canonical: Sequence[Record], records: Sequence[Record]) -> list[Reason | None]:
        comparer, left, right = _compared_rows(self.rule, canonical, records)
        near = comparer.found(left, right)
        finders = " or ".join(map(str, self.rule.finders))
        return [
            None if value else Reason(f"not near by {finders}", f"it is not near {own.ref.id} by {finders}")
            for value, own in zip(near.tolist(), canonical, strict=True)
        ]

    def _similarities(self, measure: Measure, canonical: Sequence[Record], records: Sequence[Record]) -> Similarities:
        if isinstance(measure, TextVerification):
            return self._reader(measure).between([one.ref for one in canonical], [one.ref for one in records])
        comparer, left, right = _compared_rows(MatchRule((measure,)), canonical, records)
        return comparer.by(measure, left, right)

    def _reader(self, reading: TextVerification) -> Reader:
        if str(reading) not in self._readers:
            own = reader_of(self.store, self.rule) if self.rule.verifier == reading else None
            self._readers[str(reading)] = own or ShingleReader(self.store, reading)
        return self._readers[str(reading)]

    def require_verified(self) -> None:
        verified = self._permitted is not None or (self.verify is not None and self.verify.unit == "share")
        if self.rule.by_hash_alone and not (verified or self.unverified):
            raise UsageError(
                f"the clusters were made by {self.rule} alone, which also calls documents near that share nothing but "
                "their language; verify what is deleted (--verify text or --verify sketch), take what is identical "
                "(--remove identical), cluster again by a verified rule, or say --unverified"
            )


@dataclass(frozen=True, slots=True)
class _Member:
    """A document that repeats another one, and this one, None if it doesn't stay.

    `repeating` documents in the whole store repeat the same one.
    """

    document: RedundantDocument
    stand_in: RedundantDocument | None
    repeating: int


def _compared_rows(
    rule: MatchRule, canonical: Sequence[Record], records: Sequence[Record]
) -> tuple[Comparer, Positions, Positions]:
    left = np.arange(len(records))
    return Comparer(rule, found_of([*canonical, *records], rule, keys=False).payloads), left, left + len(records)


def _pairs(members: Sequence[_Member]) -> list[tuple[Record, Record]]:
    return [(member.document.record, member.stand_in.record) for member in members if member.stand_in]


def _pages(store: Store) -> Iterator[list[tuple[str, int, Ref, Ref]]]:
    clusters = (
        [
            (stored.id, count, ref, other)
            for ref, other, count in zip(stored.members, stored.repeats, stored.repeating, strict=True)
            if other
        ]
        for stored in stored_clusters(store, least=2, repeating=True)
    )
    parts = (part for members in clusters for part in chunks(members, READ_AT_ONCE))
    for some in chunks_by_size(parts, READ_AT_ONCE, len, READ_AT_ONCE):
        yield [each for part in some for each in part]


def _staying(ref: Ref, read: Versioned | None) -> RedundantDocument | None:
    if read is None or read.record is None or repeated_by(ref, read.annotations) is not None:
        return None
    return RedundantDocument(read.record, cluster_of(read.annotations) or "", ref, 1.0, version=read.version)


def sketch_verification(store: Store) -> Finder:
    scheme = preferred(store)
    if scheme is None:
        raise UsageError("the store has no sketches to verify by; index with --scheme minhash, or use --verify text")
    return Finder(scheme, DEFAULT_SHARE)


class VersionPruning(Removal):
    """The versions of documents that are not the latest; each would go for the latest one of its cluster.

    Numbers and dates that the documents give, or the field of the clustering's time, put versions in order. What has an
    unknown order stays. Memory: the records of a cluster. Raises StoreError without clusters.
    """

    not_marked = "an older version"

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        remembered = require_remembered(store)
        self.rule, self._time = remembered.rule, remembered.canonical.time
        self._decisions = HeldDecisions(store)

    def _found(self) -> Iterator[RedundantDocument]:
        for cluster in stored_clusters(self.store, least=2):
            yield from self._of_cluster(cluster)

    def _of_cluster(self, cluster: StoredCluster) -> Iterator[RedundantDocument]:
        read: list[tuple[Record, Hashable]] = []
        for some in chunks(cluster.members, READ_AT_ONCE):
            read += [
                (one.record, one.version)
                for one in self.store.versioned(some)
                if one and one.record and cluster_of(one.annotations) == cluster.id
            ]
        records = [record for record, _ in read]
        for lineage in lineages(signs_among(self.store, records, self._time)):
            # Members are by their similarity to the canonical document.
            latest = records[min(lineage.latest)]
            # Of each step but the last there is evidence why the next one comes after it.
            for step, why in zip(lineage.steps, lineage.evidence, strict=False):
                for place in [each for each in step if each not in lineage.latest]:
                    record, reason = records[place], None
                    if self._decisions.are_apart(record.ref, latest.ref):
                        reason = APART
                    elif loses_mail(record.source, latest.source):
                        reason = mail_reason(latest.ref.id)
                    yield RedundantDocument(
                        record, cluster.id, latest.ref, -1.0, reason, version=read[place][1], older=why
                    )
