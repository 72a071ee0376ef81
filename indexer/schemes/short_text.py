"""short-text: titles, products and messages, compared word by word."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import OSA

from indexer.core.sketches import intersection_sizes
from indexer.core.text import hash_tokens
from indexer.model import Sketch
from indexer.model.ragged import Ragged, no_payload
from indexer.model.tokens import Tokens
from indexer.schemes.base import (
    Hashes,
    Parameter,
    Plan,
    Positions,
    Scheme,
    Similarities,
    checked_integer,
    checked_share,
)
from indexer.schemes.keys.layout import KeyLayout
from indexer.schemes.simhash_variants import mixed
from indexer.text.counts import counted
from indexer.text.features import hashes_of
from indexer.text.short import ShortText, short_text
from indexer.text.vocabulary import NEGATING_BEGINNINGS

KEY_BITS = 40
_KEY_MASK = np.uint64((1 << KEY_BITS) - 1)
MOST_WORDS = 1000
# Texts of up to so many words are found by all but one of them, those of so many or more by three in a row.
_BY_ALL_BUT_ONE, _BY_RUNS, _RUN = 9, 8, 3
# Where words are single letters, as in Chinese, most that people call words have two.
_LETTERS_BY_ALL_BUT_TWO, _LETTERS_BY_RUNS, _LETTERS_RUN = 17, 14, 6
_PLAIN, _NAME = b" ^"
_FACTS = 16
_LEAST_NAME = 6
STEP = np.uint64(0x9E3779B97F4A7C15)
# Bytes that words have at most, on average.
_LONG_WORD = 40


class ShortTextScheme(Scheme):
    """The words of a text, of which numbers, sizes and negations have to be the same.

    The payload holds the words themselves: 16 hexadecimal digits, a hash of numbers with their units, signs, sizes,
    negations and short codes; then each word in folded case, a space before it, or ^ where it begins with a capital.
    Of a text of more than `words` words (100) it holds a digest alone, so that only equal ones are near.

    The similarity is the share of words that are in both, where a misspelt word counts by its letters. It is
    0 where the hash of the facts differs, and where one text has a word with a capital in place of another one.

    Keys are hashes of all words, of up to nine words also of all but one of them, of eight words or more those of
    three in a row; each together with the facts. So twins that differ in a number share no key. Of a text of single
    letters, as in Chinese, to 17 all but one and all but two in a row, from 14 on each six in a row.
    """

    family = "short-text"
    summary = (
        "Compares titles, products and messages of 3 words or more, of which numbers, sizes and names must be equal."
    )
    measure = "share of words in both, 0 where a number, a size or a name differs"
    default_similarity = 0.65
    common = crowded = 1000
    quick = True

    def __init__(self, words: int = 100) -> None:
        self.words = checked_integer(self.family, "words", words, _BY_RUNS, MOST_WORDS)
        self.layout = KeyLayout(1, KEY_BITS)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The number of words up to which a text is short."""
        return {"words": self.words}

    def sketch(self, text: str | bytes) -> Sketch | None:
        """The words of a text, with its keys; None where it has none."""
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
        made = short_text(data.decode("utf-8", "replace"))
        if not made.words:
            return None
        words = [word.encode("utf-8", "replace") for word in made.words]
        hashes = hashes_of(words)
        if len(words) > self.words or sum(map(len, words)) > self.words * _LONG_WORD:
            digest = hashlib.sha256(hashes.astype("<u8").tobytes()).hexdigest()[:32]
            payload = _payload(ShortText((f"={digest}",), (False,), made.facts))
            return Sketch(self.id, payload, (int(digest[:10], 16),), len(words))
        return Sketch(self.id, _payload(made), tuple(_keys_of(hashes, made).tolist()), len(words))

    def similarities(self, payload: bytes, others: Sequence[bytes]) -> npt.NDArray[np.float64]:
        """The share of words that are in both, of one text with each of others."""
        return self.compare_one(payload, Ragged.of_bytes(others))

    def compare(self, payloads: Ragged, left: Positions, right: Positions) -> Similarities:
        """The similarities of each pair."""
        rows, places = np.unique(np.concatenate((left, right)), return_inverse=True)
        words = _SortedWords.of(payloads.take(rows))
        one, other = places[: left.size], places[left.size :]
        shared = intersection_sizes(words.hashes, words.ends, one, other)
        sizes = np.diff(words.ends)
        least = np.minimum(sizes[one], sizes[other])
        values = np.asarray(shared / (sizes[one] + sizes[other] - shared), dtype=np.float64)
        values[words.facts[one] != words.facts[other]] = 0.0
        # Of texts with few words in common no more is asked.
        asked = np.flatnonzero((values > 0) & (shared < least) & (2 * shared >= least))
        renamed = words.are_renamed(one[asked], other[asked], shared[asked])
        values[asked[renamed]] = 0.0
        asked = asked[~renamed]
        read = {row: words.of_text(row) for row in np.unique((one[asked], other[asked])).tolist()}
        columns = (each[asked].tolist() for each in (one, other, shared))
        values[asked] = [_compared(read[mine], read[yours], both) for mine, yours, both in zip(*columns, strict=True)]
        return values

    def plan(self, similarity: float) -> Plan:
        """All keys of a text are asked for."""
        asked = checked_share(self.family, "similarity", similarity)
        stays = 2 * asked / (1 + asked)
        recall = 1 - (1 - stays**_RUN) ** _BY_RUNS
        said = (
            f"texts of up to {_BY_ALL_BUT_ONE} words are found by all but one of them, those of {_BY_RUNS} "
            f"words or more by {_RUN} in a row, all by all of their words in any order; a key that more than "
            f"{counted(self.common, 'text')} hold may be set aside where there are others."
        )
        return Plan(similarity, None, 1, recall, False, said)


