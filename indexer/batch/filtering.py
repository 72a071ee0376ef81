"""Write the documents to keep, each file in its own format."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from indexer.batch.arrow import arrow, compute, parquet, schema_of
from indexer.batch.clusters.clustering import BEFORE
from indexer.batch.copying import DECIDED, Output
from indexer.batch.form import read_footer
from indexer.batch.reading import CLUSTERS, clustering_of
from indexer.batch.sketches.parts import SKETCHES, Part, parts_of
from indexer.errors import StoreError, UsageError
from indexer.ingest.remote import is_remote
from indexer.ingest.sources import Rejected, Sources
from indexer.model import own_files
from indexer.model.counts import Filtered
from indexer.model.paths import printable_path
from indexer.text.counts import counted

_REMOVED = schema_of(
    "source string, row int64, id string, duplicate_of string, similarity double, cluster string, reason string, "
    "relation string, evidence string"
)
_HOW = ("relation", "evidence")
_OF = {"similarity": "duplicate_similarity"}
# Why a document is not kept.
_REPEATS, _REPLACED, _FEW_ORIGINS, _NO_CLUSTER = "repeats", "replaced", "few-origins", "no-cluster"


def removed_file(out: str) -> str:
    return os.path.normpath(out) + ".removed.parquet"


def write_parts(chosen: Iterable[tuple[Part, Path]], output: Output, standing: Any) -> None:
    """Write the documents to keep of parts, each with its file of clusters; the ids `standing` stay.

    Raises StoreError.
    """
    with store_errors(output.out):
        for part, path in chosen:
            decided = _decided(path, output, standing)
            output.way_of(part)(part, decided, read_footer(os.fspath(path), CLUSTERS), output)


@contextmanager
def store_errors(out: str) -> Iterator[None]:
    try:
        yield
    except (OSError, arrow.ArrowException) as error:
        named = getattr(error, "filename", None) or out
        raise StoreError(f"{named}: {getattr(error, 'strerror', None) or error}") from error


def keep(
    paths: Sequence[str],
    clusters: str,
    output: Output,
    *,
    against: Sequence[str] = (),
    unverified: bool = False,
    parts: Sequence[Part] | None = None,
    write: Callable[[Sequence[tuple[Part, Path]], Output, Any], None] = write_parts,
) -> Filtered:
    """Write the documents to keep of the named files to `output`, and list the others in `removed_file`.

    The clusters decide: each removed document is near a kept one, and unless sketches alone were to decide, says the
    same. Of several documents with one id the last one counts; documents without text are kept. The kept neighbour of a
    removed document is kept with it, or belongs to a batch in `against`, folders of sketches of documents kept
    elsewhere. `parts` are the parts of the paths, if known. `write` does the work of `write_parts`. Clusters of fewer
    than `output.min_origins` origins are left out as a whole, and documents in no cluster if `output.singletons` is
    false.

    Raises UsageError for an output inside of the input; for files in object stores, changed since their sketches, or
    never sketched; if the kept neighbour of a removed document would be lost; and if a simhash alone decided without
    explicit consent. Raises StoreError if something can't be written.
    """
    done = Filtered()
    if parts is None:
        sources = Sources(list(paths))
        parts = parts_to_write(sources, (*paths, clusters), output)
        done.left_out = sources.passed_over.total
    known = _clusters_of(clusters, unverified=unverified)
    # What can't be done is said before anything is written.
    chosen = [(part, _found(part, known, clusters)) for part in parts]
    if not output.tag:
        _require_kept([path for _, path in chosen], clusters, against)
    standing = _standing(clusters, output)
    out = output.out
    with store_errors(out):
        Path(out).mkdir(parents=True, exist_ok=True)
        write(chosen, output, standing)
        own_files.remove_left(os.path.dirname(removed_file(out)) or os.curdir)
        with (
            own_files.written_whole(removed_file(out)) as file,
            parquet.ParquetWriter(file, _REMOVED, compression="zstd") as listed,
        ):
            for part, path in chosen:
                decided = _decided(path, output, standing)
                gone = decided.filter(compute.invert(decided["keep"]))
                reasons = Counter(gone["reason"].to_pylist())
                footer = read_footer(os.fspath(path), CLUSTERS)
                done.short += footer["short"]
                done.empty += footer["empty"]
                done.files += len(part.files)
                done.documents += decided.num_rows
                done.kept += decided.num_rows - gone.num_rows
                done.removed += reasons[_REPEATS]
                done.replaced += reasons[_REPLACED]
                done.few_origins += reasons[_FEW_ORIGINS]
                done.singletons += reasons[_NO_CLUSTER]
                columns = [_sources(part, gone["row"]), *(gone[_OF.get(name, name)] for name in _REMOVED.names[1:])]
                listed.write_table(arrow.Table.from_arrays(columns, schema=_REMOVED))
    return done


def _sources(part: Part, rows: Any) -> Any:
    if part.together and part.reader is None:
        return arrow.array([printable_path(part.files[row - 1].path) for row in rows.to_pylist()], arrow.string())
    return arrow.repeat(printable_path(part.path), len(rows))


def _decided(path: Path, output: Output, standing: Any) -> Any:
    table = parquet.read_table(path, columns=[*DECIDED, *_HOW, "size", "origins"]).combine_chunks()
    columns = {name: table[name].combine_chunks() for name in table.schema.names}
    surplus = compute.if_else(compute.is_null(columns["cluster"]), _reason(_REPLACED), _reason(_REPEATS))
    repeats = compute.if_else(columns["keep"], _reason(None), surplus)
    unwanted = _unwanted(columns["size"], columns["origins"], output)
    stands = compute.is_in(columns["id"], value_set=standing)
    reason = compute.coalesce(compute.if_else(stands, _reason(None), unwanted), repeats)
    columns |= {"keep": compute.is_null(reason), "reason": reason}
    repeats = compute.equal(reason, _reason(_REPEATS))
    columns |= {name: compute.if_else(repeats, columns[name], _reason(None)) for name in _HOW}
    names = [*DECIDED, "reason", *_HOW]
    return arrow.RecordBatch.from_arrays([columns[name] for name in names], names=names)


def _unwanted(size: Any, origins: Any, output: Output) -> Any:
    alone, few = compute.equal(size, 1), compute.less(origins, output.min_origins)
    single = _reason(None if output.singletons else _NO_CLUSTER)
    return compute.if_else(alone, single, compute.if_else(few, _reason(_FEW_ORIGINS), _reason(None)))


def _reason(name: str | None) -> Any:
    return arrow.scalar(name, arrow.string())


def _standing(clusters: str, output: Output) -> Any:
    found = [arrow.array([], arrow.string())]
    for path in _files_of(clusters) if output.min_origins > 1 or not output.singletons else ():
        table = parquet.read_table(path, columns=["duplicate_of", "size", "origins"])
        stays = compute.is_null(_unwanted(table["size"], table["origins"], output))
        stays = compute.and_(stays, table["size"].is_valid())
        found.append(compute.unique(table["duplicate_of"].filter(stays).drop_null()))
    return compute.unique(arrow.chunked_array(found, arrow.string()))


def parts_to_write(sources: Sources, apart: Sequence[str], output: Output) -> list[Part]:
    """The parts of the named files. Raises UsageError if they can't be written, or lie in the output."""
    _require_apart(output.out, apart)
    rejected: list[Rejected] = []
    parts = parts_of(sources, rejected.append)
    if rejected:
        raise UsageError(f"{rejected[0].source}: {rejected[0].detail}; nothing was written")
    for part in parts:
        output.require_possible(part)
    _require_room(output, parts)
    return parts


