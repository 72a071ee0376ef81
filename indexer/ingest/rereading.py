"""The text of a stored document, read again from where it came from."""

from __future__ import annotations

from typing import cast

from indexer.errors import ExtractionError
from indexer.extract.base import REASONS, Content, Limits, Options
from indexer.ingest.sources import UnreadableError, read_file
from indexer.model import Record
from indexer.stores.base import Store

# What a page of a report or a verification is worth: one document.
_LIMITS = Limits(seconds=20.0, input_bytes=20_000_000)


def stored_text(store: Store, record: Record) -> str:
    """The text of a stored document, extracted from its path again.

    Raises ExtractionError where the file is gone, unreadable, or no longer what was indexed: its fingerprint shows it.
    """
    from indexer.extract import extract
    from indexer.schemes import simhash

    if "://" in record.source[:20]:
        raise ExtractionError("unreadable", "the document came from an address, and its text is not kept")
    try:
        data = read_file(record.source, _LIMITS.input_bytes)
    except UnreadableError as error:
        raise ExtractionError(error.reason, error.detail) from None
    try:
        options = Options(content=cast(Content, store.info.content))
        text = extract(data, name=record.source, options=options, limits=_LIMITS).text
    except ExtractionError as error:
        raise ExtractionError(error.reason, error.detail or REASONS.get(error.reason, "")) from None
    now = simhash.fingerprint(text)
    if (now and now.value) != (record.fingerprint and record.fingerprint.value):
        raise ExtractionError("unreadable", "the file no longer holds the text that was indexed")
    return text
