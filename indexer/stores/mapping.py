"""What neardup adds to an index: the mapping file, and what the mapping's `_meta` says of a store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from indexer.errors import IncompatibleStoreError, NotFoundError
from indexer.keys import KeyLayout
from indexer.stores.base import StoreInfo
from indexer.stores.search_bodies import MAPPING_VERSION, ROOT

PACKAGE = Path(__file__).resolve().parents[1]


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
    found: dict[str, Any] = load("component-template")["template"]["mappings"]["properties"]
    return found


def meta(info: StoreInfo, **more: Any) -> dict[str, Any]:
    """What a mapping's `_meta` says under `neardup`."""
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


def info_of(mapping: Mapping[str, Any], where: str) -> StoreInfo | None:
    """What the fingerprints of an index were made with; None for an index that is no store.

    IncompatibleStoreError for the mapping of a newer neardup, and for one whose `_meta` was damaged.
    """
    found = mapping.get("_meta", {}).get(ROOT)
    if not found or "tables" not in found:
        return None
    try:
        version = int(found["mapping_version"])
        info = StoreInfo(
            scheme=found["scheme"],
            layout=KeyLayout(int(found["tables"]), int(found["key_bits"])),
            content=found["content"],
            extractor=found["extractor"],
            unicode=found["unicode"],
            version=found["version"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise IncompatibleStoreError(f"{where}: _meta.neardup of its mapping is damaged: {error!r}") from error
    if version > MAPPING_VERSION:
        raise IncompatibleStoreError(
            f"{where}: was made by neardup {info.version} with mapping version {version}; this one knows up to "
            f"{MAPPING_VERSION}: install a newer neardup"
        )
    return info


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
