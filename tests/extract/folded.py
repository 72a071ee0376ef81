"""Documents without the ends of their blocks, for tests of the words; `test_blocks.py` has tests of the ends."""

from __future__ import annotations

from dataclasses import replace

from indexer.model import Document


def folded(document: Document) -> Document:
    """The document with its text on one line."""
    return replace(document, text=" ".join(document.text.split()))
