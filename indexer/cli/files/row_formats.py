"""Results in rows, written to a file or to standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TypeVar

from indexer.errors import UsageError
from indexer.library.writers import RowFormat, save, write

Row = TypeVar("Row")


def written_rows(rows: Iterable[Row], kind: type[Row], form: RowFormat, output: str | None) -> int:
    """Write records of a kind to a file, or to standard output for None; returns how many.

    Raises UsageError if a file can't be written, and for Parquet without pyarrow or on a terminal.
    """
    if output is not None:
        return save(rows, kind, output, form)
    if form == "parquet" and sys.stdout.isatty():
        raise UsageError("Parquet is not for a terminal; name a file with -o")
    return write(rows, kind, sys.stdout.buffer if form == "parquet" else sys.stdout, form)
