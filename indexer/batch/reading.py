"""Read the sketches of folders."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import arrow, column_of, compute, joined_of, parquet
from indexer.batch.form import OLDER_CLUSTER, OLDER_KEEP, Form, cluster_schema, form_of, read_footer
from indexer.batch.sketches.parts import SKETCHES, input_order
from indexer.batch.sketches.sketching import sketch_files
from indexer.clustering.canonical import CanonicalRule
from indexer.core.text import Tokens, hash_tokens
from indexer.errors import StoreError, UsageError
from indexer.matching.rule import LEAN_RULE, MatchRule, TextVerification, parse_rule
from indexer.model import SIMHASH_DOC, SIZE_CLASSES, Record, Ref, size_class
from indexer.model.kinds import kind_named
from indexer.schemes import registry
from indexer.schemes.base import Positions, Scheme
from indexer.text.counts import counted

CLUSTERS = "clusters"
SUMMARY = "clustering.json"
_SHOWN = 10
_ROWS = 1 << 16
OLDER = {OLDER_CLUSTER: "cluster", OLDER_KEEP: "keep"}


@dataclass(frozen=True)
class Sketched:
    """The sketches of a folder: `files`, all of one form; document i of all is at `offsets` in them.

    The files come in the order of walking the folders of the input, whatever their names. An older folder's come before
    them, with `older` files and clusters of its own.
    """

    files: tuple[Path, ...]
    form: Form
    offsets: Positions
    older: int = 0

    @classmethod
    def of(cls, folder: str, against: str | None = None) -> Sketched:
        """The sketches of a folder, with `against` after those of an older one.

        Raises StoreError, and IncompatibleStoreError for files of several forms.
        """
        before = _as_arrived(sketch_files(against)) if against else []
        if against:
            clustering_of(against)
        files = (*before, *_as_arrived(sketch_files(folder)))
        forms = [form_of(read_footer(os.fspath(path), SKETCHES)) for path in files]
        for path, form in zip(files, forms, strict=True):
            forms[0].require_same(form, os.fspath(path), os.fspath(files[0]))
        rows = [parquet.read_metadata(path).num_rows for path in files]
        return cls(files, forms[0], np.cumsum([0, *rows]), len(before))

    def __len__(self) -> int:
        return int(self.offsets[-1])

    @property
    def first_new(self) -> int:
        return int(self.offsets[self.older])

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[int, Any]]:
        for number in range(len(self.files)):
            yield from self.batches_in(number, columns)

    def batches_in(self, number: int, columns: Sequence[str]) -> Iterator[tuple[int, Any]]:
        path, start = self.files[number], int(self.offsets[number])
        if OLDER_CLUSTER not in columns:
            yield from batches_of(path, start, columns)
            return
        known = clusters_of(path, list(OLDER.values())) if number < self.older else None
        for place, batch in batches_of(path, start, [name for name in columns if name not in OLDER]):
            if known is None:
                parts = [arrow.nulls(batch.num_rows, cluster_schema().field(there).type) for there in OLDER.values()]
            else:
                decided = known.slice(place - start, batch.num_rows).combine_chunks()
                parts = [decided[there].combine_chunks() for there in OLDER.values()]
            names = [*batch.schema.names, *OLDER]
            yield place, arrow.RecordBatch.from_arrays([*batch.columns, *parts], names=names)

    def bytes_of(self, columns: Sequence[str]) -> int:
        total = 0
        for path in self.files:
            known = parquet.read_metadata(path)
            for group in (known.row_group(number) for number in range(known.num_row_groups)):
                chunks = (group.column(number) for number in range(group.num_columns))
                total += sum(
                    one.total_uncompressed_size for one in chunks if one.path_in_schema.partition(".")[0] in columns
                )
        return total

    def lacking(self, canonical: CanonicalRule) -> int:
        """The number of documents without the field of a canonical rule. Raises UsageError if all are."""
        if not canonical.field:
            return 0
        texts = (text for _, batch in self.batches(["metadata"]) for text in batch["metadata"].to_pylist())
        found = (canonical.has_fields(Record(Ref(""), metadata=json.loads(text) if text else {}), {}) for text in texts)
        count = sum(not there for there in found)
        if count and count == len(self):
            raise UsageError(f"of {counted(count, 'document')} none has {canonical.field!r}")
        return count

    @property
    def without(self) -> npt.NDArray[np.bool_]:
        return self._same[0]

    @property
    def differing(self) -> Differing:
        return self._same[1]

    @cached_property
    def _same(self) -> tuple[npt.NDArray[np.bool_], Differing]:
        hashes = [id_hashes(batch["id"]) for _, batch in self.batches(["id"])]
        suspects = _alike(hashes)
        ids, texts = list[str](), list[bytes | None]()
        for _, batch in taken(self.batches(["id", *TEXT_COLUMNS]) if suspects.size else (), suspects):
            ids += batch["id"].to_pylist()
            columns = (batch[name].to_pylist() for name in TEXT_COLUMNS)
            texts += [None if failed is not None else digest or b"" for digest, failed in zip(*columns, strict=True)]
        without = np.zeros(len(self), dtype=np.bool_)
        last = dict(zip(ids, zip(suspects.tolist(), texts, strict=True), strict=True))
        without[suspects] = True
        without[[place for place, _ in last.values()]] = False
        differing = Differing()
        for name, place, text in zip(ids, suspects.tolist(), texts, strict=True):
            other, later = last[name]
            if self.first_new <= place != other and (text is None or text != later):
                differing.add(name, self.input_of(place), self.input_of(other))
        return without, differing

    def input_of(self, place: int) -> str:
        number = int(np.searchsorted(self.offsets, place, side="right")) - 1
        return str(read_footer(os.fspath(self.files[number]), SKETCHES)["input"])


def _alike(hashes: Sequence[npt.NDArray[np.uint64]]) -> npt.NDArray[np.int64]:
    together = np.concatenate([np.empty(0, dtype=np.uint64), *hashes])
    _, number, counts = np.unique(together, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[number] > 1)


@dataclass(slots=True)
class Differing:
    """The number of documents of a batch with the id of a later one and another text, and the first of them by id."""

    count: int = 0
    first: tuple[str, str, str] = ("", "", "")

    def add(self, name: str, place: str, later: str) -> None:
        self.first = min(self.first, (name, place, later)) if self.count else (name, place, later)
        self.count += 1

    def require_none(self) -> None:
        name, place, later = self.first
        if self.count:
            where = f"in {place}" if place == later else f"in {place} and {later}"
            raise UsageError(
                f"the id {name!r} has different texts {where}, and so have {counted(self.count, 'document')} in all: "
                "they would be taken for earlier versions and removed; sketch again with ids that tell documents apart "
                "(--id-field, --id-from), or let the last one count with --latest"
            )


TEXT_COLUMNS = ("text_digest", "failed")


def taken(batches: Iterable[tuple[int, Any]], wanted: Positions) -> Iterator[tuple[slice, Any]]:
    """The documents at rising places, batch by batch, each with its part of `wanted`."""
    for place, batch in batches:
        start, end = np.searchsorted(wanted, (place, place + batch.num_rows)).tolist()
        if start < end:
            yield slice(start, end), batch.take(column_of(wanted[start:end] - place))


def _as_arrived(files: Sequence[Path]) -> list[Path]:
    return sorted(files, key=lambda path: input_order(read_footer(os.fspath(path), SKETCHES)))


def clustering_of(folder: str) -> dict[str, Any]:
    try:
        said: dict[str, Any] = json.loads(Path(folder, SUMMARY).read_bytes())
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{folder}: has no finished clusters ({error}); make them with neardup batch cluster"
        ) from error
    if "verify" not in said:
        raise StoreError(f"{folder}: its clusters were made by another version; run neardup batch cluster again")
    return said


def figures(folder: str) -> dict[str, Any]:
    """The figures of `clustering.json`, and of the files of clusters: the number of each size, and the largest.

    Raises StoreError if the clusters are unfinished, or can't be read.
    """
    said = clustering_of(folder)
    sizes = Counter({name: 0 for _, name in reversed(SIZE_CLASSES)})
    largest: list[dict[str, Any]] = []
    spanning = 0
    for path in sorted(Path(folder, CLUSTERS).glob("*.parquet")):
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=["id", "cluster", "is_canonical", "size", "origins"]):
                first = compute.and_(batch["is_canonical"], compute.greater(batch["size"], 1))
                found = batch.filter(first)
                for counted in compute.value_counts(found["size"]).to_pylist():
                    sizes[size_class(counted["values"])] += counted["counts"]
                spanning += compute.sum(compute.greater(found["origins"], 1)).as_py() or 0
                order = compute.sort_indices(found["size"], sort_keys=[("", "descending")])[:_SHOWN]
                largest += [
                    {"cluster": row["cluster"], "size": row["size"], "canonical": row["id"]}
                    for row in found.take(order).to_pylist()
                ]
        largest = sorted(largest, key=lambda one: (-one["size"], one["cluster"]))[:_SHOWN]
    share = said["removed"] / (said["kept"] + said["removed"]) if said["removed"] else 0.0
    return {
        **said, "could_go": said["removed"], "could_go_share": round(share, 4), "spanning": spanning,
        "sizes": dict(sizes), "largest_clusters": largest,
    }  # fmt: skip


def form_in(folder: str) -> Form:
    return form_of(read_footer(os.fspath(sketch_files(folder)[0]), SKETCHES))


def clusters_of(path: Path, columns: Sequence[str], folder: Path | None = None) -> Any:
    """The clusters of the documents of a file of sketches, in its order, from the folder beside it or another one.

    Raises StoreError if they are of others.
    """
    clusters = (folder or path.parent.parent / CLUSTERS) / path.name
    try:
        found = parquet.read_table(clusters, columns=list(columns))
    except (OSError, arrow.ArrowException) as error:
        raise StoreError(f"{clusters}: can't be read: {error}; run neardup batch cluster again") from error
    if read_footer(os.fspath(clusters), CLUSTERS)["state"] != read_footer(os.fspath(path), SKETCHES)["state"]:
        raise StoreError(f"{clusters}: the sketches have changed since; run neardup batch cluster again")
    return found


def batches_of(path: Path, place: int, columns: Sequence[str]) -> Iterator[tuple[int, Any]]:
    """(place of its first document, batch) of a file whose first document is at `place`. Raises StoreError."""
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_ROWS, columns=list(columns)):
                yield place, batch
                place += batch.num_rows
    except (OSError, arrow.ArrowException) as error:
        raise StoreError(f"{path}: can't be read: {error}; remove it, and run neardup batch sketch again") from error


def id_hashes(ids: Any) -> npt.NDArray[np.uint64]:
    texts = joined_of(ids)
    return hash_tokens(Tokens(bytes(texts.data), texts.starts, texts.ends))


def rule_of(form: Form, text: str | None) -> MatchRule:
    """The requested rule, by the schemes of the sketches; by default the one of a store with them.

    Raises UsageError for a scheme without sketches, for a rule that verifies by reading, and for a rule of parts:
    clusters of a batch are there to filter by.
    """

    def scheme(name: str) -> Scheme:
        family, parameters = registry.split(name)
        own = form.scheme(family)
        if own is None:
            there = ", ".join((SIMHASH_DOC, *form.schemes))
            raise UsageError(f"there are no sketches of {family}, only of {there}; sketch again with --scheme {family}")
        if parameters and registry.scheme(name).id != own.id:
            raise UsageError(f"{name}: the sketches are of {own.id}; name {family} alone")
        return own

    if text:
        # What finds parts is refused whatever sketches there are: to make those would be no help.
        parse_rule(text).require_copies()
    kind = kind_named(form.texts)
    has_them = all(form.scheme(registry.family_of(each)) for each in kind.schemes)
    rule = parse_rule(text or (kind.rule if has_them else LEAN_RULE), scheme=scheme)
    if isinstance(rule.verifier, TextVerification):
        raise UsageError(f"{rule}: a batch has no texts to read again; verify by a sketch")
    rule.require_copies()
    return rule