def _payload(made: ShortText) -> bytes:
    marked = (chr(_NAME if name else _PLAIN) + word for word, name in zip(made.words, made.names, strict=True))
    return f"{made.facts:016x}{''.join(marked)}".encode("utf-8", "replace")


def _keys_of(hashes: Hashes, made: ShortText) -> Positions:
    """The keys of words, by their hashes, and what they say, sorted, each once."""
    each = mixed(hashes)
    total = each.sum(dtype=np.uint64)
    found = [np.array([total])]
    letters = sum(map(len, made.words)) < 2 * each.size
    most, least, run = (
        (_LETTERS_BY_ALL_BUT_TWO, _LETTERS_BY_RUNS, _LETTERS_RUN) if letters else (_BY_ALL_BUT_ONE, _BY_RUNS, _RUN)
    )
    if 2 < each.size <= most:
        found.append(total - each)
        if letters and each.size > 3:
            found.append(total - each[1:] - each[:-1])
    if each.size >= least:
        several = each[: each.size - run + 1]
        for place in range(1, run):
            several = several * STEP + each[place : each.size - run + 1 + place]
        found.append(several)
    return np.unique(mixed(np.concatenate(found) ^ np.uint64(made.facts)) & _KEY_MASK).astype(np.int64)


_Marked = tuple[str, bool]


