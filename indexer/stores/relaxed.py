"""Refreshes and replicas turned down for a bulk load: the owner's values are noted in the index first, and put back."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from indexer.errors import StoreError
from indexer.stores import mapping
from indexer.stores.connection import AnswerError, Client
from indexer.stores.names import path_of, reading_path
from indexer.stores.search_bodies import ROOT

if TYPE_CHECKING:
    from indexer.stores.search import SearchStore

# What stands in _meta.neardup while a load is under way: each setting with the owner's value, null for one not set.
NOTE = "relaxed"
RELAXED: Mapping[str, str] = {"index.refresh_interval": "-1", "index.number_of_replicas": "0"}
_EXPANDED = "index.auto_expand_replicas"
_FORBIDDEN = 403


class Request(NamedTuple):
    """One thing to do, and how."""

    why: str
    method: str
    path: str
    body: Mapping[str, Any]


@contextmanager
def bulk_load(store: SearchStore) -> Iterator[None]:
    """Turn down the index that new documents of a store go to, and put it back at the end, however that comes.

    What a kill leaves behind is put back by restore_left() and repairs(). StoreError where the cluster refuses.
    """
    store.writer.check()
    client, index = store.client, write_index(store)
    former: Mapping[str, str | None] = {}
    try:
        # Also what stops this halfway is undone: the note comes first.
        former = relax(client, index)
        yield
    except BaseException:
        try:
            _surely_restored(client, index, former)
        except StoreError as error:
            _say(store, f"{index} could not be put back to its owner's settings: {error}; {_advice(store)}")
        raise
    _surely_restored(client, index, former)


def relax(client: Client, index: str) -> dict[str, str | None]:
    """Note an index's settings in its `_meta`, then turn them down; what was noted."""
    found = _described(client, index)
    settings = found["settings"]
    former = _note(found)
    if not former:
        former = {name: settings.get(name) for name in RELAXED}
        if settings.get(_EXPANDED, "false") != "false":
            # The cluster itself decides how many replicas there are.
            del former["index.number_of_replicas"]
    try:
        # Changes nothing, and asks whether the settings may be changed before anything is noted.
        same = {"index.number_of_replicas": RELAXED["index.number_of_replicas"]}
        client.request("PUT", f"{path_of(index)}/_settings", same, preserve_existing="true")
        client.request("PUT", f"{path_of(index)}/_mapping", {"_meta": _noted(found, former)})
        client.request("PUT", f"{path_of(index)}/_settings", {name: RELAXED[name] for name in former})
    except StoreError as error:
        if isinstance(error.__cause__, AnswerError) and error.__cause__.status == _FORBIDDEN:
            raise StoreError(
                f"{client.target.shown}: a bulk load changes settings of {index}, and the "
                f"{client.access.kind or 'anonymous user'} lacks the index privilege manage (403); get that, or load "
                "without --bulk-load"
            ) from error
        raise
    return former


def requests(client: Client, index: str, former: Mapping[str, str | None] | None = None) -> list[Request]:
    """What puts an index back to what its note, or else `former`, says; nothing where there is nothing to put back.

    A setting that somebody has changed since stays as it is.
    """
    try:
        found = _described(client, index)
    except AnswerError as error:
        if error.status == 404:
            return []
        raise
    note = _note(found)
    settings = found["settings"]
    back = {
        name: value
        for name, value in (note or former or {}).items()
        if settings.get(name) == RELAXED[name] and value != RELAXED[name]
    }
    found_requests = []
    if back:
        why = f"put refreshes and replicas of {index} back to what they were before the bulk load"
        found_requests.append(Request(why, "PUT", f"{path_of(index)}/_settings", back))
    if note is not None:
        why = f"take the note of a bulk load out of _meta of {index}"
        found_requests.append(Request(why, "PUT", f"{path_of(index)}/_mapping", {"_meta": _noted(found, None)}))
    return found_requests