def _require_apart(out: str, given: Sequence[str]) -> None:
    whole = os.path.realpath(out)
    for name in given:
        read_from = os.path.realpath(name)
        if not is_remote(name) and (whole == read_from or whole.startswith(os.path.join(read_from, ""))):
            raise UsageError(f"--out {out}: lies inside {name}, a folder to be read; name a folder beside it")


def _require_room(output: Output, parts: Sequence[Part]) -> None:
    out = output.out
    if os.path.lexists(out) and (not os.path.isdir(out) or os.listdir(out)):
        raise UsageError(f"--out {out}: is {'not empty' if os.path.isdir(out) else 'a file'}; name a new folder")
    targets: dict[Path, str] = {}
    for target, path in (each for part in parts for each in output.targets(part)):
        other = targets.setdefault(target, path)
        if other != path:
            raise UsageError(f"{path} and {other} would be one file in {out}; name the folder of both")


def _require_kept(chosen: Sequence[Path], clusters: str, against: Sequence[str]) -> None:
    """Raise UsageError, with the file, if the kept neighbour of a removed document is neither in these files nor
    elsewhere.
    """
    names = ["id", "cluster", "keep"]
    asked: list[list[Any]] = [[arrow.array([], arrow.string())], [arrow.array([], arrow.string())]]
    for path in chosen:
        table = parquet.read_table(path, columns=[*names, "duplicate_of"])
        counts = table["cluster"].is_valid()
        asked[0] += table["id"].filter(compute.invert(counts)).chunks
        asked[1] += table["duplicate_of"].filter(compute.and_not(counts, table["keep"])).chunks
    left = [compute.unique(arrow.chunked_array(each)) for each in asked]
    for path in (*chosen, *(path for path in _files_of(clusters) if _is_of(path, against))):
        table = parquet.read_table(path, columns=names)
        for number, there in enumerate((table["cluster"].is_valid(), table["keep"])):
            found = compute.is_in(left[number], value_set=table["id"].filter(there).combine_chunks())
            left[number] = left[number].filter(compute.invert(found))
    missing = {name for each in left for name in each.to_pylist()}
    for path in _files_of(clusters) if missing else ():
        table = parquet.read_table(path, columns=names)
        for name in table["id"].filter(table["cluster"].is_valid()).to_pylist():
            if name in missing:
                place = read_footer(os.fspath(path), CLUSTERS)["input"]
                raise UsageError(
                    f"{place}: {name!r} of it, or what it repeats, stands for a document that would be removed, and "
                    f"would not be kept with the rest ({counted(len(missing), 'document')} in all); name its file "
                    f"too, or with --against the batch that keeps it; if it is gone, run neardup batch sketch and "
                    f"cluster again; nothing was written"
                )
    if missing:
        raise StoreError(f"{clusters}: does not hold {min(missing)!r}, the kept copy of others; cluster again")


