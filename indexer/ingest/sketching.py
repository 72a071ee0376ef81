"""The fingerprint and sketches that workers make of a document's text, in one pass where a scheme can."""

from __future__ import annotations

from collections.abc import Sequence

from indexer.core_sketch import text_digest
from indexer.model import Document, Fingerprint, Sketch
from indexer.schemes import simhash
from indexer.schemes.base import Scheme

Sketched = tuple[Fingerprint | None, tuple[int, ...], dict[str, Sketch], str]


def sketch_document(schemes: Sequence[Scheme], document: Document) -> Sketched:
    """A text's fingerprint, packed keys, sketches by family, and digest; what the workers do after extraction.

    A text without words has the last alone, whatever a scheme makes of its numbers: it matches nothing.
    """
    text, sketches_made = document.text, dict[str, Sketch | None]()
    digest = text_digest(text).hex()
    both = next((scheme for scheme in schemes if scheme.one_pass), None)
    if both is None:
        fingerprint = simhash.fingerprint(text)
    else:
        fingerprint, sketches_made[both.family] = both.fingerprint_and_sketch(text)
    if fingerprint is None:
        return None, (), {scheme.family: Sketch.without_features(scheme.id) for scheme in schemes}, digest
    sketches_made |= {scheme.family: scheme.sketch(text) for scheme in schemes if scheme is not both}
    sketches = {scheme.family: sketches_made[scheme.family] or Sketch.without_features(scheme.id) for scheme in schemes}
    return fingerprint, simhash.keys(fingerprint), sketches, digest
