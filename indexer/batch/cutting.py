"""Passages that documents of files repeat, cut from them except where they first stand."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from indexer.batch.arrow import arrow, compute, parquet
from indexer.batch.copying import Output, codec_of, target_path, write_groups, written_file
from indexer.batch.filtering import parts_to_write
from indexer.batch.sketches.parts import Part, parts_of
from indexer.errors import StoreError, UsageError
from indexer.ingest.readers.base import MARK, ColumnNames, value_at
from indexer.ingest.readers.compression import BROKEN, decompressed, packed
from indexer.ingest.readers.jsonlines import JsonLines
from indexer.ingest.readers.tables import BATCH_ROWS, Parquet, parquet_file
from indexer.ingest.sources import Rejected, Selection, Sources
from indexer.model import own_files
from indexer.model.paths import printable_path
from indexer.passages.cutting import Cutter, RepeatedSpan
from indexer.passages.repeats import RepeatFinder
from indexer.text.counts import counted
from indexer.text.words import words_of

_CUT = arrow.schema(
    [
        ("source", arrow.string()),
        ("row", arrow.int64()),
        ("id", arrow.string()),
        ("begin", arrow.int64()),
        ("end", arrow.int64()),
        ("words", arrow.int64()),
        ("stands_in", arrow.string()),
    ]
)
_LISTED_AT_ONCE = 1 << 14


@dataclass(frozen=True, slots=True)
class Cutting:
    """The passages to cut, and the fields of rows and lines.

    A passage has `words` words or more. Documents are in the order of `time_field`, then of their ids. One that was cut
    and has fewer than `least_left` words left is dropped, and what it would have kept is looked for in the next.
    """

    words: int = 50
    least_left: int = 1
    time_field: str = ""
    columns: ColumnNames = field(default_factory=ColumnNames)


@dataclass(slots=True)
class PassagesCut:
    """Counts of what was cut, or would be.

    Of `documents` with `words` words `cut_documents` lose `cut_words` in `passages` pieces, and of these documents
    `dropped` are dropped as a whole, with `dropped_words` more.
    """

    files: int = 0
    documents: int = 0
    words: int = 0
    passages: int = 0
    cut_documents: int = 0
    cut_words: int = 0
    dropped: int = 0
    dropped_words: int = 0
    seconds: float = 0.0


def cut_file(out: str) -> str:
    """The list of what was cut from an output's documents: beside the output, so that this holds only documents."""
    return os.path.normpath(out) + ".passages.parquet"


def cut_passages(paths: Sequence[str], asked: Cutting, out: str | None = None) -> PassagesCut:
    """Count what documents repeat of others, and with `out` write them to that folder without it.

    The paths are files of Parquet and JSON lines, or folders of these, as `indexer.batch.filtering.keep` writes them:
    near-duplicates go first, so that passages stand in what is kept. Every word that is cut lies in so many words in a
    row that stand in a document before it, in what is left of that one. A row without a text stays as it is. What was
    cut is listed in `cut_file(out)`: the characters of the text, and the id of the document where it stands.

    Memory: that of `indexer.passages.repeats.RepeatFinder` and Cutter, ids and times of all documents, and 100 bytes
    for each piece that is cut. Raises UsageError for other files and an output inside of what is read, StoreError where
    something can't be read or written.
    """
    begin = time.monotonic()
    sources = Sources(list(paths), Selection(columns=asked.columns))
    parts = _parts(sources, paths, out)
    plan = _Plan(parts, asked)
    done = plan.summary
    if out is not None:
        _write(plan, out)
    done.files, done.seconds = len(parts), time.monotonic() - begin
    return done


def _parts(sources: Sources, paths: Sequence[str], out: str | None) -> list[Part]:
    if out is not None:
        parts = parts_to_write(sources, paths, Output(out))
    else:
        rejected: list[Rejected] = []
        parts = parts_of(sources, rejected.append)
        if rejected:
            raise UsageError(f"{rejected[0].source}: {rejected[0].detail}")
    for part in parts:
        if not isinstance(part.reader, Parquet | JsonLines):
            raise UsageError(
                f"{printable_path(part.path)}: passages are cut from Parquet and JSON lines; write the texts of other "
                "files with neardup batch filter --texts first"
            )
    return parts


