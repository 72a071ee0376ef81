"""Words that say more than grammar: those that tell a text from another one, and one word in two forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from indexer.relations import facts
from indexer.relations.marks import is_option
from indexer.relations.wording import Wording
from indexer.text.vocabulary import ENDINGS, GRAMMATICAL, NEGATING_BEGINNINGS, QUALIFYING

_SHORTEST_STEM = 3
# A line of so many words says something, as a step of a guide does.
_SENTENCE = 8


def negates(one: str, other: str) -> bool:
    """True if one word is the other with what turns it into its opposite."""
    long, short = (one, other) if len(one) > len(other) else (other, one)
    turned = long.endswith(short) and long.removesuffix(short) in NEGATING_BEGINNINGS
    return turned or (one, other) in (("now", "not"), ("not", "now"))


def are_in_another_order(told: Sequence[str], retold: Sequence[str]) -> bool:
    """True for the same words in another order: north of east is not east of north."""
    return told != retold and sorted(told) == sorted(retold)


def tells(wording: Wording, place: int) -> bool:
    """True if a word says more than grammar; in capitals it may be an abbreviation, such as MIT or IT.

    In a name, such as pages-de, any word does.
    """
    word = wording.word(place)
    return word.casefold() not in GRAMMATICAL or (len(word) > 1 and word.isupper()) or wording.in_compound(place)


def qualifies(wording: Wording, place: int) -> bool:
    """True for a word of grammar that says how much or how far, for a letter that is a name, and for an option."""
    if wording.folded(place) in QUALIFYING or is_option(wording.before(place)):
        return True
    return len(wording.word(place)) == 1 and bool(facts.names(wording, [place]))


def is_named(wording: Wording, place: int) -> bool:
    """True if a word is written as a name, or as one of a function in code or of a manual."""
    word = wording.word(place)
    return (word[0].isupper() and not wording.initial(place)) or "_" in word or wording.behind(place) == "("


def is_plain(wording: Wording, place: int) -> bool:
    """True for a word that is no name, and no part of one in code."""
    return not (is_named(wording, place) or wording.in_compound(place) or facts.is_identifier(wording.word(place)))


def are_inflected(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """True if the words are the same but for their endings."""
    return len(ours) == len(theirs) and all(map(have_same_stem, ours, theirs))


def have_same_stem(one: str, other: str) -> bool:
    """True if two words are the same but for an ending."""
    long, short = (one, other) if len(one) > len(other) else (other, one)
    return one == other or (
        len(short) > _SHORTEST_STEM and long.startswith(short) and long.removeprefix(short) in ENDINGS
    )


def sentences(wording: Wording, places: Sequence[int]) -> Iterator[Sequence[int]]:
    """The lines of eight words or more, as their places, of which most have no capital, as titles and headings have."""
    starts = [number for number, place in enumerate(places) if "\n" in wording.before(place)]
    for first, last in pairwise([0, *starts, len(places)]):
        line = places[first:last]
        plain = sum(word[0].isalpha() and word[0] == word[0].lower() for word in map(wording.word, line))
        if len(line) >= _SENTENCE and 2 * plain > len(line):
            yield line
