"""Where the text of a field is found, in mappings and documents of every shape."""

from __future__ import annotations

from typing import Any

import pytest

from indexer.engine.client.base import WrittenFloat
from indexer.engine.index.mapping import Mappings
from indexer.engine.index.source_fields import (
    differing_fields,
    require_harmless,
    require_readable,
    source_paths,
    values_of,
)
from indexer.errors import StoreError, UsageError

MAPPING: dict[str, Any] = {
    "properties": {
        "body": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
        "page": {"properties": {"text": {"type": "text", "fields": {"en": {"type": "text"}}}}},
        "labels": {"type": "flattened"},
        "off": {"type": "object", "enabled": False},
        "alias": {"type": "alias", "path": "page.text"},
        "open": {"dynamic": "false", "properties": {"deep": {"properties": {"x": {"type": "text"}}}}},
    }
}


@pytest.mark.parametrize(
    ("source", "path", "expected"),
    [
        ({"a": "x"}, "a", ["x"]),
        ({"a": ["x", ["y", None, 3, 1.5, True, {}]]}, "a", ["x", "y", "3", "1.5"]),
        ({"a": {"b": {"c": "x"}}}, "a.b.c", ["x"]),
        ({"a.b": {"c": "x"}}, "a.b.c", ["x"]),
        ({"a": {"b.c": "x"}, "a.b.c": "y"}, "a.b.c", ["x", "y"]),
        ({"a": [{"b": "x"}, {"b": ["y", "z"]}, {}, "w"]}, "a.b", ["x", "y", "z"]),
        ({"a": "x"}, "a.b", []),
        ({}, "a", []),
        (None, "a", []),
    ],
)
def test_values(source: Any, path: str, expected: list[str]) -> None:
    assert values_of(source, path) == expected


def test_a_document_of_any_depth_is_read() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    assert values_of({"a": deep}, "a") == ["x"]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("body", "body"),
        ("body.raw", "body"),
        ("page.text.en", "page.text"),
        ("alias", "page.text"),
        ("labels.any.thing", "labels.any.thing"),
        ("off.any", "off.any"),
        ("open.deep.new", "open.deep.new"),
    ],
)
def test_paths(name: str, path: str) -> None:
    assert source_paths(Mappings.of({"i": MAPPING}), [name], "there") == (path,)


@pytest.mark.parametrize("name", ["bdy", "body.other", "page", "page.other", "raw"])
def test_no_such_field(name: str) -> None:
    with pytest.raises(UsageError, match="body"):
        source_paths(Mappings.of({"i": MAPPING}), [name], "there")


def test_fields_that_differ_between_indices() -> None:
    other = {"properties": {"alias": {"type": "alias", "path": "body"}, "body": {"type": "text"}}}
    with pytest.raises(UsageError, match=r"body, page\.text"):
        source_paths(Mappings.of({"i": MAPPING, "j": other}), ["alias"], "there")
    assert source_paths(Mappings.of({"i": MAPPING, "j": {}}), ["body"], "there") == ("body",)


@pytest.mark.parametrize(
    ("source", "settings", "said"),
    [
        ({"excludes": ["a.*"]}, {}, r"excludes a\.\*"),
        ({"includes": ["b", "c"]}, {}, "includes b, c"),
        ({"enabled": False}, {}, "disabled"),
        ({"mode": "synthetic"}, {}, "synthetic"),
        ({}, {"index.mapping.source.mode": "synthetic"}, "synthetic"),
        ({}, {"index.mode": "logsdb"}, "logsdb"),
        ({}, {"index.derived_source.enabled": "true"}, "derived"),
        ({}, {"index.blocks.read_only_allow_delete": "true"}, "read-only"),
    ],
)
def test_harm_is_refused(source: dict[str, Any], settings: dict[str, str], said: str) -> None:
    require_harmless(Mappings.of({"i": {}}), {"i": {}}, "there")
    with pytest.raises(StoreError, match=said) as caught:
        require_harmless(Mappings.of({"h": {}, "i": {"_source": source}}), {"i": settings}, "there")
    assert "--to" in str(caught.value)


def test_what_source_does_not_hold_can_not_be_read() -> None:
    readable = [{}, {"excludes": ["other"]}, {"includes": ["page"]}, {"includes": ["page.*"]}]
    for source in readable:
        require_readable(Mappings.of({"i": {"_source": source}}), ["page.text"], "there")
    for source in ({"enabled": False}, {"excludes": ["page"]}, {"excludes": ["*.text"]}, {"includes": ["other"]}):
        with pytest.raises(StoreError, match=r"page\.text"):
            require_readable(Mappings.of({"i": {"_source": source}}), ["page.text"], "there")


@pytest.mark.parametrize(
    ("one", "other", "named"),
    [
        ({"body": "A b"}, {"body": "a  B"}, []),
        ({"key": "A"}, {"key": "a"}, ["key"]),
        ({"n": 1}, {"n": True}, ["n"]),
        ({"n": 1}, {"n": 1.0}, ["n"]),
        ({"o": {"x": [1, {"z": 2, "a": 1}]}}, {"o": {"x": [1, {"a": 1, "z": 2}]}}, []),
        # What stands inside an object, and under a name with a dot.
        ({"o": {"x": 1}}, {"o.x": 1}, ["o.x"]),
        ({"body": {"x": "a"}, "body.x": "a"}, {"body": {"x": "a"}}, ["body.x"]),
        ({"n": WrittenFloat("0.1")}, {"n": WrittenFloat("0.1000000000000000000001")}, ["n"]),
        ({"n": [{"m": WrittenFloat("1e400")}]}, {"n": [{"m": WrittenFloat("1e500")}]}, ["n"]),
        ({"n": WrittenFloat("0.10")}, {"n": WrittenFloat("1e-1")}, []),
        ({"o": {"x": [1, 2], "y": 1}}, {"o": {"x": [2, 1], "y": 1}}, ["o.x"]),
        ({"body": "x"}, {}, ["body"]),
        ({"gone": None}, {}, ["gone"]),
        ({"o": {}}, {"o": {"x": 1}}, ["o", "o.x"]),
        ({"body": True}, {"body": False}, ["body"]),
        ({"body": ["A", "b"]}, {"body": ["a", "b"]}, []),
        ({"body": ["a", True]}, {"body": ["a", False]}, ["body"]),
        ({"body": "\ud800 a"}, {"body": "\ud800 A"}, ["body"]),
    ],
)
def test_the_fields_that_differ(one: dict[str, Any], other: dict[str, Any], named: list[str]) -> None:
    assert differing_fields(one, other, {"body"}) == differing_fields(other, one, {"body"}) == named
