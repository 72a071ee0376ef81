"""Blocks that change nothing: words laid out otherwise, and words misread by character recognition or in typing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from indexer.relations.alignment import Block, equal_runs
from indexer.relations.facts import canonical, widened
from indexer.relations.lexicon import Lexicon
from indexer.relations.wording import Wording

# Letters that look like others, in folded case, as tables of errors of recognition have them.
_LOOK_ALIKE = (
    "rn m|cl d|vv w|ii u|ll u|li h|lt h|in m|ni m|nn m|ri n|fi h|iii m|l 1|l i|l j|i 1|i j|i t|l t|l f|f t|1 t|t r|"
    "r n|o 0|o c|o e|o a|e c|c 0|e a|a u|u n|u v|v y|g q|g 9|q 9|s 5|b 6|b 8|b h|h n|z 2|k h|x y|æ ce|œ ce|"
    "и н|и п|н п|ш щ|о с|е с|л п|и u|а a|о o|е e|с c|р p|х x|у y"  # noqa: RUF001 - letters that look alike
)
# Longer ones first, by their first letters.
_PAIRS: dict[tuple[str, str], list[tuple[str, str]]] = {}
for _both in sorted(_LOOK_ALIKE.split("|"), key=lambda both: (-len(both), both)):
    for _one, _other in (_both.split(" "), _both.split(" ")[::-1]):
        _PAIRS.setdefault((_one[0], _other[0]), []).append((_one, _other))
# A shorter word is another word sooner than a misread one: xl is not x1. In more than one of so many letters a word is
# another one too.
_SHORTEST, _LETTERS_A_MISTAKE = 4, 4
# Doubtful words are taken for misread where the sure ones are so many times as many: one of three on a scanned page.
_SURE = 0.5


class Settled(NamedTuple):
    """The blocks that change something, the pairs of misread words in the others, and the side with fewer of them."""

    unclear: Sequence[Block]
    misread: tuple[tuple[str, str], ...]
    cleaner: Literal["left", "right", ""]


def settled(left: Wording, right: Wording, blocks: Sequence[Block], lexicon: Lexicon | None) -> Settled:
    """Tell blocks that change something from layout and misread words.

    A word is misread if it looks like the other one, see `is_misreading`, and only the other is known. If neither is,
    or both are names, of which a collection knows few, the sure misreadings of the same texts decide.
    """

    @cache
    def equal() -> frozenset[int]:
        runs = [left.values[start:end] for start, end, _ in equal_runs(blocks, len(left))]
        return frozenset(np.concatenate(runs).tolist())

    def known_of(one: int, other: int) -> tuple[bool, bool]:
        values = int(left.values[one]), int(right.values[other])
        mine, yours = (each in equal() or (lexicon is not None and lexicon.says(each) > 0) for each in values)
        named = not (mine and yours) and left.is_name(one) and right.is_name(other)
        return (mine and not named, yours and not named)

    judged: list[tuple[Block, list[tuple[bool, bool]]]] = []
    for block in blocks:
        if not is_layout(left, right, block):
            places = zip(range(*block[:2]), range(*block[2:]), strict=True) if are_misread(left, right, block) else ()
            known = [known_of(*both) for both in places]
            judged.append((block, [] if (True, True) in known else known))
    told = Counter(each for _, known in judged for each in known)
    weak = told[True, False] + told[False, True] < _SURE * told[False, False]
    unclear, rest = list[Block](), list[Block]()
    for block, known in judged:
        (unclear if not known or (weak and (False, False) in known) else rest).append(block)
    misread = tuple(dict.fromkeys(words for block in rest for words in _words(left, right, block)))
    more = told[True, False] - told[False, True]
    return Settled(unclear, misread, "left" if more > 0 else "right" if more else "")


def is_layout(left: Wording, right: Wording, block: Block) -> bool:
    """True for a word broken at a line end, and a number with other marks of thousands."""
    if left.span(*block[:2]).isalpha() and right.span(*block[2:]).isalpha():
        # Two words in one piece each are two words, and most blocks are such.
        return False
    one, other = left.span(*widened(left, *block[:2])), right.span(*widened(right, *block[2:]))
    return bool(one and other) and canonical(one) == canonical(other)


def are_misread(left: Wording, right: Wording, block: Block) -> bool:
    """True for words of which each may be a misread one."""
    if not 0 < block.end - block.start == block.other_end - block.other_start:
        return False
    plain = all(map(left.is_plain, range(*block[:2]))) and all(map(right.is_plain, range(*block[2:])))
    return plain and all(is_misreading(*words) for words in _words(left, right, block))


def _words(left: Wording, right: Wording, block: Block) -> Iterable[tuple[str, str]]:
    return zip(map(left.word, range(*block[:2])), map(right.word, range(*block[2:])), strict=True)


def is_misreading(one: str, other: str) -> bool:
    """True if look-alike letters, or one slip, turn one word into the other; a name may be spelt otherwise."""
    named = one[:1].isupper() or other[:1].isupper()
    one, other = canonical(one), canonical(other)
    digits = [any(map(str.isdigit, word)) for word in (one, other)]
    if min(len(one), len(other)) < _SHORTEST or all(digits):
        return False
    most = max(1, max(len(one), len(other)) // _LETTERS_A_MISTAKE)
    return _mistaken(one, other) <= most or (not named and not any(digits) and _is_slip(one, other))


def _mistaken(one: str, other: str) -> int:
    place = there = count = 0
    while place < len(one) and there < len(other):
        if one[place] == other[there]:
            place, there = place + 1, there + 1
            continue
        for mine, yours in _PAIRS.get((one[place], other[there]), ()):
            if one.startswith(mine, place) and other.startswith(yours, there):
                place, there, count = place + len(mine), there + len(yours), count + 1
                break
        else:
            return len(one) + len(other)
    return count if place == len(one) and there == len(other) else len(one) + len(other)


def _is_slip(one: str, other: str) -> bool:
    """True for two letters that changed places, or a letter once more; the first one is right."""
    short, long = sorted((one, other), key=len)
    at = next((place for place, letter in enumerate(short) if letter != long[place]), len(short))
    turned = short[:at] + short[at : at + 2][::-1] + short[at + 2 :]
    doubled = long[:at] + long[at + 1 :] == short and long[at] == long[at - 1]
    return 0 < at < len(short) and (turned == long or doubled)
