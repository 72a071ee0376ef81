"""Secondary schemes and named resources."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

from indexer.engine.client.bulk import BATCH_RECORDS, ROUNDS, Action, pause, send, unchanged, update
from indexer.engine.client.gets import place_of
from indexer.engine.client.names import path_of
from indexer.engine.index.bodies import ROOT
from indexer.engine.index.files import properties
from indexer.engine.index.side_index import resources_index
from indexer.engine.index.sketches import forgotten, sketch_properties
from indexer.engine.index.stripping import lost
from indexer.engine.store.context import Context
from indexer.engine.store.lookup import Lookup, StorePart
from indexer.errors import StoreError, UsageError
from indexer.schemes.keys.layout import SchemeInfo
from indexer.stores.sketches import check_resource, is_new

_CHUNK_BYTES = 2 << 20


class SchemePart(StorePart):
    def __init__(self, context: Context, lookup: Lookup) -> None:
        super().__init__(context, lookup)
        self._resources = resources_index(context.client)

    # Adding and removing

    def add_scheme(self, scheme: SchemeInfo) -> None:
        context = self.context
        context.require_writable()
        if scheme.name in properties()[ROOT]["properties"]:
            raise UsageError(f"{scheme.name}: a scheme can't have the name of one of neardup's own fields")
        missing = {
            index: mapping
            for index, mapping in context.read_mappings().items()
            if (info := mapping.info(context.shown)) and is_new(info.schemes, scheme, f"{context.shown} ({index})")
        }
        fields = {
            index: {ROOT: {"properties": {scheme.name: {"properties": own}}}}
            for index, mapping in missing.items()
            for own in [sketch_properties(scheme, doc_values=not mapping.made)]
        }
        for index, mapping in missing.items():
            mapping.require_room(self.client, fields[index], context.shown)
        for index in missing:
            self.client.request("PUT", f"{path_of(index)}/_mapping", {"properties": fields[index]})
        context.read_again()

    def remove_scheme(self, name: str) -> None:
        context = self.context
        context.require_writable()
        for index, mapping in context.read_mappings().items():
            if any(scheme.name == name for scheme in mapping.schemes()):
                self._strip(index, name)
                context.beside.forget_scheme(index, name, self.lookup.pages)
                self._forget(index, name)
        context.read_again()

    def _forget(self, index: str, name: str) -> None:
        body = {"properties": {ROOT: {"properties": {name: {"properties": forgotten()}}}}}
        self.client.request("PUT", f"{path_of(index)}/_mapping", body)

    def _strip(self, index: str, name: str) -> None:
        if reason := lost(self.client, self.context.mapping_of(index)):
            raise StoreError(
                f"{self.context.shown}: {index}: {reason}; removing the sketches would lose what _source leaves out"
            )
        idle = 0
        body = {
            "query": self.context.bodies.has(name),
            "size": BATCH_RECORDS,
            "_source": False,
            "seq_no_primary_term": True,
        }
        while idle < ROUNDS:
            self.client.request("POST", f"{path_of(index)}/_refresh")
            hits = self.client.search(path_of(index)[1:], body)["hits"]["hits"]
            if not hits:
                return
            outcomes = send(self.client, [_nulling(hit, name) for hit in hits])
            for outcome in outcomes:
                if not outcome.ok and outcome.status not in (404, 409):
                    raise StoreError(f"{self.context.shown}: sketches can't be removed from {index}: {outcome.reason}")
            idle = 0 if any(outcome.ok for outcome in outcomes) else idle + 1
            pause(idle)
        raise StoreError(f"{self.context.shown}: documents of {index} change constantly; run the same command again")

    def sketch_counts(self) -> Mapping[str, int]:
        context = self.context
        context.require_open()
        context.settle()
        names = [scheme.name for scheme in context.info.schemes]
        if not names:
            return {}
        asked = {name: {"filter": context.bodies.has(name)} for name in names}
        answer = self.lookup.search({"match_all": {}}, size=0, track_total_hits=False, aggs=asked)
        return {name: int(answer["aggregations"][name]["doc_count"]) for name in names}

    # Resources: the head of each names its parts, so that a new one takes the place of the old one at once.

    def put_resource(self, name: str, data: bytes) -> None:
        check_resource(name, data)
        self.context.require_writable()
        [old] = self._resources.get([name])
        digest = hashlib.sha256(data).hexdigest()[:32]
        parts = [f"{name}#{digest}#{start}" for start in range(0, len(data), _CHUNK_BYTES)]
        for number, part in enumerate(parts):
            chunk = data[number * _CHUNK_BYTES : (number + 1) * _CHUNK_BYTES]
            self._resources.put([(part, {"octets": base64.b64encode(chunk).decode("ascii")})])
        self._resources.put([(name, {"name": name, "parts": parts})])
        if old:
            self._resources.delete([part for part in old["parts"] if part not in parts])
        self._resources.settle()

    def get_resource(self, name: str) -> bytes | None:
        self.context.require_open()
        for _ in range(ROUNDS):
            [head] = self._resources.get([name])
            if head is None:
                return None
            # One by one: together they may be larger than an answer may be.
            parts = [self._resources.get([part])[0] for part in head["parts"]]
            chunks_found = [base64.b64decode(part["octets"]) for part in parts if part is not None]
            if len(chunks_found) == len(parts):
                return b"".join(chunks_found)
        raise StoreError(f"{self.context.shown}: the resource {name} is damaged: parts of it are gone; make it again")

    def resources(self) -> list[str]:
        self.context.require_open()
        return sorted(name for name in self._resources.counts("name") if name)


def _nulling(hit: Mapping[str, Any], name: str) -> Action:
    return update(place_of(hit), {"doc": {ROOT: {name: None}}}, unchanged(hit))
