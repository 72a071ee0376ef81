"""The sketches to store with documents, made from their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from indexer.core.text import digest_of_folded, folded_text, text_digest
from indexer.extract.base import QUOTED
from indexer.ingest.mail_frame import MailEnd, without_frame
from indexer.model import SIMHASH_DOC, Document, Fingerprint, Sketch
from indexer.model.joined import Joined, Texts, joined_texts
from indexer.relations.beside import NOTHING_BESIDE, beside_digest
from indexer.schemes.base import Scheme, SketchedTexts, sketch_text, sketch_texts
from indexer.schemes.simhash import SimhashDoc
from indexer.text.digests import read_digest_of_folded

if TYPE_CHECKING:
    from indexer.text.features import Recipe

DigestedSketches = tuple[dict[str, Sketch], str, str, str, MailEnd | None]
"""The sketches of a text by their families, also by simhash-doc, and the digests of the text, of all that was read, and
of what stands beside the text; of a mail also its end."""

_SIMHASH = SimhashDoc()
NOTHING = text_digest("").hex()
"""The digest of a text without any character."""
_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def fingerprint_of(sketches: Mapping[str, Sketch]) -> Fingerprint | None:
    sketch = sketches[SIMHASH_DOC]
    return Fingerprint(int.from_bytes(sketch.payload, "big"), sketch.features) if sketch.payload else None


def sketch_columns(schemes: Sequence[Scheme], texts: Texts) -> list[SketchedTexts]:
    simhashes, *others = sketch_texts([_SIMHASH, *schemes], texts)
    there = simhashes.features > 0
    return [simhashes, *(each.where(there) for each in others)]


def sketched_texts(
    schemes: Sequence[Scheme], texts: Texts, digests: Sequence[tuple[str, str, str]] | None = None
) -> list[DigestedSketches]:
    """The sketches and digests of texts: `digests` if given, else those of texts of which nothing else was read."""
    texts = Joined(*joined_texts(texts))
    columns = sketch_columns(schemes, texts)
    ids = [(scheme.family, scheme.id) for scheme in (_SIMHASH, *schemes)]
    rows = zip(*(column.listed(name) for (_, name), column in zip(ids, columns, strict=True)), strict=True)
    if digests is None:
        digests = [(same, same, NOTHING_BESIDE) for same in (text_digest(text).hex() for text in texts.listed())]
    made = list[DigestedSketches]()
    for row, each in zip(rows, digests, strict=True):
        sketches = {family: one or Sketch.without_features(name) for (family, name), one in zip(ids, row, strict=True)}
        if not sketches[SIMHASH_DOC].payload:
            sketches |= sketches_without_words(schemes, *each[:2])
        made.append((sketches, *each, None))
    return made


def sketch_document(schemes: Sequence[Scheme], document: Document, frame: bytes | None = None) -> DigestedSketches:
    """The sketches of a document; those of a mail are made without the frame of its collection."""
    digests = digests_of(document)
    text, end = (document.text, None) if frame is None else without_frame(document.text, frame)
    made = sketch_text([_SIMHASH, *schemes], text)
    sketches = {
        scheme.family: sketch or Sketch.without_features(scheme.id)
        for scheme, sketch in zip((_SIMHASH, *schemes), made, strict=True)
    }
    return sketches if made[0] else sketches | sketches_without_words(schemes, *digests[:2]), *digests, end


def sketches_without_words(schemes: Sequence[Scheme], same: str, read: str) -> dict[str, Sketch]:
    """The sketches of a document without words, from its digests: only a document with the same ones is near it.

    A document of which nothing was read has none with features.
    """
    # Words of letters alone, and as many as a scheme of parts wants.
    words = f"{same}{read}".translate(_LETTERS)
    text = " ".join(words[at : at + 4] for at in range(0, len(words), 4)) if read != NOTHING else ""
    return {scheme.family: (text and scheme.sketch(text)) or Sketch.without_features(scheme.id) for scheme in schemes}


def read_digest_of(document: Document) -> str:
    return digests_of(document)[1]


def digests_of(document: Document) -> tuple[str, str, str]:
    folded = folded_text(document.text)
    title = "" if document.format == "text" else document.title
    left_out = [part for part in document.left_out if part[0] != QUOTED]
    read = read_digest_of_folded(folded, title, left_out)
    return digest_of_folded(folded).hex(), read, beside_digest(left_out)


def features_of(recipes: Sequence[Recipe], document: Document) -> list[bytes]:
    return [recipe.features(document.text).hashes.astype("<u8").tobytes() for recipe in recipes]
