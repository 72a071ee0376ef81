"""Count the statistics of a corpus for schemes that need them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from indexer.errors import NeardupError, StoreError, UsageError
from indexer.extract import WorkerPool
from indexer.extract.base import Content, Failed, Limits, Options
from indexer.ingest.from_store import explained, stored_inputs
from indexer.ingest.indexing import default_jobs, store_info
from indexer.ingest.outcomes import read
from indexer.ingest.sources import Input, Rejected, Sources
from indexer.library.indexing import begun
from indexer.library.opening import Tell, open_store, opened, warned
from indexer.library.options import USUAL_CONTENT, Extraction, NamedFields, content_of
from indexer.library.outcomes import CorpusKept, GatheredStatistics
from indexer.library.scheme_figures import recipe_of
from indexer.model.kinds import DOCUMENTS
from indexer.model.paths import store_file
from indexer.schemes import registry
from indexer.stores.base import Store
from indexer.text.corpus import Corpus, CorpusBuilder, read_corpus
from indexer.text.features import Features, Recipe


def gather(
    store: str | os.PathLike[str],
    schemes: Sequence[str],
    paths: Sequence[str] = (),
    *,
    from_store: bool = False,
    fields: NamedFields = NamedFields(),
    jobs: int | None = None,
    extraction: Extraction = Extraction(),
    tell: Tell = warned,
) -> GatheredStatistics:
    """Count the documents with each word, and keep the counts in a store, as `neardup corpus` does.

    The documents are those of `paths`, or with `from_store` the store's own, read again. `schemes` are those in need of
    the counts. A missing store is made, unless its documents are meant. Raises UsageError, also if sketches of the
    store depend on its present counts, and StoreError if no document can be read.
    """
    if bool(paths) == from_store:
        raise UsageError("name files or folders to count, or give --from-store")
    named_fields = fields.fields(extraction, stored=from_store)
    names = list(dict.fromkeys(map(_needed, schemes)))
    name = os.fspath(store)
    content, kind = _made_with(name)
    content = extraction.content or content
    selection = extraction.selection(fields.columns.columns(extraction), os.path.dirname(store_file(name)))
    named = None if from_store else begun(Sources(paths, selection))
    if named is None and not from_store:
        raise UsageError("no document was found, so there is nothing to count")
    with opened(name, tell, create=None if from_store else store_info(content, kind=kind)) as target:
        for each in names:
            _require_unused(target, each)
        inputs = named or stored_inputs(target, target.scan(sketches=False), selection, named_fields)
        corpora, documents, failed = _gather_corpora(
            inputs, list(map(recipe_of, names)), extraction.options(content), extraction.limits, jobs or default_jobs()
        )
        reasons = "; ".join(f"{explained(reason)} ({count:,})" for reason, count in failed.most_common())
        if not documents:
            raise StoreError(
                "no document could be read, so there is nothing to keep; what was kept before stays"
                + (f": {reasons}" if reasons else "")
            )
        kept = []
        for each, corpus in zip(names, corpora, strict=True):
            data = corpus.to_bytes()
            target.put_resource(each, data)
            kept.append(CorpusKept(each, corpus.digest, corpus.documents, int(corpus.hashes.size), len(data)))
    return GatheredStatistics(tuple(kept), documents, failed.total(), reasons)


def _gather_corpora(
    inputs: Iterable[Input | Rejected], recipes: Sequence[Recipe], options: Options, limits: Limits, jobs: int
) -> tuple[list[Corpus], int, Counter[str]]:
    """The corpora in the order of their recipes, the number of documents counted, and the others by reason."""
    builders, documents, failed = [CorpusBuilder(recipe) for recipe in recipes], 0, Counter[str]()
    task, made = "indexer.ingest.sketching:features_of", (tuple(recipes),)
    extraction: WorkerPool[list[bytes]] = WorkerPool(jobs, options, limits, task=task, given=made, keep_text=False)
    with extraction as workers:
        for outcome in workers.outcomes(read(inputs, limits.input_bytes)):
            if isinstance(outcome, Failed):
                failed[outcome.reason] += 1
                continue
            documents += 1
            for builder, hashed in zip(builders, outcome.made, strict=True):
                hashes = np.frombuffer(hashed, dtype="<u8").astype(np.uint64)
                builder.add_features(Features(hashes, np.ones(hashes.size, dtype=np.int64)))
    return [builder.corpus() for builder in builders], documents, failed


def _require_unused(store: Store, name: str) -> None:
    """Raise UsageError if sketches of a store depend on the statistics to be replaced."""
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


def _made_with(store: str) -> tuple[Content, str]:
    try:
        with open_store(store, read_only=True) as there:
            return content_of(there), there.info.kind
    except NeardupError:
        # What is wrong with it, if anything, is said when it is opened to be written.
        return USUAL_CONTENT, DOCUMENTS


def _needed(specification: str) -> str:
    family, parameters = registry.split(specification)
    needed = registry.scheme_class(family).needed(parameters)
    if not needed:
        raise UsageError(f"{specification}: needs no statistics of a corpus")
    return needed
