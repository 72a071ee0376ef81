"""Sketch a collection into Parquet files on one machine."""

from __future__ import annotations

import glob
import json
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from indexer.batch.arrow import arrow, compute, parquet
from indexer.batch.form import Form, Making, form_of, read_footer, sketch_schema, writer, written_footer
from indexer.batch.sketches.kernels import (
    Place,
    SketchedRow,
    batch_of,
    documents_of,
    reads_columns,
    serves,
    sketched,
    sketched_one,
)
from indexer.batch.sketches.parts import SKETCHES, Part, forget_gone, task_of
from indexer.errors import StoreError
from indexer.extract.base import Item
from indexer.extract.pool import WorkerPool
from indexer.ingest.digests import content_id
from indexer.ingest.naming import id_of_path
from indexer.ingest.outcomes import read, sketching, take_extractor
from indexer.ingest.readers.base import BadEntry, ReaderOptions
from indexer.ingest.readers.tables import Parquet, parquet_file
from indexer.ingest.regular_files import UnreadableError
from indexer.ingest.remote import is_remote
from indexer.ingest.sources import Sources
from indexer.model import Record, Ref, own_files
from indexer.model.chunking import chunks, chunks_by_size
from indexer.model.counts import SketchingCounts
from indexer.model.paths import printable_path

# What is read at once, and what a group of rows has in a file of sketches.
_AT_ONCE = 4 << 20
_GROUP = 1 << 16
_ROWS_TOGETHER = 4096
# So many documents are begun before the first of them has ended; their rows wait for it, some kB each.
_MOST_AHEAD = 1 << 14


def sketch(
    sources: Sources,
    parts: Sequence[Part],
    folder: str,
    making: Making,
    *,
    task: tuple[int, int] = (1, 1),
    summary: SketchingCounts | None = None,
) -> SketchingCounts:
    """Write the sketches of each part to `folder`/sketches, except existing ones with an unchanged input.

    The fields and options of reading must be the same too. A file gets its name when complete, so an interrupted run
    continues. Memory: some batches of 4 MB for each worker. Raises IncompatibleStoreError if the folder has sketches of
    another form, and StoreError if it can't be written.
    """
    counts = summary if summary is not None else SketchingCounts()
    begin(folder, making.form)
    sketch_parts(sources, unfinished(sources, task_of(parts, task), folder, counts), folder, making, counts)
    counts.forgotten += forget(sources, parts, folder)
    counts.left_out += sources.passed_over.total
    return counts


def forget(sources: Sources, parts: Sequence[Part], folder: str) -> list[str]:
    """Remove the sketches of missing inputs below the folders of `sources`, whose parts were listed; returns their
    names.
    """
    target = Path(folder, SKETCHES)
    names = {part.name for part in parts}
    for place in {part.name.rpartition(".")[0] for part in parts if part.together}:
        for path in target.glob(f"{glob.escape(place)}.[0-9][0-9][0-9][0-9].parquet"):
            if path.name.removesuffix(".parquet") not in names:
                path.unlink(missing_ok=True)
    return forget_gone(folder, names, sources.roots)


def begin(folder: str, form: Form) -> None:
    for path in sketch_files(folder, missing_ok=True):
        form.require_same(form_of(read_footer(os.fspath(path), SKETCHES)), os.fspath(path), "what is asked for")
    target = Path(folder, SKETCHES)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(error, target) from error
    own_files.remove_left(target)


def unfinished(sources: Sources, parts: Iterable[Part], folder: str, counts: SketchingCounts) -> Iterator[Part]:
    for part in parts:
        path = Path(folder, SKETCHES, f"{part.name}.parquet")
        there = path.exists() and _is_of(path, part.noted(sources.selection))
        if there and not (is_remote(part.path) and _broken_off(path)):
            counts.done_before += 1
            _count_file(path, counts)
        else:
            yield part


