"""The fields of an index that hold the texts of its fingerprints, as `_meta` of the mappings remembers them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import path_of, reading_path
from indexer.engine.index import mapping
from indexer.errors import StoreError

TEXTS = "texts"
# The name that an index has for itself in its note; an index beside others has theirs.
OWN = ""
_DENIED = 403


@dataclass(frozen=True, slots=True)
class TextFields:
    """The fields, in order, in which `neardup annotate` found the texts of an index, and whether they hold HTML.

    `source` and `title` are the fields that say where a document came from and what it is called; empty for none.
    """

    names: tuple[str, ...]
    html: bool = False
    source: str = ""
    title: str = ""

    def is_as(self, other: TextFields) -> bool:
        """True if fingerprints made from the one are those made from the other."""
        return (self.names, self.html) == (other.names, other.html)

    def options(self) -> str:
        """The options of the command that name these fields."""
        return " ".join([*(f"--field {name}" for name in self.names), *(["--html"] if self.html else [])])


def remembered_fields(described: Mapping[str, Any]) -> dict[str, TextFields]:
    """The fields that a mapping remembers, by the name of the index whose documents have them (`OWN` for its own)."""
    notes = mapping.own_meta(described).get(TEXTS)
    read = {name: _read(note) for name, note in notes.items()} if isinstance(notes, Mapping) else {}
    return {name: fields for name, fields in read.items() if fields}


def _read(note: Any) -> TextFields | None:
    # `_meta` is its owner's too, who may have written anything.
    names = note.get("fields") if isinstance(note, Mapping) else None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        return None
    source, title = (str(note.get(name) or "") for name in ("source", "title"))
    return TextFields(tuple(names), note.get("html") is True, source, title)


def remember(client: Client, index: str, name: str, fields: TextFields) -> bool:
    """Note in an index's `_meta` where the texts of `name` stand; False if its owner does not allow the change."""
    try:
        described = client.request("GET", f"{path_of(index)}/_mapping").get(index, {}).get("mappings", {})
        # `_meta` is written as a whole, so it is written only where that changes something.
        if remembered_fields(described).get(name) != fields:
            own = {**mapping.own_meta(described), TEXTS: notes_with(described, name, fields)}
            body = {"_meta": mapping.with_meta(described.get("_meta", {}), own)}
            client.request("PUT", f"{path_of(index)}/_mapping", body)
    except StoreError as error:
        # Who may use an alias may not know the index behind it.
        if _is_denied(error):
            return False
        raise
    return True


def notes_with(described: Mapping[str, Any], name: str, fields: TextFields) -> dict[str, Any]:
    """The notes of a mapping as they are written, with those of `name`."""
    return {index_name: _written(one) for index_name, one in {**remembered_fields(described), name: fields}.items()}


def _is_denied(error: StoreError) -> bool:
    return isinstance(error.__cause__, AnswerError) and error.__cause__.status == _DENIED


def _written(fields: TextFields) -> dict[str, Any]:
    more = {"source": fields.source, "title": fields.title}
    return {"fields": list(fields.names), "html": fields.html, **{name: value for name, value in more.items() if value}}


class Noted:
    """The text fields that the indices behind a store's name remember, for their own documents and those of others."""

    def __init__(self, client: Client, mappings: Mapping[str, Mapping[str, Any]]) -> None:
        self._client = client
        self._own: dict[str, TextFields] = {}
        self._others: dict[str, TextFields] = {}
        for index, described in mappings.items():
            for name, fields in remembered_fields(described).items():
                if name == OWN:
                    self._own[index] = fields
                else:
                    self._others[name] = fields
        self._behind: dict[str, frozenset[str]] = {}

    def own(self, index: str) -> TextFields | None:
        """The text fields of an index behind the name; one that came by a rollover has those of all others."""
        return self._own.get(index) or _only(self._own.values())

    def other(self, index: str) -> TextFields | None:
        """The text fields of an index that the store stands beside."""
        return _only(self._others.values()) or next(
            (fields for name, fields in self._others.items() if index in self._indices(name)), None
        )

    def _indices(self, name: str) -> frozenset[str]:
        """The indices that a name means, itself too."""
        if name not in self._behind:
            try:
                answer = self._client.request("GET", f"/{reading_path(name)}/_settings/index.uuid")
            except StoreError as error:
                gone = isinstance(error, AnswerError) and error.status == 404
                if not gone and not _is_denied(error):
                    raise
                answer = {}
            self._behind[name] = frozenset({name, *answer})
        return self._behind[name]


def _only(fields: Iterable[TextFields]) -> TextFields | None:
    """The fields on which all agree; None if there are none, or different ones."""
    names = set(fields)
    return names.pop() if len(names) == 1 else None