class _Plan:
    """The pieces to cut of each document, by its number in the order in which documents are read."""

    def __init__(self, parts: Sequence[Part], asked: Cutting) -> None:
        self.parts, self.asked, self.summary = parts, asked, PassagesCut()
        self.spans: dict[int, list[RepeatedSpan]] = {}
        self.dropped: set[int] = set()
        self._ids: list[Any] = []
        self._times: list[Any] = []
        with RepeatFinder(asked.words) as finder:
            for part in parts:
                self._read(part, finder)
            repeats = finder.find()
        counts = np.diff(repeats.offsets)
        self.summary.documents, self.summary.words = counts.size, int(counts.sum())
        cutter = Cutter(repeats)
        for document in self._order().tolist():
            if spans := cutter.spans(document):
                self._cut(document, spans, int(counts[document]))
            if document not in self.dropped:
                cutter.keep(document, spans)

    @cached_property
    def ids(self) -> Any:
        """The ids of all documents."""
        return arrow.chunked_array(self._ids, arrow.large_string())

    def _read(self, part: Part, finder: RepeatFinder) -> None:
        ids, times = list[str](), list[str | None]()
        for row in _rows(part, self.asked):
            text = row.text
            finder.add(np.empty(0, dtype=np.uint64) if text is None else words_of(text, identifiers=False).hashes)
            ids.append(row.id)
            times.append(row.time)
        self._ids.append(arrow.array(ids, arrow.large_string()))
        self._times.append(arrow.array(times, arrow.large_string()))

    def _order(self) -> Any:
        table = arrow.table({"time": arrow.chunked_array(self._times, arrow.large_string()), "id": self.ids})
        # Of two with one id the first that was read.
        return compute.sort_indices(table, sort_keys=[("time", "ascending"), ("id", "ascending")]).to_numpy()

    def _cut(self, document: int, spans: list[RepeatedSpan], words: int) -> None:
        gone = sum(span.end - span.begin for span in spans)
        done = self.summary
        done.passages += len(spans)
        done.cut_documents += 1
        done.cut_words += gone
        self.spans[document] = spans
        if words - gone < self.asked.least_left:
            self.dropped.add(document)
            done.dropped += 1
            done.dropped_words += words - gone


@dataclass(frozen=True, slots=True)
class _FileRow:
    """A row of a file: its id, text and time, and the row itself as it is written again."""

    id: str
    text: str | None
    time: str | None
    number: int
    raw: Any


def _rows(part: Part, asked: Cutting) -> Iterator[_FileRow]:
    return _of_lines(part, asked) if isinstance(part.reader, JsonLines) else _of_table(part, asked)


def _of_table(part: Part, asked: Cutting) -> Iterator[_FileRow]:
    """The rows of a file of Parquet, the last one of each batch with the batch as `raw`."""
    named = printable_path(part.path)
    try:
        with part.opened() as stream, parquet_file(stream, named) as file:
            text = _text_column(file.schema_arrow.names, asked, named)
            names = file.schema_arrow.names
            identity, moment = asked.columns.id or "id", asked.time_field
            number = 0
            for batch in file.iter_batches(BATCH_ROWS):
                columns = [
                    batch[name].to_pylist() if name in names else [None] * batch.num_rows
                    for name in (text, identity, moment)
                ]
                for place, (one, key, at) in enumerate(zip(*columns, strict=True), 1):
                    number += 1
                    raw = batch if place == batch.num_rows else None
                    yield _FileRow(
                        _id(key, named, number), one if isinstance(one, str) else None, _text(at), number, raw
                    )
    except (arrow.ArrowException, *BROKEN) as error:
        raise StoreError(f"{named}: can't be read: {error}") from error


def _text_column(names: Sequence[str], asked: Cutting, named: str) -> str:
    name = asked.columns.text or "text"
    if name not in names:
        raise UsageError(f"{named}: has no column {name}; name the one with the text with --text-field")
    return name


def _of_lines(part: Part, asked: Cutting) -> Iterator[_FileRow]:
    """The lines of a file of JSON lines, each with itself as `raw`; what is no document has no text."""
    named, limit, number = printable_path(part.path), Selection().line_limit, 0
    try:
        with part.opened() as stream:
            lines = decompressed(stream, part.path)
            while line := lines.readline(limit + 1):
                number += 1
                if len(line) > limit:
                    raise StoreError(f"{named}: line {number:,}: longer than {counted(limit, 'byte')}; take it out")
                try:
                    item = json.loads(line.removeprefix(MARK)) if line.strip() else None
                except (ValueError, RecursionError):
                    item = None
                known = item if isinstance(item, dict) else {}
                text = value_at(known, asked.columns.text or "text")
                yield _FileRow(
                    _id(value_at(known, asked.columns.id or "id"), named, number),
                    text if isinstance(text, str) else None,
                    _text(value_at(known, asked.time_field)) if asked.time_field else None, number, line,
                )  # fmt: skip
    except BROKEN as error:
        raise StoreError(f"{named}: can't be read: {error}") from error


def _id(value: Any, named: str, number: int) -> str:
    return f"{named}:{number}" if value is None or value == "" else str(_text(value))


def _text(value: Any) -> str | None:
    return None if value is None else str(value).encode("utf-8", "backslashreplace").decode()


