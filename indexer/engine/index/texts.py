"""The text fields remembered in mappings."""

from __future__ import annotations

from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import path_of
from indexer.engine.index.mapping import TEXTS, IndexMapping, read_mappings
from indexer.errors import StoreError
from indexer.stores.texts import TextFields

# The name that an index has for itself in its note; an index beside others has theirs.
OWN = ""
_DENIED = 403


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
