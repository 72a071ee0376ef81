"""Renditions: one work in another format, or in another frame on each side."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from indexer.relations.alignment import Block
from indexer.relations.facts import DifferingFact, canonical
from indexer.relations.frame import FrameLine, frame_line
from indexer.relations.wording import Wording

# A body has so many words and signs in common, and this share of the shorter text.
_LEAST_BODY, _BODY_SHARE = 50, 0.6
# A difference costs so many equal words, and one for each of its own: lists of references, in which each entry is
# written otherwise, end a body; a caption of some hundred words ends none of some hundreds.
_BLOCK_COST = 8
# A fact that is replaced stands in so few words; longer ones are notes and links, of which another one stands there.
_CLEAN, _NAME = 4, 2
# Other words in the place of some, as labels and cross references have them, are at most this share of the body.
_REPLACED = 0.02
# A formula that formats write otherwise looks like another number; in so many words one of them may be.
_A_FORMULA = 10_000
# Of more lines before or behind the body those next to it tell one frame from another one.
_MOST_LINES = 100
# A title, an address, a number and a date stand in so many first lines.
_HEAD = 10
# The title stands in so many first words.
_LONGEST_HEAD = 200
# A dateline has at most so many words, and the headline before it so many more.
_LONGEST_LEAD, _LEAD = 12, 40
_NUMBERS = ("number", "amount", "date", "time")
_MARKUP = frozenset(".,;:[]()^*_#|`~ \n\t")
# Sentences have so many words and are at least a tenth of a body; without them it is a menu or an index. Mails above
# one footer have sentences of their own: both of them so large a share of the body, or one of them.
_LEAST_SENTENCE, _OF_BODY, _OWN_OF_BOTH, _OWN_OF_ONE = 5, 0.1, 0.1, 0.25
_BRACKETS = str.maketrans("<{[>}]", "((()))")
_AT_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
# What a format moves, as dates in a reference or rows of a table, stands within so many words.
_AROUND = 100
# Words of grammar in clauses of so few to so many words, and in longer sentences than captions, are at most this share
# of the body, if one side has them or both differ in them; of prose they are a fifth. Moved sentences have half of
# their passages elsewhere.
_CLAUSE, _PASSAGE, _ADDED = 3, 40, 0.002
_CAPTION, _PROSE, _MOVED = 20, 5, 4
# A heading has at most so many words.
_HEADING = 8
_NO_CLAUSE = re.compile(r"[\d\[\]<>{}|*_`#@=\\/]|\n\n")
_NO_PROSE = re.compile(r"[\[\]<>{}|*_`#@=\\]|::|--|//")
_MARKED = re.compile("[\\^\\[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]")
_BRACKETED = re.compile(r"[()\[\]<>]")
_LONGEST_MARK = 3
_ENUMERATOR = re.compile(r"[\W\d]*([^\W\d]{1,4})?\W*")


class SharedBody(NamedTuple):
    """The piece that two texts have in common: its places in both, and the number of equal words and signs."""

    start: int
    end: int
    other_start: int
    other_end: int
    words: int

    def overlaps(self, block: Block) -> bool:
        return block.start < self.end and block.end > self.start

    def holds(self, block: Block) -> bool:
        return self.start < block.end < self.end or self.start < block.start < self.end


class ChangedSentences(NamedTuple):
    block: Block
    inner: Sequence[Block]


def shared_body(left: Wording, right: Wording, blocks: Sequence[Block]) -> SharedBody | None:
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
        blocks: Sequence[Block],
        body: SharedBody,
        facts: Callable[[Block], Iterable[DifferingFact]],
        *,
        other_format: bool,
    ) -> None:
        self._left, self._right, self._blocks, self.body, self._facts = left, right, blocks, body, facts
        self._other_format = other_format
        self._replaced = self._clauses = self._sentences = self._facts_replaced = 0
        self.by_format: list[tuple[str, str]] = []

    def refuted_by(self, sentences: ChangedSentences) -> bool:
        if self._other_format:
            return self._refuted_in_other_format(sentences)
        block = sentences.block
        if self.body.overlaps(block):
            return not all(self._is_around(each) or self._is_framing(each) for each in sentences.inner)
        return self._has_stop(block) and self._is_one_changed(sentences)

    def are_replaced(self, block: Block) -> bool:
        if not self.body.holds(block) or not (block.end > block.start and block.other_end > block.other_start):
            return False
        return (not self._other_format and self._has_stop(block)) or self._is_too_much(block)

    def _is_too_much(self, block: Block) -> bool:
        # In another format a passage may stand beside a directive, a link or a label that one of them has instead.
        counted = min if self._other_format else max
        self._replaced += counted(
            sum(map(wording.is_word, range(start, end))) for wording, start, end in self._sides(block)
        )
        return self._replaced > _REPLACED * self.body.words

    # Of another format.

    def _refuted_in_other_format(self, sentences: ChangedSentences) -> bool:
        if not self.body.overlaps(sentences.block):
            return any(map(self._changes_fact, sentences.inner)) and self._is_one_changed(sentences)
        joined = _same_letters(*self._said(sentences.block))
        for block in sentences.inner:
            if joined and any(map(_letters, self._said(block))):
                continue
            if self._changes_fact(block):
                self._facts_replaced += 1
                if self._facts_replaced * _A_FORMULA > self.body.words:
                    return True
            elif self._is_too_much(block) or self._adds_too_much(block):
                return True
            self.by_format.append(self._said(block))
        return False

    def note_sentences(self, sentences: Block) -> None:
        """Count prose that one side has more, as it tells licences apart; notes have moved.

        Around the body front and back matter have headings of their own.
        """
        for number, (wording, start, end) in enumerate(self._sides(sentences)):
            if end - start < _CAPTION or _NO_PROSE.search(wording.span(start, end)):
                continue
            grammar = _grammar(wording, start, end)
            inside = self.body[2 * number] <= start and end <= self.body[2 * number + 1]
            if grammar * _PROSE >= end - start and (inside or not _has_heading(wording, start, end)):
                own = _passages(wording, start, end)
                known = self._own_passages if inside else self._all_passages
                if 2 * len(own & known[1 - number]) < len(own):
                    self._sentences += grammar

    @property
    def adds_sentences(self) -> bool:
        return self._sentences > _ADDED * self.body.words

    @cached_property
    def _own_passages(self) -> list[frozenset[bytes]]:
        sides = zip(*map(self._sides, self._blocks), strict=True)
        return [frozenset().union(*(_passages(*stretch) for stretch in side)) for side in sides]

    @cached_property
    def _all_passages(self) -> list[frozenset[bytes]]:
        # A table of contents has the headings of the body.
        return [_passages(wording, 0, len(wording)) for wording in (self._left, self._right)]

    def _adds_too_much(self, block: Block) -> bool:
        """True for clauses in sentences that one side has, or both in other words; labels and links are no clauses."""
        said = self._said(block)
        words = max(len(each.split()) for each in said)
        if words > _PASSAGE:
            self.note_sentences(block)
            return False
        if words >= _CLAUSE and not _NO_CLAUSE.search("".join(said)):
            self._clauses += min(_grammar(*side) for side in self._sides(block) if side[1] < side[2])
        return self._clauses > _ADDED * self.body.words

    def _changes_fact(self, block: Block) -> bool:
        """True if in a few words a fact stands for another one, or a negation for none, and neither has moved."""
        one, other = self._said(block)
        if not self._is_clean(block) or "\n\n" in one + other:
            return False
        if _same_letters(one, other):
            signs, others = ({*each.translate(_BRACKETS)} - _MARKUP for each in (one, other))
            return not _letters(one) and signs != others and bool(signs and others) and self._are_before_digits(block)
        ours, theirs = self._lost(block)
        if self._negate(self._left, ours) != self._negate(self._right, theirs):
            return True
        replaces = bool(ours and theirs) or not (one and other)
        return replaces and self._replaces_fact(block) and not self._is_of_format(block, one, other)

    def _are_before_digits(self, block: Block) -> bool:
        return all(end < len(side) and side.word(end)[0].isdigit() for side, _, end in self._sides(block))

    def _is_of_format(self, block: Block, one: str, other: str) -> bool:
        """True for words without a space between them, marks of references and numbers of sections."""
        shorter, longer = sorted((one, other), key=len)
        if len(shorter.split()) > 1 and _letters(longer).startswith(_letters(shorter)):
            return True
        return self._is_mark(block, one, other) or all(self._enumerates(*side) for side in self._sides(block))

    @cached_property
    def _negations(self) -> frozenset[str]:
        return self._left.vocabulary.negations | self._right.vocabulary.negations

    def _negate(self, wording: Wording, places: Iterable[int]) -> bool:
        return any(_letters(wording.word(place)).rstrip("0123456789") in self._negations for place in places)

    def _lost(self, block: Block) -> list[list[int]]:
        """The words of each side that stand less often in what differs around on the other side."""
        first = bisect_left(self._blocks, block.start - _AROUND, key=lambda each: each.end)
        last = bisect_right(self._blocks, block.end + _AROUND, key=lambda each: each.start)
        counts = Counter[int](), Counter[int]()
        for each in self._blocks[first:last]:
            for count, (wording, start, end) in zip(counts, self._sides(each), strict=True):
                count.update(wording.values[start:end].tolist())
        more = counts[0] - counts[1], counts[1] - counts[0]
        return [
            [place for place in range(start, end) if int(wording.values[place]) in some]
            for (wording, start, end), some in zip(self._sides(block), more, strict=True)
        ]

    def _is_mark(self, block: Block, one: str, other: str) -> bool:
        """True for the mark of a reference or a note, in the place of none or of a number without brackets."""
        if block.start and not self._left.before(block.start) and self._left.word(block.start - 1)[-1].isdigit():
            return False
        letters = _letters(one), _letters(other)
        words = [each.rstrip("0123456789") for each in letters]
        if words[0] != words[1] or max(map(len, letters)) - len(words[0]) > _LONGEST_MARK:
            return False
        return any(
            _MARKED.search(mark) and not _BRACKETED.search(plain) for mark, plain in ((one, other), (other, one))
        )

    @staticmethod
    def _enumerates(wording: Wording, start: int, end: int) -> bool:
        if start == end or not _ENUMERATOR.fullmatch(wording.line_before(end)):
            return False
        while start and "\n" not in wording.before(start):
            start -= 1
        # A number may also begin a line within a sentence.
        return start in wording.sentence_ends

    def _replaces_fact(self, block: Block) -> bool:
        size = block.end - block.start
        is_one = size == block.other_end - block.other_start and size <= _NAME
        return any(
            (is_one or fact.kind in _NUMBERS) and _bare(fact.left) != _bare(fact.right)
            for fact in self._facts(block)
            if fact.left and fact.right
        )

    # Frames.

    def _say_something_else(self) -> bool:
        body = self.body
        if _in_sentences(self._left, body.start, body.end) < _OF_BODY * body.words:
            return True
        around = [
            _in_sentences(wording, 0, start) + _in_sentences(wording, end, len(wording))
            for wording, start, end in ((self._left, *body[:2]), (self._right, *body[2:4]))
        ]
        return min(around) > _OWN_OF_BOTH * body.words or max(around) > _OWN_OF_ONE * body.words

    def frames_differ(self) -> bool:
        body = self.body
        ours = self._frame(self._left, body.start, body.end)
        theirs = self._frame(self._right, body.other_start, body.other_end)
        if self._other_format:
            # Each format breaks lines in its own way, so only words tell that they are alike.
            return self._subjects_agree() and not any(line.is_replaced_by(other) for line in ours for other in theirs)
        if self._say_something_else():
            return False
        both = {line.values for line in ours} & {line.values for line in theirs}
        mine, yours = ([line for line in side if line.values not in both] for side in (ours, theirs))
        matched = 0
        for line in mine[:]:
            if (found := next((other for other in yours if line.is_like(other)), None)) is not None:
                if line.is_headline_of(other=found):
                    return False
                matched += 1
                mine.remove(line)
                yours.remove(found)
        return sum(not line.is_plain for line in (*mine, *yours)) > matched

    def _subjects_agree(self) -> bool:
        """True if the head of one text has the words that the title of the other one repeats."""
        sides = self._left, self._right
        heads = [{*wording.values[:_LONGEST_HEAD].tolist()} for wording in sides]
        return any(_subject(wording) <= head for wording, head in zip(sides, reversed(heads), strict=True))

    def _frame(self, wording: Wording, start: int, end: int) -> list[FrameLine]:
        """The lines without a sentence end before and behind the body; of another format, those of the head."""
        lines = wording.lines
        before = [line for line in lines if line[1] <= start]
        behind = [line for line in lines if line[0] >= end]
        some = before[:_HEAD] if self._other_format else [*before[-_MOST_LINES:], *behind[:_MOST_LINES]]
        found = [frame_line(wording, *line) for line in some if not _ends_sentence(wording, *line)]
        if self._other_format:
            # What one format has in one line may stand in two lines of another one.
            there = frozenset[int]().union(*(line.there for line in found))
            found = [line._replace(there=there) for line in found]
        return found

    # Blocks.

    def _said(self, block: Block) -> tuple[str, str]:
        return self._left.span(*block[:2]), self._right.span(*block[2:])

    @staticmethod
    def _is_clean(block: Block) -> bool:
        return max(block.end - block.start, block.other_end - block.other_start) <= _CLEAN

    def _sides(self, block: Block) -> tuple[tuple[Wording, int, int], tuple[Wording, int, int]]:
        return (self._left, block.start, block.end), (self._right, block.other_start, block.other_end)

    def _has_stop(self, block: Block) -> bool:
        return any(_ends_sentence(*side) for side in self._sides(block))

    def _is_one_changed(self, sentences: ChangedSentences) -> bool:
        block = sentences.block
        differing = sum(each.end - each.start + each.other_end - each.other_start for each in sentences.inner)
        equal = (block.end - block.start + block.other_end - block.other_start - differing) // 2
        return equal >= max(2, differing) and any(
            fact.left and fact.right for each in sentences.inner for fact in self._facts(each)
        )

    def _is_around(self, block: Block) -> bool:
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
        leads = block.start <= self.body.start + _LEAD
        lines = all(_is_line(*side) or (leads and self._is_lead(*side)) for side in self._sides(block))
        return lines and not self._is_too_much(block)

    @staticmethod
    def _is_lead(wording: Wording, start: int, end: int) -> bool:
        """True for a dateline: the first words of a line, ended by a dash or a colon."""
        line = wording.line_before(end)
        ended = start == end or _ends_lead(wording, end)
        return ended and len(line.split()) <= _LONGEST_LEAD and not _STOPS.search(line)

    @staticmethod
    def _is_edge(wording: Wording, place: int) -> bool:
        return place in wording.sentence_ends or "\n" in wording.before(place) or _ends_lead(wording, place)


_LEAD_END = re.compile(r"[^\w\n]*?(?:[\u2013\u2014:]|\s-\s)")
_STOPS = re.compile(r"[.!?\u061f\u0589\u06d4\u0964\u0965\u3002\uff01\uff1f](?=\s|$)")


def _ends_lead(wording: Wording, place: int) -> bool:
    return wording.line_before(place).endswith(":") or bool(_LEAD_END.match(wording.line_behind(place)))


def _ends_sentence(wording: Wording, start: int, end: int) -> bool:
    return _STOPS.search(wording.span(start, end) + wording.before(end)) is not None


def _in_sentences(wording: Wording, start: int, end: int) -> int:
    """The number of words in sentences that have a sentence end."""
    bounds = pairwise(wording.sentences(start, end))
    return sum(
        last - first
        for first, last in bounds
        if last - first >= _LEAST_SENTENCE and _ends_sentence(wording, first, last)
    )


def _has_heading(wording: Wording, start: int, end: int) -> bool:
    """True for a short line without a sentence end; the first one of a text is its title."""
    lines = (
        wording.lines[bisect_left(wording.lines, (start, 0)) : bisect_left(wording.lines, (end, 0))] if start else ()
    )
    return any(
        last <= end and last - first <= _HEADING and not _ends_sentence(wording, first, last) for first, last in lines
    )


def _subject(wording: Wording) -> frozenset[int]:
    """The words of the first lines, without those of grammar, that the text repeats."""
    values, grammar = wording.values.tolist(), wording.vocabulary.grammar
    counts, found, words = Counter(values), set[int](), 0
    for first, last in wording.lines[:_HEAD]:
        names = [place for place in range(first, last) if wording.word(place)[0].isalpha()]
        words += len(names)
        found |= {values[place] for place in names if wording.folded(place) not in grammar}
        if words > 1 and any(counts[each] > 1 for each in found):
            break
    return frozenset(each for each in found if counts[each] > 1)


def _is_line(wording: Wording, start: int, end: int) -> bool:
    if _ends_sentence(wording, start, end):
        return False
    return all(place in (0, len(wording)) or "\n" in wording.before(place) for place in (start, end))


def _grammar(wording: Wording, start: int, end: int) -> int:
    return sum(wording.folded(place) in wording.vocabulary.grammar for place in range(start, end))


def _passages(wording: Wording, start: int, end: int) -> frozenset[bytes]:
    values = wording.values
    return frozenset(values[place : place + _MOVED].tobytes() for place in range(start, end - _MOVED + 1))


def _bare(said: str) -> str:
    return _AT_EDGES.sub("", canonical(said))


def _letters(said: str) -> str:
    folded = (said if said.isascii() else unicodedata.normalize("NFKD", said)).casefold()
    return folded if folded.isalnum() else "".join(filter(str.isalnum, folded))


def _same_letters(one: str, other: str) -> bool:
    return _letters(one) == _letters(other)
