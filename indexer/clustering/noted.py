"""Relations of documents, as noted with their clusters."""

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
    return verdict_of(relation) != "differs"


def is_redundant(annotation: Mapping[str, Any]) -> bool:
    return "repeats" in annotation and could_go(annotation.get("relation", ""))


class RepeatingDocument(NamedTuple):
    """A document of the component `group` that repeats another one.

    `wanted` is its note so far, and gets the relation; `noted` and `noted_of_other` are all annotations of both.
    """

    group: int
    record: Record
    wanted: dict[str, Any]
    noted: Mapping[str, Any]
    other: Record | None
    noted_of_other: Mapping[str, Any]


class NotedRelations:
    """Tells the relations of documents: digests show identical ones, and earlier notes stay.

    A replaced text loses its note. A document without a note is known by its time, not after `since`, the last
    clustering. `given` are relations known from elsewhere. With `read` the other texts are read again and aligned in so
    many `seconds`, None if there were none; texts unreadable before are tried again if `read` is true.

    They go by the words kept by the store. Without them, those of the texts read are counted; with `renews` also if the
    collection has outgrown them. Memory: that of `indexer.matching.relating.RelatedTexts`; while counting also some
    hundred bytes for each document whose relation depends on the words.
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
        """The relations after the last clustering; None reads the texts at hand, or nothing if the last one did so.

        With something to keep `apart`, None reads all.
        """
        if read is None:
            read = True if apart else "at hand" if last.reads else False
        return cls(store, read=read, since=last.at if last.finished else "", renews=renews)

    def _by(self, lexicon: Lexicon | None, *, learns: bool = False) -> RelatedTexts[Record]:
        return stored_texts(self._store, self._read_again, lexicon=lexicon, learns=learns, brief=True)

    @property
    def reads(self) -> bool:
        return self._texts is not None

    @property
    def counts(self) -> bool:
        return self._learned is not None

    @property
    def texts(self) -> RelatedTexts[Record] | None:
        return self._texts

    def forget(self) -> None:
        if self._texts:
            self._texts.forget()

    def words(self, documents: Sequence[RepeatingDocument]) -> list[str]:
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
        if self._learned is None or not self._learned.documents:
            return None
        return self._learned.to_keep(self._store.count())

    def go_by(self, lexicon: Lexicon) -> None:
        self._texts, self._learned, self._anew = self._by(lexicon), None, True
        self._depending.clear()

    def depending(self, lexicon: Lexicon) -> list[Ref]:
        return [
            ref
            for ref, asked in self._depending.items()
            if any(lexicon.says(word) != known for word, known in asked.items())
        ]

    def settled(self, lexicon: Lexicon, pairs: Sequence[tuple[Record, Record]]) -> list[str]:
        texts = self._by(lexicon)
        texts.prepare(pairs)
        found = [texts.between(*pair) for pair in pairs]
        return ["" if isinstance(relation, str) else relation.word for relation in found]


def _with_equals(documents: Sequence[RepeatingDocument], words: Sequence[str]) -> list[str]:
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
    def __init__(self) -> None:
        super().__init__()
        self._wanted: set[int] = set()

    def frequency(self, word: int) -> int:
        self._wanted.add(word)
        return super().frequency(word)

    def taken(self) -> dict[int, WordAnswers]:
        said = {word: self.says(word) for word in tuple(self._wanted)}
        # Last, since what is said of a word is asked for too.
        self._wanted.clear()
        return said
