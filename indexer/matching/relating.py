"""The relations of near documents, by their texts, read when needed."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, Literal, NamedTuple, TypeVar

from indexer.errors import ExtractionError, StoreError, UsageError
from indexer.ingest.rereading import StoredTexts
from indexer.ingest.sketching import NOTHING
from indexer.matching.lookups import Answer, NearDocument
from indexer.matching.pairing import MeasuredPair
from indexer.matching.question import Question
from indexer.model import Document, Record, Ref, name_of
from indexer.model.chunking import chunks
from indexer.relations.alignment import MOST_WORDS
from indexer.relations.beside import Aside, differing, facts_beside, own_title, telling_parts, title_facts, title_hashes
from indexer.relations.comparing import may_be_copy, relate
from indexer.relations.facts import DifferingFact
from indexer.relations.frame import line_hashes
from indexer.relations.lexicon import Hashes, Lexicon, shared_words
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
Read = Callable[[Sequence[AnyDocument]], Iterable[tuple[AnyDocument, Document | str | ExtractionError]]]
"""Gives the texts of documents, or why there is none, in any order."""
PartsBeside = Callable[[], tuple[Mapping[str, str], Mapping[str, str]]]
"""Gives what tells something beside the texts of two documents, by its kind; it may have to read them."""


class BesideTexts(NamedTuple, Generic[AnyDocument]):
    """The `title` and `format` of a document, and other `facts` that differ beside the texts of two.

    `digest` is equal if the texts are, and what stands beside them tells the same; empty if unknown.
    """

    title: Callable[[AnyDocument], str]
    facts: Callable[[AnyDocument, AnyDocument, PartsBeside], tuple[DifferingFact, ...]]
    format: Callable[[AnyDocument], str] = lambda _: ""
    digest: Callable[[AnyDocument], str] = lambda _: ""


class _KeptText(NamedTuple):
    """A text made ready, or why there is none, and what tells something beside it."""

    wording: Wording | str
    parts: Mapping[str, str]

    @property
    def size(self) -> int:
        own = 0 if isinstance(self.wording, str) else len(self.wording.text)
        return own + sum(map(len, self.parts.values()))


NO_COPY = Relation("reworded")
"""Stands for the relation of texts that are no copies, if nobody asks for more."""


class RelatedTexts(Generic[AnyDocument]):
    """The texts of documents near others, and their relations.

    `read` returns texts, `key` identifies documents, `name` names them, and `digest` is equal for identical texts,
    empty if unknown. The relations go by the words of `lexicon`; with `learns` the words of these texts are added to
    it, which must be those of whole clusters. `brief` is that of `indexer.relations.comparing.relate`; with
    "copies" the relation of texts that are no copies is NO_COPY, which is much quicker. Memory: some 16 million
    characters of texts, and those of one `prepare`.
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
        brief: bool | Literal["copies"] = False,
        beside: BesideTexts[AnyDocument] | None = None,
    ) -> None:
        self._brief, self._only_copies, self._beside = bool(brief), brief == "copies", beside
        self._read, self.key, self.name, self.digest = read, key, name, digest
        self.lexicon, self._learns = lexicon, learns
        self._known: OrderedDict[Hashable, _KeptText] = OrderedDict()
        self._alike: dict[Hashable, AnyDocument] = {}
        self._characters = 0
        self.unread = ""
        self._counts = Counter[bool]()

    def prepare(
        self,
        groups: Iterable[Sequence[AnyDocument]],
        counted_before: Iterable[Sequence[AnyDocument]] = (),
        alike: Iterable[tuple[AnyDocument, AnyDocument]] = (),
        lone: Iterable[AnyDocument] = (),
    ) -> None:
        """Read the texts of documents to compare, group by group, evicting the oldest.

        Groups `counted_before`, at least in part, teach no words. Of two documents known to be `alike` the text of the
        second is taken for the first. Documents near no other one, `lone`, teach only what stands around their texts.
        """
        self._alike = {self.key(one): other for one, other in alike}
        learned, alone = list(groups), list(lone)
        listed = [*learned, *counted_before, alone]
        while self._characters > _KEPT_AT_ONCE:
            self._characters -= self._known.popitem(last=False)[1].size
        wanted = {self.key(each): each for documents in listed for each in documents}
        self._read_again([each for key, each in wanted.items() if key not in self._known])
        if not self._learns:
            return
        for documents in learned:
            texts, frames = list[Hashes](), list[Hashes]()
            for each in {self.key(document): document for document in documents}.values():
                if wording := self.wording(each):
                    texts.append(wording.hashes)
                    frames += self._around(each, wording)
            self.lexicon.add([shared_words(texts), *frames])
        # A misread word of theirs may stand in several of them.
        for each in alone:
            if wording := self.wording(each):
                self.lexicon.add(self._around(each, wording))

    def _around(self, document: AnyDocument, wording: Wording) -> list[Hashes]:
        return [line_hashes(wording), title_hashes(self._beside.title(document) if self._beside else "")]

    def _read_again(self, documents: Sequence[AnyDocument]) -> None:
        for document, read in self._read(documents):
            text, left_out = (read.text, read.left_out) if isinstance(read, Document) else (read, ())
            kept = self._known[self.key(document)] = _KeptText(_made_ready(text), telling_parts(left_out))
            self._characters += kept.size
            if isinstance(kept.wording, str):
                self.unread = self.unread or f"{self.name(document)}: {kept.wording}"
            self._counts[isinstance(kept.wording, Wording)] += 1

    def forget(self) -> None:
        self._known.clear()
        self._alike = {}
        self._characters = 0

    def wording(self, document: AnyDocument) -> Wording | None:
        kept = self._known.get(self.key(self._at_hand(document)))
        return kept.wording if kept and isinstance(kept.wording, Wording) else None

    def _at_hand(self, document: AnyDocument) -> AnyDocument:
        key = self.key(document)
        return document if key in self._known else self._alike.get(key, document)

    def _kept(self, document: AnyDocument) -> _KeptText:
        document = self._at_hand(document)
        if (key := self.key(document)) not in self._known:
            self._read_again([document])
        return self._known[key]

    def _facts(self, one: AnyDocument, other: AnyDocument) -> tuple[DifferingFact, ...]:
        if self._beside is None:
            return ()
        return self._beside.facts(one, other, lambda: (self._kept(one).parts, self._kept(other).parts))

    def identical(self, one: AnyDocument, other: AnyDocument) -> bool:
        same = bool(digest := self.digest(one)) and digest == self.digest(other)
        return same and not self._facts(one, other)

    def known(self, one: AnyDocument, other: AnyDocument) -> Relation | None:
        """The relation by the digests; None if only the texts tell."""
        if self.identical(one, other):
            return Relation("identical")
        if self._beside and (digest := self._beside.digest(one)) and digest == self._beside.digest(other):
            titles = self._beside.title(one), self._beside.title(other)
            if not title_facts(titles, ("", "")) and not self._facts(one, other):
                return Relation("reflowed")
        return None

    def digests(self, document: AnyDocument) -> list[str]:
        """The digests that are equal in documents that may be copies of this one."""
        both = self._beside.digest(document) if self._beside else ""
        titled = f"{both} {self._beside.title(document)}" if self._beside and both else ""
        return [each for each in (self.digest(document), titled, both) if each]

    def between(self, document: AnyDocument, other: AnyDocument) -> Relation | str:
        if known := self.known(document, other):
            return known
        left, right = self._kept(document).wording, self._kept(other).wording
        if isinstance(left, str):
            return f"{self.name(document)}: {left}"
        if isinstance(right, str):
            return f"{self.name(other)}: {right}"
        return self.by_texts(document, other, left, right)

    def by_texts(
        self, document: AnyDocument, other: AnyDocument, left: Wording, right: Wording, *, only_copies: bool = False
    ) -> Relation:
        if (only_copies or self._only_copies) and not may_be_copy(left, right, self.lexicon):
            return NO_COPY
        formats = [self._beside.format(each) for each in (document, other)] if self._beside else ["", ""]
        relation = self.related(left, right, other_format=in_other_format(*formats))

        def beside() -> tuple[DifferingFact, ...]:
            if self._beside is None:
                return ()
            titles = self._beside.title(document), self._beside.title(other)
            return title_facts(titles, (left.given, right.given), self.lexicon) + self._facts(document, other)

        # Equal digests have been seen before.
        return _with_beside(relation, beside, digests_differ=bool(self.digest(document)))

    def related(self, left: Wording, right: Wording, *, other_format: bool = False) -> Relation:
        return relate(left, right, self.lexicon, brief=self._brief, other_format=other_format)

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
        (texts or StoredTexts(store)).documents,
        key=lambda record: record.ref,
        name=lambda record: name_of(record.ref),
        digest=all_read,
        beside=BesideTexts(
            lambda record: own_title(record.title, record.source), stored_facts, lambda record: record.format, all_told
        ),
        lexicon=lexicon or StoredLexicon(store),
        learns=learns,
        brief=brief,
    )


