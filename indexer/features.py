"""From a text to its features: tokens, stop-lists, shingles, weights.

The tokens of simhash-doc are the core's; what a recipe asks for beside them (case kept, numbers kept or stripped,
dictionaries for languages written without spaces, stop-lists) is made from these, so that no rule is there twice.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import regex

from indexer import core, languages
from indexer.errors import UsageError

KINDS = {"words": 1, "shingles": 3, "chars": 5}
"""The kinds of features, with the number of tokens or characters that one has unless the user says otherwise."""
NUMBERS = ("drop", "keep", "strip")
WEIGHTS = ("occurrence", "set", "log", "tfidf")
MAX_SIZE = 64

# Weights are whole numbers, so that adding them up gives the same bits everywhere; 1.0 is this.
WEIGHT_UNIT = 1 << 16

Hashes = npt.NDArray[np.uint64]
Line = TypeVar("Line", str, bytes)
Counts = npt.NDArray[np.int64]

# What of a text between two tokens can be a number: the runs that rule 2 of simhash-doc cuts and rule 3 drops.
_RUN = regex.compile(r"[\p{Nd}\p{Pc}][\p{Nd}\p{Mn}\p{Mc}\p{Pc}]*")
_DIGIT = regex.compile(r"\p{Nd}")
_NUMERIC = regex.compile(r"\p{N}+")
_ALPHABETIC = regex.compile(r"\p{Alphabetic}")
_UNSPACED = regex.compile(
    r"[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]"
)
_IGNORABLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
# In text that is composed already, folding makes nothing compose across the ends of these, so each is folded alone.
# U+0345 is the one mark that folds to a letter.
_UNIT = regex.compile(r"(?sV1)[\p{L}\u0345][[\p{Mn}\p{Mc}]--\u0345]*|.")


class Token(NamedTuple):
    """A token: as it counts, in folded case, and whether nothing lies between it and the token before."""

    text: str
    folded: str
    adjacent: bool


class Features(NamedTuple):
    """The features of a text: their hashes, each once, in rising order, and how often each occurs."""

    hashes: Hashes
    counts: Counts


@dataclass(frozen=True, slots=True)
class Recipe:
    """How features are made: see `recipe`, which checks the values."""

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
        """Whether the features are the tokens of simhash-doc."""
        return self.kind == "words" and self.has_doc_tokens

    @property
    def has_doc_tokens(self) -> bool:
        """Whether the tokens that the features are made of are those of simhash-doc."""
        plain = self.lower and self.stop == "none" and self.numbers == "drop"
        return plain and self.tokenizer.startswith("uax29")

    def tokens(self, text: str | bytes) -> Iterator[Token]:
        """The tokens of a text in order, stop-words left out. Octets are read as UTF-8."""
        stop = languages.stop_words(self.stop, text)
        dropped = False
        for token in self._all_tokens(text):
            if token.folded in stop:
                dropped = True
            else:
                yield token._replace(adjacent=False) if dropped else token
                dropped = False

    def _all_tokens(self, text: str | bytes) -> Iterator[Token]:
        octets = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        cut = core.tokenise(octets)
        normal = cut.text.decode()
        spans = _spans(normal, cut.tokens)
        if self.numbers == "keep":
            spans = _with_numbers(normal, spans)
        if self.tokenizer.startswith("icu"):
            spans = _dictionary_spans(normal, spans)
        cased = None if self.lower else _caser(octets)
        before = -1
        for start, end in spans:
            folded, shown = normal[start:end], normal[start:end] if cased is None else cased(start, end)
            if self.numbers == "strip" and not folded.isalpha():
                folded, shown = _NUMERIC.sub("", folded), _NUMERIC.sub("", shown)
            if self.numbers != "strip" or _ALPHABETIC.search(folded):
                yield Token(shown, folded, start == before)
                before = end

    def words(self, text: str | bytes) -> tuple[bytes, ...]:
        """The tokens of a text in order as UTF-8, stop-words left out."""
        if replace(self, stop="none").has_doc_tokens:
            found = core.tokenise(text).tokens
            stop = {word.encode() for word in languages.stop_words(self.stop, text)}
            return tuple(word for word in found if word not in stop) if stop else found
        return tuple(token.text.encode() for token in self.tokens(text))

    def folded(self, text: str | bytes) -> tuple[Hashes, Hashes]:
        """The hashes of a text's words in order, and those of the same words in folded case: twice shape (n,)."""
        if self.has_doc_tokens:
            found = core.token_hashes(text)
            return found, found
        tokens = list(self.tokens(text))
        folded = hashes_of([token.folded.encode() for token in tokens])
        return (folded if self.lower else hashes_of([token.text.encode() for token in tokens])), folded

    def features(self, text: str | bytes) -> Features:
        """The features of a text.

        A word's hash is lookup8 (initial value 0) over its UTF-8; a word shingle's the same over the 8 octets, little-
        endian, of each of its words' hashes. Character shingles are cut from the tokens, with one space wherever
        anything lay between two, and hashed over their UTF-8. A text shorter than one shingle is one.
        """
        if self.kind == "chars":
            line = "".join(token.text if token.adjacent else f" {token.text}" for token in self.tokens(text))[1:]
            return _hashed(Counter(_windows(line, 1, self.size)))
        if self.has_doc_tokens:
            return _distinct(
                core.shingle_hashes(text, self.size) if self.kind == "shingles" else core.token_hashes(text)
            )
        words = self.words(text)
        if self.kind == "words":
            return _hashed(Counter(words))
        return _hashed(Counter(_windows(hashes_of(words).astype("<u8").tobytes(), 8, self.size)))


