"""The relation of two near texts, in one word, and the evidence for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.relations.changes import TextChanges
    from indexer.relations.facts import DifferingFact
    from indexer.relations.lexicon import Lexicon
    from indexer.relations.wording import Wording

Word = Literal["identical", "reflowed", "noise", "edited", "form", "contains", "part"]
WORDS: tuple[Word, ...] = get_args(Word)
"""The relations, from the closest."""
COPIES = ("identical", "reflowed", "noise", "edited")
"""The relations of texts of which one can stand for the other."""

# Of two texts the longer one has so many times the words of the shorter, of which so many stand in it, to contain it.
_CONTAINS, _PART = 1.5, 0.95
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Relation:
    """The relation of a text, on the left, to another one, on the right, and the evidence.

    - identical: equal except for case and white space
    - reflowed: equal words, numbers and signs, in other lines or another format
    - noise: some words are misread or mistyped (`misread`, pairs of them)
    - edited: words were added (`added` stand only on the right), removed (`removed` only on the left) or reworded
    - form: `facts` differ
    - contains, part: the left holds all of the right and much more, or the other way round

    `lost` (0 to 1) is the share of words on the left that stand in no place on the right, `only_left` these as they
    stand; `lost_facts` are numbers and names among them, and words that others stand for, that the right never says.
    `cleaner` is the side with fewer misread words, where it is known.
    """

    word: Word
    facts: tuple[DifferingFact, ...] = ()
    misread: tuple[tuple[str, str], ...] = ()
    added: int = 0
    removed: int = 0
    lost: float = 0.0
    lost_facts: tuple[str, ...] = ()
    only_left: tuple[str, ...] = ()
    cleaner: Literal["left", "right", ""] = ""

    def __str__(self) -> str:
        """The word and its evidence in one line."""
        return f"{self.word}: {said}" if (said := self.evidence) else self.word

    @property
    def evidence(self) -> str:
        """The evidence in one line; empty for identical and reflowed texts."""
        if self.word == "form":
            differ = "fact differs" if len(self.facts) == 1 else "facts differ"
            return f"{len(self.facts):,} {differ}: {_listed([str(fact) for fact in self.facts])}"
        if self.word == "noise":
            return (
                f"{counted(len(self.misread), 'word')} misread: {_listed([' / '.join(pair) for pair in self.misread])}"
            )
        if self.word in ("edited", "contains", "part"):
            cut = f" ({_listed(list(self.only_left))})" if self.only_left else ""
            gone, new = counted(self.removed, "word"), counted(self.added, "word")
            return f"{gone} only on the left{cut}, {new} only on the right"
        return ""


def relate(left: Wording, right: Wording, lexicon: Lexicon | None = None) -> Relation:
    """The relation of one text to another, by the words that a collection is known to use, where that is given.

    In doubt it is one of those that keep both texts. Time grows with the words and the square of those that differ.
    """
    # A command that shows relations only where there are any starts without what finds them.
    from indexer.relations.alignment import blocks_between, bridged
    from indexer.relations.changes import TextChanges
    from indexer.relations.facts import DifferingFact
    from indexer.relations.operators import differing_operators

    blocks = blocks_between(left, right)
    if not blocks:
        if left.digest == right.digest:
            return Relation("identical")
        operators = differing_operators(left.text, right.text)
        return Relation("form", (DifferingFact("sign", *operators),)) if operators else Relation("reflowed")
    changes = TextChanges(left, right, bridged(left, right, blocks), lexicon)
    changes.judge()
    if not changes.facts and (operators := differing_operators(left.text, right.text)):
        changes.facts.append(DifferingFact("sign", *operators))
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


def _word(changes: TextChanges, ours: int, theirs: int) -> Word:
    if changes.facts:
        return "form"
    if ours >= _CONTAINS * theirs and changes.added <= (1 - _PART) * theirs:
        return "contains"
    if theirs >= _CONTAINS * ours and changes.removed <= (1 - _PART) * ours:
        return "part"
    if changes.added or changes.removed or changes.reworded:
        return "edited"
    return "noise" if changes.misread else "reflowed"


def _listed(said: list[str]) -> str:
    return ", ".join(said[:_SHOWN]) + (", ..." if len(said) > _SHOWN else "")
