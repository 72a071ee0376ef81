"""Words that recognition of characters, or who types, takes for others."""

from __future__ import annotations

import unicodedata

from rapidfuzz.distance import OSA

from indexer.relations.facts import has_digit

# Letters that look like others, which recognition of characters takes for them.
_ALIKE = (("rn", "m"), ("cl", "d"), ("vv", "w"), ("ii", "u"), ("tl", "th"), ("li", "h"))
_ALIKE_ALONE = str.maketrans("cbti", "ehfl")
# In a text of few words another letter in a shorter word, or in one that begins otherwise, makes another word: lzlib is
# no mistyped zlib, and reckless is not feckless.
_LONG_WORD, _BEGINNING = 8, 2
# In Portuguese and Spanish "conectando" is connecting, and "conectado" is connected.
_GERUND = "ndo"


def alike(one: str, other: str) -> bool:
    """True if the words differ by no more letters than one of them can be misread or mistyped by."""
    if not one or not other or has_digit(one) or has_digit(other):
        return False
    longest = max(len(one), len(other))
    most = 1 if longest <= 5 else 2 if longest <= 8 else 3
    # Letters are seldom lost or doubled so often as taken for others: mongosh is no misread mongo.
    if abs(len(one) - len(other)) > max(1, most - 1):
        return False
    if OSA.distance(one, other, score_cutoff=most) <= most:
        return True
    return distance_as_read(one, other) <= most - 1


def distance_as_read(one: str, other: str) -> int:
    """The number of letters in which two words differ, where those that look alike in two letters or one are equal."""
    return int(OSA.distance(_read(one), _read(other)))


def _read(word: str) -> str:
    for letters, seen in _ALIKE:
        word = word.replace(letters, seen)
    return word


def look_alike(one: str, other: str) -> bool:
    """True if two words differ in nothing but letters that look like others."""
    return any(
        mine.translate(_ALIKE_ALONE) == yours.translate(_ALIKE_ALONE)
        for mine, yours in ((one, other), (_read(one), _read(other)))
    )


def is_mistyped(one: str, other: str) -> bool:
    """True if two long words that begin alike differ in a letter too few or too many, or in two that changed places.

    Also in letters that look like others, in marks above and below letters, and in an s for a z. One letter for another
    makes as often another word: abductor is no mistyped adductor.
    """
    if max(len(one), len(other)) < _LONG_WORD or one[:_BEGINNING] != other[:_BEGINNING]:
        return False
    if one.endswith(_GERUND) != other.endswith(_GERUND):
        return False
    if look_alike(one, other) or _plain(one) == _plain(other):
        return True
    return (len(one) != len(other) or sorted(one) == sorted(other)) and OSA.distance(one, other) == 1


def _plain(word: str) -> str:
    letters = unicodedata.normalize("NFD", word)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).replace("z", "s")
