"""The passages of two texts: against all runs that they share, and by what a reader would say of real ones."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from indexer.extract import extract
from indexer.text.passages import Alignable, CommonPassage, CommonPassages, FeatureKind, common_passages

FEATURES: tuple[FeatureKind, ...] = ("words", "letters")


def passages_of(left: str, right: str, features: FeatureKind = "words", least: int = 15) -> CommonPassages:
    return common_passages(Alignable(left, features), Alignable(right, features), least=least)


def common_runs(left: Sequence[str], right: Sequence[str], least: int) -> Iterator[tuple[int, int, int]]:
    """Each longest run of at least so many equal words: where it begins in either text, and its words."""
    for i in range(len(left)):
        for j in range(len(right)):
            if i and j and left[i - 1] == right[j - 1]:
                continue
            size = 0
            while i + size < len(left) and j + size < len(right) and left[i + size] == right[j + size]:
                size += 1
            if size >= least:
                yield i, j, size


def unlike(words: Sequence[str], count: int) -> list[str]:
    return [f"{word}{number}" for number, word in enumerate(words[:count])]


@st.composite
def two_texts(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Texts of shared parts in any order, some more than once, with words of their own between."""
    parts = draw(st.lists(st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=25), min_size=1, max_size=5))
    sides = []
    for side in ("left", "right"):
        chosen = draw(st.lists(st.integers(0, len(parts) - 1), max_size=5))
        words: list[str] = []
        for number in chosen:
            words += parts[number] + unlike([side] * 9, draw(st.integers(0, 9)))
        sides.append(words)
    return sides[0], sides[1]


def require_sound(found: CommonPassages, left: str, right: str) -> None:
    """Each passage lies in both texts, is as similar as it says, and none is there twice."""
    for passage in found.passages:
        parts = [text[place.start : place.end] for text, place in ((left, passage.left), (right, passage.right))]
        ours, theirs = ("".join(part.split()) for part in parts)
        # By the letters that an alignment of the words leaves different, which may be more than the fewest.
        assert 0.6 <= passage.similarity <= Levenshtein.normalized_similarity(ours, theirs) + 1e-9
        for part, text, place in zip(parts, (left, right), (passage.left, passage.right), strict=True):
            assert part == " ".join(text.split()[place.word : place.word + place.words])
    assert len({(passage.left, passage.right) for passage in found.passages}) == len(found.passages)
    assert all(0 <= share <= 1 for share in found.shares)


@given(two_texts(), st.integers(5, 12))
@settings(max_examples=200, deadline=None)
def test_every_run_of_words_that_are_once_in_both_is_in_passages(
    texts: tuple[list[str], list[str]], least: int
) -> None:
    left, right = texts
    found = passages_of(" ".join(left), " ".join(right), least=least)
    require_sound(found, " ".join(left), " ".join(right))
    inside = [
        {word for p in found.passages for word in range(side(p).word, side(p).word + side(p).words)} for side in SIDES
    ]
    for at_left, at_right, size in common_runs(left, right, least):
        if any(
            times(left, left[at : at + 5]) * times(right, left[at : at + 5]) > 1
            for at in range(at_left, at_left + size - 4)
        ):
            continue
        for words, start in ((inside[0], at_left), (inside[1], at_right)):
            # What better passages leave over may be shorter than a passage is.
            missed = [word for word in range(start, start + size) if word not in words]
            assert len(missed) < least


def times(words: Sequence[str], some: Sequence[str]) -> int:
    return sum(words[at : at + len(some)] == some for at in range(len(words)))


SIDES = (lambda passage: passage.left, lambda passage: passage.right)


@given(st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=60))
def test_a_text_stands_in_itself(words: list[str]) -> None:
    text = " ".join(words)
    found = passages_of(text, text)
    assert found.shares == (1.0, 1.0)
    assert found.longest == len(words)


@given(st.lists(st.sampled_from("abcdef"), max_size=40), st.lists(st.sampled_from("uvwxyz"), max_size=40))
def test_texts_without_a_common_word_share_nothing(left: list[str], right: list[str]) -> None:
    assert passages_of(" ".join(left), " ".join(right)) == CommonPassages((), (0.0, 0.0), (len(left), len(right)))


def documents(shared_data: Path) -> list[str]:
    paths = sorted((shared_data / "html" / "mixed").rglob("git-*.html"))
    assert len(paths) > 20
    return [" ".join(extract(path).text.split()) for path in paths[:20]]