def all_read(record: Record) -> str:
    """The digests of the text and of all that was read; empty if unknown."""
    return record.text_digest and record.text_digest + record.read_digest


def all_told(record: Record) -> str:
    """The digests of the text and of what stands beside it; empty if unknown, and without a text, such as of a scan."""
    return told_by(record.text_digest, record.beside_digest)


def told_by(text_digest: str, beside_digest: str) -> str:
    return f"{text_digest} {beside_digest}" if text_digest not in ("", NOTHING) and beside_digest else ""


def stored_facts(one: Record, other: Record, parts: PartsBeside) -> tuple[DifferingFact, ...]:
    """The facts that differ beside the texts of two stored documents, except for their titles."""
    if not one.may_be_same_mail(other):
        return differing(one.mail_head, other.mail_head)
    if one.read_digest == other.read_digest or (one.beside_digest and one.beside_digest == other.beside_digest):
        return ()
    left, right = (
        Aside("", each.source, each.metadata, (*beside.items(),))
        for each, beside in zip((one, other), parts(), strict=True)
    )
    return facts_beside(left, right, ("", ""))


class RelatedPair(NamedTuple):
    """Two near documents: the relation of the left to the right, or the reason for none, and its place in time.

    Both are None if they were not looked for.
    """

    pair: MeasuredPair
    relation: Relation | str | None = None
    order: Order | None = None


