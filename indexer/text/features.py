"""The features of a text: tokens, stop-lists, shingles, weights.

The tokens are the core's, as places in the text. Further options of a recipe (case kept, numbers stripped, dictionaries
for languages written without spaces, stop-lists) move, cut or drop places, so no rule exists twice. Words are compared
by their hashes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import regex

from indexer.core.sketches import among
from indexer.core.text import (
    TokenPlaces,
    Tokens,
    character_hashes,
    hash_tokens,
    normalise,
    shingle_hashes,
    strip_digits,
    token_hashes,
    tokenise,
    without_marks,
)
from indexer.errors import UsageError
from indexer.text import languages

KINDS = {"words": 1, "shingles": 3, "chars": 5}
"""The kinds of features, with the number of tokens or characters that one has unless the user says otherwise."""
NUMBERS = ("drop", "keep", "strip")
WEIGHTS = ("occurrence", "set", "log", "tfidf")
MAX_SIZE = 64

# Weights are whole numbers, so that adding them up gives the same bits everywhere; 1.0 is this.
WEIGHT_UNIT = 1 << 16

Hashes = npt.NDArray[np.uint64]
FeatureCounts = npt.NDArray[np.int64]

_ALPHABETIC = regex.compile(r"\p{Alphabetic}")
_UNSPACED = regex.compile(
    r"[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]"
)
_IGNORABLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
# In text that is composed already, folding makes nothing compose across the ends of these, so each is folded alone; of
# ASCII, whole runs. U+0345 is the one mark that folds to a letter.
_UNIT = regex.compile(r"(?sV1)[\x00-\x7f]+(?![^\x00-\x7f])|[\p{L}\u0345][[\p{Mn}\p{Mc}]--\u0345]*|.")


class Features(NamedTuple):
    hashes: Hashes
    counts: FeatureCounts


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parameters of features; `recipe` checks the values."""

    kind: str
    size: int
    lower: bool
    stop: str
    numbers: str
    tokenizer: str

    @property
    def id(self) -> str:
        """All values, in ASCII letters, digits and `-_.:=`: equal ids, comparable features."""
        return (
            f"{self.kind}:lower={str(self.lower).lower()}:numbers={self.numbers}:size={self.size}"
            f":stop={self.stop}:tokenizer={self.tokenizer}"
        )

    @property
    def is_doc(self) -> bool:
        return self.kind == "words" and self.has_doc_tokens

    @property
    def has_doc_tokens(self) -> bool:
        return self.stop == "none" and self._has_plain_tokens

    def cut(self, text: str | bytes) -> tuple[Tokens, Tokens]:
        given = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        data = without_marks(given)
        folded = tokenise(data, numbers=self.numbers == "keep")
        if self.tokenizer.startswith("icu"):
            folded = _dictionary_cut(folded)
        # Of a text with marks that are left out the case is folded too.
        shown = folded if self.lower or data != given else _cased(data, folded)
        if self.numbers == "strip":
            stripped = strip_digits(folded)
            shown, folded = (stripped if self.lower else strip_digits(shown)), stripped
        stop = self._stop(text)
        if stop.size:
            kept = ~among(hash_tokens(folded), stop)
            shown, folded = shown.where(kept), folded.where(kept)
        return shown, folded

    def folded(self, text: str | bytes) -> tuple[Hashes, Hashes]:
        if self._has_plain_tokens:
            kept, stop = token_hashes(without_marks(text)), self._stop(text)
            kept = kept[~among(kept, stop)] if stop.size else kept
            return kept, kept
        shown, folded = self.cut(text)
        hashes = hash_tokens(folded)
        return (hashes if self.lower else hash_tokens(shown)), hashes

    def hashes(self, text: str | bytes) -> Hashes:
        """The hashes of a text's features in order, with repeats: shape (n,).

        A word's hash is lookup8 (initial value 0) over its UTF-8; a word shingle's the same over the 8 bytes, little-
        endian, of each of its words' hashes. Character shingles are cut from the tokens, with one space wherever
        anything lay between two, and hashed over their UTF-8. A text shorter than one shingle is one.
        """
        if self.kind == "chars":
            return character_hashes(self.cut(text)[0], self.size)
        if self.kind == "shingles" and self.has_doc_tokens:
            return shingle_hashes(text, self.size)
        words = self.folded(text)[0]
        return words if self.kind == "words" else _runs(words, self.size)

    def features(self, text: str | bytes) -> Features:
        distinct, counts = np.unique(self.hashes(text), return_counts=True)
        return Features(distinct, counts.astype(np.int64))

    @property
    def _has_plain_tokens(self) -> bool:
        return self.lower and self.numbers == "drop" and self.tokenizer.startswith("uax29")

    def _stop(self, text: str | bytes) -> Hashes:
        return rising_hashes(languages.stop_words(self.stop, text))


