"""Files of earlier runs, as a store remembers them: their columns, and how many were passed over."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from indexer.errors import StoreError
from indexer.extract.fields import field_format
from indexer.ingest.readers.base import ColumnNames
from indexer.model import own_files
from indexer.model.paths import MovableFolder

if TYPE_CHECKING:
    from indexer.stores.base import Store


# The name of the resource in a store.
COLUMNS = "columns"
# Beyond this many files those that were named first are forgotten.
MOST_FILES = 100_000
# The name of the resource in a store.
PASSED_OVER = "passed-over"
# Beyond this many kinds of files the rest are counted as one, and beyond this many folders the first are forgotten.
_MOST_KINDS, _MOST_FOLDERS = 20, 1000
_OTHERS = "others"


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


class PassedOver:
    def __init__(self) -> None:
        self.folders: dict[str, Counter[str]] = {}

    @property
    def total(self) -> int:
        return sum(counts.total() for counts in self.folders.values())

    def add(self, folder: str, path: str, kind: str = "") -> None:
        if own_files.is_own(path):
            return
        counts = self.folders.setdefault(folder, Counter())
        kind = kind or os.path.splitext(path)[1].lower() or "without suffix"
        is_plain = len(kind) < 16 and kind.isascii() and kind.isprintable()
        counts[kind if is_plain and (kind in counts or len(counts) < _MOST_KINDS) else _OTHERS] += 1

    def keep(self, store: Store, walked: list[str]) -> None:
        old = _kept(store)
        new = {store.folder.kept(folder): dict(self.folders.get(folder, {})) for folder in walked}
        counts = {folder: known for folder, known in old.items() if not any(_is_within(folder, other) for other in new)}
        # The folder around one of these is counted whole.
        counts |= {
            folder: of for folder, of in new.items() if of and not any(_is_within(folder, other) for other in counts)
        }
        if counts != old:
            store.put_resource(PASSED_OVER, json.dumps(dict(list(counts.items())[-_MOST_FOLDERS:])).encode("ascii"))


def files_passed_over(store: Store) -> dict[str, int]:
    kinds: Counter[str] = Counter()
    for counts in _kept(store).values():
        kinds.update(counts)
    return dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0])))


def _is_within(folder: str, other: str) -> bool:
    return f"{folder}/".startswith(other if other.endswith("/") else f"{other}/")


def _kept(store: Store) -> dict[str, dict[str, int]]:
    data = store.get_resource(PASSED_OVER)
    # In an engine others can have written anything there.
    try:
        folders = json.loads(data) if data else {}
    except (ValueError, RecursionError):
        return {}
    return {
        folder: {kind: count for kind, count in counts.items() if type(count) is int}
        for folder, counts in (folders.items() if isinstance(folders, dict) else ())
        if isinstance(counts, dict)
    }
