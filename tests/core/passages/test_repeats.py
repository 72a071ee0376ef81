"""Passages of a collection against their definition, and against a suffix array over real documents."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.passages import repeats, spilled
from indexer.core.passages.listing import listed, maximal_passages, repeated_words
from indexer.core.text import hash_tokens, tokenise
from indexer.errors import ExtractionError, UsageError
from indexer.extract import extract
from tests.core.passages import runs_oracle


@given(runs_oracle.collections(), st.integers(8, 11))
@settings(max_examples=300)
def test_passages_are_those_of_the_definition(documents: list[list[int]], words: int) -> None:
    found = runs_oracle.found_passages(documents, words)
    assert len(set(found)) == len(found)
    assert set(found) == runs_oracle.all_passages(documents, words)


@given(runs_oracle.collections(), st.integers(8, 11))
@settings(max_examples=50)
def test_what_is_dealt_to_files_is_found_too(documents: list[list[int]], words: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilled, "_ROOM", 64)
        patch.setattr(spilled, "_WORDS_AT_ONCE", 16)
        found = runs_oracle.found_passages(documents, words)
    assert set(found) == runs_oracle.all_passages(documents, words)


def test_stretches_are_in_the_order_of_their_places() -> None:
    shared = list(range(20))
    made = runs_oracle.repeats_of([[99, *shared], shared, [], shared[:12]], 8)
    assert made.documents.tolist() == sorted(made.documents.tolist())
    assert np.all(np.diff(made.starts) > 0)
    assert int(made.ends[-1]) == int(made.offsets[-1])


def test_runs_whose_hashes_are_equal_but_not_their_words_are_no_passage() -> None:
    # Of so many words in the order of Thue and Morse, and of the others in their place, all sums of powers are equal.
    order = [number.bit_count() % 2 for number in range(2048)]
    words = hash_tokens(tokenise("one two"))
    one, other = words[order], words[[1 - each for each in order]]
    made = runs_oracle.repeats_of([one, other], 2048)
    assert made.starts.size == 0
    # In company they take nothing from what is one.
    assert runs_oracle.repeats_of([one, other, np.append(one, one[:1])], 2048).documents.tolist() == [0, 2]


def test_one_word_said_very_often_is_one_passage() -> None:
    often = np.full(300_000, 5, dtype=np.uint64)
    [(words, places)] = runs_oracle.found_passages([often[:200_000].tolist(), often.tolist()], 50)[-1:]
    assert {document for document, _ in places} == {0, 1}
    assert set(words) == {5}


def test_pages_that_are_all_the_same_cost_their_number() -> None:
    page = np.arange(60, dtype=np.uint64)
    made = runs_oracle.repeats_of([page] * 100_000, 50)
    assert made.starts.tolist() == [0]
    assert made.copies[0] == 100_000


@pytest.mark.parametrize("pages", [1_000, 16_000])
def test_a_passage_in_every_page_costs_their_number(pages: int) -> None:
    """What is kept of it is a place for each page, and neither a look at nor a note of each pair."""
    licence = np.arange(60, dtype=np.uint64)
    own = np.arange(1000, 1000 + pages * 20, dtype=np.uint64).reshape(pages, 20)
    made = runs_oracle.repeats_of([np.append(each, licence) for each in own], 50)
    assert made.starts.size == made.kinds.size == pages
    passages = maximal_passages(made)
    assert (passages.words.tolist(), passages.documents.tolist(), passages.places.size) == ([60], [pages], pages)
    assert listed(made, passages).passages.tolist() == [0]
    assert int(repeated_words(made).sum()) == 60 * pages


@pytest.mark.parametrize("words", [7, 100_001])
def test_a_length_that_is_not_possible_is_refused(words: int) -> None:
    with pytest.raises(UsageError, match=f"of {words:,} or more words: the least is 8"):
        repeats.RepeatFinder(words)


SETS = {"jose": ("jose", 50), "plos": ("xml/plos", 12), "html/mixed": ("html/mixed", 50)}


@pytest.mark.parametrize("chosen", [*SETS])
def test_a_suffix_array_of_real_documents_finds_nothing_else(chosen: str, shared_data: Path) -> None:
    if chosen == "html/mixed" and not os.environ.get("NEARDUP_ALL"):
        pytest.skip("takes long; make test-all")
    folder, least = SETS[chosen]
    documents = []
    for path in sorted(filter(Path.is_file, (shared_data / folder).rglob("*"))):
        try:
            text = extract(path.read_bytes(), name=path.name).text
        except ExtractionError:
            continue
        documents.append(hash_tokens(tokenise(text, numbers=True)).tolist())
    assert len(documents) > 30
    exact = {
        (length, tuple(places))
        for length, places in runs_oracle.maximal_repeats(documents, least)
        if len({document for document, _ in places}) > 1
    }
    assert exact
    found = {(len(words), places) for words, places in runs_oracle.found_passages(documents, least)}
    # None that is not there, with all of its places, and maximal.
    assert found <= exact
    # All that is there: whatever N words two places share, a passage has both.
    covered = defaultdict(set)
    for number, (length, places) in enumerate(found):
        for document, begin in places:
            for word in range(begin, begin + length - least + 1):
                covered[document, word].add((number, word - begin))
    for length, places in exact:
        for offset in range(length - least + 1):
            assert set.intersection(*(covered[document, begin + offset] for document, begin in places))
