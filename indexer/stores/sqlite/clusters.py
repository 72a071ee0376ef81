"""The clusters of the embedded store, and what it keeps by name."""

# ruff: noqa: S608 -- statements are put together of fixed words

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from indexer.model import ClusteringNote, Ref
from indexer.model.chunking import chunks
from indexer.stores.kept import KeptKind, reading, written
from indexer.stores.sqlite import cells
from indexer.stores.sqlite.rows import READ_ROWS, SqlitePart, marks, pack_text

T = TypeVar("T")
# So many things are written at once.
_BATCH = 8000
RELATIONS = """SELECT coalesce(json_extract(fields, '$.cluster.relation'), ''), count(*) FROM annotations
    WHERE cluster IS NOT NULL AND json_extract(fields, '$.cluster.repeats') IS NOT NULL GROUP BY 1"""
"""Counts of the documents that repeat another one, by their noted relation."""
_NOTE = "clustering"
_NOTES = reading(ClusteringNote)


class ClusterTable(SqlitePart):
    def scan_annotations(self, *, clustered: bool = False) -> Iterator[tuple[Ref, Mapping[str, Any]]]:
        sql = "documents d LEFT JOIN annotations a ON a.document = d.number ORDER BY d.number"
        if clustered:
            # By its place in the file, which the index on clusters would lose.
            sql = """annotations a NOT INDEXED CROSS JOIN documents d ON d.number = a.document
                WHERE a.cluster IS NOT NULL ORDER BY a.document"""
        with self._snapshot() as connection:
            for name, fields in connection.execute(f"SELECT d.id, a.fields FROM {sql}"):
                yield Ref(cells.text(name)), {} if fields is None else cells.json_object(fields)

    def cluster_members(self, ids: Sequence[str]) -> Iterator[tuple[str, Ref]]:
        with self._reading() as connection:
            sql = """SELECT d.id FROM annotations a CROSS JOIN documents d ON d.number = a.document
                WHERE a.cluster = ? ORDER BY d.id"""
            for cluster in dict.fromkeys(ids):
                for (name,) in connection.execute(sql, (pack_text(cluster),)):
                    yield cluster, Ref(cells.text(name))

    def keep(self, kind: KeptKind[T], items: Iterable[T]) -> None:
        rows = ((pack_text(kind.name_of(item)), kind.written(kind.moved(item, self.folder.kept))) for item in items)
        for chunk in chunks(rows, _BATCH):
            with self._writing() as connection:
                connection.executemany(f"INSERT OR REPLACE INTO {kind.name} VALUES (?, ?)", chunk)

    def kept(self, kind: KeptKind[T], names: Sequence[str]) -> list[T | None]:
        found: dict[str, T] = {}
        with self._reading() as connection:
            for chunk in chunks(map(pack_text, names), READ_ROWS):
                sql = f"SELECT id, exact FROM {kind.name} WHERE id IN ({marks(len(chunk))})"
                found.update(self._things(kind, connection.execute(sql, chunk)))
        return [found.get(name) for name in names]

    def every_kept(self, kind: KeptKind[T]) -> Iterator[T]:
        with self._snapshot() as connection:
            rows = connection.execute(f"SELECT id, exact FROM {kind.name} ORDER BY id")
            yield from (thing for _, thing in self._things(kind, rows))

    def forget(self, kind: KeptKind[T], names: Sequence[str]) -> int:
        count = 0
        for chunk in chunks(names, _BATCH):
            with self._writing() as connection:
                rows = [(pack_text(name),) for name in chunk]
                count += connection.executemany(f"DELETE FROM {kind.name} WHERE id = ?", rows).rowcount
        return count

    def _things(self, kind: KeptKind[T], rows: Iterable[tuple[Any, Any]]) -> Iterator[tuple[str, T]]:
        for name, exact in rows:
            thing = _read(kind.read, exact)
            if pack_text(kind.name_of(thing)) != name:
                raise cells.DamagedError(f"something else among the {kind.name}")
            yield cells.text(name), kind.moved(thing, self.folder.now)

    def clustering_notes(self) -> Mapping[str, ClusteringNote]:
        with self._reading() as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = ?", (_NOTE,)).fetchone()
            return {"": _read(_NOTES, row[0])} if row else {}

    def put_clustering_note(self, note: ClusteringNote | None) -> None:
        with self._writing() as connection:
            connection.execute("DELETE FROM meta WHERE name = ?", (_NOTE,))
            if note is not None:
                connection.execute("INSERT INTO meta VALUES (?, ?)", (_NOTE, written(note)))


def cluster_name(annotations: Mapping[str, Any]) -> bytes | None:
    cluster = annotations.get("cluster")
    name = cluster.get("id") if isinstance(cluster, dict) else None
    return pack_text(name) if isinstance(name, str) else None


def _read(read: Callable[[str], T], cell: Any) -> T:
    try:
        return read(cells.name(cell))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise cells.DamagedError(f"something else was kept: {error}") from None
