"""From rows of a table to documents, and from documents to sketches: batches of Arrow, without state."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import (
    arrow,
    column_of,
    column_of_bytes,
    column_of_strings,
    compute,
    flags_of,
    joined_of,
    numbers_of,
    plain,
    schema_of,
)
from indexer.batch.form import Form, Making, column_name, sketch_schema
from indexer.core.markup import is_clean
from indexer.core.text import DIGEST_BYTES, text_digest
from indexer.errors import ExtractionError
from indexer.extract.base import Extracted, Failed, Item
from indexer.extract.declared import declared_in_text
from indexer.extract.document import MAX_TITLE
from indexer.extract.fields import remark_on
from indexer.extract.text import first_line
from indexer.ingest.digests import digest_rules, source_digest
from indexer.ingest.outcomes import InlineSketching, record_of
from indexer.ingest.readers.base import BadEntry, ColumnNames, ReaderOptions, json_text, value_at
from indexer.ingest.readers.tables import plain_value, row_entry
from indexer.ingest.short_texts import ENGINE, LONGEST, ShortTexts, is_blank
from indexer.ingest.sketching import sketch_columns
from indexer.ingest.sources import Input
from indexer.model import DECLARED, REASON_KEY, SIMHASH_DOC, Record, Ref, with_declared
from indexer.model.joined import Joined
from indexer.model.times import time_keys
from indexer.relations.beside import NOTHING_BESIDE
from indexer.schemes.simhash import values_of
from indexer.text.digests import with_title

DOCUMENTS: Any = schema_of(
    "id string, row int64, text string, title string, source string, time string, metadata string"
)
"""The columns that `indexer.batch.sketches.kernels.sketched` takes."""


@dataclass(frozen=True, slots=True)
class Place:
    """The file of rows, by `name` and `source`; rows without an id or URL are named after it."""

    name: str
    source: str


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


def documents_of(
    batch: Any, first: int, place: Place, asked: ReaderOptions, time_field: str = ""
) -> tuple[Any, list[BadEntry]]:
    """The documents of some rows, and the numbers of bad rows, each with its problem."""
    columns, names = asked.columns, batch.schema.names
    numbers = np.arange(first, first + batch.num_rows, dtype=np.int64)
    text = _strings(batch, columns.text or "text")
    ids = _strings(batch, columns.id or "id")
    wrong = compute.or_(compute.is_null(text), _filled(compute.equal(ids, ""), bool(columns.id)))
    long = _filled(compute.greater(compute.binary_length(text), asked.limit), False)
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
        named = compute.binary_join_element_wise(f"{place.name}:", compute.cast(row, arrow.string()), "")
        ids = compute.coalesce(ids, named)
    title = _strings(batch, columns.title or "title")
    url = _strings(batch, _url_name(names))
    source = compute.if_else(_filled(compute.equal(url, ""), True), place.source, url)
    own = (columns.text or "text", columns.id or "id", columns.title or "title", _url_name(names))
    metadata, times = _metadata(batch, [name for name in names if name not in own], time_field)
    values = [ids, row, text, compute.coalesce(title, ""), source, times, metadata]
    return arrow.RecordBatch.from_arrays(values, schema=DOCUMENTS), bad


def _filled(flags: Any, value: bool) -> Any:
    return compute.coalesce(flags, value)


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


# Bytes that hold all that first_line() looks at.
_TITLE_FROM = 4 * 2000
# And as many as most first lines have.
_NEAR = 600
_NOTHING_BESIDE = bytes.fromhex(NOTHING_BESIDE)


class SketchedRow(NamedTuple):
    row: int
    record: Record
    failed: str | None = None
    # Of files that go together the one that it was read from.
    container: str | None = None


def serves(form: Form) -> bool:
    return ShortTexts.serves(form.made) and form.kind in ("", "text")


def sketched(documents: Any, making: Making, field: str = "") -> Any:
    """The sketches of documents with their texts in a field, if its name is known."""
    longest = min(LONGEST, making.limits.input_bytes // 4)
    alone = numbers_of(compute.binary_length(documents["text"])) > longest
    declared: list[Mapping[str, Any] | None] = []
    if serves(making.form):
        declared = [_declared(text) for text in documents["text"].to_pylist()]
        alone = alone | np.array([each is None for each in declared], dtype=np.bool_)
        if not is_clean(joined_of(documents["text"]).data):
            alone = alone | _unclean(joined_of(documents["text"]))
    else:
        alone = np.ones(len(alone), dtype=np.bool_)
    rest = _of_texts(documents.filter(column_of(~alone)), compress(declared, ~alone), making, field)
    # A document without words has a sketch of its digests.
    empty = numbers_of(rest["tokens"]) == 0
    alone[np.flatnonzero(~alone)[empty]] = True
    if not alone.any():
        return rest
    others = documents.filter(column_of(alone))
    rows = _alone(others, making, field)
    made = batch_of(rows, making.form)
    # What a document brings is kept as it came, as of the others.
    own = {
        "time": others["time"],
        "metadata": with_declarations(others["metadata"], [row.record.metadata.get(DECLARED, {}) for row in rows]),
    }
    columns = [own[name] if name in own else made[name] for name in made.schema.names]
    each = arrow.RecordBatch.from_arrays(columns, schema=made.schema)
    if alone.all():
        return each
    rest = rest.filter(column_of(~empty))
    order = np.empty(alone.size, dtype=np.int64)
    order[np.concatenate((np.flatnonzero(~alone), np.flatnonzero(alone)))] = np.arange(alone.size)
    both = arrow.Table.from_batches([rest, each]).take(column_of(order)).combine_chunks()
    return both.to_batches()[0]


def _declared(text: str) -> Mapping[str, Any] | None:
    try:
        return declared_in_text(text)
    except ExtractionError:
        return None


def _unclean(texts: Joined) -> npt.NDArray[np.bool_]:
    bounds = zip(texts.starts.tolist(), texts.ends.tolist(), strict=True)
    return np.array([not is_clean(bytes(texts.data[start:end])) for start, end in bounds])


def _of_texts(documents: Any, declared: Iterable[Mapping[str, Any] | None], making: Making, field: str) -> Any:
    form, texts, count = making.form, joined_of(documents["text"]), documents.num_rows
    simhashes, *others = sketch_columns(form.made, texts)
    sketches = [
        column
        for made in others
        for column in (
            column_of_bytes(made.payloads),
            arrow.ListArray.from_arrays(made.keys.offsets.astype(np.int32), made.keys.values),
            column_of(made.features),
        )
    ]
    counts = simhashes.features
    values = np.zeros(count, dtype=np.int64)
    values[counts > 0] = values_of(simhashes.payloads.take(counts > 0)).view(np.int64)
    blank = _blank(texts, counts)
    titles = compute.if_else(column_of(blank), "", _titles(documents, texts))
    sizes = column_of(np.diff(texts.ends, prepend=np.uintp(0)).astype(np.int64))
    digests = [text_digest(text) for text in texts.listed()]
    engines = [ENGINE + remark_on(field, "text", text) for text in texts.listed()]
    given = zip(digests, documents["title"].to_pylist(), strict=True)
    read = [bytes.fromhex(with_title(digest.hex(), title or "")) for digest, title in given]
    columns = [
        documents["id"],
        documents["row"],
        documents["source"],
        arrow.nulls(count, arrow.string()),
        titles,
        arrow.repeat("text", count),
        compute.if_else(column_of(blank), "", column_of_strings(engines)),
        sizes,
        column_of(counts),
        column_of((counts > 0) & (counts < form.min_tokens)),
        documents["time"],
        with_declarations(documents["metadata"], [each or {} for each in declared]),
        arrow.nulls(count, arrow.string()),
        arrow.array(_source_digests(documents, texts, form), arrow.binary(DIGEST_BYTES)),
        arrow.array(digests, arrow.binary(DIGEST_BYTES)),
        arrow.array(read, arrow.binary(DIGEST_BYTES)),
        arrow.array([_NOTHING_BESIDE] * count, arrow.binary()),
        column_of(values, counts == 0),
        *sketches,
    ]
    return arrow.RecordBatch.from_arrays(columns, schema=sketch_schema(form))


def _blank(texts: Joined, tokens: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    blank = np.zeros(tokens.size, dtype=np.bool_)
    starts, ends = texts.starts, texts.ends
    for place in np.flatnonzero(tokens == 0).tolist():
        blank[place] = is_blank(bytes(texts.data[int(starts[place]) : int(ends[place])]))
    return blank


def _titles(documents: Any, texts: Joined) -> Any:
    lines, start = [], 0
    for end in texts.ends.tolist():
        lines.append(_title(texts.data, start, end))
        start = end
    own = column_of_strings(lines)
    return compute.if_else(compute.equal(documents["title"], ""), own, documents["title"])


def _title(data: Any, start: int, end: int) -> str:
    head = str(data[start : min(end, start + _NEAR)], "utf-8", "ignore")
    line = first_line(head)
    # Most lines end there, or fill a title; of others and of what stands before them all has to be looked at.
    if (line and not head.rstrip().endswith(line)) or len(line) >= MAX_TITLE or end - start <= _NEAR:
        return line[:MAX_TITLE]
    return first_line(str(data[start : min(end, start + _TITLE_FROM)], "utf-8", "ignore"))[:MAX_TITLE]


def _source_digests(documents: Any, texts: Joined, form: Form) -> list[bytes]:
    info, kind = form.info, replace(form.options, format="text")
    rules = hashlib.sha256(digest_rules(info, kind).encode("utf-8", "replace"))
    titled = documents["title"].to_pylist() if compute.any(compute.not_equal(documents["title"], "")).as_py() else None
    data, digests, start = memoryview(texts.data), [], 0
    for place, end in enumerate(texts.ends.tolist()):
        if titled and titled[place]:
            given = digest_rules(info, kind, title=titled[place]).encode("utf-8", "replace")
            digest = hashlib.sha256(given)
        else:
            digest = rules.copy()
        digest.update(data[start:end])
        digests.append(digest.digest()[:DIGEST_BYTES])
        start = end
    return digests


def _alone(documents: Any, making: Making, field: str) -> list[SketchedRow]:
    items = [
        Item(
            Input(each["id"], each["source"], "", each["text"].encode(), "text", each["title"],
                  json.loads(each["metadata"] or "{}"), number=each["row"], field=field),
            each["text"].encode(), "", "text",
        )
        for each in documents.to_pylist()
    ]  # fmt: skip
    with InlineSketching(making.form.options, making.limits, making.form.made) as reading:
        return [
            sketched_one(outcome, making.form, items[place].data)
            for place, outcome in enumerate(reading.outcomes(items))
        ]


def sketched_one(outcome: Extracted[Input, Any] | Failed[Input], form: Form, data: bytes = b"") -> SketchedRow:
    item = outcome.key
    if isinstance(outcome, Failed):
        failed = f"{outcome.reason}: {outcome.detail}" if outcome.detail else outcome.reason
        return SketchedRow(item.number, Record(Ref(item.id), source=item.source, metadata=item.metadata), failed)
    options = replace(form.options, format=item.format) if item.format else form.options
    digest = source_digest(data, form.info, options, name=item.path or item.name, title=item.title)
    record = record_of(
        outcome, Ref(item.id), digest, min_tokens=form.min_tokens, source=item.source, title=item.title,
        metadata=with_declared(item.metadata, outcome.document.declared),
        remark=remark_on(item.field, item.format, data),
    )  # fmt: skip
    return SketchedRow(item.number, record)


def batch_of(rows: Sequence[SketchedRow], form: Form) -> Any:
    records = [row.record for row in rows]
    metadata, times = metadata_columns([record.metadata for record in records], form.time_field)
    columns: dict[str, Any] = {
        "id": [plain(record.ref.id) for record in records],
        "row": [row.row for row in rows],
        "source": [plain(record.source) for record in records],
        "container": [row.container and plain(row.container) for row in rows],
        "title": [plain(record.title) for record in records],
        "bytes": [record.size for record in records],
        "time": times,
        "metadata": metadata,
        "failed": [None if row.failed is None else plain(row.failed) for row in rows],
        column_name(SIMHASH_DOC): [each and each.bits for each in (record.fingerprint for record in records)],
    }
    for name in ("format", "extractor", "tokens", "short"):
        columns[name] = [getattr(record, name) for record in records]
    for name in ("source_digest", "text_digest", "read_digest", "beside_digest"):
        columns[name] = [bytes.fromhex(getattr(record, name)) or None for record in records]
    for scheme in form.made:
        name, sketches = column_name(scheme.family), [record.sketches.get(scheme.family) for record in records]
        columns[name] = [sketch.payload if sketch else b"" for sketch in sketches]
        columns[f"{name}_keys"] = [list(sketch.keys) if sketch else [] for sketch in sketches]
        columns[f"{name}_features"] = [sketch.features if sketch else 0 for sketch in sketches]
    schema = sketch_schema(form)
    given = ((columns[field.name], field.type) for field in schema)
    arrays = [values if isinstance(values, arrow.Array) else arrow.array(values, kind) for values, kind in given]
    return arrow.RecordBatch.from_arrays(arrays, schema=schema)