def recipe(
    features: object = "words",
    size: object = None,
    lower: object = True,
    stop: object = "none",
    numbers: object = "drop",
    tokenizer: object = "uax29",
) -> Recipe:
    """A recipe from what a user writes; UsageError that names the parameter that does not fit.

    - `features`: "words", "shingles" of `size` words (3), or "chars": shingles of `size` characters (5).
    - `lower`: whether case is folded. Where not, tokens are cut as ever, then taken from toNFKC of the text without
      default-ignorable characters. NFKC is that of the running Python; by the stability policy of Unicode it is the
      same in all versions for characters that the older one knows. Where it does not know one, and where a U+0345
      stands before another mark, the whole text's case is folded after all.
    - `stop`: "none", languages such as "en" or "en.de" (ISO 639-1) or "auto", which detects the language of each
      document. The version of the lists (and of the detector) becomes part of the value.
    - `numbers`: "drop" tokens without a letter, as simhash-doc does; "keep" them; or "strip" every numeric character
      from all tokens.
    - `tokenizer`: "uax29", or "icu": runs of Han, Kana, Thai, Lao, Khmer and Burmese are cut by ICU's dictionaries. Its
      version becomes part of the value.
    """
    if features not in KINDS:
        raise UsageError(f"features={features}: there are {', '.join(KINDS)}")
    kind = str(features)
    if size is None:
        size = KINDS[kind]
    if type(size) is not int or not 1 <= size <= MAX_SIZE or (kind == "words" and size != 1):
        raise UsageError(f"size={size}: a whole number from 1 to {MAX_SIZE}, and 1 for words")
    if type(lower) is not bool:
        raise UsageError(f"lower={lower}: true or false")
    if numbers not in NUMBERS:
        raise UsageError(f"numbers={numbers}: there are {', '.join(NUMBERS)}")
    return Recipe(kind, size, lower, languages.stop_list(stop), str(numbers), languages.tokenizer(tokenizer))


def parse_recipe(written: str) -> Recipe:
    """The recipe of an id; UsageError where it is none, or where other versions are installed than it names."""
    kind, *parts = written.split(":")
    values: dict[str, object] = dict(part.partition("=")[::2] for part in parts)
    if not {"lower", "numbers", "size", "stop", "tokenizer"} == set(values) or not str(values["size"]).isdecimal():
        raise UsageError(f"{written!r} is no recipe of features")
    lower = {"true": True, "false": False}.get(str(values["lower"]), values["lower"])
    return recipe(kind, **{**values, "size": int(str(values["size"])), "lower": lower})


def hashes_of(words: Sequence[bytes]) -> Hashes:
    """The hash of each word: lookup8 with initial value 0. Shape (n,)."""
    return np.array([core.lookup8(word) for word in words], dtype=np.uint64)


