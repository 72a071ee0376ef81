"""Input of an evaluation: documents with their texts, and the user's truth."""

from __future__ import annotations

import hashlib
import heapq
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from indexer.errors import UsageError
from indexer.extract.base import Failed, Item, Limits, Options
from indexer.ingest.outcomes import read, texts
from indexer.ingest.readers import reader_of_file
from indexer.ingest.sources import Input, Rejected, Selection, Sources
from indexer.matching.evaluation.judging import Truth
from indexer.matching.lists import json_lines
from indexer.model import Record
from indexer.model.counts import RunCounts
from indexer.model.paths import printable_path
from indexer.stores.base import Store
from indexer.text.counts import counted

# A group is every pair of its members; one of this size has two million.
_LARGEST_GROUP = 2000


@dataclass(slots=True)
class MeasuredTexts(RunCounts):
    """The documents of an evaluation: `ids[i]` names `texts[i]`, read by `extractors[i]`; others count as failed."""

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    extractors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Named:
    """The content of a file of truth: pairs of ids, groups of ids, and paths of documents."""

    name: str
    pairs: frozenset[tuple[str, str]]
    paths: Mapping[str, str]

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(name for pair in self.pairs for name in pair) | frozenset(self.paths)


def read_texts(inputs: Iterable[Input | Rejected], options: Options, limits: Limits, jobs: int) -> MeasuredTexts:
    result = MeasuredTexts()
    last: dict[str, tuple[int, str, str]] = {}
    first: dict[str, int] = {}

    def numbered() -> Iterator[Item[tuple[int, str]] | Failed[Input | Rejected]]:
        for place, item in enumerate(read(inputs, limits.input_bytes)):
            if isinstance(item, Failed):
                yield item
            else:
                first.setdefault(item.key.id, place)
                yield Item((place, item.key.id), item.data, item.name, item.format)

    with texts(jobs, options, limits) as workers:
        for outcome in workers.outcomes(numbered()):
            if isinstance(outcome, Failed):
                result.failed[outcome.reason] += 1
                continue
            place, name = outcome.key
            found = (place, outcome.document.text, outcome.document.extractor)
            last[name] = max(last.get(name, (-1, "", "")), found)
    for name in sorted(last, key=first.__getitem__):
        result.ids.append(name)
        result.texts.append(last[name][1])
        result.extractors.append(last[name][2])
    return result


def named_inputs(paths: Mapping[str, str], chosen: Selection) -> Iterator[Input | Rejected]:
    lines: dict[str, set[str]] = {}
    for name, path in paths.items():
        if reader_of_file(path):
            lines.setdefault(path, set()).add(name)
        else:
            yield Input(name, path, path)
    for path, names in lines.items():
        missing = set(names)
        for source in Sources([path], chosen) if os.path.lexists(path) else ():
            if isinstance(source, Input) and source.id in names:
                missing.discard(source.id)
                yield source
        for name in sorted(missing):
            yield Rejected(name, path, "unreadable", "nothing readable in the file has this id")


def require_two(texts: MeasuredTexts) -> None:
    if len(texts.ids) < 2 and texts.failures:
        raise UsageError(
            f"{len(texts.ids)} documents with text: an evaluation compares at least two; left out: {texts.reasons}"
        )


def sampled(store: Store, most: int, wanted: Collection[str] = (), *, least: int | None = None) -> list[Record]:
    """At most `most` documents of a store with text, and all ids in `wanted`.

    The choice depends on the ids only, by the smallest BLAKE2b digests, so the same store gives the same sample.
    """
    chosen: list[Record] = []

    def others() -> Iterator[tuple[bytes, Record]]:
        for record in store.scan(sketches=False):
            if record.ref.id in wanted:
                chosen.append(record)
            elif record.has_words and (record.tokens >= least if least else not record.short):
                yield hashlib.blake2b(record.ref.id.encode("utf-8", "surrogatepass"), digest_size=16).digest(), record

    smallest = heapq.nsmallest(most, others(), key=lambda entry: entry[0])
    return [*chosen, *(record for _, record in smallest[: max(0, most - len(chosen))])]


def read_truth(path: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> Named:
    """The truth in a file of JSON lines: {"a", "b"} for a pair, or {"id", "group"} for a member of a group.

    "left" and "right" work too, as `neardup pairs --format jsonl` writes them. A document's line may have "path",
    relative to `root` (the file's folder if None). A null group is a document like no other. Raises UsageError with the
    file and the line.
    """
    pairs: set[tuple[str, str]] = set()
    groups: dict[str, list[str]] = {}
    paths: dict[str, str] = {}
    path = Path(path)
    base, shown = Path(root) if root else path.parent, printable_path(str(path))
    for number, entry in json_lines(path):
        if not isinstance(entry, dict):
            raise UsageError(f"{shown}: line {number} is not a JSON object")
        one, other = entry.get("a", entry.get("left")), entry.get("b", entry.get("right"))
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
            raise UsageError(f'{shown}: line {number}: it has neither "a" and "b" nor "id"')
    for group, members in groups.items():
        distinct = sorted(set(members))
        if len(distinct) > _LARGEST_GROUP:
            raise UsageError(
                f"{shown}: the group {group!r} has {counted(len(distinct), 'member')}; "
                f"an evaluation takes groups of up to {_LARGEST_GROUP:,}"
            )
        pairs.update(combinations(distinct, 2))
    return Named(path.name, frozenset(pairs), paths)


def placed(named: Named, ids: Collection[str]) -> tuple[Truth, int]:
    places = {name: place for place, name in enumerate(ids)}
    place_of = {
        (min(places[a], places[b]), max(places[a], places[b])) for a, b in named.pairs if a in places and b in places
    }
    return Truth(frozenset(place_of), f"pairs of {named.name}"), len(named.pairs) - len(place_of)


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)
