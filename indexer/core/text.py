"""Tokens, words, shingles, alignments and digests of texts, by the C core.

Every call releases the GIL while the C code runs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from indexer._core import ffi, lib
from indexer.core.native import adopted, check, pointer
from indexer.errors import UsageError
from indexer.model.joined import encoded

TokenPlaces = NDArray[np.uintp]
UNICODE_VERSION: str = ffi.string(lib.nd_unicode_version()).decode("ascii")
DIGEST_BYTES = 16
SIGN_CODES: int = lib.ND_SIGN_CODES
# A value, two places and a flag.
_SIGNED_BYTES = 17


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Tokens in order, in a text of UTF-8: token i is `text[starts[i]:ends[i]]`; starts and ends have shape (n,)."""

    text: bytes
    starts: TokenPlaces
    ends: TokenPlaces

    @property
    def tokens(self) -> tuple[bytes, ...]:
        spans = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return tuple([self.text[start:end] for start, end in spans])

    @property
    def adjacent(self) -> NDArray[np.bool_]:
        """True for each token with nothing between it and the one before: shape (n,)."""
        return np.append(False, self.starts[1:] == self.ends[:-1])[: self.starts.size]

    def where(self, kept: NDArray[np.bool_]) -> Tokens:
        return Tokens(self.text, self.starts[kept], self.ends[kept])


def _tokens(status: int, tokens: Any) -> Tokens:
    check(status)
    owned = ffi.gc(tokens.text, lib.nd_free)
    starts, ends = (adopted(numbers, tokens.count, np.uintp) for numbers in (tokens.starts, tokens.ends))
    return Tokens(bytes(ffi.buffer(owned, tokens.length)) if tokens.length else b"", starts, ends)


def tokenise(text: str | bytes, *, numbers: bool = False) -> Tokens:
    """The tokens hashed by `fingerprint`, in the normalised text with identifiers blanked.

    With `numbers` also the pieces with a decimal digit and no letter, omitted by simhash-doc. Raises MemoryError.
    """
    data = encoded(text)
    tokens = ffi.new("nd_tokens *")
    call = lib.nd_tokenise_with_numbers if numbers else lib.nd_tokenise
    return _tokens(call(ffi.from_buffer(data), len(data), tokens), tokens)


def _spans(tokens: Tokens) -> tuple[Any, Any, Any, int]:
    starts, ends = np.ascontiguousarray(tokens.starts), np.ascontiguousarray(tokens.ends)
    if not starts.dtype == ends.dtype == np.uintp or starts.shape != ends.shape:
        raise UsageError("starts and ends of tokens must be arrays of uintp of the same shape")
    if ends.size and (int(ends.max()) > len(tokens.text) or (starts > ends).any()):
        raise UsageError("tokens must lie within their text")
    return ffi.from_buffer(tokens.text), pointer(starts, "size_t[]"), pointer(ends, "size_t[]"), starts.size


def strip_digits(tokens: Tokens) -> Tokens:
    """The tokens without their decimal digits; tokens of digits alone are left out. Raises MemoryError."""
    stripped = ffi.new("nd_tokens *")
    return _tokens(lib.nd_strip_digits(*_spans(tokens), stripped), stripped)


def normalise(text: str | bytes) -> bytes:
    """toNFKC_Casefold of a text as UTF-8 (Unicode Standard, section 3.13). Raises MemoryError."""
    return _rewritten(lib.nd_normalise, text)


def without_marks(text: str | bytes) -> bytes:
    """A text as all sketches except simhash-doc take it: without optional marks of its language, as UTF-8.

    These are vowel signs of Arabic, Hebrew and Syriac, and tatweel; alef, yeh, kaf and digits of Arabic get one form. A
    text with marks is returned in NFKC_Casefold, any other unchanged. Raises MemoryError.
    """
    data = encoded(text)
    return data if data.isascii() else _rewritten(lib.nd_without_marks, data)


def _hashes(status: int, hashes: Any) -> NDArray[np.uint64]:
    check(status)
    return adopted(hashes.values, hashes.count, np.uint64)


def lookup8(key: bytes, initial: int = 0) -> int:
    """Jenkins' 64-bit hash (lookup8.c, `hash`) of bytes with an initial value, unsigned."""
    return int(lib.nd_lookup8(ffi.from_buffer(key), len(key), initial))


