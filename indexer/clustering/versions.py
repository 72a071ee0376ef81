"""Versions of documents: their order in clusters, and what becomes of it when one goes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from indexer.clustering.annotations import READ_AT_ONCE, cluster_of, is_alone, version_of
from indexer.clustering.canonical import value_of
from indexer.ingest.left_out import DuplicateFilter
from indexer.model import Record, Ref
from indexer.model.chunking import chunks
from indexer.model.refs import ref_order
from indexer.relations.versions.order import Lineage, Order, compared, lineages
from indexer.relations.versions.signs import Signs, signs_of
from indexer.stores.base import Store


class PlacedVersion(NamedTuple):
    """The place of a document among the versions of a work: its `ordinal`, from 1, the oldest, on.

    `lineage` numbers the works.
    """

    lineage: int
    ordinal: int
    is_latest: bool

    @property
    def annotation(self) -> dict[str, Any]:
        return {"ordinal": self.ordinal, "is_latest": self.is_latest}


class Succession:
    """Gathers the declarations of the members of clusters, and orders each cluster's versions.

    Memory: some hundred bytes for each document with declarations.
    """

    def __init__(self) -> None:
        self._signs: dict[int, list[tuple[int, Signs]]] = defaultdict(list)

    def add(self, cluster: int, position: int, record: Record) -> None:
        signs = signs_of(record)
        if signs.tells:
            self._signs[cluster].append((position, signs))

    def placed(self) -> dict[int, PlacedVersion]:
        found: dict[int, PlacedVersion] = {}
        count = 0
        for members in self._signs.values():
            for lineage in lineages([signs for _, signs in members]) if len(members) > 1 else ():
                count += 1
                for ordinal, step in enumerate(lineage.steps, 1):
                    for place in step:
                        found[members[place][0]] = PlacedVersion(count, ordinal, place in lineage.latest)
        return found


def by_version(
    positions: Iterable[int], keys: Sequence[tuple[Any, ...]], placed: Mapping[int, PlacedVersion], *, newest: bool
) -> list[tuple[Any, ...]]:
    known = [placed.get(position) for position in positions]
    first: dict[int, tuple[Any, ...]] = {}
    for key, version in zip(keys, known, strict=True):
        if version:
            first[version.lineage] = min(key, first.get(version.lineage, key))
    return [
        (first[version.lineage], -version.ordinal if newest else version.ordinal, key) if version else (key, 0, key)
        for key, version in zip(keys, known, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class VersionHistory:
    """The members of a document's `cluster` (None for a document alone), by their known order.

    `records` holds them, that of the document first. `lineage` orders its versions, None if there are none or their
    order is unknown; `others` are the remaining members, each by its place with its order in time against the document.
    """

    cluster: str | None
    records: tuple[Record, ...]
    lineage: Lineage | None
    others: tuple[tuple[int, Order], ...]


def version_history(store: Store, record: Record, time: str = "") -> VersionHistory:
    """The versions of a document among the members of its cluster, by their present declarations.

    `time` names the field with their date. Memory: the records of the cluster.
    """
    [annotations] = store.annotations([record.ref])
    cluster = None if annotations is None or is_alone(record.ref, annotations) else cluster_of(annotations)
    refs = {ref for _, ref in store.cluster_members([cluster])} if cluster else set()
    members = [record.without_sketches()]
    for some in chunks(sorted(refs - {record.ref}, key=ref_order), READ_AT_ONCE):
        members += [each for each in store.get(some, sketches=False) if each]
    signs = signs_among(store, members, time)
    found = next((each for each in lineages(signs) if any(0 in step for step in each.steps)), None)
    inside = {place for step in found.steps for place in step} if found else {0}
    others = [(place, compared(signs[place], signs[0])) for place in range(len(members)) if place not in inside]
    return VersionHistory(cluster, tuple(members), found, tuple(others))


def signs_among(store: Store, members: Sequence[Record], time: str) -> list[Signs]:
    """The signs of documents of a cluster; `time` names the field with their date, empty for none."""
    owners = store.owners_values(members, [time]) if time else [{}] * len(members)
    return [
        signs_of(each, value_of(each, values, time) if time else None)
        for each, values in zip(members, owners, strict=True)
    ]


class Deletion:
    """Deletes documents of a store, and reorders the remaining versions in clusters without their latest one.

    Call `renew` once after deleting members of a cluster in several steps.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lacking: set[str] = set()

    def delete(
        self, refs: Sequence[Ref], *, versions: Mapping[Ref, Hashable] | None = None, owners: bool = False
    ) -> int:
        self._lacking |= _clusters_of_latest(self._store.annotations(refs))
        return self._store.delete(refs, versions=versions, owners=owners)

    def renew(self, *, going_on: Collection[str] = ()) -> None:
        _renew_versions(self._store, self._lacking - set(going_on))
        self._lacking &= set(going_on)


def _clusters_of_latest(annotations: Sequence[Mapping[str, Any] | None]) -> set[str]:
    known = [(version_of(each), cluster_of(each)) for each in annotations if each]
    return {name for (ordinal, is_latest), name in known if ordinal and is_latest and name}


def _renew_versions(store: Store, clusters: Collection[str]) -> None:
    succession, numbers = Succession(), {name: number for number, name in enumerate(sorted(clusters))}
    noted: list[tuple[Ref, Any]] = []
    for page in chunks(store.cluster_members(list(numbers)) if numbers else (), READ_AT_ONCE):
        # An engine may still find what was deleted just now.
        for (name, ref), known in zip(page, store.described([ref for _, ref in page]), strict=True):
            if known and cluster_of(known[1]) == name:
                succession.add(numbers[name], len(noted), known[0])
                noted.append((ref, known[1].get("version")))
    placed = succession.placed()
    wanted = [placed[place].annotation if place in placed else None for place in range(len(noted))]
    changed = [(ref, {"version": new}) for (ref, old), new in zip(noted, wanted, strict=True) if new != old]
    for some in chunks(changed, READ_AT_ONCE):
        store.annotate(some)


class ReplacedVersions(DuplicateFilter[Any]):
    """Reorders the remaining versions in clusters whose latest one is replaced by another text.

    It leaves no document out. Memory: a name for each such cluster.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._left = store, set[str]()

    def examine(self, records: Sequence[Record]) -> Sequence[None]:
        self._left |= _clusters_of_latest(self._store.annotations([record.ref for record in records]))
        return super().examine(records)

    def close(self) -> None:
        _renew_versions(self._store, self._left)
