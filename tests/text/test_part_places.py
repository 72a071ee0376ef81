"""A part and the text that holds it, side by side at the place where it stands."""

from __future__ import annotations

from indexer.schemes.testing import document
from indexer.text.excerpts import Readable
from indexer.text.part_places import part_difference, part_place
from indexer.text.passages import Alignable

CHAPTERS = [document(seed, 400) for seed in range(8)]
BOOK = " ".join(CHAPTERS)


def readable(text: str) -> Readable:
    return Readable(Alignable(text))


def test_a_chapter_is_compared_with_its_place() -> None:
    words = CHAPTERS[5].split()
    words[200:202] = ["other", "words", "here"]
    chapter = " ".join(words)
    made = part_difference(readable(chapter), readable(BOOK))
    assert (made.holder, made.removed, made.added, made.same) == ("b", 3, 2, 398)
    assert made.place is not None
    assert (made.place.word, made.place.words) == (2000, 400)
    assert [piece.words for piece in made.pieces if piece.kind == "outside"] == [2000, 800]
    assert [piece.kind for piece in made.pieces] == ["outside", "same", "changed", "same", "outside"]
    turned = part_difference(readable(BOOK), readable(chapter))
    assert (turned.holder, turned.removed, turned.added) == ("a", 2, 3)


def test_the_first_and_the_last_chapter_have_nothing_beside_them_there() -> None:
    first, last = (part_difference(readable(CHAPTERS[at]), readable(BOOK)) for at in (0, -1))
    assert [piece.kind for piece in first.pieces] == ["same", "outside"]
    assert [piece.kind for piece in last.pieces] == ["outside", "same"]
    assert not first.removed + first.added + last.removed + last.added


def test_of_two_places_the_one_with_most_counts() -> None:
    whole = " ".join([*CHAPTERS[:2], " ".join(CHAPTERS[2].split()[:100]), *CHAPTERS[3:7], CHAPTERS[2], CHAPTERS[7]])
    place = part_place(Alignable(CHAPTERS[2]), Alignable(whole))
    assert place is not None
    assert (place.word, place.words) == (2500, 400)


def test_a_note_of_every_chapter_does_not_draw_the_place_out() -> None:
    note = " ".join(document(70, 30).split())
    whole = " ".join(f"{note} {chapter}" for chapter in CHAPTERS)
    place = part_place(Alignable(f"{note} {CHAPTERS[3]}"), Alignable(whole))
    assert place is not None
    assert (place.word, place.words) == (3 * 430, 430)


def test_what_is_no_part_is_compared_whole() -> None:
    # Of a new version with much more in it, what is new is the answer.
    longer = " ".join([CHAPTERS[0], *CHAPTERS[2:], CHAPTERS[1]])
    for whole in (document(99, 5000), longer, f"{CHAPTERS[0]} {CHAPTERS[1]} {CHAPTERS[3]}"):
        made = part_difference(readable(f"{CHAPTERS[0]} {CHAPTERS[1]}"), readable(whole))
        assert (made.holder, made.place) == ("", None)
    assert part_difference(readable(""), readable(BOOK)).added == 3200
