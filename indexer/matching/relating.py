"""The relations of near documents to each other, by their texts, which are read when they are needed."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from indexer.errors import ExtractionError
from indexer.ingest.rereading import StoredTexts
from indexer.model import Record, name_of
from indexer.relations.alignment import MOST_WORDS
from indexer.relations.lexicon import Lexicon
from indexer.relations.relation import Relation, relate
from indexer.relations.wording import Wording
from indexer.stores.base import Store
from indexer.text.counts import counted

# Characters of texts that are kept for what comes later.
_KEPT_AT_ONCE = 16_000_000

Document = TypeVar("Document")
Read = Callable[[Sequence[Document]], Iterable[tuple[Document, str | ExtractionError]]]
"""Gives the texts of documents, or why there is none, in any order."""


class RelatedTexts(Generic[Document]):
    """The texts of documents that are near others, and their relations.

    `read` gives texts, `key` tells documents apart, `name` names them, and `digest` is equal for identical texts, empty
    where it is unknown. Memory: some 16 million characters of texts, and those of one `prepare`.
    """

    def __init__(
        self,
        read: Read[Document],
        key: Callable[[Document], Hashable],
        name: Callable[[Document], str],
        digest: Callable[[Document], str],
    ) -> None:
        self._read, self.key, self.name, self.digest = read, key, name, digest
        self.lexicon = Lexicon()
        self._known: OrderedDict[Hashable, Wording | str] = OrderedDict()
        self._characters = 0
        self.unread = ""
        self._counts = Counter[bool]()

    def prepare(self, groups: Iterable[Sequence[Document]]) -> None:
        """Read the texts of documents that are to be compared, group by group, in place of those of long ago."""
        listed = list(groups)
        while self._characters > _KEPT_AT_ONCE:
            _, old = self._known.popitem(last=False)
            self._characters -= 0 if isinstance(old, str) else len(old.text)
        wanted = {self.key(each): each for documents in listed for each in documents}
        for document, text in self._read([each for key, each in wanted.items() if key not in self._known]):
            self._note(document, text)
        for documents in listed:
            known = [self._known[self.key(each)] for each in documents]
            self.lexicon.add([wording.hashes for wording in known if isinstance(wording, Wording)])

    def _note(self, document: Document, text: str | ExtractionError) -> None:
        said: Wording | str = Wording(text) if isinstance(text, str) else (text.detail or text.reason)
        if isinstance(said, Wording):
            self._characters += len(said.text)
            if len(said) > MOST_WORDS:
                said = f"it has more than {counted(MOST_WORDS, 'word')}"
        if isinstance(said, str):
            self.unread = self.unread or f"{self.name(document)}: {said}"
        self._counts[isinstance(said, Wording)] += 1
        self._known[self.key(document)] = said

    def wording(self, document: Document) -> Wording | None:
        """The text of a document; None where it was not prepared or could not be read."""
        said = self._known.get(self.key(document))
        return said if isinstance(said, Wording) else None

    def identical(self, one: Document, other: Document) -> bool:
        """True if two documents are known to have the same text but for case and white space."""
        return bool(digest := self.digest(one)) and digest == self.digest(other)

    def between(self, document: Document, other: Document) -> Relation | str:
        """The relation of a document to another one, both prepared; why there is none where a text can't be read.

        What is identical by its digest needs not to be prepared.
        """
        if self.identical(document, other):
            return Relation("identical")
        for one in (document, other):
            if isinstance(said := self._known[self.key(one)], str):
                return f"{self.name(one)}: {said}"
        left, right = self.wording(document), self.wording(other)
        assert left is not None  # noqa: S101 - they were looked at just now
        assert right is not None  # noqa: S101
        return relate(left, right, self.lexicon)

    def remark(self, instead: str) -> str:
        """A sentence where texts were needed and none could be read, which names what to do `instead`; else empty."""
        if not self.unread or self._counts[True] > 1:
            return ""
        return (
            f"none of the texts of {counted(self._counts[False], 'document')} could be read: {self.unread}; {instead}"
        )


def stored_texts(store: Store) -> RelatedTexts[Record]:
    """The relations of a store's documents, by their texts as they are read again."""
    return RelatedTexts(
        StoredTexts(store).read,
        key=lambda record: record.ref,
        name=lambda record: name_of(record.ref),
        digest=lambda record: record.text_digest,
    )
