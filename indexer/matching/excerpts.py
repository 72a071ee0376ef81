"""The passages common to a question and the documents near it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from indexer.errors import ExtractionError, UsageError
from indexer.ingest.rereading import StoredTexts
from indexer.matching.lookups import Answer, NearDocument
from indexer.matching.question import Question
from indexer.matching.relating import ReadDocument, StoredLexicon, read_asked, read_record, relation_of
from indexer.model import Ref
from indexer.relations.lexicon import Lexicon
from indexer.relations.relation import Relation
from indexer.stores.base import Store
from indexer.text.excerpts import Excerpt, Readable, excerpts_of
from indexer.text.passages import Alignable, CommonPassages, common_passages


@dataclass(frozen=True)
class SharedPassages:
    """The parts common to two texts: as in `CommonPassages`, and the longest passages for people.

    `documents` are the two themselves, `lexicon` has the words of the store.
    """

    common: CommonPassages
    excerpts: tuple[Excerpt, ...]
    documents: tuple[ReadDocument, ReadDocument]
    lexicon: Lexicon | None

    @cached_property
    def relation(self) -> Relation | str:
        return relation_of(*self.documents, self.lexicon)


class Excerpts:
    def __init__(self, store: Store | None, *, of_letters: bool = False) -> None:
        self._texts, self._of_letters = StoredTexts(store) if store else None, of_letters
        self._lexicon = StoredLexicon(store) if store else None

    def added_to(self, answer: Answer, question: Question) -> Answer:
        """The answer with the passages of each match, and the shares from an alignment of the texts.

        Raises UsageError for a question without a text, and ExtractionError with its name if it can't be read again.
        """
        own = self._read(question) if answer.matches else None
        if own is None or self._texts is None or not len((asked := self._readable(own)).aligned.items):
            return answer
        unread = dict(answer.unread)
        found: dict[Ref, NearDocument] = {}
        matches = {match.record.ref: match for match in answer.matches}
        for record, document in self._texts.documents([match.record for match in answer.matches]):
            match = matches[record.ref]
            if isinstance(document, ExtractionError):
                unread[record.ref] = document.detail or document.reason
                continue
            shared = self._shared(asked, own, read_record(record, document))
            found[record.ref] = replace(
                match, shares=shared.common.shares, longest=shared.common.longest,
                passages=len(shared.common.passages), excerpts=shared.excerpts,
                relation=shared.relation if match.near else None,
            )  # fmt: skip
        return replace(answer, matches=[found.get(ref, match) for ref, match in matches.items()], unread=unread)

    def between(self, one: Question, other: Question) -> SharedPassages | None:
        try:
            left, right = self._read(one), self._read(other)
            return self._shared(self._readable(left), left, right)
        except (UsageError, ExtractionError):
            return None

    def _read(self, question: Question) -> ReadDocument:
        document = read_asked(question, self._texts)
        if isinstance(error := document.text, ExtractionError):
            raise ExtractionError(error.reason, f"{question.name}: {error.detail or error.reason}")
        return document

    def _readable(self, document: ReadDocument) -> Readable:
        return Readable(Alignable(str(document.text), "letters" if self._of_letters else "words"), document.pages)

    def _shared(self, left: Readable, own: ReadDocument, other: ReadDocument) -> SharedPassages:
        right = self._readable(other)
        common = common_passages(left.aligned, right.aligned)
        return SharedPassages(common, excerpts_of(common.passages, left, right), (own, other), self._lexicon)
