"""Ask about many documents, some in one request."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from indexer.errors import ExtractionError, NeardupError, NotFoundError, UsageError
from indexer.extract.base import REASONS, Extracted, Failed, Item, Limits, Options
from indexer.extract.document import read_document
from indexer.ingest.naming import possible_ids
from indexer.ingest.outcomes import texts
from indexer.ingest.sketching import read_digest_of
from indexer.ingest.sources import Input, Rejected
from indexer.matching.excerpts import Excerpts
from indexer.matching.lookups import Answer, Asking, check_of, plans, require_limit, scan
from indexer.matching.question import Question, stored_as_each, with_frame
from indexer.matching.relating import QuestionRelations, Relating
from indexer.matching.rule import MatchRule
from indexer.model import Document, Ref, with_declared
from indexer.model.chunking import chunks, chunks_by_size
from indexer.model.paths import printable_path
from indexer.stores.base import Store
from indexer.stores.sketches import Found
from indexer.text.digests import with_title

if TYPE_CHECKING:
    from indexer.extract import WorkerPool

T = TypeVar("T")

Added = Excerpts | QuestionRelations
"""Reads texts again, and adds to answers what they say."""

TOGETHER = 50
"""This many are read, and asked about in one request; fewer where their texts are long."""
_BYTES_TOGETHER = 8 << 20

# What is wrong with one question and not with the others.
_OWN_FAULT = (UsageError, NotFoundError, ExtractionError)


class Answered(NamedTuple):
    question: Question
    answer: Answer


class Unanswered(NamedTuple):
    name: str
    error: NeardupError


def together(items: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """The items in lists of up to TOGETHER, or of 8 MiB by `size`, in bytes."""
    return chunks_by_size(items, TOGETHER, size, _BYTES_TOGETHER)


def lookup_each(  # noqa: PLR0913 - they are options of the command
    store: Store,
    rule: MatchRule,
    questions: Iterable[Question | Unanswered],
    *,
    limit: int | None = 10,
    include_short: bool = False,
    at_least: float | None = None,
    inside: bool = False,
    current: bool = False,
    added: Added | None = None,
) -> Iterator[Answered | Unanswered]:
    """The answer of `indexer.matching.lookups.lookup` to each question, in order, or the reason of failure.

    With `current` documents changed by their owner since the fingerprint are left out. Memory: a group's texts and
    lookups. Raises UsageError if the rule can't be served, and StoreError.
    """
    require_limit(limit)
    rule.require_served(store)
    plans(rule)
    questions = with_frame(store, questions)
    for group in together(questions, lambda each: 0 if isinstance(each, Unanswered) else len(each.text or "")):
        askings = deque(_asking(store, rule, each, at_least) for each in group)
        served = [each.probes for each in askings if isinstance(each, Asking) and each.probes]
        found = store.probe_many([] if inside else served, list(rule.schemes), include_short=include_short)
        scanning = [each for each in askings if isinstance(each, Asking) and each.scans]
        if scanning:
            scan(store, rule, scanning, limit, include_short=include_short)
        # What each has read is let go with it.
        answers = (_answer(askings.popleft(), found, limit, include_short, inside) for _ in group)
        for each in _current(store, list(answers)) if current else answers:
            yield each if isinstance(each, Unanswered) or added is None else _with(added, each)


def _answer(
    asking: Asking | Unanswered, found: Iterator[Iterable[Found]], limit: int | None, include_short: bool, inside: bool
) -> Answered | Unanswered:
    if isinstance(asking, Unanswered):
        return asking
    batches: Iterable[Found] = ()
    if asking.probes:
        check = check_of(asking.rule, asking.question) if inside else None
        batches = asking.found(include_short=include_short, check=check) if inside else next(found)
    try:
        return Answered(asking.question, asking.answer(batches, limit, include_short=include_short))
    except (UsageError, ExtractionError) as error:
        return Unanswered(asking.question.name, error)


def _with(added: Added, answered: Answered) -> Answered | Unanswered:
    try:
        return answered._replace(answer=added.added_to(answered.answer, answered.question))
    except (UsageError, ExtractionError) as error:
        return Unanswered(answered.question.name, error)


def _current(store: Store, answers: Sequence[Answered | Unanswered]) -> Iterator[Answered | Unanswered]:
    answered = [each for each in answers if isinstance(each, Answered) and each.answer.matches]
    near = (match.record for each in answered for match in each.answer.matches)
    asked = (each.question.record for each in answered if each.question.record)
    outdated = store.outdated(list({record.ref: record for record in (*near, *asked)}.values()))
    for each in answers:
        if isinstance(each, Answered) and outdated:
            own = each.question.record
            is_current = own is None or own.ref not in outdated
            matches = [one for one in each.answer.matches if is_current and one.record.ref not in outdated]
            gone = len(each.answer.matches) - len(matches)
            answer = replace(each.answer, matches=matches, total=each.answer.total - gone, outdated=gone)
            yield each._replace(answer=answer)
        else:
            yield each


def added_by(store: Store, rule: MatchRule, *, passages: bool, relation: Relating) -> Added | None:
    if passages:
        return Excerpts(store, of_letters=rule.of_letters)
    return QuestionRelations(store, at_hand=relation == "at hand") if relation else None


def _asking(
    store: Store, rule: MatchRule, question: Question | Unanswered, at_least: float | None
) -> Asking | Unanswered:
    if isinstance(question, Unanswered):
        return question
    try:
        return Asking(store, rule, question, question.ref, at_least)
    except _OWN_FAULT as error:
        return Unanswered(question.name, error)


def stored_questions(
    store: Store, names: Iterable[str], only: Callable[[str, Sequence[Ref]], Ref]
) -> Iterator[Question | Unanswered]:
    for some in chunks(names, TOGETHER):
        chosen: dict[str, Ref | NeardupError] = {}
        for name, refs in zip(some, store.find_each(some), strict=True):
            try:
                chosen[name] = only(name, refs)
            except _OWN_FAULT as error:
                chosen[name] = error
        there = [ref for ref in chosen.values() if isinstance(ref, Ref)]
        records = dict(zip(there, store.get(there), strict=True))
        for name in some:
            ref = chosen[name]
            record = records[ref] if isinstance(ref, Ref) else None
            if record is not None:
                yield Question(name, record=record, title=record.title, format=record.format, ref=record.ref)
            elif isinstance(ref, NeardupError):
                yield Unanswered(name, ref)
            else:
                # Deleted in this moment.
                yield Unanswered(name, NotFoundError(f"{name}: no document with this id is stored"))


QuestionSource = Item[Input] | Failed[Input | Rejected]
"""The bytes of a document, or why there are none."""


class ReadingSettings(NamedTuple):
    """The settings for reading documents to ask about: the number of processes, the options and the limits.

    `kept` processes with the same options and limits do the reading.
    """

    jobs: int
    options: Options
    limits: Limits
    kept: WorkerPool[None] | None = None

    def workers(self) -> AbstractContextManager[WorkerPool[None]]:
        if self.kept is not None and (self.kept.options, self.kept.limits) == (self.options, self.limits):
            return nullcontext(self.kept)
        return texts(self.jobs, self.options, self.limits)


def questions_of(
    store: Store, items: Iterable[QuestionSource], how: ReadingSettings, folder: str = ""
) -> Iterator[Question | Unanswered]:
    """Documents as questions, in order, each with the identity under which it is stored itself.

    Memory: bytes and texts of a group.
    """
    with how.workers() as workers:
        for group in together(items, lambda each: len(each.data) if isinstance(each, Item) else 0):
            own = stored_as_each(store, [_places(each.key, folder) for each in group])
            read = iter(read_documents([each for each in group if isinstance(each, Item)], workers, how))
            for each, ref in zip(group, own, strict=True):
                if isinstance(each, Failed):
                    yield _unanswered(each.key, each)
                    continue
                given, document = each.key, next(read)
                if isinstance(document, Failed):
                    yield _unanswered(given, document)
                    continue
                yield Question(
                    _name(given), document.text, title=given.title or document.title, format=document.format, ref=ref,
                    pages=document.pages, source=given.source,
                    metadata=with_declared(given.metadata, document.declared),
                    read=with_title(read_digest_of(document), given.title), left_out=document.left_out,
                )  # fmt: skip


def _places(given: Input | Rejected, folder: str) -> tuple[str, Sequence[str]]:
    if isinstance(given, Rejected):
        return "", ()
    return given.source, possible_ids(given.path, folder) if given.path else [given.id] if given.id else ()


def read_documents(
    items: Sequence[Item[Any]], workers: WorkerPool[None], how: ReadingSettings
) -> list[Document | Failed[int]]:
    read: dict[int, Document | Failed[int]] = {}
    wanted: list[Item[int]] = []
    for number, item in enumerate(items):
        if item.format != "text":
            wanted.append(Item(number, item.data, item.name, item.format))
            continue
        try:
            read[number] = read_document(item.data, item.name, replace(how.options, format="text"), how.limits)
        except ExtractionError as error:
            read[number] = Failed(number, error.reason, error.detail)
    outcomes: Iterator[Extracted[int, None] | Failed[int]] = workers.outcomes(wanted)
    for outcome in outcomes:
        read[outcome.key] = outcome.document if isinstance(outcome, Extracted) else outcome
    return [read[number] for number in range(len(items))]


def _unanswered(given: Input | Rejected, failed: Failed[Any]) -> Unanswered:
    name = _name(given)
    detail = failed.detail or REASONS.get(failed.reason, "")
    return Unanswered(name, ExtractionError(failed.reason, f"{name}: {detail}"))


def _name(given: Input | Rejected) -> str:
    if isinstance(given, Input) and given.path:
        return printable_path(given.path)
    return given.id or (given.name if isinstance(given, Input) else "") or given.source or "the text"
