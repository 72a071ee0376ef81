"""Setting up an index for neardup, and taking away again what that added, as requests that can be shown first."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from indexer.errors import IncompatibleStoreError, StoreError, UsageError
from indexer.keys import SchemeInfo
from indexer.slices import Slices
from indexer.stores import StoreInfo, mapping
from indexer.stores.bulk import BATCH_RECORDS
from indexer.stores.connection import AnswerError, Client
from indexer.stores.mapping import mappings_directory
from indexer.stores.search_bodies import MAPPING_VERSION, ROOT, fields_of, is_record
from indexer.stores.sketch_fields import is_scheme, sketch_properties
from indexer.stores.stripping import STRIPPING, Stripper, is_own, is_own_index, lost

__all__ = ["Provision", "Step", "mappings_directory"]

COMPONENT = "neardup"
_ROUNDS = 8
_GONE, _CHANGED = 404, 409


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: a sentence, and the request; `strips` names an index whose documents lose neardup's values."""

    why: str
    method: str
    path: str
    body: Mapping[str, Any] | None = None
    strips: str = ""

    def request(self) -> str:
        """The request as consoles and people write it; for documents that are stripped one of many."""
        lines = [f"{self.method} {self.path}"]
        if self.strips:
            action = {"_index": self.strips, "_id": "ID", "if_seq_no": "N", "if_primary_term": "N"}
            lines += [json.dumps({"update": action}), json.dumps(STRIPPING)]
        elif self.body is not None:
            lines.append(json.dumps(self.body, indent=2, ensure_ascii=False))
        return "\n".join(lines)


class Provision:
    """Plans and carries out set-up and removal for the index, alias or data stream that a client's URL names."""

    def __init__(self, client: Client) -> None:
        self.client, self.name, self.shown = client, client.target.name, client.target.shown
        if "*" in self.name or "," in self.name:
            raise UsageError(f"{self.shown}: set up one index, alias or data stream; a pattern is only for reading")
        self.template = f"neardup-{self.name}"

    def set_up(self, info: StoreInfo, *, shards: int | None = None, replicas: int | None = None) -> list[Step]:
        """What is left to do so that the store is there; nothing where all is done.

        Raises IncompatibleStoreError where the cluster holds something of a newer neardup, or the store's fingerprints
        are others, and UsageError where the owner's mapping has no room or no place for the fields.
        """
        steps = self._component(info)
        indices = self._indices()
        if not indices:
            return [*steps, self._index_template(shards, replicas), self._new_index(info)]
        schemes = {each.name: each for found in indices.values() for each in mapping.schemes_of(found)}
        for name, found in indices.items():
            steps += self._existing(name, found, info, schemes.values())
        return steps

    def removal(self) -> list[Step]:
        """What takes away everything that set-up and commands added for this name, and nothing else."""
        steps = []
        for name, found in self._indices().items():
            steps += self._removal_of(name, found)
        for suffix in ("failures", "clusters", "resources"):
            side = f"{self.name}-neardup-{suffix}"
            if self._get(f"/{quote(side, safe='')}/_mapping"):
                steps.append(Step(f"delete the index of {suffix}", "DELETE", f"/{side}"))
        templates = (self._get("/_index_template") or {}).get("index_templates", [])
        users = {each["name"] for each in templates if COMPONENT in each["index_template"].get("composed_of", ())}
        if self.template in users:
            steps.append(Step("delete the index template", "DELETE", f"/_index_template/{self.template}"))
        if not users - {self.template} and self._get(f"/_component_template/{COMPONENT}"):
            steps.append(Step("delete the component template", "DELETE", f"/_component_template/{COMPONENT}"))
        return steps

    def carry_out(self, steps: list[Step]) -> Iterator[str]:
        """Do the steps; a sentence for each one that is done. StoreError where the cluster refuses one."""
        for step in steps:
            if step.strips:
                yield f"{step.why}: {self._strip(step.strips)}"
                continue
            try:
                self.client.request(step.method, step.path, step.body)
            except AnswerError as error:
                gone = step.method == "DELETE" and error.status == 404
                if not gone and error.kind != "resource_already_exists_exception":
                    raise StoreError(f"{self.shown}: can't {step.why}: {error.reason}") from error
            yield step.why

    # What is there

    def _get(self, path: str) -> Any:
        try:
            return self.client.request("GET", path)
        except AnswerError as error:
            if error.status == 404:
                return None
            raise

    def _indices(self) -> dict[str, dict[str, Any]]:
        found = self._get(f"/{quote(self.name, safe='-')}/_mapping") or {}
        return {name: each.get("mappings", {}) for name, each in sorted(found.items())}

    # Setting up

    def _component(self, info: StoreInfo) -> list[Step]:
        wanted = mapping.load("component-template")
        wanted["template"]["mappings"]["_meta"] = {ROOT: mapping.meta(info)}
        wanted["version"] = MAPPING_VERSION
        known = (self._get(f"/_component_template/{COMPONENT}") or {}).get("component_templates", [])
        there = known[0]["component_template"] if known else {}
        if int(there.get("version", 0)) > MAPPING_VERSION:
            raise IncompatibleStoreError(
                f"{self.shown}: the component template {COMPONENT} was made by a newer neardup, with mapping version "
                f"{there['version']}; this one knows up to {MAPPING_VERSION}: install a newer neardup"
            )
        if int(there.get("version", 0)) == MAPPING_VERSION:
            return []
        return [Step("put the component template", "PUT", f"/_component_template/{COMPONENT}", wanted)]

    def _index_template(self, shards: int | None, replicas: int | None) -> Step:
        body = mapping.load("index-template")
        body["index_patterns"] = [self.name]
        given = {"number_of_shards": shards, "number_of_replicas": replicas}
        body["template"]["settings"]["index"] = {name: value for name, value in given.items() if value is not None}
        return Step("put the index template", "PUT", f"/_index_template/{self.template}", body)

    def _new_index(self, info: StoreInfo) -> Step:
        body = {"mappings": {"_meta": {ROOT: mapping.meta(info, made_index=True)}}}
        return Step(f"make the index {self.name}", "PUT", f"/{self.name}", body)

    def _existing(
        self, name: str, found: Mapping[str, Any], info: StoreInfo, schemes: Collection[SchemeInfo]
    ) -> list[Step]:
        """What one index lacks; also of the schemes that another index behind the name has."""
        old = found.get("_meta", {})
        known = mapping.info_of(found, f"{self.shown} ({name})")
        if known:
            known.require_comparable(info, f"{self.shown} ({name})")
        fields = mapping.properties()
        for each in schemes:
            own = sketch_properties(each, fields_of(found, each.name))
            fields[ROOT]["properties"][each.name] = {"properties": own}
        have = found.get("properties", {}).get(ROOT)
        if known and have and not _missing(fields[ROOT], have) and old[ROOT]["mapping_version"] == MAPPING_VERSION:
            return []
        inside = {} if have is None else have.get("properties", {"": {}})
        if any(name not in fields[ROOT]["properties"] and not is_scheme(each) for name, each in inside.items()):
            raise UsageError(f"{self.shown}: {name} has a field {ROOT!r} of its owner's; use another index for neardup")
        mapping.require_room(self.client, name, found, fields, self.shown)
        own = old.get(ROOT, {}) | mapping.meta(known or info)
        if schemes:
            own["schemes"] = mapping.schemes_meta(schemes)
        body = {"_meta": mapping.with_meta(old, own), "properties": fields}
        return [Step(f"add neardup's fields to the mapping of {name}", "PUT", f"/{name}/_mapping", body)]

    # Removing

    def _removal_of(self, name: str, found: Mapping[str, Any]) -> list[Step]:
        old = found.get("_meta", {})
        if ROOT not in old:
            return []
        if is_own_index(found):
            return [Step(f"delete the index {name}, which neardup made and nobody else filled", "DELETE", f"/{name}")]
        self._require_whole(name, found)
        strip = Step(f"strip neardup's values from {name}", "POST", "/_bulk", strips=name)
        body = {"_meta": mapping.with_meta(old, None)}
        why = (
            f"forget neardup in _meta of {name} (a mapping can't give up fields: the names stay until the next reindex)"
        )
        return [strip, Step(why, "PUT", f"/{name}/_mapping", body)]

    def _require_whole(self, name: str, found: Mapping[str, Any]) -> None:
        reason = lost(self.client, name, found)
        if reason and self.client.request("POST", f"/{name}/_count", {"query": is_record()})["count"]:
            raise StoreError(
                f"{self.shown}: {name} has documents with neardup's values, and {reason}: to strip them would rebuild "
                "the documents from _source and lose what it leaves out. Nothing was changed; the values go when the "
                "documents are indexed anew"
            )

    def _strip(self, name: str) -> str:
        """Take neardup's part out of every document of an index; what was done, in words."""
        stripping = _Stripping(self.client, name)
        for _ in range(_ROUNDS):
            if not stripping.run():
                break
        else:
            raise StoreError(f"{self.shown}: documents of {name} change all the time; run the same command again")
        if stripping.refused:
            raise StoreError(
                f"{self.shown}: {stripping.refused} documents of {name} can't be stripped: {stripping.reason}; all "
                "others are, and the same command goes on with these"
            )
        return stripping.told()