def related_pairs(store: Store, pairs: Iterable[MeasuredPair]) -> Iterator[RelatedPair]:
    texts = stored_texts(store)
    for some in chunks(pairs, _PAIRS_AT_ONCE):
        refs = list(dict.fromkeys(ref for pair in some for ref in (pair.left, pair.right)))
        records = dict(zip(refs, store.get(refs, sketches=False), strict=True))
        there = [(one, other) for pair in some if (one := records[pair.left]) and (other := records[pair.right])]
        texts.prepare([both for both in there if not texts.known(*both)])
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
        own = read_asked(question, self._texts)
        if isinstance(why := own.wording, str):
            found = {ref: replace(match, relation=f"{question.name}: {why}") for ref, match in wanted.items()}
        else:
            read = self._texts.documents([each.record for each in wanted.values()])
            found = {record.ref: self._related(wanted[record.ref], own, document) for record, document in read}
        return replace(answer, matches=[found.get(match.record.ref, match) for match in answer.matches])

    def _related(self, match: NearDocument, own: ReadDocument, document: Document | ExtractionError) -> NearDocument:
        """The same match with the relation of the question to it."""
        relation = relation_of(own, read_record(match.record, document), self._lexicon)
        said = f"{name_of(match.record.ref)}: {relation}" if isinstance(relation, str) else relation
        return replace(match, relation=said)


@dataclass(frozen=True)
class ReadDocument:
    """The text of a document or why there is none, what stands beside it, its `read_digest` and format, if known.

    `pages` are the first characters of a PDF's pages.
    """

    text: str | ExtractionError
    aside: Aside | None = None
    digest: str = ""
    format: str = ""
    pages: tuple[int, ...] = ()

    @cached_property
    def wording(self) -> Wording | str:
        # One document is compared with many.
        return _made_ready(self.text)


