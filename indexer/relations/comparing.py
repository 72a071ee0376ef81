"""The comparison of two texts that are near each other: how one stands to the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from indexer.relations.alignment import Block, blocks_between, bridged
from indexer.relations.changes import FEW_WORDS, TextChanges
from indexer.relations.facts import DifferingFact
from indexer.relations.lexicon import Lexicon
from indexer.relations.manuals import PageOfTerminal
from indexer.relations.marks import differing_marks
from indexer.relations.operators import differing_operators
from indexer.relations.relation import COPIES, Relation, RelationWord
from indexer.relations.wording import Wording
from indexer.text.words import marks_differ

# Of two texts the longer one has so many times the words of the shorter, of which so many stand in it, to contain it.
_CONTAINS, _PART = 1.5, 0.95


def relate(left: Wording, right: Wording, lexicon: Lexicon | None = None, *, brief: bool = False) -> Relation:
    """The relation of one text to another, by the words that a collection is known to use, where that is given.

    In doubt it is one of those that keep both texts. With `brief` nothing is looked for beyond the first fact that
    differs, which is much quicker: the word is the same, but of a form not all facts are told. Time grows with the
    words and the square of those that differ.
    """
    if (left.without_targets is left) != (right.without_targets is right):
        # Of a page that has no such links it is not known where its own lead to.
        left, right = left.without_targets, right.without_targets
    pages = PageOfTerminal.of(left), PageOfTerminal.of(right)
    if (pages[0] is None) != (pages[1] is None):
        return _within_margins(left, right, *pages, lexicon, brief=brief)
    blocks = blocks_between(left, right)
    other_word = _differently_marked(left, right, blocks)
    if other_word:
        return Relation("form", (DifferingFact("word", *other_word),))
    if not blocks:
        if left.digest == right.digest:
            return Relation("identical")
        signs = _differing_signs(left, right)
        return Relation("form", (DifferingFact("sign", *signs),)) if signs else Relation("reflowed")
    changes = TextChanges(left, right, bridged(left, right, blocks), lexicon)
    changes.judge(brief=brief)
    if not changes.facts and (signs := _differing_signs(left, right)):
        changes.facts.append(DifferingFact("sign", *signs))
    return Relation(
        _word(changes, len(left), len(right)),
        tuple(dict.fromkeys(changes.facts)),
        tuple(changes.misread),
        changes.added,
        changes.removed,
        changes.removed / max(1, len(left)),
        tuple(changes.lost_facts),
        tuple(changes.only_left),
        changes.cleaner,
    )


def _differing_signs(left: Wording, right: Wording) -> tuple[str, str] | None:
    """The signs between equal words in which two texts say something else; None where these say the same."""
    few = min(left.told, right.told) < FEW_WORDS
    return (differing_marks(left.text, right.text) if few else None) or differing_operators(left.text, right.text)


def _differently_marked(left: Wording, right: Wording, blocks: Sequence[Block]) -> tuple[str, str] | None:
    """Two words in the same place that only their marks tell apart, where both texts have such marks; None for none."""
    if not (left.has_marks and right.has_marks):
        return None
    ends = [*blocks, Block(len(left), len(left), len(right), len(right))]
    place = other = 0
    for block in ends:
        for mine, yours in zip(range(place, block.start), range(other, block.other_start), strict=True):
            said = left.word(mine), right.word(yours)
            if said[0] != said[1] and marks_differ(*said):
                return said
        place, other = block.end, block.other_end
    return None


def _within_margins(
    left: Wording,
    right: Wording,
    page: PageOfTerminal | None,
    other: PageOfTerminal | None,
    lexicon: Lexicon | None,
    *,
    brief: bool,
) -> Relation:
    """The relation where one of two texts has margins, which the other format never has: they count as words alone."""
    found = relate(page.body if page else left, other.body if other else right, lexicon, brief=brief)
    words = sum(len(one.foot) for one in (page, other) if one)
    word: RelationWord = "edited" if words and found.word in COPIES else found.word
    if page is None:
        return replace(found, word=word, added=found.added + words)
    removed = found.removed + words
    return replace(
        found,
        word=word,
        removed=removed,
        lost=removed / max(1, len(left)),
        lost_facts=(*found.lost_facts, *page.lost_beside(right)),
        only_left=(*found.only_left, page.foot.text.strip()) if words else found.only_left,
    )


def _word(changes: TextChanges, ours: int, theirs: int) -> RelationWord:
    if changes.facts:
        return "form"
    if ours >= _CONTAINS * theirs and changes.added <= (1 - _PART) * theirs:
        return "contains"
    if theirs >= _CONTAINS * ours and changes.removed <= (1 - _PART) * ours:
        return "part"
    if changes.added or changes.removed or changes.reworded:
        return "edited"
    return "noise" if changes.misread else "reflowed"
