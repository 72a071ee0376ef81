"""Checks that protect an owner's documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.index.mapping import Mappings, read_mappings
from indexer.engine.index.source_fields import ASIDE, require_harmless
from indexer.errors import NoStoreError, StoreError

_SAMPLE = 1000


def mappings_of(client: Client, path: str) -> Mappings:
    mappings = read_mappings(client, path)
    if not mappings:
        raise NoStoreError(f"{client.target.shown}: no index has this name")
    return mappings


def show(client: Client, path: str, *, required: bool) -> None:
    """Make changes of others visible; a reader may be refused this, unless it is `required`."""
    try:
        client.request("POST", f"/{path}/_refresh")
    except StoreError:
        # What the engine does not show yet is done by the next run.
        if required:
            raise


def require_unharmed(client: Client, path: str, mappings: Mappings, *, allow_version_change: bool) -> None:
    """Raise StoreError if partial updates would lose something, or raise versions counted by the owner."""
    shown = client.target.shown
    settings = client.request("GET", f"/{path}/_settings", flat_settings="true")
    require_harmless(mappings, {name: described["settings"] for name, described in settings.items()}, shown)
    if allow_version_change:
        return
    body = {"size": _SAMPLE, "sort": [{"_seq_no": "asc"}], "_source": False}
    answer = client.search(path, {**body, "version": True, "seq_no_primary_term": True})
    for hit in answer["hits"]["hits"]:
        require_own_version(hit, shown)


def require_own_version(hit: Mapping[str, Any], shown: str) -> None:
    # Every change takes a new sequence number, so a version that was counted here can't be ahead of it.
    if hit["_version"] > hit["_seq_no"] + 1:
        raise StoreError(
            f"{shown}: {hit['_index']}/{hit['_id']} has version {hit['_version']}, which its owner gave it "
            "(version_type external); annotating raises it, and the owner's next write with the same version "
            f"would be refused. Allow that with --allow-version-change, or {ASIDE}"
        )
