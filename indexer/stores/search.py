"""The store in a cluster, for Elasticsearch and OpenSearch alike: opening, finding, scanning, counting."""

# ruff: noqa: D102 -- what the methods of a store do is said once, in base.py

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from indexer.errors import STOPPED, StoreError
from indexer.keys import SchemeInfo
from indexer.model import ClusteringNote, ClusterRecord, Failure, Record, Ref
from indexer.stores import mapping, relaxed
from indexer.stores.base import (
    Capabilities,
    Contended,
    PutResult,
    Stats,
    Store,
    StoreInfo,
    Versioned,
)
from indexer.stores.bulk import in_flight
from indexer.stores.connection import AnswerError, Client, Patience, connect
from indexer.stores.multi_get import multi_get
from indexer.stores.names import reading_path
from indexer.stores.search_bodies import (
    CLUSTER_ID,
    FORMAT,
    ROOT,
    SHORT,
    SINGLE,
    TOKENS,
    Bodies,
    is_record,
    own_part,
)
from indexer.stores.search_bodies import annotations_of as _annotations_of
from indexer.stores.search_finding import PAGE, RECORDS_PAGE, VALUES_CHUNK, Finder, chunks, is_unicode
from indexer.stores.search_probing import Prober
from indexer.stores.search_schemes import Schemes
from indexer.stores.search_writes import Writer, version_of
from indexer.stores.sketches import Check, Found, Probe, is_new
from indexer.stores.snapshots import Snapshot

_PRECISION = 40_000


