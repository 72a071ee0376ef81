"""Mappings: the files they are made of, and the one place to read and write their notes on neardup."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from indexer.engine.client.base import Client
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import path_of
from indexer.engine.index.bodies import MAPPING_VERSION, ROOT
from indexer.engine.index.sketches import is_scheme, scheme_in
from indexer.errors import IncompatibleStoreError, NotFoundError, StoreError, UsageError
from indexer.extract.fields import field_format
from indexer.model.kinds import DOCUMENTS, kind_named
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo
from indexer.stores.base import StoreInfo
from indexer.stores.texts import TextFields

FIELDS_SETTING = "index.mapping.total_fields.limit"
_DEFAULT_FIELDS = 1000
# The field, below `neardup`, that notes an owner's settings while a bulk load has turned them down.
NOTE = "bulk_load"
# The entry of the text fields in neardup's part of `_meta`.
TEXTS = "texts"
PACKAGE = Path(__file__).resolve().parents[2]
# The name that an index has for itself in its note; an index beside others has theirs.
OWN = ""
_DENIED = 403


class IndexMapping:
    def __init__(self, index: str, raw: Mapping[str, Any]) -> None:
        self.index, self.raw = index, raw
        self.properties: Mapping[str, Any] = raw.get("properties", {})
        self.runtime: Mapping[str, Any] = raw.get("runtime", {})
        self.meta: Mapping[str, Any] = raw.get("_meta", {})
        # Those below `neardup`.
        self.fields: Mapping[str, Any] = self.properties.get(ROOT, {}).get("properties", {})

    @property
    def entry(self) -> Mapping[str, Any]:
        entry = self.meta.get(ROOT)
        return entry if isinstance(entry, Mapping) and "tables" in entry else {}

    def meta_with(self, entry: Mapping[str, Any] | None) -> dict[str, Any]:
        rest = {name: value for name, value in self.meta.items() if name != ROOT}
        return rest | ({ROOT: dict(entry)} if entry else {})

    # Whose it is

    @property
    def made(self) -> bool:
        return bool(self.entry.get("made_index"))

    @property
    def seems_made(self) -> bool:
        """True if neardup made the index, and the mapping shows no field of others.

        Unmapped fields may still exist: see `indexer.engine.setup.removal.is_own`.
        """
        return self.made and set(self.properties) <= {ROOT} and not self.runtime

    @cached_property
    def own_names(self) -> frozenset[str]:
        schemes = {name for name, field in self.fields.items() if is_scheme(field)}
        return frozenset({*properties()[ROOT]["properties"], NOTE}) | schemes

    # The store

    def info(self, shown: str) -> StoreInfo | None:
        """The settings behind the fingerprints of the index; None if it is no store.

        Raises IncompatibleStoreError for the mapping of a newer neardup, and for a damaged `_meta`.
        """
        entry, where = self.entry, f"{shown} ({self.index})"
        if not entry:
            return None
        try:
            version = int(entry["mapping_version"])
            info = StoreInfo(
                scheme=entry["scheme"],
                layout=KeyLayout(int(entry["tables"]), int(entry["key_bits"])),
                content=entry["content"],
                extractor=entry["extractor"],
                unicode=entry["unicode"],
                version=entry["version"],
                schemes=self.schemes(),
                kind=kind_named(entry.get("kind", DOCUMENTS)).name,
            )
        except (KeyError, TypeError, ValueError, UsageError) as error:
            raise IncompatibleStoreError(f"{where}: _meta.neardup of its mapping is damaged: {error!r}") from error
        if version > MAPPING_VERSION:
            raise IncompatibleStoreError(
                f"{where}: was made by neardup {info.version} with mapping version {version}; this one knows up to "
                f"{MAPPING_VERSION}: install a newer neardup"
            )
        return info

    def require_current(self, shown: str) -> None:
        """Raise IncompatibleStoreError for the mapping of an older neardup: unmapped data is never found."""
        version = self.entry["mapping_version"]
        if int(version) < MAPPING_VERSION:
            raise IncompatibleStoreError(
                f"{shown} ({self.index}): was made by neardup {self.entry['version']} with mapping version {version}, "
                f"and this one needs {MAPPING_VERSION}: take it out by `neardup setup --remove`, then set it up and "
                "fill it again"
            )

    def schemes(self) -> tuple[SchemeInfo, ...]:
        schemes = {name: scheme for name, field in self.fields.items() if (scheme := scheme_in(name, field))}
        return tuple(schemes[name] for name in sorted(schemes))

    # The fields of texts

    def text_fields(self) -> dict[str, TextFields]:
        notes = self.entry.get(TEXTS)
        read = {name: _text_fields(note) for name, note in notes.items()} if isinstance(notes, Mapping) else {}
        return {name: fields for name, fields in read.items() if fields}

    # Room

    def require_room(self, client: Client, fields: Mapping[str, Any], shown: str) -> None:
        """Raise UsageError if the owner's limit of the index has no room for more fields."""
        settings = client.request("GET", f"{path_of(self.index)}/_settings/{FIELDS_SETTING}", flat_settings="true")
        limit = int(settings.get(self.index, {}).get("settings", {}).get(FIELDS_SETTING, _DEFAULT_FIELDS))
        have = _count(self.properties) + len(self.runtime)
        added = _count(_united(self.properties, fields)) - _count(self.properties)
        if have + added > limit:
            raise UsageError(
                f"{shown}: {self.index} has {have} fields and neardup adds {added}, but {FIELDS_SETTING} is {limit}; "
                "raise it yourself, or keep the fingerprints in an index of their own"
            )


