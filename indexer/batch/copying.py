"""Write documents of a batch to a folder: kept ones, or all with the decision."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from indexer.batch.arrow import arrow, column_of, flags_of, numbers_of, parquet, plain, schema_of
from indexer.batch.form import form_of
from indexer.batch.sketches.parts import Part, selection_of
from indexer.batch.sketches.sketching import ordered_outcomes
from indexer.errors import StoreError, UsageError
from indexer.extract.base import Extracted, Limits
from indexer.extract.pool import WorkerPool
from indexer.ingest.indexing import default_jobs
from indexer.ingest.outcomes import texts
from indexer.ingest.readers.base import ReaderOptions
from indexer.ingest.readers.compression import BROKEN, decompressed, packed
from indexer.ingest.readers.jsonlines import JsonLines
from indexer.ingest.readers.tables import BATCH_ROWS, Parquet, parquet_file
from indexer.ingest.sources import Sources
from indexer.model import MOST_ORIGINS, own_files
from indexer.model.chunking import chunks, chunks_by_size
from indexer.model.paths import printable_path
from indexer.text.counts import counted

TAGS = {"neardup_keep": arrow.bool_(), "neardup_duplicate_of": arrow.string(), "neardup_cluster": arrow.string()}
"""The columns or members that say of a document what was decided."""
DECIDED = ["row", "id", "keep", "duplicate_of", "duplicate_similarity", "cluster"]
_TEXTS = schema_of("id string, source string, row int64, title string, text string, metadata string, failed string")
# What a group of rows has about, in bytes, and how much is read of a line at once.
_PIECE, _GROUP = 1 << 20, 64 << 20
# Texts that wait for one before them.
_AHEAD = 256


@dataclass(frozen=True, slots=True)
class Output:
    """The options of writing documents to the folder `out`.

    With `tag` nothing is left out, and each document has the columns or members TAGS. With `texts` single files are
    written as their texts in Parquet too; other formats than Parquet and JSON lines always are. Clusters of fewer than
    `min_origins` origins (1 to MOST_ORIGINS) are left out, and without `singletons` documents in no cluster. `jobs`
    processes extract texts, by default one per processor. With `as_texts` single files to be copied are refused:
    passages are cut from texts.
    """

    out: str
    tag: bool = False
    texts: bool = False
    min_origins: int = 1
    singletons: bool = True
    jobs: int | None = None
    as_texts: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.min_origins <= MOST_ORIGINS:
            raise UsageError(f"min_origins {self.min_origins}: origins are counted from 1 to {MOST_ORIGINS}")

    def way_of(self, part: Part) -> Callable[[Part, Any, dict[str, Any], Output], None]:
        if isinstance(part.reader, Parquet):
            return _copy_rows
        if isinstance(part.reader, JsonLines):
            return _copy_lines
        return _write_texts if part.reader or self.texts or self.tag else _copy_files

    def targets(self, part: Part) -> list[tuple[Path, str]]:
        files = part.files
        if self.way_of(part) is not _write_texts:
            return [(target_path(file, self.out), file.path) for file in files]
        first = target_path(files[0], self.out)
        if not part.together:
            return [(first.with_name(f"{first.name}.parquet"), files[0].path)]
        return [(first.with_name(f"documents-{part.name.rpartition('.')[2]}.parquet"), part.place)]

    def require_possible(self, part: Part) -> None:
        named = printable_path(part.path)
        if any(file.opened for file in part.files):
            raise UsageError(f"{named}: lies in an object store; the clusters say what to keep of it")
        if self.as_texts and self.way_of(part) is _copy_files:
            raise UsageError(f"{named}: passages are cut from texts, and not from files; say --texts")
        if self.tag and isinstance(part.reader, Parquet):
            try:
                with part.opened() as stream, parquet_file(stream, named) as file:
                    there = TAGS.keys() & set(file.schema_arrow.names)
            except (OSError, arrow.ArrowException) as error:
                raise UsageError(f"{named}: can't be tagged, as it can't be read: {error}; leave it out") from error
            if there:
                raise UsageError(f"{named}: has a column {min(there)} already; name the data without it")


def target_path(file: Any, out: str) -> Path:
    if file.named and not file.listed:
        return Path(out, os.path.basename(file.path))
    below = Path(file.relative)
    return Path(out, *(name for name in below.parts if name not in (below.anchor, os.pardir)))


@contextmanager
def written_file(path: Path) -> Iterator[IO[Any]]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with own_files.written_whole(path) as written:
        yield written


def _copy_files(part: Part, decided: Any, footer: dict[str, Any], output: Output) -> None:  # noqa: ARG001
    gone = set(_gone(decided))
    for number, file in enumerate(part.files, 1):
        if number not in gone:
            with (
                written_file(target_path(file, output.out)) as copied,
                open(file.path, "rb", opener=own_files.reader) as given,
            ):
                shutil.copyfileobj(given, copied)


def _gone(decided: Any) -> list[int]:
    rows = numbers_of(decided["row"])[~flags_of(decided["keep"])]
    return sorted(rows.tolist())


class _Tags:
    def __init__(self, decided: Any) -> None:
        self._decided = decided
        self._rows = numbers_of(decided["row"])
        self._order = np.argsort(self._rows, kind="stable")
        self._rows = self._rows[self._order]

    def columns(self, first: int, count: int) -> list[Any]:
        places = np.full(count, -1, dtype=np.int64)
        start, end = np.searchsorted(self._rows, (first, first + count))
        places[self._rows[start:end] - first] = self._order[start:end]
        taken = self._decided.take(column_of(np.maximum(places, 0), places < 0)) if len(self._rows) else None
        if taken is None:
            return [column_of(np.ones(count, dtype=np.bool_)), *(arrow.nulls(count, arrow.string()) for _ in range(2))]
        return [taken["keep"].fill_null(True), taken["duplicate_of"], taken["cluster"]]

    def members(self, number: int) -> str:
        values = [column[0].as_py() for column in self.columns(number, 1)]
        return json.dumps(dict(zip(TAGS, values, strict=True)))[1:-1]


def _copy_rows(part: Part, decided: Any, footer: dict[str, Any], output: Output) -> None:  # noqa: ARG001
    [file] = part.files
    gone, tags = np.array(_gone(decided), dtype=np.int64), _Tags(decided)

    def batches(known: Any) -> Iterator[Any]:
        first = 1
        for batch in known.iter_batches(BATCH_ROWS):
            if output.tag:
                columns = [*batch.columns, *tags.columns(first, batch.num_rows)]
                yield arrow.RecordBatch.from_arrays(columns, schema=_tagged(known.schema_arrow))
            else:
                number = np.arange(first, first + batch.num_rows)
                yield batch.filter(column_of(~np.isin(number, gone)))
            first += batch.num_rows

    with (
        part.opened() as stream,
        parquet_file(stream, file.path) as known,
        written_file(target_path(file, output.out)) as out,
    ):
        schema = _tagged(known.schema_arrow) if output.tag else known.schema_arrow
        write_groups(out, schema, batches(known), codec_of(known))


def codec_of(file: Any) -> str:
    metadata = file.metadata
    named = metadata.row_group(0).column(0).compression if metadata.num_row_groups and metadata.num_columns else ""
    return str({"UNCOMPRESSED": "none", "": "snappy"}.get(named, named.lower()))


def _tagged(schema: Any) -> Any:
    for name, kind in TAGS.items():
        schema = schema.append(arrow.field(name, kind))
    return schema


def write_groups(target: Any, schema: Any, batches: Iterable[Any], codec: str) -> None:
    with parquet.ParquetWriter(target, schema, compression=codec) as out:
        for some in chunks_by_size(batches, _GROUP, lambda batch: int(batch.nbytes), _GROUP):
            out.write_table(arrow.Table.from_batches(some))


def _copy_lines(part: Part, decided: Any, footer: dict[str, Any], output: Output) -> None:
    [file] = part.files
    left = iter(() if output.tag else _gone(decided))
    following, number, begins = next(left, 0), 1, True
    tags, asked = _Tags(decided), ReaderOptions(0)
    # In pieces, as a line may be larger than the memory; only what was read as a document is looked at whole.
    piece_size = footer["read"]["line_limit"] if output.tag else _PIECE
    with (
        part.opened() as stream,
        written_file(target_path(file, output.out)) as target,
        packed(target, file.path) as out,
    ):
        try:
            lines = decompressed(stream, file.path, asked)
            while piece := lines.readline(piece_size):
                is_whole = begins and (len(piece) < piece_size or piece.endswith(b"\n"))
                if number != following:
                    out.write(_with_tags(piece, tags, number, file.path) if output.tag and is_whole else piece)
                    asked.unpacked.used(len(piece))
                begins = piece.endswith(b"\n")
                if begins:
                    following = next(left, 0) if number == following else following
                    number += 1
        except BROKEN as error:
            raise StoreError(f"{file.path}: can't be read to its end: {error}") from error


def _with_tags(line: bytes, tags: _Tags, number: int, name: str) -> bytes:
    try:
        known = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(known, dict):
        return line
    if there := TAGS.keys() & known.keys():
        raise UsageError(
            f"{printable_path(name)}: line {number:,}: a member {min(there)} is there already; name the data without it"
        )
    end = line.rindex(b"}")
    return line[:end] + (", " if known else "").encode() + tags.members(number).encode() + line[end:]


def _write_texts(part: Part, decided: Any, footer: dict[str, Any], output: Output) -> None:
    """Write the texts of documents as Parquet, read as for their sketches.

    Raises StoreError if the part has other documents now.
    """
    schema = _tagged(_TEXTS) if output.tag else _TEXTS
    [(target, _)] = set(output.targets(part))
    with written_file(target) as file:
        write_groups(file, schema, _texts_of(part, decided, footer, output, schema), "zstd")


def _texts_of(part: Part, decided: Any, footer: dict[str, Any], output: Output, schema: Any) -> Iterator[Any]:
    selection, limits = selection_of(footer), Limits()
    sources = Sources([], selection)
    keep, ids, rows = flags_of(decided["keep"]), decided["id"], decided["row"]
    tags = [decided[name.removeprefix("neardup_")] for name in TAGS] if output.tag else []

    def documents(workers: WorkerPool[None]) -> Iterator[tuple[int, list[Any]]]:
        place = 0
        for place, _, outcome, _ in ordered_outcomes(sources, part, limits.input_bytes, workers, _AHEAD):
            at = place - 1
            if place <= len(decided) and (keep[at] or output.tag):
                yield at, [ids[at].as_py(), outcome.key.source, rows[at].as_py(), *_text(outcome)]
        if place != len(decided):
            raise StoreError(
                f"{printable_path(part.path)}: has {counted(place, 'document')} now, and when it was sketched "
                f"{counted(len(decided), 'document')}; sketch and cluster again"
            )

    with texts(output.jobs or default_jobs(), form_of(footer).options, limits) as workers:
        for some in chunks(documents(workers), _AHEAD):
            places, values = zip(*some, strict=True)
            every = zip(zip(*values, strict=True), _TEXTS.types, strict=True)
            columns = [arrow.array(each, kind) for each, kind in every] + [
                tag.take(arrow.array(places)) for tag in tags
            ]
            yield arrow.RecordBatch.from_arrays(columns, schema=schema)


def _text(outcome: Any) -> Sequence[str | None]:
    item, metadata = outcome.key, getattr(outcome.key, "metadata", None)
    written = json.dumps(metadata, default=str) if metadata else None
    if not isinstance(outcome, Extracted):
        return (getattr(item, "title", ""), None, written, f"{outcome.reason}: {outcome.detail}")
    title, text = item.title or outcome.document.title, outcome.document.text
    return (plain(title), plain(text), written, None)
