"""Measures that read documents: the texts themselves, or sketches if these suffice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from indexer.errors import ExtractionError, UsageError
from indexer.ingest.rereading import StoredTexts
from indexer.matching.measures import exact
from indexer.matching.question import Question
from indexer.matching.rule import PREFERRED, MatchRule, TextVerification
from indexer.model import SIMHASH_DOC, Ref, name_of
from indexer.model.ragged import Ragged
from indexer.schemes.base import Scheme, Similarities, runs
from indexer.stores.base import Store
from indexer.stores.schemes import scheme_of
from indexer.text.counts import counted
from indexer.text.passages import LEAST_WORDS, Alignable, CommonPassages, FeatureKind, common_passages

_READ = 500
UNKNOWN = -1.0
_NOTHING = "it has nothing to be verified by"


class SharedParts(NamedTuple):
    of_question: float
    of_document: float
    longest: int


class Reader(ABC):
    """Gives similarities of stored documents; unknown ones are below 0, listed in `unread` with the reason."""

    remembered = 2000
    """This many documents' evidence is kept in memory, or less where it is large."""

    def __init__(self, store: Store | None, reading: TextVerification) -> None:
        self._store, self.reading, self._texts = store, reading, StoredTexts(store) if store else None
        self.unread: dict[Ref, str] = {}
        self.parts: dict[Ref, SharedParts] = {}
        self._known: OrderedDict[Ref, Any] = OrderedDict()
        self._held = 0
        # Two are enough to know of another one than the document that is asked about.
        self._some_read: set[Ref] = set()
        self._first: ExtractionError | None = None

    @abstractmethod
    def _made(self, text: str | bytes) -> Any:
        """The evidence to compare a text by; None without any."""

    @abstractmethod
    def _compared(self, one: Any, others: Sequence[Any]) -> Similarities:
        """The similarities of one to others; shape (len(others),)."""

    def readable(self, question: Question) -> Question:
        """The question with its text.

        Raises UsageError if it has none, and ExtractionError with its name if it can't be read again.
        """
        if question.text is not None:
            return question
        if question.record is None or self._texts is None:
            raise UsageError(
                f"{question.name} has no text, and {self.reading.kind} compares texts; give a text or file, or ask "
                f"with --match {SIMHASH_DOC}@3bits"
            )
        try:
            return replace(question, text=self._texts.of(question.record))
        except ExtractionError as error:
            raise ExtractionError(error.reason, f"{question.name}: {error.detail or error.reason}") from None

    def asked(self, question: Question) -> Any:
        """The evidence for a question; None if it has no words. Raises the errors of readable()."""
        if question.text is None and question.simhash is None:
            return None
        return self._made(self.readable(question).text or "")

    def of_two(self, one: Question, other: Question) -> float:
        return float(self._to(self.asked(one), [self.asked(other)])[0])

    def between(self, left: Sequence[Ref], right: Sequence[Ref]) -> Similarities:
        """The similarities of pairs of stored documents; shape (len(left),)."""
        known = self._evidence([*left, *right])
        similarities = np.full(len(left), UNKNOWN)
        numbers: dict[Ref, int] = {}
        owners = np.array([numbers.setdefault(ref, len(numbers)) for ref in left], dtype=np.int64)
        order = np.argsort(owners, kind="stable")
        for start, end in runs(owners[order]):
            places = order[start:end]
            similarities[places] = self._to(known[left[places[0]]], [known[right[place]] for place in places.tolist()])
        return similarities

    def to_asked(self, asked: Any, refs: Sequence[Ref]) -> Similarities:
        """The similarities of stored documents to the result of asked(); shape (len(refs),)."""
        known = self._evidence(refs)
        return self._to(asked, [known[ref] for ref in refs])

    def require_read(self, besides: Ref | None = None) -> None:
        """Raise ExtractionError if texts were needed, and none could be read except that of the document `besides`."""
        if self._first and not self._some_read - {besides}:
            count, ref = counted(len(self.unread), "document"), name_of(next(iter(self.unread)))
            why = self._first.detail or self._first.reason
            raise ExtractionError(
                self._first.reason,
                f"none of the texts of {count} that have to be compared can be read: {ref}: {why}; if files were "
                "moved, index them again, or verify by a sketch, as minhash",
            )

    def _to(self, one: Any, others: Sequence[Any]) -> Similarities:
        similarities = np.full(len(others), UNKNOWN)
        there = [place for place, other in enumerate(others) if other is not None]
        if one is not None and there:
            similarities[there] = self._compared(one, [others[place] for place in there])
        return similarities

    def _evidence(self, refs: Sequence[Ref]) -> dict[Ref, Any]:
        wanted = list(dict.fromkeys(refs))
        known = {ref: self._known[ref] for ref in wanted if ref in self._known}
        missing = [ref for ref in wanted if ref not in known]
        for start in range(0, len(missing), _READ):
            page = missing[start : start + _READ]
            for ref, evidence in self._of(page):
                known[ref] = self._known[ref] = evidence
                self._held += self._size(evidence)
        for ref in wanted:
            self._known.move_to_end(ref)
        while self._held > self.remembered:
            _, forgotten = self._known.popitem(last=False)
            self._held -= self._size(forgotten)
        return known

    def _size(self, evidence: Any) -> int:  # noqa: ARG002 most is small
        return 1

    def _of(self, refs: Sequence[Ref]) -> Iterator[tuple[Ref, Any]]:
        assert self._store is not None  # noqa: S101 - it has these documents
        assert self._texts is not None  # noqa: S101
        there = {ref: record for ref, record in zip(refs, self._store.get(refs), strict=True) if record}
        for record, text in self._texts.read(there.values()):
            if isinstance(text, ExtractionError):
                self.unread[record.ref] = text.detail or text.reason
                self._first = self._first or text
                yield record.ref, None
                continue
            evidence = self._made(text)
            if evidence is None:
                self.unread[record.ref] = _NOTHING
            if len(self._some_read) < 2:
                self._some_read.add(record.ref)
            yield record.ref, evidence
        for ref in refs:
            if ref not in there:
                self.unread[ref] = _NOTHING
                yield ref, None


