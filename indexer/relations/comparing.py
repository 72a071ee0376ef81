"""The comparison of two near texts: their relation, by their sentences."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise

from indexer.core.text import text_digest
from indexer.relations.alignment import Block, aligned, blocks_between, equal_runs
from indexer.relations.facts import DifferingFact, differing_facts
from indexer.relations.frame import frame_bounds
from indexer.relations.lexicon import Lexicon
from indexer.relations.misreading import are_misread, is_layout, settled
from indexer.relations.relation import Relation, RelationWord
from indexer.relations.rendition import ChangedSentences, RenditionCheck, SharedBody, shared_body
from indexer.relations.wording import Wording
from indexer.text.words import has_marks, marks_differ

# A text contains another one that it has half as many words more than; of less it is an edition.
_CONTAINS = 1.5
# Two sentences with less than so much in common are two sentences, none of them the other one changed.
_VARIANT = 0.5
# Sentences of larger stretches are not paired one by one.
_MOST_PAIRED = 1000


def relate(
    left: Wording,
    right: Wording,
    lexicon: Lexicon | None = None,
    *,
    brief: bool = False,
    other_format: bool = False,
) -> Relation:
    """The relation of one text to another, by the known words of a collection, if given.

    `other_format` says that the documents are known to have two formats. A `brief` answer has one fact of those that
    differ, and no other evidence beside it. Time grows with the words and the square of those that differ.
    """
    given = left.given, right.given
    if (left.without_targets is left) != (right.without_targets is right):
        # Of a page that has no such links it is not known where its own lead to.
        left, right = left.without_targets, right.without_targets
    blocks = blocks_between(left, right)
    if other_word := _differently_marked(left, right, blocks):
        return Relation("reworded", replaced=(other_word,))
    if not blocks:
        return Relation("identical" if text_digest(given[0]) == text_digest(given[1]) else "reflowed")
    return _SentenceComparison(left, right, blocks, lexicon).relation(brief=brief, other_format=other_format)


def may_be_copy(left: Wording, right: Wording, lexicon: Lexicon | None = None) -> bool:
    """False where `relate` finds no copy, as the first words that differ tell of most texts."""
    if left.without_targets is not left or right.without_targets is not right:
        return True
    blocks = blocks_between(left, right)
    if all(is_layout(left, right, block) or are_misread(left, right, block) for block in blocks):
        return True
    return any(frame_bounds(each, lexicon) != (0, len(each)) for each in (left, right))


class _SentenceComparison:
    """The sentences of two texts: the `changed` ones, and those that stand in one text only (`own`)."""

    def __init__(self, left: Wording, right: Wording, blocks: Sequence[Block], lexicon: Lexicon | None) -> None:
        self._left, self._right, self._blocks, self._lexicon = left, right, blocks, lexicon
        self._settled = settled(left, right, blocks, lexicon)
        self._changed: list[ChangedSentences] = []
        self._own: list[Block] = []
        self._unpaired: list[Block] = []
        self._pairs: list[Block] = []
        ends = _common_ends(left, right, blocks)
        stretches = groupby(self._settled.unclear, lambda block: bisect_right(ends, (block.start, block.other_start)))
        for place, inner in stretches:
            (start, other_start), (end, other_end) = ends[place - 1 : place + 1]
            self._compare(Block(start, end, other_start, other_end), list(inner))

    def _compare(self, stretch: Block, inner: Sequence[Block]) -> None:
        left, right = self._left, self._right
        ours = left.sentences(stretch.start, stretch.end)
        theirs = right.sentences(stretch.other_start, stretch.other_end)
        for start, end, other, other_end in aligned(left.sentence_hashes(ours), right.sentence_hashes(theirs)):
            block = Block(ours[start], ours[end], theirs[other], theirs[other_end])
            if end - start == other_end - other:
                sides = pairwise(ours[start : end + 1]), pairwise(theirs[other : other_end + 1])
                self._pairs += [Block(*mine, *yours) for mine, yours in zip(*sides, strict=True)]
            elif _are_alike(
                {*left.values[block.start : block.end].tolist()},
                {*right.values[block.other_start : block.other_end].tolist()},
            ):
                self._match(ours[start : end + 1], theirs[other : other_end + 1])
            else:
                self._own.append(block)
                continue
            within = [each for each in inner if each.meets(block)]
            self._changed.append(ChangedSentences(block, within or [block]))

    def _match(self, ours: Sequence[int], theirs: Sequence[int]) -> None:
        """Pair the sentences of a changed stretch, to show them; the others stand in one text."""
        if len(ours) * len(theirs) > _MOST_PAIRED:
            self._pairs.append(Block(ours[0], ours[-1], theirs[0], theirs[-1]))
            return
        rest = {yours: {*self._right.values[slice(*yours)].tolist()} for yours in pairwise(theirs)}
        for mine in pairwise(ours):
            own = {*self._left.values[slice(*mine)].tolist()}
            if found := next((yours for yours, said in rest.items() if _are_alike(own, said)), None):
                self._pairs.append(Block(*mine, *found))
                del rest[found]
            else:
                self._unpaired.append(Block(*mine, 0, 0))
        self._unpaired += [Block(0, 0, *yours) for yours in rest]

    def relation(self, *, brief: bool, other_format: bool) -> Relation:
        left, right = self._left, self._right
        check, differing = self._rendition(other_format=other_format), self._facts()
        if brief and check is None and (fact := next(differing, None)):
            return Relation("form", (fact,))
        facts = tuple(dict.fromkeys(differing))
        mine, yours = self._sentences(left, 0), self._sentences(right, 1)
        only_left, moved = _parted(mine, yours)
        only_right, _ = _parted(yours, mine)
        replaced = [(left.written(*pair[:2]), right.written(*pair[2:])) for pair in self._pairs]
        removed = sum(block.end - block.start for block in self._own)
        added = sum(block.other_end - block.other_start for block in self._own)
        word, cleaner = self._word(facts, own=bool(mine or yours)), self._settled.cleaner
        exchanged = (only_left and only_right and not moved) or (other_format and (mine or yours))
        common = 0
        if check and (self._changed or exchanged):
            common = check.body.words
            facts, word = (), "edited" if check.adds_sentences else "rendition"
            replaced = check.by_format if word == "rendition" else replaced
        elif word in ("noise", "reflowed") and removed != added:
            cleaner = cleaner or ("right" if removed > added else "left")
        return Relation(
            word, facts, self._settled.misread, added, removed, only_left, only_right, tuple(replaced), moved,
            common, cleaner,
            lost=removed + sum(block.end - block.start for each in self._changed for block in each.inner),
        )  # fmt: skip

    def _word(self, facts: Sequence[DifferingFact], *, own: bool) -> RelationWord:
        if self._changed:
            return "form" if facts else "reworded"
        if own:
            ours, theirs = len(self._left), len(self._right)
            return "contains" if ours >= _CONTAINS * theirs else "part" if theirs >= _CONTAINS * ours else "edited"
        return "noise" if self._settled.misread else "reflowed"

    def _facts(self) -> Iterator[DifferingFact]:
        """The facts that differ, those of the body first: a correction tells more than a byline."""
        blocks = [block for each in self._changed for block in each.inner]
        if len(blocks) > 1 and (body := self._body):
            blocks.sort(key=lambda block: not body.overlaps(block))
        return differing_facts(self._left, self._right, blocks, self._own)

    @cached_property
    def _body(self) -> SharedBody | None:
        return shared_body(self._left, self._right, self._blocks)

    def _rendition(self, *, other_format: bool) -> RenditionCheck | None:
        left, right = self._left, self._right
        if max(len(left), len(right)) >= _CONTAINS * min(len(left), len(right)) or self._body is None:
            return None
        check = RenditionCheck(
            left, right, self._blocks, self._body, lambda block: differing_facts(left, right, [block]),
            other_format=other_format,
        )  # fmt: skip
        # Most texts have no lines around what they have in common, and need no check of their sentences.
        if not check.frames_differ():
            return None
        if any(map(check.refuted_by, self._changed)) or any(map(check.are_replaced, self._own)):
            return None
        for block in self._own if other_format else ():
            check.note_sentences(block)
        return check

    def _sentences(self, wording: Wording, side: int) -> list[tuple[int, str]]:
        """The sentences of one text alone, without frame, each with a hash."""
        head, foot = frame_bounds(wording, self._lexicon)
        found: list[tuple[int, str]] = []
        for start, end in (block[2 * side : 2 * side + 2] for block in (*self._own, *self._unpaired)):
            if start < end and end > head and start < foot:
                bounds = wording.sentences(start, end)
                said = (wording.written(*each) for each in pairwise(bounds))
                found += zip(wording.sentence_hashes(bounds).tolist(), said, strict=True)
        return found


def _are_alike(ours: set[int], theirs: set[int]) -> bool:
    return len(ours & theirs) >= max(1, _VARIANT * min(len(ours), len(theirs)))


def _parted(sentences: Sequence[tuple[int, str]], others: Sequence[tuple[int, str]]) -> list[tuple[str, ...]]:
    there = {value for value, _ in others}
    return [tuple(said for value, said in sentences if (value in there) == moved) for moved in (False, True)]


def _common_ends(left: Wording, right: Wording, blocks: Sequence[Block]) -> list[tuple[int, int]]:
    """The places where a sentence ends in both texts."""
    ours, theirs = left.sorted_ends, right.sentence_ends
    found = [(0, 0)]
    for start, end, shift in equal_runs(blocks, len(left)):
        inside = ours[bisect_left(ours, start) : bisect_right(ours, end)]
        found += [(place, place + shift) for place in inside if place + shift in theirs]
    return list(dict.fromkeys([*found, (len(left), len(right))]))


def _differently_marked(left: Wording, right: Wording, blocks: Sequence[Block]) -> tuple[str, str] | None:
    if not (has_marks(left.text) and has_marks(right.text)):
        return None
    words = (
        (left.word(place), right.word(place + shift))
        for start, end, shift in equal_runs(blocks, len(left))
        for place in range(start, end)
    )
    return next((both for both in words if both[0] != both[1] and marks_differ(*both)), None)
