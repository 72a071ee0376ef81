"""The owner of an index, by its documents: a mapping without fields (`dynamic: false`, `runtime`) does not tell."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import path_of
from indexer.engine.client.slices import Slices
from indexer.engine.index.bodies import ROOT
from indexer.engine.index.mapping import IndexMapping
from indexer.engine.index.stripping import is_own, is_owners_field, lost, telling_source
from indexer.errors import StoreError, UsageError

_SLICES = 4
_PAGE = 5000
_FORBIDDEN = 403


def is_made(client: Client, mapping: IndexMapping) -> bool:
    """True if neardup made the index with this mapping, and every document in it is neardup's.

    Raises StoreError if the engine does not answer completely.
    """
    if not mapping.seems_made or lost(client, mapping):
        return False
    names = mapping.own_names
    with closing(_hits(client, mapping.index, telling_source(names))) as hits:
        return all(is_own(hit, names) for hit in hits)


def require_place(client: Client, mapping: IndexMapping, shown: str) -> None:
    """Raise UsageError if a new index has something of its owner's called neardup."""
    names, index = mapping.own_names, mapping.index
    inside = mapping.properties.get(ROOT)
    mapped = set() if inside is None else set(inside.get("properties", {"": {}}))
    if ROOT in mapping.meta and not mapping.entry:
        raise UsageError(f"{shown}: _meta of {index} has an entry {ROOT!r} that belongs to the owner; {_ELSEWHERE}")
    if mapped - names or (inside or {}).get("type") == "nested":
        raise UsageError(f"{shown}: {index} has a field {ROOT!r} that belongs to the owner; {_ELSEWHERE}")
    runtime = [name for name in mapping.runtime if name == ROOT or name.startswith(f"{ROOT}.")]
    if runtime:
        raise UsageError(f"{shown}: {index} has a runtime field {runtime[0]!r} that belongs to the owner; {_ELSEWHERE}")
    if mapping.raw.get("subobjects") in (False, "false"):
        raise UsageError(
            f"{shown}: {index} has no objects (subobjects: false), and neardup's fields are in one; {_ELSEWHERE}"
        )
    # An index without any mapping never had a document, and OpenSearch can't slice a search in it.
    if mapping.entry or not mapping.raw:
        return
    with closing(_hits(client, index, {"includes": [ROOT, f"{ROOT}.*"]})) as hits:
        for hit in hits:
            if is_owners_field(hit.get("_source") or {}, names):
                raise UsageError(
                    f"{shown}: the document {hit['_id']!r} of {index} has a field {ROOT!r} that belongs to the "
                    f"owner and is not in the mapping; {_ELSEWHERE}"
                )


_ELSEWHERE = "nothing was changed; use another index for neardup, or keep the fingerprints beside it (annotate --to)"


def require_open(client: Client, name: str) -> None:
    try:
        client.request("POST", f"{path_of(name)}/_refresh")
    except StoreError as error:
        # A user who may only read, as in a dry run, changes nothing later either.
        if not (isinstance(error.__cause__, AnswerError) and error.__cause__.status == _FORBIDDEN):
            raise


def _hits(client: Client, index: str, source: Mapping[str, Any]) -> Generator[dict[str, Any]]:
    require_open(client, index)
    body = {"query": {"match_all": {}}, "_source": source}
    with Slices(client, path_of(index).removeprefix("/"), body, _SLICES, _PAGE) as pages:
        for page in pages:
            yield from page
