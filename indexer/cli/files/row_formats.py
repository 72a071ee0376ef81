"""Formats of results in rows: CSV, JSON lines, Parquet."""

from __future__ import annotations

import csv
import json
from typing import Any

from indexer.cli.files.pair_formats import target_of
from indexer.cli.terminal.output import printable
from indexer.library.rows import Rows
from indexer.model.declared import as_json


def written_rows(rows: Rows[Any], kind: str, output: str | None) -> None:
    """Write rows to a file, or to standard output for None, as "csv", "jsonl" or "parquet".

    A file is there under its name only when it is complete. Raises UsageError where it can't be written, and for
    Parquet without pyarrow or on a terminal.
    """
    table = rows.to_arrow() if kind == "parquet" else None
    with target_of(output, kind) as file:
        if kind == "jsonl":
            file.writelines(json.dumps(as_json(row)) + "\n" for row in rows)
        elif kind == "csv":
            out = csv.writer(file, lineterminator="\n")
            out.writerow(rows.columns)
            for row in rows:
                out.writerow([_cell(getattr(row, name), safe=file.isatty()) for name in rows.columns])
        else:
            import pyarrow.parquet

            pyarrow.parquet.write_table(table, file)


def _cell(value: Any, *, safe: bool) -> Any:
    if isinstance(value, tuple):
        value = " ".join(value)
    # A terminal obeys what is in a text; a file keeps it as it is.
    return printable(value) if safe and isinstance(value, str) else value
