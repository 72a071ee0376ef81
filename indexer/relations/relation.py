"""The relation of two near texts, in one word, and the evidence for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.relations.facts import DifferingFact
    from indexer.relations.versions.order import Order

RelationWord = Literal["identical", "reflowed", "noise", "edited", "form", "contains", "part"]
WORDS: tuple[RelationWord, ...] = get_args(RelationWord)
"""The relations, from the closest."""
COPIES = ("identical", "reflowed", "noise", "edited")
"""The relations of texts of which one can stand for the other."""

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
    stand; `lost_facts` are numbers, names, negations and replaced words among them that the right never says, in a text
    of a few hundred words also those that it only says less often, and words of a title; and lines that say something.
    `cleaner` is the side with fewer misread words, where it is known.
    """

    word: RelationWord
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
    def only(self) -> tuple[int, int]:
        """The numbers of words and facts that stand on the left only, and on the right only."""
        sides = [(fact.left, fact.right) for fact in self.facts] + list(self.misread)
        return self.removed + sum(bool(left) for left, _ in sides), self.added + sum(bool(right) for _, right in sides)

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


def order_with(order: Order, relation: Relation | str | None) -> Order:
    """The place in time of a left text beside the right one by their signs, else by what contains what, where known."""
    from indexer.relations.versions.order import by_contents

    # A chapter is no older version of its book.
    if order.word != "unknown" or not isinstance(relation, Relation) or relation.word in ("contains", "part"):
        return order
    return by_contents(*relation.only)


def _listed(said: list[str]) -> str:
    return ", ".join(said[:_SHOWN]) + (", ..." if len(said) > _SHOWN else "")
