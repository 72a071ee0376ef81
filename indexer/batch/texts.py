"""Read the texts of a batch's documents again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from indexer.batch.arrow import arrow, compute, numbers_of, parquet
from indexer.batch.form import Form, form_of, read_footer
from indexer.batch.sketches.kernels import reads_columns, serves
from indexer.batch.sketches.parts import SKETCHES, Part, part_again, selection_of
from indexer.core.markup import is_clean
from indexer.core.text import text_digest
from indexer.errors import ExtractionError, NeardupError
from indexer.extract.base import Extracted, Item, Limits, Options
from indexer.ingest.outcomes import ExtractionWorkers, read, texts
from indexer.ingest.readers.compression import BROKEN
from indexer.ingest.readers.tables import BATCH_ROWS, Parquet, parquet_file
from indexer.ingest.regular_files import UnreadableError
from indexer.ingest.short_texts import short_text
from indexer.ingest.sources import Selection, Sources
from indexer.model.chunking import chunks_by_size
from indexer.schemes.base import Positions

_TOGETHER, _BYTES = 512, 64 << 20
_OTHER = "its source no longer holds the sketched text"
Workers = Callable[[], ExtractionWorkers[None]]


@dataclass(frozen=True)
class _Wanted:
    """The documents of a file of sketches to read: their places and digests, and their inputs."""

    path: Path
    places: Positions
    digests: Mapping[int, bytes]
    footer: Mapping[str, Any]

    @property
    def form(self) -> Form:
        return form_of(self.footer)

    @property
    def selection(self) -> Selection:
        return selection_of(self.footer)

    def column(self, name: str) -> Any:
        return parquet.read_table(self.path, columns=[name])[name].combine_chunks()

    @cached_property
    def files(self) -> list[str]:
        return list(self.column("container").to_pylist())

    def part(self) -> Part:
        sources: list[str] = []
        if self.footer["together"]:
            sources = list(dict.fromkeys(self.files[place] for place in self.places.tolist()))
        return part_again(self.footer, sources)


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
    wanted = _Wanted(path, places, digests, read_footer(os.fspath(path), SKETCHES))
    left, why = set(places.tolist()), _OTHER
    try:
        for place, text in _read(wanted, workers):
            left.discard(place)
            if isinstance(text, str) and text_digest(text) != digests.get(place):
                yield place, ExtractionError("unreadable", _OTHER)
            else:
                yield place, text
    except (UnreadableError, NeardupError, OSError, arrow.ArrowException, *BROKEN) as error:
        why = str(error)
    for place in sorted(left):
        yield place, ExtractionError("unreadable", why)


def _read(wanted: _Wanted, workers: Workers) -> Iterator[tuple[int, str | ExtractionError]]:
    part = wanted.part()
    if isinstance(part.reader, Parquet) and serves(wanted.form) and wanted.selection.id_from == "path":
        with part.opened() as stream, parquet_file(stream, part.path) as file:
            if reads_columns(file.schema_arrow, wanted.selection.columns):
                yield from _by_columns(wanted, file)
                return
    for some in chunks_by_size(_given(wanted, part), _TOGETHER, _bytes_of, _BYTES):
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


def _given(wanted: _Wanted, part: Part) -> Iterator[tuple[int, Any]]:
    sources, limit = Sources([], wanted.selection), Limits().input_bytes
    places = set(wanted.places.tolist())
    place_of = {place: place for place in places}
    if wanted.footer["together"]:
        # Only those that are wanted are there.
        again, files = {wanted.files[place] for place in places}, wanted.files
        there = (place for place, file in enumerate(files) if file in again)
        place_of = {number: place for number, place in enumerate(there) if place in places}
    last = max(place_of)
    for number, given in enumerate(each for file in part.files for each in read(sources.inputs_of(file), limit)):
        if number in place_of:
            yield place_of[number], given
        if number >= last:
            return


def _by_columns(wanted: _Wanted, file: Any) -> Iterator[tuple[int, str | ExtractionError]]:
    from indexer.extract import extract

    name, options = wanted.selection.columns.text or "text", replace(wanted.form.options, format="text")
    rows = numbers_of(wanted.column("row"))[wanted.places] - 1
    order = np.argsort(rows, kind="stable")
    rows, places = rows[order], wanted.places[order]
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
