"""The place of a field's text in `_source`, and the losses by a write."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any

from indexer.engine.client.base import WrittenFloat
from indexer.engine.index.bodies import ROOT
from indexer.engine.index.mapping import IndexMapping, Mappings
from indexer.errors import StoreError, UsageError
from indexer.ingest.digests import is_same_text
from indexer.stores.texts import TextFields

ASIDE = "keep the fingerprints in an index of their own: --to INDEX"
_FLAT = ("flattened", "flat_object")
_OFF = (False, "false")
_DATES = ("date", "date_nanos")
BOM = b"\xef\xbb\xbf"
"""Stands before the text of fields, so that it outdoes whatever encoding their HTML declares."""
# The longest title and source that are kept, in characters.
_LONGEST_TITLE = 500
_LONGEST_SOURCE = 8000


def source_paths(mappings: Mappings, names: Sequence[str], shown: str) -> tuple[str, ...]:
    """The dotted paths of fields' values in `_source`: multi-fields in their parent, aliases in their target.

    Raises UsageError for a missing field, a field with others below it, and one filled only by copy_to.
    """
    return tuple(dict.fromkeys(_source_path(mappings, name, shown) for name in names))


def _source_path(mappings: Mappings, name: str, shown: str) -> str:
    paths = {path for mapping in mappings.values() if (path := _path_in(mapping.raw, name))}
    mapped = [leaf for mapping in mappings.values() for leaf in leaves(mapping.raw)]
    if not paths:
        known = sorted({name for name, _ in mapped if name.partition(".")[0] != ROOT})
        raise UsageError(
            f"{shown}: no index has a field {name!r} with text; fields: {', '.join(known)[:500] or 'none'}"
        )
    if len(paths) > 1:
        raise UsageError(
            f"{shown}: {name!r} stands for different fields ({', '.join(sorted(paths))}); name one of them"
        )
    path = paths.pop()
    copied = sorted({name for name, field in mapped if path in _listed(field.get("copy_to"))})
    if copied:
        raise UsageError(f"{shown}: {path!r} is filled by copy_to and not in _source; name {', '.join(copied)} instead")
    return path


def _path_in(mapping: Mapping[str, Any], name: str) -> str | None:
    here, parts, walked = mapping, name.split("."), list[str]()
    loose = False
    while parts:
        loose = here.get("dynamic", "false" if loose else "true") in _OFF or here.get("enabled") in _OFF
        fields = here.get("properties", {})
        if here.get("subobjects") in _OFF:
            parts = [".".join(parts)]
        field = fields.get(parts[0])
        if field is None:
            # What is not mapped is still in `_source`.
            return name if loose else None
        walked.append(parts.pop(0))
        if field.get("type") == "alias":
            return _path_in(mapping, field["path"])
        if len(parts) == 1 and parts[0] in field.get("fields", {}):
            return ".".join(walked)
        if field.get("type") in _FLAT:
            return name
        here = field
    return None if "properties" in here else name


def leaves(mapping: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, field in mapping.get("properties", {}).items():
        if "properties" in field:
            yield from leaves(field, f"{prefix}{name}.")
        else:
            yield prefix + name, field


def date_fields(mappings: Iterable[IndexMapping]) -> set[str]:
    """The date fields of some indices, neardup's too."""
    return {name for mapping in mappings for name, field in leaves(mapping.raw) if field.get("type") in _DATES}


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def values_of(source: Any, path: str) -> list[str]:
    return [value if isinstance(value, str) else json.dumps(value) for value in scalars_at(source, path)]


def scalars_at(source: Any, path: str) -> list[str | int | float]:
    """The strings and numbers at a dotted path of a document, in order, from arrays and arrays of objects too."""
    found: list[str | int | float] = []
    waiting: list[tuple[Any, list[str]]] = [(source, path.split("."))]
    while waiting:
        value, parts = waiting.pop()
        if isinstance(value, list):
            waiting += [(element, parts) for element in reversed(value)]
        elif parts and isinstance(value, Mapping):
            # A name may itself have dots.
            names = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
            waiting += [(value[name], parts[name.count(".") + 1 :]) for name in names if name in value]
        elif not parts and isinstance(value, str | int | float) and not isinstance(value, bool):
            found.append(value)
    return found


def text_at(source: Any, paths: Sequence[str]) -> tuple[bytes, bytes | None]:
    values = [(path, values_of(source, path)) for path in paths]
    texts = [text for _, values_there in values for text in values_there]
    exact = json.dumps(values, separators=(",", ":")).encode()
    return exact, "\n".join(texts).encode("utf-8", "replace") if texts else None


