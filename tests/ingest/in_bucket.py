"""The files that tests of object stores keep in the bucket `data`."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow
import pyarrow.parquet

from indexer.ingest.sources import Selection, Sources

TEXTS = [" ".join(f"w{number}x{place}" for place in range(30)) for number in range(12)]


def fill(system: Any, page: str) -> None:
    """Write them, a page of HTML under this name."""
    table = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": TEXTS[:4]}), table)
    files = {
        "set/a.parquet": table.getvalue(),
        "set/deep/b.jsonl": "".join(json.dumps({"text": text}) + "\n" for text in TEXTS[4:8]).encode(),
        page: f"<p>{TEXTS[8]}".encode(),
        "set/style.css": b"p {}",
        "other.txt": TEXTS[9].encode(),
    }
    for name, data in files.items():
        with system.open_output_stream(f"data/{name}") as out:
            out.write(data)


def ids(name: str, **selection: object) -> list[str]:
    return [item.id for item in Sources([name], Selection(**selection))]  # type: ignore[arg-type]
