"""The passages common to a question and the documents near it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from indexer.errors import ExtractionError, UsageError
from indexer.ingest.rereading import StoredTexts
from indexer.matching.lookups import Answer, NearDocument
from indexer.matching.question import Question
from indexer.matching.relating import ReadDocument, StoredLexicon, read_question, read_record, relation_of
from indexer.model import Ref
from indexer.relations.lexicon import Lexicon
from indexer.relations.relation import Relation
from indexer.stores.base import Store
from indexer.text.excerpts import Excerpt, Readable, excerpts_of
from indexer.text.passages import Alignable, CommonPassages, FeatureKind, common_passages


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
        asked, own = self._readable(question) if answer.matches else (None, None)
        if asked is None or own is None or self._texts is None or not len(asked.aligned.items):
            return answer
        unread = dict(answer.unread)
        found: dict[Ref, NearDocument] = {}
        matches = {match.record.ref: match for match in answer.matches}
        for record, document in self._texts.documents([match.record for match in answer.matches]):
            match = matches[record.ref]
            if isinstance(document, ExtractionError):
                unread[record.ref] = document.detail or document.reason
                continue
            text = Readable(Alignable(document.text, self._features), document.pages)
            shared = _shared((asked, text), (own, read_record(record, document)), self._lexicon)
            found[record.ref] = replace(
                match, shares=shared.common.shares, longest=shared.common.longest,
                passages=len(shared.common.passages), excerpts=shared.excerpts,
                relation=shared.relation if match.near else None,
            )  # fmt: skip
        return replace(answer, matches=[found.get(ref, match) for ref, match in matches.items()], unread=unread)

    def between(self, one: Question, other: Question) -> SharedPassages | None:
        try:
            (left, own), (right, others) = self._readable(one), self._readable(other)
            return _shared((left, right), (own, others), self._lexicon)
        except (UsageError, ExtractionError):
            return None

    @property
    def _features(self) -> FeatureKind:
        return "letters" if self._of_letters else "words"

    def _readable(self, question: Question) -> tuple[Readable, ReadDocument]:
        """The text of a question, twice: to be aligned, and with what stands beside it."""
        if question.text is not None:
            return Readable(Alignable(question.readable, self._features), question.pages), read_question(question)
        if question.record is None or self._texts is None:
            raise UsageError(f"{question.name} has no text to look for passages in; give a text or file")
        [(_, document)] = self._texts.documents([question.record])
        if isinstance(document, ExtractionError):
            raise ExtractionError(document.reason, f"{question.name}: {document.detail or document.reason}")
        return Readable(Alignable(document.text, self._features), document.pages), read_record(
            question.record, document
        )


def _shared(
    texts: tuple[Readable, Readable], documents: tuple[ReadDocument, ReadDocument], lexicon: Lexicon | None
) -> SharedPassages:
    common = common_passages(*(text.aligned for text in texts))
    return SharedPassages(common, excerpts_of(common.passages, *texts), documents, lexicon)