class Mappings(dict[str, IndexMapping]):
    @classmethod
    def of(cls, raw: Mapping[str, Mapping[str, Any]]) -> Self:
        return cls((index, IndexMapping(index, one)) for index, one in sorted(raw.items()))

    @property
    def is_set_up(self) -> bool:
        return any(one.entry for one in self.values())

    def infos(self, shown: str) -> dict[str, StoreInfo]:
        return {index: info for index, one in self.items() if (info := one.info(shown))}

    def schemes(self) -> dict[str, SchemeInfo]:
        return {scheme.name: scheme for one in self.values() for scheme in one.schemes()}

    def kind(self, shown: str) -> str | None:
        return next((info.kind for info in self.infos(shown).values()), None)

    def lacking(self, shown: str, schemes: Iterable[SchemeInfo] = ()) -> list[str]:
        wanted = {scheme.name for scheme in schemes}
        names = []
        for index, one in self.items():
            info = one.info(shown) if "tokens" in one.fields else None
            if info is None or not wanted <= {scheme.name for scheme in info.schemes}:
                names.append(index)
        return names


def read_mappings(client: Client, path: str, *, ignore_unavailable: bool = False) -> Mappings:
    """The current mappings of the indices behind a name; none if there are none.

    With `ignore_unavailable` missing names of a list are skipped.
    """
    answer = client.found(f"/{path}/_mapping", ignore_unavailable=str(ignore_unavailable).lower()) or {}
    return Mappings.of({index: described.get("mappings", {}) for index, described in answer.items()})


def named(indices: Sequence[str]) -> str:
    if len(indices) == 1:
        return f"the index {indices[0]} is"
    rest = f" and {len(indices) - 3} more" if len(indices) > 3 else ""
    return f"{len(indices)} indices ({', '.join(indices[:3])}{rest}) are"


def _text_fields(note: Any) -> TextFields | None:
    # `_meta` is its owner's too, who may have written anything.
    names = note.get("fields") if isinstance(note, Mapping) else None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        return None
    source, title = (str(note.get(name) or "") for name in ("source", "title"))
    return TextFields(tuple(names), field_format(note.get("format")), source, title)


def _count(properties: Mapping[str, Any]) -> int:
    return sum(1 + _count(one.get("properties", {})) + _count(one.get("fields", {})) for one in properties.values())


def _united(there: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    united = dict(there)
    for name, field in added.items():
        old = united.get(name, {})
        properties = _united(old.get("properties", {}), field.get("properties", {}))
        united[name] = {**field, **old} | ({"properties": properties} if properties else {})
    return united


def missing(wanted: Mapping[str, Any], have: Mapping[str, Any], whole: Collection[str] = ()) -> dict[str, Any]:
    """The fields below `wanted` that `have` lacks; those named in `whole` even if it has them."""
    inside = have.get("properties", {})
    lacking: dict[str, Any] = {}
    for name, field in wanted.get("properties", {}).items():
        if name not in inside or name in whole:
            lacking[name] = field
        elif below := missing(field, inside[name]):
            lacking[name] = {**field, "properties": below}
    return lacking


def mappings_directory() -> Path:
    """The folder of the mapping files: inside the installed package, or at the top of a checkout.

    Raises NotFoundError if there is neither.
    """
    for folder in (PACKAGE / "mappings", PACKAGE.parent / "mappings"):
        if (folder / "component-template.json").is_file():
            return folder
    raise NotFoundError(f"the mapping files are neither in {PACKAGE} nor beside it; install the package again")


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((mappings_directory() / f"{name}.json").read_text("utf-8"))
    return content


def properties() -> dict[str, Any]:
    fields: dict[str, Any] = load("component-template")["template"]["mappings"]["properties"]
    return fields


def meta(info: StoreInfo, **more: Any) -> dict[str, Any]:
    return {
        "mapping_version": MAPPING_VERSION,
        "scheme": info.scheme,
        "tables": info.layout.tables,
        "key_bits": info.layout.bits,
        "content": info.content,
        "extractor": info.extractor,
        "unicode": info.unicode,
        "version": info.version,
        **({"kind": info.kind} if info.kind != DOCUMENTS else {}),
        **more,
    }


def new_index(info: StoreInfo) -> dict[str, Any]:
    return {"mappings": {"_meta": {ROOT: meta(info, made_index=True)}, "properties": properties()}}


def remember(client: Client, index: str, name: str, fields: TextFields) -> bool:
    try:
        mapping = read_mappings(client, path_of(index)[1:]).get(index) or IndexMapping(index, {})
        # `_meta` is written as a whole, so it is written only where that changes something.
        if mapping.text_fields().get(name) != fields:
            body = {"_meta": mapping.meta_with({**mapping.entry, TEXTS: notes_with(mapping, name, fields)})}
            client.request("PUT", f"{path_of(index)}/_mapping", body)
    except StoreError as error:
        # Who may use an alias may not know the index behind it.
        if is_denied(error):
            return False
        raise
    return True


def notes_with(mapping: IndexMapping, name: str, fields: TextFields) -> dict[str, Any]:
    return {index_name: _written(one) for index_name, one in {**mapping.text_fields(), name: fields}.items()}


def is_denied(error: StoreError) -> bool:
    return isinstance(error.__cause__, AnswerError) and error.__cause__.status == _DENIED


def _written(fields: TextFields) -> dict[str, Any]:
    more = {"source": fields.source, "title": fields.title}
    return {
        "fields": list(fields.names),
        "format": fields.format,
        **{name: value for name, value in more.items() if value},
    }
