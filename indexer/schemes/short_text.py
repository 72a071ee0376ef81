"""short-text: titles, products and messages, compared word by word."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import OSA

from indexer.core.sketches import intersection_sizes
from indexer.core.text import Tokens, hash_tokens
from indexer.model import Sketch
from indexer.model.ragged import Ragged, no_payload
from indexer.schemes.base import (
    SLACK,
    Hashes,
    Parameter,
    Plan,
    Positions,
    Scheme,
    Similarities,
    Sketches,
    checked_integer,
    checked_share,
)
from indexer.schemes.keys import postings
from indexer.schemes.keys.layout import KeyLayout
from indexer.schemes.simhash_variants import mixed
from indexer.text.counts import counted
from indexer.text.features import hashes_of
from indexer.text.short import ShortText, short_text
from indexer.text.vocabulary import NEGATING_BEGINNINGS

KEY_BITS = 40
_KEY_MASK = np.uint64((1 << KEY_BITS) - 1)
MOST_WORDS = 1000
# Texts of up to so many words are found by all but one of them, those of so many or more by four in a row.
_BY_ALL_BUT_ONE, _BY_RUNS, _RUN = 9, 8, 4
# Where words are single letters, as in Chinese, most that people call words have two.
_LETTERS_BY_ALL_BUT_TWO, _LETTERS_BY_RUNS, _LETTERS_RUN = 17, 14, 6
_PLAIN, _NAME = b" ^"
_FACTS = 16
_LEAST_NAME = 6
_LEAST_WORD = 4
# Of a name of that length, misspelt in one letter that is not the first, one of these is as it was: so many letters
# in front, or the first one with so many at the end; of a shorter word, the first one with the last.
_FRONT, _END = 2, 3
# In a text of up to so many words another one makes another text, unless it is the same misspelt.
_EACH_TELLS = 4
STEP = np.uint64(0x9E3779B97F4A7C15)
# Texts whose words are read at once.
_TEXTS_AT_ONCE = 1 << 14
# Bytes that words have at most, on average.
_LONG_WORD = 40


class ShortTextScheme(Scheme):
    """The words of a text; numbers, sizes and negations have to be the same. docs/reference/schemes.md explains
    parameters, payload and keys.

    The payload begins with 16 hexadecimal digits, a hash of numbers with their units, signs, sizes, negations and short
    codes; then comes each word in folded case, with a space before it, or ^ if it begins with a capital. A text of more
    than `words` words (100) has a digest alone.

    Each key includes the facts, so twins with different numbers share no key. The key without a name is of another
    table: texts with different names meet only if the names begin, or begin and end, with the same letters.
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
        self.layout = KeyLayout(2, KEY_BITS)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        return {"words": self.words}

    def sketch(self, text: str | bytes) -> Sketch | None:
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
        made = short_text(data.decode("utf-8", "replace"))
        if not made.words:
            return None
        words = [word.encode("utf-8", "replace") for word in made.words]
        hashes = hashes_of(words)
        if len(words) > self.words or sum(map(len, words)) > self.words * _LONG_WORD:
            digest = hashlib.sha256(hashes.astype("<u8").tobytes()).hexdigest()[:32]
            payload = _payload(ShortText((f"={digest}",), (False,), (False,), made.facts))
            return Sketch(self.id, payload, (int(digest[:10], 16),), len(words))
        return Sketch(self.id, _payload(made), _keys_of(hashes, made), len(words))

    def similarities(self, payload: bytes, others: Sequence[bytes]) -> npt.NDArray[np.float64]:
        return self.compare_one(payload, Ragged.of_bytes(others))

    def compare(self, payloads: Ragged, left: Positions, right: Positions) -> Similarities:
        rows, places = np.unique(np.concatenate((left, right)), return_inverse=True)
        words = _SortedWords.of(payloads.take(rows))
        one, other = places[: left.size], places[left.size :]
        shared = intersection_sizes(words.hashes, words.ends, one, other)
        sizes = np.diff(words.ends)
        least = np.minimum(sizes[one], sizes[other])
        values = np.asarray(shared / (sizes[one] + sizes[other] - shared), dtype=np.float64)
        values[words.facts[one] != words.facts[other]] = 0.0
        # Of texts with few words in common no more is asked.
        asked = np.flatnonzero((values > 0) & (shared < least) & (shared >= _as_spelt(least)))
        renamed = words.are_renamed(one[asked], other[asked], shared[asked])
        values[asked[renamed]] = 0.0
        asked = asked[~renamed]
        read = {row: words.of_text(row) for row in np.unique((one[asked], other[asked])).tolist()}
        columns = (each[asked].tolist() for each in (one, other, shared))
        values[asked] = [_compared(read[mine], read[yours], both) for mine, yours, both in zip(*columns, strict=True)]
        return values

    def probes(self, sketch: Sketch, similarity: float) -> Sequence[int]:  # noqa: ARG002 it asks for all
        second = self.layout.pack(1, 0)
        return [*(key for key in sketch.keys if key < second), *(key ^ second for key in sketch.keys)]

    def common_keys(self, sketches: Sketches, similarity: float) -> Ragged:  # noqa: ARG002 they are the same for all
        return Ragged(sketches.keys.values & int(_KEY_MASK), sketches.keys.offsets)

    def join(
        self, sketches: Sketches, similarity: float, *, threads: int | None = None
    ) -> Iterator[tuple[Positions, Positions]]:
        del threads
        bits, sizes = _word_bits(sketches.payloads)
        stays = 2 * similarity / (1 + similarity)
        for left, right in self.join_on_keys(sketches, similarity):
            shared = sizes[left] - np.bitwise_count(bits[left] & ~bits[right]).sum(axis=1)
            np.minimum(shared, sizes[right] - np.bitwise_count(bits[right] & ~bits[left]).sum(axis=1), out=shared)
            least = np.minimum(sizes[left], sizes[right])
            kept = (shared >= _as_spelt(least)) | (shared >= stays * least - SLACK)
            yield left[kept], right[kept]

    def join_on_keys(self, sketches: Sketches, similarity: float) -> Iterator[tuple[Positions, Positions]]:
        del similarity
        return postings.crossing(sketches.keys, self.layout, self.crowded)

    def plan(self, similarity: float) -> Plan:
        asked = checked_share(self.family, "similarity", similarity)
        stays = 2 * asked / (1 + asked)
        # Of the shortest texts that are found by runs alone.
        recall = 1 - (1 - stays**_RUN) ** (_BY_ALL_BUT_ONE + 2 - _RUN)
        said = (
            f"texts of up to {_BY_ALL_BUT_ONE} words are found by all but one of them, those of {_BY_RUNS} "
            f"words or more by {_RUN} in a row, all by all of their words in any order; a key that more than "
            f"{counted(self.common, 'text')} hold may be set aside where there are others."
        )
        return Plan(similarity, None, 1, recall, False, said)


