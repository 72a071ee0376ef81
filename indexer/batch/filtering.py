"""The documents to keep of a collection whose clusters are known, each file in its own format."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from indexer import own_files
from indexer.batch.arrow import arrow, column_of, compute, numbers_of, parquet, repeated
from indexer.batch.clusters.clustering import BEFORE
from indexer.batch.form import read_footer
from indexer.batch.reading import CLUSTERS, clustering_of
from indexer.batch.sketches.inputs import SKETCHES
from indexer.batch.sketches.parts import Part, parts_of
from indexer.errors import StoreError, UsageError
from indexer.ingest.readers.base import Asked
from indexer.ingest.readers.compression import BROKEN, packed, plain
from indexer.ingest.readers.jsonlines import JsonLines
from indexer.ingest.readers.tables import BATCH_ROWS, Parquet, parquet_file
from indexer.ingest.remote import is_remote
from indexer.ingest.sources import Rejected, Sources
from indexer.model.paths import printable_path
from indexer.text.counts import counted

# What a group of rows has about, in bytes.
_PIECE = 1 << 20
_GROUP = 64 << 20
_REMOVED = arrow.schema(
    [
        ("source", arrow.string()),
        ("row", arrow.int64()),
        ("id", arrow.string()),
        ("duplicate_of", arrow.string()),
        ("similarity", arrow.float64()),
        ("cluster", arrow.string()),
    ]
)


@dataclass(slots=True)
class Filtered:
    """What became of the documents of so many `files`."""

    files: int = 0
    kept: int = 0
    removed: int = 0


def removed_file(out: str) -> str:
    """Where the removed documents of an output are listed: beside it, so that it holds nothing but documents."""
    return os.path.normpath(out) + ".removed.parquet"


def keep(
    paths: Sequence[str], clusters: str, out: str, *, against: Sequence[str] = (), unverified: bool = False
) -> Filtered:
    """Write of the files that are named what is to be kept to `out`, and list what is not in `removed_file(out)`.

    No two documents that are kept are near, and each removed one is near one that is kept; of several documents with
    one id the last one counts; what gave no text is kept. What stands for a removed document is kept with it, or is
    of a batch in `against`, folders of sketches whose documents are said to be kept elsewhere.

    Raises UsageError for an output inside of what is read, for files that can't be taken apart line by line, that have
    changed since they were sketched, or that never were, where what stands for a removed document would not be kept,
    and where a simhash alone decided unless that is said to be meant. StoreError where something can't be written.
    """
    _require_apart(out, (*paths, clusters))
    known = _clusters_of(clusters, unverified=unverified)
    rejected: list[Rejected] = []
    parts = parts_of(Sources(list(paths)), rejected.append)
    if rejected:
        raise UsageError(f"{rejected[0].source}: {rejected[0].detail}; nothing was written")
    # What can't be done is said before anything is written.
    chosen = [(part, _found(part, known, clusters)) for part in parts]
    _require_room(out, parts)
    _require_kept([path for _, path in chosen], clusters, against)
    done = Filtered()
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
        own_files.remove_left(os.path.dirname(removed_file(out)) or os.curdir)
        with (
            own_files.written_whole(removed_file(out)) as file,
            parquet.ParquetWriter(file, _REMOVED, compression="zstd") as listed,
        ):
            for part, path in chosen:
                gone, rows = _gone(path, done)
                _copy(part, out, gone)
                done.files += len(part.files)
                done.removed += rows.num_rows
                source = repeated(printable_path(part.path), rows.num_rows)
                listed.write_table(arrow.Table.from_arrays([source, *rows.columns], schema=_REMOVED))
    except (OSError, arrow.ArrowException) as error:
        named = getattr(error, "filename", None) or out
        raise StoreError(f"{named}: {getattr(error, 'strerror', None) or error}") from error
    return done


def _require_apart(out: str, given: Sequence[str]) -> None:
    whole = os.path.realpath(out)
    for name in given:
        read_from = os.path.realpath(name)
        if not is_remote(name) and (whole == read_from or whole.startswith(os.path.join(read_from, ""))):
            raise UsageError(f"--out {out}: lies inside {name}, which is read; name a folder beside it")


def _require_room(out: str, parts: Sequence[Part]) -> None:
    if os.path.isdir(out) and os.listdir(out):
        raise UsageError(f"--out {out}: is not empty; name a new folder")
    targets: dict[Path, str] = {}
    for file in (file for part in parts for file in part.files):
        other = targets.setdefault(_target(file, out), file.path)
        if other != file.path:
            raise UsageError(f"{file.path} and {other} would be one file in {out}; name the folder that holds both")


def _require_kept(chosen: Sequence[Path], clusters: str, against: Sequence[str]) -> None:
    """UsageError, with the file, where what stands for a removed document is neither in these files nor elsewhere."""
    kept, counting = _Names(), _Names()
    for path in chosen:
        table = parquet.read_table(path, columns=["id", "cluster", "keep", "duplicate_of"])
        counts = table["cluster"].is_valid()
        counting.ask(table["id"].filter(compute.invert(counts)))
        kept.ask(table["duplicate_of"].filter(compute.and_not(counts, table["keep"])))
    there = [*chosen, *(path for path in _files_of(clusters) if _is_of(path, against))]
    for path in there:
        table = parquet.read_table(path, columns=["id", "cluster", "keep"])
        counting.find(table["id"].filter(table["cluster"].is_valid()))
        kept.find(table["id"].filter(table["keep"]))
    missing = {*kept.missing(), *counting.missing()}
    for path in _files_of(clusters) if missing else ():
        table = parquet.read_table(path, columns=["id", "cluster", "keep"])
        for name in table["id"].filter(table["cluster"].is_valid()).to_pylist():
            if name in missing:
                place = read_footer(os.fspath(path), CLUSTERS)["input"]
                raise UsageError(
                    f"{place}: {name!r} of it, or what it repeats, stands for a document that would be removed, and "
                    f"would not be kept with the rest ({counted(len(missing), 'document')} in all); name that file "
                    "too, or with --against the batch whose documents are kept elsewhere; if it is gone, run neardup "
                    "batch sketch and cluster again; nothing was written"
                )
    if missing:
        raise StoreError(f"{clusters}: does not hold {min(missing)!r}, which stands for others; cluster again")


class _Names:
    """Ids that are asked for, and those of them that were found."""

    def __init__(self) -> None:
        self._asked: list[Any] = []
        self._there: Any = None

    def ask(self, names: Any) -> None:
        """Ask for ids."""
        self._asked.append(compute.unique(names))

    def find(self, names: Any) -> None:
        """Note that these are there."""
        if self._there is None:
            self._wanted = compute.unique(arrow.chunked_array(self._asked, arrow.string()))
            self._there = np.zeros(len(self._wanted), dtype=np.bool_)
        self._there[compute.index_in(names, value_set=self._wanted).drop_null()] = True

    def missing(self) -> list[str]:
        """Those that were not found."""
        return list(self._wanted.filter(column_of(~self._there)).to_pylist()) if self._there is not None else []


def _files_of(folder: str) -> list[Path]:
    """All files of clusters of a folder, of its own documents and of older ones."""
    return sorted(path for kind in (CLUSTERS, BEFORE) for path in Path(folder, kind).glob("*.parquet"))


def _is_of(path: Path, batches: Sequence[str]) -> bool:
    """Whether clusters are of the sketches that one of these batches has now."""
    for batch in batches:
        sketched = Path(batch, SKETCHES, path.name)
        if sketched.exists():
            state = read_footer(os.fspath(sketched), SKETCHES)["state"]
            if read_footer(os.fspath(path), CLUSTERS)["state"] == state:
                return True
    return False


def _clusters_of(folder: str, *, unverified: bool) -> dict[str, Path]:
    """The files of clusters, by the input that they are of. Raises StoreError and UsageError."""
    clustering_of(folder)
    found = {}
    for path in sorted(Path(folder, CLUSTERS).glob("*.parquet")):
        footer = read_footer(os.fspath(path), CLUSTERS)
        if footer["by_hash_alone"] and not unverified:
            raise UsageError(
                f"the clusters were made by {footer['rule']} alone, which also calls documents near that share nothing "
                "but their language; cluster by a verified rule, or say --unverified"
            )
        found[footer["input"]] = path
    return found


def _found(part: Part, known: dict[str, Path], folder: str) -> Path:
    """The clusters of a part."""
    named = printable_path(part.path)
    if part.reader and not isinstance(part.reader, JsonLines | Parquet):
        raise UsageError(
            f"{named}: is neither Parquet nor JSON lines; {folder}/{CLUSTERS} says which documents to keep"
        )
    if any(file.opened for file in part.files):
        raise UsageError(f"{named}: lies in an object store; {folder}/{CLUSTERS} says what to keep of it")
    path = known.get(part.place)
    if path is None:
        raise UsageError(f"{named}: has no clusters in {folder}; run neardup batch sketch and cluster over it first")
    if read_footer(os.fspath(path), CLUSTERS)["state"] != part.state():
        raise UsageError(f"{named}: has changed since it was sketched; run neardup batch sketch and cluster again")
    return path


def _gone(path: Path, done: Filtered) -> tuple[npt.NDArray[np.int64], Any]:
    """The rows of a file that are not kept, in order, and what is listed of each."""
    table = parquet.read_table(path)
    rows = table.filter(compute.invert(table["keep"]))
    rows = rows.select(["row", "id", "duplicate_of", "duplicate_similarity", "cluster"])
    done.kept += table.num_rows - rows.num_rows
    return np.sort(numbers_of(rows["row"].combine_chunks())), rows


def _copy(part: Part, out: str, gone: npt.NDArray[np.int64]) -> None:
    """Write of a part what is not gone."""
    if part.reader is None:
        left = set(range(1, len(part.files) + 1)) - set(gone.tolist())
        for file in (part.files[number - 1] for number in sorted(left)):
            with _written(file, out) as copied, open(file.path, "rb", opener=own_files.reader) as given:
                shutil.copyfileobj(given, copied)
        return
    [file] = part.files
    with _written(file, out) as target, part.opened() as stream:
        if isinstance(part.reader, Parquet):
            _copy_rows(stream, file.path, target, gone)
        else:
            _copy_lines(stream, file.path, target, gone)


@contextmanager
def _written(file: Any, out: str) -> Iterator[IO[Any]]:
    path = _target(file, out)
    path.parent.mkdir(parents=True, exist_ok=True)
    with own_files.written_whole(path) as written:
        yield written


def _target(file: Any, out: str) -> Path:
    """Where a file's copy goes: as it lies below the folder that was named; a file that was named, by its name."""
    relative = os.path.basename(file.path) if file.named else file.relative
    return Path(out, relative)


