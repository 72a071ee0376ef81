"""Documents by identity; an unreadable one is never taken for missing."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.errors import error_of
from indexer.errors import StoreError
from indexer.model import Ref

# An index that is gone has none of its documents; where routing is required, none has an identity without it.
_NOT_THERE = frozenset({"index_not_found_exception", "routing_missing_exception"})
# The errors that no waiting mends; any other, as of a shard that is away, may pass.
_LASTING = frozenset({"index_closed_exception", "security_exception", "illegal_argument_exception"})


def multi_get(
    client: Client, documents: Sequence[Mapping[str, Any]], *, path: str = "", **params: Any
) -> list[dict[str, Any]]:
    """The engine's answer for each document, in order; existing ones have `found`.

    Raises StoreError if one stays unreadable.
    """
    answers: list[dict[str, Any]] = [{}] * len(documents)
    left = list(range(len(documents)))
    deadline = time.monotonic() + client.retry.limit
    waiting = client.waiting()
    attempt = 0
    while left:
        body = {"docs": [documents[place] for place in left]}
        hits = client.request("POST", f"{path}/_mget", body, deadline=deadline, **params)["docs"]
        for place, answer in zip(left, hits, strict=True):
            answers[place] = answer
        left = [place for place in left if _is_unread(answers[place])]
        wait = client.retry.wait(attempt, None)
        for place in left:
            kind, reason = error_of(answers[place]["error"])
            if kind in _LASTING or time.monotonic() + wait > deadline:
                named = f"{answers[place].get('_index')}/{answers[place].get('_id')}"
                raise StoreError(f"{client.target.shown}: {named} can't be read: {kind}: {reason}")
        if left:
            waiting(wait, f"documents can't be read now ({kind}: {reason})")
        attempt += 1
    return answers


def _is_unread(answer: Mapping[str, Any]) -> bool:
    return "error" in answer and error_of(answer["error"])[0] not in _NOT_THERE


def item_at(place: Ref) -> dict[str, Any]:
    return {"_index": place.index, "_id": place.id} | ({"routing": place.routing} if place.routing is not None else {})


def place_of(hit: Mapping[str, Any]) -> Ref:
    return Ref(hit["_id"], hit["_index"], hit.get("_routing"))


def version_of(hit: Mapping[str, Any]) -> Hashable:
    """The version of a document as read; any change gives another."""
    return hit["_seq_no"], hit["_primary_term"]