def repairs(client: Client) -> list[Request]:
    """What puts back every index, behind the name of a client's URL, that a bulk load has left behind."""
    try:
        found = client.request("GET", f"/{reading_path(client.target.name)}/_mapping")
    except AnswerError as error:
        if error.status == 404:
            return []
        raise
    return [
        request
        for index, each in sorted(found.items())
        if _is_noted(each.get("mappings", {}))
        for request in requests(client, index)
    ]


def left(mappings: Mapping[str, Any]) -> list[str]:
    """The indices, of those whose mappings these are, that a load has turned down and not put back."""
    return [index for index, found in mappings.items() if _is_noted(found)]


def restore_left(store: SearchStore) -> None:
    """Put back what a load has left behind in a store that is about to be written; say so, and what can't be done."""
    for index in left(store.mappings):
        try:
            if _restored(store.client, index, None):
                _say(store, f"{index} was put back to its owner's settings, which a bulk load had turned down")
        except StoreError as error:
            _say(store, f"{index} is turned down by a bulk load and can't be put back: {error}; {_advice(store)}")


def notices(store: SearchStore) -> list[str]:
    """What to say of it where a store is only read."""
    why = "has no refreshes and no replicas: a bulk load is under way, or was killed"
    return [f"{store.shown}: {index} {why}; {_advice(store)}" for index in left(store.mappings)]


def write_index(store: SearchStore) -> str:
    """The index that new documents go to."""
    if len(store.mappings) == 1:
        return next(iter(store.mappings))
    if store.data_stream:
        streams = store.client.request("GET", f"/_data_stream/{store.path}")["data_streams"]
        return str(streams[0]["indices"][-1]["index_name"])
    aliases = store.client.request("GET", f"/_alias/{store.path}")
    for index, found in aliases.items():
        if found["aliases"].get(store.name, {}).get("is_write_index"):
            return str(index)
    raise StoreError(f"{store.shown}: the alias has no write index, so nothing can be written through it")


def _restored(client: Client, index: str, former: Mapping[str, str | None] | None) -> bool:
    """Whether there was something to put back, which now is done."""
    found = requests(client, index, former)
    for each in found:
        client.request(each.method, each.path, each.body)
    return bool(found)


def _surely_restored(client: Client, index: str, former: Mapping[str, str | None]) -> None:
    """The same, once more where Ctrl-C comes in the middle of it."""
    try:
        _restored(client, index, former)
    except KeyboardInterrupt:
        with suppress(StoreError):
            _restored(client, index, former)
        raise


def _described(client: Client, index: str) -> dict[str, Any]:
    # Mapping and settings in one answer, so that both are of the same moment.
    answer = client.request("GET", path_of(index), flat_settings="true")
    (found,) = answer.values()
    return {"settings": found.get("settings", {}), "meta": found.get("mappings", {}).get("_meta", {})}


def _note(found: Mapping[str, Any]) -> dict[str, str | None] | None:
    """The note of an index; of it only what a load ever changes."""
    note = found["meta"].get(ROOT, {}).get(NOTE)
    if not isinstance(note, Mapping):
        return None
    return {name: None if note[name] is None else str(note[name]) for name in RELAXED if name in note}


def _noted(found: Mapping[str, Any], note: Mapping[str, str | None] | None) -> dict[str, Any]:
    """The `_meta` with this note, or without one; what else is there stays."""
    own = {name: value for name, value in found["meta"].get(ROOT, {}).items() if name != NOTE}
    return mapping.with_meta(found["meta"], own | ({NOTE: dict(note)} if note is not None else {}))


def _is_noted(found: Mapping[str, Any]) -> bool:
    return NOTE in found.get("_meta", {}).get(ROOT, {})


def _advice(store: SearchStore) -> str:
    return f"`neardup setup --repair --store {store.shown}` puts it back"


def _say(store: SearchStore, text: str) -> None:
    print(f"neardup: {store.shown}: {text}", file=sys.stderr)
