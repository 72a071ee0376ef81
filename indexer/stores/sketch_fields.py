"""The fields of a scheme beside the first in a document of a cluster: `sketch`, `features`, and one for each table."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from indexer.errors import UsageError
from indexer.keys import KeyLayout, SchemeInfo
from indexer.model import Sketch

PAYLOAD, FEATURES = "sketch", "features"
# The engines take five entries of 50 characters as metadata of a field; the first has the layout too.
_META_TEXT, _META_TEXTS = 50, 4
_LAYOUT = "layout"
_FEATURES = {"type": "integer", "index": False}
_KEY = {"type": "keyword", "doc_values": False, "norms": False, "index_options": "docs"}
_OWN = re.compile(r"sketch|features|t\d{2,}")


def sketch_properties(scheme: SchemeInfo) -> dict[str, Any]:
    """The mapping of a scheme's fields: the payload is read from doc values, the keys are only searched.

    What the scheme is stands there too, and not in the mapping's `_meta`, which can only be written as a whole: of two
    processes that add a scheme at once, one would undo the other. UsageError for an id that is too long for that.
    """
    fields: dict[str, Any] = {
        FEATURES: dict(_FEATURES),
        PAYLOAD: {"type": "binary", "doc_values": True},
        **{scheme.layout.field(table): dict(_KEY) for table in range(scheme.layout.tables)},
    }
    most = _META_TEXT * _META_TEXTS * len(fields)
    if len(scheme.id) > most:
        raise UsageError(f"{scheme.name}: its parameters take {len(scheme.id)} characters, more than {most}")
    places = list(fields.values())
    places[0]["meta"] = {_LAYOUT: f"{scheme.layout.tables}x{scheme.layout.bits}"}
    for number, start in enumerate(range(0, len(scheme.id), _META_TEXT)):
        meta = places[number // _META_TEXTS].setdefault("meta", {})
        meta[f"id{number:03}"] = scheme.id[start : start + _META_TEXT]
    return fields


def forgotten() -> dict[str, Any]:
    """The change of a scheme's mapping after which it is none that the store has."""
    return {FEATURES: {**_FEATURES, "meta": {}}}


def scheme_in(name: str, field: Mapping[str, Any]) -> SchemeInfo | None:
    """The scheme that a field's mapping describes, None where it describes none. Raises KeyError or ValueError."""
    fields = field.get("properties", {})
    layout = (fields.get(FEATURES, {}).get("meta") or {}).get(_LAYOUT)
    if not layout:
        return None
    parts = {key: part for each in fields.values() for key, part in (each.get("meta") or {}).items() if key != _LAYOUT}
    return SchemeInfo(name, "".join(parts[key] for key in sorted(parts)), KeyLayout(*map(int, layout.split("x"))))


def is_scheme(field: Mapping[str, Any]) -> bool:
    """Whether a field's mapping is that of a scheme, of whatever layout."""
    names = field.get("properties", {})
    return bool(names) and all(_OWN.fullmatch(name) for name in names)


def sketch_fields(scheme: SchemeInfo, sketch: Sketch) -> dict[str, Any]:
    """What stands under a scheme's name in a document."""
    found: dict[str, Any] = {FEATURES: sketch.features}
    if sketch.payload:
        found[PAYLOAD] = base64.b64encode(sketch.payload).decode("ascii")
    terms: dict[str, list[str]] = {}
    for key in sketch.keys:
        table, rest = scheme.layout.unpack(key)
        terms.setdefault(scheme.layout.field(table), []).append(scheme.layout.term(rest))
    return found | {name: each[0] if len(each) == 1 else each for name, each in terms.items()}


def replacing_fields(scheme: SchemeInfo, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a partial update: what it does not have becomes null."""
    return dict.fromkeys(sketch_properties(scheme)) | dict(fields)


def sketch_of(scheme: SchemeInfo, fields: Mapping[str, Any]) -> Sketch | None:
    """The sketch of a document's fields; None where it has none of this scheme."""
    features = fields.get(FEATURES)
    if features is None:
        return None
    payload = fields.get(PAYLOAD)
    return Sketch(scheme.id, unpacked_payload(payload) if payload else b"", packed_keys(scheme, fields), features)


def packed_keys(scheme: SchemeInfo, fields: Mapping[str, Any]) -> tuple[int, ...]:
    """The packed keys of a document's fields, by table."""
    layout = scheme.layout
    found: list[int] = []
    for table in range(layout.tables):
        terms = fields.get(layout.field(table)) or ()
        found += (layout.pack(table, int(term, 16)) for term in ((terms,) if isinstance(terms, str) else terms))
    return tuple(found)


def unpacked_payload(text: str) -> bytes:
    """The octets of a payload as the engines write it: base64, with padding or without."""
    return base64.b64decode(text + "=" * (-len(text) % 4))
