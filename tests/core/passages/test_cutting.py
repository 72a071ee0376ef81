"""What is cut stands elsewhere, and what is listed and counted is all there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.passages.cutting import Cutter, merged
from indexer.core.passages.listing import copied_between, listed, maximal_passages, repeated_words
from tests.core.passages import runs_oracle


def runs(words: Sequence[int], size: int) -> set[tuple[int, ...]]:
    return {tuple(words[begin : begin + size]) for begin in range(len(words) - size + 1)}


@given(runs_oracle.collections(), st.integers(8, 11), st.data())
@settings(max_examples=300)
def test_every_word_that_is_cut_stands_in_what_is_left(
    documents: list[list[int]], words: int, data: st.DataObject
) -> None:
    repeats = runs_oracle.repeats_of(documents, words)
    cutter = Cutter(repeats)
    left: set[tuple[int, ...]] = set()
    kept: dict[int, set[tuple[int, ...]]] = {}
    order = data.draw(st.permutations(range(len(documents))))
    shared = {
        run for run, count in Counter(run for each in documents for run in runs(each, words)).items() if count > 1
    }
    for number in order:
        document = documents[number]
        known = [begin for begin in range(len(document)) if tuple(document[begin : begin + words]) in left]
        expected = {begin + word for begin in known for word in range(words)}
        spans = cutter.spans(number)
        assert {word for begin, end, _ in spans for word in range(begin, end)} == expected
        assert all(runs(document[begin:end], words) <= kept[holder] for begin, end, holder in spans)
        cuts = merged(spans)
        assert all(one[1] < other[0] for one, other in pairwise(cuts))
        if data.draw(st.booleans()):
            cutter.keep(number, spans)
            bounds = [0, *(bound for span in cuts for bound in span), len(document)]
            whole = zip(bounds[::2], bounds[1::2], strict=True)
            kept[number] = set[tuple[int, ...]]().union(*(runs(document[begin:end], words) for begin, end in whole))
            left |= kept[number] & shared


@given(runs_oracle.collections(), st.integers(8, 11))
@settings(max_examples=100)
def test_words_in_passages_are_counted_once(documents: list[list[int]], words: int) -> None:
    found = runs_oracle.all_passages(documents, words)
    covered: list[set[int]] = [set() for _ in documents]
    for text, places in found:
        for document, begin in places:
            covered[document] |= set(range(begin, begin + len(text)))
    repeats = runs_oracle.repeats_of(documents, words)
    assert repeated_words(repeats).tolist() == [len(each) for each in covered]
    ranks = np.arange(len(documents))[::-1].copy()
    copied = copied_between(repeats, ranks, np.arange(len(documents)))
    # Nothing is copied from itself, or from what came later; and no more of a document than is in passages.
    assert np.all(ranks[copied.origin] < ranks[copied.by])
    for document, words_of_it in enumerate(covered):
        assert int(copied.words[copied.by == document].sum()) <= len(words_of_it)


@given(runs_oracle.collections(), st.integers(8, 11))
@settings(max_examples=200)
def test_what_is_not_listed_lies_in_what_is(documents: list[list[int]], words: int) -> None:
    repeats = runs_oracle.repeats_of(documents, words)
    passages = maximal_passages(repeats)
    shown = listed(repeats, passages)
    assert len(shown.passages) + int(shown.variants.sum()) == len(passages)
    copied = (passages.words * (passages.documents - 1))[shown.passages]
    assert np.all(np.diff(copied) <= 0)
    assert np.all(shown.longest >= passages.words[shown.passages])
    if len(passages):
        assert int(passages.words.max()) == int(shown.longest.max())


def test_a_longer_text_with_fewer_places_is_a_variant_of_what_it_begins_with() -> None:
    licence = list(range(100, 160))
    documents = [[*licence, *range(number, number + 30)] for number in range(1000, 1500, 50)]
    documents += [[*licence, 1, 2, 3], [9, *licence, 1, 2, 3]]
    repeats = runs_oracle.repeats_of(documents, 50)
    passages = maximal_passages(repeats)
    shown = listed(repeats, passages)
    assert passages.words[shown.passages].tolist() == [60]
    assert passages.documents[shown.passages].tolist() == [12]
    assert (shown.variants.tolist(), shown.longest.tolist()) == ([1], [63])
    copied = copied_between(repeats, np.arange(12), np.array([0] * 10 + [1, 2]))
    assert copied.origin.tolist() == [0, 0, 0, 1]
    assert copied.by.tolist() == [0, 1, 2, 2]
    assert copied.words.tolist() == [9 * 60, 60, 60, 3]
