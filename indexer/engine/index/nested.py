"""The fields that a query string never reaches: those of nested objects, which engines keep as separate documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from indexer.engine.index.mapping import Mappings

_ON = (True, "true")
# Quoted words and regular expressions hold no names of fields.
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"|/(?:\\.|[^/\\])*/')
_NAME = re.compile(r"(?:^|[\s(+\-!])((?:\\.|[^\s:\"()\\])+):")
_EXISTS = re.compile(r"_exists_:\s*((?:\\.|[^\s:\"()\\])+)")


def unreached(mappings: Mappings, query: str) -> list[str]:
    """The fields that a query string names and that lie in a nested object of one of these mappings, sorted."""
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