class _Stripping:
    """Takes neardup's part out of documents, and deletes those that have no other; the counts of that."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name
        self._stripper = Stripper(client)
        self.stripped = self.deleted = self.refused = 0
        self.reason = ""

    def run(self) -> int:
        """Go through all documents that have values; how many changed in this moment and are left."""
        path = quote(self._name, safe="-")
        self._client.request("POST", f"/{path}/_refresh")
        # Also those that a pipeline only marked.
        ours = {"bool": {"should": [is_record(), {"exists": {"field": f"{ROOT}.pending"}}]}}
        body = {"query": ours, "_source": {"excludes": [ROOT]}, "seq_no_primary_term": True}
        self.refused = changed = 0
        with Slices(self._client, path, body, 1, BATCH_RECORDS) as pages:
            for hits in pages:
                changed += self._page(hits)
        self._client.request("POST", f"/{path}/_refresh")
        return changed

    def _page(self, hits: Sequence[Mapping[str, Any]]) -> int:
        changed = 0
        for hit, outcome in zip(hits, self._stripper.strip(hits), strict=True):
            if outcome.ok:
                self.deleted += is_own(hit)
                self.stripped += not is_own(hit)
            elif outcome.status == _CHANGED:
                changed += 1
            elif outcome.status != _GONE:
                self.refused += 1
                self.reason = self.reason or f"{hit['_id']}: {outcome.reason}"
        return changed

    def told(self) -> str:
        """What was done."""
        whole = self._stripper.scripts or not self.stripped
        left = "" if whole else f" ({ROOT!r} stays there as null: no scripts are allowed)"
        more = f"; {self.deleted} deleted that had nothing else" if self.deleted else ""
        return f"{self.stripped} documents{left}{more}"


def _missing(wanted: Mapping[str, Any], have: Mapping[str, Any]) -> bool:
    """Whether a mapping lacks a field of another one."""
    inside = have.get("properties", {})
    return any(
        name not in inside or _missing(each, inside[name]) for name, each in wanted.get("properties", {}).items()
    )