class ShingleReader(Reader):
    def _made(self, text: str | bytes) -> Ragged | None:
        sets = exact.shingle_sets([text])
        return sets if sets.values.size else None

    def _compared(self, one: Ragged, others: Sequence[Ragged]) -> Similarities:
        sets = Ragged.joined([one, *others])
        coefficient = exact.jaccard if self.reading.kind == "text" else exact.containment
        return coefficient(sets, np.zeros(len(others), dtype=np.int64), np.arange(1, len(others) + 1))


class AlignedReader(Reader):
    # Of texts and their words, which are whole books at times, so many documents are held at once.
    _TOGETHER = 20

    def __init__(self, store: Store | None, reading: TextVerification, features: FeatureKind) -> None:
        super().__init__(store, reading)
        self._features = features

    def to_asked(self, asked: Any, refs: Sequence[Ref]) -> Similarities:
        similarities = np.full(len(refs), UNKNOWN)
        for start in range(0, len(refs), self._TOGETHER):
            some = refs[start : start + self._TOGETHER]
            for place, (ref, other) in enumerate(self._evidence(some).items(), start):
                if asked is not None and other is not None:
                    common = common_passages(asked, other, least=least_words(self.reading))
                    self.parts[ref] = SharedParts(*common.shares, common.longest)
                    similarities[place] = aligned_similarity(self.reading, common)
        return similarities

    def between(self, left: Sequence[Ref], right: Sequence[Ref]) -> Similarities:
        similarities = np.empty(len(left))
        for start in range(0, len(left), self._TOGETHER):
            some = slice(start, start + self._TOGETHER)
            similarities[some] = super().between(left[some], right[some])
        return similarities

    def _size(self, evidence: Alignable | None) -> int:
        return 1 + len(evidence.text) // 50_000 if evidence else 1

    def _made(self, text: str | bytes) -> Alignable | None:
        made = Alignable(text if isinstance(text, str) else text.decode("utf-8", "replace"), self._features)
        return made if len(made.items) else None

    def _compared(self, one: Alignable, others: Sequence[Alignable]) -> Similarities:
        least = least_words(self.reading)
        return np.array(
            [aligned_similarity(self.reading, common_passages(one, other, least=least)) for other in others]
        )


def least_words(reading: TextVerification) -> int:
    return min(reading.words, LEAST_WORDS) or LEAST_WORDS


def aligned_similarity(reading: TextVerification, common: CommonPassages) -> float:
    if common.longest < reading.words:
        return UNKNOWN
    return common.shares[0] if reading.of_query else common.share_of_shorter


def reader_of(store: Store | None, rule: MatchRule) -> Reader | None:
    if not isinstance(rule.verifier, TextVerification):
        return None
    if rule.verifier.kind == "aligned":
        return AlignedReader(store, rule.verifier, "letters" if rule.of_letters else "words")
    return ShingleReader(store, rule.verifier)


def preferred(store: Store) -> Scheme | None:
    names = [scheme.name for scheme in store.info.schemes]
    return scheme_of(store, PREFERRED) if PREFERRED in names else None
