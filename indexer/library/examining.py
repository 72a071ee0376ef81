"""The examination of a store: present and coming problems, with advice."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator

from indexer.clustering.memory import remembered
from indexer.core.text import UNICODE_VERSION
from indexer.errors import IncompatibleStoreError, NeardupError, StoreError
from indexer.extract.base import EXTRACTOR_VERSION, Failed, Limits
from indexer.extract.brought import missing
from indexer.ingest.digests import options_of
from indexer.ingest.from_store import CHANGED, stored_inputs
from indexer.ingest.indexing import store_info
from indexer.ingest.outcomes import read_one
from indexer.ingest.sources import Input, Selection
from indexer.library.opening import examine_place, open_store
from indexer.library.outcomes import Examination
from indexer.library.text_findings import forms_found, texts_found
from indexer.matching.rule import default_rule
from indexer.model import Record, Ref
from indexer.model.chunking import chunks
from indexer.model.findings import Finding
from indexer.model.kinds import kind_named
from indexer.model.release import VERSION
from indexer.model.times import to_the_second
from indexer.schemes.registry import family_of
from indexer.stores import Store
from indexer.text.counts import counted
from indexer.text.hiding import shown_name

_AT_ONCE = 500


def examine(
    store: str | os.PathLike[str], *, texts: bool = False, told: Callable[[Finding], object] | None = None
) -> Examination:
    """The findings about present and coming problems of a store, as `neardup doctor`; nothing is changed.

    With `texts` every document is read again to find changed ones. `told` is called with each finding. If the store
    can't be opened, there are the earlier findings and the `error`.
    """
    findings: list[Finding] = []
    failed: StoreError | None = None
    name = os.fspath(store)
    try:
        for finding in _findings(name, texts=texts):
            findings.append(finding)
            if told:
                told(finding)
    except StoreError as error:
        failed = error
    healthy = failed is None and all(finding.level == "ok" for finding in findings)
    return Examination(shown_name(name), healthy, tuple(findings), failed)


def _findings(name: str, *, texts: bool) -> Iterator[Finding]:
    versions = f"neardup {VERSION}, Unicode {UNICODE_VERSION}, extraction rules {EXTRACTOR_VERSION}"
    yield Finding("neardup", "ok", versions)
    yield from examine_place(name)
    with open_store(name, read_only=True) as store:
        yield from store.examine()
        yield _made_with(store)
        yield _sketches(store)
        yield from texts_found(store)
        yield from _clusters(store)
        yield from forms_found(store)
        if texts:
            yield _texts(store)


def _made_with(store: Store) -> Finding:
    try:
        store.info.require_comparable(store_info(store.info.content, kind=store.info.kind), "the store")  # type: ignore[arg-type]
    except IncompatibleStoreError as error:
        advice = "index all documents into a new store, or go back to the neardup that made this one"
        return Finding("fingerprints", "error", str(error).partition(". ")[0], advice)
    info = store.info
    made = f"Unicode {info.unicode}, extraction rules {info.extractor}, content {info.content}"
    return Finding("fingerprints", "ok", f"made by neardup {info.version} with {made}")


def _sketches(store: Store) -> Finding:
    names = [family_of(scheme) for scheme in kind_named(store.info.kind).schemes]
    wanting = [name for name in names if all(scheme.name != name for scheme in store.info.schemes)]
    if wanting:
        says = f"the store keeps no sketch by {wanting[0]}, so a simhash alone decides which documents are near"
        return Finding("sketches", "warning", says, f"add it: index or annotate again with --scheme {wanting[0]}")
    rule = default_rule(store)
    lacking = rule.lacking(store.lacking(list(rule.schemes)))
    if lacking:
        says = f"{counted(lacking, 'document')} without the sketch by {rule.measure.name}, which {rule} compares"
        return Finding("sketches", "warning", says, "index or annotate them again")
    others = store.lacking([scheme.name for scheme in store.info.schemes])
    if any(others.values()):
        says = "; ".join(
            f"{counted(count, 'document')} without one by {name}" for name, count in others.items() if count
        )
        return Finding(
            "sketches", "warning", says, "index or annotate them again, with --to where an index is not yours"
        )
    return Finding("sketches", "ok", f"every document with words has one by {' and '.join(others)}")


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


def _texts(store: Store) -> Finding:
    try:
        counts = Counter(_compared(store))
    except NeardupError as error:
        return Finding("texts", "warning", f"can't be read again: {error}", "name what is missing, or index again")
    gone = counts["gone"]
    more = f"; {counted(gone, 'document')} can't be read again from where it came from" if gone else ""
    if counts[CHANGED]:
        says = f"{counted(counts[CHANGED], 'document')} changed since their fingerprints were made{more}"
        return Finding("texts", "warning", says, "index or annotate them again")
    return Finding("texts", "ok", f"{counted(counts['same'], 'document')} as when their fingerprints were made{more}")


def _compared(store: Store) -> Iterator[str]:
    for items in chunks(stored_inputs(store, store.scan(sketches=False), Selection()), _AT_ONCE):
        files = [item for item in items if isinstance(item, Input) and item.path]
        records = store.get([Ref(item.id) for item in files], sketches=False)
        yield from (_file(store, item, record) for item, record in zip(files, records, strict=True))
        for item in items:
            if not isinstance(item, Input):
                yield CHANGED if item.reason == CHANGED else "gone"
            elif not item.path:
                # A part of another document is given only if it is still the text that was fingerprinted.
                yield "same"


def _file(store: Store, item: Input, record: Record | None) -> str:
    read = read_one(item, Limits().input_bytes)
    if record is None or isinstance(read, Failed) or missing(record.extractor):
        return "gone"
    return "same" if options_of(record, read.data, store.info, item.path, item.title) else CHANGED
