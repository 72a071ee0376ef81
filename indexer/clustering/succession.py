"""The order of versions within clusters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from indexer.model import Record
from indexer.relations.versions.order import lineages
from indexer.relations.versions.signs import Signs, signs_of


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
    positions: Iterable[int],
    keys: Sequence[tuple[Any, ...]],
    placed: Mapping[int, PlacedVersion],
    *,
    newest: bool,
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


def version_of(annotations: Mapping[str, Any]) -> tuple[int | None, bool]:
    version = annotations.get("version")
    ordinal = version.get("ordinal") if isinstance(version, Mapping) else None
    return (ordinal, bool(version["is_latest"])) if isinstance(version, Mapping) and ordinal else (None, True)
