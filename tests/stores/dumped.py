"""All that a store holds as plain JSON: what the fixtures of older states are compared by."""

from __future__ import annotations

import base64
from typing import Any

from indexer.model import Record, Ref, Sketch
from indexer.stores import Store

_RECORD = ("short", "source", "title", "format", "extractor", "size", "source_digest", "indexed_at", "metadata")
_CLUSTER = ("id", "title", "size", "radius", "first_seen", "last_seen")
_FAILURE = ("source", "reason", "detail", "failed_at", "source_digest")


def dump(store: Store) -> dict[str, Any]:
    """Records, annotations, clusters, failures, resources and counts, each in an order of its own."""
    stats = store.stats()
    return {
        "info": [store.info.scheme, store.info.version, [[each.name, each.id] for each in store.info.schemes]],
        "records": {name_of(each.ref): _record(each) for each in sorted(store.scan(), key=lambda each: each.ref)},
        "annotations": {
            name_of(ref): dict(annotations) for ref, annotations in sorted(store.scan_annotations(), key=_by_ref)
        },
        "clusters": [
            {name: getattr(each, name) for name in _CLUSTER}
            | {"octets": each.total_bytes, "redundant_octets": each.redundant_bytes}
            | {"canonical": name_of(each.canonical), "formats": list(each.formats), "origins": list(each.origins)}
            for each in store.clusters()
        ],
        "failures": {name_of(each.ref): {name: getattr(each, name) for name in _FAILURE} for each in store.failures()},
        "resources": {name: _text(store.get_resource(name) or b"") for name in store.resources()},
        "counts": [stats.documents, stats.fingerprinted, stats.distinct, stats.short, stats.empty],
        "sketch_counts": dict(store.sketch_counts()),
    }


def name_of(ref: Ref) -> str:
    """An identity in the dump."""
    return f"{ref.index}/{ref.id}/{ref.routing or ''}"


def _by_ref(pair: tuple[Ref, Any]) -> Ref:
    return pair[0]


def _record(record: Record) -> dict[str, Any]:
    fields = {name: getattr(record, name) for name in _RECORD}
    value = record.fingerprint.value if record.fingerprint else None
    return {
        **fields,
        "metadata": dict(record.metadata),
        "value": value,
        "tokens": record.tokens,
        "keys": list(record.keys),
        "sketches": {name: _sketch(sketch) for name, sketch in sorted(record.sketches.items())},
    }


def _sketch(sketch: Sketch) -> list[Any]:
    return [sketch.scheme, _text(sketch.payload), sorted(sketch.keys), sketch.features]


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
