"""The part of a store in a cluster that has to do with schemes beside the first, and with named resources."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from indexer.errors import StoreError, UsageError
from indexer.keys import SchemeInfo
from indexer.model import Ref
from indexer.stores import mapping
from indexer.stores.bulk import BATCH_RECORDS, Action, send
from indexer.stores.connection import Client
from indexer.stores.search_bodies import ROOT, both, encoded
from indexer.stores.search_finding import require_whole
from indexer.stores.side_index import SideIndex
from indexer.stores.sketch_fields import FEATURES, PAYLOAD, sketch_properties, unpacked_payload
from indexer.stores.sketches import SketchBatch, check_resource, is_new, scheme_named

if TYPE_CHECKING:
    from indexer.stores.search import SearchStore

# The engines' own limit for the terms of one clause.
_MAX_TERMS = 65_536
# So many are read by the first answer; where there are more, a snapshot is opened.
_FIRST = 1000
_PAGE = 2000
_ROUNDS = 8
_CHUNK_OCTETS = 2 << 20
_RESOURCE_PROPERTIES: Mapping[str, Any] = {"name": {"type": "keyword"}}


class Schemes:
    """The half of a SearchStore that keeps sketches and resources."""

    def __init__(self, store: SearchStore) -> None:
        self._store = store
        self._client: Client = store.client
        name = f"{store.name}-neardup-resources"
        self._resources: SideIndex[Mapping[str, Any]] = SideIndex(
            store.client, name, _RESOURCE_PROPERTIES, lambda body: body, lambda source: source
        )

    # Adding and removing

    def add(self, scheme: SchemeInfo) -> None:
        """See Store.add_scheme. The fields are added to every index that the store's name stands for."""
        store = self._store
        store.writer.check()
        if scheme.name in mapping.properties()[ROOT]["properties"]:
            raise UsageError(f"{scheme.name}: a scheme can't have the name of one of neardup's own fields")
        missing = {
            index: found
            for index, found in store.read_mappings().items()
            if (info := mapping.info_of(found, f"{store.shown} ({index})"))
            and is_new(info.schemes, scheme, f"{store.shown} ({index})")
        }
        fields = {ROOT: {"properties": {scheme.name: {"properties": sketch_properties(scheme)}}}}
        for index, found in missing.items():
            mapping.require_room(self._client, index, found, fields, store.shown)
        for index, found in missing.items():
            known = mapping.schemes_of(found)
            self._describe(index, found, (*known, scheme), fields)
        self._read_again()

    def remove(self, name: str) -> None:
        """See Store.remove_scheme. The names of its fields stay in the mapping: no mapping can give up a field."""
        store = self._store
        store.writer.check()
        for index, found in store.read_mappings().items():
            known = mapping.schemes_of(found)
            if any(scheme.name == name for scheme in known):
                self._strip(index, name)
                self._describe(index, found, [scheme for scheme in known if scheme.name != name])
        self._read_again()

    def _describe(
        self,
        index: str,
        found: Mapping[str, Any],
        schemes: Sequence[SchemeInfo],
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        old = found.get("_meta", {})
        own = {**old.get(ROOT, {}), "schemes": mapping.schemes_meta(schemes)}
        body = {"_meta": mapping.with_meta(old, own)} | ({"properties": fields} if fields else {})
        self._client.request("PUT", f"/{index}/_mapping", body)

    def _read_again(self) -> None:
        store = self._store
        store.mappings = store.read_mappings()
        store.describe(store.read_info())

    def _strip(self, index: str, name: str) -> None:
        """Make a scheme's fields null in every document of an index."""
        idle = 0
        query = {"exists": {"field": f"{ROOT}.{name}.{FEATURES}"}}
        body = {"query": query, "size": BATCH_RECORDS, "_source": False, "seq_no_primary_term": True}
        while idle < _ROUNDS:
            self._client.request("POST", f"/{index}/_refresh")
            hits = self._client.request("POST", f"/{index}/_search", body)["hits"]["hits"]
            if not hits:
                return
            outcomes = send(self._client, [_nulling(hit, name) for hit in hits])
            for outcome in outcomes:
                if not outcome.ok and outcome.status not in (404, 409):
                    raise StoreError(f"{self._store.shown}: sketches can't be removed from {index}: {outcome.reason}")
            idle = 0 if any(outcome.ok for outcome in outcomes) else idle + 1
        raise StoreError(f"{self._store.shown}: documents of {index} change all the time; run the same command again")

    # Finding and scanning

    def sketched(self, name: str, keys: Sequence[int], agreeing: int, include_short: bool) -> Iterator[SketchBatch]:
        """See Store.sketched."""
        store, scheme = self._ready(name)
        terms: dict[int, list[str]] = {}
        for key in dict.fromkeys(keys):
            table, rest = scheme.layout.unpack(key)
            terms.setdefault(table, []).append(scheme.layout.term(rest))
        if any(len(each) > _MAX_TERMS for each in terms.values()):
            raise UsageError(f"{store.shown}: a lookup of {len(keys):,} keys is too large; ask for a higher similarity")
        if len(terms) < agreeing:
            return
        clauses = [{"terms": {f"{ROOT}.{name}.{scheme.layout.field(table)}": each}} for table, each in terms.items()]
        shared = {"bool": {"should": clauses, "minimum_should_match": agreeing}}
        query = both(shared, store.finder.narrowing, include_short=include_short)
        body = {"_source": False, "docvalue_fields": [_payload(name)]}
        answer = store.search(query, size=_FIRST, track_total_hits=False, **body)
        require_whole(answer, store.shown)
        hits = answer["hits"]["hits"]
        pages = iter([hits]) if len(hits) < _FIRST else store.pages({"query": query, **body}, _PAGE)
        for hits in pages:
            if hits:
                yield SketchBatch([store.ref(hit) for hit in hits], [_octets(hit, name) for hit in hits])

    def _ready(self, name: str) -> tuple[SearchStore, SchemeInfo]:
        store = self._store
        store.check_open()
        store.writer.settle()
        return store, scheme_named(store.info.schemes, name, store.shown)

    def counts(self) -> Mapping[str, int]:
        """See Store.sketch_counts."""
        store = self._store
        store.check_open()
        store.writer.settle()
        names = [scheme.name for scheme in store.info.schemes]
        if not names:
            return {}
        asked = {name: {"filter": {"exists": {"field": f"{ROOT}.{name}.{FEATURES}"}}} for name in names}
        answer = store.search({"match_all": {}}, size=0, track_total_hits=False, aggs=asked)
        require_whole(answer, store.shown)
        return {name: int(answer["aggregations"][name]["doc_count"]) for name in names}

    # Resources: the head of each names its parts, so that a new one takes the place of the old one at once.

    def put_resource(self, name: str, octets: bytes) -> None:
        """See Store.put_resource."""
        check_resource(name, octets)
        self._store.writer.check()
        [old] = self._resources.get([name])
        digest = hashlib.sha256(octets).hexdigest()[:32]
        parts = [f"{name}#{digest}#{start}" for start in range(0, len(octets), _CHUNK_OCTETS)]
        for number, part in enumerate(parts):
            chunk = octets[number * _CHUNK_OCTETS : (number + 1) * _CHUNK_OCTETS]
            self._resources.put([(part, {"octets": base64.b64encode(chunk).decode("ascii")})])
        self._resources.put([(name, {"name": name, "parts": parts})])
        if old:
            self._resources.delete([part for part in old["parts"] if part not in parts])
        self._resources.settle()

    def get_resource(self, name: str) -> bytes | None:
        """See Store.get_resource."""
        self._store.check_open()
        for _ in range(_ROUNDS):
            [head] = self._resources.get([name])
            if head is None:
                return None
            # One by one: together they may be larger than an answer may be.
            parts = [self._resources.get([part])[0] for part in head["parts"]]
            found = [base64.b64decode(part["octets"]) for part in parts if part is not None]
            if len(found) == len(parts):
                return b"".join(found)
        raise StoreError(f"{self._store.shown}: the resource {name} is damaged: parts of it are gone; make it again")

    def resources(self) -> list[str]:
        """See Store.resources."""
        self._store.check_open()
        return sorted(name for name in self._resources.counts("name") if name)


def _nulling(hit: Mapping[str, Any], name: str) -> Action:
    place = Ref(hit["_id"], hit["_index"], hit.get("_routing"))
    conditions = {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}
    return Action("update", place.index, place.id, place.routing, encoded({"doc": {ROOT: {name: None}}}), conditions)


def _octets(hit: Mapping[str, Any], name: str) -> bytes:
    return unpacked_payload(hit["fields"][_payload(name)][0])


def _payload(name: str) -> str:
    return f"{ROOT}.{name}.{PAYLOAD}"