class _SortedWords(NamedTuple):
    """The words of texts: those of text i from `ends[i]` to `ends[i + 1]`, by their hashes, sorted.

    The second time that a word stands in a text counts as another word. Word j is `text[starts[j]:stops[j]]`, and
    `names[j]` says whether it may be a name; `facts[i]` are those of text i.
    """

    text: bytes
    hashes: Hashes
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    names: npt.NDArray[np.bool_]
    ends: npt.NDArray[np.int64]
    facts: npt.NDArray[np.void]

    @classmethod
    def of(cls, payloads: Ragged) -> _SortedWords:
        """Read payloads. Raises PayloadError for bytes that are none."""
        values, offsets = payloads.values, payloads.offsets
        first = offsets[:-1]
        if len(payloads) and (
            payloads.sizes.min() < _FACTS + 2 or not np.isin(values[first + _FACTS], (_PLAIN, _NAME)).all()
        ):
            raise no_payload(f"{ShortTextScheme.family}: a payload that holds no words")
        facts = values[first[:, None] + np.arange(_FACTS)].view(f"V{_FACTS}")[:, 0]
        marks = np.flatnonzero((values == _PLAIN) | (values == _NAME))
        owners = np.searchsorted(offsets, marks, side="right") - 1
        starts = marks + 1
        stops = np.minimum(np.append(marks[1:], values.size), offsets[owners + 1])
        text = values.tobytes()
        hashes = hash_tokens(Tokens(text, starts.astype(np.uintp), stops.astype(np.uintp)))
        names = values[marks] == _NAME
        order = np.lexsort((~names, hashes, owners))
        hashes = hashes[order]
        fresh = np.ones(order.size, dtype=np.bool_)
        fresh[1:] = (np.diff(owners[order]) != 0) | (hashes[1:] != hashes[:-1])
        times = np.arange(order.size) - np.maximum.accumulate(np.where(fresh, np.arange(order.size), 0))
        hashes = mixed(hashes + times.astype(np.uint64) * STEP)
        again = np.lexsort((hashes, owners[order]))
        kept = order[again]
        ends = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=len(payloads)))))
        return cls(text, hashes[again], starts[kept], stops[kept], names[kept], ends, facts)

    def are_renamed(self, one: Positions, other: Positions, shared: Positions) -> npt.NDArray[np.bool_]:
        """True for pairs that differ in one word each, two names that begin with different letters.

        So do most products of a catalogue that have a key in common: of one brand, colour and size.
        """
        firsts = np.append(np.frombuffer(self.text, dtype=np.uint8), 0)[self.starts].astype(np.int64)
        plain = np.add.reduceat(np.where(self.names, np.uint64(0), self.hashes), self.ends[:-1])
        letters, sizes = np.add.reduceat(firsts, self.ends[:-1]), np.diff(self.ends)
        single = (sizes[one] == shared + 1) & (sizes[other] == shared + 1)
        # Where all other words have one sum, those that differ are names.
        return np.asarray(single & (plain[one] == plain[other]) & (letters[one] != letters[other]))

    def of_text(self, number: int) -> dict[int, _Marked]:
        """The words of a text by their hashes, each with whether it may be a name."""
        mine = slice(self.ends[number], self.ends[number + 1])
        columns = (each[mine].tolist() for each in (self.hashes, self.starts, self.stops, self.names))
        return {
            value: (self.text[start:stop].decode("utf-8", "replace"), name)
            for value, start, stop, name in zip(*columns, strict=True)
        }


def _compared(one: dict[int, _Marked], other: dict[int, _Marked], shared: int) -> float:
    """The similarity of texts with equal facts, both of which have words of their own."""
    mine = [word for value, word in one.items() if value not in other]
    yours = [word for value, word in other.items() if value not in one]
    alike, read = 0.0, 0
    # Of two single letters, as all words of Chinese are, neither is the other one misspelt.
    longer = [theirs for theirs in yours if len(theirs[0]) > 1]
    for pair in mine[:]:
        for theirs in yours if len(pair[0]) > 1 else longer:
            if (letters := _same_letters(pair, theirs)) > 0:
                mine.remove(pair)
                yours.remove(theirs)
                longer.remove(theirs)
                alike, read = alike + letters, read + 1
                break
            if letters < 0:
                return 0.0
    if mine and yours and _is_renamed(mine, yours):
        return 0.0
    return (shared + alike) / (shared + read + len(mine) + len(yours))


def _is_renamed(mine: list[_Marked], yours: list[_Marked]) -> bool:
    """True if a name stands for other words; without capitals it has two letters, or a letter of one is in both."""
    sides = [[word for word, named in each if named] for each in (mine, yours)]
    return all(sides) or any(len(each) > 1 or word != word.upper() for each in sides for word in each)


def _same_letters(one: _Marked, other: _Marked) -> float:
    """The share of letters in which a word is another one misspelt; 0 where it isn't, below 0 for its opposite."""
    (mine, named), (yours, also) = one, other
    longest, shortest = max(len(mine), len(yours)), min(len(mine), len(yours))
    if longest - shortest and (mine.endswith(yours) or yours.endswith(mine)):
        beginning = (mine if len(mine) > len(yours) else yours)[: longest - shortest]
        if beginning in NEGATING_BEGINNINGS:
            return -1.0
    if shortest < (_LEAST_NAME if named or also else 4):
        return 0.0
    most = 1 if named or also or longest <= 5 else 2 if longest <= 8 else 3
    if (named or also) and mine[0] != yours[0]:
        return 0.0
    apart = OSA.distance(mine, yours, score_cutoff=most)
    return 1 - apart / longest if apart <= most else 0.0
