"""What an evaluation is made on: documents with their texts, and the truth that a user names."""

from __future__ import annotations

import hashlib
import heapq
import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, cast

from indexer import own_files
from indexer.errors import UsageError
from indexer.evaluate import Truth
from indexer.extract import Request, WorkerPool
from indexer.extract.base import Content, Limits, Options
from indexer.model import Record
from indexer.sources import Input, Rejected, UnreadableError, printable_path, read_file
from indexer.stores.base import Store

_LONGEST_LINE = 1 << 20
# A group is every pair of its members; one of this size has two million.
_LARGEST_GROUP = 2000


@dataclass(slots=True)
class Texts:
    """The documents of an evaluation: `ids[i]` names `texts[i]`; `left_out` counts the others by reason."""

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Named:
    """What a file of truth says: pairs of ids, groups of ids, and the paths of documents that it names."""

    name: str
    pairs: frozenset[tuple[str, str]]
    paths: Mapping[str, str]

    @property
    def ids(self) -> frozenset[str]:
        """Every id that a pair or a path names."""
        return frozenset(each for pair in self.pairs for each in pair) | frozenset(self.paths)


def read_texts(inputs: Iterable[Input | Rejected], options: Options, limits: Limits, jobs: int) -> Texts:
    """The texts of documents, extracted in worker processes; those that fail are counted by reason."""
    found = Texts()
    outcomes: dict[str, str] = {}
    order: list[str] = []
    with WorkerPool(jobs, options, limits) as pool:
        for outcome in pool.map(_requests(inputs, limits, found, order)):
            if outcome.document is None:
                found.left_out[outcome.error.reason if outcome.error else "crashed"] += 1
            else:
                outcomes[outcome.request.key] = outcome.document.text
    for name in dict.fromkeys(order):
        if name in outcomes:
            found.ids.append(name)
            found.texts.append(outcomes[name])
    return found


def _requests(inputs: Iterable[Input | Rejected], limits: Limits, found: Texts, order: list[str]) -> Iterator[Request]:
    for item in inputs:
        if isinstance(item, Rejected):
            found.left_out[item.reason] += 1
            continue
        try:
            data = read_file(item.path, limits.input_bytes) if item.path else item.data
        except UnreadableError as error:
            found.left_out[error.reason] += 1
            continue
        order.append(item.id)
        yield Request(item.id, data, name=item.path, format=item.format)


def options_of(store: Store) -> Options:
    """How the documents of a store are read."""
    return Options(content=cast(Content, store.info.content))


def sampled(store: Store, most: int, wanted: Collection[str] = ()) -> list[Input]:
    """At most `most` documents of a store that lie in files, and all that are `wanted` by id.

    The choice depends on the ids only: the documents whose BLAKE2b digest is smallest, so that the same store gives the
    same sample.
    """
    chosen: list[Input] = []

    def others() -> Iterator[tuple[bytes, Input]]:
        for record in store.scan():
            item = _input(record)
            if record.ref.id in wanted:
                chosen.append(item)
            elif not record.short and record.fingerprint:
                yield hashlib.blake2b(record.ref.id.encode("utf-8", "surrogatepass"), digest_size=16).digest(), item

    smallest = heapq.nsmallest(most, others(), key=lambda entry: entry[0])
    return [*chosen, *(item for _, item in smallest[: max(0, most - len(chosen))])]


def _input(record: Record) -> Input:
    return Input(id=record.ref.id, source=record.source, path=record.source)


def read_truth(path: Path, root: Path | None = None) -> Named:
    """The truth in a file of JSON lines: {"a", "b"} for a pair, or {"id", "group"} for a member of a group.

    "id_a" and "id_b" do as well, as `neardup pairs --format jsonl` writes them. A line of a document may have "path",
    seen from `root` (the file's folder where it is None). A null group is a document that is like no other. Raises
    UsageError that names the file and the line.
    """
    pairs: set[tuple[str, str]] = set()
    groups: dict[str, list[str]] = {}
    paths: dict[str, str] = {}
    base = root or path.parent
    for number, entry in _lines(path):
        one, other = entry.get("a", entry.get("id_a")), entry.get("b", entry.get("id_b"))
        if one is not None and other is not None:
            if str(one) != str(other):
                pairs.add(_pair(str(one), str(other)))
        elif "id" in entry:
            name = str(entry["id"])
            if entry.get("group") is not None:
                groups.setdefault(str(entry["group"]), []).append(name)
            if entry.get("path"):
                paths[name] = os.path.abspath(base / str(entry["path"]))
        else:
            raise UsageError(f'{printable_path(str(path))}: line {number}: neither "a" and "b" nor "id" is there')
    for group, members in groups.items():
        distinct = sorted(set(members))
        if len(distinct) > _LARGEST_GROUP:
            raise UsageError(
                f"{printable_path(str(path))}: the group {group!r} has {len(distinct):,} members; "
                f"an evaluation takes groups of up to {_LARGEST_GROUP:,}"
            )
        pairs.update(combinations(distinct, 2))
    return Named(path.name, frozenset(pairs), paths)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    shown = printable_path(str(path))
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=own_files.reader) as lines:
            for number, line in enumerate(iter(lambda: lines.readline(_LONGEST_LINE), ""), 1):
                if not line.strip():
                    continue
                try:
                    entry = json.loads(line)
                except (ValueError, RecursionError):
                    entry = None
                if not isinstance(entry, dict):
                    raise UsageError(f"{shown}: line {number} is no JSON object")
                yield number, entry
    except OSError as error:
        raise UsageError(f"{shown}: can't be read: {error.strerror}") from error


def placed(named: Named, ids: Collection[str]) -> tuple[Truth, int]:
    """The named pairs as positions among the ids, and how many pairs name a document that is not there."""
    places = {name: place for place, name in enumerate(ids)}
    found = {
        (min(places[a], places[b]), max(places[a], places[b])) for a, b in named.pairs if a in places and b in places
    }
    return Truth(frozenset(found), f"pairs of {named.name}"), len(named.pairs) - len(found)


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)
