"""The fields of an index that hold the texts of its fingerprints, as `_meta` of the mappings remembers them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import path_of, reading_path
from indexer.engine.index.mapping import TEXTS, IndexMapping, Mappings, read_mappings
from indexer.errors import StoreError
from indexer.stores.texts import TextFields

# The name that an index has for itself in its note; an index beside others has theirs.
OWN = ""
_DENIED = 403


def remember(client: Client, index: str, name: str, fields: TextFields) -> bool:
    """Note in an index's `_meta` where the texts of `name` stand; False if its owner does not allow the change."""
    try:
        mapping = read_mappings(client, path_of(index)[1:]).get(index) or IndexMapping(index, {})
        # `_meta` is written as a whole, so it is written only where that changes something.
        if mapping.text_fields().get(name) != fields:
            body = {"_meta": mapping.meta_with({**mapping.entry, TEXTS: notes_with(mapping, name, fields)})}
            client.request("PUT", f"{path_of(index)}/_mapping", body)
    except StoreError as error:
        # Who may use an alias may not know the index behind it.
        if _is_denied(error):
            return False
        raise
    return True


def notes_with(mapping: IndexMapping, name: str, fields: TextFields) -> dict[str, Any]:
    """The notes of a mapping as they are written, with those of `name`."""
    return {index_name: _written(one) for index_name, one in {**mapping.text_fields(), name: fields}.items()}


def _is_denied(error: StoreError) -> bool:
    return isinstance(error.__cause__, AnswerError) and error.__cause__.status == _DENIED


def _written(fields: TextFields) -> dict[str, Any]:
    more = {"source": fields.source, "title": fields.title}
    return {"fields": list(fields.names), "html": fields.html, **{name: value for name, value in more.items() if value}}


class Noted:
    """The text fields that the indices behind a store's name remember, for their own documents and those of others."""

    def __init__(self, client: Client, mappings: Mappings) -> None:
        self._client = client
        self._own: dict[str, TextFields] = {}
        self._others: dict[str, TextFields] = {}
        for index, mapping in mappings.items():
            for name, fields in mapping.text_fields().items():
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
