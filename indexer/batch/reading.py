"""The sketches of folders, read back, and which rules they can be compared by."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer import core
from indexer.batch.arrow import arrow, column_of, joined_of, parquet
from indexer.batch.clusters.grouping import OLDER_CLUSTER, replaced
from indexer.batch.form import Form, form_of, read_footer
from indexer.batch.sketches.inputs import SKETCHES
from indexer.batch.sketches.sketching import sketch_files
from indexer.clustering.canonical import CanonicalRule
from indexer.errors import StoreError, UsageError
from indexer.matching.rule import LEAN_RULE, PREFERRED, MatchRule, Reading, parse_rule, verified_text
from indexer.model import SIMHASH_DOC
from indexer.model.tokens import Tokens
from indexer.schemes import registry
from indexer.schemes.base import Positions, Scheme

CLUSTERS = "clusters"
SUMMARY = "clustering.json"
_ROWS = 1 << 16


@dataclass(frozen=True)
class Sketched:
    """The sketches of a folder: `files` by name, all of one form; document i of all stands in them at `offsets`.

    With those of an older folder before them, which has `older` files and clusters of its own.
    """

    files: tuple[Path, ...]
    form: Form
    offsets: Positions
    older: int = 0

    @classmethod
    def of(cls, folder: str, against: str | None = None) -> Sketched:
        """Those of a folder, with `against` those of an older one before them.

        Raises StoreError, and IncompatibleStoreError where the files are of several forms.
        """
        before = sketch_files(against) if against else []
        if against:
            clustering_of(against)
        files = (*before, *sketch_files(folder))
        forms = [form_of(read_footer(os.fspath(path), SKETCHES)) for path in files]
        for path, form in zip(files, forms, strict=True):
            forms[0].require_same(form, os.fspath(path), os.fspath(files[0]))
        rows = [parquet.read_metadata(path).num_rows for path in files]
        return cls(files, forms[0], np.cumsum([0, *rows]), len(before))

    def __len__(self) -> int:
        return int(self.offsets[-1])

    @property
    def first_new(self) -> int:
        """The place of the first document that is not of the older folder."""
        return int(self.offsets[self.older])

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[int, Any]]:
        """(place of its first document, batch) of all files, in order.

        A column OLDER_CLUSTER has the cluster that a document of the older folder was in, null for a new one.
        """
        for number in range(len(self.files)):
            yield from self.batches_in(number, columns)

    def batches_in(self, number: int, columns: Sequence[str]) -> Iterator[tuple[int, Any]]:
        """The same of one of the files."""
        path, start = self.files[number], int(self.offsets[number])
        if OLDER_CLUSTER not in columns:
            yield from batches_of(path, start, columns)
            return
        known = _known_clusters(path) if number < self.older else None
        for place, batch in batches_of(path, start, [name for name in columns if name != OLDER_CLUSTER]):
            part = arrow.nulls(batch.num_rows, arrow.string())
            if known is not None:
                part = known.slice(place - start, batch.num_rows)
            yield place, batch.append_column(OLDER_CLUSTER, part)

    def bytes_of(self, columns: Sequence[str]) -> int:
        """What these columns take, not compressed."""
        total = 0
        for path in self.files:
            known = parquet.read_metadata(path)
            for group in (known.row_group(number) for number in range(known.num_row_groups)):
                chunks = (group.column(number) for number in range(group.num_columns))
                total += sum(
                    one.total_uncompressed_size for one in chunks if one.path_in_schema.partition(".")[0] in columns
                )
        return total

    @cached_property
    def without(self) -> npt.NDArray[np.bool_]:
        """Which documents are replaced by a later one with the same id."""
        hashes, ids = [], list[str]()
        for _, batch in self.batches(["id"]):
            hashes.append(id_hashes(batch["id"]))
        suspects = replaced(hashes)
        without = np.zeros(len(self), dtype=np.bool_)
        for place, batch in self.batches(["id"]):
            inside = suspects[(suspects >= place) & (suspects < place + batch.num_rows)] - place
            ids += batch["id"].take(column_of(inside)).to_pylist()
        last = dict(zip(ids, suspects.tolist(), strict=True))
        without[suspects] = True
        without[list(last.values())] = False
        return without


def clustering_of(folder: str) -> dict[str, Any]:
    """What was noted of a folder's clusters when they were finished. Raises StoreError where they are not."""
    try:
        said: dict[str, Any] = json.loads(Path(folder, SUMMARY).read_bytes())
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{folder}: has no finished clusters ({error}); make them with neardup batch cluster"
        ) from error
    return said


def form_in(folder: str) -> Form:
    """What the sketches of a folder are made with, by its first file. Raises StoreError."""
    return form_of(read_footer(os.fspath(sketch_files(folder)[0]), SKETCHES))


def _known_clusters(path: Path) -> Any:
    """The clusters of the documents of a file of sketches, in its order. Raises StoreError where they are of others."""
    clusters = path.parent.parent / CLUSTERS / path.name
    try:
        found = parquet.read_table(clusters, columns=["cluster"])["cluster"].combine_chunks()
    except (OSError, arrow.ArrowException) as error:
        raise StoreError(f"{clusters}: can't be read: {error}; run neardup batch cluster again") from error
    if read_footer(os.fspath(clusters), CLUSTERS)["state"] != read_footer(os.fspath(path), SKETCHES)["state"]:
        raise StoreError(f"{clusters}: the sketches have changed since; run neardup batch cluster again")
    return found


def batches_of(path: Path, place: int, columns: Sequence[str]) -> Iterator[tuple[int, Any]]:
    """(place of its first document, batch) of a file whose first document stands at `place`. Raises StoreError."""
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_ROWS, columns=list(columns)):
                yield place, batch
                place += batch.num_rows
    except (OSError, arrow.ArrowException) as error:
        raise StoreError(f"{path}: can't be read: {error}; remove it, and run neardup batch sketch again") from error


def id_hashes(ids: Any) -> npt.NDArray[np.uint64]:
    """A hash of each id of a column."""
    texts = joined_of(ids)
    return core.hash_tokens(Tokens(bytes(texts.data), texts.starts, texts.ends))


def rule_of(form: Form, text: str | None) -> MatchRule:
    """The rule that is asked for, by the schemes that sketches are of; where none is, the one a store of them has.

    Raises UsageError for a scheme that there are no sketches of, and for a rule that verifies by reading.
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

    usual = verified_text() if form.scheme(PREFERRED) else LEAN_RULE
    rule = parse_rule(text or usual, scheme=scheme)
    if isinstance(rule.verifier, Reading):
        raise UsageError(f"{rule}: a batch has no texts to read again; verify by a sketch")
    return rule


def canonical_of(form: Form, asked: CanonicalRule | None) -> CanonicalRule:
    """The rule for the canonical document: earliest where a time is known, else longest, unless another is asked for.

    Raises UsageError for "earliest" without a time.
    """
    if asked is None:
        return CanonicalRule("earliest" if form.time_field else "longest")
    if asked.kind == "earliest" and not form.time_field:
        raise UsageError("--canonical earliest: the sketches have no time; sketch again with --time-field NAME")
    return asked