def _write(plan: _Plan, out: str) -> None:
    try:
        with (
            own_files.written_whole(cut_file(out)) as file,
            parquet.ParquetWriter(file, _CUT, compression="zstd") as listed,
        ):
            document = 0
            for part in plan.parts:
                written = _Written(plan, part, document, listed, out)
                way = _write_lines if isinstance(part.reader, JsonLines) else _write_table
                way(written, out)
                document = written.document
            if document != plan.summary.documents:
                raise StoreError(f"{out}: the files have changed while they were read; run the command again")
    except (OSError, arrow.ArrowException) as error:
        named = getattr(error, "filename", None) or out
        raise StoreError(f"{named}: {getattr(error, 'strerror', None) or error}") from error


class _Written:
    """The rows of a part as they are to be written; what is cut of them is listed on the way."""

    def __init__(self, plan: _Plan, part: Part, document: int, listed: Any, out: str) -> None:
        self.plan, self.part, self.document, self._out = plan, part, document, out
        self._listed = listed

    def rows(self) -> Iterator[tuple[_FileRow, str | None, bool]]:
        """(row, its text or None for one that stays as it is, whether it is kept), in the order of the file."""
        cuts: list[tuple[Any, ...]] = []
        [file] = self.part.files
        place = printable_path(str(target_path(file, self._out)))
        for row in _rows(self.part, self.plan.asked):
            spans, text = self.plan.spans.get(self.document), None
            if spans and row.text is not None:
                text, pieces = without(row.text, spans)
                for span, (begin, end) in zip(spans, pieces, strict=True):
                    stands_in = self.plan.ids[span.stands_in].as_py()
                    cuts.append((place, row.number, row.id, begin, end, span.end - span.begin, stands_in))
            yield row, text, self.document not in self.plan.dropped
            self.document += 1
            if len(cuts) >= _LISTED_AT_ONCE:
                self._list(cuts)
                cuts = []
        self._list(cuts)

    def _list(self, cuts: Sequence[tuple[Any, ...]]) -> None:
        if cuts:
            columns = [
                arrow.array(values, each.type) for values, each in zip(zip(*cuts, strict=True), _CUT, strict=True)
            ]
            self._listed.write_table(arrow.Table.from_arrays(columns, schema=_CUT))


def without(text: str, spans: Sequence[RepeatedSpan]) -> tuple[str, list[tuple[int, int]]]:
    """A text without some of its words, and the characters (begin, end) that are cut, with the signs that adjoin them.

    White space at either end of a cut becomes a line break if there was one, else a space.
    """
    words = words_of(text, identifiers=False)
    left, cuts, done = list[str](), list[tuple[int, int]](), 0
    for span in spans:
        begin, end = int(words.starts[span.begin]), int(words.ends[span.end - 1])
        least = int(words.ends[span.begin - 1]) if span.begin else 0
        most = int(words.starts[span.end]) if span.end < len(words) else len(text)
        while begin > least and not text[begin - 1].isspace():
            begin -= 1
        while end < most and not text[end].isspace():
            end += 1
        cuts.append((begin, end))
        left.append(text[done:begin])
        done = end
    left.append(text[done:])
    made = left[0]
    for after in left[1:]:
        before, rest = made.rstrip(), after.lstrip()
        gap = made[len(before) :] + after[: len(after) - len(rest)]
        made = before + ("\n" if "\n" in gap else " ") * bool(before and rest) + rest
    return made, cuts


def _write_table(written: _Written, out: str) -> None:
    part = written.part
    [file] = part.files
    name = written.plan.asked.columns.text or "text"

    def batches() -> Iterator[Any]:
        texts: dict[int, str] = {}
        kept: list[bool] = []
        for row, text, stays in written.rows():
            if text is not None:
                texts[len(kept)] = text
            kept.append(stays)
            if row.raw is not None:
                yield _changed(row.raw, name, texts).filter(arrow.array(kept, arrow.bool_()))
                texts, kept = {}, []

    with part.opened() as stream, parquet_file(stream, part.path) as known:
        schema, codec = known.schema_arrow, codec_of(known)
    with written_file(target_path(file, out)) as target:
        write_groups(target, schema, batches(), codec)


def _changed(batch: Any, name: str, texts: dict[int, str]) -> Any:
    if not texts:
        return batch
    place = batch.schema.names.index(name)
    values = [texts.get(row, value) for row, value in enumerate(batch.column(place).to_pylist())]
    columns = [*batch.columns]
    columns[place] = arrow.array(values, batch.schema.field(place).type)
    return arrow.RecordBatch.from_arrays(columns, schema=batch.schema)


def _write_lines(written: _Written, out: str) -> None:
    part = written.part
    [file] = part.files
    name = written.plan.asked.columns.text or "text"
    with written_file(target_path(file, out)) as target, packed(target, part.path) as lines:
        for row, text, stays in written.rows():
            if stays:
                lines.write(row.raw if text is None else _with_text(row.raw, name, text))


def _with_text(line: bytes, name: str, text: str) -> bytes:
    item = json.loads(line.removeprefix(MARK))
    inside, last = item, name
    if name not in item:
        *path, last = name.split(".")
        for part in path:
            inside = inside[part]
    inside[last] = text
    return json.dumps(item).encode() + b"\n"
