"""The store in a search engine, for Elasticsearch and OpenSearch alike: what its parts do, put together."""

# ruff: noqa: D102 -- what the methods of a store do is said once, in base.py

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.connection import connect
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.index import relaxed
from indexer.engine.store.beside import Beside
from indexer.engine.store.context import Context
from indexer.engine.store.finding import Finder
from indexer.engine.store.lookup import Lookup
from indexer.engine.store.probing import Prober
from indexer.engine.store.reading import Reader
from indexer.engine.store.schemes import Schemes
from indexer.engine.store.writes import Writer
from indexer.errors import STOPPED
from indexer.model import ClusteringNote, ClusterRecord, Failure, Record, Ref
from indexer.model.times import Refresh
from indexer.schemes.keys.layout import SchemeInfo
from indexer.stores.base import Capabilities, PutResult, Stats, Store, StoreInfo, Versioned
from indexer.stores.sketches import Check, Found, Probe


class SearchStore(Store):
    """A store in an index, an alias, a data stream, or (to be read) several indices by a pattern.

    An identity's index is empty where the URL names the index itself, else it is the index that holds the document.
    """

    capabilities = Capabilities(
        embedded=False, routing=True, filters=True, visible_at_once=False, atomic_batches=False, verifies=True
    )

    def __init__(self, client: Client, *, create: StoreInfo | None = None, read_only: bool = False) -> None:
        self.client, self.shown = client, client.target.shown
        try:
            context = Context(client, create, read_only=read_only)
            if create is not None and not read_only:
                context.require_mapped()
                context.put_back()
        except BaseException:
            client.close()
            raise
        self.context, self.lookup = context, Lookup(context)
        self.created, self.contended = context.created, context.contended
        self._reader = Reader(context, self.lookup)
        self._finder = Finder(context, self.lookup)
        self._prober = Prober(context, self.lookup)
        self._writer = Writer(context, self.lookup)
        self._beside = Beside(context, self.lookup)
        self._schemes = Schemes(context, self.lookup)

    @property
    def info(self) -> StoreInfo:  # type: ignore[override] # nobody sets it
        return self.context.info

    @property
    def refresh(self) -> Refresh:
        return self.context.refresh

    @refresh.setter
    def refresh(self, refresh: Refresh) -> None:
        self.context.refresh = refresh

    @property
    def stripped(self) -> Sequence[Ref]:  # type: ignore[override] # nobody sets it
        return self.context.stripped

    def notices(self) -> list[str]:
        return self._reader.notices()

    # Writing

    def put(self, records: Iterable[Record]) -> Iterator[PutResult]:
        return self._writer.put(records)

    def annotate(self, annotations: Iterable[tuple[Ref, Mapping[str, Any]]]) -> int:
        return self._writer.annotate(annotations)

    def delete(
        self, refs: Sequence[Ref], *, versions: Mapping[Ref, Hashable] | None = None, owners: bool = False
    ) -> int:
        return self._writer.delete(refs, versions, owners=owners)

    def differing(self, pairs: Sequence[tuple[Ref, Ref]]) -> list[list[str]]:
        return self._writer.differing(pairs)

    def bulk_load(self) -> AbstractContextManager[None]:
        """Turn refreshes and replicas down while a load is under way; StoreError where the cluster refuses."""
        self.context.require_writable()
        return relaxed.bulk_load(self.client, self.context.mappings)

    # Reading

    def get(self, refs: Sequence[Ref], *, sketches: bool = True) -> list[Record | None]:
        return self._reader.get(refs, sketches=sketches)

    def annotations(self, refs: Sequence[Ref]) -> list[Mapping[str, Any] | None]:
        return self._reader.annotations(refs)

    def described(self, refs: Sequence[Ref]) -> list[tuple[Record, Mapping[str, Any]] | None]:
        return self._reader.described(refs)

    def versioned(self, refs: Sequence[Ref]) -> list[Versioned | None]:
        return self._reader.versioned(refs)

    def scan(self, *, sketches: bool = True) -> Iterator[Record]:
        return self._reader.scan(sketches=sketches)

    def scan_annotations(self) -> Iterator[tuple[Ref, Mapping[str, Any]]]:
        return self._reader.scan_annotations()

    def scan_clustered(self) -> Iterator[tuple[Ref, Mapping[str, Any]]]:
        return self._reader.scan_annotations(clustered=True)

    def cluster_members(self, ids: Sequence[str]) -> Iterator[tuple[str, Ref]]:
        return self._reader.cluster_members(ids)

    def count(self) -> int:
        return self._reader.count()

    def stats(self) -> Stats:
        return self._reader.stats()

    # Finding

    def narrow(self, query: str) -> None:
        self._finder.narrow(query)

    def passes(self, ref: Ref) -> bool:
        return self._finder.passes(ref)

    def find_each(self, names: Sequence[str]) -> list[list[Ref]]:
        return self._finder.find_each(names)

    def find_digests(self, digests: Sequence[str]) -> Mapping[str, Record]:
        return self._finder.digests(digests)

    def probe(
        self,
        probes: Sequence[Probe],
        schemes: Sequence[str] = (),
        *,
        check: Check | None = None,
        include_short: bool = False,
    ) -> Iterator[Found]:
        return self._prober.probe(probes, schemes, check, include_short)

    def probe_many(
        self, questions: Sequence[Sequence[Probe]], schemes: Sequence[str] = (), *, include_short: bool = False
    ) -> Iterator[Iterable[Found]]:
        return self._prober.probe_many(questions, schemes, include_short)

    def scan_sketches(
        self, schemes: Sequence[str], *, keys: Sequence[str] = (), include_short: bool = False
    ) -> Iterator[Found]:
        return self._prober.scan(schemes, keys, include_short)

    def lacking(self, schemes: Sequence[str]) -> Mapping[str, int]:
        return self._prober.lacking(schemes)

    # Failures and clusters

    def failures(self) -> Iterator[Failure]:
        return self._beside.failures()

    def put_failures(self, failures: Iterable[Failure]) -> None:
        self._beside.put_failures(failures)

    def clusters(self) -> Iterator[ClusterRecord]:
        return self._beside.clusters()

    def get_clusters(self, ids: Sequence[str]) -> list[ClusterRecord | None]:
        return self._beside.get_clusters(ids)

    def put_clusters(self, clusters: Iterable[ClusterRecord]) -> None:
        self._beside.put_clusters(clusters)

    def delete_clusters(self, ids: Sequence[str]) -> int:
        return self._beside.delete_clusters(ids)

    def clustering_notes(self) -> Mapping[str, ClusteringNote]:
        return self._beside.clustering_notes()

    def put_clustering_note(self, note: ClusteringNote | None) -> None:
        self._beside.put_clustering_note(note)

    # Secondary schemes, and resources

    def add_scheme(self, scheme: SchemeInfo) -> None:
        self._schemes.add(scheme)

    def remove_scheme(self, name: str) -> None:
        self._schemes.remove(name)

    def sketch_counts(self) -> Mapping[str, int]:
        return self._schemes.counts()

    def put_resource(self, name: str, data: bytes) -> None:
        self._schemes.put_resource(name, data)

    def get_resource(self, name: str) -> bytes | None:
        return self._schemes.get_resource(name)

    def resources(self) -> list[str]:
        return self._schemes.resources()

    # Closing

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind and issubclass(kind, STOPPED):
            # What was written is there, and found at the next refresh.
            self.refresh = "none"
        super().__exit__(kind, error, trace)

    def close(self) -> None:
        if not self.context.closed:
            try:
                if self.refresh != "none":
                    self.context.settle()
            finally:
                self.context.closed = True
                self.client.close()


def open_search_store(
    url: str,
    create: StoreInfo | None = None,
    read_only: bool = False,
    wait: float = 0.0,  # noqa: ARG001 a cluster has room for every writer
    *,
    retry: RetryPolicy | None = None,
) -> SearchStore:
    """Open the store at a cluster's URL; `wait` is for a writer's place, which a cluster has enough of."""
    return SearchStore(connect(url, retry=retry), create=create, read_only=read_only)
