"""The examination of a store: present and coming problems, with advice."""

from __future__ import annotations

import heapq
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from statistics import median

from indexer.clustering.memory import remembered
from indexer.core.text import UNICODE_VERSION
from indexer.errors import IncompatibleStoreError, NeardupError, StoreError
from indexer.extract.base import EXTRACTOR_VERSION, Failed, Limits
from indexer.extract.brought import missing
from indexer.extract.fields import field_read_as_text
from indexer.extract.formats import PDF_READERS
from indexer.extract.ocr.names import pages_read
from indexer.ingest.digests import options_of
from indexer.ingest.from_store import CHANGED, stored_inputs
from indexer.ingest.indexing import store_info
from indexer.ingest.outcomes import read_one
from indexer.ingest.rereading import StoredTexts
from indexer.ingest.sources import Input, Selection
from indexer.library.opening import examine_place, open_store
from indexer.library.outcomes import Examination
from indexer.matching.relating import AT_HAND, stored_texts
from indexer.matching.rule import default_rule
from indexer.model import Record, Ref, name_of
from indexer.model.chunking import chunks
from indexer.model.findings import Finding
from indexer.model.kinds import DOCUMENTS, KindName, kind_named
from indexer.model.refs import ref_order
from indexer.model.release import VERSION
from indexer.model.times import to_the_second
from indexer.relations.relation import Relation
from indexer.schemes import registry
from indexer.schemes.registry import family_of
from indexer.stores import Store
from indexer.text.counts import counted, share_shown
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


# Of so many clusters two documents each are read; fewer that could be compared say nothing.
_CLUSTERS, _FEWEST = 40, 5
_ADVICE = (
    "prune keeps forms; neardup report shows in what they differ, and neardup pairs --relation lists it; a rule that "
    "asks for more (--similarity 0.9) puts fewer of them into clusters"
)


