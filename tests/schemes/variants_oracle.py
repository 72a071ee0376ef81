"""simhash with all its choices, I-Match, SpotSigs and passages in slow, plain Python, from the papers.

It shares nothing with the package; tokens, hashes and votes are those of the oracle of simhash-doc.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

import regex

from tests import oracle

STEP = 0x9E3779B97F4A7C15
UNIT = 65536


def mixed(x: int) -> int:
    """The finaliser of SplitMix64."""
    x &= oracle.MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & oracle.MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & oracle.MASK
    return x ^ x >> 31


def hash_of(words: Sequence[str]) -> int:
    """The hash of several words: lookup8 over the hashes of each."""
    return oracle.lookup8(b"".join(oracle.lookup8(word.encode()).to_bytes(8, "little") for word in words))


# simhash


def pieces(text: str) -> list[str]:
    """What rule 2 of simhash-doc leaves: words and numbers."""
    cut = oracle.blank_identifiers(oracle.normalise(oracle.without_marks(text)))
    return [piece for word in oracle.words(cut) for piece in oracle.KEPT.findall(word)]


def tokens(text: str, numbers: str = "drop") -> list[str]:
    """Numbers dropped, kept, or stripped out of words too."""
    if numbers == "keep":
        return [each for each in pieces(text) if oracle.ALPHABETIC.search(each) or regex.search(r"\p{Nd}", each)]
    found = oracle.tokens(oracle.without_marks(text))
    if numbers == "strip":
        stripped = [regex.sub(r"\p{N}", "", token) for token in found]
        return [token for token in stripped if oracle.ALPHABETIC.search(token)]
    return found


def shingles(words: Sequence[str], size: int) -> list[int]:
    """The hash of every run of this many words; of all where there are fewer."""
    if size == 1:
        return [oracle.lookup8(word.encode()) for word in words]
    return [hash_of(words[n : n + size]) for n in range(max(1, len(words) - size + 1))] if words else []


def weight(weights: str, count: int, documents: int = 0, frequency: int = 1) -> int:
    return {
        "occurrence": count,
        "set": 1,
        "log": round((1 + math.log(count)) * UNIT),
        "tfidf": round(count * math.log1p(documents / frequency) * UNIT),
    }[weights]


def simhash(features: Mapping[int, int], bits: int) -> bytes:
    """The first bits of two simhashes of weighted features, the second of hashes that were mixed."""
    value = oracle.simhash(list(features), list(features.values()))
    second = oracle.simhash([mixed(feature) for feature in features], list(features.values()))
    return (value << 64 | second).to_bytes(16, "big")[: bits // 8]


def simhash_keys(payload: bytes) -> list[int]:
    if len(payload) == 8:
        return [table << 28 | key for table, key in enumerate(oracle.keys(int.from_bytes(payload, "big")))]
    digits = payload.hex()
    return [n << 16 | int(digits[4 * n : 4 * n + 4], 16) for n in range(len(digits) // 4)]


# I-Match


def lexicon(texts: Sequence[str], low: float, high: float) -> set[str]:
    """The terms of two documents and more whose relative inverse document frequency is between the two."""
    frequency = Counter(token for text in texts for token in set(oracle.tokens(oracle.without_marks(text))))
    most = math.log(len(texts))
    return {
        term for term, count in frequency.items() if count >= 2 and low <= math.log(len(texts) / count) / most <= high
    }


def imatch(text: str, known: set[str], drop: float, sublexicons: int) -> list[bytes]:
    """The digests of the lexicon and of each part of it; zeros where no term is left."""
    terms = sorted(set(oracle.tokens(oracle.without_marks(text))) & known, key=str.encode)
    found = []
    for j in range(sublexicons + 1):
        kept = [t for t in terms if j == 0 or mixed(oracle.lookup8(t.encode()) + j * STEP) >= int(drop * 2**64)]
        digest = hashlib.sha1("".join(f"{term}\n" for term in kept).encode()).digest()[:8]
        found.append(digest if kept else bytes(8))
    return found


def imatch_keys(digests: Sequence[bytes]) -> list[int]:
    return [n << 48 | int.from_bytes(digest[:6], "big") for n, digest in enumerate(digests) if any(digest)]


# SpotSigs


def spots(words: Sequence[str], stop: set[str], antecedents: set[str], distance: int, chain: int) -> list[int]:
    """Each antecedent with the words of its chain, of which none is a stop-word."""
    found = []
    for place, word in enumerate(words):
        behind = [other for other in words[place + 1 :] if other not in stop | antecedents]
        picked = behind[distance - 1 :: distance][:chain]
        if word in antecedents and len(picked) == chain:
            found.append(hash_of([word, *picked]))
    return found


def elements(of: Sequence[int]) -> list[int]:
    """The multiset as a sorted list of different numbers."""
    seen: Counter[int] = Counter()
    found = []
    for spot in of:
        found.append(mixed(spot + seen[spot] * STEP))
        seen[spot] += 1
    return sorted(found)


def spot_keys(numbers: Sequence[int], bound: Fraction) -> list[int]:
    """Of the first n - ceil(bound n) + 1 numbers the first 40 bits, behind the number of the partition of n."""
    size = len(numbers)
    partition, following = 0, 1
    while True:
        start, following = following, next(q for q in range(following + 1, 10**6) if Fraction(following, q) < bound)
        if start <= size < following:
            break
        partition += 1
    first = numbers[: size - math.ceil(bound * size) + 1]
    return list(dict.fromkeys(partition << 40 | number >> 24 for number in first))


def jaccard(left: Sequence[int], right: Sequence[int]) -> Fraction:
    """Of two multisets."""
    one, two = Counter(left), Counter(right)
    return Fraction((one & two).total(), (one | two).total())


# Passages


def passage_keys(text: str, features: str, size: int, window: int) -> list[int]:
    """Of each window of shingles the one with the least hash, the low 40 bits of it."""
    words = tokens(text, "keep")
    if features == "words":
        hashes = [hash_of(words[at : at + size]) for at in range(max(1, len(words) - size + 1))] if words else []
    else:
        letters = "".join(words)
        runs = [letters[at : at + size] for at in range(max(1, len(letters) - size + 1))] if letters else []
        hashes = [oracle.lookup8(run.encode()) for run in runs]
    least = {min(hashes[at : at + window]) for at in range(max(1, len(hashes) - window + 1))} if hashes else set()
    return sorted({one % 2**40 for one in least})
