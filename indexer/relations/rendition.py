"""Renditions: one work in another format, or in another frame on each side."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from indexer.relations.alignment import Block
from indexer.relations.facts import DifferingFact
from indexer.relations.wording import Wording
from indexer.text.vocabulary import vocabulary_of

# A body has so many words and signs in common, and this share of the shorter text.
_LEAST_BODY, _BODY_SHARE = 50, 0.6
# A difference costs so many equal words, and one for each of its own: lists of references, in which each entry is
# written otherwise, end a body; a caption of some hundred words ends none of some hundreds.
_BLOCK_COST = 8
# A fact that is replaced stands in so few words; longer ones are notes and links, of which another one stands there.
_CLEAN, _NAME = 4, 2
# Other words in the place of some, as labels and cross references have them, are at most this share of the body.
_REPLACED = 0.05
# A formula that formats write otherwise looks like another number; in so many words one of them may be.
_A_FORMULA = 10_000
# Of more lines before or behind the body those next to it tell one frame from another one.
_MOST_LINES = 100
# A dateline has at most so many words, and the headline before it so many more.
_LONGEST_LEAD, _LEAD = 12, 40
_NUMBERS = ("number", "amount", "date", "time")
_MARKUP = frozenset(".,;:[]()^*_#|`~ \n\t")
_MARKED = re.compile("[\\^\\[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]")
_DIGITS = re.compile(r"\W*\d{0,3}\W*")
_MARK = re.compile(rf"(.*?){_DIGITS.pattern}", re.DOTALL)
_LONGEST_MARK = 40
_ENUMERATOR = re.compile(r"[\W\d]*([^\W\d]{1,4})?\W*")


class SharedBody(NamedTuple):
    """The piece that two texts have in common: its places in both, and the number of equal words and signs."""

    start: int
    end: int
    other_start: int
    other_end: int
    words: int

    def overlaps(self, block: Block) -> bool:
        """True if a part of the block stands in the body."""
        return block.start < self.end and block.end > self.start

    def holds(self, block: Block) -> bool:
        """True if the block stands in the body, not before its first word or behind its last one."""
        return self.start < block.end < self.end or self.start < block.start < self.end


class ChangedSentences(NamedTuple):
    """Whole sentences of both texts in which a change stands."""

    block: Block
    inner: Sequence[Block]


def shared_body(left: Wording, right: Wording, blocks: Sequence[Block]) -> SharedBody | None:
    """The piece that two texts have most in common in, None where that is little."""
    best, score, words = 0, 0, 0
    begun, place = (0, 0), 0
    found: SharedBody | None = None
    for block in (*blocks, Block(len(left), len(left), len(right), len(right))):
        score, words = score + block.start - place, words + block.start - place
        if score > best:
            best, found = score, SharedBody(begun[0], block.start, begun[1], block.other_start, words)
        if not _same_letters(left.span(block.start, block.end), right.span(block.other_start, block.other_end)):
            score -= _BLOCK_COST + block.end - block.start + block.other_end - block.other_start
        if score < 0:
            score, words, begun = 0, 0, (block.end, block.other_end)
        place = block.end
    least = max(_LEAST_BODY, _BODY_SHARE * min(len(left), len(right)))
    return found if found is not None and found.words >= least else None


class RenditionCheck:
    """Checks whether texts with one body in common are renditions of one work.

    `other_format` says that they are known to be in two formats. Else their frames have to be another one on each side,
    and the body has no changed sentence. `facts` gives those that a block replaces.
    """

    def __init__(
        self,
        left: Wording,
        right: Wording,
        body: SharedBody,
        facts: Callable[[Block], Iterable[DifferingFact]],
        *,
        other_format: bool,
    ) -> None:
        self._left, self._right, self.body, self._facts = left, right, body, facts
        self._other_format = other_format
        self._replaced = self._facts_replaced = 0
        self.by_format: list[tuple[str, str]] = []

    def refuted_by(self, sentences: ChangedSentences) -> bool:
        """True if changed sentences can't stand in renditions of one work."""
        if self._other_format:
            return self._refuted_in_other_format(sentences)
        block = sentences.block
        if self.body.overlaps(block):
            if all(self._is_around(each) or self._is_framing(each) for each in sentences.inner):
                return False
            return self._has_stop(block) or self._share(block) >= 0.5 or self._is_too_much(block)
        return self._has_stop(block) and self._is_one_changed(sentences)

    def are_replaced(self, block: Block) -> bool:
        """True if two sides that stand in one place are too much for renditions of one work."""
        if not self.body.holds(block) or not (block.end > block.start and block.other_end > block.other_start):
            return False
        return (not self._other_format and self._has_stop(block)) or self._is_too_much(block)

    def _is_too_much(self, block: Block) -> bool:
        self._replaced += max(block.end - block.start, block.other_end - block.other_start)
        return self._replaced > _REPLACED * self.body.words

    # Of another format.

    def _refuted_in_other_format(self, sentences: ChangedSentences) -> bool:
        if not self.body.overlaps(sentences.block):
            [block, *more] = sentences.inner or [sentences.block]
            one_fact = not more and self._is_clean(block) and self._is_one_changed(sentences)
            return one_fact and not self._is_by_format(block, *self._said(block))
        gone, new = (self._letters(sentences.inner, side=side) for side in (0, 1))
        moved = not (gone - new) or not (new - gone)
        for block in sentences.inner:
            one, other = self._said(block)
            if self._is_by_format(block, one, other) or (moved and not self._is_clean(block)):
                self.by_format.append((one, other))
            elif self._is_clean(block) and self._replaces_fact(block):
                self._facts_replaced += 1
                if self._facts_replaced * _A_FORMULA > self.body.words:
                    return True
            elif one and other and self._is_too_much(block):
                return True
        return False

    def _is_by_format(self, block: Block, one: str, other: str) -> bool:
        """True for signs and letters that formats write otherwise, marks of references and numbers of sections."""
        if _same_letters(one, other):
            signs = {*one, *other} - _MARKUP
            # Of keys that are pressed together, as in Ctrl-6, the sign is no minus.
            joins = block.start and not self._left.before(block.start) and self._left.word(block.start - 1).isalpha()
            return bool(_letters(one)) or not (one and other) or not signs or bool(joins and signs <= {"-", "+"})
        if not (one and other):
            return not any(fact.kind == "negation" for fact in self._facts(block)) or not self._is_clean(block)
        return self._are_marks(block, one, other) or (
            self._enumerates(self._left, block.start, block.end)
            and self._enumerates(self._right, block.other_start, block.other_end)
        )

    def _are_marks(self, block: Block, one: str, other: str) -> bool:
        if max(len(one), len(other)) > _LONGEST_MARK or not (_MARKED.search(one) or _MARKED.search(other)):
            return False
        if block.start and not self._left.before(block.start) and self._left.word(block.start - 1)[-1].isdigit():
            return False
        said = [unicodedata.normalize("NFKC", each) for each in (one, other)]
        for marked, plain in (said, said[::-1]):
            found = _MARK.fullmatch(marked)
            if found and plain.startswith(found[1]) and _DIGITS.fullmatch(plain.removeprefix(found[1])):
                return True
        return False

    @staticmethod
    def _enumerates(wording: Wording, start: int, end: int) -> bool:
        """True if a line begins with what stands there, and it is a number or a letter."""
        return bool(_ENUMERATOR.fullmatch(wording.line_before(end))) and start < end

    def _replaces_fact(self, block: Block) -> bool:
        """True for another number, and for one name or word of code in the place of one."""
        size = block.end - block.start
        is_one = size == block.other_end - block.other_start and size <= _NAME
        return any(
            (is_one or fact.kind in _NUMBERS) and fact.left.strip("()[].,") != fact.right.strip("()[].,")
            for fact in self._facts(block)
            if fact.left and fact.right
        )

    # Frames.

    def frames_differ(self) -> bool:
        """True if each side has a frame of its own, and not the same one with other facts."""
        ours, theirs = self._own_lines
        matched = 0
        for line in ours[:]:
            if (found := next((other for other in theirs if _alike(line, other)), None)) is not None:
                matched += 1
                ours.remove(line)
                theirs.remove(found)
        own = sum(not line.is_plain for line in (*ours, *theirs))
        plain = [sum(line.is_plain for line in side) for side in (ours, theirs)]
        own += abs(plain[0] - plain[1])
        return own > matched or (self._other_format and not matched)

    @cached_property
    def _own_lines(self) -> tuple[list[_FrameLine], list[_FrameLine]]:
        body = self.body
        ours = _frame_lines(self._left, body.start, body.end)
        theirs = _frame_lines(self._right, body.other_start, body.other_end)
        both = {line.values for line in ours} & {line.values for line in theirs}
        mine, yours = ([line for line in side if line.values not in both] for side in (ours, theirs))
        return mine, yours

    # Blocks.

    def _said(self, block: Block) -> tuple[str, str]:
        return self._left.span(block.start, block.end), self._right.span(block.other_start, block.other_end)

    @staticmethod
    def _is_clean(block: Block) -> bool:
        return max(block.end - block.start, block.other_end - block.other_start) <= _CLEAN

    def _letters(self, blocks: Iterable[Block], side: int) -> Counter[str]:
        said = (self._said(block)[side] for block in blocks)
        return Counter(word for text in said for word in map(_letters, text.split()) if word)

    def _has_stop(self, block: Block) -> bool:
        return _ends_sentence(self._left, block.start, block.end) or _ends_sentence(
            self._right, block.other_start, block.other_end
        )

    def _share(self, block: Block) -> float:
        """The share of the longer side that stands on the other one too."""
        ours = Counter(self._left.values[block.start : block.end].tolist())
        theirs = Counter(self._right.values[block.other_start : block.other_end].tolist())
        return (ours & theirs).total() / max(1, ours.total(), theirs.total())

    def _is_one_changed(self, sentences: ChangedSentences) -> bool:
        """True for a sentence of which most is equal and a fact is replaced, outside of the body."""
        block = sentences.block
        differing = sum(each.end - each.start + each.other_end - each.other_start for each in sentences.inner)
        equal = (block.end - block.start + block.other_end - block.other_start - differing) // 2
        return equal >= max(2, differing) and any(
            fact.left and fact.right for each in sentences.inner for fact in self._facts(each)
        )

    def _is_around(self, block: Block) -> bool:
        """True for what stands before the first sentence of the body, or behind the last one."""
        body, left, right = self.body, self._left, self._right
        before = block.end <= body.start and block.other_end <= body.other_start
        behind = block.start >= body.end and block.other_start >= body.other_end
        ours, theirs = (body.start, body.other_start) if before else (body.end, body.other_end)
        # Of two equal words before the body, one of them in the frame, an alignment may take either.
        while before and ours and theirs and left.values[ours - 1] == right.values[theirs - 1]:
            ours, theirs = ours - 1, theirs - 1
        while behind and ours < len(left) and theirs < len(right) and left.values[ours] == right.values[theirs]:
            ours, theirs = ours + 1, theirs + 1
        return (before or behind) and self._is_edge(left, ours) and self._is_edge(right, theirs)

    def _is_framing(self, block: Block) -> bool:
        """True for whole lines, none of them a sentence, and for datelines without other numbers."""
        sides = (self._left, block.start, block.end), (self._right, block.other_start, block.other_end)
        leads = block.start <= self.body.start + _LEAD and all(self._is_lead(*side) for side in sides)
        if leads and not all(any(map(str.isdigit, said)) for said in self._said(block)):
            return True
        framing = all(_is_line(*side) or (leads and self._is_lead(*side)) for side in sides)
        return framing and not self._is_too_much(block)

    @staticmethod
    def _is_lead(wording: Wording, start: int, end: int) -> bool:
        """True for a dateline: the first words of a line, ended by a dash or a colon."""
        line = wording.line_before(end)
        ended = start == end or line.endswith(":") or _LEAD_END.match(wording.line_behind(end))
        return bool(ended) and len(line.split()) <= _LONGEST_LEAD and not _STOPS.search(line)

    @staticmethod
    def _is_edge(wording: Wording, place: int) -> bool:
        lead = wording.line_before(place).endswith(":") or _LEAD_END.match(wording.line_behind(place))
        return place in wording.sentence_ends or "\n" in wording.before(place) or bool(lead)


