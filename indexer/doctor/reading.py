"""The check that documents are still what their fingerprints were made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import cast, get_args

from indexer.errors import NeardupError
from indexer.extract.base import Content, Extractor, Failed, Format, Limits, Options
from indexer.ingest.from_store import CHANGED, stored_inputs
from indexer.ingest.outcomes import read_one
from indexer.ingest.sources import Input, Selection
from indexer.model import Record, Ref
from indexer.model.chunking import chunks
from indexer.stores.base import Store
from indexer.stores.digests import source_digest
from indexer.stores.findings import Finding
from indexer.text.counts import counted

_AT_ONCE = 500


def texts_of(store: Store) -> Finding:
    """Read every document again, as far as the store knows from where, and count those that have another text now."""
    try:
        counts = Counter(_compared(store))
    except NeardupError as error:
        return Finding("texts", "warning", f"can't be read again: {error}", "name what is missing, or index again")
    gone = counts["gone"]
    more = f"; {counted(gone, 'document')} can't be read again from where it came from" if gone else ""
    if counts[CHANGED]:
        says = f"{counted(counts[CHANGED], 'document')} changed since their fingerprints were made{more}"
        return Finding("texts", "warning", says, "index or annotate them again")
    return Finding("texts", "ok", f"{counted(counts['same'], 'document')} as when their fingerprints were made{more}")


def _compared(store: Store) -> Iterator[str]:
    """The outcome for each document: "same", CHANGED, or "gone" where it can't be told."""
    for items in chunks(stored_inputs(store, store.scan(sketches=False), Selection()), _AT_ONCE):
        files = [item for item in items if isinstance(item, Input) and item.path]
        records = store.get([Ref(item.id) for item in files], sketches=False)
        yield from (_file(store, item, record) for item, record in zip(files, records, strict=True))
        for item in items:
            if not isinstance(item, Input):
                yield CHANGED if item.reason == CHANGED else "gone"
            elif not item.path:
                # A part of another document is given only if it is still the text that was fingerprinted.
                yield "same"


def _file(store: Store, item: Input, record: Record | None) -> str:
    read = read_one(item, Limits().input_bytes)
    if record is None or isinstance(read, Failed):
        return "gone"
    kinds = dict.fromkeys((None, cast("Format | None", record.format or None)))
    for extractor in get_args(Extractor):
        for kind in kinds:
            options = Options(content=cast(Content, store.info.content), extractor=extractor, format=kind)
            digest = source_digest(read.data, store.info, options, name=item.path, title=item.title)
            if digest == record.source_digest:
                return "same"
    return CHANGED
