"""Bulk requests that get the fields of fingerprints on their way."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from indexer.clustering.policy import Policy
from indexer.errors import NeardupError, UsageError
from indexer.extract.base import Extracted, Failed, Item
from indexer.extract.fields import field_read_as_text
from indexer.ingest.digests import source_digest
from indexer.ingest.outcomes import record_of
from indexer.ingest.sketching import DigestedSketches, digests_of, sketched_texts
from indexer.library.rows import Rows
from indexer.matching.asking import Answered, ReadingSettings, lookup_each, read_documents
from indexer.matching.lookups import NearDocument
from indexer.matching.question import Question
from indexer.matching.relating import QuestionRelations
from indexer.matching.rule import MatchRule
from indexer.matching.store_schemes import schemes_of
from indexer.model import DEFAULT_MIN_TOKENS, Document, Record, Ref, name_of, with_declared
from indexer.relations.relation import COPIES, Relation
from indexer.stores.base import Store
from indexer.stores.texts import StoredText, TextFields
from indexer.text.counts import counted

MOST_DOCUMENTS = 10_000
"""So many documents may be in one bulk request."""

# The actions of a bulk request; those that a document follows, of which the first two bring a whole one.
_WHOLE = ("index", "create")
_WITH_BODY = (*_WHOLE, "update")
_ACTIONS = (*_WITH_BODY, "delete")
# This many near documents are looked at for one that says what the new one says.
_TRIED = 5
_FIELD = "neardup"


@dataclass(frozen=True, slots=True)
class RepeatedLine:
    """A document of a bulk request left out because it repeats a stored one."""

    line: Annotated[int, "The number of its action's line, from 1"]
    id: Annotated[str, "Its id; empty if the engine makes one"]
    repeats: Annotated[str, "The id of the stored document"]
    similarity: Annotated[float, "Their similarity, from 0 to 1"]
    relation: Annotated[str, "The relation of the text to the stored one"]


@dataclass(frozen=True, slots=True)
class UnreadLine:
    """A document of a bulk request passed on unchanged because it could not be fingerprinted."""

    line: Annotated[int, "The number of its action's line, from 1"]
    id: Annotated[str, "Its id; empty if the engine makes one"]
    error: Annotated[str, "The reason"]


@dataclass(frozen=True, slots=True)
class FingerprintedRequest:
    """A bulk request with fingerprints."""

    lines: Annotated[str, "The lines to send to the engine, each ended by a line feed"]
    fingerprinted: Annotated[int, "The number of documents with the fields of their fingerprints now"]
    passed: Annotated[int, "The number of actions passed on unchanged"]
    skipped: Annotated[Rows[RepeatedLine], "The documents left out because they repeat stored ones"]
    outdated: Annotated[int, "The documents passed on because their stored counterparts changed after the fingerprint"]
    unread: Annotated[Rows[UnreadLine], "The documents that could not be fingerprinted, also among those passed on"]
    html_as_text: Annotated[Mapping[str, int], "The fingerprinted documents with HTML in a field that was read as "
        "text, counted by field"]  # fmt: skip


@dataclass(slots=True)
class _BulkAction:
    """An action of a bulk request: its line, and its document's line; `text` if it is to be fingerprinted."""

    number: int
    kind: str
    about: Mapping[str, Any]
    action: bytes
    body: bytes
    text: StoredText | None = None
    source: str = ""
    title: str = ""
    document: Document | None = None
    record: Record | None = None
    repeats: NearDocument | None = None
    outdated: bool = False
    error: str = ""

    @property
    def id(self) -> str:
        given = self.about.get("_id")
        return "" if given is None else given if isinstance(given, str) else json.dumps(given)


