"""Documents as lines of a request, and exact numbers of answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MAX_RECORD_BYTES = 16 << 20


class WrittenFloat(float):
    """A number of an answer; `written` are its digits, possibly more than a float holds."""

    def __init__(self, written: str) -> None:
        self.written = written


class InexactRecordError(Exception):
    """A record can't be stored exactly; the text is the reason."""


def encoded(body: Mapping[str, Any]) -> bytes:
    """A document's line. Raises InexactRecordError for text outside UTF-8 and for too large documents."""
    try:
        line = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        raise InexactRecordError(
            "its id, source or title is not valid Unicode (a file name in another encoding?); rename the file"
        ) from None
    if len(line) > MAX_RECORD_BYTES:
        raise InexactRecordError(f"id, titles and metadata take {len(line)} bytes, more than {MAX_RECORD_BYTES}")
    return line
