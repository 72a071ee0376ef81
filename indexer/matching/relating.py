"""The relations of near documents, by their texts, read when needed."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Generic, Literal, NamedTuple, TypeVar

from indexer.errors import ExtractionError
from indexer.ingest.rereading import StoredTexts
from indexer.matching.lexicons import StoredLexicon
from indexer.matching.lookups import Answer
from indexer.matching.pairing import NearPair
from indexer.matching.question import Question
from indexer.model import Document, Record, Ref, name_of
from indexer.model.chunking import chunks
from indexer.relations.alignment import MOST_WORDS
from indexer.relations.comparing import relate
from indexer.relations.facts import DifferingFact
from indexer.relations.frame import line_hashes
from indexer.relations.lexicon import Lexicon
from indexer.relations.relation import COPIES, Relation, order_with
from indexer.relations.versions.order import Order, compared
from indexer.relations.versions.signs import Signs, signs_of
from indexer.relations.wording import Wording
from indexer.stores.base import Store
from indexer.text.counts import counted

Relating = bool | Literal["at hand"]
"""True to tell how texts stand to each other, "at hand" only of those that are quick to read."""
AT_HAND = 2_000_000
"""Files of at most so many bytes are read again where it was not asked for."""

# Characters of texts that are kept for what comes later.
_KEPT_AT_ONCE = 16_000_000
_PAIRS_AT_ONCE = 500

AnyDocument = TypeVar("AnyDocument")
# What says something of a document besides its text; menus and the like are another page's too.
_TELLING = frozenset(("page margin", "page header", "page footer", "deleted", "comment", "subject"))
Read = Callable[[Sequence[AnyDocument]], Iterable[tuple[AnyDocument, str | ExtractionError]]]
"""Gives the texts of documents, or why there is none, in any order."""


class RelatedTexts(Generic[AnyDocument]):
    """The texts of documents near others, and their relations.

    `read` returns texts, `key` identifies documents, `name` names them, and `digest` is equal for identical texts,
    empty if unknown. The relations go by the words of `lexicon`; with `learns` the words of these texts are added to
    it, which must be those of whole clusters. `brief` is that of `indexer.relations.comparing.relate`. Memory: some 16
    million characters of texts, and those of one `prepare`.
    """

    def __init__(
        self,
        read: Read[AnyDocument],
        key: Callable[[AnyDocument], Hashable],
        name: Callable[[AnyDocument], str],
        digest: Callable[[AnyDocument], str],
        *,
        lexicon: Lexicon,
        learns: bool = False,
        brief: bool = False,
        beside: Callable[[AnyDocument, AnyDocument], tuple[DifferingFact, ...]] | None = None,
    ) -> None:
        self._brief, self._beside = brief, beside
        self._read, self.key, self.name, self.digest = read, key, name, digest
        self.lexicon, self._learns = lexicon, learns
        self._known: OrderedDict[Hashable, Wording | str] = OrderedDict()
        self._characters = 0
        self.unread = ""
        self._counts = Counter[bool]()

    def prepare(
        self, groups: Iterable[Sequence[AnyDocument]], counted_before: Iterable[Sequence[AnyDocument]] = ()
    ) -> None:
        """Read the texts of documents to compare, group by group, evicting the oldest.

        Groups `counted_before`, at least in part, teach no words.
        """
        learned = list(groups)
        listed = [*learned, *counted_before]
        while self._characters > _KEPT_AT_ONCE:
            _, old = self._known.popitem(last=False)
            self._characters -= 0 if isinstance(old, str) else len(old.text)
        wanted = {self.key(each): each for documents in listed for each in documents}
        for document, text in self._read([each for key, each in wanted.items() if key not in self._known]):
            self._note(document, text)
        if not self._learns:
            return
        for documents in learned:
            known = [self._known[self.key(each)] for each in documents]
            wordings = [wording for wording in known if isinstance(wording, Wording)]
            self.lexicon.add([words for each in wordings for words in (each.hashes, line_hashes(each))])

    def _note(self, document: AnyDocument, text: str | ExtractionError) -> None:
        said = _made_ready(text)
        if isinstance(said, Wording):
            self._characters += len(said.text)
        else:
            self.unread = self.unread or f"{self.name(document)}: {said}"
        self._counts[isinstance(said, Wording)] += 1
        self._known[self.key(document)] = said

    def forget(self) -> None:
        self._known.clear()
        self._characters = 0

    def wording(self, document: AnyDocument) -> Wording | None:
        said = self._known.get(self.key(document))
        return said if isinstance(said, Wording) else None

    def identical(self, one: AnyDocument, other: AnyDocument) -> bool:
        same = bool(digest := self.digest(one)) and digest == self.digest(other)
        return same and not (self._beside and self._beside(one, other))

    def between(self, document: AnyDocument, other: AnyDocument) -> Relation | str:
        if self.identical(document, other):
            return Relation("identical")
        left, right = self._known[self.key(document)], self._known[self.key(other)]
        if isinstance(left, str):
            return f"{self.name(document)}: {left}"
        if isinstance(right, str):
            return f"{self.name(other)}: {right}"
        return self.told(document, other, left, right)

    def told(self, document: AnyDocument, other: AnyDocument, left: Wording, right: Wording) -> Relation:
        relation = self.related(left, right)
        if self._beside and relation.word in COPIES and (facts := self._beside(document, other)):
            return Relation("form", facts)
        # Their texts are equal, and their digests say that not all that was read is.
        not_all = relation.word == "identical" and self.digest(document)
        return Relation("reflowed") if not_all else relation

    def related(self, left: Wording, right: Wording) -> Relation:
        return relate(left, right, self.lexicon, brief=self._brief)

    def remark(self, instead: str) -> str:
        if not self.unread or self._counts[True] > 1:
            return ""
        return (
            f"none of the texts of {counted(self._counts[False], 'document')} could be read: {self.unread}; {instead}"
        )


def stored_texts(
    store: Store,
    texts: StoredTexts | None = None,
    *,
    lexicon: Lexicon | None = None,
    learns: bool = False,
    brief: bool = False,
) -> RelatedTexts[Record]:
    return RelatedTexts(
        (texts or StoredTexts(store)).read,
        key=lambda record: record.ref,
        name=lambda record: name_of(record.ref),
        digest=lambda record: record.text_digest and record.text_digest + record.read_digest,
        beside=_FactsBeside(store),
        lexicon=lexicon or StoredLexicon(store),
        learns=learns,
        brief=brief,
    )


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[DifferingFact, ...]:
    sides = {name: (one.get(name, ""), other.get(name, "")) for name in {**one, **other}}
    return tuple(DifferingFact(name, *both) for name, both in sides.items() if both[0] != both[1])


class _FactsBeside:
    def __init__(self, store: Store) -> None:
        self._texts = StoredTexts(store)

    def __call__(self, one: Record, other: Record) -> tuple[DifferingFact, ...]:
        if not one.may_be_same_mail(other):
            return differing(one.mail_head, other.mail_head)
        if one.read_digest == other.read_digest:
            return ()
        found = {record.ref: document for record, document in self._texts.documents([one, other])}
        parts = [self._parts(found.get(each.ref)) for each in (one, other)]
        if not (one.mail_head and other.mail_head):
            # What is no mail has no subject.
            parts = [{kind: text for kind, text in each.items() if kind != "subject"} for each in parts]
        return differing(*parts)

    @staticmethod
    def _parts(document: Document | ExtractionError | None) -> dict[str, str]:
        found: dict[str, str] = {}
        for kind, text in document.left_out if isinstance(document, Document) else ():
            if kind in _TELLING or kind.startswith("field") or "/@" in kind:
                found[kind] = f"{found[kind]}, {text}" if kind in found else text
        return found


class RelatedPair(NamedTuple):
    """Two near documents: the relation of the left to the right, or the reason for none, and its place in time.

    Both are None if they were not looked for.
    """

    pair: NearPair
    relation: Relation | str | None = None
    order: Order | None = None


def related_pairs(store: Store, pairs: Iterable[NearPair]) -> Iterator[RelatedPair]:
    texts = stored_texts(store)
    for some in chunks(pairs, _PAIRS_AT_ONCE):
        refs = list(dict.fromkeys(ref for pair in some for ref in (pair.left, pair.right)))
        records = dict(zip(refs, store.get(refs, sketches=False), strict=True))
        there = [(one, other) for pair in some if (one := records[pair.left]) and (other := records[pair.right])]
        texts.prepare([both for both in there if not texts.identical(*both)])
        signs: dict[Ref, Signs] = {ref: signs_of(record) for ref, record in records.items() if record}
        for pair in some:
            left, right = records[pair.left], records[pair.right]
            if left is None or right is None:
                gone = pair.right if left else pair.left
                yield RelatedPair(pair, f"{name_of(gone)}: the document is gone", Order())
            else:
                relation = texts.between(left, right)
                order = order_with(compared(signs[left.ref], signs[right.ref]), relation)
                yield RelatedPair(pair, relation, order)


class QuestionRelations:
    """The relations of the texts of questions to those of near documents, read again.

    With `at_hand` only fields of an index, or files of at most AT_HAND bytes.
    """

    def __init__(self, store: Store, *, at_hand: bool = False) -> None:
        self._texts = StoredTexts(store, AT_HAND if at_hand else None)
        self._lexicon = StoredLexicon(store)

    def added_to(self, answer: Answer, question: Question) -> Answer:
        wanted = {each.record.ref: each for each in answer.matches if each.near and not each.identical}
        if not wanted or (question.text is None and question.record is None):
            return answer
        own = self._wording(question)
        if isinstance(own, str):
            found = {ref: replace(match, relation=f"{question.name}: {own}") for ref, match in wanted.items()}
        else:
            read = self._texts.read([each.record for each in wanted.values()])
            found = {
                record.ref: replace(wanted[record.ref], relation=_between(own, record, text, self._lexicon))
                for record, text in read
            }
        return replace(answer, matches=[found.get(match.record.ref, match) for match in answer.matches])

    def _wording(self, question: Question) -> Wording | str:
        if question.text is not None:
            return _made_ready(question.readable)
        assert question.record is not None  # noqa: S101 - it has one or the other
        [(_, text)] = self._texts.read([question.record])
        return _made_ready(text)


def _between(own: Wording, record: Record, text: str | ExtractionError, lexicon: Lexicon) -> Relation | str:
    said = _made_ready(text)
    if isinstance(said, str):
        return f"{name_of(record.ref)}: {said}"
    relation = relate(own, said, lexicon)
    # What is identical by the digests of all that was read is not asked about.
    return Relation("reflowed") if relation.word == "identical" and record.text_digest else relation


def relation_of(
    text: str | ExtractionError,
    other: str | ExtractionError,
    lexicon: Lexicon | None = None,
    *,
    brief: bool = False,
) -> Relation | str:
    left = _made_ready(text)
    if isinstance(left, str):
        return left
    right = _made_ready(other)
    return right if isinstance(right, str) else relate(left, right, lexicon, brief=brief)


def _made_ready(text: str | ExtractionError) -> Wording | str:
    if isinstance(text, ExtractionError):
        return text.detail or text.reason
    wording = Wording(text)
    return wording if len(wording) <= MOST_WORDS else f"the text has more than {counted(MOST_WORDS, 'word')}"