class BulkRequests:
    """Gives the documents of bulk requests their fingerprints; `reading` says how to read HTML.

    `fields` hold the text; without them the index's remembered fields. With `skip` a document is left out if its text
    says the same as a stored one, near by the rule; `on` chooses other relations. Raises UsageError and StoreError as
    `Store.document_form` does, and UsageError for a rule of parts.
    """

    def __init__(
        self, store: Store, rule: MatchRule, reading: ReadingSettings, fields: TextFields | None, *, skip: bool,
        on: Sequence[str],
    ) -> None:  # fmt: skip
        self._store, self._rule, self._reading = store, rule, reading
        self._form = store.document_form(fields)
        self._policy = Policy.named(COPIES if skip else (), on)
        if {*self._policy.actions.values()} - {"store", "skip"}:
            raise UsageError("on: a document of a bulk request is stored or skipped; give it no other action")
        if self._policy.actions:
            rule.require_copies()

    def fingerprinted(self, body: bytes) -> FingerprintedRequest:
        """The request with fingerprints. Raises UsageError, naming the line, for anything else."""
        lines = list(_lines(body))
        wanted = [line for line in lines if self._is_wanted(line)]
        if len(wanted) > MOST_DOCUMENTS:
            raise UsageError(
                f"a bulk request has {counted(MOST_DOCUMENTS, 'document')} at most; send the rest in another one"
            )
        self._read(wanted)
        read = [(line, line.document) for line in wanted if line.document]
        digests = [digests_of(document) for _, document in read]
        sketched = sketched_texts(schemes_of(self._store), [document.text for _, document in read], digests)
        for (line, document), made in zip(read, sketched, strict=True):
            line.record = self._record(line, document, made)
        if self._policy.actions:
            named = {line.id for line in lines}
            new = [line for line in wanted if line.record and not line.record.short]
            self._compare(new, named)
        return self._answer(lines)

    def _is_wanted(self, line: _BulkAction) -> bool:
        if line.kind not in _WHOLE or not self._form.holds(str(line.about.get("_index") or "")):
            return False
        try:
            document = json.loads(line.body.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            line.error = f"is no JSON: {error}"[:200]
            return False
        if not isinstance(document, dict) or _FIELD in document:
            return False
        line.text, line.source, line.title = self._form.read(document)
        return line.text.data is not None

    def _read(self, lines: Sequence[_BulkAction]) -> None:
        items = [Item(line, line.text.data or b"", format=line.text.format) for line in lines if line.text]
        with self._reading.workers() as workers:
            for item, read in zip(items, read_documents(items, workers, self._reading), strict=True):
                if isinstance(read, Failed):
                    item.key.error = f"{read.reason}: {read.detail}"
                else:
                    item.key.document = read

    def _record(self, line: _BulkAction, document: Document, made: DigestedSketches) -> Record:
        assert line.text  # noqa: S101 it was read
        options = replace(self._reading.options, format=line.text.format)
        return record_of(
            Extracted(line, document, made),
            Ref(line.id),
            source_digest(line.text.exact, self._store.info, options),
            min_tokens=DEFAULT_MIN_TOKENS,
            source=line.source,
            title=line.title,
            size=len(line.text.data or b"") - len(BOM_UTF8),
            metadata=with_declared({}, document.declared),
            remark=line.text.remark,
        )

    def _compare(self, lines: Sequence[_BulkAction], named: Collection[str]) -> None:
        """Find the stored document with the content of each new one; a document with a stored id replaces it.

        None stands for one the request itself deletes, replaces or updates, `named` by an action.
        """
        there = self._store.find_each([line.id for line in lines])
        new = [line for line, refs in zip(lines, there, strict=True) if not (line.id and refs)]
        questions = (_question(line.id, line.document, line.record) for line in new if line.document and line.record)
        related = QuestionRelations(self._store)
        answers = lookup_each(self._store, self._rule, questions, limit=_TRIED, current=True, added=related)
        for line, answer in zip(new, answers, strict=True):
            if isinstance(answer, Answered):
                staying = (each for each in answer.answer.matches if each.record.ref.id not in named)
                line.repeats = next(filter(self._is_skipped, staying), None)
                line.outdated = line.repeats is None and answer.answer.outdated > 0

    def _is_skipped(self, match: NearDocument) -> bool:
        relation = Relation("identical") if match.identical else match.relation
        return isinstance(relation, Relation) and self._policy.on(relation) == "skip"

    def _answer(self, lines: Sequence[_BulkAction]) -> FingerprintedRequest:
        given: list[bytes] = []
        fingerprinted = 0
        for line in lines:
            if line.repeats:
                continue
            body = line.body
            if line.record:
                try:
                    body = self._form.with_fields(body, line.record)
                    fingerprinted += 1
                except NeardupError as error:
                    line.error = str(error)
            given += [line.action, body] if line.kind in _WITH_BODY else [line.action]
        skipped = [_repeated(line, line.repeats) for line in lines if line.repeats]
        return FingerprintedRequest(
            "".join(f"{each.decode('utf-8', 'surrogateescape')}\n" for each in given),
            fingerprinted,
            len(lines) - fingerprinted - len(skipped),
            Rows(RepeatedLine, skipped),
            sum(line.outdated for line in lines),
            Rows(UnreadLine, (UnreadLine(line.number, line.id, line.error) for line in lines if line.error)),
            Counter(name for line in lines if line.record and (name := field_read_as_text(line.record.extractor))),
        )


def _question(name: str, document: Document, record: Record) -> Question:
    return Question(
        name, document.text, title=record.title, format=record.format, source=record.source, metadata=record.metadata,
        read=record.read_digest, left_out=document.left_out,
    )  # fmt: skip


def _lines(body: bytes) -> Iterator[_BulkAction]:
    rest = enumerate(body.split(b"\n"), 1)
    for number, action in rest:
        if not action.strip():
            continue
        kind, about = _action(number, action)
        _, document = next(rest, (0, b"")) if kind in _WITH_BODY else (0, b"")
        if kind in _WITH_BODY and not document.strip():
            raise UsageError(f"line {number}: no document follows the action")
        yield _BulkAction(number, kind, about, action, document)


def _action(number: int, line: bytes) -> tuple[str, Mapping[str, Any]]:
    try:
        # Engines take a number as it is written for an id, and know no member twice.
        [(kind, about)] = json.loads(
            line.decode("utf-8"), object_pairs_hook=_members, parse_int=str, parse_float=str
        ).items()
    except (ValueError, AttributeError, RecursionError):
        kind, about = "", None
    if kind not in _ACTIONS or not isinstance(about, dict):
        raise UsageError(f"line {number}: is no action of a bulk request ({', '.join(_ACTIONS)})")
    return kind, about


def _members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member twice")
    return members


def _repeated(line: _BulkAction, match: NearDocument) -> RepeatedLine:
    relation = match.relation.word if isinstance(match.relation, Relation) else "identical"
    return RepeatedLine(line.number, line.id, name_of(match.record.ref), match.similarity, relation)
