"""Passages repeated by documents of files, cut except at their first place."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from indexer.batch.arrow import arrow, compute, parquet, plain, schema_of
from indexer.batch.copying import Output, codec_of, target_path, write_groups, written_file
from indexer.batch.filtering import parts_to_write, store_errors
from indexer.batch.sketches.parts import Part, parts_of
from indexer.core.passages.cutting import Cutter, RepeatedSpan, merged
from indexer.core.passages.repeats import RepeatFinder
from indexer.core.passages.spilled import Hashes
from indexer.errors import StoreError, UsageError
from indexer.ingest.readers.base import MARK, ColumnNames, value_at
from indexer.ingest.readers.compression import BROKEN, decompressed, packed
from indexer.ingest.readers.jsonlines import JsonLines
from indexer.ingest.readers.tables import BATCH_ROWS, Parquet, parquet_file
from indexer.ingest.sources import Rejected, Selection, Sources
from indexer.model import own_files
from indexer.model.chunking import chunks
from indexer.model.counts import PassagesCut
from indexer.model.paths import printable_path
from indexer.model.times import time_keys
from indexer.text.counts import counted
from indexer.text.words import words_of

CUT = schema_of("source string, row int64, id string, begin int64, end int64, words int64, stands_in string")
_AT_ONCE = 1 << 14
_CutPage = tuple[Any, dict[int, str], list[bool]]


@dataclass(frozen=True, slots=True)
class Cutting:
    """The passages to cut, and the fields of rows and lines.

    A passage has `words` words or more. Documents are in the order of `time_field`, then of their ids. A cut document
    with fewer than `least_left` words left is dropped; then it keeps no passage for later ones.
    """

    words: int = 50
    least_left: int = 1
    time_field: str = ""
    columns: ColumnNames = field(default_factory=ColumnNames)


def cut_file(out: str) -> str:
    return os.path.normpath(out) + ".passages.parquet"


class WordsRead(NamedTuple):
    part: int
    id: str
    time: str | None
    words: Hashes


class PartCuts(NamedTuple):
    """The cuts of a part of `documents` rows, by their numbers from 0 on.

    `spans` are the words `begin` to `end - 1`, each with the id of the document where they stay; rows in `dropped` are
    left out.
    """

    documents: int
    spans: Mapping[int, Sequence[tuple[int, int, str]]]
    dropped: Set[int]


def cut_passages(
    paths: Sequence[str],
    asked: Cutting,
    out: str | None = None,
    *,
    read: Callable[[Sequence[Part], Cutting], Iterator[WordsRead]] | None = None,
    write: Callable[[Sequence[tuple[Part, PartCuts]], Cutting, str], Iterator[Any]] | None = None,
) -> PassagesCut:
    """Count repeated passages of documents, and with `out` write the documents to that folder without them.

    The paths are files of Parquet and JSON lines, or folders of these: remove near-duplicates first, so that passages
    stay in kept documents. Every word cut lies in a run of so many words that an earlier document still has.
    `cut_file(out)` lists the cuts: the characters of the text, and the id of the document where they stay. `read` and
    `write` do the work of `read_words` and `write_cut`.

    Memory: that of `indexer.core.passages.repeats.RepeatFinder` and Cutter, ids and times of all documents, and 100
    bytes for each piece cut. Raises UsageError for other files and an output inside of the input, StoreError if
    something can't be read or written.
    """
    begin = time.monotonic()
    sources = Sources(list(paths), Selection(columns=asked.columns))
    parts = _parts(sources, paths, out)
    plan = _CutPlan((read or read_words)(parts, asked), len(parts), asked)
    done = plan.summary
    if out is not None:
        chosen = list(zip(parts, plan.cuts(), strict=True))
        _write((write or write_cut)(chosen, asked, out), out)
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


class _CutPlan:
    def __init__(self, rows: Iterable[WordsRead], parts: int, asked: Cutting) -> None:
        self.asked, self.summary = asked, PassagesCut()
        self.spans: dict[int, list[RepeatedSpan]] = {}
        self.dropped: set[int] = set()
        self._sizes = [0] * parts
        self._ids: list[Any] = []
        self._times: list[Any] = []
        with RepeatFinder(asked.words) as finder:
            for some in chunks(self._passed(rows, finder), _AT_ONCE):
                self._ids.append(arrow.array([name for name, _ in some], arrow.large_string()))
                self._times.append(arrow.array([moment for _, moment in some], arrow.large_string()))
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
        return arrow.chunked_array(self._ids, arrow.large_string())

    def cuts(self) -> Iterator[PartCuts]:
        done = 0
        for size in self._sizes:
            inside = range(size)
            spans = {
                row: [(one.begin, one.end, self.ids[one.stands_in].as_py()) for one in self.spans[done + row]]
                for row in inside
                if done + row in self.spans
            }
            yield PartCuts(size, spans, {row for row in inside if done + row in self.dropped})
            done += size

    def _passed(self, rows: Iterable[WordsRead], finder: RepeatFinder) -> Iterator[tuple[str, str | None]]:
        for row in rows:
            finder.add(row.words)
            self._sizes[row.part] += 1
            yield row.id, row.time

    def _order(self) -> Any:
        times = (moment for some in self._times for moment in some.to_pylist())
        keys = arrow.array([key or None for key in time_keys(times)], arrow.large_string())
        if self.asked.time_field and len(keys) and keys.null_count == len(keys):
            raise UsageError(f"--time-field {self.asked.time_field}: no document has this field")
        table = arrow.table({"time": keys, "id": self.ids})
        # Of two with one id the first that was read.
        return compute.sort_indices(table, sort_keys=[("time", "ascending"), ("id", "ascending")]).to_numpy()

    def _cut(self, document: int, spans: list[RepeatedSpan], words: int) -> None:
        gone = sum(end - begin for begin, end in merged(spans))
        done = self.summary
        done.passages += len(spans)
        done.cut_documents += 1
        done.cut_words += gone
        self.spans[document] = spans
        if words - gone < self.asked.least_left:
            self.dropped.add(document)
            done.dropped += 1
            done.dropped_words += words - gone


def read_words(parts: Sequence[Part], asked: Cutting) -> Iterator[WordsRead]:
    for number, part in enumerate(parts):
        for row in (row for _, rows in _pages(part, asked) for row in rows):
            none = np.empty(0, dtype=np.uint64)
            words = none if row.text is None else words_of(row.text, identifiers=False).hashes
            yield WordsRead(number, row.id, row.time, words)


class _FileRow(NamedTuple):
    id: str
    text: str | None
    time: str | None


def _pages(part: Part, asked: Cutting) -> Iterator[tuple[Any, list[_FileRow]]]:
    """The batches of a table, each with its rows, or the lines of a file, each with one."""
    named, number = printable_path(part.path), 0
    pages = _lines if isinstance(part.reader, JsonLines) else _batches
    try:
        with part.opened() as stream:
            for page, values in pages(stream, part.path, asked):
                yield page, [_row(named, place, *each) for place, each in enumerate(values, number + 1)]
                number += len(values)
    except (arrow.ArrowException, *BROKEN) as error:
        raise StoreError(f"{named}: can't be read: {error}") from error


def _row(named: str, number: int, text: Any, identity: Any, moment: Any) -> _FileRow:
    name = f"{named}:{number}" if identity is None or identity == "" else str(_text(identity))
    return _FileRow(name, text if isinstance(text, str) else None, _text(moment))


def _batches(stream: Any, path: str, asked: Cutting) -> Iterator[tuple[Any, list[tuple[Any, ...]]]]:
    named = printable_path(path)
    with parquet_file(stream, named) as file:
        names = file.schema_arrow.names
        wanted = _text_column(names, asked, named), asked.columns.id or "id", asked.time_field
        for batch in file.iter_batches(BATCH_ROWS, use_threads=False):
            columns = [batch[name].to_pylist() if name in names else [None] * batch.num_rows for name in wanted]
            yield batch, list(zip(*columns, strict=True))


def _text_column(names: list[str], asked: Cutting, named: str) -> str:
    name = asked.columns.text or "text"
    if name not in names:
        raise UsageError(f"{named}: has no column {name}; name the one with the text with --text-field")
    for used in (name, asked.columns.id or "id", asked.time_field):
        if names.count(used) > 1:
            raise UsageError(f"{named}: several columns are called {used}; rename all but one")
    return name


def _lines(stream: Any, path: str, asked: Cutting) -> Iterator[tuple[bytes, list[tuple[Any, ...]]]]:
    limit, number, lines = Selection().line_limit, 0, decompressed(stream, path)
    while line := lines.readline(limit + 1):
        number += 1
        if len(line) > limit:
            place = f"{printable_path(path)}: line {number:,}"
            raise StoreError(f"{place}: longer than {counted(limit, 'byte')}; take it out")
        try:
            item = json.loads(line.removeprefix(MARK)) if line.strip() else None
        except (ValueError, RecursionError):
            item = None
        wanted = asked.columns.text or "text", asked.columns.id or "id", asked.time_field
        yield line, [tuple(value_at(item, name) if name and isinstance(item, dict) else None for name in wanted)]


def _text(value: Any) -> str | None:
    return None if value is None else plain(str(value))


def _write(cut: Iterator[Any], out: str) -> None:
    with store_errors(out):
        os.makedirs(out, exist_ok=True)
        with (
            own_files.written_whole(cut_file(out)) as file,
            parquet.ParquetWriter(file, CUT, compression="zstd") as listed,
        ):
            for batch in cut:
                listed.write_batch(batch)


def write_cut(chosen: Iterable[tuple[Part, PartCuts]], asked: Cutting, out: str) -> Iterator[Any]:
    for part, cuts in chosen:
        target, noted = target_path(part.files[0], out), list[tuple[Any, ...]]()
        way = _write_lines if isinstance(part.reader, JsonLines) else _write_table
        way(part, target, _cut(part, target, cuts, asked, noted), asked.columns.text or "text")
        yield arrow.RecordBatch.from_pylist([dict(zip(CUT.names, each, strict=True)) for each in noted], schema=CUT)


def _cut(part: Part, target: Path, cuts: PartCuts, asked: Cutting, noted: list[tuple[Any, ...]]) -> Iterator[_CutPage]:
    """Each batch or line, with the changed texts of its rows by their places, and whether they stay."""
    place, number = printable_path(str(target)), 0
    for page, rows in _pages(part, asked):
        changed: dict[int, str] = {}
        for at, row in enumerate(rows):
            spans = cuts.spans.get(number + at)
            if spans and row.text is not None:
                changed[at], pieces = without(row.text, spans)
                for (first, last, stands_in), (begin, end) in zip(spans, pieces, strict=True):
                    noted.append((place, number + at + 1, row.id, begin, end, last - first, stands_in))
        yield page, changed, [number + at not in cuts.dropped for at in range(len(rows))]
        number += len(rows)
    if number != cuts.documents:
        raise StoreError(f"{part.path}: has changed while it was read; run the command again")


def without(text: str, spans: Sequence[Sequence[Any]]) -> tuple[str, list[tuple[int, int]]]:
    """A text without some of its words, and the characters (begin, end) of each span, with adjoining signs."""
    words = words_of(text, identifiers=False)

    def characters(first: int, last: int) -> tuple[int, int]:
        begin, end = int(words.starts[first]), int(words.ends[last - 1])
        least = int(words.ends[first - 1]) if first else 0
        most = int(words.starts[last]) if last < len(words) else len(text)
        while begin > least and not text[begin - 1].isspace():
            begin -= 1
        while end < most and not text[end].isspace():
            end += 1
        return begin, end

    left, done = list[str](), 0
    for begin, end in (characters(*each) for each in merged(spans)):
        left.append(text[done:begin])
        done = end
    left.append(text[done:])
    made = left[0]
    for after in left[1:]:
        before, rest = made.rstrip(), after.lstrip()
        gap = made[len(before) :] + after[: len(after) - len(rest)]
        made = before + ("\n" if "\n" in gap else " ") * bool(before and rest) + rest
    return made, [characters(first, last) for first, last, *_ in spans]


def _write_table(part: Part, target: Path, pages: Iterator[_CutPage], name: str) -> None:
    with part.opened() as stream, parquet_file(stream, part.path) as known:
        schema, codec = known.schema_arrow, codec_of(known)
    batches = (_changed(batch, name, texts).filter(arrow.array(kept, arrow.bool_())) for batch, texts, kept in pages)
    with written_file(target) as file:
        write_groups(file, schema, batches, codec)


def _changed(batch: Any, name: str, texts: dict[int, str]) -> Any:
    if not texts:
        return batch
    place = batch.schema.names.index(name)
    values = [texts.get(row, value) for row, value in enumerate(batch.column(place).to_pylist())]
    columns = [*batch.columns]
    columns[place] = arrow.array(values, batch.schema.field(place).type)
    return arrow.RecordBatch.from_arrays(columns, schema=batch.schema)


def _write_lines(part: Part, target: Path, pages: Iterator[_CutPage], name: str) -> None:
    with written_file(target) as file, packed(file, part.path) as lines:
        for line, texts, [stays] in pages:
            if stays:
                lines.write(_with_text(line, name, texts[0]) if texts else line)


def _with_text(line: bytes, name: str, text: str) -> bytes:
    item = json.loads(line.removeprefix(MARK))
    inside, last = item, name
    if name not in item:
        *path, last = name.split(".")
        for part in path:
            inside = inside[part]
    inside[last] = text
    return json.dumps(item).encode() + b"\n"
