"""Decisions and judgments of people: remembered, listed, forgotten, and what they say of a rule."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

from indexer.clustering.annotations import stored_clusters
from indexer.clustering.decision_acts import KeptDecisions, keep_decisions, seen_documents
from indexer.clustering.decision_file import read_decisions, read_judgments
from indexer.clustering.memory import require_remembered
from indexer.clustering.sampling import Sample, Sampled, Sampler, thresholds
from indexer.errors import NotFoundError, UsageError
from indexer.library.rows import Rows, Shown
from indexer.matching.evaluation.proportions import SampledStratum, estimated_share
from indexer.matching.rule import MatchRule
from indexer.model.decisions import JudgedSample
from indexer.stores import Store
from indexer.text.counts import counted

LEAST_JUDGED = 60
PRECISION = 0.95

_NOT_DRAWN = "it is not in the sample, drawn again from the clusters as they are now"
_OTHER = "it repeats another document now"


@dataclass(frozen=True, slots=True)
class JudgedShare:
    """The precision from a threshold on, by judgments of a sample."""

    table: ClassVar[tuple[str, ...]] = ("of", "threshold", "documents", "judged", "right", "precision", "low", "high")

    of: Annotated[str, '"all" for all documents that repeat another one, "copies" for those saying the same']
    threshold: Annotated[float, "The least similarity (0 to 1) to the repeated document"]
    documents: Annotated[int, "The number of these documents"]
    judged: Annotated[int, "The number of judged ones"]
    right: Annotated[int, "The number of those called the same as the repeated document"]
    precision: Annotated[float | None, "The share of right documents, weighted by strata; null where a stratum has "
        "none judged"]  # fmt: skip
    low: Annotated[float | None, "The lower limit of its confidence interval; null like it"]
    high: Annotated[float | None, "The upper limit of its confidence interval; null like it"]


@dataclass(frozen=True, slots=True)
class RefusedDocument:
    """A document with a judgment or a decision without effect."""

    table: ClassVar[tuple[str, ...]] = ("id", "reason")

    id: Annotated[str, "The document, as the file names it"]
    reason: Annotated[str, "The reason for leaving it out"]


@dataclass(frozen=True, slots=True, repr=False)
class JudgedRule(Shown):
    """The precision of the rule of a store's clusters, by judgments of a random sample."""

    rule: Annotated[str, "The match rule with all parameters"]
    documents: Annotated[int, "The documents that repeat another one, the source of the sample"]
    sampled: Annotated[int, "The number of drawn ones"]
    judged: Annotated[int, "The number of judged ones"]
    needed: Annotated[int, "The number of judgments needed for any answer"]
    wanted: Annotated[float, "The wanted precision of a threshold"]
    fits: Annotated[float | None, "The least threshold with an estimated precision of at least that; null for none, or "
        "too few judgments"]  # fmt: skip
    shares: Annotated[Rows[JudgedShare], "The precision from each threshold on; empty for too few "
        "judgments"] = field(default_factory=lambda: Rows(JudgedShare), repr=False)  # fmt: skip
    not_counted: Annotated[Rows[RefusedDocument], "Judgments of documents outside the sample, or "
        "changed"] = field(default_factory=lambda: Rows(RefusedDocument), repr=False)  # fmt: skip
    says: Annotated[tuple[str, ...], "The result in sentences"] = ()


def judged_rule(store: Store, judgments: str | os.PathLike[str], *, precision: float = PRECISION) -> JudgedRule:
    """The precision of the rule of a store's clusters; see `neardup.library.clusters.Clusters.judge`."""
    if not 0 < precision <= 1:
        raise UsageError(f"precision, {precision:g}, must be above 0 and at most 1")
    given = read_judgments(judgments)
    made = require_remembered(store)
    sampler = Sampler(made.rule, given.seed, given.size)
    for cluster in stored_clusters(store, least=2, repeating=True):
        sampler.add(cluster)
    sample = sampler.drawn()
    said, refused = _counting(store, given, sample)
    judged, needed = len(said), min(LEAST_JUDGED, sample.documents)
    shares = list(_shares(sample, said, thresholds(made.rule))) if judged and judged >= needed else []
    enough = [each for each in shares if each.of == "all" and (each.precision or 0.0) >= precision]
    fits = min(enough, key=lambda each: each.threshold, default=None)
    done = JudgedRule(
        made.rule.written(whole=True), sample.documents, len(sample.in_turn()), judged, needed, precision,
        fits.threshold if fits else None, Rows(JudgedShare, shares), Rows(RefusedDocument, refused),
    )  # fmt: skip
    return replace(done, says=tuple(_sentences(done, made.rule, fits)))


