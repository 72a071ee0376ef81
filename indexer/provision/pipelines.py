"""Ingest pipelines: fingerprints made inside the cluster, for documents that come by other ways than neardup's."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from indexer.errors import IncompatibleStoreError, StoreError, UsageError
from indexer.extract.base import Options
from indexer.ingest.indexing import DEFAULT_MIN_TOKENS
from indexer.ingest.outcomes import digest_rules
from indexer.provision.setup import Step
from indexer.schemes import registry
from indexer.schemes.minhash import KEEP, Minhash
from indexer.stores import StoreInfo
from indexer.stores.search.client.connection import AnswerError, Client
from indexer.stores.search.client.names import path_of
from indexer.stores.search.fields import mapping
from indexer.stores.search.fields.bodies import fields_of
from indexer.stores.search.fields.sketches import KeyFields
from indexer.stores.search.fields.source_fields import source_paths
from indexer.stores.search.fields.texts import OWN, TEXTS, TextFields, notes_with, remembered_fields

KINDS = ("keys", "simhash")
DEFAULT_FIELDS = ("body",)
# Every pipeline of ours is described so; another of the same name is its owner's.
_MARK = "neardup: "
_SETTINGS = {"default": "index.default_pipeline", "final": "index.final_pipeline"}
_UNSET = (None, "", "_none")


class Pipelines:
    """Plans the set-up and the removal of the pipelines of the index, alias or data stream that a client names."""

    def __init__(self, client: Client) -> None:
        self.client, self.name, self.shown = client, client.target.name, client.target.shown

    def id_of(self, kind: str) -> str:
        """The name of a pipeline in the cluster; `kind` is one of KINDS."""
        return f"neardup-{kind}-{self.name}"

    def set_up(
        self, info: StoreInfo, fields: Sequence[str] = (), *, default: str | None = None, final: str | None = None
    ) -> list[Step]:
        """What is left to do so that both pipelines are there, and are the index's default or final one where asked.

        `info` is that of a new store; an index that is one keeps its own. `fields` hold the text: where none are named
        those that the index remembers, else DEFAULT_FIELDS. The index remembers them, as those of annotate. Raises
        UsageError where a pipeline of the owner's is in the place, IncompatibleStoreError for a newer neardup's.
        """
        mappings = self._mappings()
        known = [mapping.info_of(found_info, f"{self.shown} ({name})") for name, found_info in mappings.items()]
        infos = [found_info for found_info in known if found_info] or [info]
        form = sketch_form(infos, list(mappings.values()))
        paths = self._text_paths(mappings, fields)
        steps = self._notes(mappings, infos[0], TextFields(paths))
        steps += [step for kind in KINDS if (step := self._pipeline(kind, pipeline(kind, infos[0], paths, form)))]
        for place, kind in (("default", default), ("final", final)):
            if kind:
                steps += self._use(place, self.id_of(kind), list(mappings))
        return steps

    def removal(self, *, asked: bool) -> list[Step]:
        """What takes the pipelines away; those that the user may not see are passed over, unless asked for."""
        steps = []
        ours = {self.id_of(kind) for kind in KINDS}
        for index, settings in self._settings().items():
            used = {name: None for name in _SETTINGS.values() if settings.get(name) in ours}
            if used:
                why = f"let {index} do without neardup's pipelines"
                steps.append(Step(why, "PUT", f"{path_of(index)}/_settings", used))
        for kind in KINDS:
            try:
                there = self._there(kind)
            except StoreError:
                if asked:
                    raise
                continue
            if there and str(there.get("description", "")).startswith(_MARK):
                steps.append(Step(f"delete the pipeline {self.id_of(kind)}", "DELETE", self._path(kind)))
        return steps

    def _get(self, path: str, *, flat: bool = False) -> Any:
        try:
            return self.client.request("GET", path, **({"flat_settings": "true"} if flat else {}))  # type: ignore[arg-type]
        except AnswerError as error:
            if error.status == 404:
                return None
            raise

    def _mappings(self) -> dict[str, dict[str, Any]]:
        answer = self._get(f"{path_of(self.name)}/_mapping") or {}
        return {name: described.get("mappings", {}) for name, described in sorted(answer.items())}

    def _settings(self) -> dict[str, dict[str, Any]]:
        answer = self._get(f"{path_of(self.name)}/_settings", flat=True) or {}
        return {name: described.get("settings", {}) for name, described in sorted(answer.items())}

    def _path(self, kind: str) -> str:
        return f"/_ingest/pipeline{path_of(self.id_of(kind))}"

    def _there(self, kind: str) -> dict[str, Any] | None:
        answer = self._get(self._path(kind)) or {}
        there: dict[str, Any] | None = answer.get(self.id_of(kind))
        return there

    def _text_paths(self, mappings: Mapping[str, Mapping[str, Any]], fields: Sequence[str]) -> tuple[str, ...]:
        """Where the fields that were asked for stand, else those that the indices remember."""
        known = (remembered_fields(described).get(OWN) for described in mappings.values())
        first = next((each for each in known if each), TextFields(DEFAULT_FIELDS))
        return self._paths(mappings, fields or first.names)

    def _notes(self, mappings: Mapping[str, Mapping[str, Any]], info: StoreInfo, fields: TextFields) -> list[Step]:
        """What lets each index remember these fields, unless it does."""
        steps = []
        for index, described in mappings.items() or [(self.name, {})]:
            known = remembered_fields(described).get(OWN)
            if known and known.names == fields.names:
                continue
            made = {} if mappings else {"made_index": True}
            own = {
                **mapping.own_meta(described),
                **mapping.meta(info, **made),
                TEXTS: notes_with(described, OWN, fields),
            }
            body = {"_meta": mapping.with_meta(described.get("_meta", {}), own)}
            why = f"note in the mapping of {index} that its texts stand in {', '.join(fields.names)}"
            steps.append(Step(why, "PUT", f"{path_of(index)}/_mapping", body, describes=index, optional=True))
        return steps

    def _paths(self, mappings: Mapping[str, Mapping[str, Any]], fields: Sequence[str]) -> tuple[str, ...]:
        """Where the fields stand in documents; one that no mapping has yet is taken by its name."""
        mapped = {name for mapping_of_index in mappings.values() for name in mapping_of_index.get("properties", {})}
        paths: list[str] = []
        for field in fields:
            paths += source_paths(mappings, [field], self.shown) if field.partition(".")[0] in mapped else [field]
        return tuple(dict.fromkeys(paths))

    def _pipeline(self, kind: str, wanted: Mapping[str, Any]) -> Step | None:
        there = self._there(kind)
        if there is not None:
            if not str(there.get("description", "")).startswith(_MARK):
                raise UsageError(
                    f"{self.shown}: the engine has a pipeline {self.id_of(kind)!r} that belongs to the owner; rename it"
                )
            if int(there.get("version", 0)) > wanted["version"]:
                raise IncompatibleStoreError(
                    f"{self.shown}: the pipeline {self.id_of(kind)} was made by a newer neardup; install that"
                )
            if all(there.get(name) == value for name, value in wanted.items()):
                return None
        return Step(f"put the pipeline {self.id_of(kind)}", "PUT", self._path(kind), wanted)

    def _use(self, place: str, name: str, indices: Sequence[str]) -> list[Step]:
        """Make a pipeline the default or final one of each index that has none."""
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
                steps.append(Step(why, "PUT", f"{path_of(index)}/_settings", {setting: name}))
        return steps


def pipeline(
    kind: str, info: StoreInfo, fields: Sequence[str], form: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The body of a pipeline: the file of mappings/pipelines, and for "simhash" the parameters of a store put in.

    `form` is what a minhash sketch is made with (see `sketch_form`); without it none is made.
    """
    body = mapping.load(f"pipelines/neardup-{kind}")
    if kind == "simhash":
        params = body["processors"][0]["script"]["params"]
        params |= {"fields": list(fields), "min_tokens": DEFAULT_MIN_TOKENS, "rules": rules(info), "sketch": form}
    return body


def sketch_form(infos: Collection[StoreInfo], mappings: Collection[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What the simhash pipeline makes minhash sketches with, so that they are those of these stores behind one name.

    None where they have no such sketches, or such as the pipeline does not make, or in other fields: `neardup annotate`
    makes them. `mappings` are those of the indices. Raises UsageError for a scheme that this version does not know.
    """
    forms = {scheme for info in infos for scheme in info.schemes if scheme.name == Minhash.family}
    if len(forms) != 1:
        return None
    [known] = forms
    made = registry.scheme(known.id)
    there = [fields_of(mapping_of_index, known.name) for mapping_of_index in mappings]
    if not isinstance(made, Minhash) or not made.one_pass or made.info != known or KeyFields.of(known, there).separate:
        return None
    names = ("shingle", "values", "bits", "bands", "rows")
    return {name: getattr(made, name) for name in names} | {"numbers": made.numbers == KEEP}


def rules(info: StoreInfo) -> str:
    """What stands before the fields' texts in a source digest: those that annotate reads as plain text."""
    return digest_rules(info, Options(format="text"))
