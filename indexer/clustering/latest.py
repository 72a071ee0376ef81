"""Reorder versions in clusters after deletions."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

from indexer.clustering.assign import READ_AT_ONCE, cluster_of
from indexer.clustering.succession import Succession, version_of
from indexer.ingest.duplicates import DuplicateFilter
from indexer.model import Record, Ref
from indexer.model.chunking import chunks
from indexer.stores.base import Store


class Deletion:
    """Deletes documents of a store, and reorders the remaining versions in clusters without their latest one.

    Call `renew` once after deleting members of a cluster in several steps.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lacking: set[str] = set()
        self.annotations: Sequence[Mapping[str, Any] | None] = ()
        """The annotations of the documents of the last step, as they were."""

    def delete(
        self, refs: Sequence[Ref], *, versions: Mapping[Ref, Hashable] | None = None, owners: bool = False
    ) -> int:
        self.annotations = self._store.annotations(refs)
        self._lacking |= _clusters_of_latest(self.annotations)
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
