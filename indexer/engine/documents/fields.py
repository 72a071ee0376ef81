"""The fields a run reads, compared with remembered ones, and checks that protect an owner's documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.names import path_of
from indexer.engine.documents.options import Annotating
from indexer.engine.index.mapping import OWN, Mappings, read_mappings, remember
from indexer.engine.index.source_fields import ASIDE, require_harmless, require_readable, source_paths
from indexer.errors import NoStoreError, StoreError, UsageError
from indexer.extract.base import Limits
from indexer.model.times import Refresh
from indexer.schemes.base import Scheme
from indexer.stores.texts import TextFields

_SAMPLE = 1000


@dataclass(frozen=True, slots=True)
class AnnotateOptions(Annotating):
    """The options of a run.

    If more than the share `most_lost` of the documents is gone since the last run, no record is removed for it.
    `refresh` says when changes become visible (see `Store`). `schemes` are specifications of additional sketches. A
    newly set up index gets `new_schemes`; with `exactly` an older one with others is refused.
    """

    most_lost: float = 1.0
    schemes: tuple[str, ...] = ()
    new_schemes: tuple[Scheme, ...] = ()
    exactly: tuple[Scheme, ...] | None = None
    jobs: int = 1
    min_tokens: int | None = None
    kind: str | None = None
    limits: Limits = field(default_factory=Limits)
    refresh: Refresh = "wait"


def fields_of_run(client: Client, aside: Client | None, mappings: Mappings, wanted: AnnotateOptions) -> TextFields:
    """The fields as paths in `_source`, the remembered ones by default.

    Raises UsageError if a field is missing, none is known, or others are remembered.
    """
    shown = client.target.shown
    kept = _remembered(client, aside, mappings)
    distinct = {(fields.names, fields.format) for fields in kept.values()}
    first = next(iter(kept.values()), TextFields(()))
    if not wanted.field and len(distinct) != 1:
        known = "; ".join(f"{index}: {fields.options()}" for index, fields in kept.items())
        raise UsageError(
            f"{shown}: name the fields with the text, as --field NAME"
            + (f"; the indices behind the name remember different ones ({known})" if known else "")
        )
    paths = source_paths(mappings, wanted.field or first.names, shown)
    about = [
        source_paths(mappings, [name], shown)[0] if name else ""
        for name in (wanted.source_field or first.source, wanted.title_field or first.title)
    ]
    texts = TextFields(paths, wanted.format if wanted.field else first.format, *about)
    require_readable(mappings, [*paths, *filter(None, about)], shown)
    other = next((index for index, fields in kept.items() if not fields.is_as(texts)), None)
    if other is not None and not wanted.fields_changed:
        raise UsageError(
            f"{shown}: the fingerprints of {other} were made with {kept[other].options()}; with {texts.options()} all "
            "of them would be made again. Name the same fields, or leave them out; --fields-changed makes all again"
        )
    return texts


def remember_fields(client: Client, aside: Client | None, mappings: Mappings, fields: TextFields) -> bool:
    of, name = (client, OWN) if aside is None else (aside, client.target.name)
    results = [remember(of, index, name, fields) for index in (mappings if aside is None else _mappings_of(aside))]
    return all(results)


def _remembered(client: Client, aside: Client | None, mappings: Mappings) -> dict[str, TextFields]:
    where, name = (mappings, OWN) if aside is None else (_mappings_of(aside), client.target.name)
    remembered = {index: mapping.text_fields().get(name) for index, mapping in where.items()}
    return {index: fields for index, fields in remembered.items() if fields}


def _mappings_of(client: Client) -> Mappings:
    return read_mappings(client, path_of(client.target.name)[1:])


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
