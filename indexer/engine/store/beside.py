"""The data that a store in a search engine keeps beside the documents: failures, clusters, and how those were made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from indexer.engine.index.notes import ClusteringNotes
from indexer.engine.index.side_index import failure_id
from indexer.engine.store.context import Context
from indexer.engine.store.lookup import Lookup
from indexer.model import ClusteringNote, ClusterRecord, Failure


class Beside:
    """The part of a store that reads and writes failures and clusters."""

    def __init__(self, context: Context, lookup: Lookup) -> None:
        self._context, self._lookup = context, lookup
        self._notes = ClusteringNotes(context.client, context.clusters)

    def failures(self) -> Iterator[Failure]:
        """See Store.failures."""
        self._context.require_open()
        return self._context.failures.pages(self._lookup.pages, "id", "index", "routing")

    def put_failures(self, failures: Iterable[Failure]) -> None:
        """See Store.put_failures."""
        self._context.require_writable()
        self._context.failures.put((failure_id(failure.ref), failure) for failure in failures)
        self._context.wrote()

    def clusters(self) -> Iterator[ClusterRecord]:
        """See Store.clusters."""
        self._context.require_open()
        return self._context.clusters.pages(self._lookup.pages, "id")

    def get_clusters(self, ids: Sequence[str]) -> list[ClusterRecord | None]:
        """See Store.get_clusters."""
        self._context.require_open()
        return self._context.clusters.get(ids)

    def put_clusters(self, clusters: Iterable[ClusterRecord]) -> None:
        """See Store.put_clusters."""
        self._context.require_writable()
        self._context.require_mapped()
        self._context.clusters.put((cluster.id, cluster) for cluster in clusters)
        self._context.wrote()

    def delete_clusters(self, ids: Sequence[str]) -> int:
        """See Store.delete_clusters."""
        self._context.require_writable()
        return self._context.clusters.delete(ids)

    def clustering_notes(self) -> Mapping[str, ClusteringNote]:
        """See Store.clustering_notes."""
        self._context.require_open()
        return self._notes.read()

    def put_clustering_note(self, note: ClusteringNote | None) -> None:
        """See Store.put_clustering_note."""
        self._context.require_writable()
        self._notes.write(note)
