"""What the parts of the embedded store share."""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from contextlib import AbstractContextManager

from indexer.stores.base import Store


class OnFile(Store):
    """A part of a store in one file: how it comes to the file's connections."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[sqlite3.Connection]: ...

    @abstractmethod
    def _writing(self) -> AbstractContextManager[sqlite3.Connection]: ...

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[sqlite3.Connection]: ...
