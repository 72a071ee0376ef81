"""The mapping files, and the bodies made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from indexer.engine.index.bodies import MAPPING_VERSION, ROOT
from indexer.errors import NotFoundError
from indexer.model.kinds import DOCUMENTS
from indexer.stores.base import StoreInfo

PACKAGE = Path(__file__).resolve().parents[2]


def mappings_directory() -> Path:
    """The folder of the mapping files: inside the installed package, or at the top of a checkout.

    Raises NotFoundError if there is neither.
    """
    for folder in (PACKAGE / "mappings", PACKAGE.parent / "mappings"):
        if (folder / "component-template.json").is_file():
            return folder
    raise NotFoundError(f"the mapping files are neither in {PACKAGE} nor beside it; install the package again")


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((mappings_directory() / f"{name}.json").read_text("utf-8"))
    return content


def properties() -> dict[str, Any]:
    fields: dict[str, Any] = load("component-template")["template"]["mappings"]["properties"]
    return fields


def meta(info: StoreInfo, **more: Any) -> dict[str, Any]:
    return {
        "mapping_version": MAPPING_VERSION,
        "scheme": info.scheme,
        "tables": info.layout.tables,
        "key_bits": info.layout.bits,
        "content": info.content,
        "extractor": info.extractor,
        "unicode": info.unicode,
        "version": info.version,
        **({"kind": info.kind} if info.kind != DOCUMENTS else {}),
        **more,
    }


def new_index(info: StoreInfo, shards: int | None = None, replicas: int | None = None) -> dict[str, Any]:
    settings = {"number_of_shards": shards, "number_of_replicas": replicas}
    body: dict[str, Any] = {
        "mappings": {"_meta": {ROOT: meta(info, made_index=True)}, "properties": properties()},
    }
    given = {name: number for name, number in settings.items() if number is not None}
    return body | ({"settings": {"index": given}} if given else {})