class _FrameLine(NamedTuple):
    """A line of a frame: its words, and its shape, in which names and numbers are the same for all."""

    values: bytes
    words: frozenset[int]
    shape: tuple[str, ...]

    @property
    def is_plain(self) -> bool:
        return self.shape == ("A",)


_LEAD_END = re.compile(r"[^\w\n]*?(?:[\u2013\u2014:]|\s-\s)")
_STOPS = re.compile(r"[.!?\u3002\uff01\uff1f](?=\s|$)")


def _ends_sentence(wording: Wording, start: int, end: int) -> bool:
    return _STOPS.search(wording.span(start, end) + wording.before(end)) is not None


def _is_line(wording: Wording, start: int, end: int) -> bool:
    """True for whole lines, none of them a sentence."""
    if _ends_sentence(wording, start, end):
        return False
    return all(place in (0, len(wording)) or "\n" in wording.before(place) for place in (start, end))


def _frame_lines(wording: Wording, start: int, end: int) -> list[_FrameLine]:
    """The lines without a sentence end before and behind the body."""
    grammar = vocabulary_of(wording.text).grammar
    found = []
    lines = wording.lines()
    before = [line for line in lines if line[1] <= start][-_MOST_LINES:]
    behind = [line for line in lines if line[0] >= end][:_MOST_LINES]
    for first, last in (*before, *behind):
        if not _ends_sentence(wording, first, last):
            shape: list[str] = []
            for place in range(first, last):
                word = wording.word(place)
                kind = "0" if any(map(str.isdigit, word)) else wording.folded(place)
                if word[0].isupper() and kind not in grammar:
                    kind = "A"
                if wording.is_word(place) and shape[-1:] != [kind]:
                    shape.append(kind)
            values = wording.values[first:last]
            found.append(_FrameLine(values.tobytes(), frozenset(values.tolist()), tuple(shape)))
    return found


def _alike(one: _FrameLine, other: _FrameLine) -> bool:
    """True for two lines of one frame that differ in facts, as far as their words and shapes tell."""
    shared = len(one.words & other.words)
    if one.shape == other.shape:
        return not one.is_plain or shared > 0
    return 2 * shared > max(len(one.words), len(other.words))


def _letters(said: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", said).casefold()))


def _same_letters(one: str, other: str) -> bool:
    return _letters(one) == _letters(other)