def recipe(
    features: object = "words",
    size: object = None,
    lower: object = True,
    stop: object = "none",
    numbers: object = "drop",
    tokenizer: object = "uax29",
) -> Recipe:
    """A recipe from a user's parameters. Raises UsageError with the name of an unfitting parameter.

    - `features`: "words", "shingles" of `size` words (3), or "chars": shingles of `size` characters (5).
    - `lower`: fold case or not. If not, tokens are cut as always, then taken from toNFKC of the text without
      default-ignorable characters. NFKC is that of the running Python; by the stability policy of Unicode it is the
      same in all versions for characters the older one knows. The case is folded after all for characters it does not
      know, for a U+0345 before another mark, and for a text with optional marks.
    - `stop`: "none", languages such as "en" or "en.de" (ISO 639-1), or "auto", which detects the language of each
      document. The version of the lists (and of the detector) becomes part of the value.
    - `numbers`: "drop" tokens without a letter, as simhash-doc does; "keep" them; or "strip" every numeric character
      from all tokens.
    - `tokenizer`: "uax29", or "icu": runs of Han, Kana, Thai, Lao, Khmer and Burmese are cut by ICU's dictionaries. Its
      version becomes part of the value.
    """
    if features not in KINDS:
        raise UsageError(f"features={features}: must be one of {', '.join(KINDS)}")
    kind = str(features)
    if size is None:
        size = KINDS[kind]
    if type(size) is not int or not 1 <= size <= MAX_SIZE or (kind == "words" and size != 1):
        raise UsageError(f"size={size}: a whole number from 1 to {MAX_SIZE}, and 1 for words")
    if type(lower) is not bool:
        raise UsageError(f"lower={lower}: true or false")
    if numbers not in NUMBERS:
        raise UsageError(f"numbers={numbers}: must be one of {', '.join(NUMBERS)}")
    return Recipe(kind, size, lower, languages.stop_list(stop), str(numbers), languages.tokenizer(tokenizer))


def parse_recipe(written: str) -> Recipe:
    kind, *parts = written.split(":")
    values: dict[str, object] = dict(part.partition("=")[::2] for part in parts)
    if not {"lower", "numbers", "size", "stop", "tokenizer"} == set(values) or not str(values["size"]).isdecimal():
        raise UsageError(f"{written!r} is not a recipe of features")
    lower = {"true": True, "false": False}.get(str(values["lower"]), values["lower"])
    return recipe(kind, **{**values, "size": int(str(values["size"])), "lower": lower})


def hashes_of(words: Sequence[bytes]) -> Hashes:
    """The hash of each word: lookup8 with initial value 0. Shape (n,)."""
    ends = _ends(words)
    return hash_tokens(Tokens(b"".join(words), ends[:-1], ends[1:]))


def hashes_of_rows(rows: npt.NDArray[np.uint64]) -> Hashes:
    """The hash of each row of hashes: lookup8 over the 8 bytes, little-endian, of each. Shape (n, m) to (n,)."""
    starts = np.arange(rows.shape[0], dtype=np.uintp) * np.uintp(8 * rows.shape[1])
    return hash_tokens(Tokens(rows.astype("<u8").tobytes(), starts, starts + np.uintp(8 * rows.shape[1])))


@lru_cache(maxsize=64)
def rising_hashes(words: frozenset[str]) -> Hashes:
    return np.unique(hashes_of([without_marks(word) for word in words]))


