"""The relations of documents to those that they repeat, as they are noted with their clusters."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from indexer.clustering.memory import LastClustering
from indexer.matching.relating import AT_HAND, Relating, stored_texts
from indexer.model import Record, Ref
from indexer.relations.relation import COPIES
from indexer.stores.base import Store

UNVERIFIED = "unverified"
"""Noted in place of a relation where a text could not be read."""

_COULD_GO = (*COPIES, UNVERIFIED, "")

_PLACE = ("repeats", "repeats_index", "repeats_routing")


def could_go(relation: str) -> bool:
    """False for what is noted of forms, in which facts differ, and parts; true also where nothing is known."""
    return relation in _COULD_GO


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
    were none; what could not be read before is tried again where `read` is true. Memory: that of
    `indexer.matching.relating.RelatedTexts`.
    """

    def __init__(self, store: Store, *, read: Relating, since: str = "") -> None:
        most_bytes = AT_HAND if read == "at hand" else None
        self._texts = stored_texts(store, brief=True, most_bytes=most_bytes) if read else None
        self._again, self._since = read is True, since
        self.given: Mapping[Ref, str] = {}
        self.seconds: float | None = None

    @classmethod
    def after(cls, last: LastClustering, store: Store, *, read: Relating | None = None) -> Self:
        """The relations after the last clustering; None reads what is at hand, or nothing where that one did so."""
        read = ("at hand" if last.reads else False) if read is None else read
        return cls(store, read=read, since=last.at if last.finished else "")

    @property
    def reads(self) -> bool:
        """True if texts are read again."""
        return self._texts is not None

    def forget(self) -> None:
        """Let go of the texts that were read, as documents may be replaced before it goes on."""
        if self._texts:
            self._texts.forget()

    def words(self, documents: Sequence[RepeatingDocument]) -> list[str]:
        """The relation of each document to the one that it repeats, UNVERIFIED, or empty where it is not known."""
        known = [self._known(each) for each in documents]
        if self._texts is None:
            return known
        groups: dict[int, list[Record]] = {}
        for each, word in zip(documents, known, strict=True):
            if not word and each.other:
                groups.setdefault(each.group, []).extend((each.record, each.other))
        begun = time.monotonic()
        self._texts.prepare(groups.values())
        words = [word or self._read(each) for each, word in zip(documents, known, strict=True)]
        if groups:
            self.seconds = (self.seconds or 0.0) + time.monotonic() - begun
        return words

    def _known(self, document: RepeatingDocument) -> str:
        if document.other is None:
            return ""
        if document.record.is_identical(document.other):
            return "identical"
        if word := self.given.get(document.record.ref, ""):
            return word
        before = document.noted.get("cluster") or {}
        same = all(before.get(name) == document.wanted.get(name) for name in _PLACE)
        stays = document.noted_of_other.get("cluster") or document.other.indexed_at <= self._since
        word = str(before.get("relation") or "") if same and stays else ""
        return "" if word == "identical" or (word == UNVERIFIED and self._again) else word

    def _read(self, document: RepeatingDocument) -> str:
        if document.other is None or self._texts is None:
            return UNVERIFIED
        relation = self._texts.between(document.record, document.other)
        return UNVERIFIED if isinstance(relation, str) else relation.word
