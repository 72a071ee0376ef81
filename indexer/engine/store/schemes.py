"""Secondary schemes, and what a store keeps beside the documents: resources, failures, clusters, decisions."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from indexer.engine.client.bulk import BATCH_RECORDS, ROUNDS, pause, place_of, send, unchanged, update
from indexer.engine.client.names import path_of
from indexer.engine.index.bodies import ROOT
from indexer.engine.index.mapping import properties
from indexer.engine.index.side_index import (
    NOTE_ID,
    failure_id,
    notes_by_index,
    replace_copied,
)
from indexer.engine.index.sketches import forgotten, sketch_properties
from indexer.engine.setup.removal import lost
from indexer.engine.store.context import EnginePart
from indexer.errors import StoreError, UsageError
from indexer.model import ClusteringNote, Failure
from indexer.model.copied import CopiedRow
from indexer.schemes.keys.layout import SchemeInfo
from indexer.stores.kept import KeptKind
from indexer.stores.sketches import check_resource, is_new

T = TypeVar("T")
_CHUNK_BYTES = 2 << 20


class SchemePart(EnginePart):
    # Adding and removing

    def add_scheme(self, scheme: SchemeInfo) -> None:
        self.require_writable()
        if scheme.name in properties()[ROOT]["properties"]:
            raise UsageError(f"{scheme.name}: a scheme can't have the name of one of neardup's own fields")
        missing = {
            index: mapping
            for index, mapping in self.read_mappings().items()
            if (info := mapping.info(self.shown)) and is_new(info.schemes, scheme, f"{self.shown} ({index})")
        }
        fields = {
            index: {ROOT: {"properties": {scheme.name: {"properties": own}}}}
            for index, mapping in missing.items()
            for own in [sketch_properties(scheme, doc_values=not mapping.made)]
        }
        for index, mapping in missing.items():
            mapping.require_room(self.client, fields[index], self.shown)
        for index in missing:
            self.client.request("PUT", f"{path_of(index)}/_mapping", {"properties": fields[index]})
        self.read_again()

    def remove_scheme(self, name: str) -> None:
        self.require_writable()
        for index, mapping in self.read_mappings().items():
            if any(scheme.name == name for scheme in mapping.schemes()):
                self._strip(index, name)
                self.beside.forget_scheme(index, name)
                self._forget(index, name)
        self.read_again()

    def _forget(self, index: str, name: str) -> None:
        body = {"properties": {ROOT: {"properties": {name: {"properties": forgotten()}}}}}
        self.client.request("PUT", f"{path_of(index)}/_mapping", body)

    def _strip(self, index: str, name: str) -> None:
        if reason := lost(self.client, self.mapping_of(index)):
            raise StoreError(
                f"{self.shown}: {index}: {reason}; removing the sketches would lose what _source leaves out"
            )
        idle = 0
        body = {
            "query": self.bodies.has(name),
            "size": BATCH_RECORDS,
            "_source": False,
            "seq_no_primary_term": True,
        }
        while idle < ROUNDS:
            self.client.request("POST", f"{path_of(index)}/_refresh")
            hits = self.client.search(path_of(index)[1:], body)["hits"]["hits"]
            if not hits:
                return
            outcomes = send(
                self.client, [update(place_of(hit), {"doc": {ROOT: {name: None}}}, unchanged(hit)) for hit in hits]
            )
            for outcome in outcomes:
                if not outcome.ok and outcome.status not in (404, 409):
                    raise StoreError(f"{self.shown}: sketches can't be removed from {index}: {outcome.reason}")
            idle = 0 if any(outcome.ok for outcome in outcomes) else idle + 1
            pause(idle)
        raise StoreError(f"{self.shown}: documents of {index} change constantly; run the same command again")

    def sketch_counts(self) -> Mapping[str, int]:
        names = [scheme.name for scheme in self.info.schemes]
        if not names:
            return {}
        asked = {name: {"filter": self.bodies.has(name)} for name in names}
        answer = self.search({"match_all": {}}, size=0, track_total_hits=False, aggs=asked)
        return {name: int(answer["aggregations"][name]["doc_count"]) for name in names}

    # Resources: the head of each names its parts, so that a new one takes the place of the old one at once.

    def put_resource(self, name: str, data: bytes) -> None:
        check_resource(name, data)
        self.require_writable()
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
        for _ in range(ROUNDS):
            [head] = self._resources.get([name])
            if head is None:
                return None
            # One by one: together they may be larger than an answer may be.
            parts = [self._resources.get([part])[0] for part in head["parts"]]
            chunks_found = [base64.b64decode(part["octets"]) for part in parts if part is not None]
            if len(chunks_found) == len(parts):
                return b"".join(chunks_found)
        raise StoreError(f"{self.shown}: the resource {name} is damaged: parts of it are gone; make it again")

    # What is kept by name

    def keep(self, kind: KeptKind[T], items: Iterable[T]) -> None:
        self.require_writable()
        if kind.name == "clusters":
            self.require_mapped()
        self.sides[kind.name].put((self._name(kind, item), item) for item in items)
        self.wrote()

    def kept(self, kind: KeptKind[T], names: Sequence[str]) -> list[T | None]:
        return self.sides[kind.name].get(names)

    def every_kept(self, kind: KeptKind[T]) -> Iterator[T]:
        return self.sides[kind.name].pages(*(("id", "index", "routing") if kind.name == "failures" else ("id",)))

    def forget(self, kind: KeptKind[T], names: Sequence[str]) -> int:
        self.require_writable()
        return self.sides[kind.name].delete(names)

    def _name(self, kind: KeptKind[T], item: T) -> str:
        # An id of several indices may have failed in each of them.
        return failure_id(item.ref) if isinstance(item, Failure) else kind.name_of(item)

    def clustering_notes(self) -> Mapping[str, ClusteringNote]:
        return notes_by_index(self._notes)

    def put_clustering_note(self, note: ClusteringNote | None) -> None:
        self.require_writable()
        if note is None:
            self._notes.delete([NOTE_ID])
        else:
            self._notes.put([(NOTE_ID, note)])
        self._notes.settle()

    def keeper_of_copied(self) -> Callable[[Iterable[CopiedRow]], int]:
        self.require_writable()
        if self.narrowing is not None:
            raise UsageError("dashboards are of the whole collection; leave out the filter, or don't write")
        return lambda rows: replace_copied(self.client, rows)