def token_hashes(text: str | bytes) -> NDArray[np.uint64]:
    """The hash of every token in `fingerprint`, in the order of the text: uint64 of shape (tokens,).

    It is lookup8 (initial value 0) of the token's UTF-8. Raises MemoryError.
    """
    data = encoded(text)
    hashes = ffi.new("nd_hashes *")
    return _hashes(lib.nd_token_hashes(ffi.from_buffer(data), len(data), hashes), hashes)


def hash_tokens(tokens: Tokens) -> NDArray[np.uint64]:
    """lookup8 (initial value 0) of each token: uint64 of shape (n,). Raises UsageError for a token outside its text."""
    text, starts, ends, count = _spans(tokens)
    hashes = np.empty(count, dtype=np.uint64)
    lib.nd_hash_spans(text, len(tokens.text), starts, ends, count, pointer(hashes))
    return hashes


def character_hashes(tokens: Tokens, size: int) -> NDArray[np.uint64]:
    """lookup8 (initial value 0) of every run of `size` characters (1 on) of tokens in a line: uint64 of shape (n,).

    Between two tokens stands one space if anything lay between them. A line of fewer characters has one shingle, all
    of it; one without tokens has none. Raises UsageError for a size below 1, MemoryError.
    """
    if size < 1:
        raise UsageError(f"a shingle has at least 1 character, not {size}")
    hashes = ffi.new("nd_hashes *")
    return _hashes(lib.nd_character_hashes(*_spans(tokens), size, hashes), hashes)


def shingle_hashes(text: str | bytes, size: int, *, numbers: bool = False) -> NDArray[np.uint64]:
    """The hash of every shingle of `size` tokens (1 on), in the order of the text, with repeats: uint64 of shape (n,).

    It is lookup8 (initial value 0) of the tokens' hashes, each written as 8 bytes, the lowest first. A text with fewer
    tokens has one shingle, all its tokens; a text without tokens has none. With `numbers` the tokens are those of
    `tokenise` with numbers. The text is taken `without_marks`. Raises UsageError for a size below 1, MemoryError.
    """
    if size < 1:
        raise UsageError(f"a shingle has at least 1 token, not {size}")
    data = encoded(text)
    hashes = ffi.new("nd_hashes *")
    return _hashes(lib.nd_shingle_hashes(ffi.from_buffer(data), len(data), size, numbers, hashes), hashes)


def words_of(
    text: str | bytes, *, numbers: bool = True, identifiers: bool = True
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32]]:
    """The words of a text, in order: their hashes, and the places where they begin and end.

    Hashes are `token_hashes` of the words `without_marks`; marks alone make no word.

    Three arrays of shape (n,); starts and ends count characters. With `numbers` also words without a letter, with
    `identifiers` also words in URLs and the like. Raises UsageError for 4 GiB of text or more, MemoryError.
    """
    data = _short_enough(text)
    words = ffi.new("nd_words *")
    check(lib.nd_words_of(ffi.from_buffer(data), len(data), numbers, identifiers, words))
    count = words.count
    # Three arrays in one block.
    found = adopted(words.hashes, 2 * count, np.uint64)
    places = found[count:].view(np.uint32)
    return found[:count], places[:count], places[count:]


class SignKind(IntEnum):
    """The kinds of signs, as bits, see ND_SIGN_* in simhash.h."""

    NEVER = lib.ND_SIGN_NEVER
    INNER = lib.ND_SIGN_INNER
    HYPHEN = lib.ND_SIGN_HYPHEN
    DASH = lib.ND_SIGN_DASH
    MONEY = lib.ND_SIGN_MONEY
    PRIME = lib.ND_SIGN_PRIME
    PRIMES = lib.ND_SIGN_PRIMES
    OPENING = lib.ND_SIGN_OPENING
    DOUBLE = lib.ND_SIGN_DOUBLE
    WHITE = lib.ND_SIGN_WHITE
    WITHIN = lib.ND_SIGN_WITHIN


class SignedWords(NamedTuple):
    """The words and signs of a text in order: arrays of shape (n,).

    `values` (uint64) are the hashes of words, and what stands for signs; `are_words` (bool) tells them apart. `starts`
    and `ends` (uint32) count characters.
    """

    values: NDArray[np.uint64]
    starts: NDArray[np.uint32]
    ends: NDArray[np.uint32]
    are_words: NDArray[np.bool_]


