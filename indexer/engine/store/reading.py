"""Read and find records and annotations, scan, count."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from indexer.engine.client.bulk import place_of, version_of
from indexer.engine.client.errors import AnswerError
from indexer.engine.index.bodies import (
    ANNOTATIONS,
    CLUSTER_ID,
    DIGEST,
    FORMAT,
    RELATION,
    REPEATS,
    ROOT,
    SHORT,
    SINGLE,
    SIZE_CLASS,
    TOKENS,
    annotations_of,
    both,
    is_record,
    own_part,
    packed_digest,
)
from indexer.engine.index.mapping import Mappings, named
from indexer.engine.setup import bulk_load
from indexer.engine.store.context import PAGE, RECORDS_PAGE, EnginePart, is_unicode
from indexer.errors import StoreError, UsageError
from indexer.model import Record, Ref, readings_of
from indexer.model.chunking import chunks
from indexer.model.counts import Stats
from indexer.model.origins import UNKNOWN
from indexer.model.refs import ref_order
from indexer.stores.base import Versioned

_PRECISION = 40_000
_VALUES_CHUNK = 10_000
# How engines write that a nested object is part of the document too.
_ON = (True, "true")
# Quoted words and regular expressions hold no names of fields.
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"|/(?:\\.|[^/\\])*/')
_NAME = re.compile(r"(?:^|[\s(+\-!])((?:\\.|[^\s:\"()\\])+):")
_EXISTS = re.compile(r"_exists_:\s*((?:\\.|[^\s:\"()\\])+)")


class ReadPart(EnginePart):
    # By identity

    def get(self, refs: Sequence[Ref], *, sketches: bool = True) -> list[Record | None]:
        hits = self.fetch(refs, sketches=sketches)
        record = self.bodies.record
        return [record(hit, ref, sketches=sketches) if hit else None for ref, hit in zip(refs, hits, strict=True)]

    def annotations(self, refs: Sequence[Ref]) -> list[Mapping[str, Any] | None]:
        hits = self.fetch(refs)
        self.remember(refs, hits)
        return [annotations_of(hit["_source"][ROOT]) if hit else None for hit in hits]

    def described(self, refs: Sequence[Ref]) -> list[tuple[Record, Mapping[str, Any]] | None]:
        hits = self.fetch(refs)
        self.remember(refs, hits)
        found: list[tuple[Record, Mapping[str, Any]] | None] = []
        for ref, hit in zip(refs, hits, strict=True):
            record = self.bodies.record(hit, ref) if hit else None
            found.append((record, annotations_of(hit["_source"][ROOT])) if hit and record else None)
        return found

    def versioned(self, refs: Sequence[Ref]) -> list[Versioned | None]:
        found: list[Versioned | None] = []
        for ref, hit in zip(refs, self.fetch(refs, sketches=True), strict=True):
            record = self.bodies.record(hit, ref, sketches=True) if hit else None
            found.append(Versioned(record, annotations_of(hit["_source"][ROOT]), version_of(hit)) if hit else None)
        return found

    # Scanning

    def scan(self, *, sketches: bool = True) -> Iterator[Record]:
        fields = self.bodies.record_fields(sketches=sketches)
        for hits in self.pages({"query": is_record(), **fields}, RECORDS_PAGE):
            yield from self.records(hits, sketches=sketches)

    def scan_annotations(self, *, clustered: bool = False) -> Iterator[tuple[Ref, Mapping[str, Any]]]:
        # A document that is in no cluster has one of its own, by which others collapse.
        alone = [{"term": {SINGLE: True}}] if clustered else []
        query = {"bool": {"filter": [is_record()], "must_not": alone}}
        body = {"query": query, "_source": [TOKENS, *(f"{ROOT}.{name}" for name in ANNOTATIONS)]}
        for hits in self.pages(body, RECORDS_PAGE):
            for hit in hits:
                yield self.ref(hit), annotations_of(own_part(hit["_source"]) or {})

    def cluster_members(self, ids: Sequence[str]) -> Iterator[tuple[str, Ref]]:
        for names in chunks([name for name in dict.fromkeys(ids) if is_unicode(name)], _VALUES_CHUNK):
            query = {"bool": {"filter": [{"terms": {CLUSTER_ID: names}}], "must_not": [{"term": {SINGLE: True}}]}}
            body = {"query": query, "_source": False, "docvalue_fields": [CLUSTER_ID]}
            for hits in self.pages(body, PAGE):
                yield from ((hit["fields"][CLUSTER_ID][0], self.ref(hit)) for hit in hits)

    def cluster_sizes(self) -> Iterator[tuple[str, int]]:
        paging: dict[str, Any] = {"size": _VALUES_CHUNK, "sources": [{"id": {"terms": {"field": CLUSTER_ID}}}]}
        while True:
            aggs = {"sizes": {"composite": paging}}
            query = {"exists": {"field": SIZE_CLASS}}
            found = self.search(query, size=0, track_total_hits=False, aggs=aggs)["aggregations"]["sizes"]
            yield from ((bucket["key"]["id"], bucket["doc_count"]) for bucket in found["buckets"])
            if "after_key" not in found:
                return
            paging["after"] = found["after_key"]

    # Counts

    def count(self) -> int:
        return int(self.search(is_record(), size=0, track_total_hits=True)["hits"]["total"]["value"])

    def stats(self) -> Stats:
        aggregations = {
            "fingerprinted": {"filter": self.bodies.fingerprinted()},
            "short": {"filter": {"term": {SHORT: True}}},
            "distinct": {"cardinality": {"field": self.bodies.bits, "precision_threshold": _PRECISION}},
            "last": {"max": {"field": f"{ROOT}.indexed_at", "format": "strict_date_time_no_millis"}},
            "formats": {"terms": {"field": FORMAT, "missing": "", "size": 1000}},
            "repeating": {
                "filter": {"exists": {"field": REPEATS}},
                "aggs": {"relations": {"terms": {"field": RELATION, "size": 100}}},
            },
        }
        answer = self.search(is_record(), size=0, track_total_hits=True, aggs=aggregations)
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
            failures=self.sides["failures"].counts("reason"),
            formats={bucket["key"]: bucket["doc_count"] for bucket in counts["formats"]["buckets"]},
            bytes_on_disk=self._size(),
            # Without any value the engines give a number for the least time that there is.
            last_indexed_at=counts["last"].get("value_as_string", "") if counts["last"]["value"] is not None else "",
            relations={
                "" if each["key"] == UNKNOWN else each["key"]: each["doc_count"]
                for each in counts["repeating"]["relations"]["buckets"]
            },
            extra={
                "engine": self.client.product,
                "index": self.name,
                "indices": len(self.mappings),
                # The engines count exactly up to about this many, and estimate beyond.
                "distinct_is_an_estimate": estimate > _PRECISION,
            },
        )

    def _size(self) -> int:
        wanted = "_all.total.store.size_in_bytes"
        try:
            answer = self.client.request("GET", f"/{self.path}/_stats/store", filter_path=wanted)
        except StoreError as error:
            # A user who may read may not always inspect the cluster.
            if isinstance(error.__cause__, AnswerError) and error.__cause__.status == 403:
                return 0
            raise
        return int(answer["_all"]["total"]["store"]["size_in_bytes"])

    def notices(self) -> list[str]:
        return [*bulk_load.notices(self.mappings, self.shown), *self._unread()]

    def _unread(self) -> list[str]:
        bare = self.mappings.lacking(self.shown)
        if not bare:
            return []
        count = self.client.count(self.path, {"terms": {"_index": bare}})
        if not count:
            return []
        return [
            f"{self.shown}: {named(bare)} without neardup's fields, so none of the documents there is found "
            f"({count:,}); `neardup setup --store {self.shown}` adds the fields"
        ]

    def narrow(self, query: str) -> None:
        asked = {"query_string": {"query": query}}
        try:
            answer = self.client.request(
                "POST", f"/{self.path}/_validate/query", {"query": asked}, explain="true", allow_no_indices="true"
            )
        except AnswerError as error:
            raise UsageError(f"the filter {query!r} can't be read: {error.reason}") from error
        if not answer.get("valid"):
            reasons = [why["error"] for why in answer.get("explanations", ()) if why.get("error")]
            reason = parser_reason(reasons[0], query) if reasons else "the engine does not say why"
            raise UsageError(f"the filter {query!r} can't be read: {reason}")
        if names := unreached(self.mappings, query):
            raise UsageError(
                f"the filter {query!r} can't be used: {', '.join(names)} lies in a nested object, out of reach of a "
                f"query string; filter by another field"
            )
        self.narrowing = asked

    def passes(self, ref: Ref) -> bool:
        if not self.narrowing:
            return True
        query = both({"ids": {"values": [ref.id]}}, self.narrowing)
        hits = self.search(query, size=PAGE, _source=False, stored_fields=["_routing"])["hits"]["hits"]
        return any(self.ref(hit) == ref for hit in hits)

    def find_digests(self, digests: Sequence[str]) -> Mapping[str, Record]:
        first_of: dict[str, Record] = {}
        wanted = [digest for digest in dict.fromkeys(digests) if digest and is_unicode(digest)]
        for page in chunks(wanted, RECORDS_PAGE):
            query = both({"terms": {DIGEST: list(map(packed_digest, page))}}, is_record())
            fields = self.bodies.record_fields(sketches=True)
            # Elasticsearch 8.8 to 8.14 fails where the field of the collapse is not among the doc values asked for.
            fields["docvalue_fields"] = [*fields["docvalue_fields"], DIGEST]
            body = {"query": query, "size": len(page), "collapse": {"field": DIGEST}, **fields}
            # Each group of documents asks; what was written just before need not be shown for that.
            hits = self.client.search(self.path, body)["hits"]["hits"]
            records = self.records(hits, sketches=True)
            first_of.update((record.source_digest, record) for record in records)
        return first_of

    def find_each(self, names: Sequence[str]) -> list[list[Ref]]:
        places: dict[str, set[Ref]] = {}
        wanted = {reading.id for name in names for reading in readings_of(name) if is_unicode(reading.id)}
        for page in chunks(sorted(wanted), RECORDS_PAGE):
            query = both({"ids": {"values": page}}, is_record())
            body = {"_source": False, "stored_fields": ["_routing"]}
            answer = self.search(query, size=RECORDS_PAGE, track_total_hits=False, **body)
            hits = answer["hits"]["hits"]
            # Mostly one answer holds them all.
            pages = iter([hits]) if len(hits) < RECORDS_PAGE else self.pages({"query": query, **body}, PAGE)
            for hits in pages:
                for hit in hits:
                    places.setdefault(hit["_id"], set()).add(place_of(hit))
        if self.single:
            whole = [Ref(name) for name in names]
            for document in self.fetch(whole):
                if document:
                    place = place_of(document)
                    places.setdefault(place.id, set()).add(place)
        return [self._meant(name, places) for name in names]

    def _meant(self, name: str, places: Mapping[str, set[Ref]]) -> list[Ref]:
        refs: set[Ref] = set()
        for reading in readings_of(name):
            refs |= {
                place
                for place in places.get(reading.id, ())
                if reading.index in ("", place.index) and reading.routing in (None, place.routing or "")
            }
            if refs and self.single:
                break
        named = (Ref(ref.id, "" if self.single else ref.index, ref.routing) for ref in refs)
        return sorted(named, key=ref_order)


def parser_reason(text: str, query: str) -> str:
    _, marker, rest = text.partition(f"Cannot parse '{query}': ")
    return (rest if marker else text).partition("\n")[0].partition("; nested:")[0][:300].strip()


def unreached(mappings: Mappings, query: str) -> list[str]:
    plain = _QUOTED.sub('""', query)
    names = {re.sub(r"\\(.)", r"\1", found.lstrip("+-!")) for found in (*_NAME.findall(plain), *_EXISTS.findall(plain))}
    nested = {path for one in mappings.values() for path in _nested(one.raw)}
    return sorted(name for name in names if any(f"{name}.".startswith(f"{path}.") for path in nested))


def _nested(mapping: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, field in mapping.get("properties", {}).items():
        path = prefix + name
        if field.get("type") != "nested":
            yield from _nested(field, f"{path}.")
        # Their fields can be those of the document too.
        elif field.get("include_in_root") not in _ON and field.get("include_in_parent") not in _ON:
            yield path
