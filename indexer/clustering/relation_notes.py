"""Relations of documents, as noted with their clusters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from indexer.clustering.canonical import loses_mail
from indexer.clustering.memory import last_clustering
from indexer.clustering.verdicts import Permitted, Relations
from indexer.ingest.rereading import StoredTexts
from indexer.matching.relating import AT_HAND, RelatedTexts, Relating, read_lexicon, stored_texts
from indexer.model import Record, Ref, naming
from indexer.model.mails import is_mail
from indexer.relations.lexicon import Lexicon
from indexer.relations.relation import COPIES, SAME_WORK, WORDS, Relation, verdict_of
from indexer.stores.base import Store

UNVERIFIED = "unverified"
"""Noted in place of a relation where a text could not be read."""

NEARER = (*COPIES, *SAME_WORK)
_DIFFERING = ("form", "reworded", "edited")
_PLACE = ("repeats", "repeats_index", "repeats_routing")
# So many documents not near each other tell what is frame in a collection; if it has fewer clusters, lone ones do too.
_FEWEST_COUNTED = 50
# To which other document a relation is, and the first document of the work of both.
TO = tuple(f"{name}{part}" for name in ("relation_to", "work") for part in ("", "_index", "_routing"))


class RepeatingDocument(NamedTuple):
    """A document of the cluster `group` that repeats another one.

    `wanted` is its note so far, and gets the relation; `noted` and `noted_of_other` are all annotations of both.
    """

    group: str
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
        self._compare_by(self._learned or kept, learns=learns, reads=bool(read))
        self._again, self._anew, self._since, self._renews = read is True, learns and renews, since, renews
        # Of documents that go for another one than they repeat, that one.
        self._instead: dict[Ref, Record] = {}
        self._together: Mapping[tuple[str, str], RepeatingDocument] = {}
        # Of documents whose relation depends on words that are still counted, what was known of those.
        self._depending: dict[Ref, dict[int, int]] = {}
        self.given: Mapping[Ref, str] = {}
        # The ids of other documents, to which some of these relations are.
        self.given_to: Mapping[Ref, str] = {}
        self.seconds: float | None = None

    @classmethod
    def after_last(cls, store: Store, *, read: Relating | None = None, renews: bool = False, apart: str = "") -> Self:
        """The relations after the last clustering; None reads the texts at hand, or nothing if the last one did so.

        With something to keep `apart`, None reads all.
        """
        last = last_clustering(store)
        if read is None:
            read = True if apart else "at hand" if last.reads else False
        return cls(store, read=read, since=last.at if last.finished else "", renews=renews)

    def _by(self, lexicon: Lexicon | None, *, learns: bool = False) -> RelatedTexts[Record]:
        return stored_texts(self._store, self._read_again, lexicon=lexicon, learns=learns, brief=True)

    def _compare_by(self, lexicon: Lexicon | None, *, learns: bool = False, reads: bool = True) -> None:
        texts = self._by(lexicon, learns=learns)
        self.texts: RelatedTexts[Record] | None = texts if reads else None
        # The relations to what stays, as `prune` asks them; without texts to what is identical.
        permitted = Permitted.named(None if reads else "identical")
        self._others: Relations[Record] = Relations(permitted, texts, lambda record: is_mail(record.source))

    @property
    def counts(self) -> bool:
        return self._learned is not None

    def forget(self) -> None:
        self._others.forget()
        if self.texts:
            self.texts.forget()

    def words(self, documents: Sequence[RepeatingDocument]) -> list[str]:
        """The relation of each document to the one that it repeats, or to another one for which it may go.

        UNVERIFIED if a text can't be read, empty if unknown. Documents of a cluster are given by the canonical rule.
        """
        # Before texts are let go of.
        self._others.prepare(())
        self._together = {(each.group, each.record.ref.id): each for each in documents}
        known = [self._known(each) for each in documents]
        if self.texts is None:
            return self._told(documents, known)
        groups: dict[str, list[Record]] = {}
        before: dict[str, list[Record]] = {}
        for each, word in zip(documents, known, strict=True):
            if not word and each.other:
                # Of a cluster that grows the words would count each time.
                grows = not self._anew and (each.noted_of_other.get("cluster") or {}).get("size_class")
                (before if grows else groups).setdefault(each.group, []).extend((each.record, each.other))
        begun = time.monotonic()
        self.texts.prepare(groups.values(), before.values())
        words = [word or self._read(each) for each, word in zip(documents, known, strict=True)]
        if self._renews:
            # Of those that stay already another one may be a copy.
            grown = {each.group for each, word in zip(documents, words, strict=True) if verdict_of(word) == "differs"}
            more: dict[str, list[Record]] = {}
            for each, word in zip(documents, known, strict=True):
                if word and each.group in grown & (groups.keys() | before.keys()):
                    more.setdefault(each.group, []).append(each.record)
            self.texts.prepare((), more.values())
        words = self._told(documents, words)
        if groups or before:
            self.took(time.monotonic() - begun)
        return words

    def _told(self, documents: Sequence[RepeatingDocument], words: Sequence[str]) -> list[str]:
        """The relations of documents, each as it is noted."""
        return [
            self._told_of(document, document.other, word) if document.other else word
            for document, word in zip(documents, words, strict=True)
        ]

    def _told_of(self, document: RepeatingDocument, other: Record, word: str) -> str:
        noted = _noted_of(document.record, other, word)
        if verdict_of(noted) == "could go":
            self._others.stands(document.group, other)
            return noted
        differs = noted in _DIFFERING
        verdict = self._others.instead(document.group, document.record, other, lambda _: True, differs=differs)
        self._note_asked(document.record)
        if verdict is None or verdict.relation is None:
            return noted
        to = self._instead[document.record.ref] = verdict.repeats
        document.wanted.update(naming("relation_to", document.record.ref, to.ref))
        work = other if noted in SAME_WORK else self._others.work_of(to) or to
        if work != to:
            document.wanted.update(naming("work", document.record.ref, work.ref))
        return verdict.relation.word

    def _note_asked(self, record: Record) -> None:
        if self._learned is not None and (asked := self._learned.taken()):
            self._depending.setdefault(record.ref, {}).update(asked)

    def took(self, seconds: float) -> None:
        self.seconds = (self.seconds or 0.0) + seconds

    def _known(self, document: RepeatingDocument) -> str:
        if document.other is None:
            return ""
        if document.record.is_identical(document.other):
            return "identical"
        if self.texts and (known := self.texts.known(document.record, document.other)):
            return known.word
        if word := self.given.get(document.record.ref, ""):
            if to := self.given_to.get(document.record.ref):
                document.wanted["relation_to"] = to
            return word
        return "" if self._anew else self._noted(document)

    def _noted(self, document: RepeatingDocument) -> str:
        before = document.noted.get("cluster") or {}
        same = all(before.get(name) == document.wanted.get(name) for name in _PLACE)
        other = document.other
        stays = document.noted_of_other.get("cluster") or (other is not None and other.indexed_at <= self._since)
        word = str(before.get("relation") or "") if same and stays else ""
        if word and (name := before.get("relation_to")):
            if not self._still_stays(document.group, name):
                return ""
            document.wanted.update({name: before[name] for name in TO if name in before})
            return word
        return "" if word == "identical" or (word == UNVERIFIED and self._again) else word

    def _still_stays(self, group: str, name: str) -> bool:
        """True if a document of the cluster is as it was, and differed from what it repeats."""
        found = self._together.get((group, name))
        noted = (found.noted.get("cluster") or {}).get("relation") if found else None
        return found is not None and verdict_of(noted) == "differs" and found.record.indexed_at <= self._since

    def _read(self, document: RepeatingDocument) -> str:
        if document.other is None or self.texts is None:
            return UNVERIFIED
        relation = self.texts.between(document.record, document.other)
        self._note_asked(document.record)
        if isinstance(relation, str):
            return (self._noted(document) if self._anew else "") or UNVERIFIED
        return relation.word

    def learned(self, lone: Callable[[int], Iterable[Ref]]) -> Lexicon | None:
        """The lexicon to keep; with few clusters, and if something depends on it, also counts `lone` documents."""
        if self._learned is None or not self._learned.documents:
            return None
        fewer = _FEWEST_COUNTED - self._learned.documents
        if self.texts and self._depending and fewer > 0:
            begun = time.monotonic()
            records = self._store.get([*lone(fewer)], sketches=False)
            self.texts.prepare((), lone=filter(None, records))
            self.took(time.monotonic() - begun)
        return self._learned.to_keep(self._store.count())

    def go_by(self, lexicon: Lexicon) -> None:
        self._learned, self._anew = None, True
        self._compare_by(lexicon)
        self._depending.clear()

    def depending(self, lexicon: Lexicon) -> list[Ref]:
        return [
            ref
            for ref, asked in self._depending.items()
            if any(lexicon.says(word) != known for word, known in asked.items())
        ]

    def by_lexicon(self, lexicon: Lexicon, pairs: Sequence[tuple[Record, Record]]) -> list[tuple[str, bool]]:
        """The relation of each document, and if it is that to the one that it repeats; an empty word if unknown."""
        texts = self._by(lexicon)
        beside = [[other, *filter(None, [self._instead.get(record.ref)])] for record, other in pairs]
        texts.prepare([record, *others] for (record, _), others in zip(pairs, beside, strict=True))
        nearest = []
        for (record, repeated), others in zip(pairs, beside, strict=True):
            found = [(other, texts.between(record, other)) for other in others]
            told = [(_noted_of(record, other, each.word), other is repeated) for other, each in found
                    if isinstance(each, Relation)]  # fmt: skip
            nearest.append(min(told, key=lambda one: WORDS.index(one[0]) if one[0] in NEARER else len(WORDS),
                               default=("", True)))  # fmt: skip
        return nearest


def _noted_of(record: Record, other: Record, word: str) -> str:
    """The relation that is noted: a mail beside a document that is none has a sender and a date, which that lacks."""
    return "form" if verdict_of(word) == "could go" and loses_mail(record.source, other.source) else word


class _AskedLexicon(Lexicon):
    def __init__(self) -> None:
        super().__init__()
        self._wanted: set[int] = set()

    def frequency(self, word: int) -> int:
        self._wanted.add(word)
        return super().frequency(word)

    def taken(self) -> dict[int, int]:
        said = {word: self.says(word) for word in tuple(self._wanted)}
        # Last, since what is said of a word is asked for too.
        self._wanted.clear()
        return said