def described(fields: TextFields, document: Any) -> tuple[str, str]:
    source, title = (
        next(iter(values_of(document, path)), "") if path else "" for path in (fields.source, fields.title)
    )
    return source.strip()[:_LONGEST_SOURCE], " ".join(title.split())[:_LONGEST_TITLE]


def differing_fields(one: Mapping[str, Any], other: Mapping[str, Any], texts: Collection[str]) -> list[str]:
    """The dotted names of the fields with different values in two documents, an array as a whole.

    A name with a dot differs from a name inside an object. The paths `texts` have texts, compared without case and
    white space.
    """
    left, right = _leaves_of(one), _leaves_of(other)

    def same(path: tuple[str, ...], name: str) -> bool:
        values = [leaves.get(path) for leaves in (left, right)]
        if name not in texts or _is_equal(*values):
            return path in left and path in right and _is_equal(*values)
        read = [values_of(source, name) for source in (one, other)]
        if any(value not in (strings, *strings) for value, strings in zip(values, read, strict=True)):
            # More than texts stand there.
            return False
        return is_same_text(*map("\n".join, read))

    named = ((path, ".".join(path)) for path in left.keys() | right.keys())
    return sorted({name for path, name in named if not same(path, name)})


def _leaves_of(source: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    leaves: dict[tuple[str, ...], Any] = {}
    waiting: list[tuple[tuple[str, ...], Any]] = [((name,), value) for name, value in source.items()]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, Mapping) and value:
            waiting += [((*path, name), inner) for name, inner in value.items()]
        else:
            leaves[path] = value
    return leaves


def _is_equal(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_is_equal(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_is_equal, one, other))
    if isinstance(one, WrittenFloat):
        with suppress(ArithmeticError):
            return bool(Decimal(one.written) == Decimal(other.written))
        return bool(one.written == other.written)
    return bool(one == other)


def lost_by_update(mapping: IndexMapping, settings: Mapping[str, Any]) -> str:
    """The reason why an update, which rebuilds a document from `_source`, would lose something; empty if all is
    kept.
    """
    source = mapping.raw.get("_source", {})
    if source.get("enabled") in _OFF:
        return "_source is disabled"
    filtered = [f"{kind} {', '.join(_listed(source[kind]))}" for kind in ("includes", "excludes") if source.get(kind)]
    if filtered:
        return f"_source is filtered ({'; '.join(filtered)})"
    mode = source.get("mode") or settings.get("index.mapping.source.mode", "stored")
    if mode != "stored":
        return f"_source is {mode}"
    if settings.get("index.mode", "standard") not in ("standard", "lookup"):
        return f"the index is in mode {settings['index.mode']}, without a stored _source"
    return "_source is derived" if settings.get("index.derived_source.enabled") == "true" else ""


def require_harmless(mappings: Mappings, settings: Mapping[str, Mapping[str, Any]], shown: str) -> None:
    """Raise StoreError if a partial update, which rebuilds a document from `_source`, would lose something."""
    for index, mapping in mappings.items():
        lost = lost_by_update(mapping, settings.get(index, {}))
        if lost:
            raise StoreError(
                f"{shown}: {index}: {lost}; a partial update rebuilds a document from _source and would lose that. "
                f"Nothing was changed; {ASIDE}"
            )
        for block in ("write", "read_only", "read_only_allow_delete"):
            if settings.get(index, {}).get(f"index.blocks.{block}") == "true":
                raise StoreError(f"{shown}: {index} is read-only (index.blocks.{block}); lift that, or {ASIDE}")


def require_readable(mappings: Mappings, paths: Sequence[str], shown: str) -> None:
    for index, mapping in mappings.items():
        source = mapping.raw.get("_source", {})
        if source.get("enabled") in _OFF or source.get("mode") == "disabled":
            raise StoreError(f"{shown}: {index} keeps no _source, so the text of {', '.join(paths)} can't be read")
        includes, excludes = _listed(source.get("includes")), _listed(source.get("excludes"))
        for path in paths:
            if (includes and not _matches(path, includes)) or _matches(path, excludes):
                raise StoreError(f"{shown}: _source of {index} leaves out {path}, so its text can't be read")


def _matches(path: str, patterns: Sequence[str]) -> bool:
    # A pattern that names an object names everything below it.
    return any(fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern}.*") for pattern in patterns)
