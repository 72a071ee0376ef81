"""The place of a text in a much longer one that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from indexer.text.differences import MAX_WORDS, Difference, Piece, word_difference
from indexer.text.excerpts import Readable
from indexer.text.passages import Alignable, CommonPassages, Span, common_passages

# A part: so much of it stands in the whole at one place, and it is no more of the whole than that.
_OF_PART, _OF_WHOLE = 0.6, 1 / 3
# A place is so many times as long as the part at most, and has so much of what the two have in common.
_LONGER, _AT_ONE_PLACE = 1.5, 0.9
# So many signs behind the last word are compared with it.
_SIGNS = 10


def part_difference(left: Readable, right: Readable, *, limit: int = MAX_WORDS) -> Difference:
    """The difference of two texts; of a part and a text that holds it, of the part and the place where it stands."""
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
    """The place in a much longer text where most of a part stands; None where it does not stand in one place there.

    Where it stands in several, the one that has most of it. Raises what `common_passages` raises.
    """
    if not len(part.words) or len(part.words) > _OF_WHOLE * len(whole.words):
        return None
    common = common_passages(part, whole)
    if common.shares[0] < _OF_PART:
        return None
    spans = sorted((each.right for each in common.passages), key=lambda span: span.word)
    here = whole.place(*_densest(spans, len(part.words)))
    return here if _holds(common, here) else None


def _end_of_word(text: str, end: int) -> int:
    """The end of a stretch with the signs that stand right behind it."""
    behind = text[end : end + _SIGNS].split(maxsplit=1)
    return end if text[end : end + 1].isspace() or not behind else end + len(behind[0])


def _densest(spans: Sequence[Span], words: int) -> tuple[int, int]:
    """The words from the first to behind the last of the spans that lie close together and have most words."""
    best, start, held = (0, 0, 0), 0, 0
    for end, span in enumerate(spans):
        held += span.words
        while start < end and span.word + span.words - spans[start].word > words * _LONGER:
            held -= spans[start].words
            start += 1
        best = max(best, (held, -start, end))
    return spans[-best[1]].word, spans[best[2]].word + spans[best[2]].words


def _holds(common: CommonPassages, place: Span) -> bool:
    """True if a place has nearly all that the two texts have in common, of what may stand elsewhere too."""
    there = [each.left for each in common.passages if place.start <= each.right.start and each.right.end <= place.end]
    return _covered(there) >= _AT_ONE_PLACE * _covered([each.left for each in common.passages])


def _covered(spans: Sequence[Span]) -> int:
    """The words that are in any of the spans."""
    covered = reached = 0
    for span in sorted(spans, key=lambda span: span.word):
        covered += max(0, span.word + span.words - max(reached, span.word))
        reached = max(reached, span.word + span.words)
    return covered