def signed_words_of(text: str | bytes, kinds: NDArray[np.uint32]) -> SignedWords:
    """All words of a text as of `words_of`, and the signs that count by `kinds`, see ND_SIGN_* in simhash.h.

    Raises UsageError for 4 GiB of text or more, MemoryError.
    """
    data = _short_enough(text)
    found = ffi.new("nd_signed_words *")
    check(lib.nd_signed_words_of(ffi.from_buffer(data), len(data), pointer(kinds), found))
    count = found.count
    # Four arrays in one block, freed with them.
    block = adopted(found.values, count * _SIGNED_BYTES, np.uint8)
    places, end = block[8 * count : 16 * count].view(np.uint32), 16 * count
    return SignedWords(block[: 8 * count].view(np.uint64), places[:count], places[count:], block[end:].view(np.bool_))


def _short_enough(text: str | bytes) -> bytes:
    data = encoded(text)
    if len(data) >> 32:
        raise UsageError("a text must be smaller than 4 GiB")
    return data


def common_runs(
    left: NDArray[np.uint64], right: NDArray[np.uint64], *, size: int, gap: int, least: int
) -> NDArray[np.uint32]:
    """Chains of the runs of equal hashes common to two rows: uint32 of shape (n, 4), as simhash.h says.

    Each is a place in the left row, one in the right row, the number of hashes, and the chain. The runs of a chain
    follow one another in both rows, with at most `gap` hashes between two. A chain begins with `size` (1 on) equal
    hashes in a row, reaches over `least` in both, and has half as many in its runs. Raises UsageError for 2**31 hashes
    or more, MemoryError.
    """
    if size < 1 or max(left.size, right.size) >> 31:
        raise UsageError("a run has at least 1 hash, and a row fewer than 2**31")
    runs = ffi.new("nd_runs *")
    given = pointer(left), left.size, pointer(right), right.size
    check(lib.nd_common_runs(*given, size, gap, least, runs))
    return adopted(ffi.cast("uint32_t *", runs.items), 4 * runs.count, np.uint32).reshape(-1, 4)


def align(left: NDArray[np.uint64], right: NDArray[np.uint64], limit: int) -> NDArray[np.uint32] | None:
    """The blocks that differ in two lines of numbers, by the alignment with the fewest left out (Myers 1986).

    Rows of uint32, shape (n, 4): `left[row[0]:row[1]]` stands against `right[row[2]:row[3]]`, and one of them may be
    empty. None if more than `limit` numbers are left out. Raises MemoryError.
    """
    blocks, count = np.empty((limit + 1, 4), dtype=np.uint32), ffi.new("size_t *")
    status = lib.nd_align(pointer(left), left.size, pointer(right), right.size, limit, pointer(blocks), count)
    if status == lib.ND_OVERFLOW:
        return None
    check(status)
    return blocks[: count[0]]


def folded_text(text: str | bytes) -> bytes:
    """A text as the digests read it, as UTF-8: case, white space, canonical equivalence and layout don't count.

    Layout are ignorable characters, such as soft hyphens, and bullets at the head of a line. A hyphen or dash before a
    digit or a currency, with no digit before it, is a minus, however it is written. Everything else stays: "10⁶".
    """
    return _rewritten(lib.nd_fold, text)


def _rewritten(function: Any, text: str | bytes) -> bytes:
    data = encoded(text)
    made = ffi.new("nd_tokens *")
    status = function(ffi.from_buffer(data), len(data), made)
    if status == lib.ND_EMPTY:
        return data
    check(status)
    try:
        return bytes(ffi.buffer(made.text, made.length)) if made.length else b""
    finally:
        lib.nd_tokens_free(made)


def text_digest(text: str | bytes) -> bytes:
    """A digest of 16 bytes, equal for two texts only if they are equal as `folded_text` reads them.

    They are the first 16 of SHA-256 (FIPS 180-4), which scripts inside engines can make too.
    """
    return digest_of_folded(folded_text(text))


def digest_of_folded(folded: bytes) -> bytes:
    """The `text_digest` of a text that is folded."""
    return hashlib.sha256(folded).digest()[:DIGEST_BYTES]
