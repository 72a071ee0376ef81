"""The kinds of texts a store is made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from indexer.errors import UsageError
from indexer.model import DEFAULT_MIN_TOKENS

KindName = Literal["documents", "short", "scans", "pdfs"]
KIND_NAMES: tuple[KindName, ...] = get_args(KindName)
DOCUMENTS: KindName = "documents"


@dataclass(frozen=True, slots=True)
class TextKind:
    """A kind of texts: the defaults for a new store.

    `schemes` are the written schemes beside simhash-doc, `rule` is the default match rule, and answers leave out
    documents with fewer than `min_tokens` words. `about` describes the texts of the kind.
    """

    name: KindName
    about: str
    schemes: tuple[str, ...]
    rule: str
    min_tokens: int


KINDS: Mapping[str, TextKind] = {
    kind.name: kind
    for kind in (
        TextKind(
            DOCUMENTS,
            "texts of some length",
            ("minhash",),
            "simhash-doc@3bits/minhash@0.6+minhash@0.6",
            min_tokens=DEFAULT_MIN_TOKENS,
        ),
        TextKind(
            "short",
            "titles, products and messages of 3 words or more",
            ("short-text",),
            "short-text@0.65",
            min_tokens=2,
        ),
        # The minhash is for what needs whole documents, as `prune` does: a rule of parts removes nothing.
        TextKind(
            "scans",
            "pages read by OCR, with misread letters",
            ("passages:features=letters", "minhash"),
            "passages@0.25",
            min_tokens=DEFAULT_MIN_TOKENS,
        ),
        TextKind(
            "pdfs",
            "PDF files read by several programs, each with its own spaces and columns",
            ("minhash:features=letters,bands=16,rows=3",),
            "simhash-doc@3bits/minhash@0.5+minhash@0.5",
            min_tokens=DEFAULT_MIN_TOKENS,
        ),
    )
}
"""Every kind, by its name."""


def kind_named(name: str) -> TextKind:
    """The kind of this name. Raises UsageError for an unknown name."""
    if name not in KINDS:
        raise UsageError(f"there is no kind of texts {name!r}; choose one of {', '.join(KINDS)}")
    return KINDS[name]
