"""What finding passages is held against: every run of N words by itself, and a suffix array of all words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from indexer.core.passages.listing import maximal_passages
from indexer.core.passages.repeats import RepeatFinder, Repeats

Numbers = Sequence[Sequence[int]]
Place = tuple[int, int]
Passage = tuple[tuple[int, ...], tuple[Place, ...]]


# A few words only, so that the same runs come again in other surroundings.
_parts = st.lists(st.integers(0, 2), max_size=24)


@st.composite
def collections(draw: st.DrawFn) -> list[list[int]]:
    parts = draw(st.lists(_parts, min_size=1, max_size=4))
    documents = []
    for _ in range(draw(st.integers(0, 6))):
        document: list[int] = []
        for part in draw(st.lists(st.sampled_from(parts), max_size=4)):
            begin = draw(st.integers(0, len(part)))
            document += part[begin : draw(st.integers(begin, len(part)))]
            document += draw(st.lists(st.integers(3, 9), max_size=1))
        documents += [document] * draw(st.sampled_from([1, 1, 1, 2]))
    return documents


def repeats_of(documents: Sequence[npt.ArrayLike], words: int) -> Repeats:
    with RepeatFinder(words) as finder:
        for document in documents:
            finder.add(np.asarray(document, dtype=np.uint64))
        return finder.find()


def found_passages(documents: Numbers, words: int) -> list[Passage]:
    """What the package finds: the words of each passage, and (document, first word) of all its places."""
    repeats = repeats_of(documents, words)
    passages = maximal_passages(repeats)
    twins = defaultdict(list)
    for number, first in enumerate(repeats.copy_of.tolist()):
        twins[first].append(number)
    found = []
    for number, size in enumerate(passages.words.tolist()):
        places = []
        for position in passages.places[passages.offsets[number] : passages.offsets[number + 1]].tolist():
            first = int(np.searchsorted(repeats.offsets, position, side="right")) - 1
            places += [(twin, position - int(repeats.offsets[first])) for twin in twins[first]]
        places.sort()
        assert len({document for document, _ in places}) == passages.documents[number]
        document, begin = places[0]
        found.append((tuple(documents[document][begin : begin + size]), tuple(places)))
    return found


def all_passages(documents: Numbers, words: int) -> set[Passage]:
    """The same by its definition: every run of N words, with all places, as far as these go on alike."""
    places_of: dict[tuple[int, ...], list[Place]] = defaultdict(list)
    for number, document in enumerate(documents):
        for begin in range(len(document) - words + 1):
            places_of[tuple(document[begin : begin + words])].append((number, begin))
    found = set()
    for places in places_of.values():
        if len({document for document, _ in places}) < 2:
            continue
        back, size = 0, words
        while all(begin > back for _, begin in places) and _alike(documents, places, -back - 1):
            back += 1
        while all(begin + size < len(documents[one]) for one, begin in places) and _alike(documents, places, size):
            size += 1
        document, begin = places[0]
        whole = tuple(documents[document][begin - back : begin + size])
        found.add((whole, tuple((one, start - back) for one, start in places)))
    return found


def _alike(documents: Numbers, places: Sequence[Place], offset: int) -> bool:
    return len({documents[document][begin + offset] for document, begin in places}) == 1


def maximal_repeats(documents: Numbers, least: int) -> Iterator[tuple[int, list[Place]]]:
    """(length, places) of all that stands at two places or more and goes on alike at neither end, by a suffix array."""
    ends = np.cumsum([len(document) + 1 for document in documents])
    every = np.concatenate([np.asarray(each, dtype=np.uint64) for each in documents])
    numbers = np.unique(every, return_inverse=True)[1]
    text, done = np.empty(int(ends[-1]), dtype=np.int64), 0
    for number, (end, document) in enumerate(zip(ends.tolist(), documents, strict=True)):
        text[end - 1 - len(document) : end - 1] = numbers[done : done + len(document)]
        text[end - 1] = numbers.size + number
        done += len(document)
    suffixes = _suffix_array(text)
    common = _common_prefixes(text, suffixes)
    before = np.where(suffixes > 0, text[suffixes - 1], -1)
    for length, low, high in _intervals(common, least):
        if len(set(before[low : high + 1].tolist())) > 1:
            places = suffixes[low : high + 1]
            owners = np.searchsorted(ends, places, side="right")
            begins = places - np.append(0, ends)[owners]
            yield length, sorted(zip(owners.tolist(), begins.tolist(), strict=True))


def _suffix_array(text: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Prefix doubling (Manber and Myers 1990)."""
    ranks = np.unique(text, return_inverse=True)[1].astype(np.int64)
    width = 1
    while True:
        second = np.append(ranks[width:], np.full(min(width, ranks.size), -1))
        order = np.lexsort((second, ranks))
        new = np.append(0, (np.diff(ranks[order]) != 0) | (np.diff(second[order]) != 0)).cumsum()
        ranks = np.empty_like(ranks)
        ranks[order] = new
        if new[-1] == new.size - 1:
            return order
        width *= 2


def _common_prefixes(text: npt.NDArray[np.int64], suffixes: npt.NDArray[np.int64]) -> list[int]:
    """Of each suffix the length of the prefix that it has in common with the next in order (Kasai et al. 2001)."""
    words, order = text.tolist(), suffixes.tolist()
    rank = [0] * len(order)
    for place, suffix in enumerate(order):
        rank[suffix] = place
    common, length = [0] * (len(order) - 1), 0
    for suffix in range(len(order)):
        if rank[suffix] + 1 == len(order):
            length = 0
            continue
        other = order[rank[suffix] + 1]
        while max(suffix, other) + length < len(words) and words[suffix + length] == words[other + length]:
            length += 1
        common[rank[suffix]] = length
        length = max(0, length - 1)
    return common


def _intervals(common: Sequence[int], least: int) -> Iterator[tuple[int, int, int]]:
    """(length, first, last) of the suffixes that have so many words in common (Abouelhoda et al. 2004)."""
    open_ones: list[tuple[int, int]] = []
    for place, length in enumerate([*common, 0]):
        begin = place
        while open_ones and open_ones[-1][0] > length:
            known, begin = open_ones.pop()
            yield known, begin, place
        if length >= least and (not open_ones or open_ones[-1][0] < length):
            open_ones.append((length, begin))