def _is_of(path: Path, asked: Mapping[str, Any]) -> bool:
    noted, wanted = read_footer(os.fspath(path), SKETCHES), json.loads(json.dumps(asked))
    return all(noted.get(name) == wanted[name] for name in ("state", "read"))


def _broken_off(path: Path) -> bool:
    failed = parquet.read_table(path, columns=["failed"])["failed"]
    return bool(compute.any(compute.starts_with(failed, "unreadable:")).as_py())


def sketch_parts(sources: Sources, parts: Iterable[Part], folder: str, making: Making, counts: SketchingCounts) -> None:
    target = Path(folder, SKETCHES)
    try:
        with sketching(making.jobs, making.form.options, making.limits, making.form.made) as workers:
            for part in parts:
                path = target / f"{part.name}.parquet"
                footer = written_footer(SKETCHES, making.form, part.noted(sources.selection))
                with own_files.written_whole(path) as file:
                    _write(file, making.form, footer, _sketches(sources, part, making, workers), counts)
                counts.files += 1
    except OSError as error:
        raise _unwritable(error, target) from error


def _unwritable(error: OSError, target: Path) -> StoreError:
    return StoreError(f"{error.filename or target}: can't be written: {error.strerror or error}")


def sketch_files(folder: str, *, missing_ok: bool = False) -> list[Path]:
    found = sorted(Path(folder, SKETCHES).glob("*.parquet"))
    if not found and not missing_ok:
        raise StoreError(f"{folder}: has no {SKETCHES}/*.parquet; make them with neardup batch sketch")
    return found


def _write(file: Any, form: Form, footer: Any, batches: Iterable[Any], counts: SketchingCounts) -> None:
    def passed() -> Iterator[Any]:
        for batch in batches:
            _count(batch, counts)
            yield batch

    with writer(file, sketch_schema(form), footer) as out:
        for some in chunks_by_size(passed(), _GROUP, lambda batch: int(batch.num_rows), _GROUP):
            out.write_table(arrow.Table.from_batches(some), row_group_size=_GROUP)


def _count_file(path: Path, counts: SketchingCounts) -> None:
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=["id", "bytes", "tokens", "short", "extractor", "failed"]):
            _count(batch, counts)


def _count(batch: Any, counts: SketchingCounts) -> None:
    counts.documents += batch.num_rows
    counts.bytes += compute.sum(batch["bytes"]).as_py() or 0
    counts.short += compute.sum(batch["short"]).as_py() or 0
    for extractor, count in (each.values() for each in compute.value_counts(batch["extractor"]).to_pylist()):
        take_extractor(counts, extractor or "", count)
    bad = batch.filter(compute.is_valid(batch["failed"]))
    failed = bad["failed"].to_pylist()
    counts.failed.update(each.partition(":")[0] for each in failed)
    if failed and not counts.first_failure:
        counts.first_failure = f"{bad['id'][0]}: {failed[0]}"
    counts.empty += (compute.sum(compute.equal(batch["tokens"], 0)).as_py() or 0) - len(failed)


def _sketches(sources: Sources, part: Part, making: Making, workers: WorkerPool[Any]) -> Iterator[Any]:
    if isinstance(part.reader, Parquet) and serves(making.form) and sources.selection.id_from == "path":
        asked = ReaderOptions(sources.selection.line_limit, sources.selection.columns)
        with suppress(UnreadableError), part.opened() as stream:
            columns = _schema(stream, part.path)
            if columns is not None and reads_columns(columns, asked.columns):
                stream.seek(0)
                yield from _by_columns(stream, _place(part, sources), part.reader, asked, making)
                return
    yield from _by_rows(sources, part, making, workers)


def _schema(stream: Any, name: str) -> Any:
    with suppress(arrow.ArrowException, OSError, ValueError):
        if stream.seekable():
            return parquet_file(stream, name).schema_arrow
    return None


