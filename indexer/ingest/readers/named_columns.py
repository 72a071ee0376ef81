"""Remembered column names of files with many documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from indexer.errors import StoreError
from indexer.extract.fields import field_format
from indexer.ingest.readers.base import ColumnNames
from indexer.model.paths import MovableFolder

if TYPE_CHECKING:
    from indexer.stores.base import Store

# The name of the resource in a store.
COLUMNS = "columns"
# Beyond this many files those that were named first are forgotten.
MOST_FILES = 100_000


class KnownColumns:
    def __init__(self, store: Store | None = None) -> None:
        data = store.get_resource(COLUMNS) if store else None
        folder = store.folder if store else MovableFolder()
        self._columns = {folder.now(path): columns for path, columns in _read(data)} if data else {}
        self._changed = False

    def of(self, path: str, named: ColumnNames) -> ColumnNames:
        known = self._columns.get(path)
        if known is None:
            return named
        kind = named.format if named.text else known.format
        return ColumnNames(named.text or known.text, named.id or known.id, named.title or known.title, kind)

    def note(self, path: str, columns: ColumnNames) -> None:
        is_named = columns.text or columns.id or columns.title or columns.format == "auto"
        if is_named and self._columns.get(path) != columns:
            self._columns.pop(path, None)
            self._columns[path] = columns
            self._changed = True

    def keep(self, store: Store) -> bool:
        if not self._changed:
            return True
        files: dict[ColumnNames, list[str]] = {}
        for path, columns in list(self._columns.items())[-MOST_FILES:]:
            files.setdefault(columns, []).append(store.folder.kept(path))
        notes = [
            {"text": each.text, "id": each.id, "title": each.title, "format": each.format, "files": paths}
            for each, paths in files.items()
        ]
        try:
            store.put_resource(COLUMNS, json.dumps(notes).encode("ascii"))
        except StoreError:
            return False
        self._changed = False
        return True


def _read(data: bytes) -> Iterable[tuple[str, ColumnNames]]:
    # In an engine others can have written anything there.
    try:
        notes = json.loads(data)
    except (ValueError, RecursionError):
        return
    for note in notes if isinstance(notes, list) else ():
        if isinstance(note, Mapping) and isinstance(note.get("files"), list):
            text, name, title = (_text(note, key) for key in ("text", "id", "title"))
            columns = ColumnNames(text, name, title, field_format(note.get("format")))
            yield from ((path, columns) for path in note["files"] if isinstance(path, str))


def _text(note: Mapping[str, Any], name: str) -> str:
    value = note.get(name)
    return value if isinstance(value, str) else ""
