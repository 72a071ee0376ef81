"""Read records and annotations, scan, count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from indexer.engine.client.errors import AnswerError
from indexer.engine.client.gets import version_of
from indexer.engine.index import bulk_load
from indexer.engine.index.bodies import (
    ANNOTATIONS,
    CLUSTER_ID,
    FORMAT,
    RELATION,
    REPEATS,
    ROOT,
    SHORT,
    SINGLE,
    SIZE_CLASS,
    TOKENS,
    annotations_of,
    is_record,
    own_part,
)
from indexer.engine.index.mapping import named
from indexer.engine.store.lookup import PAGE, RECORDS_PAGE, StorePart, is_unicode
from indexer.errors import StoreError
from indexer.model import Record, Ref
from indexer.model.chunking import chunks
from indexer.model.origins import UNKNOWN
from indexer.stores.base import Stats, Versioned

_PRECISION = 40_000
_VALUES_CHUNK = 10_000


class ReadPart(StorePart):
    # By identity

    def get(self, refs: Sequence[Ref], *, sketches: bool = True) -> list[Record | None]:
        self.context.require_open()
        hits = self.lookup.fetch(refs, sketches=sketches)
        record = self.context.bodies.record
        return [record(hit, ref, sketches=sketches) if hit else None for ref, hit in zip(refs, hits, strict=True)]

    def annotations(self, refs: Sequence[Ref]) -> list[Mapping[str, Any] | None]:
        self.context.require_open()
        hits = self.lookup.fetch(refs)
        self.lookup.remember(refs, hits)
        return [annotations_of(hit["_source"][ROOT]) if hit else None for hit in hits]

    def described(self, refs: Sequence[Ref]) -> list[tuple[Record, Mapping[str, Any]] | None]:
        self.context.require_open()
        hits = self.lookup.fetch(refs)
        self.lookup.remember(refs, hits)
        found: list[tuple[Record, Mapping[str, Any]] | None] = []
        for ref, hit in zip(refs, hits, strict=True):
            record = self.context.bodies.record(hit, ref) if hit else None
            found.append((record, annotations_of(hit["_source"][ROOT])) if hit and record else None)
        return found

    def versioned(self, refs: Sequence[Ref]) -> list[Versioned | None]:
        self.context.require_open()
        found: list[Versioned | None] = []
        for ref, hit in zip(refs, self.lookup.fetch(refs, sketches=True), strict=True):
            record = self.context.bodies.record(hit, ref, sketches=True) if hit else None
            found.append(Versioned(record, annotations_of(hit["_source"][ROOT]), version_of(hit)) if hit else None)
        return found

    # Scanning

    def scan(self, *, sketches: bool = True) -> Iterator[Record]:
        self.context.require_open()
        self.context.settle()
        fields = self.context.bodies.record_fields(sketches=sketches)
        for hits in self.lookup.pages({"query": is_record(), **fields}, RECORDS_PAGE):
            yield from self.lookup.records(hits, sketches=sketches)

    def scan_annotations(self) -> Iterator[tuple[Ref, Mapping[str, Any]]]:
        return self._scan_annotations(clustered=False)

    def scan_clustered(self) -> Iterator[tuple[Ref, Mapping[str, Any]]]:
        return self._scan_annotations(clustered=True)

    def _scan_annotations(self, *, clustered: bool) -> Iterator[tuple[Ref, Mapping[str, Any]]]:
        self.context.require_open()
        self.context.settle()
        # A document that is in no cluster has one of its own, by which others collapse.
        alone = [{"term": {SINGLE: True}}] if clustered else []
        query = {"bool": {"filter": [is_record()], "must_not": alone}}
        body = {"query": query, "_source": [TOKENS, *(f"{ROOT}.{name}" for name in ANNOTATIONS)]}
        for hits in self.lookup.pages(body, RECORDS_PAGE):
            for hit in hits:
                yield self.context.ref(hit), annotations_of(own_part(hit["_source"]) or {})

    def cluster_members(self, ids: Sequence[str]) -> Iterator[tuple[str, Ref]]:
        self.context.require_open()
        self.context.settle()
        for names in chunks([name for name in dict.fromkeys(ids) if is_unicode(name)], _VALUES_CHUNK):
            query = {"bool": {"filter": [{"terms": {CLUSTER_ID: names}}], "must_not": [{"term": {SINGLE: True}}]}}
            body = {"query": query, "_source": False, "docvalue_fields": [CLUSTER_ID]}
            for hits in self.lookup.pages(body, PAGE):
                yield from ((hit["fields"][CLUSTER_ID][0], self.context.ref(hit)) for hit in hits)

    def cluster_sizes(self) -> Iterator[tuple[str, int]]:
        self.context.require_open()
        self.context.settle()
        paging: dict[str, Any] = {"size": _VALUES_CHUNK, "sources": [{"id": {"terms": {"field": CLUSTER_ID}}}]}
        while True:
            aggs = {"sizes": {"composite": paging}}
            query = {"exists": {"field": SIZE_CLASS}}
            found = self.lookup.search(query, size=0, track_total_hits=False, aggs=aggs)["aggregations"]["sizes"]
            yield from ((bucket["key"]["id"], bucket["doc_count"]) for bucket in found["buckets"])
            if "after_key" not in found:
                return
            paging["after"] = found["after_key"]

    # Counts

    def count(self) -> int:
        self.context.require_open()
        self.context.settle()
        return int(self.lookup.search(is_record(), size=0, track_total_hits=True)["hits"]["total"]["value"])

    def stats(self) -> Stats:
        context = self.context
        context.require_open()
        context.settle()
        aggregations = {
            "fingerprinted": {"filter": context.bodies.fingerprinted()},
            "short": {"filter": {"term": {SHORT: True}}},
            "distinct": {"cardinality": {"field": context.bodies.bits, "precision_threshold": _PRECISION}},
            "last": {"max": {"field": f"{ROOT}.indexed_at", "format": "strict_date_time_no_millis"}},
            "formats": {"terms": {"field": FORMAT, "missing": "", "size": 1000}},
            "repeating": {
                "filter": {"exists": {"field": REPEATS}},
                "aggs": {"relations": {"terms": {"field": RELATION, "size": 100}}},
            },
        }
        answer = self.lookup.search(is_record(), size=0, track_total_hits=True, aggs=aggregations)
        counts = answer["aggregations"]
        documents = answer["hits"]["total"]["value"]
        fingerprinted, estimate = counts["fingerprinted"]["doc_count"], counts["distinct"]["value"]
        # An estimate may be larger than what there is.
        distinct = min(estimate, fingerprinted)
        return Stats(
            documents=documents,
            fingerprinted=fingerprinted,
            distinct=distinct,
            short=counts["short"]["doc_count"],
            empty=documents - fingerprinted,
            failures=context.failures.counts("reason"),
            formats={bucket["key"]: bucket["doc_count"] for bucket in counts["formats"]["buckets"]},
            bytes_on_disk=self._size(),
            # Without any value the engines give a number for the least time that there is.
            last_indexed_at=counts["last"].get("value_as_string", "") if counts["last"]["value"] is not None else "",
            relations={
                "" if each["key"] == UNKNOWN else each["key"]: each["doc_count"]
                for each in counts["repeating"]["relations"]["buckets"]
            },
            extra={
                "engine": context.client.product,
                "index": context.name,
                "indices": len(context.mappings),
                # The engines count exactly up to about this many, and estimate beyond.
                "distinct_is_an_estimate": estimate > _PRECISION,
            },
        )

    def _size(self) -> int:
        wanted = "_all.total.store.size_in_bytes"
        try:
            answer = self.context.client.request("GET", f"/{self.context.path}/_stats/store", filter_path=wanted)
        except StoreError as error:
            # A user who may read may not always inspect the cluster.
            if isinstance(error.__cause__, AnswerError) and error.__cause__.status == 403:
                return 0
            raise
        return int(answer["_all"]["total"]["store"]["size_in_bytes"])

    def notices(self) -> list[str]:
        context = self.context
        return [*bulk_load.notices(context.mappings, context.shown), *self._unread()]

    def _unread(self) -> list[str]:
        context = self.context
        bare = context.mappings.lacking(context.shown)
        if not bare:
            return []
        count = context.client.count(context.path, {"terms": {"_index": bare}})
        if not count:
            return []
        return [
            f"{context.shown}: {named(bare)} without neardup's fields, so none of the documents there is found "
            f"({count:,}); `neardup setup --store {context.shown}` adds the fields"
        ]