def _place(part: Part, sources: Sources) -> Place:
    path = part.path
    if is_remote(path):
        return Place(path, path)
    return Place(id_of_path(path, sources.selection.base), printable_path(os.path.abspath(path)))


def _by_columns(stream: Any, place: Place, reader: Parquet, asked: ReaderOptions, making: Making) -> Iterator[Any]:
    def task(batch: Any, first: int) -> list[Any]:
        documents, bad = documents_of(batch, first, place, asked, making.form.time_field)
        return [sketched(documents, making, asked.columns.text or "text"), *_bad(bad, place, making.form)]

    number = 1
    with ThreadPoolExecutor(making.jobs, "neardup-batch") as pool:
        ahead: deque[Future[list[Any]]] = deque()
        for batch in reader.batches(stream, place.name, asked, _AT_ONCE):
            if isinstance(batch, BadEntry):
                ahead.append(pool.submit(_bad, [batch], place, making.form))
                break
            ahead.append(pool.submit(task, batch, number))
            number += batch.num_rows
            if len(ahead) > making.jobs + 1:
                yield from ahead.popleft().result()
        while ahead:
            yield from ahead.popleft().result()


def _bad(entries: Sequence[BadEntry], place: Place, form: Form) -> list[Any]:
    rows = [
        SketchedRow(
            entry.number,
            Record(Ref(f"{place.name}:{entry.number}"), source=place.source),
            f"{entry.reason}: {entry.detail}",
        )
        for entry in entries
    ]
    return [batch_of(rows, form)] if rows else []


def _by_rows(sources: Sources, part: Part, making: Making, workers: WorkerPool[Any]) -> Iterator[Any]:
    found = ordered_outcomes(sources, part, making.limits.input_bytes, workers, _MOST_AHEAD)
    rows = (
        _row(number, outcome, data, making.form)._replace(container=file if part.together else None)
        for number, file, outcome, data in found
    )
    for some in chunks(rows, _ROWS_TOGETHER):
        yield batch_of(some, making.form)


def _row(number: int, outcome: Any, data: bytes | None, form: Form) -> SketchedRow:
    if data is None:
        item, failed = outcome.key, f"{outcome.reason}: {outcome.detail}"
        return SketchedRow(item.number, Record(Ref(item.id or item.source), source=item.source), failed)
    if not outcome.key.id:
        outcome = replace(outcome, key=replace(outcome.key, id=content_id(data)))
    one = sketched_one(outcome, form, data)
    # A file is no line: it is counted among those of its part.
    return one if one.row else one._replace(row=number)


def ordered_outcomes(
    sources: Sources, part: Part, limit: int, workers: WorkerPool[Any], ahead: int
) -> Iterator[tuple[int, str, Any, bytes | None]]:
    """The documents of a part in their order, although workers finish in any order.

    (place from 1 on, its file, outcome, bytes) of each; no bytes for an unreadable one. A finished one waits for those
    before it. If `ahead` wait for one, no new one begins.
    """
    given = ((file.place, each) for file in part.files for each in read(sources.inputs_of(file), limit))
    inputs: Iterator[tuple[int, tuple[str, Any]]] = enumerate(given, 1)
    waiting: dict[int, tuple[str, bytes | None]] = {}
    done: dict[int, Any] = {}
    begun = passed = 0

    def items() -> Iterator[Any]:
        nonlocal begun
        while begun - passed < ahead and (following := next(inputs, None)):
            begun, (file, outcome) = following
            waiting[begun] = file, outcome.data if isinstance(outcome, Item) else None
            yield replace(outcome, key=(begun, outcome.key))

    outcome: Any
    before = -1
    while before < begun:
        before = begun
        for outcome in workers.outcomes(items()):
            number, item = outcome.key
            done[number] = replace(outcome, key=item)
            while passed + 1 in done:
                passed += 1
                file, data = waiting.pop(passed)
                yield passed, file, done.pop(passed), data
