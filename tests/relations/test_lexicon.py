"""The lexicon: what it keeps, and that it says the same when it was kept."""

from __future__ import annotations

import numpy as np
import pytest

from indexer.matching.relating import RelatedTexts
from indexer.relations.lexicon import Hashes, Lexicon, shared_words
from indexer.relations.relation import Relation


def _hashes(*words: int) -> Hashes:
    return np.array(words, dtype=np.uint64)


DATA = Lexicon.of(_hashes(5, 9, 3), np.array([2, 3, 4]), 8).to_bytes()


def test_what_is_kept_says_the_same_of_every_word() -> None:
    lexicon = Lexicon()
    for number in range(300):
        lexicon.add([_hashes(1, 2**64 - 1, 1000 + number), _hashes(1, 500 + number // 2)])
    for _ in range(4):
        lexicon.add([_hashes(7)])
    kept = Lexicon.from_bytes(lexicon.to_keep(600).to_bytes())
    assert (kept.documents, kept.of_stored) == (304, 600)
    for word in (1, 7, 2**64 - 1, 500, 501, 1000, 3):
        assert kept.says(word) == lexicon.says(word)
    # What stands in one cluster alone is not kept.
    assert len(kept.to_bytes()) - len(Lexicon().to_bytes()) == 12 * (3 + 150)
    assert not kept.is_outgrown(1200)
    assert kept.is_outgrown(1201)


def test_of_very_many_words_those_of_most_documents_are_kept() -> None:
    counts = np.arange(2, 600_002)
    kept = Lexicon.of(np.arange(600_000, dtype=np.uint64), counts, 700_000).to_keep(1)
    assert len(kept.to_bytes()) - len(Lexicon().to_bytes()) == 12 * 500_000
    assert [kept.says(word) > 0 for word in (0, 99_999, 100_000, 599_999)] == [False, False, True, True]


@pytest.mark.parametrize("damaged", [DATA[:10], DATA[:-1], b"none" + DATA[4:], DATA[:40] + DATA[32:40] + DATA[48:]])
def test_what_is_damaged_is_refused(damaged: bytes) -> None:
    assert Lexicon.from_bytes(DATA).to_bytes() == DATA
    with pytest.raises(ValueError, match=r"^it is|^its words"):
        Lexicon.from_bytes(damaged)


def test_what_is_frame_is_known_better_than_a_word() -> None:
    lexicon, answers = Lexicon(), list[int]()
    for _ in range(11):
        lexicon.add([_hashes(7)])
        answers.append(lexicon.says(7))
    assert answers == [0, *[1] * 9, 2]


SAID = (
    "the ferry leaves the harbour at noon and takes the mail along",
    "no ferry sailed in the week of the storm, the paper wrote",
    "of all the boats in our bay the ferry is the slowest one",
)


def test_a_word_that_several_scans_have_misread_is_not_known_by_them() -> None:
    texts = [text for clean in SAID for text in (clean, clean.replace("ferry", "fcrry"))]
    texts += ["a ferry has no keel", "a ferry has no keel."] * 2
    related = RelatedTexts[int](
        lambda places: ((place, texts[place]) for place in places),
        int, str, lambda _: "", lexicon=Lexicon(), learns=True,
    )  # fmt: skip
    related.prepare((place, place + 1, place) for place in range(0, len(texts), 2))
    relation = related.between(0, 1)
    assert isinstance(relation, Relation)
    assert (relation.word, relation.cleaner) == ("noise", "left")


def test_near_texts_share_the_words_of_two_of_them() -> None:
    assert shared_words([]).tolist() == []
    assert shared_words([_hashes(3, 1, 3)]).tolist() == [1, 3]
    assert shared_words([_hashes(3, 1, 3), _hashes(3, 2), _hashes(4, 2, 5)]).tolist() == [2, 3]


def test_of_very_many_words_no_shared_one_is_lost() -> None:
    many = np.arange(1_500_000, dtype=np.uint64)
    texts = [many + np.uint64(first) for first in (0, 1_000_000, 2_000_000, 3_000_000)]
    shared = shared_words([*texts, _hashes(7, 9_000_000)])
    twice = np.arange(1_000_000, 3_500_000, dtype=np.uint64)
    twice = twice[twice % 1_000_000 < 500_000]
    assert np.array_equal(shared, np.append(np.uint64(7), twice))
