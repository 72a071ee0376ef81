"""Tables dealt to files by a number, and read again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from indexer.batch.arrow import arrow, column_of, numbers_of, parquet
from indexer.schemes.base import Positions

# Rows of so many owners are read at once, and of as many files as may be open beside others.
_OWNERS, _MOST_PARTS = 1 << 20, 256


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

    def deal(self, rows: Any, of: Positions) -> None:
        """Add the rows of a table or a batch to the files with these numbers: shape (rows,)."""
        for number in np.unique(of).tolist():
            table = rows.filter(column_of(of == number))
            self.add(number, table if isinstance(rows, arrow.Table) else arrow.Table.from_batches([table]))

    def read(self) -> Iterator[tuple[int, Any]]:
        for number in sorted(self._writers):
            yield number, self.table(number)
            self._path(number).unlink()
        self._writers = {}

    def table(self, number: int) -> Any:
        self._writers[number].close()
        return parquet.read_table(self._path(number)).combine_chunks()

    def __contains__(self, number: int) -> bool:
        return number in self._writers

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._name}-{number:05}.parquet"


class OwnerRows:
    """Rows of a schema by their `owner`, a number below `count`: spilled to a folder, then read by ranges of owners.

    Memory: the rows of a million owners, or of one in 256.
    """

    def __init__(self, folder: Path, name: str, schema: Any, count: int) -> None:
        self._schema, self._count = schema, max(1, count)
        self._parts = min(_MOST_PARTS, -(-self._count // _OWNERS))
        self._dealt, self._known = SpillFiles(folder, name), (-1, schema.empty_table())

    def add(self, rows: Any) -> None:
        self._dealt.deal(rows, numbers_of(rows["owner"]) * self._parts // self._count)

    def between(self, first: int, end: int) -> Any:
        low, high = (owner * self._parts // self._count for owner in (first, max(first, end - 1)))
        rows = arrow.concat_tables([self._part(number) for number in range(low, high + 1)])
        start, stop = np.searchsorted(numbers_of(rows["owner"]), (first, end)).tolist()
        return rows.slice(start, stop - start)

    def _part(self, number: int) -> Any:
        if self._known[0] != number:
            there = number in self._dealt
            self._known = number, self._dealt.table(number).sort_by("owner") if there else self._schema.empty_table()
        return self._known[1]


def table_of(**columns: Positions) -> Any:
    return arrow.Table.from_arrays([column_of(each) for each in columns.values()], names=list(columns))
