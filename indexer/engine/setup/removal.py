"""Take neardup out of an index, and tell by its documents whose an index is."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.bulk import BATCH_RECORDS, Action, BulkOutcome, place_of, rounds, send, unchanged, update
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import path_of
from indexer.engine.client.snapshots import Search, Slices
from indexer.engine.index.bodies import ROOT, is_owners, is_record, own_part
from indexer.engine.index.mapping import IndexMapping, read_mappings
from indexer.engine.index.source_fields import lost_by_update
from indexer.errors import StoreError, UsageError
from indexer.text.counts import counted

_GONE = 404
_BLOCK = "index.blocks.write"
_SLICES = 4
_PAGE = 5000
_FORBIDDEN = 403
_ELSEWHERE = "nothing was changed; use another index for neardup, or keep the fingerprints beside it (annotate --to)"
STRIPPING = {"script": {"lang": "painless", "source": f"ctx._source.remove('{ROOT}')"}}
# The values that others have put under the same name stay.
_THINNING = f"ctx._source.{ROOT}.keySet().removeAll(params.names)"
_REFUSED = 400
# What shows whose a document is; the rest of neardup's part need not be read for that.
_TELLING = frozenset({"tokens", "pending"})


def delete_made(client: Client, index: str) -> None:
    """Delete an index, if even now only neardup's data is in it. Raises StoreError otherwise.

    Writes are blocked from before the last look on, so no new document is lost.
    """
    path = path_of(index)
    try:
        settings = client.request("GET", f"{path}/_settings", flat_settings="true")
    except AnswerError as error:
        if error.status == _GONE:
            return
        raise
    if index not in settings:
        raise StoreError(f"{client.target.shown}: {index} is now the name of another index; nothing was deleted")
    blocked = settings[index]["settings"].get(_BLOCK) == "true"
    try:
        answer = client.request("PUT", f"{path}/_block/write")
        if not answer.get("shards_acknowledged"):
            raise StoreError(
                f"{client.target.shown}: writes to {index} are not blocked on all shards; nothing was deleted"
            )
        if not is_made(client, read_mappings(client, path[1:])[index]):
            raise StoreError(
                f"{client.target.shown}: somebody has put other documents into {index} meanwhile; nothing was "
                f"deleted. Run the same command again: it removes neardup's values, and keeps the rest"
            )
        client.request("DELETE", path)
    except BaseException:
        if not blocked:
            with suppress(StoreError):
                client.request("PUT", f"{path}/_settings", {_BLOCK: None})
        raise


class Stripping:
    """Takes neardup's part out of the documents of an index, and deletes those without another.

    A document is only changed if it is as read, and never if it has an owner's own field `neardup`.
    """

    def __init__(self, client: Client, index: str) -> None:
        self._client, self._index, self._path = client, index, path_of(index)
        self._names = read_mappings(client, self._path[1:])[index].own_names
        self._stripper = Stripper(client, lambda _: self._names)
        self._stripped = self._deleted = self._thinned = self._refused = 0
        self._reason = ""

    def run(self) -> str:
        shown = self._client.target.shown
        for _ in rounds():
            if not self._round():
                break
        else:
            raise StoreError(f"{shown}: documents of {self._index} change constantly; run the same command again")
        if self._refused:
            raise StoreError(
                f"{shown}: {counted(self._refused, 'document')} of {self._index} can't be stripped: {self._reason}; "
                "all others are done, and the same command resumes with the rest"
            )
        return self._told()

    def _round(self) -> int:
        self._client.request("POST", f"{self._path}/_refresh")
        # Also those that a pipeline only marked.
        ours = {"bool": {"should": [is_record(), {"exists": {"field": f"{ROOT}.pending"}}]}}
        body = {"query": ours, "_source": telling_source(self._names), "seq_no_primary_term": True}
        self._refused = changed = 0
        with Slices(self._client, [Search(self._path.removeprefix("/"), body)], BATCH_RECORDS) as pages:
            for hits in pages:
                changed += self._page([hit for hit in hits if own_part(hit.get("_source")) is not None])
        self._client.request("POST", f"{self._path}/_refresh")
        return changed

    def _page(self, hits: Sequence[Mapping[str, Any]]) -> int:
        changed = 0
        for hit, outcome in zip(hits, self._stripper.strip(hits), strict=True):
            if outcome.ok:
                own = is_own(hit, self._names)
                self._deleted += own
                self._stripped += not own
                self._thinned += bool(foreign_names(hit["_source"], self._names))
            elif outcome.is_changed:
                changed += 1
            elif not outcome.is_gone:
                self._refused += 1
                self._reason = self._reason or f"{hit['_id']}: {outcome.reason}"
        return changed

    def _told(self) -> str:
        whole = self._stripper.scripts or not self._stripped
        left = "" if whole else f" ({ROOT!r} stays there as null: no scripts are allowed)"
        more = f"; {self._deleted} deleted that had nothing else" if self._deleted else ""
        kept = f"; of {self._thinned} what others had put under {ROOT!r} stays" if self._thinned else ""
        return f"{counted(self._stripped, 'document')}{left}{more}{kept}"


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
    with Slices(client, [Search(path_of(index).removeprefix("/"), body, _SLICES)], _PAGE) as pages:
        for page in pages:
            yield from page


class Stripper:
    """Strips documents, each only if it is as read; `scripts` says whether the engine runs scripts.

    Without them `neardup` stays in an owner's document as null: a partial update can remove a value, not a name.
    `names_in` returns neardup's own names under `neardup` in an index.
    """

    def __init__(self, client: Client, names_in: Callable[[str], frozenset[str]]) -> None:
        self._client, self._names_in = client, names_in
        self.scripts = True

    def strip(self, hits: Sequence[Mapping[str, Any]], *, owners: bool = False) -> list[BulkOutcome]:
        """The outcomes of stripping documents given with `_source`; of neardup's part `tokens` and `pending` suffice.

        With `owners` every one is deleted.
        """
        names = {index: self._names_in(index) for index in {hit["_index"] for hit in hits}}

        def sent(places: Sequence[int]) -> list[BulkOutcome]:
            chosen = [hits[place] for place in places]
            actions = [self._action(hit, names[hit["_index"]], owners) for hit in chosen]
            return send(self._client, actions) if actions else []

        outcomes = sent(range(len(hits)))
        if self.scripts and any(outcome.status == _REFUSED and "script" in outcome.reason for outcome in outcomes):
            self.scripts = False
            again = [place for place, outcome in enumerate(outcomes) if outcome.status == _REFUSED]
            for place, outcome in zip(again, sent(again), strict=True):
                outcomes[place] = outcome
        return outcomes

    def _action(self, hit: Mapping[str, Any], names: frozenset[str], owners: bool) -> Action:
        place, conditions = place_of(hit), unchanged(hit)
        if owners or is_own(hit, names):
            return Action("delete", place.index, place.id, place.routing, conditions=conditions)
        change: Mapping[str, Any]
        if not foreign_names(hit["_source"], names):
            change = STRIPPING if self.scripts else {"doc": {ROOT: None}}
        elif self.scripts:
            script = {"lang": "painless", "source": _THINNING, "params": {"names": sorted(names)}}
            change = {"script": script}
        else:
            change = {"doc": {ROOT: dict.fromkeys(sorted(names))}}
        return update(place, change, conditions)


def telling_source(names: frozenset[str]) -> dict[str, Any]:
    return {"excludes": sorted(f"{ROOT}.{name}" for name in names - _TELLING)}


def foreign_names(source: Mapping[str, Any], names: frozenset[str]) -> set[str]:
    part = own_part(source) or {}
    return {name for name, value in part.items() if name not in names and value is not None}


def is_own(hit: Mapping[str, Any], names: frozenset[str]) -> bool:
    source = hit.get("_source") or {}
    own = {ROOT, "@timestamp"} if hit["_index"].startswith(".ds-") else {ROOT}
    return own_part(source) is not None and set(source) <= own and not foreign_names(source, names)


def is_owners_field(source: Mapping[str, Any], names: frozenset[str]) -> bool:
    if any(name.startswith(f"{ROOT}.") and value is not None for name, value in source.items()):
        return True
    return is_owners(source) or bool(foreign_names(source, names))


def lost(client: Client, mapping: IndexMapping) -> str:
    settings = client.request("GET", f"{path_of(mapping.index)}/_settings", flat_settings="true")
    return lost_by_update(mapping, settings[mapping.index]["settings"])
