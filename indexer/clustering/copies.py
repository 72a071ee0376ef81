"""Find the copies of documents to delete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from indexer.clustering.annotations import READ_AT_ONCE, cluster_of
from indexer.clustering.removal import RedundantDocument, Tally
from indexer.clustering.verdicts import NOT_VERIFIED, Permitted, Reason
from indexer.clustering.versions import Deletion
from indexer.errors import UsageError
from indexer.ingest.left_out import MARKED_DUPLICATE
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


@dataclass(frozen=True, slots=True)
class UncomparedCounts:
    """The numbers of documents not compared, possibly with copies among them.

    `documents` are stored without a digest of the text, a sketch of the rule, or any words (as scans without text).
    `failures` could not be stored, or were left out as duplicates.
    """

    documents: int
    failures: int


class Copies:
    """The named documents and their copies: `found` has each named one before its repeats, nearest first.

    A copy is identical in text; with a rule, also near, short documents too. With `permitted` the texts of near ones
    are read again and aligned: other content, or an unreadable text, makes it no copy unless permitted; `tally` counts
    these. The whole store is read once. Memory: the copies, without sketches. Raises
    UsageError for a document without a text digest if there is no rule, for a rule of parts, and the errors of
    lookup().
    """

    def __init__(
        self, store: Store, refs: Sequence[Ref], rule: MatchRule | None = None, *, permitted: Permitted | None = None
    ) -> None:
        if rule:
            rule.require_copies()
        self._store, self._rule, self._permitted = store, rule, permitted
        self._texts = stored_texts(store)
        self.tally = Tally()
        asked = [record for record in store.get(list(dict.fromkeys(refs))) if record is not None]
        unknown = next((record for record in asked if not record.text_digest), None)
        if unknown and rule is None:
            raise UsageError(
                f"{name_of(unknown.ref)}: the store has no digest of its text, so its copies are unknown; index it "
                f"again, or give --similarity"
            )
        found = {record.ref: RedundantDocument(record, "", record.ref, 1.0, identical=True) for record in asked}
        digests = {digest: record for record in asked if (digest := _digest(record)) not in ("", NOTHING)}
        without = 0
        equal: dict[str, list[Record]] = {}
        for record in store.scan(sketches=False):
            digest = _digest(record)
            if (same := digests.get(digest)) is not None:
                if record.is_identical(same):
                    copy = RedundantDocument(record, "", same.ref, 1.0, identical=True, relation=Relation("identical"))
                    found.setdefault(record.ref, copy)
                else:
                    equal.setdefault(digest, []).append(record)
            elif digest == NOTHING or not (digest or (rule and record.tokens)):
                without += 1
        for digest, records in equal.items():
            for other, relation in self._related(digests[digest], records):
                known = relation if isinstance(relation, Relation) else Relation("reflowed")
                found.setdefault(other.ref, RedundantDocument(other, "", digests[digest].ref, 1.0, relation=known))
        without += self._near(asked, rule, found) if rule else 0
        refused = sum(failure.reason != MARKED_DUPLICATE for failure in store.failures())
        self.uncompared = UncomparedCounts(without, refused)
        order = {record.ref: place for place, record in enumerate(asked)}
        self.found = sorted(
            self._as_they_are(found),
            key=lambda one: (
                order[one.repeats],
                one.record.ref != one.repeats,
                not one.identical,
                -one.similarity,
                name_of(one.record.ref),
            ),
        )

    def _related(self, record: Record, others: Sequence[Record]) -> Iterator[tuple[Record, Relation | str]]:
        for some in chunks(others, _ALIGNED_AT_ONCE):
            self._texts.prepare([[record, *some]])
            yield from ((other, self._texts.between(other, record)) for other in some)

    def _near(self, asked: Sequence[Record], rule: MatchRule, found: dict[Ref, RedundantDocument]) -> int:
        unread: set[Ref] = set()
        kept: dict[Ref, RedundantDocument] = {}
        for record in asked:
            question = Question(name_of(record.ref), record=record, ref=record.ref)
            answer = lookup(self._store, rule, question, limit=None, exclude=record.ref, include_short=True)
            unread.update(answer.unread)
            new = [match for match in answer.matches if match.record.ref not in found]
            copies = {
                match.record.ref: RedundantDocument(match.record.without_sketches(), "", record.ref, match.similarity)
                for match in new
            }
            for other, relation in self._related(record, [match.record for match in new]) if self._permitted else ():
                copy, reason = copies[other.ref], None
                if isinstance(relation, str):
                    reason = Reason(NOT_VERIFIED, f"not verified: {relation}")
                elif self._permitted and (reason := self._permitted.loses(relation, name_of(record.ref))) is None:
                    copies[other.ref] = replace(copy, relation=relation)
                if reason:
                    kept[other.ref] = replace(copies.pop(other.ref), similarity=-1.0, reason=reason)
            found |= copies
        for ref in kept.keys() - found.keys():
            self.tally.add(kept[ref])
        return rule.lacking(self._store.lacking(list(rule.schemes))) + len(unread - found.keys())

    def _as_they_are(self, found: Mapping[Ref, RedundantDocument]) -> Iterator[RedundantDocument]:
        for refs in chunks(found, READ_AT_ONCE):
            for ref, read in zip(refs, self._store.versioned(refs), strict=True):
                if read is not None and read.record is not None:
                    record, cluster = read.record.without_sketches(), cluster_of(read.annotations) or ""
                    yield replace(found[ref], record=record, cluster=cluster, version=read.version)

    def delete(self) -> dict[str, list[RedundantDocument]]:
        """The documents by their outcome: deleted, stripped (an owner's, which stays), or changed (and left)."""
        done: dict[str, list[RedundantDocument]] = {"deleted": [], "stripped": [], "changed": []}
        deletion = Deletion(self._store)
        for page in chunks(self.found, READ_AT_ONCE):
            refs = [one.record.ref for one in page]
            before = len(self._store.stripped)
            deletion.delete(refs, versions={one.record.ref: one.version for one in page})
            owned = set(self._store.stripped[before:])
            gone: set[str] = set()
            for one, now in zip(page, self._store.get(refs, sketches=False), strict=True):
                done["changed" if now else "stripped" if one.record.ref in owned else "deleted"].append(one)
                if not now and one.cluster:
                    gone.add(one.cluster)
            deletion.renew()
            # It names the canonical document with its title; the next clustering writes it anew.
            self._store.delete_clusters(sorted(gone))
        return done


def _digest(record: Record) -> str:
    # Documents without text are told apart by their bytes.
    return record.read_digest if record.text_digest == NOTHING else record.text_digest
