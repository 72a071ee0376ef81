"""Findings about the texts of a store: forms among near ones, a kind that fits better, HTML read as text."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from statistics import median

from indexer.extract.fields import field_read_as_text
from indexer.extract.formats import PDF_READERS
from indexer.extract.ocr.names import pages_read
from indexer.ingest.rereading import StoredTexts
from indexer.matching.relating import AT_HAND, stored_texts
from indexer.model import Record, Ref, name_of
from indexer.model.findings import Finding
from indexer.model.kinds import DOCUMENTS, KindName
from indexer.model.refs import ref_order
from indexer.relations.relation import Relation
from indexer.schemes import registry
from indexer.stores.base import Store
from indexer.text.counts import counted, share_shown

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
