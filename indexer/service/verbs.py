"""The verbs of the service, from declared requests to declared answers; their docstrings describe them to users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from indexer.errors import UsageError
from indexer.library import asking
from indexer.library.bulk_requests import FingerprintedRequest
from indexer.library.collection import Collection
from indexer.library.comparing import compared_questions, hash_text
from indexer.library.comparisons import Comparison
from indexer.library.distinct_hits import DistinctHit
from indexer.library.records import Hashed, Similar
from indexer.library.rows import Rows
from indexer.service.schemas import (
    CompareRequest,
    DistinctRequest,
    FingerprintAnswer,
    FingerprintRequest,
    LinesRequest,
    Seen,
    SeenAnswer,
    SeenRequest,
    SimilarAnswer,
    SimilarRequest,
)

MOST_DOCUMENTS = 1000
"""So many documents may be in one request."""
MOST_NEAREST = 1000
"""So many matches may be asked for below the rule's own threshold, which may let in every document of the store."""
# This many near documents are looked at for one whose text is as it was fingerprinted.
_TRIED = 5


@dataclass(frozen=True, slots=True)
class DistinctAnswer:
    """The hits without a copy before them, in their order."""

    hits: Annotated[Rows[DistinctHit], "The hits, each with the later ones folded into it"]


def similar(collection: Collection, request: SimilarRequest) -> SimilarAnswer:
    """Find the documents near each of some documents."""
    return SimilarAnswer(Rows(Similar, _similar(collection, request)))


def similar_file(collection: Collection, data: bytes) -> SimilarAnswer:
    """Find the documents near a file of any format; worker processes read it."""
    return SimilarAnswer(Rows(Similar, collection.similar_each([data])))


def seen(collection: Collection, request: SeenRequest) -> SeenAnswer:
    """Tell for each document if it would repeat a stored one, and name it."""
    asked = SimilarRequest(request.documents, request.match, _TRIED)
    return SeenAnswer(Rows(Seen, map(_seen, _similar(collection, asked, current=True))))


def seen_file(collection: Collection, data: bytes) -> SeenAnswer:
    """Tell if a file would repeat a stored document, and name it."""
    return SeenAnswer(Rows(Seen, map(_seen, collection.similar_each([data], limit=_TRIED, current=True))))


def _seen(found: Similar) -> Seen:
    return Seen(found.query.name, bool(found.matches), next(iter(found.matches), None), found.outdated, found.error)


def distinct(collection: Collection, request: DistinctRequest) -> DistinctAnswer:
    """Fold the copies among the hits of any search."""
    _require_few(request.hits)
    hits = [(hit.id, hit.text) for hit in request.hits]
    return DistinctAnswer(collection.distinct(hits, match=request.match, renditions=request.renditions))


def compare(collection: Collection, request: CompareRequest) -> Comparison:
    """Compare two documents."""
    one, other = (asking.from_text_or_id(collection.store, each.text, each.id) for each in (request.a, request.b))
    return compared_questions(one, other, collection.rule(request.match), collection.store)


def fingerprint(_: Collection, request: FingerprintRequest) -> FingerprintAnswer:
    """Make the fingerprints of some texts."""
    _require_few(request.texts)
    return FingerprintAnswer(Rows(Hashed, (hash_text(text, scheme=request.scheme) for text in request.texts)))


def fingerprint_lines(collection: Collection, request: LinesRequest, body: bytes) -> FingerprintedRequest:
    """Add fingerprints to the documents of a bulk request to an index."""
    return collection.fingerprint_lines(
        body, fields=request.field, format=request.format, skip=request.skip, on=request.on, match=request.match
    )  # fmt: skip


def _similar(collection: Collection, request: SimilarRequest, *, current: bool = False) -> Iterator[Similar]:
    _require_few(request.documents)
    if request.limit is not None and request.limit < 0:
        raise UsageError("'limit': must be 0 or more")
    if request.at_least is not None and not 0 <= request.at_least <= 1:
        raise UsageError("'at_least': must be from 0 to 1")
    if request.at_least is not None and (request.limit is None or request.limit > MOST_NEAREST):
        raise UsageError(f"'limit': must be {MOST_NEAREST:,} at most with 'at_least', which may ask for every document")

    def answers(asked: Sequence[Any], by: asking.AskedBy) -> Iterator[Similar]:
        return collection.similar_each(
            asked, by=by, match=request.match, limit=request.limit, at_least=request.at_least,
            include_short=request.include_short, passages=request.passages, relation=request.relation,
            explain=request.explain, current=current,
        )  # fmt: skip

    for number, one in enumerate(request.documents, 1):
        if one.text is None and one.id is None:
            raise UsageError(f"'documents', number {number}: has neither a text nor an id")
    texts = [(one.id, one.text) if one.id else one.text for one in request.documents if one.text is not None]
    stored = [one.id or "" for one in request.documents if one.text is None]
    of_texts = answers(texts, "documents") if texts else iter(())
    of_ids = answers(stored, "ids") if stored else iter(())
    for one in request.documents:
        yield next(of_ids if one.text is None else of_texts)


def _require_few(documents: Sequence[Any]) -> None:
    if len(documents) > MOST_DOCUMENTS:
        raise UsageError(f"a request has {MOST_DOCUMENTS} documents at most; send the rest in another one")


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: the kinds of its requests and answers, and its functions; `answer_file` takes the bytes of a file."""

    request: type
    answer: type
    answer_request: Callable[[Collection, Any], Any]
    answer_file: Callable[[Collection, bytes], Any] | None = None


VERBS: Mapping[str, Verb] = {
    "similar": Verb(SimilarRequest, SimilarAnswer, similar, similar_file),
    "seen": Verb(SeenRequest, SeenAnswer, seen, seen_file),
    "distinct": Verb(DistinctRequest, DistinctAnswer, distinct),
    "compare": Verb(CompareRequest, Comparison, compare),
    "fingerprint": Verb(FingerprintRequest, FingerprintAnswer, fingerprint),
}
