"""Compare two documents, and fingerprint documents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from indexer.errors import ExtractionError, UsageError
from indexer.ingest.sources import STDIN
from indexer.library import asking
from indexer.library.options import Extraction
from indexer.library.records import Hashed
from indexer.library.results import hash_members, order_members, query_of, relation_members
from indexer.model.own_files import AnyPath

if TYPE_CHECKING:
    from indexer.library.comparisons import Comparison, TextDifference
    from indexer.matching.question import Question
    from indexer.matching.relating import ReadDocument
    from indexer.matching.rule import MatchRule
    from indexer.matching.shorthand import AnyRule
    from indexer.relations.versions.signs import Signs
    from indexer.stores.base import Store
    from indexer.text.excerpts import Readable


def compare(
    a: AnyPath, b: AnyPath, *, match: AnyRule = None, extraction: Extraction | None = None, store: Store | None = None
) -> Comparison:
    """Two documents beside each other: files, "-" for standard input, or ids of documents of a store.

    Raises UsageError, NotFoundError and ExtractionError.
    """
    from indexer.matching.shorthand import rule_of

    rule = rule_of(match, store)
    one, other = (_question(os.fspath(name), extraction or Extraction(), store) for name in (a, b))
    return compared_questions(one, other, rule, store)


def compared_questions(one: Question, other: Question, rule: MatchRule, store: Store | None) -> Comparison:
    """Two documents already read, beside each other; see `compare`."""
    from indexer.library.comparisons import Comparison
    from indexer.matching.comparing import compare as compared
    from indexer.matching.excerpts import Excerpts
    from indexer.matching.lookups import part_label
    from indexer.relations.relation import Relation, order_with
    from indexer.relations.versions.order import compared as in_order

    made = compared(rule, one, other, store)
    # Without words there is nothing to align.
    is_wordless = one.simhash is None and made.identical
    shared = None if is_wordless else Excerpts(store, of_letters=rule.of_letters).between(one, other)
    relation = Relation("identical") if is_wordless else shared.relation if shared and made.near else None
    has_order = made.near and not is_wordless
    order = order_with(in_order(one.signs, other.signs), relation) if has_order else None
    of_a, of_b = shared.common.shares if shared else (None, None)
    return Comparison(
        rule=str(rule), near=made.near, identical=made.identical, similarity=made.similarity, shares=made.shares,
        estimated=made.estimated, bits=made.bits, of_a=of_a, of_b=of_b,
        label=part_label(of_b, of_a) if of_a and of_b else "",
        longest=shared.common.longest if shared else None,
        passages_total=len(shared.common.passages) if shared else None,
        passages=shared.excerpts if shared else (),
        **relation_members(relation),
        **order_members(order),
        a=query_of(one),
        b=query_of(other),
    )  # fmt: skip


def _question(name: str, extraction: Extraction, store: Store | None) -> Question:
    if store is not None and asking.is_id(name):
        return asking.from_store(store, name)
    from indexer.matching.question import with_frame

    question = asking.from_file(name, extraction, store)
    return next(with_frame(store, [question])) if store else question


def diff(
    a: AnyPath,
    b: AnyPath,
    *,
    context: int = 12,
    max_words: int = 100_000,
    extraction: Extraction | None = None,
    store: Store | None = None,
) -> TextDifference:
    """The differing words of two documents, as for `compare`; see `Collection.diff`."""
    from indexer.library.comparisons import TextDifference
    from indexer.matching.relating import StoredLexicon, relation_of
    from indexer.relations.relation import Relation, order_with
    from indexer.relations.versions.order import compared as in_order
    from indexer.text.differences import shortened
    from indexer.text.part_places import part_difference

    if a == b == STDIN:
        raise UsageError("only one of A and B can be standard input")
    (left, one, signs), (right, other, others) = (
        _text(os.fspath(name), extraction or Extraction(), store) for name in (a, b)
    )
    made = part_difference(left, right, limit=max_words)
    pieces = tuple(shortened(made.pieces, context))
    relation = relation_of(one, other, StoredLexicon(store) if store else None)
    known = relation if isinstance(relation, Relation) else Relation("identical")
    return TextDifference(
        pieces, made.same, made.removed, made.added, made.limit, made.cut, made.holder, made.place,
        **relation_members(relation), **order_members(order_with(in_order(signs, others), relation)),
        replaced=known.replaced, only_a=known.only_left, only_b=known.only_right, moved=known.moved,
    )  # fmt: skip


def _text(name: str, extraction: Extraction, store: Store | None) -> tuple[Readable, ReadDocument, Signs]:
    """The text of a file or a stored document, with the pages of a PDF; what stands beside it; its signs of time."""
    from indexer.ingest.rereading import StoredTexts
    from indexer.matching.relating import read_question, read_record
    from indexer.relations.versions.signs import signs_of
    from indexer.text.excerpts import Readable
    from indexer.text.passages import Alignable

    if store is None or not asking.is_id(name):
        question = asking.from_file(name, extraction, store)
        return Readable(Alignable(str(question.text)), question.pages), read_question(question), question.signs
    [(record, document)] = StoredTexts(store).documents([asking.meant(store, name)])
    if isinstance(document, ExtractionError):
        raise asking.named_error(document, name)
    return Readable(Alignable(document.text), document.pages), read_record(record, document), signs_of(record)


def hash_file(name: str, *, scheme: str | None = None, extraction: Extraction | None = None) -> Hashed:
    """The fingerprint of the document in a file, "-" for standard input; see `hash_text`.

    Raises UsageError, NotFoundError and ExtractionError.
    """
    return _hashed(asking.from_file(name, extraction or Extraction()), scheme)


def hash_text(text: str | bytes, *, scheme: str | None = None) -> Hashed:
    """The fingerprint of a text, with `scheme` also its sketch. Raises UsageError."""
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
