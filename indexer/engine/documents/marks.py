"""The changes of an index looked at already, by the sequence numbers of its shards.

A shard numbers its changes without a gap. Up to its global checkpoint all of them are final and in every copy, so a
later refresh shows them; a greater number is new, changed or deleted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import path_of
from indexer.engine.client.snapshots import Search
from indexer.engine.store.store import SearchStore
from indexer.errors import StoreError
from indexer.stores.texts import TextFields

# The name of the resource that keeps the marks.
LOOKED_AT = "looked-at"
_ANSWER = "indices.*.uuid,indices.*.shards.*.seq_no,indices.*.shards.*.routing.primary"
_DENIED = (400, 403, 404, 405, 410)


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard of an index: its number, the latest change, and the last change present in every copy."""

    index: str
    uuid: str
    number: int
    latest: int
    checkpoint: int

    @property
    def key(self) -> str:
        return f"{self.uuid}/{self.number}"


def read_shards(client: Client, path: str) -> list[Shard] | None:
    """The current shards behind the path of a name; None if the engine does not tell, or not this user.

    Raises StoreError.
    """
    try:
        answer = client.request("GET", f"/{path}/_stats/docs", level="shards", filter_path=_ANSWER)
    except StoreError as error:
        if _is_refused(error):
            return None
        raise
    shards = []
    for index, described in sorted(answer.get("indices", {}).items()):
        for number, copies in described.get("shards", {}).items():
            primary = next((copy["seq_no"] for copy in copies if copy.get("routing", {}).get("primary")), None)
            if primary is None or "uuid" not in described:
                # A shard whose primary is away gives no numbers now.
                return None
            counts = int(primary["max_seq_no"]), int(primary["global_checkpoint"])
            shards.append(Shard(index, described["uuid"], int(number), *counts))
    return shards


def _is_refused(error: StoreError) -> bool:
    answer = error if isinstance(error, AnswerError) else error.__cause__
    return isinstance(answer, AnswerError) and answer.status in _DENIED


@dataclass(frozen=True, slots=True)
class Marks:
    """The latest change of each shard up to which documents were looked at, with these `settings`, at this time.

    `documents` is how many there were.
    """

    settings: str
    seen: Mapping[str, int]
    at: str = ""
    documents: int = 0

    @classmethod
    def read(cls, store: SearchStore, settings: str) -> Marks:
        """Load the stored marks; empty if missing or made with other settings."""
        data = store.get_resource(LOOKED_AT)
        try:
            kept = cls(**json.loads(data)) if data else None
        except (TypeError, ValueError):
            kept = None
        return kept if kept and kept.settings == settings else cls(settings, {})

    def keep(self, store: SearchStore) -> None:
        """Keep them in a store; without permission for an index, the next run looks at everything again.

        Raises StoreError.
        """
        kept = {"settings": self.settings, "seen": dict(self.seen), "at": self.at, "documents": self.documents}
        try:
            store.put_resource(LOOKED_AT, json.dumps(kept).encode())
        except StoreError as error:
            if not _is_refused(error):
                raise

    def behind(self, shards: Sequence[Shard]) -> int:
        return sum(max(0, shard.latest - self.seen.get(shard.key, -1)) for shard in shards)

    def moved(self, before: Sequence[Shard], after: Sequence[Shard], wrote: Mapping[str, int]) -> dict[str, int]:
        later = {shard.key: shard for shard in after}
        given: dict[str, int] = {}
        for shard in before:
            at = later.get(shard.key)
            idle = at is not None and shard.checkpoint == shard.latest
            given[shard.index] = given.get(shard.index, 0) + (at.latest - shard.latest if at and idle else 1 << 62)
        return {
            shard.key: later[shard.key].latest if given[shard.index] == wrote.get(shard.index, 0) else shard.checkpoint
            for shard in before
            if shard.key in later
        }


def settings_of(fields: TextFields, *described: object) -> str:
    """A digest of everything fingerprints depend on; if it differs, every document is looked at again."""
    return hashlib.sha256(repr((fields, *described)).encode()).hexdigest()[:32]


def parts_to_read(
    path: str, marks: Marks, shards: Sequence[Shard] | None, body: Mapping[str, Any], slices: int
) -> list[Search]:
    """The searches for what was not looked at yet."""
    if shards is None or not any(shard.key in marks.seen for shard in shards):
        return [Search(path, {**body, "query": {"match_all": {}}}, slices)]
    parts = []
    for shard in shards:
        seen = marks.seen.get(shard.key, -1)
        if shard.latest > seen:
            query = {"range": {"_seq_no": {"gt": seen}}}
            parts.append(
                Search(path_of(shard.index)[1:], {**body, "query": query}, preference=f"_shards:{shard.number}")
            )
    return parts
