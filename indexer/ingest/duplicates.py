"""Documents that a run leaves out because they repeat others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from indexer.model import Record, Ref

Key = TypeVar("Key")


class Original(Protocol):
    """The document that another one is left out for, because it repeats it."""

    @property
    def ref(self) -> Ref:
        """Its identity."""


AnyOriginal = TypeVar("AnyOriginal", bound=Original)


class DuplicateFilter(Generic[AnyOriginal]):
    """Looks at documents as they come (see `indexer.clustering.arrivals.Arrivals`); by itself it leaves none out."""

    def examine(self, records: Sequence[Record]) -> Sequence[AnyOriginal | None]:
        """The stored or earlier document that each one about to be stored is left out for, None where it is stored."""
        return [None] * len(records)

    def said(self, near: AnyOriginal) -> str:
        """The words that say what a document that is left out repeats."""
        return near.ref.id

    def stored(self, records: Sequence[Record]) -> None:
        """Note that examined documents are stored now."""

    def found(self, ref: Ref, *, is_settled: bool) -> None:
        """Note that a document was stored already, and if it is known to have its place."""


class LeftOutRepeats(Generic[Key]):
    """The documents left out of batches because they repeat stored ones; each is the caller's own and its record.

    `sift` is called with a batch before it is stored, `settle` when it is known what became of it; what that gives to
    be examined again is passed to `sift` once more, the first of each list before the others.
    """

    def __init__(self, arrivals: DuplicateFilter[Any] | None) -> None:
        self._arrivals = arrivals
        self._left_out: list[tuple[tuple[Key, Record], Original]] = []
        self._behind: dict[Ref, list[tuple[Key, Record]]] = {}

    def sift(self, documents: Sequence[tuple[Key, Record]]) -> list[tuple[Key, Record]]:
        """The documents that are to be stored."""
        if not self._arrivals:
            return list(documents)
        nearest = self._arrivals.examine([record for _, record in documents])
        given = list(zip(documents, nearest, strict=True))
        self._left_out = [(document, near) for document, near in given if near is not None]
        return [document for document, near in given if near is None]

    def settle(
        self, refused: Mapping[Ref, bool]
    ) -> tuple[list[tuple[tuple[Key, Record], str]], list[list[tuple[Key, Record]]]]:
        """The documents that stay left out, each with what is said of it, and lists of those to be examined again.

        `refused` says of each document that was to be stored whether the store refused it.
        """
        again: list[list[tuple[Key, Record]]] = []
        by_refused: dict[Ref, list[tuple[Key, Record]]] = {}
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

    def wait(self, ref: Ref, documents: Sequence[tuple[Key, Record]]) -> None:
        """Examine documents again when it is known what became of this one.

        At once, thousands of equal documents that a store refuses would be examined thousands of times each.
        """
        if documents:
            self._behind[ref] = list(documents)
