"""Examine an engine and an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import matches, path_of, side_name
from indexer.engine.index.bodies import MAPPING_VERSION, ROOT, SIZE_CLASS, is_record
from indexer.engine.index.mapping import named
from indexer.engine.index.sketches import BESIDE
from indexer.engine.setup import bulk_load
from indexer.engine.setup.pipelines import Pipelines
from indexer.engine.setup.provision import COMPONENT, Provision, scheme_component
from indexer.engine.store.context import EnginePart
from indexer.errors import StoreError, UsageError
from indexer.model.findings import Finding
from indexer.text.counts import counted

# What each kind of work needs beyond the one before, as mappings/README.md has it.
_READING = ("read", "view_index_metadata")
_WRITING = ("write", "create_index", "maintenance")


def of_engine(client: Client) -> Iterator[Finding]:
    answered = _version(client)
    known = f"{client.product} {answered}" if answered else f"{client.product}, whose version this user is not told"
    if wrong := client.too_old(answered):
        yield Finding("engine", "error", *wrong.split(": "))
    else:
        yield Finding("engine", "ok", f"{known}; client elasticsearch {version('elasticsearch')}")
    yield _privileges(client)


def _version(client: Client) -> str:
    answer = _allowed(lambda: client.request("GET", "/_nodes", filter_path="nodes.*.version")) or {}
    versions = {node["version"] for node in answer.get("nodes", {}).values()}
    return min(versions, key=lambda text: [int(part) for part in text.split("-")[0].split(".")], default="")


def _allowed(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except StoreError as error:
        answer = error if isinstance(error, AnswerError) else error.__cause__
        if isinstance(answer, AnswerError) and answer.status != 401:
            return None
        raise


def _privileges(client: Client) -> Finding:
    if client.engine == "opensearch":
        says = "OpenSearch does not tell a user's privileges; mappings/README.md lists the needed ones"
        return Finding("privileges", "ok", says)
    names = [*client.target.name.split(","), *side_name(client.target.name, "*").split(",")]
    wanted = {
        "cluster": ["manage_index_templates"],
        "index": [{"names": names, "privileges": [*_READING, *_WRITING, "manage"]}],
    }
    answer = _allowed(lambda: client.request("POST", "/_security/user/_has_privileges", wanted))
    if answer is None:
        return Finding("privileges", "ok", "the engine asks for no credentials, so everything is allowed")
    held = answer["index"].values()
    lacking = [[name for name in group if not all(one[name] for one in held)] for group in (_READING, _WRITING)]
    if lacking[0]:
        says = f"the {client.access.kind} may not read: lacks {', '.join(lacking[0])} on {' or '.join(names)}"
        return Finding("privileges", "error", says, "grant them, as mappings/README.md says")
    if lacking[1]:
        says = f"the {client.access.kind} may read, and not write (lacks {', '.join(lacking[1])})"
        return Finding("privileges", "ok", says)
    sets_up = answer["cluster"]["manage_index_templates"] and all(one["manage"] for one in held)
    more = "write, and set up" if sets_up else "write, but neither set up nor load with --bulk-load"
    return Finding("privileges", "ok", f"the {client.access.kind} may read and {more}")


class ExaminePart(EnginePart):
    def examine(self) -> Iterator[Finding]:
        yield self._mapped()
        yield from self._rolled_over()
        yield self._piped()
        without = self.client.count(self.path, {"bool": {"must_not": [is_record()]}})
        if without:
            says = f"{counted(without, 'document')} of the index without a fingerprint; nothing finds them"
            yield Finding("documents", "warning", says, "run neardup annotate")
        else:
            yield Finding("documents", "ok", "all have been fingerprinted")
        lying = {
            name: self.client.count(self.path, {"exists": {"field": f"{ROOT}.{name}.{BESIDE}"}})
            for name in self.bodies.holders(self.bodies.schemes)
        }
        if any(lying.values()):
            yield self._held_beside(lying)
        inside = self.client.count(self.path, {"exists": {"field": SIZE_CLASS}})
        if inside != (listed := self.sides["clusters"].total("size")):
            says = (
                f"{counted(inside, 'document')} in clusters, of which dashboards count {listed:,}: some have gone, or "
                "were clustered by another name of the index, as a filtered alias"
            )
            yield Finding("counts of clusters", "warning", says, "run neardup cluster")
        left = bulk_load.left(self.mappings)
        if left:
            says = f"{', '.join(left)} without refreshes and replicas: a bulk load is under way, or was killed"
            yield Finding("settings", "error", says, "unless one is under way, run neardup setup --repair")
        else:
            yield Finding("settings", "ok", "no bulk load has left any behind")

    def _held_beside(self, lying: Mapping[str, int]) -> Finding:
        gone = {name: count - self.beside.count(name) for name, count in lying.items()}
        if lacking := [name for name, count in gone.items() if count > 0]:
            says = f"of {counted(sum(gone[name] for name in lacking), 'long document')} gone: {', '.join(lacking)}"
            return Finding("index beside", "error", says, "run neardup annotate --again")
        says = f"holds {', '.join(lying)} of {counted(max(lying.values()), 'long document')}"
        return Finding("index beside", "ok", says)

    def _piped(self) -> Finding:
        answer = _allowed(Pipelines(self.client).examine)
        if answer is None:
            return Finding("pipelines", "ok", "this user may not list them")
        names, trouble = answer
        if trouble:
            advice = "give a node the role ingest and allow scripts, or run neardup setup --remove --pipelines"
            return Finding("pipelines", "error", trouble, advice)
        says = f"a trial write through {' and '.join(names)} arrives" if names else "none were set up"
        return Finding("pipelines", "ok", says)

    def _rolled_over(self) -> Iterator[Finding]:
        known = _allowed(lambda: self.client.found(f"/_resolve/index{path_of(self.name)}")) or {}
        for stream in known.get("data_streams", ()):
            if (template := self._template_of(stream["name"])) and not self._has_fields(template):
                says = f"the next index of {stream['name']} will lack neardup's fields, so searches with collapse fail"
                names = (COMPONENT, *(scheme_component(scheme)[0] for scheme in self.info.schemes))
                parts = " and ".join(f'"{name}"' for name in names)
                advice = f"run neardup setup, and add {parts} to composed_of of the index template {template}"
                yield Finding("template", "warning", says, advice)

    def _template_of(self, stream: str) -> str:
        listed = (_allowed(lambda: self.client.found("/_index_template")) or {}).get("index_templates", ())
        fitting = {
            each["name"]: each["index_template"].get("priority") or 0
            for each in listed
            if any(matches(pattern, stream) for pattern in each["index_template"]["index_patterns"])
        }
        return max(fitting, key=lambda name: fitting[name], default="")

    def _has_fields(self, template: str) -> bool:
        path = f"/_index_template/_simulate{path_of(template)}"
        made = _allowed(lambda: self.client.request("POST", path))
        return not made or ROOT in made["template"].get("mappings", {}).get("properties", {})

    def _mapped(self) -> Finding:
        advice = "run neardup setup"
        bare = self.mappings.lacking(self.shown, self.info.schemes)
        if bare:
            says = f"{named(bare)} without neardup's fields, so nothing is found or written there"
            return Finding("mapping", "error", says, advice)
        if "*" in self.name or "," in self.name:
            says = f"{counted(len(self.mappings), 'index', 'indices')} with neardup's fields"
            return Finding("mapping", "ok", says)
        try:
            steps = Provision(self.client).fields(self.info)
        except UsageError as error:
            return Finding("mapping", "error", str(error))
        if steps:
            return Finding("mapping", "error", "; ".join(f"to do: {step.why}" for step in steps), advice)
        return Finding("mapping", "ok", f"version {MAPPING_VERSION}, with all of neardup's fields")
