"""The fields of a secondary scheme in a document of a search engine: `sketch`, `features`, and `key_terms`.

The last is a text of the packed keys, each in digits of base64, and every one of them is a term. A scheme of a few
tables has a field for each table: `t00`, `t01` and so on.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from indexer.errors import UsageError
from indexer.model import Sketch
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo

PAYLOAD, FEATURES, KEYS = "sketch", "features", "key_terms"
# The engines take five entries of 50 characters as metadata of a field; the first has the layout too.
_META_TEXT, _META_TEXTS = 50, 4
_LAYOUT = "layout"
_FEATURES = {"type": "integer", "index": False}
_KEY = {"type": "keyword", "doc_values": False, "norms": False, "index_options": "docs"}
_KEYS = {"type": "text", "analyzer": "whitespace", "norms": False, "index_options": "docs"}
_OWN = re.compile(r"sketch|features|key_terms|t\d{2,}")
_FEW_TABLES = frozenset({"supershingles"})


@dataclass(frozen=True, slots=True)
class KeyFields:
    """The fields of a scheme's keys: one for all of them, or `separate` ones, one for each table."""

    layout: KeyLayout
    separate: bool

    @classmethod
    def of(cls, scheme: SchemeInfo) -> Self:
        """The key fields of a scheme."""
        return cls(scheme.layout, scheme.name in _FEW_TABLES)

    def names(self) -> list[str]:
        """The names of the fields."""
        layout = self.layout
        return [layout.field(table) for table in range(layout.tables)] if self.separate else [KEYS]

    def mapped(self) -> dict[str, dict[str, Any]]:
        """The mapping of each field."""
        return {name: dict(_KEY if self.separate else _KEYS) for name in self.names()}

    def written(self, keys: Iterable[int]) -> dict[str, Any]:
        """The fields of a document with these packed keys."""
        if not self.separate:
            return {KEYS: " ".join(self._digits(key) for key in dict.fromkeys(keys))}
        terms = self.layout.terms(dict.fromkeys(keys))
        return {field: listed[0] if len(listed) == 1 else listed for field, listed in terms.items()}

    def read(self, fields: Mapping[str, Any]) -> tuple[int, ...]:
        """The packed keys of a document's fields."""
        if not self.separate:
            return tuple(self._number(digits) for digits in (fields.get(KEYS) or "").split())
        return self.layout.packed(fields)

    def asked(self, keys: Iterable[int]) -> list[tuple[str, list[str]]]:
        """Field and terms of each table that is asked for."""
        wanted = dict.fromkeys(keys)
        if self.separate:
            return list(self.layout.terms(wanted).items())
        tables: dict[int, list[str]] = {}
        for key in wanted:
            tables.setdefault(self.layout.unpack(key)[0], []).append(self._digits(key))
        return [(KEYS, terms) for terms in tables.values()]

    def _digits(self, key: int) -> str:
        """A packed key in as many digits of base64 as the last one takes."""
        width = self._width()
        return base64.urlsafe_b64encode(key.to_bytes(-(-width // 4) * 3, "big"))[-width:].decode("ascii")

    def _number(self, digits: str) -> int:
        return int.from_bytes(base64.urlsafe_b64decode(digits.rjust(-(-len(digits) // 4) * 4, "A")), "big")

    def _width(self) -> int:
        return -(-(self.layout.end - 1).bit_length() // 6)


def sketch_properties(scheme: SchemeInfo, *, doc_values: bool = True) -> dict[str, Any]:
    """The mapping of a scheme's fields: the payload is read from doc values, the keys are only searched.

    In an index of neardup's own `_source` is short, and payloads are read from there: without `doc_values`.

    What the scheme is stands there too, and not in the mapping's `_meta`, which can only be written as a whole: of two
    processes that add a scheme at once, one would undo the other. UsageError for an id that is too long for that.
    """
    fields: dict[str, Any] = {
        FEATURES: dict(_FEATURES),
        PAYLOAD: {"type": "binary", "doc_values": doc_values},
        **KeyFields.of(scheme).mapped(),
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
    """The change of a scheme's mapping that takes the scheme out of the store."""
    return {FEATURES: {**_FEATURES, "meta": {}}}


def scheme_in(name: str, field: Mapping[str, Any]) -> SchemeInfo | None:
    """The scheme that a field's mapping describes, None where it describes none. Raises KeyError or ValueError."""
    fields = field.get("properties", {})
    layout = (fields.get(FEATURES, {}).get("meta") or {}).get(_LAYOUT)
    if not layout:
        return None
    parts = {
        key: part
        for key_field in fields.values()
        for key, part in (key_field.get("meta") or {}).items()
        if key != _LAYOUT
    }
    return SchemeInfo(name, "".join(parts[key] for key in sorted(parts)), KeyLayout(*map(int, layout.split("x"))))


def is_scheme(field: Mapping[str, Any]) -> bool:
    """True if a field's mapping is that of a scheme, of whatever layout."""
    names = field.get("properties", {})
    return bool(names) and all(_OWN.fullmatch(name) for name in names)


def has_doc_values(fields: Mapping[str, Any]) -> bool:
    """True if payloads can be read from doc values where a scheme has these fields."""
    return PAYLOAD not in fields or fields[PAYLOAD].get("doc_values") in (True, "true")


def sketch_fields(sketch: Sketch, keys: KeyFields) -> dict[str, Any]:
    """The fields under a scheme's name in a document."""
    fields: dict[str, Any] = {FEATURES: sketch.features}
    if sketch.payload:
        fields[PAYLOAD] = base64.b64encode(sketch.payload).decode("ascii")
    return fields | (keys.written(sketch.keys) if sketch.keys else {})


def replacing_fields(fields: Mapping[str, Any], keys: KeyFields) -> dict[str, Any]:
    """The fields of a sketch for a partial update: those that it does not have become null."""
    return dict.fromkeys([PAYLOAD, FEATURES, *keys.names()]) | dict(fields)


def sketch_of(scheme: SchemeInfo, fields: Mapping[str, Any], keys: KeyFields) -> Sketch | None:
    """The sketch of a document's fields; None where it has none of this scheme."""
    features = fields.get(FEATURES)
    if features is None:
        return None
    payload = fields.get(PAYLOAD)
    return Sketch(scheme.id, unpacked_payload(payload) if payload else b"", keys.read(fields), features)


def unpacked_payload(text: str) -> bytes:
    """The bytes of a payload as the engines write it: base64, with padding or without."""
    return base64.b64decode(text + "=" * (-len(text) % 4))
