"""Fields of nested objects in query strings; on real engines in `engines/annotate/test_remembered_fields.py`."""

from __future__ import annotations

from typing import Any

import pytest

from indexer.engine.index.mapping import Mappings
from indexer.engine.store.reading import unreached

NESTED: dict[str, Any] = {"type": "nested", "properties": {"text": {"type": "text"}}}
MAPPING: dict[str, Any] = {
    "properties": {
        "lang": {"type": "keyword"},
        "parts": NESTED,
        "deep": {"properties": {"inner": NESTED, "partsx": {"type": "keyword"}}},
        "shown": {**NESTED, "include_in_root": True},
    }
}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("lang:en", []),
        ("parts.text:word", ["parts.text"]),
        ("lang:en AND (NOT parts.text:word)", ["parts.text"]),
        ("+parts.text:(one two) -deep.inner.text:x", ["deep.inner.text", "parts.text"]),
        ("_exists_:parts.text", ["parts.text"]),
        ("_exists_: parts", ["parts"]),
        (r"parts.\*:word", ["parts.*"]),
        ('lang:"parts.text:word"', []),
        ("lang:/parts.text:w/", []),
        ("deep.partsx:1 partsy:1", []),
        ("shown.text:word", []),
        ("word", []),
        ("lang:[a TO b] AND date:[2024 TO *]", []),
    ],
)
def test_names_of_nested_fields_are_found(query: str, names: list[str]) -> None:
    assert unreached(Mappings.of({"a": {}, "b": MAPPING}), query) == names
