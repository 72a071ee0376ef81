"""Results in their declared form, made from those of the packages below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from indexer.errors import ExtractionError
from indexer.library.records import (
    Described,
    Fact,
    FinderPlan,
    Match,
    Membership,
    OmittedPart,
    Pair,
    Query,
    RulePlan,
    Similar,
    Unread,
)
from indexer.library.rows import Rows
from indexer.model import Fingerprint, Record, Ref, name_of, named_ref
from indexer.relations.relation import Relation, order_with
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.matching.asking import Answered, Unanswered
    from indexer.matching.lookups import NearDocument
    from indexer.matching.question import Question
    from indexer.matching.relating import RelatedPair
    from indexer.matching.rule import MatchRule
    from indexer.relations.versions.order import Order
    from indexer.relations.versions.signs import Signs
    from indexer.stores.base import Store


def hash_members(fingerprint: Fingerprint | None) -> dict[str, Any]:
    if fingerprint is None:
        return {"hash": None, "hex": None, "tokens": 0}
    return {"hash": str(fingerprint), "hex": f"{fingerprint.value:016x}", "tokens": fingerprint.tokens}


def stored_members(record: Record) -> dict[str, Any]:
    return {
        "id": name_of(record.ref),
        "index": record.ref.index,
        "routing": record.ref.routing,
        **hash_members(record.fingerprint),
        "short": record.short,
        "source": record.source,
        "container": record.container,
        "title": record.title,
        "format": record.format,
        "extractor": record.extractor,
        "bytes": record.size,
        "source_digest": record.source_digest,
        "text_digest": record.text_digest,
        "read_digest": record.read_digest,
        "indexed_at": record.indexed_at,
        "first_indexed_at": record.arrived_at,
        "metadata": record.metadata,
    }


def described(record: Record, annotations: Mapping[str, Any]) -> Described:
    from indexer.clustering.annotations import MARK, cluster_of, repeated_by, version_of

    place = None
    if name := cluster_of(annotations):
        cluster, other = annotations["cluster"], repeated_by(record.ref, annotations)
        place = Membership(
            name,
            bool(cluster.get("is_canonical")),
            cluster.get("similarity", 0.0),
            cluster.get("size_class", ""),
            name_of(other) if other else None,
            cluster.get("repeats_similarity"),
            cluster.get("relation"),
            name_of(to) if (to := named_ref("relation_to", record.ref, cluster)) else None,
        )
    ordinal, is_latest = version_of(annotations)
    return Described(
        **stored_members(record), cluster=place, duplicate_of=str(annotations.get(MARK, "")), ordinal=ordinal,
        is_latest=is_latest,
    )  # fmt: skip


def with_left_out(document: Described, record: Record, store: Store) -> Described:
    from indexer.extract.base import why_left_out
    from indexer.ingest.rereading import StoredTexts

    [(_, read)] = StoredTexts(store).documents([record])
    if isinstance(read, ExtractionError):
        return replace(document, unread=read.detail or read.reason)
    parts = tuple(OmittedPart(kind, why_left_out(kind), text) for kind, text in read.left_out)
    return replace(document, left_out=parts, notes=read.notes)


def relation_members(relation: Relation | str | None) -> dict[str, Any]:
    """The members of a result about the relation of two texts; a string is the reason for none."""
    if isinstance(relation, Relation):
        facts = tuple(Fact(*fact) for fact in relation.facts)
        return {"relation": relation.word, "evidence": relation.evidence, "facts": facts}
    return {"relation": "", "evidence": f"not compared: {relation}" if relation else "", "facts": ()}


def order_members(order: Order | None) -> dict[str, Any]:
    word, confidence, evidence = order or ("", 0.0, "")
    return {"order": word, "order_confidence": confidence, "order_evidence": evidence}


def query_of(question: Question) -> Query:
    return Query(question.name, question.title, **hash_members(question.simhash))


def match_of(match: NearDocument, signs: Signs) -> Match:
    from indexer.relations.versions.order import Order, compared
    from indexer.relations.versions.signs import signs_of

    order = None
    if match.near:
        # Most queries say nothing by which they could be placed in time.
        order = compared(signs, signs_of(match.record)) if signs.tells else Order()
        # Of which only a part is common, the longer one is no later version of the other.
        if match.shares is None or match.label == "near":
            order = order_with(order, match.relation)
    of_query, of_match = match.shares or (None, None)
    return Match(
        **stored_members(match.record), similarity=match.similarity, near=match.near, identical=match.identical,
        bits=match.bits, label=match.label, of_query=of_query, of_match=of_match, longest=match.longest,
        passages_total=match.passages, passages=match.excerpts,
        **relation_members(match.relation or (Relation("identical") if match.identical else None)),
        **order_members(order),
    )  # fmt: skip


def pair_of(related: RelatedPair, rule: MatchRule) -> Pair:
    (left, right, similarity), relation, order = related
    bits = rule.bits(similarity) if rule.width else None
    # Of millions, mostly nothing more is known.
    more = relation_members(relation) | order_members(order) if relation or order else {}
    return Pair(name_of(left), name_of(right), round(similarity, 6), bits, **more)


def unread_of(unread: Mapping[Ref, str]) -> tuple[Unread, ...]:
    return tuple(Unread(name_of(ref), reason) for ref, reason in unread.items())


def plan_of(rule: MatchRule) -> RulePlan:
    """The plan of a rule. Raises UsageError if a finder can't serve its threshold."""
    from indexer.matching.lookups import plans

    finders = (
        FinderPlan(
            finder.scheme.id, finder.scheme.measure, plan.similarity, plan.probes, plan.agreeing, plan.recall,
            plan.guaranteed and not finder.scheme.common, plan.explanation,
        )
        for finder, plan in plans(rule)
    )  # fmt: skip
    return RulePlan(rule.written(whole=True), tuple(finders), str(rule.verifier) if rule.verifier else None)


def similar_of(answered: Answered | Unanswered, rule: MatchRule, plan: RulePlan | None = None) -> Similar:
    from indexer.matching.asking import Unanswered

    if isinstance(answered, Unanswered):
        nothing = Rows(Match, note=str(answered.error))
        query = Query(answered.name, "", **hash_members(None))
        return Similar(query, str(rule), plan, 0, 0, (), nothing, error=answered.error)
    question, answer = answered
    signs = question.signs
    matches = Rows(Match, (match_of(match, signs) for match in answer.matches), _note(answered))
    unread = unread_of(answer.unread)
    return Similar(
        query_of(question), str(rule), plan, answer.total, answer.lacking, unread, matches, set_aside=answer.set_aside,
        outdated=answer.outdated,
    )  # fmt: skip


def _note(answered: Answered) -> str:
    question, answer = answered
    shown = len(answer.matches)
    if answer.total > shown:
        return f"the nearest {shown:,} of {answer.total:,}"
    if question.is_short(answer.rule.least_words):
        few = f"fewer than {counted(answer.rule.least_words, 'word')}"
        return f"{question.name} has {few}, so it may match by chance, or miss"
    return "" if shown else f"nothing is near by {answer.rule.in_words}"
