"""Answers of a collection to questions: to one, or to many together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from indexer.errors import NotFoundError, UsageError
from indexer.extract.base import Content, Limits, Options
from indexer.ingest.indexing import default_jobs
from indexer.ingest.outcomes import read
from indexer.ingest.readers.named_columns import KnownColumns
from indexer.ingest.sources import Selection, Sources
from indexer.library.forms import described, similar_of, stored_members
from indexer.library.given import columns_of, documents
from indexer.library.records import Cluster, Copy, Described, Erased, Failure, Similar, Surplus
from indexer.library.rows import Rows
from indexer.matching.asking import Reading, Unanswered, lookup_each, questions_of, stored_questions
from indexer.matching.question import Question, stored_as
from indexer.matching.rule import MatchRule
from indexer.model import Ref, name_of
from indexer.stores.base import Store

if TYPE_CHECKING:
    from indexer.clustering.prune import Pruning

AnyPath = str | os.PathLike[str]


class Listing(NamedTuple):
    """The choice of the found documents that are listed: see `Collection.similar`."""

    limit: int | None
    at_least: float | None
    include_short: bool


def names_of(given: Any) -> list[str]:
    """The ids that are given, one or several. Raises UsageError for one that is no string."""
    names = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"an id is a string, not {type(name).__name__}")
    return names


def question_of(
    store: Store, text: AnyPath | None, path: AnyPath | None, identity: str | None, folder: str
) -> Question:
    """The one thing that is asked about. Raises UsageError, NotFoundError and ExtractionError."""
    if sum(given is not None for given in (text, path, identity)) != 1:
        raise UsageError("ask about one thing: a text, path=, or id=")
    if identity is not None:
        [question] = stored_questions(store, names_of([identity]), only)
        if isinstance(question, Unanswered):
            raise question.error
        return question
    if isinstance(text, str):
        return Question("the text", text)
    from indexer.extract import extract

    file = os.fspath(cast(str, path if text is None else text))
    if not os.path.lexists(file):
        raise NotFoundError(f"{file}: no such file")
    document = extract(file, options=_options(store))
    return Question(file, document.text, title=document.title, ref=stored_as(store, file, folder))


def questions(
    store: Store,
    given: Any,
    paths: AnyPath | Iterable[AnyPath] | None,
    ids: Iterable[str] | None,
    fields: Mapping[str, str] | None,
    folder: str,
) -> Iterator[Question | Unanswered]:
    """The documents that are asked about: given ones, files, or stored ones. Raises UsageError and NotFoundError."""
    if sum(each is not None for each in (given, paths, ids)) != 1:
        raise UsageError("ask about documents, paths=, or ids=")
    if ids is not None:
        if isinstance(ids, str):
            raise UsageError("ids= takes a list of ids; for one use similar(id=...)")
        return stored_questions(store, (names_of([name])[0] for name in ids), only)
    columns, limits = columns_of(fields), Limits()
    if paths is not None:
        named = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        selection = Selection(base=folder, columns=columns, known=KnownColumns(store))
        inputs = iter(Sources([os.fspath(path) for path in named], selection))
    else:
        inputs = documents(given, columns)
    how = Reading(default_jobs(), _options(store), limits)
    return questions_of(store, read(inputs, limits.input_bytes), how, folder)


def answers(
    store: Store, rule: MatchRule, asked: Iterable[Question | Unanswered], listing: Listing
) -> Iterator[Similar]:
    """The documents near each, in order."""
    found = lookup_each(
        store, rule, asked, limit=listing.limit, at_least=listing.at_least, include_short=listing.include_short
    )
    return (similar_of(each, rule) for each in found)


def only(name: str, refs: Sequence[Ref]) -> Ref:
    """The one identity that a name means. Raises NotFoundError for none, UsageError for several."""
    if not refs:
        raise NotFoundError(f"{name}: no document with this id is stored")
    if len(refs) > 1:
        raise UsageError(f"{name}: {len(refs)} documents have this id: name one as {name_of(refs[0])}")
    return refs[0]


def _options(store: Store) -> Options:
    return Options(content=cast(Content, store.info.content))


def stored_rows(store: Store, refs: Sequence[Ref]) -> list[Described]:
    """The stored documents with these identities, without those that are not there."""
    return [described(*known) for known in store.described(refs) if known is not None]


def cluster_rows(store: Store, least: int) -> list[Cluster]:
    """The stored clusters of at least `least` documents, the largest first."""
    from indexer.clustering.stored import stored_clusters

    rows = [
        Cluster(one.id, len(one.members), name_of(one.canonical), tuple(map(name_of, one.members)), one.similarities)
        for one in stored_clusters(store, least=least)
    ]
    return sorted(rows, key=lambda one: (-one.size, one.id))


def surplus_rows(pruning: Pruning) -> list[Surplus]:
    """The documents that repeat a kept one, and why some of them are kept."""
    return [
        Surplus(
            **stored_members(one.record), cluster=one.cluster, repeats=name_of(one.repeats), similarity=one.similarity,
            identical=one.identical, kept=one.kept, differs=one.differs,
        )
        for one in pruning.surplus()
    ]  # fmt: skip


def failure_rows(store: Store, reason: str | None = None) -> Iterator[Failure]:
    """The recorded failures, all or those for one reason."""
    for failure in store.failures():
        if not reason or failure.reason == reason:
            yield Failure(name_of(failure.ref), failure.source, failure.reason, failure.detail, failure.failed_at)


def erased(store: Store, refs: Sequence[Ref], rule: MatchRule | None, *, dry_run: bool) -> Erased:
    """Delete documents and their copies, or list them in a dry run. Raises UsageError."""
    from indexer.clustering.copies import Copies

    copies = Copies(store, refs, rule)
    outcomes = {"listed": copies.found} if dry_run else copies.delete().by_outcome
    rows = [
        Copy(
            **stored_members(one.record), copy_of=name_of(one.of), similarity=one.similarity, identical=one.identical,
            outcome=outcome, left=one.left,
        )
        for outcome, some in outcomes.items()
        for one in some
    ]  # fmt: skip
    deleted, stripped, changed = (len(outcomes.get(name, ())) for name in ("deleted", "stripped", "changed"))
    unseen = copies.uncompared
    return Erased(Rows(Copy, rows), deleted, stripped, changed, unseen.documents, unseen.failures)
