"""Reduce refreshes and replicas for a bulk load, and restore them.

The note is metadata of a field used for nothing else. The mapping's `_meta` can only be written as a whole: of two
processes changing it at once, one would undo the other's note.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import is_stream, path_of, reading_path
from indexer.engine.index.bodies import ROOT
from indexer.engine.index.mapping import NOTE, IndexMapping, Mappings, read_mappings
from indexer.engine.setup.provision import SetupStep
from indexer.errors import StoreError
from indexer.text.remarks import remark

# What is recorded while a load is under way: each setting with the owner's value as JSON, null for one that is not set.
REDUCED: Mapping[str, str] = {"index.refresh_interval": "-1", "index.number_of_replicas": "0"}
_NOTE_TYPE = {"type": "boolean", "index": False, "doc_values": False}
_ROUNDS = 8
_EXPANDED = "index.auto_expand_replicas"
_FORBIDDEN = 403


@contextmanager
def reduced_settings(client: Client, mappings: Mappings) -> Iterator[None]:
    """Turn down the index for new documents behind a client's name with these mappings.

    Raises StoreError if the cluster refuses.
    """
    index = write_index(client, mappings)
    former: Mapping[str, str | None] = {}
    try:
        # Also what stops this halfway is undone: the note comes first.
        former = reduce_settings(client, index)
        yield
    except BaseException:
        try:
            _surely_restored(client, index, former)
        except StoreError as error:
            shown = client.target.shown
            _say(shown, f"{index} could not be restored to its owner's settings: {error}; {_advice(shown)}")
        raise
    _surely_restored(client, index, former)


def reduce_settings(client: Client, index: str) -> dict[str, str | None]:
    mapping, settings = _described(client, index)
    former = _note_in(mapping)
    if not former:
        former = {name: settings.get(name) for name in REDUCED}
        if settings.get(_EXPANDED, "false") != "false":
            # The cluster itself decides how many replicas there are.
            del former["index.number_of_replicas"]
    try:
        # Changes nothing, and asks whether the settings may be changed before anything is recorded.
        same = {"index.number_of_replicas": REDUCED["index.number_of_replicas"]}
        client.request("PUT", f"{path_of(index)}/_settings", same, preserve_existing="true")
        mapping.require_room(client, _noting(former)["properties"], index)
        client.request("PUT", f"{path_of(index)}/_mapping", _noting(former))
        client.request("PUT", f"{path_of(index)}/_settings", {name: REDUCED[name] for name in former})
        _keep_note(client, index, former)
    except StoreError as error:
        if isinstance(error.__cause__, AnswerError) and error.__cause__.status == _FORBIDDEN:
            raise StoreError(
                f"{client.target.shown}: a bulk load changes settings of {index}, and the "
                f"{client.access.kind or 'anonymous user'} lacks the index privilege manage (403); get that, or load "
                "without --bulk-load"
            ) from error
        raise
    return former


def requests(client: Client, index: str, former: Mapping[str, str | None] | None = None) -> list[SetupStep]:
    """The steps to restore an index to its note, or else to `former`; none if there is nothing to restore.

    A setting changed by somebody since stays as it is.
    """
    try:
        mapping, settings = _described(client, index)
    except AnswerError as error:
        if error.status == 404:
            return []
        raise
    note = _note_in(mapping)
    back = {
        name: value
        for name, value in (note or former or {}).items()
        if settings.get(name) == REDUCED[name] and value != REDUCED[name]
    }
    found_requests = []
    if back:
        why = f"put refreshes and replicas of {index} back to what they were before the bulk load"
        found_requests.append(SetupStep(why, "PUT", f"{path_of(index)}/_settings", back))
    if note is not None:
        why = f"take the note of a bulk load out of the mapping of {index}"
        found_requests.append(SetupStep(why, "PUT", f"{path_of(index)}/_mapping", _noting({})))
    return found_requests


def repairs(client: Client) -> list[SetupStep]:
    mappings = read_mappings(client, reading_path(client.target.name))
    return [request for index in left(mappings) for request in requests(client, index)]


def left(mappings: Mappings) -> list[str]:
    return [index for index, mapping in mappings.items() if _note_in(mapping) is not None]


def restore_left(client: Client, mappings: Mappings) -> None:
    shown = client.target.shown
    for index in left(mappings):
        try:
            if _restored(client, index, None):
                _say(shown, f"{index} was restored to its owner's settings, which a bulk load had reduced")
        except StoreError as error:
            _say(
                shown,
                f"{index} has the reduced settings of a bulk load, which can't be restored: {error}; {_advice(shown)}",
            )


def notices(mappings: Mappings, shown: str) -> list[str]:
    why = "has no refreshes and no replicas: a bulk load is under way, or was killed"
    return [f"{shown}: {index} {why}; {_advice(shown)}" for index in left(mappings)]


def write_index(client: Client, mappings: Mappings) -> str:
    if len(mappings) == 1:
        return next(iter(mappings))
    name, path = client.target.name, reading_path(client.target.name)
    if is_stream(mappings):
        streams = client.request("GET", f"/_data_stream/{path}")["data_streams"]
        return str(streams[0]["indices"][-1]["index_name"])
    aliases = client.request("GET", f"/_alias/{path}")
    for index, described in aliases.items():
        if described["aliases"].get(name, {}).get("is_write_index"):
            return str(index)
    raise StoreError(f"{client.target.shown}: the alias has no write index, so nothing can be written through it")


def _restored(client: Client, index: str, former: Mapping[str, str | None] | None) -> bool:
    steps = requests(client, index, former)
    for step in steps:
        client.request(step.method, step.path, step.body)
    for step in steps:
        if step.path.endswith("/_settings"):
            _keep_note(client, index, step.body or {})
    return bool(steps)


def _keep_note(client: Client, index: str, former: Mapping[str, str | None]) -> None:
    turned = [name for name, value in former.items() if value != REDUCED[name]]
    if not turned:
        return
    for _ in range(_ROUNDS):
        try:
            mapping, settings = _described(client, index)
        except AnswerError as error:
            if error.status == 404:
                return
            raise
        if _note_in(mapping) or any(settings.get(name) != REDUCED[name] for name in turned):
            return
        client.request("PUT", f"{path_of(index)}/_mapping", _noting(former))


def _surely_restored(client: Client, index: str, former: Mapping[str, str | None]) -> None:
    try:
        _restored(client, index, former)
    except KeyboardInterrupt:
        with suppress(StoreError):
            _restored(client, index, former)
        raise


def _described(client: Client, index: str) -> tuple[IndexMapping, dict[str, Any]]:
    # Mapping and settings in one answer, so that both are of the same moment.
    answer = client.request("GET", path_of(index), flat_settings="true")
    (described,) = answer.values()
    return IndexMapping(index, described.get("mappings", {})), described.get("settings", {})


def _note_in(mapping: IndexMapping) -> dict[str, str | None] | None:
    meta = mapping.fields.get(NOTE, {}).get("meta") or {}
    note = {name: json.loads(meta[_short(name)]) for name in REDUCED if _short(name) in meta}
    return {name: None if value is None else str(value) for name, value in note.items()} or None


def _noting(note: Mapping[str, str | None]) -> dict[str, Any]:
    meta = {_short(name): json.dumps(value) for name, value in note.items()}
    return {"properties": {ROOT: {"properties": {NOTE: {**_NOTE_TYPE, "meta": meta}}}}}


def _short(name: str) -> str:
    # The engines' limit for a name is 20 characters.
    return name.removeprefix("index.")


def _advice(shown: str) -> str:
    return f"`neardup setup --repair --store {shown}` puts it back"


def _say(shown: str, text: str) -> None:
    remark(f"{shown}: {text}", level="warning")