def check_weights(weights: object) -> str:
    if weights not in WEIGHTS:
        raise UsageError(f"weights={weights}: must be one of {', '.join(WEIGHTS)}")
    return str(weights)


def weighted(
    made: Features, weights: str, idf: Callable[[Hashes], npt.NDArray[np.float64]] | None = None
) -> FeatureCounts:
    """The weight of each feature, int64, at least 1.

    "occurrence": how often it occurs; "set": 1; "log": 1 + ln(occurrences); "tfidf": occurrences times `idf` of the
    feature; the last two in steps of 1/65536.
    """
    if weights == "occurrence":
        return made.counts
    if weights == "set":
        return np.ones_like(made.counts)
    if weights == "log":
        exact = 1.0 + np.log(made.counts)
    elif idf is not None:
        exact = made.counts * idf(made.hashes)
    else:
        raise UsageError("weights=tfidf: needs the statistics of a corpus")
    return np.maximum(np.rint(exact * WEIGHT_UNIT), 1).astype(np.int64)


def _runs(hashes: Hashes, size: int) -> Hashes:
    if not hashes.size:
        return hashes
    size = min(size, hashes.size)
    starts = np.arange(hashes.size - size + 1, dtype=np.uintp) * np.uintp(8)
    return hash_tokens(Tokens(hashes.astype("<u8").tobytes(), starts, starts + np.uintp(8 * size)))


def _dictionary_cut(tokens: Tokens) -> Tokens:
    first = np.frombuffer(tokens.text, dtype=np.uint8)[tokens.starts]
    unspaced = np.zeros(first.size, dtype=bool)
    for place in np.flatnonzero(first >= 0x80).tolist():
        start = int(tokens.starts[place])
        unspaced[place] = _is_unspaced(tokens.text[start : start + 4].decode("utf-8", "ignore")[0])
    follows = unspaced & tokens.adjacent & np.append(False, unspaced)[:-1]
    heads, tails = unspaced & ~follows, unspaced & ~np.append(follows, False)[1:]
    cuts = [
        cut
        for start, end in zip(tokens.starts[heads].tolist(), tokens.ends[tails].tolist(), strict=True)
        for cut in _cut_run(tokens.text, start, end)
    ]
    starts, ends = np.array(cuts, dtype=np.uintp).reshape(-1, 2).T
    starts, ends = np.append(tokens.starts[~unspaced], starts), np.append(tokens.ends[~unspaced], ends)
    order = np.argsort(starts)
    return Tokens(tokens.text, starts[order], ends[order])


@lru_cache(maxsize=1 << 14)
def _is_unspaced(char: str) -> bool:
    return _UNSPACED.match(char) is not None


def _cut_run(text: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    run, place = text[start:end].decode(), 0
    for length in languages.dictionary_cuts(run):
        word = run[place : place + length]
        end = start + len(word.encode())
        if _ALPHABETIC.search(word):
            yield start, end
        start, place = end, place + length


def _cased(data: bytes, folded: Tokens) -> Tokens:
    if data.isascii():
        return Tokens(data, folded.starts, folded.ends)
    text = data.decode("utf-8", "replace")
    for _ in range(2):
        text = unicodedata.normalize("NFKC", _IGNORABLE.sub("", text))
    units = [unit.encode() for unit in _UNIT.findall(text)]
    lowered = [unit.lower() if unit.isascii() else _folded(unit) for unit in units]
    if b"".join(lowered) != normalise(data):
        # Characters that this Python's Unicode does not know yet, or a U+0345 out of order: the folded form stands.
        return folded
    there, here = _ends(lowered), _ends(units)

    def moved(places: TokenPlaces) -> TokenPlaces:
        # No token begins or ends inside a unit past ASCII: the letters and marks of one are never separated.
        unit = np.searchsorted(there, places, side="right") - 1
        return here[unit] + (places - there[unit])

    return Tokens(text.encode(), moved(folded.starts), moved(folded.ends))


def _ends(parts: Sequence[bytes]) -> TokenPlaces:
    return np.fromiter(accumulate(map(len, parts), initial=0), dtype=np.uintp, count=len(parts) + 1)


@lru_cache(maxsize=1 << 14)
def _folded(unit: bytes) -> bytes:
    return normalise(unit)
