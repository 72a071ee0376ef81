"""Near-duplicate pairs of stored documents, as a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from indexer import own_files
from indexer.cluster import read_documents
from indexer.errors import NeardupError, UsageError
from indexer.hamming import HammingIndex
from indexer.model import DEFAULT_DISTANCE, Ref, parse_fingerprint
from indexer.pairs import iter_pairs
from indexer.placing import READ_AT_ONCE, Collection
from indexer.refs import RefTable
from indexer.stores.base import Store

_LONGEST_LINE = 1 << 20


class StorePair(NamedTuple):
    """Two documents and the Hamming distance of their fingerprints, 0 to 64 bits.

    `measured` is the similarity by another scheme, where that found them; the distance is then the dissimilarity in
    64ths, rounded up.
    """

    left: Ref
    right: Ref
    distance: int
    measured: float | None = None

    @property
    def similarity(self) -> float:
        """What was measured, else 1 - distance / 64."""
        return 1.0 - self.distance / 64.0 if self.measured is None else self.measured


def pairs_of_store(
    store: Store,
    distance: int = DEFAULT_DISTANCE,
    *,
    collapse: bool = False,
    include_short: bool = False,
    threads: int | None = None,
) -> Iterator[StorePair]:
    """Every pair of documents within `distance` bits (0 to 16), once, in no given order.

    With `collapse` each distinct fingerprint is stood for by one document, and the others that have it are paired with
    that one only. Memory: some 60 octets a document beside its id, and a few blocks of pairs.
    """
    documents = read_documents(store, include_short=include_short)
    for block in iter_pairs(documents.values, distance, threads, collapse=collapse):
        for start in range(0, block.left.size, READ_AT_ONCE):
            some = slice(start, start + READ_AT_ONCE)
            left, right = documents.refs.take(block.left[some]), documents.refs.take(block.right[some])
            yield from map(StorePair, left, right, block.distance[some].tolist())


def pairs_between(
    store: Store, other: Collection, distance: int = DEFAULT_DISTANCE, *, include_short: bool = False
) -> Iterator[StorePair]:
    """Every pair of a document of the store (left) and one of another collection (right) within `distance` bits.

    Documents that have one identity in both are compared like any others. Memory: 8 * distance + 32 octets for each
    document of the other collection, beside its id; the store is streamed.
    """
    index = HammingIndex(other.values, distance)
    for batch in store.scan_values(include_short=include_short):
        for start in range(0, len(batch.refs), READ_AT_ONCE):
            refs = batch.refs[start : start + READ_AT_ONCE]
            found = index.search(batch.values[start : start + READ_AT_ONCE])
            for query, position, apart in zip(
                found.query.tolist(), found.position.tolist(), found.distance.tolist(), strict=True
            ):
                yield StorePair(refs[query], other.refs.take([position])[0], apart)


def read_list(path: Path) -> Collection:
    """Documents from a file of JSON lines with "hash", and "id" or "name", as `neardup hash --json` prints them.

    Lines with a null hash are passed over. Raises UsageError that names the file and the line.
    """
    refs = RefTable()
    values: list[int] = []
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=own_files.reader) as lines:
            for number, (identity, value) in _listed(iter(lambda: lines.readline(_LONGEST_LINE), "")):
                if value is not None:
                    refs.extend((Ref(identity or f"line {number}"),))
                    values.append(value)
    except OSError as error:
        raise UsageError(f"{path}: can't be read: {error.strerror}") from error
    except NeardupError as error:
        raise UsageError(f"{path}: {error}") from error
    return Collection(refs, np.array(values, dtype=np.uint64))


def _listed(lines: Iterable[str]) -> Iterator[tuple[int, tuple[str, int | None]]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            text = entry["hash"]
            value = None if text is None else parse_fingerprint(text).value
            yield number, (str(entry.get("id", entry.get("name", ""))), value)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(f'line {number} is no JSON object with "hash" and "id" or "name"') from error
        except UsageError as error:
            raise UsageError(f"line {number}: {error}") from error


def is_store(name: str) -> bool:
    """Whether a name is that of a store, by its being a URL or by the first octets of the file."""
    return "://" in name or own_files.is_database(name)


def batched(pairs: Iterable[StorePair], size: int) -> Iterator[list[StorePair]]:
    """Pairs in lists of `size`."""
    iterator = iter(pairs)
    while some := list(islice(iterator, size)):
        yield some
