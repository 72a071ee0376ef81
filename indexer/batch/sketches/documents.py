"""From rows of a table to documents, by columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from indexer.batch.arrow import (
    NO_TEXT,
    arrow,
    column_of,
    column_of_strings,
    compute,
    flags_of,
    repeated,
    scalar,
    schema_of,
)
from indexer.ingest.readers.base import BadEntry, ColumnNames, ReaderOptions, json_text, value_at
from indexer.ingest.readers.tables import plain_value, row_entry
from indexer.model import REASON_KEY, with_declared
from indexer.model.times import time_keys

DOCUMENTS: Any = schema_of(
    "id string, row int64, text string, title string, source string, time string, metadata string"
)
"""The columns that `indexer.batch.sketches.kernels.sketched` takes."""


@dataclass(frozen=True, slots=True)
class Place:
    """The file of rows, by `name` and `source`; rows without an id or URL are named after it."""

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Taken:
    """The documents of some rows, and the numbers of bad rows, each with its problem."""

    documents: Any
    bad: list[BadEntry] = field(default_factory=list)


def reads_columns(schema: Any, columns: ColumnNames) -> bool:
    names = schema.names
    if (
        columns.format != "text"
        or len(set(names)) < len(names)
        or REASON_KEY in names
        or {"url", "source"} <= set(names)
    ):
        return False
    text = columns.text or "text"
    if text not in names or (not columns.text and "html" in names):
        return False
    wanted = {"text": text, "id": columns.id or "id", "title": columns.title or "title", "url": _url_name(names)}
    if any(name and name not in names and "." in name for name in wanted.values()):
        return False
    kinds = {key: schema.field(name).type for key, name in wanted.items() if name in names}
    is_text = [arrow.types.is_string(kind) or arrow.types.is_large_string(kind) for key, kind in kinds.items()]
    return all(
        fits or (key == "id" and arrow.types.is_integer(kind))
        for (key, kind), fits in zip(kinds.items(), is_text, strict=True)
    )


def documents_of(batch: Any, first: int, place: Place, asked: ReaderOptions, time_field: str = "") -> Taken:
    columns, names = asked.columns, batch.schema.names
    numbers = np.arange(first, first + batch.num_rows, dtype=np.int64)
    text = _strings(batch, columns.text or "text")
    ids = _strings(batch, columns.id or "id")
    wrong = compute.or_(compute.is_null(text), _filled(compute.equal(ids, NO_TEXT), bool(columns.id)))
    long = _filled(compute.greater(compute.binary_length(text), scalar(asked.limit)), False)
    wrong = compute.or_(wrong, long)
    bad: list[BadEntry] = []
    if compute.any(wrong).as_py():
        places = np.flatnonzero(flags_of(wrong))
        for number, item in zip(numbers[places].tolist(), batch.take(column_of(places)).to_pylist(), strict=True):
            entry = row_entry(number, item, asked)
            bad.append(entry if isinstance(entry, BadEntry) else BadEntry(number, "malformed", "no document"))
        kept = compute.invert(wrong)
        batch, text, ids = batch.filter(kept), text.filter(kept), ids.filter(kept)
        numbers = numbers[flags_of(kept)]
    row = column_of(numbers)
    if ids.null_count:
        named = compute.binary_join_element_wise(
            repeated(f"{place.name}:", len(row)), compute.cast(row, arrow.string()), NO_TEXT
        )
        ids = compute.coalesce(ids, named)
    title = _strings(batch, columns.title or "title")
    url = _strings(batch, _url_name(names))
    source = compute.if_else(_filled(compute.equal(url, NO_TEXT), True), scalar(place.source), url)
    own = (columns.text or "text", columns.id or "id", columns.title or "title", _url_name(names))
    metadata, times = _metadata(batch, [name for name in names if name not in own], time_field)
    values = [ids, row, text, compute.coalesce(title, repeated("", len(row))), source, times, metadata]
    return Taken(arrow.RecordBatch.from_arrays(values, schema=DOCUMENTS), bad)


def _filled(flags: Any, value: bool) -> Any:
    return compute.coalesce(flags, scalar(value))


def _url_name(names: Sequence[str]) -> str:
    return "url" if "url" in names else "source"


def _strings(batch: Any, name: str) -> Any:
    if name not in batch.schema.names:
        return arrow.nulls(batch.num_rows, arrow.string())
    return compute.cast(batch.column(name), arrow.string())


def _metadata(batch: Any, names: Sequence[str], time_field: str) -> tuple[Any, Any]:
    if not names:
        return arrow.nulls(batch.num_rows, arrow.string()), arrow.nulls(batch.num_rows, arrow.string())
    items = [
        {name: plain_value(value) for name, value in item.items() if value is not None}
        for item in batch.select(names).to_pylist()
    ]
    return metadata_columns(items, time_field)


def with_declarations(metadata: Any, found: Sequence[Mapping[str, Any]]) -> Any:
    places = [place for place, declared in enumerate(found) if declared]
    if not places:
        return metadata
    texts = metadata.to_pylist()
    for place in places:
        known = json.loads(texts[place]) if texts[place] else {}
        texts[place] = json_text(with_declared(known, found[place]))
    return column_of_strings(texts)


def metadata_columns(items: Sequence[Any], time_field: str) -> tuple[Any, Any]:
    """The columns metadata and time of documents. Raises UsageError for incomparable times."""
    times = [value_at(item, time_field) if time_field else None for item in items]
    time_keys(times)
    return (
        column_of_strings([json_text(item) if item else None for item in items]),
        column_of_strings([None if time is None else str(time) for time in times]),
    )
