"""The dates of documents, as people know them."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from indexer.model import DECLARED, Record
from indexer.model.paths import path_of_printable
from indexer.text.visible import printable

_DATES = ("modified", "published", "dated")


def date_of(record: Record) -> str:
    """The day of a document (ISO 8601): its own date, else that of a mail, else that of its file; or empty."""
    declared = record.metadata.get(DECLARED)
    said = [declared.get(name) for name in _DATES] if isinstance(declared, dict) else []
    for value in (*said, record.metadata.get("date")):
        if isinstance(value, str) and value:
            return printable(value[:10])
    if os.path.isabs(record.source):
        try:
            status = os.lstat(path_of_printable(record.source))
        except (OSError, ValueError):
            return ""
        return datetime.fromtimestamp(status.st_mtime, UTC).strftime("%Y-%m-%d")
    return ""
