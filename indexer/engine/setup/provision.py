"""Set up an index, and undo it, as requests to show first."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, get_args

from indexer.engine.client.base import Client
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import SideKind, path_of, side_name
from indexer.engine.index.bodies import MAPPING_VERSION, ROOT, is_record
from indexer.engine.index.keys_beside import beside_name
from indexer.engine.index.mapping import IndexMapping, Mappings, load, meta, missing, properties, read_mappings
from indexer.engine.index.side_index import is_side, require_sides
from indexer.engine.index.sketches import is_scheme, sketch_properties
from indexer.engine.setup.removal import STRIPPING, Stripping, delete_made, is_made, lost, require_open, require_place
from indexer.errors import IncompatibleStoreError, StoreError, UsageError
from indexer.model.kinds import DOCUMENTS
from indexer.schemes.keys.layout import SchemeInfo
from indexer.stores import StoreInfo

COMPONENT = "neardup"
_DENIED = 403


@dataclass(frozen=True, slots=True)
class SetupStep:
    """One thing to do: a sentence, and the request; `objects` are the saved objects of dashboards to import.

    `strips` names an index whose documents lose neardup's values, `deletes` an index to delete, `describes` one whose
    `_meta` is in the body: the owner's part of it is read again when the step is done. An `optional` step is skipped if
    access control denies it. `undo` takes it back if a later step is refused.
    """

    why: str
    method: str
    path: str
    body: Mapping[str, Any] | None = None
    strips: str = ""
    deletes: str = ""
    describes: str = ""
    optional: bool = False
    undo: SetupStep | None = None
    objects: Sequence[Mapping[str, Any]] = ()

    def request(self) -> str:
        lines = [f"{self.method} {self.path}"]
        if self.strips:
            action = {"_index": self.strips, "_id": "ID", "if_seq_no": "N", "if_primary_term": "N"}
            lines += [json.dumps({"update": action}), json.dumps(STRIPPING)]
        elif self.body is not None:
            lines.append(json.dumps(self.body, indent=2, ensure_ascii=False))
        return "\n".join([*lines, *map(object_line, self.objects)])


def object_line(saved: Mapping[str, Any]) -> str:
    return json.dumps(saved, separators=(",", ":"))


class Provision:
    def __init__(self, client: Client, *, pattern: bool = False) -> None:
        self.client, self.name, self.shown = client, client.target.name, client.target.shown
        if ("*" in self.name and not pattern) or "," in self.name:
            raise UsageError(f"{self.shown}: set up one index, alias or data stream; a pattern is only for reading")
        self.template = f"neardup-{self.name}"

    def set_up(self, info: StoreInfo, *, shards: int | None = None, replicas: int | None = None) -> list[SetupStep]:
        """The remaining steps to have the store; none if all is done.

        Raises IncompatibleStoreError for anything of a newer neardup, or other fingerprints, and UsageError if the
        owner's mapping has no room or no place for the fields, and if existing indices have other numbers of `shards`
        or `replicas`.
        """
        indices = self._indices()
        if not indices:
            require_sides(self.client)
        else:
            self._require_numbers(shards=shards, replicas=replicas)
        schemes = _schemes(indices, info)
        steps, composed = self._component(info), [COMPONENT]
        for scheme in schemes:
            name, wanted = scheme_component(scheme)
            there = self._component_there(name)
            if there and there.get("template") != wanted["template"]:
                # Somebody else's, or of another store's sketches with other parameters: this one stands beside it.
                name += f"-{blake2b(scheme.id.encode(), digest_size=4).hexdigest()}"
                there = self._component_there(name)
            if not there:
                steps.append(put_new(f"the component template {name}", f"/_component_template/{name}", wanted))
            composed.append(name)
        if not indices:
            return [*steps, self._index_template(info, composed, shards, replicas), self._new_index(info)]
        return steps + self.fields(info)

    def fields(self, info: StoreInfo, added: Sequence[SchemeInfo] = ()) -> list[SetupStep]:
        require_sides(self.client)
        indices = self._indices()
        schemes = _schemes(indices, info)
        names = {scheme.name for scheme in schemes}
        schemes += [scheme for scheme in added if scheme.name not in names]
        return [step for mapping in indices.values() for step in self._existing(mapping, info, schemes)]

    @property
    def exists(self) -> bool:
        return bool(self._indices())

    def schemes(self) -> list[str] | None:
        indices = self._indices()
        if not indices.is_set_up:
            return None
        return sorted(indices.schemes())

    @property
    def kind(self) -> str | None:
        return self._indices().kind(self.shown)

    def removal(self) -> list[SetupStep]:
        """The steps to remove everything set-up and commands added for this name, and nothing else.

        Raises StoreError if an index behind the name is closed, so that no removal ends half-way.
        """
        steps, indices = [], self._indices()
        if indices:
            require_open(self.client, self.name)
        for mapping in indices.values():
            steps += self._removal_of(mapping)
        # Keys lie beside each index, whatever name it was written through.
        sides: list[tuple[str, SideKind]] = [(self.name, kind) for kind in get_args(SideKind)]
        sides += [(beside_name(index), "keys") for index in indices if index != self.name]
        for name, kind in sides:
            side = side_name(name, kind)
            mappings = read_mappings(self.client, path_of(side)[1:])
            if side in mappings and is_side(mappings[side], kind):
                steps.append(SetupStep(f"delete the index of {kind}", "DELETE", path_of(side)))
        return steps + self._templates()

    def _templates(self) -> list[SetupStep]:
        steps = []
        templates = (self.client.found("/_index_template") or {}).get("index_templates", [])
        users = {template["name"]: template["index_template"] for template in templates}
        if self._is_own_template(users.get(self.template)):
            del users[self.template]
            steps.append(SetupStep("delete the index template", "DELETE", f"/_index_template{path_of(self.template)}"))
        used = {name for template in users.values() for name in template.get("composed_of", ())}
        known = (self.client.found(f"/_component_template/{COMPONENT}*") or {}).get("component_templates", [])
        for template in known:
            name, there = template["name"], template["component_template"]
            if name not in used and (_is_own_component(there) if name == COMPONENT else _is_of_scheme(name, there)):
                steps.append(
                    SetupStep(f"delete the component template {name}", "DELETE", f"/_component_template/{name}")
                )
        return steps

    def carry_out(self, steps: list[SetupStep]) -> Iterator[str]:
        """Do the steps; a sentence for each finished one. Raises StoreError if the cluster refuses one.

        Then it takes back the new steps before it, so that no template is left without its index.
        """
        undone: list[SetupStep] = []
        try:
            for step in steps:
                yield self._carry_out(step, undone)
        except StoreError:
            for step in undone[::-1]:
                with suppress(StoreError):
                    yield self._carry_out(step, [])
            raise

    def _carry_out(self, step: SetupStep, undone: list[SetupStep]) -> str:
        if step.strips:
            return f"{step.why}: {Stripping(self.client, step.strips).run()}"
        try:
            if step.deletes:
                delete_made(self.client, step.deletes)
            else:
                self.client.request(step.method, step.path, self._body(step))
            undone += [step.undo] if step.undo else []
        except AnswerError as error:
            gone = step.method == "DELETE" and error.status == 404
            if step.optional and error.status == _DENIED:
                return f"not done, since it is not allowed here: {step.why}"
            if not gone and error.kind != "resource_already_exists_exception":
                raise StoreError(f"{self.shown}: can't {step.why}: {error.reason}") from error
        return step.why

    def _body(self, step: SetupStep) -> Mapping[str, Any] | None:
        if not step.describes or step.body is None:
            return step.body
        # The documents may have taken hours since the step was planned.
        mappings = read_mappings(self.client, path_of(step.describes)[1:])
        mapping = mappings.get(step.describes) or IndexMapping(step.describes, {})
        own, known = step.body["_meta"].get(ROOT), mapping.meta.get(ROOT)
        merged = own and {**(known if isinstance(known, Mapping) else {}), **own}
        return {**step.body, "_meta": mapping.meta_with(merged)}

    def documents(self, index: str) -> int:
        return int(self.client.request("POST", f"{path_of(index)}/_count")["count"])

    def _require_numbers(self, **wanted: int | None) -> None:
        more = {"shards": "these were fixed when it was made", "replicas": "PUT /INDEX/_settings changes them"}
        for what, number in wanted.items():
            if number is None:
                continue
            name = f"index.number_of_{what}"
            for index, there in self.client.found(f"{path_of(self.name)}/_settings/{name}?flat_settings=true").items():
                if (known := there["settings"][name]) != str(number):
                    raise UsageError(
                        f"--{what} {number} is for a new index, and {self.shown} already exists; {index} has {known} "
                        f"{what}, {more[what]}"
                    )

    # What is there

    def _indices(self) -> Mappings:
        return read_mappings(self.client, path_of(self.name)[1:])

    # Setting up

    def _component(self, info: StoreInfo) -> list[SetupStep]:
        wanted = load("component-template")
        # It is shared by stores of every kind.
        wanted["template"]["mappings"]["_meta"] = {ROOT: meta(replace(info, kind=DOCUMENTS))}
        wanted["version"] = MAPPING_VERSION
        there = self._component_there()
        if there and not _is_own_component(there):
            raise UsageError(
                f"{self.shown}: the engine has a component template {COMPONENT!r} that belongs to the owner, without "
                "neardup's fields; rename it"
            )
        if int(there.get("version", 0)) > MAPPING_VERSION:
            raise IncompatibleStoreError(
                f"{self.shown}: the component template {COMPONENT} was made by a newer neardup, with mapping version "
                f"{there['version']}; this one knows up to {MAPPING_VERSION}: install a newer neardup"
            )
        if int(there.get("version", 0)) == MAPPING_VERSION:
            return []
        return [put_new("the component template", f"/_component_template/{COMPONENT}", wanted, new=not there)]

    def _component_there(self, name: str = COMPONENT) -> dict[str, Any]:
        known = (self.client.found(f"/_component_template/{name}") or {}).get("component_templates", [])
        return dict(known[0]["component_template"]) if known else {}

    def _is_own_template(self, template: Mapping[str, Any] | None) -> bool:
        composed = (template or {}).get("composed_of") or [""]
        parts = [name for name in composed[1:] if name.startswith(f"{COMPONENT}-")]
        if not template or template.get("index_patterns") != [self.name] or composed != [COMPONENT, *parts]:
            return False
        made = template.get("template", {})
        mappings = made.get("mappings", {})
        return (
            set(made) <= {"settings", "mappings"}
            and set(mappings) <= {"_meta"}
            and {*mappings.get("_meta", ())} <= {ROOT}
        )

    def _index_template(
        self, info: StoreInfo, composed: Sequence[str], shards: int | None, replicas: int | None
    ) -> SetupStep:
        there = (self.client.found(f"/_index_template{path_of(self.template)}") or {}).get("index_templates", [])
        if there and not self._is_own_template(there[0]["index_template"]):
            raise UsageError(
                f"{self.shown}: the engine has an index template {self.template!r} that belongs to the owner; rename it"
            )
        body = load("index-template")
        body |= {"index_patterns": [self.name], "composed_of": list(composed)}
        given = {"number_of_shards": shards, "number_of_replicas": replicas}
        # The component is shared by all stores of the cluster, and says how the first of them was made.
        body["template"]["mappings"] = {"_meta": {ROOT: meta(info)}}
        body["template"]["settings"]["index"] = {name: value for name, value in given.items() if value is not None}
        return put_new("the index template", f"/_index_template{path_of(self.template)}", body, new=not there)

    def _new_index(self, info: StoreInfo) -> SetupStep:
        inside = {scheme.name: {"properties": sketch_properties(scheme, doc_values=False)} for scheme in info.schemes}
        body: dict[str, Any] = {"mappings": {"_meta": {ROOT: meta(info, made_index=True)}}}
        if inside:
            body["mappings"]["properties"] = {ROOT: {**properties()[ROOT], "properties": inside}}
        path = path_of(self.name)
        undo = SetupStep(f"delete the index {self.name} again", "DELETE", path, deletes=self.name)
        return SetupStep(f"make the index {self.name}", "PUT", path, body, undo=undo)

    def _existing(self, mapping: IndexMapping, info: StoreInfo, schemes: Collection[SchemeInfo]) -> list[SetupStep]:
        known = mapping.info(self.shown)
        if known:
            mapping.require_current(self.shown)
            known.require_comparable(info, f"{self.shown} ({mapping.index})")
        fields = properties()
        for scheme in schemes:
            own = sketch_properties(scheme, doc_values=not mapping.made)
            fields[ROOT]["properties"][scheme.name] = {"properties": own}
        have = mapping.properties.get(ROOT)
        described = {scheme.name for scheme in mapping.schemes()}
        lacking = missing(fields[ROOT], have or {}, {scheme.name for scheme in schemes} - described)
        if known and not lacking:
            return []
        require_place(self.client, mapping, self.shown)
        mapping.require_room(self.client, fields, self.shown)
        own = dict(mapping.entry) | meta(known or info)
        # A field that is there is left alone: to put it again would take away what is noted with it.
        inside = {ROOT: {**fields[ROOT], "properties": lacking}}
        body = {"_meta": mapping.meta_with(own), "properties": inside}
        why = f"add neardup's fields to the mapping of {mapping.index}"
        return [SetupStep(why, "PUT", f"{path_of(mapping.index)}/_mapping", body, describes=mapping.index)]

    # Removing

    def _removal_of(self, mapping: IndexMapping) -> list[SetupStep]:
        name = mapping.index
        if not mapping.entry:
            return []
        if is_made(self.client, mapping):
            why = f"delete the index {name}, which neardup made and nobody else filled"
            return [SetupStep(why, "DELETE", path_of(name), deletes=name)]
        body = {"_meta": mapping.meta_with(None)}
        why = (
            f"forget neardup in _meta of {name} (a mapping can't give up fields: the names stay until the next reindex)"
        )
        forget = SetupStep(why, "PUT", f"{path_of(name)}/_mapping", body, describes=name)
        if reason := lost(self.client, mapping):
            self._require_no_record(name, reason)
            return [forget]
        return [SetupStep(f"strip neardup's values from {name}", "POST", "/_bulk", strips=name), forget]

    def _require_no_record(self, name: str, reason: str) -> None:
        if self.client.count(path_of(name)[1:], is_record()):
            raise StoreError(
                f"{self.shown}: {name} has documents with neardup's values, and {reason}: removing them would rebuild "
                "the documents from _source and lose what it leaves out. Nothing was changed; the values go when the "
                "documents are indexed again"
            )


def put_new(what: str, path: str, body: Mapping[str, Any], *, new: bool = True) -> SetupStep:
    undo = SetupStep(f"delete {what} again", "DELETE", path) if new else None
    return SetupStep(f"put {what}", "PUT", path, body, undo=undo)


def _schemes(indices: Mappings, info: StoreInfo) -> list[SchemeInfo]:
    return list(indices.schemes().values() if indices.is_set_up else info.schemes)


def scheme_component(scheme: SchemeInfo) -> tuple[str, dict[str, Any]]:
    inside = {scheme.name: {"properties": sketch_properties(scheme)}}
    fields = {ROOT: {**properties()[ROOT], "properties": inside}}
    return f"{COMPONENT}-{scheme.name}", {
        "template": {"mappings": {"properties": fields}},
        "version": MAPPING_VERSION,
    }


def _is_of_scheme(name: str, template: Mapping[str, Any]) -> bool:
    properties = template.get("template", {}).get("mappings", {}).get("properties", {})
    inside = properties.get(ROOT, {}).get("properties", {})
    return set(properties) == {ROOT} and any(
        set(inside) == {scheme} and is_scheme(inside[scheme])
        for scheme in inside
        if f"{name}-".startswith(f"{COMPONENT}-{scheme}-")
    )


def _is_own_component(template: Mapping[str, Any]) -> bool:
    return set(template.get("template", {}).get("mappings", {}).get("properties", {})) == {ROOT}
