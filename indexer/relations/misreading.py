"""Misread words: words mistaken for others by character recognition or in typing."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Literal, NamedTuple

# Letters that look like others, in folded case, as tables of errors of recognition have them.
_LOOK_ALIKE = (
    "rn m|cl d|vv w|ii u|ll u|li h|lt h|in m|ni m|nn m|ri n|fi h|iii m|l 1|l i|l j|i 1|i j|i t|l t|l f|f t|1 t|t r|"
    "r n|o 0|o c|o e|o a|e c|c 0|e a|a u|u n|u v|v y|g q|g 9|q 9|s 5|b 6|b 8|b h|h n|z 2|k h|x y|æ ce|œ ce|"
    "и н|и п|н п|ш щ|о с|е с|л п|и u|а a|о o|е e|с c|р p|х x|у y"  # noqa: RUF001 - letters that look alike
)
_EACH_WAY = [pair for each in _LOOK_ALIKE.split("|") for pair in (each.split(" "), each.split(" ")[::-1])]
# Longer ones first, by their first letters.
_PAIRS: dict[tuple[str, str], list[tuple[str, str]]] = {}
for _one, _other in sorted(
    {(one, other) for one, other in _EACH_WAY}, key=lambda pair: (-len(pair[0] + pair[1]), pair)
):
    _PAIRS.setdefault((_one[0], _other[0]), []).append((_one, _other))
# A shorter word is another word sooner than a misread one: xl is not x1. In more than one of so many letters a word is
# another one too.
_SHORTEST, _LETTERS_A_MISTAKE = 4, 4
# Doubtful words are taken for misread where the sure ones are so many times as many: one of three on a scanned page.
_SURE = 0.5
_KNOWN = 2


class JudgedWords(NamedTuple):
    misread: Sequence[int]
    others: Sequence[int]
    cleaner: Literal["left", "right", ""]


def judge_pairs(alike: Sequence[bool], known: Sequence[tuple[int, int]]) -> JudgedWords:
    """Judge words at the same place; `known` has the number of documents with each.

    A word is misread if it is `alike` the other one, see `is_misreading`, and only the other is known. If neither is,
    the sure misreadings of the same texts decide.
    """
    sure, doubtful, others, found = [0, 0], list[int](), list[int](), list[int]()
    for number, (may_be, counts) in enumerate(zip(alike, known, strict=True)):
        low, high = sorted(counts)
        if not may_be or low >= _KNOWN:
            others.append(number)
        elif high >= _KNOWN:
            found.append(number)
            sure[counts.index(high)] += 1
        else:
            doubtful.append(number)
    (found if sum(sure) >= _SURE * len(doubtful) else others).extend(doubtful)
    cleaner: Literal["left", "right", ""] = "" if sure[0] == sure[1] else "left" if sure[0] > sure[1] else "right"
    return JudgedWords(found, others, cleaner)


def is_misreading(one: str, other: str) -> bool:
    """True if look-alike letters, or one slip, turn one word into the other; a name may be spelt otherwise."""
    named = one[:1].isupper() or other[:1].isupper()
    one, other = (
        word.lower() if word.isascii() else unicodedata.normalize("NFKC", word).casefold() for word in (one, other)
    )
    if min(len(one), len(other)) < _SHORTEST or (_has_digit(one) and _has_digit(other)):
        return False
    most = max(1, max(len(one), len(other)) // _LETTERS_A_MISTAKE)
    return _mistaken(one, other) <= most or (not named and _is_slip(one, other))


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _mistaken(one: str, other: str) -> int:
    place = there = count = 0
    while place < len(one) and there < len(other):
        if one[place] == other[there]:
            place, there = place + 1, there + 1
            continue
        likely = _PAIRS.get((one[place], other[there]), ())
        pair = next(
            (pair for pair in likely if one.startswith(pair[0], place) and other.startswith(pair[1], there)), None
        )
        if pair is None:
            return len(one) + len(other)
        place, there, count = place + len(pair[0]), there + len(pair[1]), count + 1
    return count if place == len(one) and there == len(other) else len(one) + len(other)


def _is_slip(one: str, other: str) -> bool:
    if _has_digit(one) or _has_digit(other):
        return False
    long, short = (one, other) if len(one) >= len(other) else (other, one)
    at = next((n for n in range(len(short)) if long[n] != short[n]), len(short))
    if len(long) == len(short):
        turned = short[:at] + short[at : at + 2][::-1] + short[at + 2 :]
        return at > 0 and turned == long
    doubled = long[:at] + long[at + 1 :] == short and 0 < at < len(short) and long[at] == long[at - 1]
    return len(long) == len(short) + 1 and doubled