def read_record(record: Record, document: Document | ExtractionError) -> ReadDocument:
    beside, about = Aside(record.title, record.source, record.metadata), (record.read_digest, record.format)
    if isinstance(document, ExtractionError):
        return ReadDocument(document, beside, *about)
    return ReadDocument(document.text, beside._replace(left_out=document.left_out), *about, document.pages)


def read_question(question: Question) -> ReadDocument:
    aside = Aside(question.title, question.source, question.metadata, question.left_out or ())
    beside = None if question.left_out is None else aside
    return ReadDocument(question.readable, beside, question.read, question.format, question.pages)


def read_asked(question: Question, texts: StoredTexts | None) -> ReadDocument:
    """The text of a question, or of the stored document it is about, read again.

    Raises UsageError for a question with neither.
    """
    if question.text is not None:
        return read_question(question)
    if question.record is None or texts is None:
        raise UsageError(f"{question.name} has no text to look for passages in; give a text or file")
    [(record, document)] = texts.documents([question.record])
    return read_record(record, document)


def in_other_format(one: str, other: str) -> bool:
    """True if documents are known to have two formats."""
    return bool(one and other) and one != other


def relation_of(
    one: ReadDocument, other: ReadDocument, lexicon: Lexicon | None = None, *, brief: bool = False
) -> Relation | str:
    """The relation of a document to another one that is near it, or why there is none; the rest as in `relate`."""
    left, right = one.wording, other.wording
    if isinstance(left, str) or isinstance(right, str):
        return left if isinstance(left, str) else str(right)

    def beside() -> tuple[DifferingFact, ...]:
        if one.aside is None or other.aside is None:
            return ()
        return facts_beside(one.aside, other.aside, (left.given, right.given), lexicon)

    relation = relate(left, right, lexicon, brief=brief, other_format=in_other_format(one.format, other.format))
    differ = bool(one.digest and other.digest and one.digest != other.digest)
    return _with_beside(relation, beside, digests_differ=differ)


def _with_beside(
    relation: Relation, beside: Callable[[], tuple[DifferingFact, ...]], *, digests_differ: bool
) -> Relation:
    """The relation of documents by that of their texts: equal texts are a form where facts differ `beside` them.

    They are not identical if the digests of all that was read differ.
    """
    if relation.word in COPIES and (facts := beside()):
        return Relation("form", facts)
    return Relation("reflowed") if relation.word == "identical" and digests_differ else relation


def _made_ready(text: str | ExtractionError) -> Wording | str:
    if isinstance(text, ExtractionError):
        return text.detail or text.reason
    wording = Wording(text)
    return wording if len(wording) <= MOST_WORDS else f"the text has more than {counted(MOST_WORDS, 'word')}"


LEXICON = "lexicon"
"""The name of the resource that a store keeps it under."""


def read_lexicon(store: Store, *, makes_anew: bool = False) -> Lexicon | None:
    """The lexicon kept by a store, None without one.

    Raises StoreError if it is damaged, unless the caller `makes_anew` a missing one.
    """
    data = store.get_resource(LEXICON)
    if data is None:
        return None
    try:
        return Lexicon.from_bytes(data)
    except ValueError as error:
        if makes_anew:
            return None
        raise StoreError(
            f"the words of the collection, the resource {LEXICON!r} of the store, are damaged: {error}; "
            "neardup cluster makes them anew"
        ) from error


def keep_lexicon(store: Store, lexicon: Lexicon) -> None:
    store.put_resource(LEXICON, lexicon.to_bytes())


class StoredLexicon(Lexicon):
    """The lexicon of a store, read when the first word is asked for; without one it knows no word."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store: Store | None = store

    def frequency(self, word: int) -> int:
        if self._store is not None:
            kept, self._store = read_lexicon(self._store), None
            if kept is not None:
                self.take(kept)
        return super().frequency(word)
