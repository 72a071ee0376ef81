"""The schemes and named resources of the embedded store."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path

from indexer.model import SIMHASH_DOC
from indexer.schemes.keys.layout import SchemeInfo
from indexer.stores.base import StoreInfo
from indexer.stores.sketches import check_resource, is_new
from indexer.stores.sqlite import cells
from indexer.stores.sqlite.file import read_info
from indexer.stores.sqlite.parts import SqlitePart
from indexer.stores.sqlite.tables import StoredScheme, add_scheme, read_schemes, remove_scheme


class SchemeTables(SqlitePart):
    path: Path

    @abstractmethod
    def _described(self, info: StoreInfo, schemes: Mapping[str, StoredScheme]) -> None: ...

    def add_scheme(self, scheme: SchemeInfo) -> None:
        if not is_new(self.info.schemes, scheme, str(self.path)):
            return
        with self._writing() as connection:
            there = [each.info for name, each in read_schemes(connection).items() if name != SIMHASH_DOC]
            if is_new(there, scheme, str(self.path)):
                add_scheme(connection, scheme)
            self._described(read_info(connection), read_schemes(connection))

    def remove_scheme(self, name: str) -> None:
        with self._writing() as connection:
            scheme = read_schemes(connection).get(name)
            if scheme is not None and name != SIMHASH_DOC:
                remove_scheme(connection, scheme)
            self._described(read_info(connection), read_schemes(connection))

    def sketch_counts(self) -> Mapping[str, int]:
        with self._reading() as connection:
            rows = connection.execute("SELECT name, documents FROM schemes ORDER BY number").fetchall()
            return {cells.name(name): cells.count(documents) for name, documents in rows if name != SIMHASH_DOC}

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