class SearchStore(Store):
    """A store in an index, an alias, a data stream, or (to be read) several indices by a pattern.

    An identity's index is empty where the URL names the index itself, else it is the index that holds the document.
    """

    capabilities = Capabilities(
        embedded=False, routing=True, filters=True, visible_at_once=False, atomic_batches=False, verifies=True
    )

    def __init__(self, client: Client, *, create: StoreInfo | None = None, read_only: bool = False) -> None:
        self.client, self.read_only = client, read_only
        self.name, self.shown = client.target.name, client.target.shown
        self.contended = Contended()
        self._closed = False
        try:
            self.mappings = self.read_mappings()
            if not self.mappings and create is not None and not read_only:
                self._make(create)
                self.created = True
                self.mappings = self.read_mappings()
            self.describe(self.read_info())
            if create is not None:
                self.info.require_comparable(create, self.shown)
        except BaseException:
            client.close()
            raise
        self.single = list(self.mappings) == [self.name]
        self.data_stream = not self.single and all(index.startswith(".ds-") for index in self.mappings)
        self.writer = Writer(self)
        self.finder = Finder(self)
        self.prober = Prober(self)
        self.beside = Schemes(self)
        if create is not None and not read_only:
            self.writer.require_mapped()
            self.writer.put_back()

    def describe(self, info: StoreInfo) -> None:
        """Take note of what the store is made of now."""
        self.info = info
        self.bodies = Bodies(info, self.mappings.values())

    # Opening

    @property
    def path(self) -> str:
        """What searches are sent to."""
        return reading_path(self.name)

    def read_mappings(self) -> dict[str, Any]:
        """The mapping of every index that the name stands for, as they are now."""
        try:
            found = self.client.request("GET", f"/{self.path}/_mapping")
        except AnswerError as error:
            if error.status == 404:
                return {}
            raise
        return {index: each.get("mappings", {}) for index, each in sorted(found.items())}

    def _make(self, info: StoreInfo) -> None:
        if "*" in self.name or "," in self.name:
            raise StoreError(f"{self.shown}: there is no store, and a pattern names none to be made; name one index")
        try:
            self.client.request("PUT", f"/{self.path}", mapping.new_index(info))
        except AnswerError as error:
            # Another process may have made it in this moment.
            if error.kind != "resource_already_exists_exception":
                raise

    def read_info(self) -> StoreInfo:
        """What the mappings say of the store; its schemes are those of any of the indices."""
        if not self.mappings:
            raise StoreError(f"{self.shown}: there is no store; `neardup setup` with this --store makes one")
        infos = {index: mapping.info_of(each, f"{self.shown} ({index})") for index, each in self.mappings.items()}
        known = {index: info for index, info in infos.items() if info}
        if not known:
            raise StoreError(
                f"{self.shown}: there is no store; the index is there without neardup's fields: "
                "`neardup setup` with this --store adds them"
            )
        first = next(iter(known.values()))
        for index, info in known.items():
            mapping.require_current(self.mappings[index], f"{self.shown} ({index})")
            first.require_comparable(info, f"{self.shown} ({index})")
        schemes: list[SchemeInfo] = []
        for index, info in known.items():
            schemes += [each for each in info.schemes if is_new(schemes, each, f"{self.shown} ({index})")]
        return dataclasses.replace(first, schemes=tuple(schemes))

    def notices(self) -> list[str]:
        return [*relaxed.notices(self), *self._unread()]

    def _unread(self) -> list[str]:
        """What to say where documents lie in indices without neardup's fields."""
        bare = mapping.lacking(self.mappings, self.shown)
        if not bare:
            return []
        count = self.client.count(self.path, {"terms": {"_index": bare}})
        if not count:
            return []
        return [
            f"{self.shown}: {mapping.named(bare)} without neardup's fields, so none of the documents there is found "
            f"({count:,}); `neardup setup --store {self.shown}` adds the fields"
        ]

    def check_open(self) -> None:
        """Raise StoreError where the store is closed."""
        if self._closed:
            raise StoreError(f"{self.shown}: the store is closed")

    # Writing

    def put(self, records: Iterable[Record]) -> Iterator[PutResult]:
        return self.writer.put(records)

    def annotate(self, annotations: Iterable[tuple[Ref, Mapping[str, Any]]]) -> int:
        return self.writer.annotate(annotations)

    def delete(self, refs: Sequence[Ref], *, versions: Mapping[Ref, Hashable] | None = None) -> int:
        return self.writer.delete(refs, versions)

    def put_failures(self, failures: Iterable[Failure]) -> None:
        self.writer.put_failures(failures)

    # Reading by identity

    def get(self, refs: Sequence[Ref], *, sketches: bool = True) -> list[Record | None]:
        self.check_open()
        hits = self.fetch(refs, sketches=sketches)
        return [self.bodies.record(found, ref) if found else None for ref, found in zip(refs, hits, strict=True)]

    def annotations(self, refs: Sequence[Ref]) -> list[Mapping[str, Any] | None]:
        self.check_open()
        hits = self.fetch(refs)
        self.writer.remember(refs, hits)
        return [_annotations_of(found["_source"][ROOT]) if found else None for found in hits]

    def versioned(self, refs: Sequence[Ref]) -> list[Versioned | None]:
        self.check_open()
        return [
            Versioned(self.bodies.record(hit, ref), _annotations_of(hit["_source"][ROOT]), version_of(hit))
            if hit
            else None
            for ref, hit in zip(refs, self.fetch(refs, sketches=True), strict=True)
        ]

    def fetch(self, refs: Sequence[Ref], *, whole: bool = False, sketches: bool = False) -> list[dict[str, Any] | None]:
        """The stored documents of these identities, as they are now, each with what stands under neardup."""
        # One name: the engines take several times as long for the fields below it.
        source: dict[str, Any] = {} if whole else {"_source_includes": ROOT}
        if self.bodies.sketches and not whole and not sketches:
            source["_source_excludes"] = ",".join(self.bodies.sketches)

        def fetched(some: list[Ref]) -> list[dict[str, Any] | None]:
            return self._fetch(some, source)

        if len(refs) <= RECORDS_PAGE:
            return fetched(list(refs))
        return list(in_flight(fetched, chunks(refs, RECORDS_PAGE), lambda ref: ref))

    def _fetch(self, refs: Sequence[Ref], source: Mapping[str, Any]) -> list[dict[str, Any] | None]:
        places = self.places(refs)
        asked = [place for place in places if place]
        docs = [_place(place) for place in asked]
        answers = multi_get(self.client, docs, **source)
        hits = {
            place: hit
            for place, hit in zip(asked, answers, strict=True)
            if hit.get("found") and hit.get("_routing") == place.routing and own_part(hit.get("_source")) is not None
        }
        return [hits.get(place) if place else None for place in places]

    def places(self, refs: Sequence[Ref]) -> list[Ref | None]:
        """Where these documents lie: index, id and routing; None for what has no place, or more than one."""
        if self.single:
            named = [Ref(ref.id, ref.index or self.name, ref.routing) for ref in refs]
            return [place if is_unicode(place.id) else None for place in named]
        known: dict[str, list[Ref]] = {}
        if unplaced := [ref.id for ref in refs if not ref.index]:
            self.writer.settle()
            known = self.locate(unplaced)
        places: list[Ref | None] = []
        for ref in refs:
            if ref.index:
                places.append(ref if is_unicode(ref.id) else None)
            else:
                lie = [place for place in known.get(ref.id, ()) if ref.routing in (None, place.routing)]
                places.append(lie[0] if len(lie) == 1 else None)
        return places

    def locate(self, names: Iterable[str]) -> dict[str, list[Ref]]:
        """Every place, as far as a search sees, of documents with these ids, whether or not they are records."""
        places: dict[str, list[Ref]] = {}
        wanted = [name for name in dict.fromkeys(names) if is_unicode(name)]
        for some in chunks(wanted, RECORDS_PAGE):
            for hits in self.pages({"query": {"ids": {"values": some}}, "_source": False}, PAGE):
                for hit in hits:
                    places.setdefault(hit["_id"], []).append(Ref(hit["_id"], hit["_index"], hit.get("_routing")))
        return places

    def ref(self, hit: Mapping[str, Any]) -> Ref:
        """The identity of a hit."""
        return Ref(hit["_id"], "" if self.single else hit["_index"], hit.get("_routing"))

    # Finding

    def search(self, query: Mapping[str, Any], **body: Any) -> Any:
        """One answer of a search."""
        return self.client.search(self.path, {"query": query, **body})

    def pages(self, body: Mapping[str, Any], size: int, *, path: str = "") -> Iterator[list[dict[str, Any]]]:
        """All hits of a search, in pages, at a point in time."""
        order = [*body.get("sort", ()), {"_shard_doc": "asc"}]
        asked = {**body, "size": size, "sort": order, "track_total_hits": False}
        with Snapshot(self.client, path or self.path) as snapshot:
            while True:
                hits = snapshot.search(asked)["hits"]["hits"]
                if len(hits) < size:
                    snapshot.close()
                    if hits:
                        yield hits
                    return
                snapshot.keep()
                yield hits
                asked["search_after"] = hits[-1]["sort"]

    def narrow(self, query: str) -> None:
        self.check_open()
        self.finder.narrow(query)

    def passes(self, ref: Ref) -> bool:
        self.check_open()
        return self.finder.passes(ref)

    def find_each(self, names: Sequence[str]) -> list[list[Ref]]:
        return self.finder.find_each(names)

    def find_digests(self, digests: Sequence[str]) -> Mapping[str, Record]:
        return self.finder.digests(digests)

    def record_fields(self, *, sketches: bool = False) -> dict[str, Any]:
        """What a search has to be asked for, so that records() can read its hits."""
        excluded = [] if sketches else self.bodies.sketches
        return {"_source": {"includes": [ROOT], "excludes": excluded}, "docvalue_fields": self.bodies.doc_values}

    def records(self, hits: Iterable[Mapping[str, Any]]) -> Iterator[Record]:
        """The records of hits."""
        for hit in hits:
            record = self.bodies.record(hit, self.ref(hit))
            if record:
                yield record

    # Scanning

    def scan(self, *, sketches: bool = True) -> Iterator[Record]:
        self.check_open()
        self.writer.settle()
        fields = self.record_fields(sketches=sketches)
        for hits in self.pages({"query": is_record(), **fields}, RECORDS_PAGE):
            yield from self.records(hits)

    def scan_annotations(self) -> Iterator[tuple[Ref, Mapping[str, Any]]]:
        self.check_open()
        self.writer.settle()
        body = {"query": is_record(), "_source": [TOKENS, f"{ROOT}.cluster", f"{ROOT}.annotations"]}
        for hits in self.pages(body, RECORDS_PAGE):
            for hit in hits:
                yield self.ref(hit), _annotations_of(own_part(hit["_source"]) or {})

    def cluster_members(self, ids: Sequence[str]) -> Iterator[tuple[str, Ref]]:
        self.check_open()
        self.writer.settle()
        for some in chunks([name for name in dict.fromkeys(ids) if is_unicode(name)], VALUES_CHUNK):
            query = {"bool": {"filter": [{"terms": {CLUSTER_ID: some}}], "must_not": [{"term": {SINGLE: True}}]}}
            for hits in self.pages({"query": query, "_source": False, "docvalue_fields": [CLUSTER_ID]}, PAGE):
                yield from ((hit["fields"][CLUSTER_ID][0], self.ref(hit)) for hit in hits)

    # Schemes beside the first, and resources

    def add_scheme(self, scheme: SchemeInfo) -> None:
        self.beside.add(scheme)

    def remove_scheme(self, name: str) -> None:
        self.beside.remove(name)

    def probe(
        self,
        probes: Sequence[Probe],
        schemes: Sequence[str] = (),
        *,
        check: Check | None = None,
        include_short: bool = False,
    ) -> Iterator[Found]:
        return self.prober.probe(probes, schemes, check, include_short)

    def probe_many(
        self, questions: Sequence[Sequence[Probe]], schemes: Sequence[str] = (), *, include_short: bool = False
    ) -> Iterator[Iterable[Found]]:
        return self.prober.probe_many(questions, schemes, include_short)

    def scan_sketches(
        self, schemes: Sequence[str], *, keys: Sequence[str] = (), include_short: bool = False
    ) -> Iterator[Found]:
        return self.prober.scan(schemes, keys, include_short)

    def lacking(self, schemes: Sequence[str]) -> Mapping[str, int]:
        return self.prober.lacking(schemes)

    def sketch_counts(self) -> Mapping[str, int]:
        return self.beside.counts()

    def put_resource(self, name: str, octets: bytes) -> None:
        self.beside.put_resource(name, octets)

    def get_resource(self, name: str) -> bytes | None:
        return self.beside.get_resource(name)

    def resources(self) -> list[str]:
        return self.beside.resources()

    # Failures, clusters and counts

    def failures(self) -> Iterator[Failure]:
        self.check_open()
        return self.writer.failures.pages(self.pages, "id", "index", "routing")

    def put_clusters(self, clusters: Iterable[ClusterRecord]) -> None:
        self.writer.put_clusters(clusters)

    def get_clusters(self, ids: Sequence[str]) -> list[ClusterRecord | None]:
        self.check_open()
        return self.writer.clusters.get(ids)

    def clusters(self) -> Iterator[ClusterRecord]:
        self.check_open()
        return self.writer.clusters.pages(self.pages, "id")

    def delete_clusters(self, ids: Sequence[str]) -> int:
        return self.writer.delete_clusters(ids)

    def clustering_notes(self) -> Mapping[str, ClusteringNote]:
        self.check_open()
        return self.writer.notes.read()

    def put_clustering_note(self, note: ClusteringNote | None) -> None:
        self.writer.check()
        self.writer.notes.write(note)

    def stats(self) -> Stats:
        self.check_open()
        self.writer.settle()
        fingerprinted = {"filter": self.bodies.fingerprinted()}
        aggregations = {
            "fingerprinted": fingerprinted,
            "short": {"filter": {"term": {SHORT: True}}},
            "distinct": {"cardinality": {"field": self.bodies.bits, "precision_threshold": _PRECISION}},
            "formats": {"terms": {"field": FORMAT, "missing": "", "size": 1000}},
        }
        answer = self.search(is_record(), size=0, track_total_hits=True, aggs=aggregations)
        counts = answer["aggregations"]
        documents = answer["hits"]["total"]["value"]
        distinct = counts["distinct"]["value"]
        return Stats(
            documents=documents,
            fingerprinted=counts["fingerprinted"]["doc_count"],
            distinct=distinct,
            short=counts["short"]["doc_count"],
            empty=documents - counts["fingerprinted"]["doc_count"],
            failures=self.writer.failures.counts("reason"),
            formats={bucket["key"]: bucket["doc_count"] for bucket in counts["formats"]["buckets"]},
            bytes_on_disk=self._octets(),
            extra={
                "engine": self.client.product,
                "index": self.name,
                "indices": len(self.mappings),
                # The engines count exactly up to about this many, and estimate beyond.
                "distinct_is_an_estimate": distinct > _PRECISION,
            },
        )

    def _octets(self) -> int:
        wanted = "_all.total.store.size_in_bytes"
        try:
            answer = self.client.request("GET", f"/{self.path}/_stats/store", filter_path=wanted)
        except StoreError as error:
            # Who may read may not always look at the cluster.
            if isinstance(error.__cause__, AnswerError) and error.__cause__.status == 403:
                return 0
            raise
        return int(answer["_all"]["total"]["store"]["size_in_bytes"])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind and issubclass(kind, STOPPED):
            # What was written is there, and found at the next refresh.
            self.refresh = "none"
        super().__exit__(kind, error, trace)

    def close(self) -> None:
        if not self._closed:
            try:
                if self.refresh != "none":
                    self.writer.settle()
            finally:
                self._closed = True
                self.client.close()


def open_search_store(
    url: str,
    create: StoreInfo | None = None,
    read_only: bool = False,
    wait: float = 0.0,  # noqa: ARG001 a cluster has room for every writer
    *,
    patience: Patience | None = None,
) -> SearchStore:
    """Open the store at a cluster's URL; `wait` is for a writer's place, which a cluster has enough of."""
    return SearchStore(connect(url, patience=patience), create=create, read_only=read_only)


def _place(ref: Ref) -> dict[str, Any]:
    return {"_index": ref.index, "_id": ref.id} | ({"routing": ref.routing} if ref.routing is not None else {})
