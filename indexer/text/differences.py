"""The difference of two texts, word by word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Annotated, Literal

import regex

from indexer.text.excerpts import Stretch

MAX_WORDS = 100_000
CONTEXT = 12

# Scripts written without spaces are compared character by character. The bound keeps one endless word from being one.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = regex.compile(rf"([{_UNSPACED}]\p{{M}}*|[^\s{_UNSPACED}]{{1,100}})(\s*)")

PieceKind = Literal["same", "changed", "skipped", "outside"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of two texts."""

    kind: Annotated[PieceKind, '"same" in both, "changed", "skipped" (the same, left out), or "outside" (before or '
        'behind the part in its holder, not compared)']  # fmt: skip
    left: Annotated[str, "The words of the first text, with one space where there was any; empty if left out"]
    right: Annotated[str, "The words of the second text, with one space where there was any; empty if left out"]
    words: Annotated[int, "The number of words of the longer side"]


@dataclass(frozen=True, slots=True)
class Difference:
    """The changes from one text to another."""

    pieces: Annotated[tuple[Piece, ...], "The stretches of the texts, in order"]
    same: Annotated[int, "The number of words in common"]
    removed: Annotated[int, "The number of removed words"]
    added: Annotated[int, "The number of added words"]
    limit: Annotated[int, "The most words of each text compared"]
    cut: Annotated[bool, "True if only the first words, up to the limit, were compared"]
    holder: Annotated[str, '"a" or "b" for the text holding the other one as a part; only the place of the part is '
        'compared'] = ""  # fmt: skip
    place: Annotated[Stretch | None, "The place of the part; null if neither is a part of the other"] = None


def word_difference(left: str, right: str, *, limit: int = MAX_WORDS) -> Difference:
    """A smallest set of changed words (Levenshtein, 1966) that turns `left` into `right`.

    White space is not compared. Only the first `limit` words of each text are, and the answer says so: time grows with
    the product of their numbers, memory with their sum.
    """
    from rapidfuzz.distance import Levenshtein

    ours, ours_cut = _words(left, limit)
    theirs, theirs_cut = _words(right, limit)
    # One character for each different word: equal numbers are then equal words, whatever hashes collide.
    numbers: dict[str, int] = {}
    coded = ["".join(_character(numbers.setdefault(word, len(numbers))) for word, _ in side) for side in (ours, theirs)]
    pieces: list[Piece] = []
    same = removed = added = 0
    for equal, some in groupby(Levenshtein.opcodes(*coded), lambda step: step.tag == "equal"):
        steps = list(some)
        mine, yours = ours[steps[0].src_start : steps[-1].src_end], theirs[steps[0].dest_start : steps[-1].dest_end]
        one, other = len(mine), len(yours)
        if equal:
            same += one
        else:
            removed, added = removed + one, added + other
        pieces.append(Piece("same" if equal else "changed", _text(mine), _text(yours), max(one, other)))
    return Difference(tuple(pieces), same, removed, added, limit, ours_cut or theirs_cut)


def shortened(pieces: Iterable[Piece], context: int = CONTEXT) -> Iterator[Piece]:
    given = list(pieces)
    for place, piece in enumerate(given):
        before, after = (context if place else 0), (context if place + 1 < len(given) else 0)
        if piece.kind != "same" or piece.words <= before + after + 1:
            yield piece
            continue
        words = [(match[1], match[2]) for match in _WORD.finditer(piece.left)]
        if before:
            yield _same(words[:before])
        yield Piece("skipped", "", "", len(words) - before - after)
        if after:
            yield _same(words[-after:])


def _same(words: list[tuple[str, str]]) -> Piece:
    text = _text(words)
    return Piece("same", text, text, len(words))


def _words(text: str, limit: int) -> tuple[list[tuple[str, str]], bool]:
    words = [(match[1], match[2]) for match in islice(_WORD.finditer(text), limit + 1)]
    return words[:limit], len(words) > limit


def _character(number: int) -> str:
    # Surrogates are no characters of their own; beyond them there is room for a million.
    return chr(number if number < 0xD800 else number + 0x800)


def _text(words: list[tuple[str, str]]) -> str:
    return "".join(word + (" " if space else "") for word, space in words)
