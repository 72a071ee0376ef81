"""Clusters held together by common content, such as a menu or a licence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from heapq import nlargest, nsmallest
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.clustering.copied import BOILERPLATE, RepeatedPassage, StorePassages
from indexer.core.passages.windows import Positions
from indexer.model import Ref, name_of
from indexer.stores.base import Store

_WORDS = 20
_MEMBERS, _CLUSTERS = 12, 5
# Documents that are in none of the clusters, read to tell a menu from a story.
_OTHERS = 60
# What is copied has more in common, and what has less is seldom near.
_LEAST, _MOST = 0.5, 0.95


class ClusterOnPassages(NamedTuple):
    """A cluster of `size` documents near for passages of ten documents or more, also of other ones than its own.

    `share` (0.5 to 0.95) is the part of a document's words in passages common to half of the documents, the median of
    at most twelve read. `passage` is the longest.
    """

    id: str
    size: int
    share: float
    passage: RepeatedPassage


def largest_resting(store: Store) -> list[ClusterOnPassages]:
    """Those of a store's five largest clusters held together by passages: twelve documents of each are read again.

    Memory: the names of the clusters' documents. Raises StoreError.
    """
    largest = nlargest(
        _CLUSTERS, (each for each in store.clusters() if each.size >= BOILERPLATE), key=lambda each: each.size
    )
    members: dict[str, list[Ref]] = {each.id: [each.canonical] for each in largest}
    for name, ref in store.cluster_members(list(members)) if members else ():
        if ref != members[name][0]:
            members[name].append(ref)
    return sampled_resting(store, members)


def sampled_resting(store: Store, members: Mapping[str, Sequence[Ref]]) -> list[ClusterOnPassages]:
    """The clusters held together by passages of 20 words or more, by their ids: twelve documents of each are read
    again, and some of no such cluster.

    Raises StoreError.
    """
    read = [ref for each in members.values() for ref in _some(each)]
    if not read:
        return []
    inside = {ref for each in members.values() for ref in each}
    others = (record.ref for record in store.scan(sketches=False) if record.ref not in inside)
    # By chance, and the same in each run.
    outside = nsmallest(_OTHERS, others, key=lambda ref: blake2b(name_of(ref).encode("utf-8", "replace")).digest())
    with StorePassages(store, _WORDS) as found:
        found.read(refs=[*read, *outside])
        return list(clusters_on_passages(found, members.items()))


def clusters_on_passages(
    found: StorePassages, clusters: Iterable[tuple[str, Sequence[Ref]]]
) -> Iterator[ClusterOnPassages]:
    looking = _Looking(found)
    for name, members in clusters:
        if one := looking.at(name, members):
            yield one


def _some(members: Sequence[Ref]) -> list[Ref]:
    step = max(1, len(members) // _MEMBERS)
    return list(members[::step][:_MEMBERS])


class _Looking:
    def __init__(self, found: StorePassages) -> None:
        self._found, self._repeats, self._passages = found, found.repeats, found.passages
        self._numbers = {holder.ref: number for number, holder in enumerate(found.holders)}
        self._sizes = np.diff(found.repeats.offsets)
        passages = found.passages
        order = np.argsort(passages.places, kind="stable")
        self._owners = np.repeat(np.arange(len(passages)), np.diff(passages.offsets))[order]
        self._places = passages.places[order]

    def at(self, name: str, members: Sequence[Ref]) -> ClusterOnPassages | None:
        read = [self._numbers[ref] for ref in _some(members) if ref in self._numbers]
        if len(read) < 2:
            return None
        documents = self._repeats.copy_of[read].tolist()
        inside = {document: self._inside(document) for document in documents}
        every, counts = np.unique(
            np.concatenate([np.unique(self._owners[inside[document]]) for document in documents]), return_counts=True
        )
        common = every[(2 * counts >= len(read)) & (self._passages.documents[every] >= BOILERPLATE)]
        common = common[self._stand_outside(common, members)]
        if not common.size:
            return None
        shares = sorted(self._share(document, inside[document], common) for document in documents)
        share = shares[(len(shares) - 1) // 2]
        if not _LEAST <= share <= _MOST:
            return None
        longest = int(common[np.argmax(self._passages.words[common])])
        return ClusterOnPassages(name, len(members), share, self._found.common_passage(longest))

    def _stand_outside(self, passages: Positions, members: Sequence[Ref]) -> npt.NDArray[np.bool_]:
        # A text that only its copies have is no menu.
        if not passages.size:
            return np.zeros(0, dtype=np.bool_)
        inside = {int(self._repeats.copy_of[self._numbers[ref]]) for ref in members if ref in self._numbers}
        counts = np.zeros(passages.size, dtype=np.int64)
        for document in inside:
            counts += self._repeats.copies[document] * np.isin(passages, self._owners[self._inside(document)])
        return np.asarray(self._passages.documents[passages] > counts)

    def _inside(self, document: int) -> slice:
        return slice(*np.searchsorted(self._places, self._repeats.offsets[document : document + 2]).tolist())

    def _share(self, document: int, inside: slice, common: Positions) -> float:
        taken = np.isin(self._owners[inside], common)
        begins = self._places[inside][taken]
        ends = begins + self._passages.words[self._owners[inside][taken]]
        before = np.append(0, np.maximum.accumulate(ends)[:-1])[: ends.size]
        words = int(np.maximum(0, ends - np.maximum(begins, before)).sum())
        return words / max(1, int(self._sizes[document]))
