"""Documents that a run leaves out or holds back: repeats of others, earlier failures, and those that come again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from indexer.extract.base import NEEDS_OCR, Item, Key
from indexer.extract.base import REASONS as NO_TEXT
from indexer.ingest.sources import Input
from indexer.model import Failure, Record, Ref
from indexer.model.chunking import chunks
from indexer.model.times import now

if TYPE_CHECKING:
    from indexer.stores import Store

_MOST_BYTES, _MOST_SECONDS = 64 << 20, 30.0
DUPLICATE, REFUSED_DUPLICATE, MARKED_DUPLICATE = "duplicate", "refused-duplicate", "marked-duplicate"
REASONS: Mapping[str, str] = {
    **NO_TEXT,
    "special-file": "A pipe, socket, device or folder, or a file of the store or of a batch; it was not read.",
    "duplicate-id": "Another existing file is stored under this id.",
    "refused": "The store did not take the record.",
    DUPLICATE: "A near-duplicate of a stored document, left out as asked for; it is no error.",
    REFUSED_DUPLICATE: "A near-duplicate of a stored document, refused as asked for by --on.",
    MARKED_DUPLICATE: "A near-duplicate of a stored document, stored with a mark as asked for by --on; it is no error.",
}
_AT_ONCE = 1000


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


class HeldBack(Generic[Key]):
    """The documents of a run with changed bytes, held back in case they come again; `ref_of` is their identity.

    Otherwise a file with two lines of one id would write both at each run. They wait for at most 30 seconds, and 64 MB
    of them.
    """

    def __init__(self, ref_of: Callable[[Key], Ref]) -> None:
        self._ref_of = ref_of
        self._held: dict[Ref, tuple[float, Item[Key]]] = {}
        self._bytes = 0

    def hold(self, item: Item[Key]) -> None:
        self._held[self._ref_of(item.key)] = time.monotonic(), item
        self._bytes += len(item.data)

    def drop(self, ref: Ref) -> Key | None:
        if ref not in self._held:
            return None
        _, item = self._held.pop(ref)
        self._bytes -= len(item.data)
        return item.key

    def due(self, *, at_the_end: bool = False) -> list[Item[Key]]:
        due: list[Item[Key]] = []
        for ref, (since, item) in list(self._held.items()):
            if not at_the_end and self._bytes <= _MOST_BYTES and time.monotonic() - since < _MOST_SECONDS:
                break
            self.drop(ref)
            due.append(item)
        return due


class KnownFailures:
    """The failures of a store at the beginning of a run, kept up to date while it reads.

    A document left out as a duplicate is examined again, since its original may be gone, and so is one that needs OCR.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._begin = store, now()
        self._known = {
            failure.ref: (failure.source, failure.source_digest)
            for failure in store.failures()
            if failure.reason not in (DUPLICATE, REFUSED_DUPLICATE, MARKED_DUPLICATE, NEEDS_OCR)
        }
        # Those that are as they were.
        self._again: set[Ref] = set()

    def digest(self, ref: Ref, source: str) -> str:
        known_source, digest = self._known.get(ref, ("", ""))
        return digest if known_source == source else ""

    def note(self, failure: Failure) -> None:
        self._known[failure.ref] = (failure.source, failure.source_digest)
        self._again.add(failure.ref)

    def stays(self, ref: Ref) -> None:
        self._again.add(ref)

    def stored(self, ref: Ref) -> None:
        self._known.pop(ref, None)

    def forget(self, item: Input) -> None:
        if not self._known:
            return
        place = item.place or item.id
        whole = place.removesuffix(f":{item.number}") if item.number else ""
        names = {item.source if item.path else "", item.place, whole} - {"", item.id}
        mended = [ref for ref in map(Ref, names) if ref in self._known]
        if mended:
            for ref in mended:
                del self._known[ref]
            # A document of that name stays, also one that comes in this moment.
            self._store.delete(mended, versions={})

    def forget_read(self, has_read: Callable[[str], bool]) -> None:
        gone = [
            failure.ref
            for failure in self._store.failures()
            if failure.failed_at < self._begin and failure.ref not in self._again and has_read(failure.source)
        ]
        for refs in chunks(gone, _AT_ONCE):
            self._store.delete(refs, versions={})
