"""The examination of a store, embedded or in a cluster."""

from __future__ import annotations

from collections.abc import Iterator

from indexer.clustering.memory import remembered
from indexer.doctor.reading import texts_of
from indexer.errors import IncompatibleStoreError, StoreError
from indexer.extract.base import EXTRACTOR_VERSION
from indexer.ingest.indexing import store_info
from indexer.matching.rule import DEFAULT_SHARE, PREFERRED, default_rule, verified_rule
from indexer.model.release import VERSION
from indexer.model.times import to_the_second
from indexer.opening import examine_place, open_store
from indexer.schemes import simhash
from indexer.stores import Store
from indexer.stores.findings import Finding
from indexer.text.counts import counted


def examine(name: str, *, texts: bool = False) -> Iterator[Finding]:
    """Look at the store with this path or URL, and give each finding as it is made; nothing is changed.

    With `texts` every document is read again from where it came from. Raises StoreError where there is no store that
    can be opened, after the findings that need none; UsageError for a name of none.
    """
    yield Finding(
        "neardup",
        "ok",
        f"neardup {VERSION}, Unicode {simhash.UNICODE_VERSION}, extraction rules {EXTRACTOR_VERSION}",
    )
    yield from examine_place(name)
    with open_store(name, read_only=True) as store:
        yield from store.examine()
        yield from _of_store(store, texts=texts)


def _of_store(store: Store, *, texts: bool) -> Iterator[Finding]:
    yield _made_with(store)
    yield _sketches(store)
    yield from _clusters(store)
    if texts:
        yield texts_of(store)


def _made_with(store: Store) -> Finding:
    """The finding on whether documents that come now can be compared with those that are there."""
    try:
        store.info.require_comparable(store_info(store.info.content), "the store")  # type: ignore[arg-type]
    except IncompatibleStoreError as error:
        advice = "index all documents into a new store, or go back to the neardup that made this one"
        return Finding("fingerprints", "error", str(error).partition(". ")[0], advice)
    info = store.info
    made = f"Unicode {info.unicode}, extraction rules {info.extractor}, content {info.content}"
    return Finding("fingerprints", "ok", f"made by neardup {info.version} with {made}")


def _sketches(store: Store) -> Finding:
    """The finding on whether the default rule can compare every document."""
    if all(scheme.name != PREFERRED for scheme in store.info.schemes):
        says = f"the store keeps no sketch by {PREFERRED}, so that a simhash alone decides what is near"
        return Finding("sketches", "warning", says, f"add it: index or annotate again with --scheme {PREFERRED}")
    rule = verified_rule(DEFAULT_SHARE, store)
    lacking = rule.lacking(store.lacking(list(rule.schemes)))
    if lacking:
        says = f"{counted(lacking, 'document')} without the sketch by {PREFERRED}, which {default_rule(store)} compares"
        return Finding("sketches", "warning", says, "index or annotate them again")
    return Finding("sketches", "ok", f"every document that has words has one by {PREFERRED}")


def _clusters(store: Store) -> Iterator[Finding]:
    try:
        clustering = remembered(store)
    except StoreError as error:
        says, _, advice = str(error).rpartition(": ")
        yield Finding("clusters", "error", says, f"unless a run is under way, {advice}")
        return
    if clustering is None:
        yield Finding("clusters", "ok", "none were made")
        return
    made = f"made {to_the_second(clustering.at) or 'as documents came'} by {clustering.rule.in_words}"
    newest = store.stats().last_indexed_at
    later = 0
    if clustering.arrived or newest > clustering.at:
        # Of runs that clustered as they indexed, those between may be others.
        later = sum(not clustering.has_seen(record.indexed_at) for record in store.scan(sketches=False))
    if later:
        says = f"{made}; {counted(later, 'document')} came later, the last at {to_the_second(newest)}"
        yield Finding("clusters", "warning", says, "run neardup cluster")
    else:
        yield Finding("clusters", "ok", made)
