"""The fields of a secondary scheme in a document of a search engine: `sketch`, `features`, and `key_terms`.

`key_terms` is a text of the packed keys, each in base64 digits and a term. If the payload is only the keys, as for
passages, they stand for it, without `sketch`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from indexer.errors import UsageError
from indexer.model import Sketch
from indexer.model.ragged import Ragged
from indexer.schemes.base import Scheme
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo
from indexer.schemes.registry import known_class

PAYLOAD, FEATURES, KEYS = "sketch", "features", "key_terms"
# In the place of a sketch that an owner's document has no room for, and that lies beside: the number of its features.
BESIDE = "beside"
# The engines take five entries of 50 characters as metadata of a field; the first has the layout too.
_META_TEXT, _META_TEXTS = 50, 4
_LAYOUT = "layout"
_FEATURES = {"type": "integer", "index": False}
_KEYS = {"type": "text", "analyzer": "whitespace", "norms": False, "index_options": "docs"}
_OWN = frozenset({PAYLOAD, FEATURES, KEYS, BESIDE})
_DIGITS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", dtype=np.uint8)
_NUMBERS = np.zeros(256, dtype=np.int64)
_NUMBERS[_DIGITS] = np.arange(64)


@dataclass(frozen=True, slots=True)
class KeyFields:
    """The field of a scheme's keys; `holder` is the scheme if its payloads are made of the keys, else None."""

    layout: KeyLayout
    holder: type[Scheme] | None = None

    @classmethod
    def of(cls, scheme: SchemeInfo) -> Self:
        made = known_class(scheme.name)
        holds = made is not None and made.payloads_of(Ragged.of_integers([[]])) is not None
        return cls(scheme.layout, made if holds else None)

    def read(self, fields: Mapping[str, Any]) -> npt.NDArray[np.int64]:
        width = self._width()
        if not (digits := fields.get(KEYS)):
            return np.zeros(0, dtype=np.int64)
        rows = np.frombuffer(f"{digits} ".encode("ascii", "replace"), dtype=np.uint8).reshape(-1, width + 1)
        return _NUMBERS[rows[:, :width]] @ (np.int64(1) << np.arange(6 * width - 6, -1, -6))

    def asked(self, keys: Iterable[int]) -> list[tuple[str, list[str]]]:
        tables: dict[int, list[int]] = {}
        for key in dict.fromkeys(keys):
            tables.setdefault(key >> self.layout.bits, []).append(key)
        return [(KEYS, self.written(some).split()) for some in tables.values()]

    def payload(self, fields: Mapping[str, Any]) -> bytes:
        if written := fields.get(PAYLOAD):
            return unpacked_payload(written)
        return self._held(self.read(fields))

    def holds(self, sketch: Sketch) -> bool:
        return self._held(np.array(sketch.keys, dtype=np.int64)) == sketch.payload

    def _held(self, keys: npt.NDArray[np.int64]) -> bytes:
        made = self.holder.payloads_of(Ragged.of_matrix(keys.reshape(1, -1))) if self.holder else None
        return made.bytes_of(0) if made else b""

    def written(self, keys: Iterable[int]) -> str:
        numbers, width = np.array(list(dict.fromkeys(keys)), dtype=np.int64), self._width()
        rows = np.full((numbers.size, width + 1), ord(" "), dtype=np.uint8)
        for place in range(width):
            rows[:, place] = _DIGITS[numbers >> 6 * (width - 1 - place) & 63]
        return rows.tobytes()[:-1].decode("ascii")

    def _width(self) -> int:
        return -(-(self.layout.end - 1).bit_length() // 6)


@dataclass(frozen=True, slots=True)
class SimhashFields:
    """The fields of the keys of simhash-doc, one for each table."""

    layout: KeyLayout

    def read(self, fields: Mapping[str, Any]) -> npt.NDArray[np.int64]:
        return np.array(self.layout.packed(fields), dtype=np.int64)

    def asked(self, keys: Iterable[int]) -> list[tuple[str, list[str]]]:
        return list(self.layout.terms(dict.fromkeys(keys)).items())


def sketch_properties(scheme: SchemeInfo, *, doc_values: bool = True) -> dict[str, Any]:
    """The mapping of a scheme's fields: the payload is read from doc values, the keys are only searched.

    In an index of neardup's own `_source` is short, and payloads are read from it, without `doc_values`. Payloads made
    of keys are always read from it.

    The mapping of the field describes the scheme, not the mapping's `_meta`, which can only be written as a whole: of
    two processes adding a scheme at once, one would undo the other. Raises UsageError for an id too long for it.
    """
    keys = KeyFields.of(scheme)
    fields: dict[str, Any] = {
        FEATURES: dict(_FEATURES),
        PAYLOAD: {"type": "binary", "doc_values": doc_values and keys.holder is None},
        KEYS: dict(_KEYS),
        **({BESIDE: dict(_FEATURES)} if keys.holder else {}),
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
    return {FEATURES: {**_FEATURES, "meta": {}}}


def scheme_in(name: str, field: Mapping[str, Any]) -> SchemeInfo | None:
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
    names = field.get("properties", {})
    return bool(names) and names.keys() <= _OWN


def has_doc_values(fields: Mapping[str, Any]) -> bool:
    return PAYLOAD not in fields or fields[PAYLOAD].get("doc_values") in (True, "true")


def sketch_fields(sketch: Sketch, keys: KeyFields) -> dict[str, Any]:
    fields: dict[str, Any] = {FEATURES: sketch.features}
    if sketch.payload and not keys.holds(sketch):
        fields[PAYLOAD] = base64.b64encode(sketch.payload).decode("ascii")
    return fields | ({KEYS: keys.written(sketch.keys)} if sketch.keys else {})


def sketch_of(scheme: SchemeInfo, fields: Mapping[str, Any], keys: KeyFields) -> Sketch | None:
    features = fields.get(FEATURES)
    if features is None:
        return None
    return Sketch(scheme.id, keys.payload(fields), tuple(keys.read(fields).tolist()), features)


def unpacked_payload(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4))