def _files_of(folder: str) -> list[Path]:
    return sorted(path for kind in (CLUSTERS, BEFORE) for path in Path(folder, kind).glob("*.parquet"))


def _is_of(path: Path, batches: Sequence[str]) -> bool:
    for batch in batches:
        sketched = Path(batch, SKETCHES, path.name)
        if sketched.exists():
            state = read_footer(os.fspath(sketched), SKETCHES)["state"]
            if read_footer(os.fspath(path), CLUSTERS)["state"] == state:
                return True
    return False


def _clusters_of(folder: str, *, unverified: bool) -> dict[str, Path]:
    clustering_of(folder)
    found = {}
    for path in sorted(Path(folder, CLUSTERS).glob("*.parquet")):
        footer = read_footer(os.fspath(path), CLUSTERS)
        if footer["by_hash_alone"] and footer["verify"] == "sketch" and not unverified:
            raise UsageError(
                f"the clusters were made by {footer['rule']} alone, which also calls documents near that share nothing "
                "but their language; cluster with --verify text, by a verified rule, or say --unverified"
            )
        found[footer["input"]] = path
    return found


def _found(part: Part, known: dict[str, Path], folder: str) -> Path:
    named = printable_path(part.path)
    path = known.get(part.place)
    if path is None:
        raise UsageError(f"{named}: has no clusters in {folder}; run neardup batch sketch and cluster over it first")
    if read_footer(os.fspath(path), CLUSTERS)["state"] != part.state():
        raise UsageError(f"{named}: has changed since it was sketched; run neardup batch sketch and cluster again")
    return path
