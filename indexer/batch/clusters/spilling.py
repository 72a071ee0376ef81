"""Tables dealt to files by number, and read again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from indexer.batch.arrow import arrow, column_of, numbers_of, parquet
from indexer.schemes.base import Positions


class SpillFiles:
    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._writers: dict[int, Any] = {}

    def add(self, number: int, table: Any) -> None:
        if number not in self._writers:
            self._writers[number] = parquet.ParquetWriter(
                self._path(number), table.schema, compression="none", use_dictionary=False, write_statistics=False
            )
        self._writers[number].write_table(table)

    def read(self) -> Iterator[tuple[int, Any]]:
        for out in self._writers.values():
            out.close()
        for number in sorted(self._writers):
            yield number, parquet.read_table(self._path(number)).combine_chunks()
            self._path(number).unlink()
        self._writers = {}

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._name}-{number:05}.parquet"


def table_of(**columns: Positions) -> Any:
    return arrow.Table.from_arrays([column_of(each) for each in columns.values()], names=list(columns))


def numbers_in(table: Any, *names: str) -> list[Positions]:
    return [numbers_of(table[name].combine_chunks()) for name in names]
