"""Read the texts of a batch's documents again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from indexer.batch.arrow import arrow, compute, numbers_of, parquet
from indexer.batch.form import form_of, read_footer
from indexer.batch.sketches.kernels import reads_columns, serves
from indexer.batch.sketches.parts import SKETCHES, part_again, selection_of
from indexer.core.markup import is_clean
from indexer.core.text import text_digest
from indexer.errors import ExtractionError, NeardupError
from indexer.extract.base import Extracted, Item, Limits, Options
from indexer.extract.pool import WorkerPool
from indexer.ingest.outcomes import read, texts
from indexer.ingest.readers.compression import BROKEN
from indexer.ingest.readers.tables import BATCH_ROWS, Parquet, parquet_file
from indexer.ingest.regular_files import UnreadableError
from indexer.ingest.short_texts import short_text
from indexer.ingest.sources import Sources
from indexer.model.chunking import chunks_by_size
from indexer.schemes.base import Positions

_TOGETHER, _BYTES = 512, 64 << 20
_OTHER = "its source no longer holds the sketched text"
Workers = Callable[[], WorkerPool[None]]


@contextmanager
def text_workers(jobs: int, options: Options) -> Iterator[Workers]:
    """Workers that are made when somebody asks for them, since what they need may be missing here."""
    with ExitStack() as opened:
        yield cache(lambda: opened.enter_context(texts(jobs, options, Limits())))


def read_texts(
    path: Path, places: Positions, digests: Mapping[int, bytes], workers: Workers
) -> Iterator[tuple[int, str | ExtractionError]]:
    """The texts of documents of a file of sketches, by their places and the digests of their texts.

    Memory: some batches of 1,000 rows, or documents for each process.
    """
    footer = read_footer(os.fspath(path), SKETCHES)
    left, why = set(places.tolist()), _OTHER
    try:
        for place, text in _read(path, footer, places, workers):
            left.discard(place)
            if isinstance(text, str) and text_digest(text) != digests.get(place):
                yield place, ExtractionError("unreadable", _OTHER)
            else:
                yield place, text
    except (UnreadableError, NeardupError, OSError, arrow.ArrowException, *BROKEN) as error:
        why = str(error)
    for place in sorted(left):
        yield place, ExtractionError("unreadable", why)


def _read(
    path: Path, footer: Mapping[str, Any], places: Positions, workers: Workers
) -> Iterator[tuple[int, str | ExtractionError]]:
    form, selection = form_of(footer), selection_of(footer)
    # A part of many files is read again without those that have no wanted document.
    files = _column(path, "container").to_pylist() if footer["together"] else []
    again = dict.fromkeys(files[place] for place in places.tolist()) if files else {}
    part = part_again(footer, list(again))
    if isinstance(part.reader, Parquet) and serves(form) and selection.id_from == "path":
        with part.opened() as stream, parquet_file(stream, part.path) as file:
            if reads_columns(file.schema_arrow, selection.columns):
                rows = numbers_of(_column(path, "row"))[places] - 1
                yield from _by_columns(file, rows, places, selection.columns.text or "text", form.options)
                return
    wanted, sources = set(places.tolist()), Sources([], selection)
    there = (place for place in range(max(wanted) + 1) if not files or files[place] in again)
    documents = (each for file in part.files for each in read(sources.inputs_of(file), Limits().input_bytes))
    given: Iterator[tuple[int, Any]] = (pair for pair in zip(there, documents, strict=False) if pair[0] in wanted)
    for some in chunks_by_size(given, _TOGETHER, _bytes_of, _BYTES):
        short = {place: short_text(given) for place, given in some if isinstance(given, Item)}
        yield from ((place, found[0]) for place, found in short.items() if found)
        outcome: Any
        left = [replace(given, key=place) for place, given in some if not short.get(place)]
        for outcome in workers().outcomes(left) if left else ():
            if isinstance(outcome, Extracted):
                yield outcome.key, outcome.document.text
            else:
                yield outcome.key, ExtractionError("unreadable", outcome.detail or outcome.reason)


def _bytes_of(given: tuple[int, Any]) -> int:
    return len(given[1].data) if isinstance(given[1], Item) else 0


def _column(path: Path, name: str) -> Any:
    return parquet.read_table(path, columns=[name])[name].combine_chunks()


def _by_columns(
    file: Any, rows: Positions, places: Positions, name: str, options: Options
) -> Iterator[tuple[int, str | ExtractionError]]:
    from indexer.extract import extract

    options = replace(options, format="text")
    order = np.argsort(rows, kind="stable")
    rows, places = rows[order], places[order]
    begin = 0
    for group in range(file.metadata.num_row_groups):
        end = begin + file.metadata.row_group(group).num_rows
        first = begin
        if np.searchsorted(rows, begin) < np.searchsorted(rows, end):
            for batch in file.iter_batches(BATCH_ROWS, row_groups=[group], columns=[name]):
                column = compute.cast(batch[name], arrow.string())
                start, stop = np.searchsorted(rows, (first, first + batch.num_rows))
                for row, place in zip(rows[start:stop].tolist(), places[start:stop].tolist(), strict=True):
                    data = (column[row - first].as_py() or "").encode()
                    yield place, data.decode() if is_clean(data) else extract(data, options=options).text
                first += batch.num_rows
        begin = end
