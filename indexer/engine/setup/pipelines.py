"""Objects kept in an engine for an index: pipelines that make fingerprints, and searches to send by name."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Generic, TypeVar

from indexer.engine.client.base import Client
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import path_of
from indexer.engine.index.bodies import OWNERS_ROOM, ROOT
from indexer.engine.index.mapping import OWN, TEXTS, IndexMapping, Mappings, load, meta, notes_with, read_mappings
from indexer.engine.index.source_fields import source_paths
from indexer.engine.setup.provision import SetupStep, put_new
from indexer.errors import IncompatibleStoreError, StoreError, UsageError
from indexer.extract.base import Options
from indexer.ingest.digests import digest_rules
from indexer.model import SIMHASH_DOC
from indexer.model.kinds import kind_named
from indexer.schemes import registry, simhash
from indexer.schemes.base import Scheme
from indexer.schemes.minhash import KEEP, LETTERS, Minhash
from indexer.schemes.passages import WORDS, Passages
from indexer.stores import StoreInfo
from indexer.stores.texts import TextFields

T = TypeVar("T")
PIPELINES, TEMPLATES = ("keys", "simhash"), ("similar", "cluster")
DEFAULT_FIELDS = ("body",)
# Every pipeline of ours is described so; another of the same name is its owner's.
_MARK = "neardup: "
_SETTINGS = {"default": "index.default_pipeline", "final": "index.final_pipeline"}
_UNSET = (None, "", "_none")
# The word in the files of search templates that stands for the name of the index.
_NAME = "INDEX"
# The text that a pipeline has to fingerprint as the C core does.
_TRIAL = "Bring fresh water to the boil, warm the pot, and let the tea draw for four minutes before you pour it."
NO_INGEST = "no node of the cluster has the role ingest, so each write through a pipeline fails"


class _Installed(ABC, Generic[T]):
    """Plans the set-up and the removal of objects that are kept in an engine for one index, alias or data stream."""

    kinds: tuple[str, ...]
    what: str
    place: str

    def __init__(self, client: Client) -> None:
        self.client, self.name, self.shown = client, client.target.name, client.target.shown

    def id_of(self, kind: str) -> str:
        return f"neardup-{kind}-{self.name}"

    def removal(self, *, asked: bool) -> list[SetupStep]:
        steps = []
        for kind in self.kinds:
            try:
                there = self._there(kind)
            except StoreError:
                if asked:
                    raise
                continue
            if there is not None and self._is_own(kind, there):
                steps.append(SetupStep(f"delete the {self.what} {self.id_of(kind)}", "DELETE", self._path(kind)))
        return steps

    def _path(self, kind: str) -> str:
        return f"{self.place}{path_of(self.id_of(kind))}"

    @abstractmethod
    def _there(self, kind: str) -> T | None: ...

    @abstractmethod
    def _is_own(self, kind: str, there: T) -> bool: ...


class Pipelines(_Installed[dict[str, Any]]):
    kinds = PIPELINES
    what, place = "pipeline", "/_ingest/pipeline"

    def set_up(
        self, info: StoreInfo, fields: Sequence[str] = (), *, default: str | None = None, final: str | None = None
    ) -> list[SetupStep]:
        """The remaining steps to have both pipelines, as the index's default or final one if asked.

        `info` is for a new store; an existing one keeps its own. `fields` hold the text: by default the remembered
        ones, else DEFAULT_FIELDS. The index remembers them, as those of annotate. Raises UsageError if an owner's
        pipeline is in the way, IncompatibleStoreError for a newer neardup's, StoreError if the pipelines can't run on
        this cluster.
        """
        mappings = read_mappings(self.client, path_of(self.name)[1:])
        infos = list(mappings.infos(self.shown).values()) or [info]
        forms = script_forms(infos, None if all(mapping.made for mapping in mappings.values()) else OWNERS_ROOM)
        known = (mapping.text_fields().get(OWN) for mapping in mappings.values())
        first = next((each for each in known if each), TextFields(DEFAULT_FIELDS))
        paths = self._paths(mappings, fields or first.names)
        steps = self._notes(mappings, infos[0], TextFields(paths))
        bodies = {kind: pipeline(kind, infos[0], paths, forms) for kind in self.kinds}
        steps += [step for kind, body in bodies.items() if (step := self._pipeline(kind, body))]
        if trouble := self._trouble(bodies):
            raise StoreError(f"{self.shown}: {trouble}; nothing was changed. Without --pipelines, run neardup annotate")
        for place, kind in (("default", default), ("final", final)):
            if kind:
                steps += self._use(place, self.id_of(kind), list(mappings))
        return steps

    def removal(self, *, asked: bool) -> list[SetupStep]:
        steps = []
        ours = {self.id_of(kind) for kind in self.kinds}
        for index, settings in self._settings().items():
            used = {name: None for name in _SETTINGS.values() if settings.get(name) in ours}
            if used:
                why = f"let {index} do without neardup's pipelines"
                steps.append(SetupStep(why, "PUT", f"{path_of(index)}/_settings", used))
        return steps + super().removal(asked=asked)

    def examine(self) -> tuple[list[str], str]:
        bodies = {kind: body for kind in self.kinds if (body := self._there(kind)) and self._is_own(kind, body)}
        names = [self.id_of(kind) for kind in bodies]
        ours = {self.id_of(kind) for kind in self.kinds}
        used = {settings.get(name) for settings in self._settings().values() for name in _SETTINGS.values()}
        if lacking := sorted(ours.intersection(used).difference(names)):
            return names, f"the index names {', '.join(lacking)}, which is not there, so that each write fails"
        return names, self._trouble(bodies) if bodies else ""

    def _trouble(self, bodies: Mapping[str, Mapping[str, Any]]) -> str:
        try:
            nodes = self.client.request("GET", "/_nodes", filter_path="nodes.*.roles").get("nodes", {})
        except StoreError:
            # Not every user may know; then the trial alone decides.
            nodes = {}
        if nodes and not any("ingest" in node.get("roles", ()) for node in nodes.values()):
            return NO_INGEST
        for kind, body in bodies.items():
            if trouble := self._trial(kind, body):
                return f"a trial write through {self.id_of(kind)} fails: {trouble}"
        return ""

    def _trial(self, kind: str, body: Mapping[str, Any]) -> str:
        fingerprint = simhash.fingerprint(_TRIAL)
        assert fingerprint  # noqa: S101 the text has words
        source: dict[str, Any] = {ROOT: {SIMHASH_DOC: {"hash": fingerprint.base32}}}
        if kind == "simhash":
            source = _TRIAL  # type: ignore[assignment]
            for part in reversed(body["processors"][0]["script"]["params"]["fields"][0].split(".")):
                source = {part: source}
        # The engines tell more of a pipeline than they take.
        body = {name: body[name] for name in ("processors", "on_failure")}
        asked = {"pipeline": body, "docs": [{"_index": self.name, "_id": "trial", "_source": source}]}
        try:
            [answer] = self.client.request("POST", "/_ingest/pipeline/_simulate", asked)["docs"]
        except StoreError as error:
            answered = error if isinstance(error, AnswerError) else error.__cause__
            if isinstance(answered, AnswerError) and answered.status not in (401, 403):
                return answered.reason
            raise
        made = answer.get("doc", {}).get("_source", {}).get(ROOT, {})
        if made.get(SIMHASH_DOC, {}).get("bits") == fingerprint.bits:
            return ""
        told = answer.get("error", {}).get("reason") or made.get("pending_detail") or made.get("pending")
        return str(told or "it makes another fingerprint than neardup")

    def _settings(self) -> dict[str, dict[str, Any]]:
        answer = self.client.found(f"{path_of(self.name)}/_settings", flat_settings="true") or {}
        return {name: described.get("settings", {}) for name, described in sorted(answer.items())}

    def _there(self, kind: str) -> dict[str, Any] | None:
        answer = self.client.found(self._path(kind)) or {}
        there: dict[str, Any] | None = answer.get(self.id_of(kind))
        return there

    def _is_own(self, kind: str, there: Mapping[str, Any]) -> bool:  # noqa: ARG002
        return str(there.get("description", "")).startswith(_MARK)

    def _notes(self, mappings: Mappings, info: StoreInfo, fields: TextFields) -> list[SetupStep]:
        steps = []
        for index, mapping in mappings.items() or [(self.name, IndexMapping(self.name, {}))]:
            known = mapping.text_fields().get(OWN)
            if known and known.names == fields.names:
                continue
            made = {} if mappings else {"made_index": True}
            own = {
                **mapping.entry,
                **meta(info, **made),
                TEXTS: notes_with(mapping, OWN, fields),
            }
            body = {"_meta": mapping.meta_with(own)}
            why = f"note in the mapping of {index} that its texts stand in {', '.join(fields.names)}"
            steps.append(SetupStep(why, "PUT", f"{path_of(index)}/_mapping", body, describes=index, optional=True))
        return steps

    def _paths(self, mappings: Mappings, fields: Sequence[str]) -> tuple[str, ...]:
        mapped = {name for mapping in mappings.values() for name in mapping.properties}
        paths: list[str] = []
        for field in fields:
            paths += source_paths(mappings, [field], self.shown) if field.partition(".")[0] in mapped else [field]
        return tuple(dict.fromkeys(paths))

    def _pipeline(self, kind: str, wanted: Mapping[str, Any]) -> SetupStep | None:
        there = self._there(kind)
        if there is not None:
            if not self._is_own(kind, there):
                raise UsageError(
                    f"{self.shown}: the engine has a pipeline {self.id_of(kind)!r} that belongs to the owner; rename it"
                )
            if int(there.get("version", 0)) > wanted["version"]:
                raise IncompatibleStoreError(
                    f"{self.shown}: the pipeline {self.id_of(kind)} was made by a newer neardup; install it"
                )
            if all(there.get(name) == value for name, value in wanted.items()):
                return None
        return put_new(f"the pipeline {self.id_of(kind)}", self._path(kind), wanted, new=there is None)

    def _use(self, place: str, name: str, indices: Sequence[str]) -> list[SetupStep]:
        setting, steps, present_settings = _SETTINGS[place], [], self._settings()
        for index in indices or [self.name]:
            present = present_settings.get(index, {}).get(setting)
            if present not in (*_UNSET, name):
                raise UsageError(
                    f"{self.shown}: {index} has the {place} pipeline {present!r}; neardup does not replace it. Add a "
                    f'processor to it: {{"pipeline": {{"name": "{name}"}}}}'
                )
            if present != name:
                why = f"make {name} the {place} pipeline of {index}"
                path = f"{path_of(index)}/_settings"
                undo = SetupStep(f"let {index} do without it again", "PUT", path, {setting: None})
                steps.append(SetupStep(why, "PUT", path, {setting: name}, undo=undo))
        return steps


class SearchTemplates(_Installed[str]):
    """Plans the set-up and the removal of the search templates of a client's index, alias or data stream.

    `neardup-similar-NAME` finds the documents sharing keys with a document, `neardup-cluster-NAME` its cluster; both
    take its `id`, and if asked for its `index` and a `size`.
    """

    kinds = TEMPLATES
    what, place = "search template", "/_scripts"

    def set_up(self) -> list[SetupStep]:
        steps = []
        for kind in self.kinds:
            wanted, there = self.template(kind), self._there(kind)
            if there is not None and not self._is_own(kind, there):
                raise UsageError(
                    f"{self.shown}: the engine has a stored script {self.id_of(kind)!r} that belongs to the owner; "
                    "rename it"
                )
            if there is None or json.loads(there) != wanted["script"]["source"]:
                what = f"the {self.what} {self.id_of(kind)}"
                steps.append(put_new(what, self._path(kind), wanted, new=there is None))
        return steps

    def template(self, kind: str) -> dict[str, Any]:
        body: dict[str, Any] = _named(load(f"search-templates/neardup-{kind}"), self.name)
        return body

    def _there(self, kind: str) -> str | None:
        answer = self.client.found(self._path(kind))
        return None if answer is None else str(answer.get("script", {}).get("source", ""))

    def _is_own(self, kind: str, there: str) -> bool:
        try:
            query = json.loads(there)["query"]["bool"]
            return bool(query["_name"] == f"neardup-{kind}")
        except (ValueError, KeyError, TypeError):
            return False


def _named(part: Any, name: str) -> Any:
    if isinstance(part, Mapping):
        return {key: _named(value, name) for key, value in part.items()}
    if isinstance(part, list):
        return [_named(value, name) for value in part]
    return part.replace(_NAME, name) if isinstance(part, str) else part


def pipeline(
    kind: str, info: StoreInfo, fields: Sequence[str], forms: Mapping[str, Mapping[str, Any] | None] | None = None
) -> dict[str, Any]:
    body = load(f"pipelines/neardup-{kind}")
    if kind == "simhash":
        params = body["processors"][0]["script"]["params"]
        params |= {
            "fields": list(fields),
            "min_tokens": kind_named(info.kind).min_tokens,
            "rules": rules(info),
            **(forms or {}),
        }
    return body


def script_forms(infos: Collection[StoreInfo], room: int | None = None) -> dict[str, dict[str, Any] | None]:
    """The parameters `sketch` and `passages` of the simhash pipeline, for the schemes of these stores behind one name.

    None for minhash sketches, or passages of words, if the stores have none the pipeline can make; `neardup annotate`
    makes the others, such as those of letters. Raises UsageError for an unknown scheme.
    """
    forms: dict[str, dict[str, Any] | None] = {"sketch": None, "passages": None}
    minhash, passages = (_scheme_of(infos, family) for family in (Minhash.family, Passages.family))
    beside = True
    if isinstance(minhash, Minhash) and minhash.features != LETTERS:
        beside = minhash.numbers == KEEP
        names = ("shingle", "values", "bits", "bands", "rows")
        forms["sketch"] = {name: getattr(minhash, name) for name in names} | {"numbers": beside}
    if isinstance(passages, Passages) and passages.features == WORDS and beside:
        forms["passages"] = {"shingle": passages.shingle, "window": passages.window, "room": room}
    return forms


def _scheme_of(infos: Collection[StoreInfo], family: str) -> Scheme | None:
    found = {scheme for info in infos for scheme in info.schemes if scheme.name == family}
    if len(found) != 1:
        return None
    [known] = found
    made = registry.scheme(known.id)
    return made if made.info == known else None


def rules(info: StoreInfo) -> str:
    return digest_rules(info, Options(format="text"))
