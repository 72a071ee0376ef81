"""The data that a store in a search engine keeps beside the documents: failures, clusters, and how those were made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from indexer.engine.index.notes import ClusteringNotes
from indexer.engine.index.side_index import failure_id
from indexer.engine.store.context import Context
from indexer.engine.store.lookup import Lookup, StorePart
from indexer.model import ClusteringNote, ClusterRecord, Failure


class SidePart(StorePart):
    """The part of a store that reads and writes failures and clusters."""

    def __init__(self, context: Context, lookup: Lookup) -> None:
        super().__init__(context, lookup)
        self._notes = ClusteringNotes(context.client, context.clusters)

    def failures(self) -> Iterator[Failure]:
        """See Store.failures."""
        self.context.require_open()
        return self.context.failures.pages(self.lookup.pages, "id", "index", "routing")

    def put_failures(self, failures: Iterable[Failure]) -> None:
        """See Store.put_failures."""
        self.context.require_writable()
        self.context.failures.put((failure_id(failure.ref), failure) for failure in failures)
        self.context.wrote()

    def clusters(self) -> Iterator[ClusterRecord]:
        """See Store.clusters."""
        self.context.require_open()
        return self.context.clusters.pages(self.lookup.pages, "id")

    def get_clusters(self, ids: Sequence[str]) -> list[ClusterRecord | None]:
        """See Store.get_clusters."""
        self.context.require_open()
        return self.context.clusters.get(ids)

    def put_clusters(self, clusters: Iterable[ClusterRecord]) -> None:
        """See Store.put_clusters."""
        self.context.require_writable()
        self.context.require_mapped()
        self.context.clusters.put((cluster.id, cluster) for cluster in clusters)
        self.context.wrote()

    def delete_clusters(self, ids: Sequence[str]) -> int:
        """See Store.delete_clusters."""
        self.context.require_writable()
        return self.context.clusters.delete(ids)

    def clustering_notes(self) -> Mapping[str, ClusteringNote]:
        """See Store.clustering_notes."""
        self.context.require_open()
        return self._notes.read()

    def put_clustering_note(self, note: ClusteringNote | None) -> None:
        """See Store.put_clustering_note."""
        self.context.require_writable()
        self._notes.write(note)
