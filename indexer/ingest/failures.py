"""The failures that a store records: which documents have failed before, and what mends them."""

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

DUPLICATE = "duplicate"
_AT_ONCE = 1000


class KnownFailures:
    """The failures of a store at the beginning of a run, and what becomes of them while it reads.

    What was left out as a duplicate is looked at again: what it repeats may be gone. So is what needs OCR, which may be
    asked for now.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._begin = store, now()
        self._known = {
            failure.ref: (failure.source, failure.source_digest)
            for failure in store.failures()
            if failure.reason not in (DUPLICATE, NEEDS_OCR)
        }
        # Those that are as they were.
        self._again: set[Ref] = set()

    def digest(self, ref: Ref, source: str) -> str:
        """The digest of the bytes of this source that failed under this id; empty where none has."""
        known_source, digest = self._known.get(ref, ("", ""))
        return digest if known_source == source else ""

    def note(self, failure: Failure) -> None:
        """Take note of a failure of this run."""
        self._known[failure.ref] = (failure.source, failure.source_digest)
        self._again.add(failure.ref)

    def stays(self, ref: Ref) -> None:
        """Take note that a document is as it was when it failed."""
        self._again.add(ref)

    def stored(self, ref: Ref) -> None:
        """Take note that a document is stored, which has removed the failure under its id."""
        self._known.pop(ref, None)

    def forget(self, item: Input) -> None:
        """Remove failures recorded by place: of the document when it had no id, and of its file as a whole."""
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
        """Remove, at the end of a run, failures that it has not met again, though it has read where they were."""
        gone = [
            failure.ref
            for failure in self._store.failures()
            if failure.failed_at < self._begin and failure.ref not in self._again and has_read(failure.source)
        ]
        for refs in chunks(gone, _AT_ONCE):
            self._store.delete(refs, versions={})
