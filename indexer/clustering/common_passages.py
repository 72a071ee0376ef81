"""Passages common to several of a store's documents, and clusters held together by them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from heapq import nlargest, nsmallest
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from indexer.clustering.canonical import value_of
from indexer.clustering.memory import noted_canonical
from indexer.core.passages.listing import (
    Copied,
    MaximalPassages,
    PassageListing,
    copied_between,
    listed,
    maximal_passages,
    repeated_words,
)
from indexer.core.passages.repeats import RepeatFinder, Repeats
from indexer.core.passages.spilled import Positions
from indexer.errors import ExtractionError
from indexer.ingest.rereading import StoredTexts
from indexer.model import Ref, name_of
from indexer.model.chunking import chunks
from indexer.model.origins import origin_of
from indexer.model.ragged import ranges
from indexer.model.times import moment_key
from indexer.stores.base import Store
from indexer.text.words import Words, words_of

_AT_ONCE = 64
_PAGE = 1000
_REMEMBERED = 16
# So many documents for each of its origins make a passage part of their form rather than of what they say.
BOILERPLATE = 10


class Holder(NamedTuple):
    arrived_at: str
    ref: Ref
    source: str


class RepeatedPassage(NamedTuple):
    """A passage of several documents.

    `documents` counts them, `origins` their hosts or folders; `first` is the number of the first one. `variants`
    unlisted passages mostly lie in this one, the longest of all has `longest` words. `holders` are the documents'
    numbers, each as often as it has the passage.
    """

    text: str
    words: int
    documents: int
    origins: int
    first: int
    longest: int
    variants: int
    holders: Positions

    @property
    def is_boilerplate(self) -> bool:
        return self.documents >= BOILERPLATE * self.origins


class StorePassages:
    """The passages of at least `words` words in two documents of a store or more; a context manager.

    All documents are read again, without the store's schemes; `unread` has the reasons for unreadable ones. Memory:
    that of RepeatFinder, and identity, source and time of each document; texts and words lie in a temporary folder
    meanwhile. Raises UsageError for an impossible length, StoreError.
    """

    def __init__(self, store: Store, words: int) -> None:
        self._store = store
        self._finder = RepeatFinder(words)
        self._folder = TemporaryDirectory(prefix="neardup-texts-")
        self.holders: list[Holder] = []
        self.unread: dict[Ref, str] = {}
        # Of each document that was read, its place among the wanted ones, and where its text ends in the file.
        self._order, self._ends = array("q"), array("q", [0])
        self._document = lru_cache(maxsize=_REMEMBERED)(self._read_document)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()
        self._finder.__exit__(kind, error, trace)

    def read(
        self, progress: Callable[[int, int | None], None] | None = None, *, refs: Sequence[Ref] | None = None
    ) -> None:
        wanted = self._wanted(refs)
        texts, done = StoredTexts(self._store), 0
        with self._texts.open("wb") as file:
            for page in chunks(wanted, _AT_ONCE):
                if progress:
                    progress(done, len(wanted))
                ranks = {holder.ref: done + place for place, holder in enumerate(page)}
                records = filter(None, self._store.get([holder.ref for holder in page], sketches=False))
                for record, text in texts.read(records):
                    if isinstance(text, ExtractionError):
                        self.unread[record.ref] = text.detail or text.reason
                        continue
                    rank = ranks[record.ref]
                    self._finder.add(words_of(text, identifiers=False).hashes)
                    self.holders.append(wanted[rank])
                    self._order.append(rank)
                    self._ends.append(self._ends[-1] + file.write(text.encode("utf-8", "surrogatepass")))
                done += len(page)
        if progress:
            progress(done, len(wanted))

    @cached_property
    def repeats(self) -> Repeats:
        return self._finder.find()

    @cached_property
    def passages(self) -> MaximalPassages:
        return maximal_passages(self.repeats)

    @cached_property
    def listing(self) -> PassageListing:
        return listed(self.repeats, self.passages)

    @cached_property
    def origins(self) -> tuple[list[str], Positions]:
        """The names of the documents' hosts or folders, and the number of each document's: shape (documents,)."""
        numbers: dict[str, int] = {}
        of = [numbers.setdefault(origin_of(holder.source), len(numbers)) for holder in self.holders]
        return list(numbers), np.array(of, dtype=np.int64)

    def common(self) -> Iterator[RepeatedPassage]:
        passages, listing = self.passages, self.listing
        chosen = listing.passages
        order = np.lexsort((-passages.words[chosen], -passages.documents[chosen]))
        for place in order.tolist():
            longest, variants = int(listing.longest[place]), int(listing.variants[place])
            yield self.common_passage(int(chosen[place]))._replace(longest=longest, variants=variants)

    def common_passage(self, number: int) -> RepeatedPassage:
        documents, begins = self.places(number)
        first = int(np.argmin(self._ranks[documents]))
        words = int(self.passages.words[number])
        return RepeatedPassage(
            self._text(int(documents[first]), int(begins[first]), words), words, int(self.passages.documents[number]),
            np.unique(self.origins[1][documents]).size, int(documents[first]), words, 0, documents,
        )  # fmt: skip

    def places(self, number: int) -> tuple[Positions, Positions]:
        repeats = self.repeats
        positions = self.passages.places[self.passages.offsets[number] : self.passages.offsets[number + 1]]
        firsts = np.searchsorted(repeats.offsets, positions, side="right") - 1
        counts = repeats.copies[firsts]
        spread = ranges(np.searchsorted(repeats.copy_of[self._by_copy], firsts), counts)
        return self._by_copy[spread], np.repeat(positions - repeats.offsets[firsts], counts)

    def copied(self) -> Copied:
        return copied_between(self.repeats, self._ranks, self.origins[1])

    @cached_property
    def in_passages(self) -> tuple[Positions, Positions]:
        """The words of each document, and the number of them found in other documents too: both of shape
        (documents,).
        """
        return np.diff(self.repeats.offsets), repeated_words(self.repeats)

    @cached_property
    def _ranks(self) -> Positions:
        return np.argsort(np.argsort(np.array(self._order, dtype=np.int64)))

    @cached_property
    def _by_copy(self) -> Positions:
        return np.argsort(self.repeats.copy_of, kind="stable")

    @property
    def _texts(self) -> Path:
        return Path(self._folder.name) / "texts"

    def _text(self, document: int, first: int, words: int) -> str:
        text, known = self._document(document)
        return text[int(known.starts[first]) : int(known.ends[first + words - 1])]

    def _read_document(self, document: int) -> tuple[str, Words]:
        with self._texts.open("rb") as file:
            file.seek(self._ends[document])
            text = file.read(self._ends[document + 1] - self._ends[document]).decode("utf-8", "surrogatepass")
        return text, words_of(text, identifiers=False)

    def _wanted(self, refs: Sequence[Ref] | None) -> list[Holder]:
        records = self._store.scan(sketches=False) if refs is None else self._store.get(refs, sketches=False)
        rule, every = noted_canonical(self._store), dict[Holder, tuple[Any, ...]]()
        for page in chunks((each for each in records if each and self._store.passes(each.ref)), _PAGE):
            owners = self._store.owners_values(page, [rule.time]) if rule.time else [{} for _ in page]
            for record, known in zip(page, owners, strict=True):
                at = moment_key(value_of(record, known, rule.time)) if rule.time else record.arrived_at
                preferred = rule.preferred(record) if rule.sources else ()
                holder = Holder(record.arrived_at, record.ref, record.source)
                every[holder] = (*preferred, not at, at, name_of(record.ref))
        return sorted(every, key=every.__getitem__)


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
