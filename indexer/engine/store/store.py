"""The store for Elasticsearch and OpenSearch."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType

from indexer.engine.client.base import Client
from indexer.engine.client.connection import connect
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.setup import bulk_load
from indexer.engine.store.examination import ExaminePart
from indexer.engine.store.probing import ProbePart
from indexer.engine.store.reading import ReadPart
from indexer.engine.store.schemes import SchemePart
from indexer.engine.store.texts import TextPart
from indexer.engine.store.writes import WritePart
from indexer.errors import STOPPED
from indexer.stores.base import StoreInfo


class SearchStore(ReadPart, TextPart, ProbePart, WritePart, SchemePart, ExaminePart):
    """A store in an index, an alias, a data stream, or (to be read) several indices by a pattern.

    An identity's index is empty if the URL names the index itself, else it is the document's index.
    """

    def __init__(self, client: Client, *, create: StoreInfo | None = None, read_only: bool = False) -> None:
        try:
            super().__init__(client, create, read_only=read_only)
            if create is not None and not read_only:
                self.require_mapped()
                self.put_back()
        except BaseException:
            client.close()
            raise

    def bulk_load(self) -> AbstractContextManager[None]:
        self.require_writable()
        return bulk_load.reduced_settings(self.client, self.mappings)

    # Closing

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind and issubclass(kind, STOPPED):
            # What was written is there, and found at the next refresh.
            self.refresh = "none"
        super().__exit__(kind, error, trace)

    def close(self) -> None:
        if not self.client.closed:
            try:
                if self.refresh != "none":
                    self.settle()
            finally:
                self.client.close()


def open_search_store(
    url: str,
    create: StoreInfo | None = None,
    read_only: bool = False,
    wait: float = 0.0,  # noqa: ARG001 a cluster has room for every writer
    *,
    retry: RetryPolicy | None = None,
) -> SearchStore:
    return SearchStore(connect(url, retry=retry), create=create, read_only=read_only)
