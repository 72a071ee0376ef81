"""Find the copies of documents to delete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from indexer.clustering.assign import READ_AT_ONCE, cluster_of
from indexer.clustering.latest import Deletion
from indexer.clustering.relations import NOT_VERIFIED, Permitted, Reason
from indexer.errors import UsageError
from indexer.ingest.from_store import origin_of_text
from indexer.ingest.sketching import NOTHING
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.relating import stored_texts
from indexer.matching.rule import MatchRule
from indexer.model import Record, Ref, name_of
from indexer.model.chunking import chunks
from indexer.relations.relation import Relation
from indexer.stores.base import Store

_ALIGNED_AT_ONCE = 200
# The document that another one is a copy of, how similar and whether identical it is, and its relation to it.
_Match = tuple[Ref, float, bool, Relation | None]


@dataclass(frozen=True, slots=True)
class StoredCopy:
    """A stored copy of the document `of`, or this document itself.

    `similarity` (0 to 1) is that by the rule, 1 for equal texts; `identical` if all that was read of both is equal.
    `left` is the file, the object or the document of another index the text was read from, if it may still exist; empty
    if unknown. `relation` is that of its text to the other one's, None if not compared.
    """

    record: Record
    of: Ref
    similarity: float
    identical: bool
    relation: Relation | None
    left: str
    version: Hashable

    @property
    def asked(self) -> bool:
        return self.record.ref == self.of


@dataclass(frozen=True, slots=True)
class UncomparedCounts:
    """The numbers of documents not compared, possibly with copies among them.

    `documents` are stored without a digest of the text, a sketch of the rule, or any words (as scans without text).
    `failures` could not be stored, or were left out as duplicates.
    """

    documents: int
    failures: int


@dataclass(frozen=True, slots=True)
class Erasure:
    """The outcome for copies: `deleted` from the store, `stripped` or `changed`.

    `stripped` ones are their owner's and keep their text, `changed` ones differ from the comparison and were left.
    """

    deleted: Sequence[StoredCopy]
    stripped: Sequence[StoredCopy]
    changed: Sequence[StoredCopy]

    @property
    def by_outcome(self) -> dict[str, Sequence[StoredCopy]]:
        return {"deleted": self.deleted, "stripped": self.stripped, "changed": self.changed}


class Copies:
    """The named documents and their copies: `found` has each named one before its repeats, nearest first.

    A copy is identical in text; with a rule, also near, short documents too. With `permitted` the texts of near ones
    are read again and aligned: other content, or an unreadable text, makes it no copy unless permitted; `stays` counts
    these by reason, with `examples`. The whole store is read once. Memory: the copies, without sketches. Raises
    UsageError for a document without a text digest if there is no rule, for a rule of parts, and the errors of
    lookup().
    """

    def __init__(
        self,
        store: Store,
        refs: Sequence[Ref],
        rule: MatchRule | None = None,
        *,
        permitted: Permitted | None = None,
    ) -> None:
        if rule:
            rule.require_copies()
        self._store, self._rule, self._permitted = store, rule, permitted
        self._texts = stored_texts(store)
        self.stays: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        asked = [record for record in store.get(list(dict.fromkeys(refs))) if record is not None]
        unknown = next((record for record in asked if not record.text_digest), None)
        if unknown and rule is None:
            raise UsageError(
                f"{name_of(unknown.ref)}: the store has no digest of its text, so its copies are unknown; index it "
                f"again, or give --similarity"
            )
        matches: dict[Ref, _Match] = {record.ref: (record.ref, 1.0, True, None) for record in asked}
        digests = {digest: record for record in asked if (digest := _digest(record)) not in ("", NOTHING)}
        without = 0
        equal: dict[str, list[Record]] = {}
        for record in store.scan(sketches=False):
            digest = _digest(record)
            if (same := digests.get(digest)) is not None:
                if record.is_identical(same):
                    matches.setdefault(record.ref, (same.ref, 1.0, True, Relation("identical")))
                else:
                    equal.setdefault(digest, []).append(record)
            elif digest == NOTHING or not (digest or (rule and record.tokens)):
                without += 1
        for digest, records in equal.items():
            for ref, relation in self._differing(digests[digest], records):
                matches.setdefault(ref, (digests[digest].ref, 1.0, False, relation))
        without += self._near(asked, rule, matches) if rule else 0
        self.uncompared = UncomparedCounts(without, sum(1 for _ in store.failures()))
        order = {record.ref: place for place, record in enumerate(asked)}
        self.found = sorted(
            self._read(matches),
            key=lambda one: (order[one.of], not one.asked, not one.identical, -one.similarity, name_of(one.record.ref)),
        )

    def _differing(self, record: Record, others: Sequence[Record]) -> Iterator[tuple[Ref, Relation]]:
        for some in chunks(others, _ALIGNED_AT_ONCE):
            self._texts.prepare([[record, *some]])
            for other in some:
                relation = self._texts.between(other, record)
                yield other.ref, relation if isinstance(relation, Relation) else Relation("reflowed")

    def _near(self, asked: Sequence[Record], rule: MatchRule, matches: dict[Ref, _Match]) -> int:
        unread: set[Ref] = set()
        reasons: dict[Ref, Reason] = {}
        for record in asked:
            question = Question(name_of(record.ref), record=record, ref=record.ref)
            answer = lookup(self._store, rule, question, limit=None, exclude=record.ref, include_short=True)
            unread.update(answer.unread)
            others = {match.record.ref: match for match in answer.matches if match.record.ref not in matches}
            for some in chunks(others.values(), _ALIGNED_AT_ONCE):
                for ref, relation, reason in self._judged(record, [match.record for match in some]):
                    if reason is None:
                        matches[ref] = record.ref, others[ref].similarity, False, relation
                    else:
                        reasons[ref] = reason
        for ref in reasons.keys() - matches.keys():
            self.stays[reasons[ref].kind] += 1
            self.examples.setdefault(reasons[ref].kind, f"{name_of(ref)}: {reasons[ref].says}")
        return rule.lacking(self._store.lacking(list(rule.schemes))) + len(unread - matches.keys())

    def _judged(self, record: Record, others: Sequence[Record]) -> Iterator[tuple[Ref, Relation | None, Reason | None]]:
        if self._permitted is None:
            yield from ((other.ref, None, None) for other in others)
            return
        self._texts.prepare([[record, *others]])
        for other in others:
            relation = self._texts.between(other, record)
            if isinstance(relation, str):
                yield other.ref, None, Reason(NOT_VERIFIED, f"not verified: {relation}")
            else:
                yield other.ref, relation, self._permitted.loses(relation, name_of(record.ref))

    def _read(self, matches: Mapping[Ref, _Match]) -> Iterator[StoredCopy]:
        for refs in chunks(matches, READ_AT_ONCE):
            for ref, read in zip(refs, self._store.versioned(refs), strict=True):
                if read is not None and read.record is not None:
                    yield StoredCopy(
                        read.record.without_sketches(), *matches[ref], origin_of_text(read.record), read.version
                    )

    def delete(self) -> Erasure:
        deleted: list[StoredCopy] = []
        stripped: list[StoredCopy] = []
        changed: list[StoredCopy] = []
        deletion = Deletion(self._store)
        for page in chunks(self.found, READ_AT_ONCE):
            refs = [one.record.ref for one in page]
            before = len(self._store.stripped)
            deletion.delete(refs, versions={one.record.ref: one.version for one in page})
            clusters = [cluster_of(known or {}) for known in deletion.annotations]
            owned = set(self._store.stripped[before:])
            gone: set[str] = set()
            for one, cluster, now in zip(page, clusters, self._store.get(refs, sketches=False), strict=True):
                (changed if now else stripped if one.record.ref in owned else deleted).append(one)
                if not now and cluster:
                    gone.add(cluster)
            deletion.renew()
            # It names the canonical document with its title; the next clustering writes it anew.
            self._store.delete_clusters(sorted(gone))
        return Erasure(deleted, stripped, changed)


def _digest(record: Record) -> str:
    # Documents without text are told apart by their bytes.
    return record.read_digest if record.text_digest == NOTHING else record.text_digest