def _as_spelt(least: Positions) -> Positions:
    """The least number of equal words of two similar texts with misspelt ones, by the words of the shorter.

    It is a half of them, and all but two or a third: with more misspelt, nothing is sure.
    """
    return np.maximum((least + 1) // 2, least - np.maximum(2, least // 3))


def _word_bits(payloads: Ragged) -> tuple[Hashes, Positions]:
    """128 bits for each text, shape (n, 2), one set for each word, and the number of its words."""
    bits, sizes = np.zeros((len(payloads), 2), dtype=np.uint64), np.zeros(len(payloads), dtype=np.int64)
    for start in range(0, len(payloads), _TEXTS_AT_ONCE):
        rows = np.arange(start, min(start + _TEXTS_AT_ONCE, len(payloads)))
        words = _SortedWords.of(payloads.take(rows))
        sizes[rows] = np.diff(words.ends)
        side, bit = words.hashes & np.uint64(1), np.uint64(1) << (words.hashes >> np.uint64(58))
        for half in range(2):
            bits[rows, half] = np.bitwise_or.reduceat(np.where(side == half, bit, np.uint64(0)), words.ends[:-1])
    return bits, sizes


def _payload(made: ShortText) -> bytes:
    marked = (chr(_NAME if name else _PLAIN) + word for word, name in zip(made.words, made.names, strict=True))
    return f"{made.facts:016x}{''.join(marked)}".encode("utf-8", "replace")


def _keys_of(hashes: Hashes, made: ShortText) -> tuple[int, ...]:
    each = mixed(hashes)
    count, total = each.size, each.sum(dtype=np.uint64)
    found, without = [np.array([total])], list[int]()
    letters = sum(map(len, made.words)) < 2 * count
    most, least, run = (
        (_LETTERS_BY_ALL_BUT_TWO, _LETTERS_BY_RUNS, _LETTERS_RUN) if letters else (_BY_ALL_BUT_ONE, _BY_RUNS, _RUN)
    )
    if count >= least:
        several = each[: count - run + 1]
        for place in range(1, run):
            several = several * STEP + each[place : count - run + 1 + place]
        found.append(several)
    if 2 < count - sum(made.aside) < count:
        # A text that is passed on with a link and hashtags is found by what it says.
        found.append(np.array([each[~np.array(made.aside)].sum(dtype=np.uint64)]))
    if 2 < count <= most:
        rest, plain, each_tells = total - each, list[int](), count <= _EACH_TELLS
        for place, (word, named, tells) in enumerate(zip(made.words, made.names, made.telling, strict=True)):
            # With another telling word a text is another one, so that none is found without it.
            if not tells:
                (without if each_tells or (named and _has_case(word)) else plain).append(place)
        found.append(rest[plain])
        if letters and count > 3:
            found.append(total - each[1:] - each[:-1])
        found += [_by_letters(rest, without, made, 1 if each_tells else _END), rest[without]]
    keys = (mixed(np.concatenate(found) ^ np.uint64(made.facts)) & _KEY_MASK).tolist()
    own = len(keys) - len(without)
    return (*sorted({*keys[:own]}), *sorted({key | 1 << KEY_BITS for key in keys[own:]}))


def _has_case(word: str) -> bool:
    return word != word.upper()


def _by_letters(rest: Hashes, places: Sequence[int], made: ShortText, end: int) -> Hashes:
    words, names = made.words, made.names
    long = [place for place in places if len(words[place]) >= (_LEAST_NAME if names[place] else _LEAST_WORD)]
    if not long:
        return rest[:0]
    ways = [way for place in long for way in (words[place][:_FRONT], f"{words[place][0]} {words[place][-end:]}")]
    return np.repeat(rest[long], 2) * STEP + mixed(hashes_of([way.encode("utf-8", "replace") for way in ways]))


_Marked = tuple[str, bool]

# A number for each byte of a letter. Those past ASCII are parts of letters, and count for nothing.
_LETTERS = np.where(np.arange(256) < 128, mixed(np.arange(1, 257, dtype=np.uint64)), np.uint64(0))


@lru_cache(maxsize=1)
def _small_changes() -> Hashes:
    known = np.append(np.unique(_LETTERS), np.uint64(0))
    return np.unique(known[:, None] - known)


class _SortedWords(NamedTuple):
    """The words of texts: those of text i from `ends[i]` to `ends[i + 1]`, sorted by their hashes.

    The second occurrence of a word in a text counts as another word. Word j is `text[starts[j]:stops[j]]`, and
    `names[j]` is true for a possible name; `facts[i]` are those of text i, `letters[i]` a sum over its letters.
    """

    text: bytes
    hashes: Hashes
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    names: npt.NDArray[np.bool_]
    ends: npt.NDArray[np.int64]
    facts: npt.NDArray[np.void]
    letters: Hashes

    @classmethod
    def of(cls, payloads: Ragged) -> _SortedWords:
        """Read payloads. Raises PayloadError for other bytes."""
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
        letters = np.add.reduceat(_LETTERS[values], first) if len(payloads) else _LETTERS[:0]
        return cls(text, hashes[again], starts[kept], stops[kept], names[kept], ends, facts, letters)

    def are_renamed(self, one: Positions, other: Positions, shared: Positions) -> npt.NDArray[np.bool_]:
        firsts = np.append(np.frombuffer(self.text, dtype=np.uint8), 0)[self.starts].astype(np.int64)
        plain = np.add.reduceat(np.where(self.names, np.uint64(0), self.hashes), self.ends[:-1])
        begins, sizes = np.add.reduceat(firsts, self.ends[:-1]), np.diff(self.ends)
        single = (sizes[one] == shared + 1) & (sizes[other] == shared + 1)
        # Where all other words have one sum, those that differ are names, and so they do in their letters.
        change, small = self.letters[one] - self.letters[other], _small_changes()
        misspelt = small[np.minimum(np.searchsorted(small, change), small.size - 1)] == change
        return np.asarray(single & (plain[one] == plain[other]) & ((begins[one] != begins[other]) | ~misspelt))

    def of_text(self, number: int) -> dict[int, _Marked]:
        mine = slice(self.ends[number], self.ends[number + 1])
        columns = (each[mine].tolist() for each in (self.hashes, self.starts, self.stops, self.names))
        return {
            value: (self.text[start:stop].decode("utf-8", "replace"), name)
            for value, start, stop, name in zip(*columns, strict=True)
        }


def _compared(one: dict[int, _Marked], other: dict[int, _Marked], shared: int) -> float:
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
    sides = [[word for word, named in each if named] for each in (mine, yours)]
    return all(sides) or any(len(each) > 1 or _has_case(word) for each in sides for word in each)


def _same_letters(one: _Marked, other: _Marked) -> float:
    (mine, named), (yours, also) = one, other
    longest, shortest = max(len(mine), len(yours)), min(len(mine), len(yours))
    if longest - shortest and (mine.endswith(yours) or yours.endswith(mine)):
        beginning = (mine if len(mine) > len(yours) else yours)[: longest - shortest]
        if beginning in NEGATING_BEGINNINGS:
            return -1.0
    if shortest < (_LEAST_NAME if named or also else _LEAST_WORD):
        return 0.0
    most = 1 if named or also or longest <= 5 else 2 if longest <= 8 else 3
    if (named or also) and mine[0] != yours[0]:
        return 0.0
    apart = OSA.distance(mine, yours, score_cutoff=most)
    return 1 - apart / longest if apart <= most else 0.0