def _sentences(done: JudgedRule, rule: MatchRule, fits: JudgedShare | None) -> Iterator[str]:
    yield (
        f"{counted(done.judged, 'judgment')} of a sample of {done.sampled:,}, drawn from the "
        f"{counted(done.documents, 'document')} that repeat another one by {rule.in_words}"
    )
    if done.judged < done.needed:
        yield f"too few to say how many of these are right: judge {counted(done.needed, 'document')} of the sample"
        return
    for name, which in (("all", "all"), ("copies", "the copies")):
        whole = [each for each in done.shares if each.of == name and each.documents][-1:]
        yield from (f"of {which}, {counted(each.documents, 'document')}, {_interval(each)}" for each in whole)
    if fits is None:
        yield f"with no threshold of this measure {done.wanted:.0%} of them are right, as far as can be told"
    else:
        shown = rule.shown(fits.threshold)
        yield f"the lowest threshold with {done.wanted:.0%} right: {shown}; of these {_interval(fits)}"


def _counting(store: Store, given: JudgedSample, sample: Sample) -> tuple[dict[Sampled, bool], list[RefusedDocument]]:
    drawn = {one.document: one for one in sample.in_turn()}
    said, refused = dict[Sampled, bool](), list[RefusedDocument]()
    for document, other in seen_documents(store, given.judged):
        name = document.decided.id
        wrong = next((one for one in (document, other) if one.reason), None)
        if wrong and wrong.reason:
            says = wrong.reason.sentence
            refused.append(RefusedDocument(name, says if wrong is document else f"{other.decided.id}: {says}"))
        elif document.ref not in drawn:
            refused.append(RefusedDocument(name, _NOT_DRAWN))
        elif drawn[document.ref].repeats != other.ref:
            refused.append(RefusedDocument(name, _OTHER))
        else:
            said[drawn[document.ref]] = document.decided.choice == "keep"
    return said, refused


def _shares(sample: Sample, said: dict[Sampled, bool], least: Sequence[float]) -> Iterator[JudgedShare]:
    for name in ("all", "copies"):
        for threshold in least:
            strata = [
                SampledStratum(
                    stratum.documents,
                    sum(one in said for one in stratum.sampled),
                    sum(said.get(one, False) for one in stratum.sampled),
                )
                for stratum in sample.strata
                if stratum.least >= threshold and (stratum.copies or name == "all")
            ]
            estimate = estimated_share(strata)
            yield JudgedShare(
                name, threshold, *(sum(getattr(each, what) for each in strata) for what in SampledStratum.__slots__),
                *((estimate.value, estimate.low, estimate.high) if estimate else (None, None, None)),
            )  # fmt: skip


def _interval(share: JudgedShare) -> str:
    if share.precision is None or share.low is None or share.high is None:
        return "it can't be said how many are right, since of some kind none was judged"
    return f"{share.precision:.1%} are right ({share.low:.1%} to {share.high:.1%} with a confidence of 95%)"


@dataclass(frozen=True, slots=True)
class Remembrance:
    """A decision remembered by a store."""

    table: ClassVar[tuple[str, ...]] = ("id", "together", "apart")

    id: Annotated[str, "The id of the decision, for forgetting it"]
    together: Annotated[tuple[str, ...], "The documents that belong together"]
    apart: Annotated[tuple[str, ...], "The documents different from those, or without any, from one another"]


@dataclass(frozen=True, slots=True, repr=False)
class Decisions(Shown):
    """The decisions of people remembered by a store, and the result of reading a file."""

    kept: Annotated[int, "The number of new ones in the file"] = 0
    known: Annotated[int, "The number of already remembered ones in the file"] = 0
    forgotten: Annotated[int, "The number of forgotten ones"] = 0
    refused: Annotated[Rows[RefusedDocument], "Documents of the file with refused "
        "decisions"] = field(default_factory=lambda: Rows(RefusedDocument), repr=False)  # fmt: skip
    contradictions: Annotated[tuple[str, ...], "The contradictions, each in a sentence; their decisions are not "
        "kept"] = ()  # fmt: skip
    held: Annotated[Rows[Remembrance], "All decisions of the store "
        "now"] = field(default_factory=lambda: Rows(Remembrance), repr=False)  # fmt: skip


def decide(
    store: Store, decisions: str | os.PathLike[str] | None, forget: Sequence[str], *, dry_run: bool = False
) -> Decisions:
    """Forget decisions, then remember those of a file; see `neardup.library.clusters.Clusters.decide`."""
    wanted = read_decisions(decisions) if decisions is not None else []
    known = {decision.id for decision in store.decisions()} if forget else set()
    if unknown := [name for name in forget if name not in known]:
        raise NotFoundError(f"{unknown[0]}: no decision of this id is remembered; neardup decisions lists them")
    forgotten = 0 if dry_run or not forget else store.delete_decisions(list(forget))
    done = keep_decisions(store, wanted, dry_run=dry_run) if wanted else KeptDecisions()
    held = (
        Remembrance(one.id, tuple(each.id for each in one.together), tuple(each.id for each in one.chosen("apart")))
        for one in store.decisions()
    )
    return Decisions(
        done.kept, done.known, forgotten, Rows(RefusedDocument, (RefusedDocument(*one) for one in done.refused)),
        tuple(done.contradictions), Rows(Remembrance, held),
    )  # fmt: skip
