"""The relations of documents to those that they repeat, as they are noted with their clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from indexer.matching.relating import stored_texts
from indexer.model import Record, Ref
from indexer.stores.base import Store

UNVERIFIED = "unverified"
"""Noted in place of a relation where a text could not be read."""

_PLACE = ("repeats", "repeats_index", "repeats_routing")


class RepeatingDocument(NamedTuple):
    """A document of the component `group` that repeats another one.

    `wanted` is what is to be noted of it so far, `noted` and `noted_of_other` are all annotations of both.
    """

    group: int
    record: Record
    wanted: Mapping[str, Any]
    noted: Mapping[str, Any]
    other: Record | None
    noted_of_other: Mapping[str, Any]


class NotedRelations:
    """Tells the relations of documents: the digests say what is identical, and what was noted stays.

    A text that is replaced loses what was noted of it; of a document of which nothing was, as of one that is alone, it
    is known by its time, which is not after `since`, the last clustering. `given` are relations that are known from
    elsewhere. With `read` the other texts are read again
    and aligned. Memory: that of `indexer.matching.relating.RelatedTexts`.
    """

    def __init__(self, store: Store, *, read: bool, since: str = "") -> None:
        self._texts, self._since = stored_texts(store) if read else None, since
        self.given: Mapping[Ref, str] = {}

    def words(self, documents: Sequence[RepeatingDocument]) -> list[str]:
        """The relation of each document to the one that it repeats, UNVERIFIED, or empty where it is not known."""
        known = [self._known(each) for each in documents]
        if self._texts is None:
            return known
        groups: dict[int, list[Record]] = {}
        for each, word in zip(documents, known, strict=True):
            if not word and each.other:
                groups.setdefault(each.group, []).extend((each.record, each.other))
        self._texts.prepare(groups.values())
        return [word or self._read(each) for each, word in zip(documents, known, strict=True)]

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
        return "" if word == "identical" or (word == UNVERIFIED and self._texts is not None) else word

    def _read(self, document: RepeatingDocument) -> str:
        if document.other is None or self._texts is None:
            return UNVERIFIED
        relation = self._texts.between(document.record, document.other)
        return UNVERIFIED if isinstance(relation, str) else relation.word
