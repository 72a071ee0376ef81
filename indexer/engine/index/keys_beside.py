"""Keys of long documents, in an index beside an owner's.

A record there is about a document and a scheme, with the digest of its text. It is used only if the document still has
this text, so outdated ones are never an answer.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.bulk import BATCH_BYTES, BATCH_RECORDS, item_at, multi_get, place_of
from indexer.engine.client.names import side_name
from indexer.engine.client.snapshots import pages
from indexer.engine.index.bodies import ROOT, Bodies, Hit, either
from indexer.engine.index.side_index import TERM, SideIndex, readable
from indexer.engine.index.sketches import BESIDE, sketch_properties
from indexer.model import Ref
from indexer.model.chunking import chunks, chunks_by_size

_KEYS_PROPERTIES: Mapping[str, Any] = {
    **dict.fromkeys(("id", "routing", "scheme"), TERM),
    "text_digest": {"type": "keyword", "index": False, "doc_values": False},
}
# So long an index beside that was not there is not looked for again.
_ABSENT_SECONDS = 10.0
# The engines take so many bytes for a path; a name has 255 at most.
_NAMES = 12
# The engines' own default for the most hits of one answer.
_MOST_HITS = 10_000
# A key and its blank, as they stand in `_source`.
_KEY_BYTES = 8


@dataclass(frozen=True, slots=True)
class KeysRecord:
    """The fields of a scheme for a document at (index, id, routing), and the digest of their text."""

    place: Ref
    scheme: str
    text_digest: str
    fields: Mapping[str, Any]

    @property
    def name(self) -> str:
        parts = "\0".join((self.scheme, self.place.routing or "", self.place.id))
        return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class KeysBeside:
    """The records beside each of a store's indices; `indices` returns their names, `bodies` the schemes."""

    def __init__(self, client: Client, indices: Callable[[], Sequence[str]], bodies: Callable[[], Bodies]) -> None:
        self._client, self._indices, self._bodies = client, indices, bodies
        self._known: dict[str, SideIndex[KeysRecord]] = {}
        self._there: frozenset[str] = frozenset()
        self._until = 0.0

    def _at(self, index: str) -> SideIndex[KeysRecord]:
        if index not in self._known:
            bodies = self._bodies()
            schemes = {
                scheme.name: {"properties": _beside(sketch_properties(scheme, doc_values=False))}
                for scheme in bodies.info.schemes
                if bodies.holders([scheme.name])
            }
            properties = {**_KEYS_PROPERTIES, ROOT: {"properties": schemes}}

            def read(source: Mapping[str, Any]) -> KeysRecord:
                place = Ref(source["id"], index, source.get("routing"))
                scheme: str = source["scheme"]
                return KeysRecord(place, scheme, source["text_digest"], (source.get(ROOT) or {}).get(scheme) or {})

            self._known[index] = SideIndex(self._client, "keys", properties, _body, read, store=beside_name(index))
        return self._known[index]

    def indices(self) -> list[str]:
        bodies = self._bodies()
        every = self._indices() if bodies.holders(bodies.schemes) else ()
        names = {side_name(beside_name(index), "keys"): index for index in every}
        if not self._there.issuperset(every) and time.monotonic() >= self._until:
            path = ",".join(names) if len(names) <= _NAMES else side_name("*", "keys")
            found = self._client.found(f"/{path}/_settings/index.uuid", ignore_unavailable="true") or {}
            self._there = frozenset(names[name] for name in found if name in names)
            self._until = time.monotonic() + _ABSENT_SECONDS
        return [index for index in every if index in self._there]

    def settle(self) -> None:
        for side in self._known.values():
            side.settle()

    # Writing

    def put(self, records: Iterable[KeysRecord]) -> None:
        """Replace records; call it before storing their documents, so that none lacks its keys."""
        by_index: dict[str, list[KeysRecord]] = {}
        for record in records:
            by_index.setdefault(record.place.index, []).append(record)
        for index, some in by_index.items():
            self._at(index).put((record.name, record) for record in some)
            self._there |= {index}

    def forget(self, places: Iterable[Ref], kept: Iterable[KeysRecord] = ()) -> None:
        there, bodies = frozenset(self.indices()), self._bodies()
        left = {(record.place, record.scheme) for record in kept}
        named = (
            (place, scheme) for place in places if place.index in there for scheme in bodies.holders(bodies.schemes)
        )
        self._forget(one for one in named if one not in left)

    def forget_scheme(self, index: str, scheme: str) -> None:
        if index in self.indices():
            for found in self._records(index, {"term": {"scheme": scheme}}):
                self._forget(found)

    def forget_gone(self) -> None:
        for index in self.indices():
            for found in self._records(index, {"match_all": {}}):
                asked = [{**item_at(place), "_source": False} for place, _ in found]
                answers = multi_get(self._client, asked)
                self._forget(one for one, answer in zip(found, answers, strict=True) if not answer.get("found"))

    def _records(self, index: str, query: Mapping[str, Any]) -> Iterator[list[tuple[Ref, str]]]:
        self._at(index).settle()
        body = {"query": query, "_source": ["id", "routing", "scheme"]}
        for hits in pages(self._client, self._at(index).name, body, BATCH_RECORDS):
            sources = [hit["_source"] for hit in hits]
            yield [(Ref(one["id"], index, one.get("routing")), one["scheme"]) for one in sources]

    def _forget(self, places: Iterable[tuple[Ref, str]]) -> None:
        by_index: dict[str, list[str]] = {}
        for place, scheme in places:
            by_index.setdefault(place.index, []).append(KeysRecord(place, scheme, "", {}).name)
        for index, names in by_index.items():
            self._at(index).delete(names)

    # Reading

    def count(self, scheme: str) -> int:
        self.settle()
        return sum(self._client.count(path, {"term": {"scheme": scheme}}) for path in self.paths())

    def fill(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        lying: dict[str, list[tuple[dict[str, Any], KeysRecord]]] = {}
        for hit in hits:
            own = (hit.get("_source") or {}).get(ROOT) or {}
            for name in _lying(own):
                record = KeysRecord(place_of(hit), name, own.get("text_digest") or "", {})
                lying.setdefault(hit["_index"], []).append((own[name], record))
        for index, asked in lying.items():
            for some in chunks_by_size(asked, BATCH_RECORDS, lambda one: _KEY_BYTES * one[0][BESIDE], BATCH_BYTES):
                records = self._at(index).get([wanted.name for _, wanted in some])
                for (fields, wanted), found in zip(some, records, strict=True):
                    if found and found.text_digest == wanted.text_digest:
                        fields.update(found.fields)
        return hits

    def holding(self, clauses: Sequence[Mapping[str, Any]], *, all_of_them: bool) -> Holders:
        indices = self.indices() if clauses else []
        found: dict[str, list[str]] = {}
        whole = True
        for some in chunks(indices, _NAMES):
            names = {self._at(index).name: index for index in some}
            for index in some:
                self._at(index).settle()
            body = {"query": either([dict(clause) for clause in clauses]), "_source": ["id"], "track_total_hits": True}
            answer = self._client.search(",".join(names), {**body, "size": _MOST_HITS}, ignore_unavailable="true")
            hits = answer["hits"]["hits"]
            if len(hits) < answer["hits"]["total"]["value"]:
                whole = whole and all_of_them
                every = pages(self._client, ",".join(names), body, _MOST_HITS) if all_of_them else iter([hits])
                hits = [hit for page in every for hit in page]
            for hit in hits:
                found.setdefault(names[hit["_index"]], []).append(hit["_source"]["id"])
        bodies = self._bodies()
        fields = [f"{ROOT}.{name}.{BESIDE}" for name in bodies.holders(bodies.schemes)]
        return Holders(found, fields, whole)

    def paths(self) -> list[str]:
        return [",".join(self._at(index).name for index in some) for some in chunks(self.indices(), _NAMES)]


@dataclass(frozen=True, slots=True)
class Holders:
    """Documents by index, the fields of which they have one if a record is still theirs, and whether these are all."""

    ids: Mapping[str, Sequence[str]]
    fields: Sequence[str]
    whole: bool

    def clauses(self) -> list[dict[str, Any]]:
        lying = either([{"exists": {"field": field}} for field in self.fields])
        named = {index: {"ids": {"values": list(dict.fromkeys(names))}} for index, names in self.ids.items()}
        return [{"bool": {"filter": [{"term": {"_index": index}}, ids, lying]}} for index, ids in named.items()]


def beside_name(index: str) -> str:
    return index.lstrip(".")


def records_beside(place: Ref, own: Mapping[str, Any], beside: Mapping[str, Mapping[str, Any]]) -> list[KeysRecord]:
    digest = own.get("text_digest") or ""
    return [KeysRecord(place, scheme, digest, fields) for scheme, fields in beside.items()]


def _lying(own: Any) -> list[str]:
    parts = own.items() if isinstance(own, Mapping) else ()
    return [name for name, fields in parts if isinstance(fields, dict) and fields.get(BESIDE) is not None]


def _body(record: KeysRecord) -> Mapping[str, Any]:
    named = readable({"id": record.place.id, "routing": record.place.routing, "scheme": record.scheme})
    return {**named, "text_digest": record.text_digest, ROOT: {record.scheme: dict(record.fields)}}


def _beside(fields: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: dict(field) for name, field in fields.items() if name != BESIDE}
    for field in kept.values():
        field.pop("meta", None)
    return kept
