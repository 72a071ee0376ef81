"""The relations of documents to those that they repeat, as they are noted with their clusters."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from indexer.clustering.memory import LastClustering
from indexer.ingest.rereading import StoredTexts
from indexer.matching.lexicons import read_lexicon
from indexer.matching.relating import AT_HAND, RelatedTexts, Relating, stored_texts
from indexer.model import Record, Ref
from indexer.relations.lexicon import Lexicon, WordAnswers
from indexer.relations.relation import COPIES, verdict_of
from indexer.stores.base import Store

UNVERIFIED = "unverified"
"""Noted in place of a relation where a text could not be read."""

_PLACE = ("repeats", "repeats_index", "repeats_routing")


def could_go(relation: str) -> bool:
    """False for what is noted of forms, in which facts differ, and parts; true also where nothing is known."""
    return verdict_of(relation) != "differs"


def is_redundant(annotation: Mapping[str, Any]) -> bool:
    """True for the annotation `cluster` of a document that repeats another one and could go for it."""
    return "repeats" in annotation and could_go(annotation.get("relation", ""))


class RepeatingDocument(NamedTuple):
    """A document of the component `group` that repeats another one.

    `wanted` is what is to be noted of it so far, to which the relation is added; `noted` and `noted_of_other` are all
    annotations of both.
    """

    group: int
    record: Record
    wanted: dict[str, Any]
    noted: Mapping[str, Any]
    other: Record | None
    noted_of_other: Mapping[str, Any]


class NotedRelations:
    """Tells the relations of documents: the digests say what is identical, and what was noted stays.

    A text that is replaced loses what was noted of it; of a document of which nothing was, as of one that is alone, it
    is known by its time, which is not after `since`, the last clustering. `given` are relations that are known from
    elsewhere. With `read` the other texts are read again and aligned, which took so many `seconds`, None where there
    were none; what could not be read before is tried again where `read` is true.

    They go by the words that the store keeps. Where there are none, those of the texts that are read are counted; with
    `renews` also where the collection has outgrown them, and what was noted is then told again as far as it can be.
    Memory: that of `indexer.matching.relating.RelatedTexts`; where words are counted also some hundred bytes for each
    document whose relation depends on them.
    """

    def __init__(self, store: Store, *, read: Relating, since: str = "", renews: bool = False) -> None:
        # Files with many documents are gone through once for all that is read of them.
        self._store, self._read_again = store, StoredTexts(store, AT_HAND if read == "at hand" else None)
        kept = read_lexicon(store, makes_anew=renews) if read else None
        learns = bool(read) and (kept is None or (renews and kept.is_outgrown(store.count())))
        self._learned = _AskedLexicon() if learns else None
        self._texts = self._by(self._learned or kept, learns=learns) if read else None
        self._again, self._anew, self._since = read is True, learns and renews, since
        # Of documents whose relation depends on words that are still counted, what was known of those.
        self._depending: dict[Ref, dict[int, WordAnswers]] = {}
        self.given: Mapping[Ref, str] = {}
        self.seconds: float | None = None

    @classmethod
    def after(
        cls, last: LastClustering, store: Store, *, read: Relating | None = None, renews: bool = False, apart: str = ""
    ) -> Self:
        """The relations after the last clustering; None reads what is at hand, or nothing where that one did so.

        Where something is to be kept `apart`, None reads all.
        """
        if read is None:
            read = True if apart else "at hand" if last.reads else False
        return cls(store, read=read, since=last.at if last.finished else "", renews=renews)

    def _by(self, lexicon: Lexicon | None, *, learns: bool = False) -> RelatedTexts[Record]:
        return stored_texts(self._store, self._read_again, lexicon=lexicon, learns=learns, brief=True)

    @property
    def reads(self) -> bool:
        """True if texts are read again."""
        return self._texts is not None

    @property
    def counts(self) -> bool:
        """True while the words of the texts are counted, so that what is said of some may be told again."""
        return self._learned is not None

    @property
    def texts(self) -> RelatedTexts[Record] | None:
        """The texts that are read again; None where none are."""
        return self._texts

    def forget(self) -> None:
        """Let go of the texts that were read, as documents may be replaced before it goes on."""
        if self._texts:
            self._texts.forget()

    def words(self, documents: Sequence[RepeatingDocument]) -> list[str]:
        """The relation of each document to the one that it repeats, UNVERIFIED, or empty where it is not known."""
        known = [self._known(each) for each in documents]
        if self._texts is None:
            return _with_equals(documents, known)
        groups: dict[int, list[Record]] = {}
        before: dict[int, list[Record]] = {}
        for each, word in zip(documents, known, strict=True):
            if not word and each.other:
                # Of a cluster that grows the words would count each time.
                grows = not self._anew and (each.noted_of_other.get("cluster") or {}).get("size_class")
                (before if grows else groups).setdefault(each.group, []).extend((each.record, each.other))
        begun = time.monotonic()
        self._texts.prepare(groups.values(), before.values())
        words = [word or self._read(each) for each, word in zip(documents, known, strict=True)]
        if groups or before:
            self.took(time.monotonic() - begun)
        return _with_equals(documents, words)

    def took(self, seconds: float) -> None:
        """Add to the time that reading texts again took."""
        self.seconds = (self.seconds or 0.0) + seconds

    def _known(self, document: RepeatingDocument) -> str:
        if document.other is None:
            return ""
        if document.record.is_identical(document.other):
            return "identical"
        if word := self.given.get(document.record.ref, ""):
            return word
        return "" if self._anew else self._noted(document)

    def _noted(self, document: RepeatingDocument) -> str:
        """The relation that was noted before and still holds; empty where there is none."""
        before = document.noted.get("cluster") or {}
        same = all(before.get(name) == document.wanted.get(name) for name in _PLACE)
        other = document.other
        stays = document.noted_of_other.get("cluster") or (other is not None and other.indexed_at <= self._since)
        word = str(before.get("relation") or "") if same and stays else ""
        return "" if word == "identical" or (word == UNVERIFIED and self._again) else word

    def _read(self, document: RepeatingDocument) -> str:
        if document.other is None or self._texts is None:
            return UNVERIFIED
        relation = self._texts.between(document.record, document.other)
        if self._learned is not None and (asked := self._learned.taken()):
            self._depending[document.record.ref] = asked
        if isinstance(relation, str):
            return (self._noted(document) if self._anew else "") or UNVERIFIED
        return relation.word

    def learned(self) -> Lexicon | None:
        """The words that were counted, as they are kept; None where there were none to count."""
        if self._learned is None or not self._learned.documents:
            return None
        return self._learned.to_keep(self._store.count())

    def go_by(self, lexicon: Lexicon) -> None:
        """Tell all again, by words that were counted; none are counted any more."""
        self._texts, self._learned, self._anew = self._by(lexicon), None, True
        self._depending.clear()

    def depending(self, lexicon: Lexicon) -> list[Ref]:
        """The documents whose relation was told when less was known of its words than in the end."""
        return [
            ref
            for ref, asked in self._depending.items()
            if any(lexicon.says(word) != known for word, known in asked.items())
        ]

    def settled(self, lexicon: Lexicon, pairs: Sequence[tuple[Record, Record]]) -> list[str]:
        """The relations of documents to others by all that was counted; empty where a text can't be read any more."""
        texts = self._by(lexicon)
        texts.prepare(pairs)
        found = [texts.between(*pair) for pair in pairs]
        return ["" if isinstance(relation, str) else relation.word for relation in found]


def _with_equals(documents: Sequence[RepeatingDocument], words: Sequence[str]) -> list[str]:
    """The same relations, "identical" for what is so to another document of its group that stays, as `prune` has it."""
    found, staying = list(words), dict[tuple[int, str], Record]()
    # What was noted of an equal one is not known any more when it is told again.
    for place in sorted(range(len(found)), key=lambda place: not found[place]):
        record = documents[place].record
        key = documents[place].group, record.text_digest
        if found[place] not in (*COPIES, UNVERIFIED) and record.text_digest:
            other = staying.get(key) if could_go(found[place]) else staying.setdefault(key, record)
            if other is not None and other is not record and record.is_identical(other):
                found[place] = "identical"
    return found


class _AskedLexicon(Lexicon):
    """A lexicon that remembers which words it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._wanted: set[int] = set()

    def frequency(self, word: int) -> int:
        """The number of documents that a word stands in, by its hash."""
        self._wanted.add(word)
        return super().frequency(word)

    def taken(self) -> dict[int, WordAnswers]:
        """The words that were asked for since the last time, and what is said of each."""
        said = {word: self.says(word) for word in tuple(self._wanted)}
        # Last, since what is said of a word is asked for too.
        self._wanted.clear()
        return said
