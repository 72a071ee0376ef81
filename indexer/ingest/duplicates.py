"""Documents a run leaves out because they repeat others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from indexer.model import Record, Ref

Key = TypeVar("Key")


class Original(Protocol):
    @property
    def ref(self) -> Ref: ...


AnyOriginal = TypeVar("AnyOriginal", bound=Original)


class DuplicateFilter(Generic[AnyOriginal]):
    """Looks at documents as they come (see `indexer.clustering.arrivals.Arrivals`); by itself it leaves none out."""

    def examine(self, records: Sequence[Record]) -> Sequence[AnyOriginal | None]:
        return [None] * len(records)

    def said(self, near: AnyOriginal) -> str:
        return near.ref.id

    def refuses(self, near: AnyOriginal) -> bool:  # noqa: ARG002 - of no use here
        """True if a document left out for this one counts as failed."""
        return False

    def stored(self, records: Sequence[Record]) -> None:
        """Note that examined documents are stored now."""

    def found(self, ref: Ref, *, is_settled: bool) -> None:
        """Note that a document was stored already, and if its place is known."""


class LeftOutRepeats(Generic[Key]):
    """Leaves documents out of batches because they repeat stored ones; pairs of the caller's own and its record.

    Call `sift` with a batch before storing it, and `settle` with the result. Pass documents to examine again to `sift`
    once more, the first of each list before the others.
    """

    def __init__(self, arrivals: DuplicateFilter[Any] | None) -> None:
        self._arrivals = arrivals
        self._left_out: list[tuple[tuple[Key, Record], Original]] = []
        self._behind: dict[Ref, list[tuple[Key, Record]]] = {}

    def sift(self, documents: Sequence[tuple[Key, Record]]) -> list[tuple[Key, Record]]:
        if not self._arrivals:
            return list(documents)
        nearest = self._arrivals.examine([record for _, record in documents])
        given = list(zip(documents, nearest, strict=True))
        self._left_out = [(document, near) for document, near in given if near is not None]
        return [document for document, near in given if near is None]

    def settle(
        self, refused: Mapping[Ref, bool]
    ) -> tuple[list[tuple[tuple[Key, Record], str, bool]], list[list[tuple[Key, Record]]]]:
        again: list[list[tuple[Key, Record]]] = []
        by_refused: dict[Ref, list[tuple[Key, Record]]] = {}
        left_out = []
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
                left_out.append((document, self._arrivals.said(near), self._arrivals.refuses(near)))
                again += [[one] for one in behind]
        self._left_out = []
        return left_out, [*by_refused.values(), *again]

    def wait(self, ref: Ref, documents: Sequence[tuple[Key, Record]]) -> None:
        """Examine documents again after this one is stored or refused.

        At once, thousands of equal documents refused by a store would be examined thousands of times each.
        """
        if documents:
            self._behind[ref] = list(documents)
