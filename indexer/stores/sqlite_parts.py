"""What the parts of the embedded store share."""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager

from indexer.model import Ref
from indexer.stores.base import Store


class OnFile(Store):
    """A part of a store in one file: how it comes to the file's connections."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[sqlite3.Connection]: ...

    @abstractmethod
    def _writing(self) -> AbstractContextManager[sqlite3.Connection]: ...

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[sqlite3.Connection]: ...

    def _unchanged(self, refs: Sequence[Ref], versions: Mapping[Ref, Hashable] | None) -> Sequence[Ref]:
        """Those of documents that are as they were in these versions, or gone; inside a transaction they stay so."""
        if versions is None:
            return refs
        found = zip(refs, self.versioned(refs), strict=True)
        return [ref for ref, each in found if each is None or each.version == versions.get(ref)]
