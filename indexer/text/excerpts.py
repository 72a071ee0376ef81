"""Common passages of two texts, for people to read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    from indexer.text.passages import Alignable, CommonPassage, Span

MOST = 100
"""So many passages of two documents are shown, the longest ones."""

_AROUND = 40
_LINE = 160


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a text."""

    start: Annotated[int, "Its first character, from 0 on"]
    end: Annotated[int, "The character behind its last one"]
    word: Annotated[int, "Its first word, from 0 on"]
    words: Annotated[int, "The number of its words"]
    page: Annotated[int | None, "The page of a PDF where it begins, from 1 on; else null"]
    before: Annotated[str, "The characters before it"]
    text: Annotated[str, "The part, its middle left out if it is long"]
    after: Annotated[str, "The characters behind it"]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage common to a query and a document."""

    words: Annotated[int, "The number of its words, in the text with fewer"]
    similarity: Annotated[float, "1 less the share of differing letters (0 to 1)"]
    query: Annotated[Stretch, "Its place in the query"]
    match: Annotated[Stretch, "Its place in the document"]


@dataclass(frozen=True, slots=True)
class Readable:
    """A text to take excerpts from, with the first characters of the pages of a PDF."""

    aligned: Alignable
    pages: tuple[int, ...] = ()

    def stretch(self, span: Span) -> Stretch:
        text = self.aligned.text
        page = bisect_right(self.pages, span.start) if self.pages else None
        before = _line(text[max(0, span.start - _AROUND) : span.start], at_end=True)
        after = _line(text[span.end : span.end + _AROUND], at_end=False)
        return Stretch(*span, page, before, shortened(text[span.start : span.end]), after)


def excerpts_of(passages: Sequence[CommonPassage], query: Readable, match: Readable) -> tuple[Excerpt, ...]:
    longest = sorted(sorted(passages, key=lambda passage: -passage.words)[:MOST], key=lambda passage: passage.left)
    return tuple(
        Excerpt(passage.words, passage.similarity, query.stretch(passage.left), match.stretch(passage.right))
        for passage in longest
    )


def shortened(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= _LINE:
        return line
    half = _LINE // 2
    return f"{line[:half].rsplit(' ', 1)[0]} ... {line[-half:].split(' ', 1)[-1]}"


def _line(text: str, *, at_end: bool) -> str:
    line = " ".join(text.split())
    if len(text) < _AROUND or " " not in line:
        return line
    return line.split(" ", 1)[1] if at_end else line.rsplit(" ", 1)[0]
