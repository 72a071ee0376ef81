"""Documents by identity: read many at once, and written in bulk, several requests in flight."""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any, TypeVar

from indexer.engine.client.base import NDJSON, Client, encoded
from indexer.engine.client.errors import RETRIED, error_of, given_up
from indexer.errors import STOPPED, StoreError
from indexer.model import Ref
from indexer.model.chunking import chunks_by_size
from indexer.text.counts import counted

T = TypeVar("T")
R = TypeVar("R")

BATCH_RECORDS = 500
_GONE, _CHANGED = 404, 409
BATCH_BYTES = 4 << 20
IN_FLIGHT = 4
# The number of tries at a document that others change at the same time.
ROUNDS = 8
_ANSWER = ",".join(f"items.*.{name}" for name in ("status", "error", "result", "_index", "_seq_no", "_primary_term"))

# The engines' words for an index that takes nothing because a disk is full; the latter before Elasticsearch 7.7.
_FULL = ("flood-stage watermark", "index read-only / allow delete")
# An engine takes the block back by itself where room was made; it looks every half minute.
_FULL_SECONDS = 15.0
# An index that is gone has none of its documents; where routing is required, none has an identity without it.
_NOT_THERE = frozenset({"index_not_found_exception", "routing_missing_exception"})
# The errors that no waiting mends; any other, as of a shard that is away, may pass.
_LASTING = frozenset({"index_closed_exception", "security_exception", "illegal_argument_exception"})


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a bulk request: `verb` on (index, id, routing), with a document already encoded."""

    verb: str
    index: str
    id: str
    routing: str | None = None
    document: bytes = b""
    conditions: Mapping[str, Any] = field(default_factory=dict)

    def lines(self) -> bytes:
        meta: dict[str, Any] = {"_index": self.index, "_id": self.id, **self.conditions}
        if self.routing is not None:
            meta["routing"] = self.routing
        return encoded({self.verb: meta}) + b"\n" + (self.document + b"\n" if self.document else b"")


def update(place: Ref, change: Mapping[str, Any], conditions: Mapping[str, Any]) -> Action:
    return Action("update", place.index, place.id, place.routing, encoded(change), conditions)


def unchanged(hit: Mapping[str, Any]) -> dict[str, Any]:
    return {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """The outcome of an action: its HTTP status, "created", "updated", "noop", "deleted", or an error.

    `again` says that it was sent more than once, so an earlier try may have done it; `seq_no` and `primary_term` are
    those of the change; `is_beside` says that not all of a record had room there.
    """

    status: int
    result: str
    reason: str = ""
    index: str = ""
    again: bool = False
    seq_no: int = -1
    primary_term: int = -1
    is_beside: bool = False

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_changed(self) -> bool:
        return self.status == _CHANGED

    @property
    def is_gone(self) -> bool:
        return self.status == _GONE


def send(client: Client, actions: Sequence[Action], **params: str) -> list[BulkOutcome]:
    """Send actions, again if the cluster had no room for them; one outcome each, in order.

    Raises StoreError if there is no answer within the retries, if some are still rejected at their end, and if a disk
    of the engine is full; finished work stays.
    """
    outcomes: list[BulkOutcome | None] = [None] * len(actions)
    left = list(range(len(actions)))
    began = time.monotonic()
    deadline = began + client.retry.limit
    waiting = client.waiting()
    attempt = tries = 0

    def tried() -> None:
        nonlocal tries
        tries += 1

    while left:
        payload = b"".join(actions[place].lines() for place in left)
        tries = 0
        answer = client.request(
            "POST",
            "/_bulk",
            payload,
            content_type=NDJSON,
            deadline=deadline,
            on_try=tried,
            filter_path=_ANSWER,
            **params,
        )
        # A broken connection may have done its work: what is found done then was this command's doing.
        again = attempt > 0 or tries > 1
        rejected, full = [], ""
        for place, item in zip(left, answer["items"], strict=True):
            outcome = outcomes[place] = _outcome(item, again)
            is_full = any(words in outcome.reason for words in _FULL)
            full = outcome.reason if is_full else full
            if is_full or outcome.status in RETRIED:
                rejected.append(place)
        left = rejected
        seconds = client.retry.wait(attempt, None)
        if full and time.monotonic() + seconds > min(deadline, began + _FULL_SECONDS):
            # Of every document that comes the same would be said, and be kept as its fault.
            raise StoreError(
                f"{client.target.shown}: a disk of the engine is full, so it takes nothing more; free some "
                f"space, and run the same command again ({full})"
            )
        attempt += 1
        if left:
            first = outcomes[left[0]]
            trouble = f"the engine does not take {counted(len(left), 'change')} now ({first.reason if first else ''})"
            if time.monotonic() + seconds > deadline:
                # No document's fault either; to wait as long for each batch that comes would take days.
                raise given_up(client.target.shown, attempt, trouble)
            waiting(seconds, trouble)
    done = [outcome for outcome in outcomes if outcome]
    client.note_written(one.index for one in done if one.ok and one.result != "noop")
    return done


def rounds() -> Iterator[int]:
    for number in range(ROUNDS):
        pause(number)
        yield number


def pause(number: int) -> None:
    """Wait before the n-th try: not before the first, then 0.05 seconds, doubling up to 2, jittered by half."""
    if number:
        time.sleep(min(2.0, 0.025 * 2.0**number) * random.uniform(0.5, 1.0))  # noqa: S311 no secret


def _outcome(item: Mapping[str, Any], again: bool) -> BulkOutcome:
    (detail,) = item.values()
    error = detail.get("error")
    reason = ": ".join(error_of(error)) if error else ""
    change = int(detail.get("_seq_no", -1)), int(detail.get("_primary_term", -1))
    index, result = str(detail.get("_index", "")), str(detail.get("result", ""))
    return BulkOutcome(int(detail["status"]), result, reason, index, again, *change)


def batches(items: Iterable[T], size_of: Callable[[T], int]) -> Iterator[list[T]]:
    return chunks_by_size(items, BATCH_RECORDS, size_of, BATCH_BYTES)


def in_flight(
    work: Callable[[list[T]], list[R]], parts: Iterable[list[T]], names: Callable[[T], object]
) -> Iterator[R]:
    """The results of `work` on each part, in order, with up to IN_FLIGHT parts at work in threads.

    Two parts with an item of the same name are never at work at once. No more than IN_FLIGHT parts are held, so a slow
    cluster slows the reading and memory stays flat. Work in flight is waited for if the reading fails or ends early,
    but not if the process is asked to stop: a hanging request does not hold it up.
    """
    waiting: deque[tuple[set[object], Future[list[R]]]] = deque()
    try:
        for part in parts:
            own = {names(item) for item in part}
            while waiting and (len(waiting) >= IN_FLIGHT or any(own & other for other, _ in waiting)):
                yield from waiting.popleft()[1].result()
            waiting.append((own, started(work, part)))
        while waiting:
            yield from waiting.popleft()[1].result()
    except STOPPED:
        raise
    except BaseException:
        wait(future for _, future in waiting)
        raise


def started(work: Callable[[list[T]], list[R]], part: list[T]) -> Future[list[R]]:
    future: Future[list[R]] = Future()

    def run() -> None:
        try:
            future.set_result(work(part))
        except BaseException as error:
            # The error is raised where the result is asked for.
            future.set_exception(error)

    # The threads of an executor would be waited for when the process ends.
    threading.Thread(target=run, name="bulk", daemon=True).start()
    return future


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
        errors = {place: error_of(error) for place in left if (error := answers[place].get("error"))}
        left = [place for place, (kind, _) in errors.items() if kind not in _NOT_THERE]
        wait = client.retry.wait(attempt, None)
        for place in left:
            kind, reason = errors[place]
            if kind in _LASTING or time.monotonic() + wait > deadline:
                named = f"{answers[place].get('_index')}/{answers[place].get('_id')}"
                raise StoreError(f"{client.target.shown}: {named} can't be read: {kind}: {reason}")
        if left:
            waiting(wait, f"documents can't be read now ({kind}: {reason})")
        attempt += 1
    return answers


def item_at(place: Ref) -> dict[str, Any]:
    return {"_index": place.index, "_id": place.id} | ({"routing": place.routing} if place.routing is not None else {})


def place_of(hit: Mapping[str, Any]) -> Ref:
    return Ref(hit["_id"], hit["_index"], hit.get("_routing"))


def version_of(hit: Mapping[str, Any]) -> Hashable:
    """The version of a document as read; any change gives another."""
    return hit["_seq_no"], hit["_primary_term"]
