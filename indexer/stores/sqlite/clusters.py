"""The clusters of the embedded store."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from indexer.model import ClusteringNote, ClusterRecord, Ref
from indexer.model.decisions import Decision, decision_json, decision_of
from indexer.stores.sqlite import cells
from indexer.stores.sqlite.rows import READ_ROWS, SqlitePart, marks, pack_text

_COLUMNS = """id, canonical, title, size, octets, first_seen, last_seen, redundant_octets, formats, origins,
    least_similarity, redundant, relations, repeated_origins"""
RELATIONS = """SELECT coalesce(json_extract(fields, '$.cluster.relation'), ''), count(*) FROM annotations
    WHERE cluster IS NOT NULL AND json_extract(fields, '$.cluster.repeats') IS NOT NULL GROUP BY 1"""
"""Counts of the documents that repeat another one, by their noted relation."""
_NOTE = "clustering"
_NOTED = {
    "rule": str,
    "bound": str,
    "canonical": str,
    "finished": bool,
    "at": str,
    "arrived": list,
    "reads": bool,
    "apart": str,
}


class ClusterTable(SqlitePart):
    def scan_annotations(self, *, clustered: bool = False) -> Iterator[tuple[Ref, Mapping[str, Any]]]:
        sql = "documents d LEFT JOIN annotations a ON a.document = d.number ORDER BY d.number"
        if clustered:
            # By its place in the file, which the index on clusters would lose.
            sql = """annotations a NOT INDEXED CROSS JOIN documents d ON d.number = a.document
                WHERE a.cluster IS NOT NULL ORDER BY a.document"""
        with self._snapshot() as connection:
            for name, fields in connection.execute(f"SELECT d.id, a.fields FROM {sql}"):  # noqa: S608
                yield Ref(cells.text(name)), {} if fields is None else cells.json_object(fields)

    def cluster_members(self, ids: Sequence[str]) -> Iterator[tuple[str, Ref]]:
        with self._reading() as connection:
            sql = """SELECT d.id FROM annotations a CROSS JOIN documents d ON d.number = a.document
                WHERE a.cluster = ? ORDER BY d.id"""
            for cluster in dict.fromkeys(ids):
                for (name,) in connection.execute(sql, (pack_text(cluster),)):
                    yield cluster, Ref(cells.text(name))

    def put_clusters(self, clusters: Iterable[ClusterRecord]) -> None:
        self._put_rows("clusters", map(self._row, clusters))

    def get_clusters(self, ids: Sequence[str]) -> list[ClusterRecord | None]:
        names = [pack_text(name) for name in ids]
        records: dict[bytes, ClusterRecord] = {}
        with self._reading() as connection:
            for start in range(0, len(names), READ_ROWS):
                chunk = names[start : start + READ_ROWS]
                sql = f"SELECT {_COLUMNS} FROM clusters WHERE id IN ({marks(len(chunk))})"  # noqa: S608
                records.update((row[0], self._cluster(row)) for row in connection.execute(sql, chunk))
        return [records.get(name) for name in names]

    def clusters(self) -> Iterator[ClusterRecord]:
        with self._snapshot() as connection:
            yield from map(self._cluster, connection.execute(f"SELECT {_COLUMNS} FROM clusters ORDER BY id"))  # noqa: S608

    def delete_clusters(self, ids: Sequence[str]) -> int:
        return self._delete_rows("clusters", [pack_text(name) for name in ids])

    def clustering_notes(self) -> Mapping[str, ClusteringNote]:
        with self._reading() as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = ?", (_NOTE,)).fetchone()
            return {"": _note(cells.json_object(row[0]))} if row else {}

    def put_clustering_note(self, note: ClusteringNote | None) -> None:
        with self._writing() as connection:
            connection.execute("DELETE FROM meta WHERE name = ?", (_NOTE,))
            if note is not None:
                connection.execute("INSERT INTO meta VALUES (?, ?)", (_NOTE, json.dumps(dataclasses.asdict(note))))

    def decisions(self) -> Iterator[Decision]:
        with self._snapshot() as connection:
            for name, held in connection.execute("SELECT id, documents FROM decisions ORDER BY id"):
                yield _decision(cells.name(name), cells.name(held))

    def put_decisions(self, decisions: Iterable[Decision]) -> None:
        self._put_rows("decisions", ((one.id, decision_json(one)) for one in decisions))

    def delete_decisions(self, ids: Sequence[str]) -> int:
        return self._delete_rows("decisions", ids)

    def _row(self, cluster: ClusterRecord) -> tuple[Any, ...]:
        seen = (pack_text(cluster.first_seen), pack_text(cluster.last_seen))
        names = (pack_text(cluster.id), pack_text(cluster.canonical.id), pack_text(cluster.title))
        origins, repeated = (
            json.dumps([self.folder.kept(origin) for origin in some])
            for some in (cluster.origins, cluster.repeated_origins)
        )
        places = (cluster.redundant_bytes, json.dumps(cluster.formats), origins)
        said = (cluster.least_similarity, cluster.redundant, json.dumps(dict(cluster.relations)), repeated)
        return (*names, cluster.size, cluster.total_bytes, *seen, *places, *said)

    def _cluster(self, row: Sequence[Any]) -> ClusterRecord:
        name, canonical, title, size, total, first, last, octets, formats, origins, *said = row
        names = (cells.text(name), Ref(cells.text(canonical)), cells.text(title))
        figures = (cells.count(size), cells.count(total))
        seen = (cells.text(first), cells.text(last))
        least, redundant, relations, repeated = said
        places = (cells.json_strings(formats), self._origins(origins))
        shares = (cells.share(least), cells.count(redundant))
        counts = tuple((word, cells.count(number)) for word, number in cells.json_object(relations).items())
        return ClusterRecord(
            *names, *figures, *seen, cells.count(octets), *places, *shares, counts, self._origins(repeated)
        )

    def _origins(self, cell: Any) -> tuple[str, ...]:
        return tuple(map(self.folder.now, cells.json_strings(cell)))


def cluster_name(annotations: Mapping[str, Any]) -> bytes | None:
    cluster = annotations.get("cluster")
    name = cluster.get("id") if isinstance(cluster, dict) else None
    return pack_text(name) if isinstance(name, str) else None


def _decision(name: str, held: str) -> Decision:
    with suppress(ValueError, RecursionError):
        decision = decision_of(held)
        if decision.id == name:
            return decision
    raise cells.DamagedError("no decision")


def _note(held: dict[str, Any]) -> ClusteringNote:
    try:
        note = ClusteringNote(**held)
    except TypeError:
        raise cells.DamagedError("no note of a clustering") from None
    if not all(isinstance(held[name], kind) for name, kind in _NOTED.items() if name in held):
        raise cells.DamagedError("a note of a clustering with values of other types")
    return note
