"""The failures recorded by a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from indexer.extract.base import NEEDS_OCR
from indexer.ingest.sources import Input
from indexer.model import Failure, Ref
from indexer.model.chunking import chunks
from indexer.model.times import now

if TYPE_CHECKING:
    from indexer.stores import Store

DUPLICATE, REFUSED_DUPLICATE = "duplicate", "refused-duplicate"
_AT_ONCE = 1000


class KnownFailures:
    """The failures of a store at the beginning of a run, kept up to date while it reads.

    A document left out as a duplicate is examined again, since its original may be gone, and so is one that needs OCR.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._begin = store, now()
        self._known = {
            failure.ref: (failure.source, failure.source_digest)
            for failure in store.failures()
            if failure.reason not in (DUPLICATE, REFUSED_DUPLICATE, NEEDS_OCR)
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
