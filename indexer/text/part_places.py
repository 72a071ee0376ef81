"""Find the place of a text in a longer one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from indexer.text.differences import MAX_WORDS, Difference, Piece, word_difference
from indexer.text.excerpts import Readable
from indexer.text.passages import Alignable, CommonPassage, Span, common_passages

# A part: so much of it stands in the whole at one place, and it is no more of the whole than that.
_OF_PART, _OF_WHOLE = 0.6, 0.5
# A place is so many times as long as the part at most, and has so much of what the two have in common.
_LONGER, _AT_ONE_PLACE = 1.5, 0.9
# So many signs behind the last word are compared with it.
_SIGNS = 10


def part_difference(left: Readable, right: Readable, *, limit: int = MAX_WORDS) -> Difference:
    in_right = len(left.aligned.words) <= len(right.aligned.words)
    part, whole = (left, right) if in_right else (right, left)
    place = part_place(part.aligned, whole.aligned)
    if place is None:
        return word_difference(left.aligned.text, right.aligned.text, limit=limit)
    here = whole.aligned.text[place.start : _end_of_word(whole.aligned.text, place.end)]
    made = word_difference(*((part.aligned.text, here) if in_right else (here, part.aligned.text)), limit=limit)
    around = place.word, len(whole.aligned.words) - place.word - place.words
    before, after = ([Piece("outside", "", "", words)] if words else [] for words in around)
    return replace(
        made, pieces=(*before, *made.pieces, *after), holder="b" if in_right else "a", place=whole.stretch(place)
    )


def part_place(part: Alignable, whole: Alignable) -> Span | None:
    """The place of most of a part in a text of twice the words or more; None unless it is one place.

    Raises the errors of `common_passages`.
    """
    if not len(part.words) or len(part.words) > _OF_WHOLE * len(whole.words):
        return None
    common = common_passages(part, whole)
    if common.shares[0] < _OF_PART:
        return None
    here = _densest(sorted(common.passages, key=lambda passage: passage.right.word), len(part.words))
    if _covered(here) < _AT_ONE_PLACE * _covered(common.passages):
        return None
    return whole.place(here[0].right.word, here[-1].right.word + here[-1].right.words)


def _end_of_word(text: str, end: int) -> int:
    behind = text[end : end + _SIGNS].split(maxsplit=1)
    return end if text[end : end + 1].isspace() or not behind else end + len(behind[0])


def _densest(passages: Sequence[CommonPassage], words: int) -> Sequence[CommonPassage]:
    best, start, held = (0, 0, 0), 0, 0
    for end, span in enumerate(passage.right for passage in passages):
        held += span.words
        while start < end and span.word + span.words - passages[start].right.word > words * _LONGER:
            held -= passages[start].right.words
            start += 1
        best = max(best, (held, -start, end))
    here = list(passages[-best[1] : best[2] + 1])
    while len(here) > 1 and _adds_little(here[-1], here[:-1]):
        here.pop()
    while len(here) > 1 and _adds_little(here[0], here[1:]):
        here.pop(0)
    return here


def _adds_little(passage: CommonPassage, others: Sequence[CommonPassage]) -> bool:
    return _covered([*others, passage]) - _covered(others) < (1 - _AT_ONE_PLACE) * passage.left.words


def _covered(passages: Sequence[CommonPassage]) -> int:
    covered = reached = 0
    for span in sorted((passage.left for passage in passages), key=lambda span: span.word):
        covered += max(0, span.word + span.words - max(reached, span.word))
        reached = max(reached, span.word + span.words)
    return covered
