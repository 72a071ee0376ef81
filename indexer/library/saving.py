"""Save an index in memory: numpy arrays in a ZIP file, without code."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.errors import NeardupError, StoreError
from indexer.matching.rule import MatchRule, parse_rule
from indexer.model import own_files
from indexer.model.ragged import Ragged
from indexer.schemes.base import Positions

FORMAT = "neardup-memory-index 1"

PairedPositions = tuple[Positions, Positions]


@dataclass(frozen=True, slots=True)
class Saved:
    """The content of a file: `postings[family]` are keys in order, with the place of each holder in `ids`."""

    rule: MatchRule
    ids: Sequence[str | int]
    payloads: Mapping[str, Ragged]
    postings: Mapping[str, PairedPositions]


def save(
    path: str | os.PathLike[str], rule: MatchRule, ids: Sequence[Any], payloads: Mapping[str, Ragged],
    postings: Mapping[str, PairedPositions],
) -> None:  # fmt: skip
    """Write an index. Raises StoreError."""
    header = json.dumps({"format": FORMAT, "rule": rule.written(whole=True), "ids": list(ids)})
    arrays: dict[str, npt.NDArray[Any]] = {"header": np.frombuffer(header.encode(), dtype=np.uint8)}
    for name, rows in payloads.items():
        arrays |= {f"{name}.payloads": rows.values, f"{name}.offsets": rows.offsets}
    for name, (keys, owners) in postings.items():
        arrays |= {f"{name}.keys": keys, f"{name}.owners": owners}
    try:
        with own_files.written_whole(path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        raise StoreError(f"{os.fspath(path)}: the index can't be written: {error.strerror}") from error


def load(path: str | os.PathLike[str]) -> Saved:
    """Read an index. Raises StoreError."""
    try:
        with open(path, "rb", opener=own_files.reader) as file, np.load(file, allow_pickle=False) as arrays:
            return _read(arrays)
    except OSError as error:
        raise StoreError(f"{os.fspath(path)}: the index can't be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, EOFError, RecursionError, zipfile.BadZipFile, NeardupError) as error:
        raise StoreError(
            f"{os.fspath(path)}: is damaged, or no index of this version; save it again ({error})"
        ) from error


def _read(arrays: Any) -> Saved:
    header = json.loads(arrays["header"].tobytes())
    if header["format"] != FORMAT:
        raise ValueError(header["format"])
    rule, ids = parse_rule(header["rule"]), header["ids"]
    if not all(type(one) in (str, int) for one in ids) or len(set(ids)) < len(ids):
        raise ValueError("ids")
    payloads = {name: _payloads(arrays, name, len(ids)) for name in rule.schemes}
    postings = {finder.name: _postings(arrays, finder.name, len(ids)) for finder in rule.finders}
    for name, scheme in rule.schemes.items():
        # One comparison with each tells a payload of another scheme.
        rows = payloads[name]
        there = rows.take(np.flatnonzero(rows.sizes))
        if len(there):
            scheme.similarities(there.bytes_of(0), [there.bytes_of(place) for place in range(len(there))])
    return Saved(rule, ids, payloads, postings)


def _payloads(arrays: Any, name: str, count: int) -> Ragged:
    values, offsets = arrays[f"{name}.payloads"], arrays[f"{name}.offsets"]
    rises = offsets.size and offsets[0] == 0 and offsets[-1] == values.size and (offsets[1:] >= offsets[:-1]).all()
    if values.dtype != np.uint8 or offsets.dtype != np.int64 or offsets.shape != (count + 1,) or not rises:
        raise ValueError(f"{name}.payloads")
    return Ragged(values, offsets)


def _postings(arrays: Any, name: str, count: int) -> PairedPositions:
    keys, owners = arrays[f"{name}.keys"], arrays[f"{name}.owners"].astype(np.int64, casting="safe")
    if keys.dtype != np.int64 or keys.ndim != 1 or keys.shape != owners.shape:
        raise ValueError(f"{name}.keys")
    if owners.size and not 0 <= int(owners.min()) <= int(owners.max()) < count:
        raise ValueError(f"{name}.owners")
    return keys, owners
