"""Take neardup's part out of documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.bulk import Action, BulkOutcome, place_of, send, unchanged, update
from indexer.engine.client.names import path_of
from indexer.engine.index.bodies import ROOT, is_owners, own_part
from indexer.engine.index.mapping import IndexMapping
from indexer.engine.index.source_fields import lost_by_update

STRIPPING = {"script": {"lang": "painless", "source": f"ctx._source.remove('{ROOT}')"}}
# The values that others have put under the same name stay.
_THINNING = f"ctx._source.{ROOT}.keySet().removeAll(params.names)"
_REFUSED = 400
# What shows whose a document is; the rest of neardup's part need not be read for that.
_TELLING = frozenset({"tokens", "pending"})


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
