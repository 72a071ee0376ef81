"""Taking neardup's part out of documents: an owner's keep all that is theirs, and what has nothing else is deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from indexer.model import Ref
from indexer.source_fields import lost_by_update
from indexer.stores.bulk import Action, Outcome, send
from indexer.stores.connection import Client
from indexer.stores.search_bodies import ROOT, encoded

STRIPPING = {"script": {"lang": "painless", "source": f"ctx._source.remove('{ROOT}')"}}
_REFUSED = 400


class Stripper:
    """Strips documents, each only where it is as it was read; `scripts` tells whether the cluster runs scripts.

    Without them `neardup` stays in an owner's document as null: a partial update can take a value away, and not a name.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self.scripts = True

    def strip(self, hits: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        """What became of each document, given with its `_source` (what is neardup's may be left out of it)."""
        outcomes = send(self._client, [self._action(hit) for hit in hits]) if hits else []
        if self.scripts and any(each.status == _REFUSED and "script" in each.reason for each in outcomes):
            self.scripts = False
            again = [place for place, each in enumerate(outcomes) if each.status == _REFUSED]
            for place, each in zip(
                again, send(self._client, [self._action(hits[place]) for place in again]), strict=True
            ):
                outcomes[place] = each
        return outcomes

    def _action(self, hit: Mapping[str, Any]) -> Action:
        place = Ref(hit["_id"], hit["_index"], hit.get("_routing"))
        conditions = {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}
        if is_own(hit):
            return Action("delete", place.index, place.id, place.routing, conditions=conditions)
        change = encoded(STRIPPING if self.scripts else {"doc": {ROOT: None}})
        return Action("update", place.index, place.id, place.routing, change, conditions)


def is_own(hit: Mapping[str, Any]) -> bool:
    """Whether a document has nothing but neardup's part."""
    own = {ROOT, "@timestamp"} if hit["_index"].startswith(".ds-") else {ROOT}
    return set(hit.get("_source") or {}) <= own


def is_own_index(found: Mapping[str, Any]) -> bool:
    """Whether an index with this mapping was made by neardup, and nobody else has put anything in."""
    made = found.get("_meta", {}).get(ROOT, {}).get("made_index")
    return bool(made) and set(found.get("properties", {})) <= {ROOT}


def lost(client: Client, index: str, found: Mapping[str, Any]) -> str:
    """Why an update of an index's documents would lose something of its owner's; empty where it would not."""
    settings = client.request("GET", f"/{index}/_settings", flat_settings="true")[index]["settings"]
    return lost_by_update(found, settings)