def check_weights(weights: object) -> str:
    """The name of a weighting; UsageError for another."""
    if weights not in WEIGHTS:
        raise UsageError(f"weights={weights}: there are {', '.join(WEIGHTS)}")
    return str(weights)


def weighted(found: Features, weights: str, idf: Callable[[Hashes], npt.NDArray[np.float64]] | None = None) -> Counts:
    """The weight of each feature, int64, at least 1.

    "occurrence": how often it occurs; "set": 1; "log": 1 + ln(occurrences); "tfidf": occurrences times `idf` of the
    feature; the last two in steps of 1/65536.
    """
    if weights == "occurrence":
        return found.counts
    if weights == "set":
        return np.ones_like(found.counts)
    if weights == "log":
        exact = 1.0 + np.log(found.counts)
    elif idf is not None:
        exact = found.counts * idf(found.hashes)
    else:
        raise UsageError("weights=tfidf: needs the statistics of a corpus")
    return np.maximum(np.rint(exact * WEIGHT_UNIT), 1).astype(np.int64)


def _hashed(counted: Mapping[str, int] | Mapping[bytes, int]) -> Features:
    octets = (part.encode() if isinstance(part, str) else part for part in counted)
    hashes = np.fromiter(map(core.lookup8, octets), dtype=np.uint64, count=len(counted))
    counts = np.fromiter(counted.values(), dtype=np.int64, count=len(counted))
    order = np.argsort(hashes)
    return Features(hashes[order], counts[order])


def _distinct(hashes: Hashes) -> Features:
    found, counts = np.unique(hashes, return_counts=True)
    return Features(found, counts.astype(np.int64))


def _windows(line: Line, step: int, size: int) -> Iterator[Line]:
    """Every part of `size` steps; the whole where it is shorter, nothing where it is empty."""
    last = max(0, len(line) - step * size)
    return (line[at : at + step * size] for at in range(0, last + 1, step) if line)


def _spans(normal: str, tokens: Iterable[bytes]) -> Iterator[tuple[int, int]]:
    # What lies between two tokens has no character that a token could be found by, so the first find is the token.
    end = 0
    for token in tokens:
        word = token.decode()
        start = normal.index(word, end)
        end = start + len(word)
        yield start, end


def _with_numbers(normal: str, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    before = 0
    for start, end in chain(spans, [(len(normal), len(normal))]):
        yield from (run.span() for run in _RUN.finditer(normal, before, start) if _DIGIT.search(run.group()))
        if start < end:
            yield start, end
        before = end


def _dictionary_spans(normal: str, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The same spans, but with each run of tokens in scripts without spaces cut by ICU's dictionaries."""
    run: tuple[int, int] | None = None
    for start, end in spans:
        unspaced = _UNSPACED.match(normal, start) is not None
        if run and unspaced and run[1] == start:
            run = run[0], end
            continue
        if run:
            yield from _cut_run(normal, *run)
        run = (start, end) if unspaced else None
        if not unspaced:
            yield start, end
    if run:
        yield from _cut_run(normal, *run)


def _cut_run(normal: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for length in languages.dictionary_cuts(normal[start:end]):
        if _ALPHABETIC.search(normal, start, start + length):
            yield start, start + length
        start += length


def _caser(octets: bytes) -> Callable[[int, int], str]:
    """What gives the text, case kept, of a span of the normalised text."""
    text = octets.decode("utf-8", "replace")
    if text.isascii():
        return lambda start, end: text[start:end]
    for _ in range(2):
        text = unicodedata.normalize("NFKC", _IGNORABLE.sub("", text))
    units = _UNIT.findall(text)
    folded = [_folded(unit) for unit in units]
    normal = core.normalise(octets).decode()
    if "".join(folded) != normal:
        # Characters that this Python's Unicode does not know yet, or a U+0345 out of order: the folded form stands.
        return lambda start, end: normal[start:end]
    # No token begins or ends inside a unit: the letters and marks of one are never parted.
    place = dict(zip(accumulate(map(len, folded), initial=0), accumulate(map(len, units), initial=0), strict=True))
    return lambda start, end: text[place[start] : place[end]]


@lru_cache(maxsize=1 << 14)
def _folded(unit: str) -> str:
    return core.normalise(unit).decode()
