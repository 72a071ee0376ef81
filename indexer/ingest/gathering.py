"""Statistics of a corpus, gathered from documents: extracted and cut into features in workers, counted here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from indexer.errors import UsageError
from indexer.extract.base import Failed, Limits, Options
from indexer.ingest.outcomes import ExtractionWorkers, RunCounts, read
from indexer.ingest.sources import Input, Rejected
from indexer.model import Document
from indexer.stores.base import Store
from indexer.text.corpus import Corpus, CorpusBuilder, read_corpus
from indexer.text.features import Features, Recipe


@dataclass(slots=True)
class GatheredCorpora(RunCounts):
    """The corpora, in the order of their recipes, how many documents were counted, and how many gave no text."""

    corpora: list[Corpus] = field(default_factory=list)
    documents: int = 0


def gather_corpora(
    inputs: Iterable[Input | Rejected], recipes: Sequence[Recipe], options: Options, limits: Limits, jobs: int = 1
) -> GatheredCorpora:
    """Count the features of documents by each recipe; a document that can't be read is counted as failed.

    Memory: what the counting needs (see `indexer.text.corpus.CorpusBuilder`), and a few documents.
    """
    builders = [CorpusBuilder(recipe) for recipe in recipes]
    gathered = GatheredCorpora()
    task, made = "indexer.ingest.gathering:features_of", (tuple(recipes),)
    extraction: ExtractionWorkers[list[bytes]] = ExtractionWorkers(jobs, options, limits, task=task, given=made)
    with extraction as workers:
        for outcome in workers.outcomes(read(inputs, limits.input_bytes)):
            if isinstance(outcome, Failed):
                gathered.failed[outcome.reason] += 1
                continue
            gathered.documents += 1
            for builder, hashed in zip(builders, outcome.made, strict=True):
                hashes = np.frombuffer(hashed, dtype="<u8").astype(np.uint64)
                builder.add_features(Features(hashes, np.ones(hashes.size, dtype=np.int64)))
    gathered.corpora = [builder.corpus() for builder in builders]
    return gathered


def features_of(recipes: Sequence[Recipe], document: Document) -> list[bytes]:
    """The distinct features of a document's text by each recipe, as bytes; what the workers do."""
    return [recipe.features(document.text).hashes.astype("<u8").tobytes() for recipe in recipes]


def require_unused(store: Store, name: str) -> None:
    """UsageError where sketches of a store rest on the statistics under this name, which are to be replaced."""
    old = store.get_resource(name)
    if old is None:
        return
    digest = read_corpus(old, name).digest
    for scheme in store.info.schemes:
        if digest in scheme.id:
            raise UsageError(
                f"the sketches of {scheme.name} were made with the statistics that are there: "
                f"neardup schemes --remove {scheme.name} first"
            )
