"""Compare a collection's texts with its store's kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from indexer.extract.formats import PDF_READERS
from indexer.extract.ocr.names import pages_read
from indexer.model.findings import Finding
from indexer.model.kinds import DOCUMENTS, KindName
from indexer.schemes import registry
from indexer.stores.base import Store
from indexer.text.counts import counted, share_shown

# So many documents are looked at, in the store's order; fewer say nothing.
LOOKED_AT, _FEWEST = 2000, 50
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


def fitting_kind(kind: str, words: Sequence[int], extractors: Sequence[str]) -> FittingKind | None:
    if len(words) < _FEWEST:
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
    readers = Counter(name for extractor in extractors if (name := extractor.partition(" ")[0]) in PDF_READERS)
    several = [(name, count) for name, count in readers.most_common() if count >= _MANY_SHARE * len(words)]
    if kind == DOCUMENTS and len(several) > 1:
        read = " and ".join(f"{count:,} by {name}" for name, count in several)
        return FittingKind("pdfs", f"{looked_at}, texts of PDF files were read {read}, which set spaces differently")
    return None


def better_kind(store: Store) -> FittingKind | None:
    records = [record for record in islice(store.scan(sketches=False), LOOKED_AT) if record.has_words]
    return fitting_kind(
        store.info.kind, [record.tokens for record in records], [record.extractor for record in records]
    )


def kind_found(store: Store) -> Finding:
    if fits := better_kind(store):
        advice = f"index or annotate them into a new store with --kind {fits.kind}"
        return Finding("kind", "warning", f"made for {store.info.kind}; {fits.says}", advice)
    return Finding("kind", "ok", f"made for {store.info.kind}; no better kind is known")
