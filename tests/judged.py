"""Judgments of a random sample, as the page of a report saves them."""

from __future__ import annotations

from collections.abc import Callable

from indexer.clustering.annotations import stored_clusters
from indexer.clustering.memory import require_remembered
from indexer.clustering.sampling import Sample, Sampler, sample_seed
from indexer.model import name_of
from indexer.model.decisions import DecidedDocument, Decision, JudgedSample
from indexer.stores import Store
from tests.decision_files import decisions_text


def sample_of(store: Store, size: int = 60) -> Sample:
    """The sample that a report on a store offers."""
    made = require_remembered(store)
    sampler = Sampler(made.rule, sample_seed(made), size)
    for cluster in stored_clusters(store, least=2, repeating=True):
        sampler.add(cluster)
    return sampler.drawn()


def judgments_of(store: Store, is_right: Callable[[str], bool], size: int = 60) -> str:
    """A file of judgments in which each document of the sample is the same as what it repeats if `is_right`."""
    sample, judged = sample_of(store, size), []
    for one in sample.in_turn():
        choice = "keep" if is_right(one.document.id) else "apart"
        records = store.get((one.document, one.repeats))
        documents = [DecidedDocument(name_of(each.ref), each.seen_digest, choice) for each in records if each]
        judged.append(Decision(tuple(documents)))
    return decisions_text([], JudgedSample(sample.seed, size, tuple(judged)))