def _copy_rows(stream: Any, name: str, target: Any, gone: npt.NDArray[np.int64]) -> None:
    with parquet_file(stream, name) as file:
        known = file.metadata
        packed = known.row_group(0).column(0).compression if known.num_row_groups and known.num_columns else "snappy"
        codec = {"UNCOMPRESSED": "none"}.get(packed, packed.lower())
        first, size = 1, 0
        waiting: list[Any] = []
        with parquet.ParquetWriter(target, file.schema_arrow, compression=codec) as out:
            for batch in file.iter_batches(BATCH_ROWS):
                number = np.arange(first, first + batch.num_rows)
                waiting.append(batch.filter(column_of(~np.isin(number, gone))))
                first += batch.num_rows
                size += waiting[-1].nbytes
                if size >= _GROUP:
                    out.write_table(arrow.Table.from_batches(waiting))
                    waiting, size = [], 0
            if waiting:
                out.write_table(arrow.Table.from_batches(waiting))


def _copy_lines(stream: BinaryIO, name: str, target: IO[Any], gone: npt.NDArray[np.int64]) -> None:
    left = iter(gone.tolist())
    following = next(left, 0)
    asked, number = Asked(0), 1
    with packed(target, name) as out:
        try:
            lines = plain(stream, name, asked)
            # In pieces, as a line may be larger than the memory.
            while piece := lines.readline(_PIECE):
                if number != following:
                    out.write(piece)
                    asked.unpacked.used(len(piece))
                if piece.endswith(b"\n"):
                    following = next(left, 0) if number == following else following
                    number += 1
        except BROKEN as error:
            raise StoreError(f"{name}: can't be read to its end: {error}") from error
