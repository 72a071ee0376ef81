"""Documents left out because they repeat another one, until it is known that this one is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from indexer.model import Record, Ref

T = TypeVar("T")


class Repeated(Protocol):
    """What a document is left out for."""

    @property
    def ref(self) -> Ref:
        """Its identity."""


Near = TypeVar("Near", bound=Repeated)


class Arrivals(Protocol[Near]):
    """Looks at documents as they come (see `indexer.clustering.arrivals.Arrivals`)."""

    def examine(self, records: Sequence[Record]) -> Sequence[Near | None]:
        """For each document about to be stored what it is left out for, None where it is stored."""

    def said(self, near: Near) -> str:
        """What a document that is left out repeats, in words."""

    def stored(self, records: Sequence[Record]) -> None:
        """Take note of examined documents that are stored now."""


class Repeats(Generic[T]):
    """What is left out of batches, each document given as anything and its record.

    `sift` is called with a batch before it is stored, `settle` when it is known what became of it; what that gives to
    be examined again is passed to `sift` once more, the first of each list before the others.
    """

    def __init__(self, arrivals: Arrivals[Any] | None) -> None:
        self._arrivals = arrivals
        self._left_out: list[tuple[tuple[T, Record], Repeated]] = []
        self._behind: dict[Ref, list[tuple[T, Record]]] = {}

    def sift(self, documents: Sequence[tuple[T, Record]]) -> list[tuple[T, Record]]:
        """The documents that are to be stored."""
        if not self._arrivals:
            return list(documents)
        nearest = self._arrivals.examine([record for _, record in documents])
        given = list(zip(documents, nearest, strict=True))
        self._left_out = [(document, near) for document, near in given if near is not None]
        return [document for document, near in given if near is None]

    def settle(
        self, refused: Mapping[Ref, bool]
    ) -> tuple[list[tuple[tuple[T, Record], str]], list[list[tuple[T, Record]]]]:
        """What stays left out, with what is said of it, and lists of what is to be examined again.

        `refused` says of each document that was to be stored whether the store refused it.
        """
        again: list[list[tuple[T, Record]]] = []
        by_refused: dict[Ref, list[tuple[T, Record]]] = {}
        said = []
        for ref, is_refused in refused.items():
            behind = self._behind.pop(ref, [])
            if is_refused:
                by_refused[ref] = behind
            else:
                again += [[document] for document in behind]
        for document, near in self._left_out:
            behind = self._behind.pop(document[1].ref, [])
            if near.ref in by_refused:
                by_refused[near.ref] += [document, *behind]
            elif self._arrivals:
                said.append((document, self._arrivals.said(near)))
                again += [[one] for one in behind]
        self._left_out = []
        return said, [*by_refused.values(), *again]

    def wait(self, ref: Ref, documents: Sequence[tuple[T, Record]]) -> None:
        """Examine documents again when it is known what became of this one.

        At once, thousands of equal documents that a store refuses would be examined thousands of times each.
        """
        if documents:
            self._behind[ref] = list(documents)