def forms_found(store: Store) -> Iterator[Finding]:
    """The finding, if there are clusters: of up to forty, in the order of their ids, two documents each are read again.

    Files of more than 2 MB are not.
    """
    chosen = heapq.nsmallest(_CLUSTERS, store.clusters(), key=lambda cluster: cluster.id[::-1])
    if not chosen:
        return
    members: dict[str, list[Ref]] = {cluster.id: [] for cluster in chosen}
    for name, ref in store.cluster_members(list(members)):
        members[name].append(ref)
    pairs = []
    for cluster in chosen:
        others = sorted(set(members[cluster.id]) - {cluster.canonical}, key=ref_order)
        records = store.get([others[len(others) // 2], cluster.canonical], sketches=False) if others else ()
        pairs += [tuple(record for record in records if record)]
    yield _finding(store, [(pair[0], pair[1]) for pair in pairs if len(pair) > 1])


def _finding(store: Store, pairs: list[tuple[Record, Record]]) -> Finding:
    texts = stored_texts(store, StoredTexts(store, AT_HAND))
    texts.prepare([pair for pair in pairs if not texts.known(*pair)])
    made = [(pair, texts.between(*pair)) for pair in pairs]
    read = [(pair, relation) for pair, relation in made if isinstance(relation, Relation)]
    forms = [(pair, relation) for pair, relation in read if relation.word == "form"]
    if len(read) < _FEWEST:
        said = f"not known: it takes {_FEWEST} clusters with texts that can be read, and there are {len(read)}"
        return Finding("forms", "ok", said)
    says = f"in {len(forms):,} of {counted(len(read), 'cluster')} looked at, a document is a form of the canonical one"
    if 2 * len(forms) <= len(read):
        return Finding("forms", "ok", says)
    (one, other), relation = forms[0]
    said = f"{says}, with other facts; {name_of(one.ref)} beside {name_of(other.ref)}: {relation.evidence}"
    return Finding("forms", "warning", said, _ADVICE)


# So many documents are looked at, in the store's order; fewer say nothing.
LOOKED_AT, _FEWEST_DOCUMENTS = 2000, 50
# Below, one word that changes is in a large part of the shingles; above, a text is not short to short-text.
_FEW_WORDS = 30
_SHINGLE = int(registry.scheme("minhash").parameters["shingle"])
# No page has more words; a document with more for each page that OCR read has other pages too.
_PAGE_WORDS = 1000
# Of texts that are not short on the whole, a share of more words than that is worth another kind.
_MANY_SHARE = 0.1
_MANY_WORDS = int(registry.scheme("short-text").parameters["words"])


@dataclass(frozen=True, slots=True)
class FittingKind:
    """A better fitting kind of texts, with the reason in a sentence."""

    kind: KindName
    says: str


def fitting_kind(
    kind: str, words: Sequence[int], extractors: Sequence[str], names: Sequence[str]
) -> FittingKind | None:
    """The kind that fits texts better, by numbers of words, extractors and names of documents; None if none does."""
    if len(words) < _FEWEST_DOCUMENTS:
        return None
    looked_at = f"of {counted(len(words), 'document')} looked at"
    few, many = sum(count < _FEW_WORDS for count in words), sum(count > _MANY_WORDS for count in words)
    if kind != "short" and 2 * few > len(words):
        usual = int(median(words))
        kept = max(usual - 2 * _SHINGLE + 1, 0) / max(usual + 1, 1)
        return FittingKind(
            "short",
            f"{looked_at}, {few:,} have fewer than {counted(_FEW_WORDS, 'word')}, and half have {usual:,} or fewer; "
            f"two of so many, of which one word differs, may share no more than {share_shown(kept)} of their shingles",
        )
    if kind == "short" and 2 * few <= len(words) and many > _MANY_SHARE * len(words):
        return FittingKind(
            DOCUMENTS,
            f"{looked_at}, {many:,} have more than {counted(_MANY_WORDS, 'word')}, and half have "
            f"{int(median(words)):,} or more; of those with more only equal ones are near",
        )
    scanned = map(pages_read, extractors)
    scans = [pages for count, pages in zip(words, scanned, strict=True) if 0 < count <= _PAGE_WORDS * pages]
    if kind == DOCUMENTS and 2 * len(scans) > len(words):
        return FittingKind(
            "scans",
            f"{looked_at}, {len(scans):,} are scans, of {counted(sum(scans), 'page')} that OCR read; one misread "
            f"letter changes a whole word, and with it {counted(_SHINGLE, 'shingle')}",
        )
    if kind == DOCUMENTS and (read := _readers_of_pdfs(extractors, names)):
        return FittingKind("pdfs", f"{looked_at}, {read}, which set spaces differently")
    return None


def _readers_of_pdfs(extractors: Sequence[str], names: Sequence[str]) -> str:
    least = _MANY_SHARE * len(names)
    readers = Counter(name for extractor in extractors if (name := extractor.partition(" ")[0]) in PDF_READERS)
    several = [(name, count) for name, count in readers.most_common() if count >= least]
    if len(several) > 1:
        return "texts of PDF files were read " + " and ".join(f"{count:,} by {name}" for name, count in several)
    read = [(PurePath(name).stem, extractor) for name, extractor in zip(names, extractors, strict=True)]
    pdfs = {stem for stem, extractor in read if extractor.startswith(PDF_READERS)}
    texts = sum(stem in pdfs and extractor.startswith("plain") for stem, extractor in read)
    return f"{texts:,} are named as a PDF file, so texts by other readers" if texts >= least else ""


def better_kind(store: Store, looked_at: Sequence[Record] | None = None) -> FittingKind | None:
    """The kind that fits the texts of a store better; None if none does."""
    records = [record for record in looked_at or _looked_at(store) if record.has_words]
    return fitting_kind(
        store.info.kind,
        [record.tokens for record in records],
        [record.extractor for record in records],
        [name_of(record.ref) for record in records],
    )


def _looked_at(store: Store) -> list[Record]:
    return list(islice(store.scan(sketches=False), LOOKED_AT))


def texts_found(store: Store) -> Iterator[Finding]:
    """If another kind fits better, and each field of HTML that was read as text."""
    records = _looked_at(store)
    if fits := better_kind(store, records):
        advice = f"index or annotate them into a new store with --kind {fits.kind}"
        yield Finding("kind", "warning", f"made for {store.info.kind}; {fits.says}", advice)
    else:
        yield Finding("kind", "ok", f"made for {store.info.kind}; no better kind is known")
    extractors = [record.extractor for record in records]
    for name, count in sorted(Counter(filter(None, map(field_read_as_text, extractors))).items()):
        looked_at = counted(len(extractors), "document")
        says = f"HTML in the field {name} was read as text in {count:,} of {looked_at} looked at; tags count as words"
        yield Finding("fields", "warning", says, "index or annotate them again with --format auto, or html")