def misread(text: str, share: float, chance: random.Random) -> str:
    """A text with this share of its letters replaced by others."""
    return "".join(
        chance.choice("abcdefghijklmnopqrstuvwxyz") if each.isalpha() and chance.random() < share else each
        for each in text
    )


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize(("share", "least"), [(0.0, 1.0), (0.01, 0.97), (0.02, 0.95), (0.05, 0.9)])
def test_a_part_with_misread_letters_is_found_at_its_place(
    shared_data: Path, features: FeatureKind, share: float, least: float
) -> None:
    chance = random.Random(7)
    found_words = all_words = 0
    for text in documents(shared_data):
        words = text.split()
        start = chance.randrange(max(1, len(words) - 300))
        part = " ".join(words[start : start + 300])
        found = passages_of(misread(part, share, chance), text, features)
        longest: CommonPassage = max(found.passages, key=lambda passage: passage.words)
        assert abs(longest.right.start - longest.left.start - len(" ".join([*words[:start], ""]))) <= 0.1 * len(part)
        assert longest.similarity >= 1 - 2 * share - 0.02
        found_words += found.shares[0] * len(part.split())
        all_words += len(part.split())
    assert found_words / all_words >= least


def test_unlike_documents_share_next_to_nothing(shared_data: Path) -> None:
    """Manual pages against one another: what they share are paragraphs on the same options, which a reader sees too."""
    texts = [Alignable(text) for text in documents(shared_data)[:8]]
    for number, left in enumerate(texts):
        for right in texts[number + 1 :]:
            for passage in common_passages(left, right).passages:
                parts = (
                    left.text[passage.left.start : passage.left.end],
                    right.text[passage.right.start : passage.right.end],
                )
                assert Levenshtein.normalized_similarity(*map(str.casefold, parts)) >= 0.6


def test_words_between_and_words_that_differ() -> None:
    words = [f"w{number}" for number in range(100)]
    few = [*words[:40], "some", "words", "between", *words[40:]]
    [passage] = passages_of(" ".join(words), " ".join(few)).passages
    assert (passage.left.words, passage.right.words) == (100, 103)
    many = [*words[:40], *unlike(["between"] * 30, 30), *words[40:]]
    assert [passage.words for passage in passages_of(" ".join(words), " ".join(many)).passages] == [40, 60]
    assert passages_of(" ".join(words), " ".join(many)).shares == (1.0, 100 / 130)
    assert passages_of(" ".join(words[:14]), " ".join(many)).longest == 14


@pytest.mark.parametrize("features", FEATURES)
def test_texts_that_repeat_themselves(features: FeatureKind) -> None:
    """Nothing here may take time or memory by the product of the lengths, which would be days."""
    line = "all of these many lines are equal to one another and longer than the least passage that there can be\n"
    for left, right in (
        ("word " * 300_000, "word " * 200_000),
        (line * 10_000, line * 6_000),
        (line * 2_000, line),
        ("x y z " * 100_000, "y z x " * 60_000),
    ):
        found = passages_of(left, right, features)
        assert min(found.shares) > 0.6
        assert passages_of(right, left, features).shares == pytest.approx(found.shares[::-1], abs=0.35)


def test_only_what_is_not_inside_longer_ones_is_a_passage() -> None:
    chance = random.Random(8)
    verse, *rest = [" ".join("".join(chance.choices("abcdefghij", k=6)) for _ in range(n)) for n in (60, 20, 16, 60)]
    left, right = " ".join([rest[0], verse, rest[1], verse, verse]), " ".join([rest[2], verse, verse])
    found = passages_of(left, right).passages
    # The second verse also stands in the place of the last one, where the two in a row are a passage already; the one
    # that stands alone is in no other passage of the left text.
    assert [(each.left.word, each.right.word, each.words) for each in found] == [(20, 60, 60), (96, 60, 120)]
    # Of equal ones none is inside another.
    assert len(passages_of(f"{verse} {rest[0]} {verse}", f"{rest[1]} {verse}").passages) == 2


def test_letters_see_through_hyphens_and_other_words() -> None:
    clean = (
        "the government of the state has been informed that further instructions would be given to the officers soon"
    )
    read = (
        "thegovern- ment of the st ate hasbeen in formed that further instruc- tions would begiven to theofficers soon"
    )
    found = passages_of(clean, read, "letters")
    assert found.shares == (1.0, 1.0)
    assert found.passages[0].left == (0, len(clean), 0, len(clean.split()))
