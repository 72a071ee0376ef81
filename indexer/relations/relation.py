"""The relation of two near texts in one word, with the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.relations.facts import DifferingFact
    from indexer.relations.versions.order import Order

RelationWord = Literal["identical", "reflowed", "noise", "rendition", "form", "reworded", "edited", "contains", "part"]
WORDS: tuple[RelationWord, ...] = get_args(RelationWord)
"""The relations, from the closest."""
COPIES: tuple[RelationWord, ...] = ("identical", "reflowed", "noise")
"""The relations of texts that say the same, so that one can stand for the other."""
PARTS = ("contains", "part")
"""The relations of texts of which one is longer and holds the other."""
REMOVABLE = tuple(word for word in WORDS if word not in PARTS)
"""The relations that a removal can name."""
VerdictWord = Literal["stays", "could go", "differs"]
SAME_WORK = ("rendition",)
"""The relations of texts that are one work in another format or frame."""

_CUT = ("edited", *PARTS)
_SHOWN = 3


def verdict_of(relation: str | None) -> VerdictWord:
    if relation in COPIES:
        return "could go"
    return "differs" if relation in WORDS else "stays"


@dataclass(frozen=True, slots=True)
class Relation:
    """The relation of a text, on the left, to another one, on the right, and the evidence.

    - identical: equal except for case and white space
    - reflowed: all sentences equal and in order, in other lines or another frame
    - noise: as reflowed, except for misread words (`misread`, pairs of them)
    - rendition: one work in another format, or in another frame on each side; `common` words and signs of its body are
      equal, and `replaced` has what the formats write otherwise
    - form: `facts` are replaced in a sentence
    - reworded: other words are replaced, moved or inserted in a sentence
    - edited: sentences are missing (`only_left`, `only_right`) or elsewhere (`moved`), and none is changed
    - contains, part: edited, and the left has at least half as many words again, or the right

    `added` and `removed` count the words and signs of sentences on one side only; `lost` are the removed ones and those
    of the left replaced in a sentence. `replaced` has both sides of changed sentences. `cleaner` is the side with fewer
    misread words, or with less frame, if there is one.
    """

    word: RelationWord
    facts: tuple[DifferingFact, ...] = ()
    misread: tuple[tuple[str, str], ...] = ()
    added: int = 0
    removed: int = 0
    only_left: tuple[str, ...] = ()
    only_right: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()
    moved: tuple[str, ...] = ()
    common: int = 0
    cleaner: Literal["left", "right", ""] = ""
    lost: int = 0

    @property
    def says_less(self) -> bool:
        """True if each sentence of the left is on the right, unchanged and in order."""
        return self._lacks_none_of(self.only_left)

    @property
    def may_hold(self) -> bool:
        """True if the left may say everything on the right: no sentence of both is changed, and none is only right."""
        return self._lacks_none_of(self.only_right)

    def _lacks_none_of(self, only: Sequence[str]) -> bool:
        return self.word in COPIES or (self.word in _CUT and not (only or self.moved or self.replaced))

    def __str__(self) -> str:
        return f"{self.word}: {said}" if (said := self.evidence) else self.word

    @property
    def evidence(self) -> str:
        replaced = [f"{left or 'nothing'} / {right or 'nothing'}" for left, right in self.replaced]
        if self.word == "form":
            return (
                f"{len(self.facts):,} fact{' differs' if len(self.facts) == 1 else 's differ'}: {_listed(self.facts)}"
            )
        if self.word == "reworded":
            return f"{counted(len(replaced), 'sentence')} reworded: {_listed(replaced)}"
        if self.word == "noise":
            return f"{counted(len(self.misread), 'word')} misread: {_listed(map(' / '.join, self.misread))}"
        gone = f"{counted(self.removed, 'word')} only on the left"
        new = f"{counted(self.added, 'word')} only on the right"
        if self.word == "rendition":
            said = [f"{counted(self.common, 'word')} in common"]
            said += [f"{gone} ({_listed(self.only_left)})"] * bool(self.removed)
            said += [f"{new} ({_listed(self.only_right)})"] * bool(self.added)
            said += [f"{len(replaced):,} written otherwise ({_listed(replaced)})"] * bool(replaced)
            return "; ".join(said)
        cut = f" ({_listed(self.only_left)})" if self.only_left else ""
        moved = f", {counted(len(self.moved), 'sentence')} moved" if self.moved else ""
        return f"{gone}{cut}, {new}{moved}" if self.word in _CUT else ""


def order_with(order: Order, relation: Relation | str | None) -> Order:
    from indexer.relations.versions.order import by_contents

    # A chapter is no older version of its book, and no text is older for its frame.
    if order.word != "unknown" or not isinstance(relation, Relation) or relation.word in (*COPIES, *SAME_WORK, *PARTS):
        return order
    left, right = (sum(bool(fact[side]) for fact in relation.facts) + len(relation.misread) for side in (1, 2))
    return by_contents(relation.removed + left, relation.added + right)


def _listed(said: Iterable[object]) -> str:
    each = list(map(str, said))
    return ", ".join(each[:_SHOWN]) + (", ..." if len(each) > _SHOWN else "")
