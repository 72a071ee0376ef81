"""The additions of neardup to an index: the mapping file, and what the mapping's `_meta` says of a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.names import path_of
from indexer.engine.index.bodies import MAPPING_VERSION, ROOT
from indexer.engine.index.sketches import scheme_in
from indexer.errors import IncompatibleStoreError, NotFoundError, UsageError
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo
from indexer.stores.base import StoreInfo

FIELDS_SETTING = "index.mapping.total_fields.limit"
_DEFAULT_FIELDS = 1000
# The field, below `neardup`, that notes an owner's settings while a bulk load has turned them down.
NOTE = "relaxed"
PACKAGE = Path(__file__).resolve().parents[2]


def mappings_directory() -> Path:
    """The folder of the mapping files: inside the installed package, or at the top of a checkout.

    Raises NotFoundError where neither is there.
    """
    for folder in (PACKAGE / "mappings", PACKAGE.parent / "mappings"):
        if (folder / "component-template.json").is_file():
            return folder
    raise NotFoundError(f"the mapping files are neither in {PACKAGE} nor beside it; install the package again")


def load(name: str) -> dict[str, Any]:
    """One of the mapping files."""
    content: dict[str, Any] = json.loads((mappings_directory() / f"{name}.json").read_text("utf-8"))
    return content


def properties() -> dict[str, Any]:
    """The fields that neardup adds to a mapping."""
    fields: dict[str, Any] = load("component-template")["template"]["mappings"]["properties"]
    return fields


def meta(info: StoreInfo, **more: Any) -> dict[str, Any]:
    """The entry under `neardup` in a mapping's `_meta`."""
    return {
        "mapping_version": MAPPING_VERSION,
        "scheme": info.scheme,
        "tables": info.layout.tables,
        "key_bits": info.layout.bits,
        "content": info.content,
        "extractor": info.extractor,
        "unicode": info.unicode,
        "version": info.version,
        **more,
    }


def own_meta(mapping: Mapping[str, Any]) -> Mapping[str, Any]:
    """The entry of neardup in a mapping's `_meta`; empty if there is none, or if what stands there is not neardup's."""
    entry = mapping.get("_meta", {}).get(ROOT)
    return entry if isinstance(entry, Mapping) and "tables" in entry else {}


def info_of(mapping: Mapping[str, Any], where: str) -> StoreInfo | None:
    """The settings that the fingerprints of an index were made with; None for an index that is no store.

    IncompatibleStoreError for the mapping of a newer neardup, and for one whose `_meta` was damaged.
    """
    entry = own_meta(mapping)
    if not entry:
        return None
    try:
        version = int(entry["mapping_version"])
        info = StoreInfo(
            scheme=entry["scheme"],
            layout=KeyLayout(int(entry["tables"]), int(entry["key_bits"])),
            content=entry["content"],
            extractor=entry["extractor"],
            unicode=entry["unicode"],
            version=entry["version"],
            schemes=schemes_of(mapping),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise IncompatibleStoreError(f"{where}: _meta.neardup of its mapping is damaged: {error!r}") from error
    if version > MAPPING_VERSION:
        raise IncompatibleStoreError(
            f"{where}: was made by neardup {info.version} with mapping version {version}; this one knows up to "
            f"{MAPPING_VERSION}: install a newer neardup"
        )
    return info


def require_current(mapping: Mapping[str, Any], where: str) -> None:
    """Raise IncompatibleStoreError for the mapping of an older neardup: what it does not map would never be found."""
    entry = mapping["_meta"][ROOT]
    if int(entry["mapping_version"]) < MAPPING_VERSION:
        raise IncompatibleStoreError(
            f"{where}: was made by neardup {entry['version']} with mapping version {entry['mapping_version']}, and "
            f"this one needs {MAPPING_VERSION}: take it out by `neardup setup --remove`, then set it up "
            "and fill it again"
        )


def schemes_of(mapping: Mapping[str, Any]) -> tuple[SchemeInfo, ...]:
    """The secondary schemes that a mapping describes, by name. Raises KeyError, TypeError or ValueError."""
    inside = mapping.get("properties", {}).get(ROOT, {}).get("properties", {})
    schemes = {name: scheme for name, field in inside.items() if (scheme := scheme_in(name, field))}
    return tuple(schemes[name] for name in sorted(schemes))


def lacking(mappings: Mapping[str, Mapping[str, Any]], shown: str, schemes: Iterable[SchemeInfo] = ()) -> list[str]:
    """The indices that lack neardup's fields, or those of one of these schemes: a write would make up their types."""
    wanted = {scheme.name for scheme in schemes}
    names = []
    for index, mapping in mappings.items():
        fields = mapping.get("properties", {}).get(ROOT, {}).get("properties", {})
        info = info_of(mapping, f"{shown} ({index})") if "tokens" in fields else None
        if info is None or not wanted <= {scheme.name for scheme in info.schemes}:
            names.append(index)
    return names


def named(indices: Sequence[str]) -> str:
    """Indices in a sentence, and the verb; of many the first few."""
    if len(indices) == 1:
        return f"the index {indices[0]} is"
    rest = f" and {len(indices) - 3} more" if len(indices) > 3 else ""
    return f"{len(indices)} indices ({', '.join(indices[:3])}{rest}) are"


def require_room(client: Client, index: str, mapping: Mapping[str, Any], fields: Mapping[str, Any], shown: str) -> None:
    """Raise UsageError where an index's limit has no room for more fields; the limit is its owner's."""
    settings = client.request("GET", f"{path_of(index)}/_settings/{FIELDS_SETTING}", flat_settings="true")
    limit = int(settings.get(index, {}).get("settings", {}).get(FIELDS_SETTING, _DEFAULT_FIELDS))
    there = mapping.get("properties", {})
    have = _count(there) + len(mapping.get("runtime", {}))
    added = _count(_united(there, fields)) - _count(there)
    if have + added > limit:
        raise UsageError(
            f"{shown}: {index} has {have} fields and neardup adds {added}, but {FIELDS_SETTING} is {limit}; "
            "raise it yourself, or keep the fingerprints in an index of their own"
        )


def _count(properties: Mapping[str, Any]) -> int:
    """Fields as the engines count them: objects and multi-fields too."""
    return sum(1 + _count(one.get("properties", {})) + _count(one.get("fields", {})) for one in properties.values())


def _united(there: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of two mappings together."""
    united = dict(there)
    for name, field in added.items():
        old = united.get(name, {})
        properties = _united(old.get("properties", {}), field.get("properties", {}))
        united[name] = {**field, **old} | ({"properties": properties} if properties else {})
    return united


def with_meta(old: Mapping[str, Any], own: Mapping[str, Any] | None) -> dict[str, Any]:
    """An owner's `_meta` with neardup's part put in, or taken out."""
    rest = {name: value for name, value in old.items() if name != ROOT}
    return rest | ({ROOT: dict(own)} if own else {})


def new_index(info: StoreInfo, shards: int | None = None, replicas: int | None = None) -> dict[str, Any]:
    """The body that makes an index of neardup's own."""
    settings = {"number_of_shards": shards, "number_of_replicas": replicas}
    body: dict[str, Any] = {
        "mappings": {"_meta": {ROOT: meta(info, made_index=True)}, "properties": properties()},
    }
    given = {name: number for name, number in settings.items() if number is not None}
    return body | ({"settings": {"index": given}} if given else {})
