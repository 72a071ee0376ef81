"""Two documents beside each other, and fingerprints of documents: with a store or without one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from indexer.errors import ExtractionError, UsageError
from indexer.ingest.sources import STDIN
from indexer.library import asking
from indexer.library.forms import hash_members, query_of
from indexer.library.options import Extraction
from indexer.library.records import Comparison, Hashed
from indexer.library.rules import AnyRule, rule_of

if TYPE_CHECKING:
    from indexer.matching.question import Question
    from indexer.stores.base import Store
    from indexer.text.differences import Difference


def compare(
    a: str, b: str, *, match: AnyRule = None, extraction: Extraction | None = None, store: Store | None = None
) -> Comparison:
    """Two documents beside each other: files, "-" for standard input, or ids of documents of a store.

    Raises UsageError, NotFoundError and ExtractionError.
    """
    from indexer.matching.comparing import compare as compared

    rule = rule_of(match, store)
    one, other = (_question(name, extraction or Extraction(), store) for name in (a, b))
    made = compared(rule, one, other, store)
    return Comparison(
        str(rule), made.near, made.identical, made.similarity, made.shares, made.estimated, made.bits, query_of(one),
        query_of(other),
    )  # fmt: skip


def _question(name: str, extraction: Extraction, store: Store | None) -> Question:
    if store is not None and asking.is_id(name):
        return asking.from_store(store, name)
    return asking.from_file(name, extraction, store)


def diff(
    a: str,
    b: str,
    *,
    context: int = 12,
    max_words: int = 100_000,
    extraction: Extraction | None = None,
    store: Store | None = None,
) -> Difference:
    """The words that differ between two documents, as for `compare`; see `Collection.diff`."""
    from indexer.ingest.rereading import StoredTexts
    from indexer.text.differences import shortened, word_difference

    if a == b == STDIN:
        raise UsageError("only one of A and B can be standard input")
    texts = StoredTexts(store) if store else None

    def text_of(name: str) -> str:
        if store and texts and asking.is_id(name):
            record = asking.meant(store, name)
            try:
                return texts.of(record)
            except ExtractionError as error:
                raise asking.named_error(error, name) from None
        return str(asking.from_file(name, extraction or Extraction(), store).text)

    made = word_difference(text_of(a), text_of(b), limit=max_words)
    return replace(made, pieces=tuple(shortened(made.pieces, context)))


def hash_file(name: str, *, scheme: str | None = None, extraction: Extraction | None = None) -> Hashed:
    """The fingerprint of the document in a file, "-" for standard input; see `hash_text`.

    Raises UsageError, NotFoundError and ExtractionError.
    """
    return _hashed(asking.from_file(name, extraction or Extraction()), scheme)


def hash_text(text: str | bytes, *, scheme: str | None = None) -> Hashed:
    """The fingerprint of a text, and with `scheme` its sketch by that. Raises UsageError."""
    from indexer.matching.question import Question

    return _hashed(Question(asking.THE_TEXT, text), scheme)


def _hashed(question: Question, scheme: str | None) -> Hashed:
    sketch, features, by = None, None, None
    if scheme is not None:
        from indexer.schemes import registry
        from indexer.schemes.interchange import form

        by = registry.scheme(scheme)
        made = by.sketch(question.text or "")
        sketch, features = (form(by, made), made.features) if made else (None, 0)
    return Hashed(
        question.name, question.title, **hash_members(question.simhash), format=question.format,
        scheme=by.id if by else None, sketch=sketch, features=features,
    )  # fmt: skip
