"""An index of documents in memory: insert, query, remove, save and load."""

from __future__ import annotations

import json
import os
import threading
import zipfile
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.errors import NeardupError, StoreError, UsageError, shown, takes_named_arguments
from indexer.library.making import TextInput, all_sketches, is_many, sketches_of
from indexer.library.rows import Rows
from indexer.matching.lookups import plans, scans
from indexer.matching.rule import Finder, MatchRule, default_rule, parse_rule
from indexer.model import Sketch, own_files
from indexer.model.chunking import chunks
from indexer.model.ragged import Ragged
from indexer.schemes.base import SLACK, Positions
from indexer.text.counts import counted

_FORMAT = "neardup-memory-index 1"
# This many documents, and half of all, may be gone before their places are given away.
_FEW_GONE = 1000
# This many are compared at once, so that few payloads are copied.
_AT_ONCE = 1 << 14


@dataclass(frozen=True, slots=True)
class Near:
    """A document of an index near the query, and its similarity (0 to 1) by the rule's measure."""

    id: Any
    similarity: float


@takes_named_arguments
class MemoryIndex:
    """Documents in memory, found by a match rule, with the same answers as a store.

    `match` is a rule as in `parse_rule` (`minhash@0.7`) that compares sketches; None means the default rule of a new
    store. Ids are strings or integers. Texts may be given as features, see `sketches`. Threads may share an index: the
    core releases the GIL while it sketches, and other work takes turns. Memory: about 800 bytes a document with the
    default rule. Raises UsageError for a rule that reads texts.
    """

    def __init__(self, match: str | MatchRule | None = None) -> None:
        self.rule = rule_without_store(match)
        self._plans = plans(self.rule)
        self._ids: list[Hashable | None] = []
        self._place: dict[Hashable, int] = {}
        self._payloads: dict[str, list[bytes]] = {name: [] for name in self.rule.schemes}
        self._postings = {finder.name: _Postings() for finder in self.rule.finders}
        # Two calls may sketch at once; what they look at and change is looked at and changed by one.
        self._lock = threading.RLock()

    def insert(self, id: str | int, text: TextInput) -> None:  # noqa: A002 - what users call it
        """Insert a document; it replaces one with the same id."""
        self.insert_sketches(id, sketches_of(text, self.rule.schemes))

    def insert_many(self, documents: Iterable[tuple[str | int, TextInput]], *, threads: int | None = None) -> int:
        """Insert pairs of id and text, and return their number. `threads` defaults to the number of processors."""
        ids: list[str | int] = []
        if not is_many(documents):
            raise UsageError(f"documents are pairs of id and text, not {shown(documents)}")

        def texts() -> Iterator[TextInput]:
            for document in documents:
                if not isinstance(document, tuple | list) or len(document) != 2:
                    raise UsageError(f"document {len(ids) + 1}: is a pair of id and text, not {shown(document)}")
                ids.append(document[0])
                yield document[1]

        for count, sketches in enumerate(all_sketches(texts(), self.rule.schemes, threads)):
            self.insert_sketches(ids[count], sketches)
        return len(ids)

    def query(self, text: TextInput, *, limit: int | None = 10, at_least: float | None = None) -> Rows[Near]:
        """The documents near a text by the rule, the most similar first, ties in order of insertion.

        `limit` is the maximum number, None for all. `at_least` (0 to 1) replaces the rule's thresholds: below the
        rule's own every document is compared, and 0 returns the nearest ones, however distant.
        """
        return self.query_sketches(sketches_of(text, self.rule.schemes), limit, at_least)

    def query_many(
        self, texts: Iterable[TextInput], *, limit: int | None = 10, at_least: float | None = None,
        threads: int | None = None,
    ) -> Iterator[Rows[Near]]:  # fmt: skip
        """The answer for each text, in order. `threads` defaults to the number of processors."""
        for sketches in all_sketches(texts, self.rule.schemes, threads):
            yield self.query_sketches(sketches, limit, at_least)

    def remove(self, id: str | int) -> bool:  # noqa: A002
        """Remove a document; return whether there was one."""
        with self._lock:
            place = self._place.pop(id, None)
            if place is None:
                return False
            self._ids[place] = None
            for rows in self._payloads.values():
                rows[place] = b""
            if len(self._ids) - len(self._place) > max(_FEW_GONE, len(self._place)):
                self._compact()
            return True

    def __len__(self) -> int:
        return len(self._place)

    def __contains__(self, id: object) -> bool:  # noqa: A002
        return id in self._place

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._place))

    def __repr__(self) -> str:
        return f"MemoryIndex({str(self.rule)!r}): {counted(len(self), 'document')}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to one file: a new one first, then renamed. Raises StoreError."""
        with self._lock:
            self._compact()
            header = {"format": _FORMAT, "rule": self.rule.written(whole=True), "ids": list(self._place)}
            arrays: dict[str, npt.NDArray[Any]] = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
            for name, rows in self._payloads.items():
                packed = Ragged.of_bytes(rows)
                arrays |= {f"{name}.payloads": packed.values, f"{name}.offsets": packed.offsets}
            for name, table in self._postings.items():
                arrays[f"{name}.keys"], arrays[f"{name}.owners"] = table.in_order()
        try:
            with own_files.written_whole(path) as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]
        except OSError as error:
            raise StoreError(f"{os.fspath(path)}: the index can't be written: {error.strerror}") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MemoryIndex:
        """Load an index written by `save`: arrays of numpy without code.

        Raises StoreError for any other file, or a damaged one.
        """
        try:
            with open(path, "rb", opener=own_files.reader) as file, np.load(file, allow_pickle=False) as arrays:
                return cls._of(arrays)
        except OSError as error:
            raise StoreError(f"{os.fspath(path)}: the index can't be read: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError, EOFError, RecursionError, zipfile.BadZipFile, NeardupError) as error:
            raise StoreError(
                f"{os.fspath(path)}: is damaged, or no index of this version; save it again ({error})"
            ) from error

    @classmethod
    def _of(cls, arrays: Any) -> MemoryIndex:
        header = json.loads(arrays["header"].tobytes())
        if header["format"] != _FORMAT:
            raise ValueError(header["format"])
        index, ids = cls(parse_rule(header["rule"])), header["ids"]
        if not all(type(one) in (str, int) for one in ids) or len(set(ids)) < len(ids):
            raise ValueError("ids")
        index._ids, index._place = ids, {id_: place for place, id_ in enumerate(ids)}
        for name, scheme in index.rule.schemes.items():
            packed = _payloads(arrays, name, len(ids))
            rows = index._payloads[name] = [packed.bytes_of(place) for place in range(len(packed))]
            if there := list(filter(None, rows)):
                # One comparison with each tells a payload of another scheme.
                scheme.similarities(there[0], there)
        for name, table in index._postings.items():
            keys, owners = _saved_postings(arrays, name, len(ids))
            table.extend(owners, keys)
        return index

    def insert_sketches(self, id_: str | int, sketches: Mapping[str, Sketch | None]) -> None:
        """Insert a document by its sketches, as made by `neardup.library.making` for the rule's schemes."""
        if isinstance(id_, bool) or not isinstance(id_, str | int):
            raise UsageError(f"an id is a string or an integer, not {shown(id_)}")
        with self._lock:
            self.remove(id_)
            place = len(self._ids)
            self._ids.append(id_)
            self._place[id_] = place
            for name, rows in self._payloads.items():
                sketch = sketches[name]
                rows.append(sketch.payload if sketch else b"")
                if sketch and name in self._postings:
                    self._postings[name].add(place, sketch.keys)

    def query_sketches(
        self, asked: Mapping[str, Sketch | None], limit: int | None = 10, at_least: float | None = None
    ) -> Rows[Near]:
        """Like query(), with the sketches of the text."""
        if at_least is not None and not (isinstance(at_least, int | float) and 0 <= at_least <= 1):
            raise UsageError(f"at_least: a similarity is a number from 0 to 1, not {shown(at_least)}")
        if limit is not None and not (isinstance(limit, int) and limit >= 0):
            raise UsageError(f"limit: a whole number from 0, or None, not {shown(limit)}")
        measure = self.rule.measure
        assert isinstance(measure, Finder)  # noqa: S101 - the constructor refuses others
        sketch = asked[measure.name]
        if sketch is None:
            return Rows(Near)
        with self._lock:
            if at_least is not None and scans(self.rule, at_least):
                places = list(self._place.values())
                near = np.ones(len(places), dtype=np.bool_)
            else:
                places = self._candidates(asked)
                near = self._found(asked, places)
            if not places:
                return Rows(Near)
            values = np.concatenate(
                [self._similarities(measure, sketch.payload, some) for some in chunks(places, _AT_ONCE)]
            )
            near &= values >= max((measure.similarity if at_least is None else at_least) - SLACK, 0.0)
            kept = np.flatnonzero(near)
            nearest = kept[np.argsort(-values[kept], kind="stable")][:limit]
            return Rows(Near, [Near(self._ids[places[place]], float(values[place])) for place in nearest.tolist()])

    def _candidates(self, asked: Mapping[str, Sketch | None]) -> list[int]:
        candidates: set[int] = set()
        for finder, plan in self._plans:
            sketch = asked[finder.name]
            if sketch is None:
                continue
            keys = list(dict.fromkeys(finder.scheme.probes(sketch, finder.similarity)))
            owners = self._postings[finder.name].owners(keys)
            if plan.agreeing == 1:
                candidates.update(*(holders for _, holders in owners))
                continue
            tables: dict[int, set[int]] = {}
            for key, holders in owners:
                for owner in holders:
                    tables.setdefault(owner, set()).add(key >> finder.scheme.layout.bits)
            candidates.update(owner for owner, met in tables.items() if len(met) >= plan.agreeing)
        return sorted(place for place in candidates if self._ids[place] is not None)

    def _found(self, asked: Mapping[str, Sketch | None], places: Sequence[int]) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(places), dtype=np.bool_)
        for finder in self.rule.finders:
            sketch = asked[finder.name]
            if sketch is not None and places:
                found |= self._similarities(finder, sketch.payload, places) >= finder.similarity - SLACK
        return found

    def _similarities(self, finder: Finder, payload: bytes, places: Sequence[int]) -> npt.NDArray[np.float64]:
        rows = self._payloads[finder.name]
        others = [rows[place] for place in places]
        if all(others):
            return finder.scheme.similarities(payload, others)
        similarities = np.full(len(places), -1.0)
        there = [number for number, sketch in enumerate(others) if sketch]
        similarities[there] = finder.scheme.similarities(payload, [others[number] for number in there])
        return similarities

    def _compact(self) -> None:
        kept = np.array([one is not None for one in self._ids], dtype=np.bool_)
        place = np.where(kept, np.cumsum(kept) - 1, -1)
        for postings in self._postings.values():
            postings.keep(place)
        numbers = np.flatnonzero(kept).tolist()
        self._ids = [self._ids[number] for number in numbers]
        self._place = {id_: number for number, id_ in enumerate(self._ids) if id_ is not None}
        self._payloads = {name: [rows[number] for number in numbers] for name, rows in self._payloads.items()}


