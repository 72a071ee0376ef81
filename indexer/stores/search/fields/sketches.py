"""The fields of a secondary scheme in a document of a search engine: `sketch`, `features`, and `keys`.

Each term of `keys` is a table's number of two digits or more, then the key. A scheme of a few tables, and an index that
had a scheme before there were `keys`, has a field for each table: `t00`, `t01` and so on.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from indexer.errors import UsageError
from indexer.model import Sketch
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo

PAYLOAD, FEATURES, KEYS = "sketch", "features", "keys"
# The engines take five entries of 50 characters as metadata of a field; the first has the layout too.
_META_TEXT, _META_TEXTS = 50, 4
_LAYOUT = "layout"
_FEATURES = {"type": "integer", "index": False}
_KEY = {"type": "keyword", "doc_values": False, "norms": False, "index_options": "docs"}
_OWN = re.compile(r"sketch|features|keys|t\d{2,}")
_FEW_TABLES = frozenset({"supershingles"})


@dataclass(frozen=True, slots=True)
class KeyFields:
    """Where the keys of a scheme stand: `joined` in one field, `separate` in one for each table.

    In both where indices behind one name differ; each of them maps, and so finds, its own.
    """

    layout: KeyLayout
    joined: bool
    separate: bool

    @classmethod
    def of(cls, scheme: SchemeInfo, there: Iterable[Mapping[str, Any]]) -> Self:
        """Of the indices that have these fields under the scheme's name; where none has any, as they would be made."""
        kinds = {KEYS in fields for fields in there if fields}
        if not kinds:
            kinds = {scheme.name not in _FEW_TABLES}
        return cls(scheme.layout, True in kinds, False in kinds)

    def names(self) -> list[str]:
        """The names of the fields."""
        layout = self.layout
        return [KEYS] * self.joined + ([layout.field(table) for table in range(layout.tables)] if self.separate else [])

    def written(self, keys: Iterable[int]) -> dict[str, Any]:
        """The fields of a document with these packed keys."""
        tables = self._terms(keys)
        fields: dict[str, Any] = {}
        if self.joined:
            fields[KEYS] = [_joined(table, term) for table, terms in tables.items() for term in terms]
        if self.separate:
            for table, terms in tables.items():
                fields[self.layout.field(table)] = terms[0] if len(terms) == 1 else terms
        return fields

    def read(self, fields: Mapping[str, Any]) -> tuple[int, ...]:
        """The packed keys of a document's fields."""
        layout = self.layout
        joined = fields.get(KEYS)
        if joined:
            width = len(layout.term(0))
            return tuple(layout.pack(int(term[:-width]), int(term[-width:], 16)) for term in _listed(joined))
        packed: list[int] = []
        for table in range(layout.tables):
            terms = _listed(fields.get(layout.field(table)) or ())
            packed += (layout.pack(table, int(term, 16)) for term in terms)
        return tuple(packed)

    def asked(self, keys: Iterable[int]) -> Iterator[list[tuple[str, list[str]]]]:
        """For each way in which documents have keys: field and terms of each table that is asked for."""
        tables = self._terms(keys)
        if self.joined:
            yield [(KEYS, [_joined(table, term) for term in terms]) for table, terms in tables.items()]
        if self.separate:
            yield [(self.layout.field(table), terms) for table, terms in tables.items()]

    def _terms(self, keys: Iterable[int]) -> dict[int, list[str]]:
        layout, terms = self.layout, dict[int, list[str]]()
        for key in dict.fromkeys(keys):
            table, rest = layout.unpack(key)
            terms.setdefault(table, []).append(layout.term(rest))
        return terms


def _joined(table: int, term: str) -> str:
    return f"{table:02d}{term}"


def _listed(terms: Any) -> Iterable[str]:
    return (terms,) if isinstance(terms, str) else terms


def sketch_properties(scheme: SchemeInfo, there: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The mapping of a scheme's fields: the payload is read from doc values, the keys are only searched.

    What the scheme is stands there too, and not in the mapping's `_meta`, which can only be written as a whole: of two
    processes that add a scheme at once, one would undo the other. `there` are the fields that an index has under the
    scheme's name already; keys stay where they are. UsageError for an id that is too long for that.
    """
    have = there or {}
    tables = {scheme.layout.field(table): dict(_KEY) for table in range(scheme.layout.tables)}
    keep = have.keys() >= tables.keys() and KEYS not in have
    keys = KeyFields.of(scheme, [] if not keep else [have])
    fields: dict[str, Any] = {
        FEATURES: dict(_FEATURES),
        PAYLOAD: {"type": "binary", "doc_values": True},
        **{name: dict(_KEY) for name in keys.names()},
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
    """Whether a field's mapping is that of a scheme, of whatever layout."""
    names = field.get("properties", {})
    return bool(names) and all(_OWN.fullmatch(name) for name in names)


def sketch_fields(sketch: Sketch, keys: KeyFields) -> dict[str, Any]:
    """What stands under a scheme's name in a document."""
    fields: dict[str, Any] = {FEATURES: sketch.features}
    if sketch.payload:
        fields[PAYLOAD] = base64.b64encode(sketch.payload).decode("ascii")
    return fields | (keys.written(sketch.keys) if sketch.keys else {})


def replacing_fields(fields: Mapping[str, Any], keys: KeyFields) -> dict[str, Any]:
    """The same for a partial update: what it does not have becomes null."""
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
