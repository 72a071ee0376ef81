"""The difference of two texts, word by word."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.text.differences import shortened, word_difference

WORDS = st.lists(st.sampled_from(["one", "two", "three", "four", "漢字", "かな", "a,b"]), max_size=40).map(" ".join)


def plain(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=100, deadline=None)
@given(WORDS, WORDS)
def test_both_texts_can_be_read_from_the_pieces(left: str, right: str) -> None:
    difference = word_difference(left, right)
    assert plain("".join(piece.left for piece in difference.pieces)) == plain(left)
    assert plain("".join(piece.right for piece in difference.pieces)) == plain(right)
    assert all(plain(piece.left) == plain(piece.right) for piece in difference.pieces if piece.kind == "same")
    kinds = [piece.kind for piece in difference.pieces]
    assert all(one != other for one, other in pairwise(kinds))


@settings(max_examples=100, deadline=None)
@given(WORDS, WORDS, st.integers(0, 5))
def test_shortening_keeps_changes_and_counts(left: str, right: str, context: int) -> None:
    whole = word_difference(left, right)
    short = list(shortened(whole.pieces, context))
    assert [piece for piece in short if piece.kind == "changed"] == [p for p in whole.pieces if p.kind == "changed"]
    assert sum(piece.words for piece in short if piece.kind != "changed") == whole.same


def test_counts_of_one_changed_word() -> None:
    difference = word_difference("a b c d", "a b  x d")
    assert (difference.same, difference.removed, difference.added, difference.cut) == (3, 1, 1, False)
    assert [(piece.kind, piece.left, piece.right) for piece in difference.pieces] == [
        ("same", "a b ", "a b "),
        ("changed", "c ", "x "),
        ("same", "d", "d"),
    ]


def test_scripts_without_spaces_are_compared_by_character() -> None:
    difference = word_difference("東京都に住む", "東京市に住む")
    assert (difference.same, difference.removed, difference.added) == (5, 1, 1)


def test_the_limit_is_kept_and_said() -> None:
    difference = word_difference("same " * 50 + "left", "same " * 50 + "right", limit=50)
    assert (difference.same, difference.removed, difference.cut) == (50, 0, True)
    assert not word_difference("same " * 50, "same " * 50, limit=50).cut


def test_one_endless_word_is_cut_into_words() -> None:
    assert word_difference("x" * 10_000, "x" * 10_000).same == 100
