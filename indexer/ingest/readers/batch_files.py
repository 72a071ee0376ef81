"""Tell the Parquet files neardup batch writes, without documents, from other ones."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from indexer.ingest.readers.base import ColumnNames

BATCH_FOOTER = b"neardup"
"""The key of a footer under which a file says what it is."""
BATCH_FOLDERS = ("sketches", "clusters", "clusters-before")
"""The names of the folders in which such files are written."""


def kind_of_batch(schema: Any, columns: ColumnNames) -> str:
    texts = {columns.text.partition(".")[0]} if columns.text else {"text", "html"}
    with suppress(ValueError, KeyError, TypeError):
        kind = json.loads((schema.metadata or {})[BATCH_FOOTER])["kind"]
        return "" if texts & set(schema.names) else f"a file of {kind}"
    return ""