def rule_without_store(match: str | MatchRule | None) -> MatchRule:
    """The parsed rule. Raises UsageError for one that reads texts, impossible without a store."""
    rule = default_rule() if match is None else match if isinstance(match, MatchRule) else parse_rule(match)
    if not isinstance(rule.measure, Finder):
        raise UsageError(f"{rule}: without a store texts can't be read again; verify by a sketch, as in +minhash@0.6")
    rule.require_symmetric()
    return rule


Owners = npt.NDArray[np.int32]

_SORTED_AFTER = 1 << 16


class _Postings:
    """The owners of packed keys: 12 bytes a key, and some 200 for recent unsorted ones."""

    def __init__(self) -> None:
        self._keys: Positions = np.empty(0, dtype=np.int64)
        self._owners: Owners = np.empty(0, dtype=np.int32)
        self._recent: dict[int, list[int]] = {}
        self._waiting = 0

    def add(self, owner: int, keys: Sequence[int]) -> None:
        for key in keys:
            self._recent.setdefault(key, []).append(owner)
        self._waiting += len(keys)
        # A share of what is there, so that each key is sorted a few times only, however many come.
        if self._waiting > max(_SORTED_AFTER, self._keys.size // 4):
            self._sort()

    def extend(self, owners: Positions, keys: Positions) -> None:
        """Note many keys, each with its owner: twice shape (n,)."""
        self._merge(keys, owners.astype(np.int32))

    def owners(self, keys: Sequence[int]) -> list[tuple[int, list[int]]]:
        """Of these keys the owned ones, with their owners; a key may come twice."""
        owned = [(key, self._recent[key]) for key in keys if key in self._recent]
        if self._keys.size:
            asked = np.array(keys, dtype=np.int64)
            starts = self._keys.searchsorted(asked)
            for place in np.flatnonzero(self._keys.take(starts, mode="clip") == asked).tolist():
                start, end = int(starts[place]), int(self._keys.searchsorted(asked[place], side="right"))
                owned.append((int(asked[place]), self._owners[start:end].tolist()))
        return owned

    def in_order(self) -> tuple[Positions, Positions]:
        """(keys, owners): every key, in order, with its owner."""
        self._sort()
        return self._keys, self._owners.astype(np.int64)

    def keep(self, place: Positions) -> None:
        self._sort()
        owners = place[self._owners]
        kept = owners >= 0
        self._keys, self._owners = self._keys[kept], owners[kept].astype(np.int32)

    def _sort(self) -> None:
        keys = [key for key, owners in self._recent.items() for _ in owners]
        owners = [owner for listed in self._recent.values() for owner in listed]
        self._recent, self._waiting = {}, 0
        self._merge(np.array(keys, dtype=np.int64), np.array(owners, dtype=np.int32))

    def _merge(self, keys: Positions, owners: Owners) -> None:
        every, owning = np.concatenate((self._keys, keys)), np.concatenate((self._owners, owners))
        order = np.argsort(every, kind="stable")
        self._keys, self._owners = every[order], owning[order]


def _payloads(arrays: Any, name: str, count: int) -> Ragged:
    values, offsets = arrays[f"{name}.payloads"], arrays[f"{name}.offsets"]
    rises = offsets.size and offsets[0] == 0 and offsets[-1] == values.size and (offsets[1:] >= offsets[:-1]).all()
    if values.dtype != np.uint8 or offsets.dtype != np.int64 or offsets.shape != (count + 1,) or not rises:
        raise ValueError(f"{name}.payloads")
    return Ragged(values, offsets)


def _saved_postings(arrays: Any, name: str, count: int) -> tuple[Positions, Positions]:
    keys, owners = arrays[f"{name}.keys"], arrays[f"{name}.owners"].astype(np.int64, casting="safe")
    if keys.dtype != np.int64 or keys.ndim != 1 or keys.shape != owners.shape:
        raise ValueError(f"{name}.keys")
    if owners.size and not 0 <= int(owners.min()) <= int(owners.max()) < count:
        raise ValueError(f"{name}.owners")
    return keys, owners
