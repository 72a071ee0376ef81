"""The part of the embedded store that has to do with secondary schemes, and with named resources."""

# ruff: noqa: D102 -- what the methods of a store do is said once, in base.py and sketches.py

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path

from indexer.schemes.keys.layout import SchemeInfo
from indexer.stores.base import StoreInfo
from indexer.stores.sketches import check_resource, is_new
from indexer.stores.sqlite import cells
from indexer.stores.sqlite.parts import OnFile
from indexer.stores.sqlite.sketches import read_schemes

_READ = 4096


class SchemeTables(OnFile):
    """The list of schemes, and a table of resources."""

    path: Path

    @abstractmethod
    def _described(self, info: StoreInfo) -> None:
        """Take note of what the store is made of now."""

    def add_scheme(self, scheme: SchemeInfo) -> None:
        if not is_new(self.info.schemes, scheme, str(self.path)):
            return
        with self._writing() as connection:
            there = read_schemes(connection)
            if is_new(there, scheme, str(self.path)):
                connection.execute(
                    "INSERT INTO schemes (name, id, tables, bits, comparable) VALUES (?, ?, ?, ?, 0)",
                    (scheme.name, scheme.id, scheme.layout.tables, scheme.layout.bits),
                )
            there = read_schemes(connection)
        self._described(dataclasses.replace(self.info, schemes=there))

    def remove_scheme(self, name: str) -> None:
        with self._writing() as connection:
            row = connection.execute("SELECT number FROM schemes WHERE name = ?", (name,)).fetchone()
            if row:
                for table in ("scheme_postings", "scheme_recent", "document_sketches", "distinct_sketches"):
                    connection.execute(f"DELETE FROM {table} WHERE scheme = ?", row)  # noqa: S608 one of four names
                connection.execute("DELETE FROM schemes WHERE number = ?", row)
            there = read_schemes(connection)
        self._described(dataclasses.replace(self.info, schemes=there))

    def sketch_counts(self) -> Mapping[str, int]:
        with self._snapshot() as connection:
            sql = """SELECT name, (SELECT count(*) FROM document_sketches WHERE scheme = number)
                FROM schemes ORDER BY number"""
            return {cells.name(name): count for name, count in connection.execute(sql)}

    def put_resource(self, name: str, data: bytes) -> None:
        check_resource(name, data)
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO resources VALUES (?, ?)", (name, data))

    def get_resource(self, name: str) -> bytes | None:
        with self._reading() as connection:
            row = connection.execute("SELECT octets FROM resources WHERE name = ?", (name,)).fetchone()
            return cells.blob(row[0]) if row else None

    def resources(self) -> list[str]:
        with self._reading() as connection:
            return [cells.name(name) for (name,) in connection.execute("SELECT name FROM resources ORDER BY name")]
