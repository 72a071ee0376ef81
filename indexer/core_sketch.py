"""Sketches and digests of texts by the C core, beside `indexer.core`.

Every call releases the GIL while the C code runs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from indexer._core import ffi, lib
from indexer.core import _adopted, _check, _pointer, _taken
from indexer.errors import UsageError
from indexer.model import CLUSTER_ID_LENGTH
from indexer.model.hashes import as_hashes
from indexer.model.joined import Texts, encoded, joined_texts
from indexer.model.ragged import Ragged

ROUNDS: int = lib.ND_ROUNDS
MAX_VALUES: int = lib.ND_MAX_VALUES
MIN_VALUES = 8
BITS = (1, 2, 4, 8, 16)
DIGEST_BYTES = 16
PASSAGE_BITS: int = lib.ND_PASSAGE_BITS


@dataclass(frozen=True, slots=True)
class MinhashForm:
    """The parameters of a sketch of the scheme minhash; `indexer.schemes.minhash` checks and explains the values."""

    shingle: int = 5
    numbers: bool = True
    values: int = 1024
    bits: int = 1
    bands: int = 16
    rows: int = 4


@dataclass(frozen=True, slots=True)
class PassagesForm:
    """The parameters of the keys of the scheme passages; `indexer.schemes.passages` checks and explains the values."""

    shingle: int = 5
    window: int = 32
    letters: bool = False


class Forms(NamedTuple):
    """The sketches that one pass over a text makes beside a simhash-doc fingerprint; None for one that it does not."""

    minhash: MinhashForm | None = None
    passages: PassagesForm | None = None

    def beside(self, other: Forms) -> Forms | None:
        """Both, for one pass; None if they ask for different sketches of one kind."""
        if self.minhash and other.minhash and self.minhash != other.minhash:
            return None
        if self.passages and other.passages and self.passages != other.passages:
            return None
        return Forms(self.minhash or other.minhash, self.passages or other.passages)


class TextFeatures(NamedTuple):
    """The results of one pass over each of many texts, a row for each.

    `simhashes` and `tokens` are those of simhash-doc, uint64 of shape (n,), zeros where a text holds no token. Of a
    minhash `shingles` are the numbers of distinct ones, uint64 of (n,), `packed` uint8 of (n, bytes), `keys` uint64 of
    (n, bands), packed: table << 32 | key; zeros where there are no shingles. `passages` are the keys of passages, as
    int64. What was not asked for has rows without values.
    """

    simhashes: NDArray[np.uint64]
    tokens: NDArray[np.uint64]
    shingles: NDArray[np.uint64]
    packed: NDArray[np.uint8]
    keys: NDArray[np.uint64]
    passages: Ragged


def features_of_texts(texts: Texts, forms: Forms = Forms()) -> TextFeatures:  # noqa: B008 - frozen
    """The simhash-doc fingerprint, and the sketches that are asked for, of each text, made from one pass over it.

    Bytes are read as UTF-8, ill-formed ones as U+FFFD. A text of fewer tokens than a shingle has is one shingle. With
    numbers a text of numbers has a sketch and no fingerprint. Raises MemoryError, UsageError for an invalid form.
    """
    minhash, passages = forms
    asked = _minhash_form(minhash), _passages_form(passages)
    data, ends = joined_texts(texts)
    count = ends.size
    found = np.zeros((count, 4), dtype=np.uint64)
    packed = np.zeros((count, minhash.values * minhash.bits // 8 if minhash else 0), dtype=np.uint8)
    keys = np.zeros((count, minhash.bands if minhash else 0), dtype=np.uint64)
    kept = ffi.new("nd_hashes *")
    _check(
        lib.nd_sketch_texts(
            ffi.from_buffer(data), _pointer("size_t[]", ends), count, *asked, _pointer("nd_text_features[]", found),
            _pointer("uint8_t[]", packed), _pointer("uint64_t[]", keys), kept,
        )
    )  # fmt: skip
    offsets = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(found[:, 3]))).astype(np.int64)
    rows = _adopted(kept.values, kept.count, np.uint64).view(np.int64)
    return TextFeatures(found[:, 0], found[:, 1], found[:, 2], packed, keys, Ragged(rows, offsets))


def _minhash_form(form: MinhashForm | None) -> Any:
    if form is None:
        return ffi.NULL
    _check_values(form.values)
    fits = 1 <= form.rows <= lib.ND_MAX_ROWS and 0 <= form.bands * form.rows <= form.values
    if form.shingle < 1 or form.bits not in BITS or not fits:
        raise UsageError(f"{form} is not a form of a sketch")
    return ffi.new("nd_minhash_form *", (form.shingle, form.numbers, form.values, form.bits, form.bands, form.rows))


def _passages_form(form: PassagesForm | None) -> Any:
    if form is None:
        return ffi.NULL
    if form.shingle < 1 or form.window < 1:
        raise UsageError(f"{form} is not a form of a sketch")
    return ffi.new("nd_passages_form *", (form.shingle, form.window, form.letters))


def fast_minhash(features: ArrayLike, values: int, rounds: int = ROUNDS) -> NDArray[np.uint32] | None:
    """A minhash signature by fast similarity sketching (Dahlgaard, Knudsen and Thorup, FOCS 2017).

    `features` are well-mixed 64-bit hashes of shape (n,), of any order and with any repeats; gives uint32 of shape
    (values,), None for no feature; simhash.h says how values are made. Raises UsageError unless `values` is a power of
    2 from 8 to 4,096 and `rounds` an even number below 4,096.
    """
    _check_values(values)
    if rounds % 2 or not 0 <= rounds < 4096:
        raise UsageError(f"rounds must be an even number from 0 to 4094, not {rounds}")
    hashes = as_hashes(features, "features")
    signature = np.empty(values, dtype=np.uint32)
    status = lib.nd_fast_minhash(
        _pointer("uint64_t[]", hashes), hashes.size, values, rounds, _pointer("uint32_t[]", signature)
    )
    return None if status == lib.ND_EMPTY else signature


def _check_values(values: int) -> None:
    if not MIN_VALUES <= values <= MAX_VALUES or values & (values - 1):
        raise UsageError(f"values must be a power of 2 from {MIN_VALUES} to {MAX_VALUES}, not {values}")


def weighted_minhash(features: ArrayLike, weights: ArrayLike, values: int) -> NDArray[np.uint32] | None:
    """A signature of consistent weighted sampling (Ioffe 2010): a value is equal as often as the weighted Jaccard says.

    `features` are distinct, well-mixed 64-bit hashes of shape (n,), their order of no account unless two samples are
    equal; `weights` the same shape, above 0. Gives uint32 of shape (values,); None for no feature. simhash.h says how
    the random numbers are drawn. Raises UsageError for weights of another shape, or that are no positive numbers.
    """
    hashes = as_hashes(features, "features")
    numbers = np.ascontiguousarray(weights, dtype=np.float64)
    if numbers.shape != hashes.shape:
        raise UsageError(f"weights have shape {numbers.shape}, features {hashes.shape}")
    if not np.all(np.isfinite(numbers) & (numbers >= np.finfo(np.float64).tiny)):
        raise UsageError("weights must be finite and above 0")
    signature = np.empty(values, dtype=np.uint32)
    status = lib.nd_weighted_minhash(
        _pointer("uint64_t[]", hashes), _pointer("double[]", numbers), hashes.size, values,
        _pointer("uint32_t[]", signature),
    )  # fmt: skip
    return None if status == lib.ND_EMPTY else signature


def random_projection(features: ArrayLike, words: int) -> NDArray[np.uint64] | None:
    """The bits of a random projection of well-mixed 64-bit feature hashes, each counted as often as it is given.

    Shape (n,) to uint64 of shape (words,); None for no feature. Bit i of word w is 1 where more features have a 1 there
    than a 0, in number w (from 0) of SplitMix64 from the feature as the seed.
    """
    hashes = as_hashes(features, "features")
    projection = np.empty(words, dtype=np.uint64)
    status = lib.nd_random_projection(
        _pointer("uint64_t[]", hashes), hashes.size, words, _pointer("uint64_t[]", projection)
    )
    return None if status == lib.ND_EMPTY else projection


def distinct(numbers: ArrayLike) -> NDArray[np.uint64]:
    """The distinct ones of 64-bit integers, in the order in which each comes first: uint64 of shape (m,).

    Raises MemoryError.
    """
    kept = np.array(as_hashes(numbers, "numbers"))
    count = ffi.new("size_t *", kept.size)
    _check(lib.nd_distinct(_pointer("uint64_t[]", kept), count))
    return kept[: count[0]]


def winnowed(hashes: ArrayLike, window: int) -> NDArray[np.uint64]:
    """The least of every `window` (1 on) hashes in a row, in order: uint64 of shape (n,) to (m,), m at most n.

    One that is the least of several windows in a row comes once; of fewer hashes than a window the least of all is
    left. (Schleimer, Wilkerson and Aiken, "Winnowing: local algorithms for document fingerprinting", SIGMOD 2003.)
    Raises UsageError for a window below 1, MemoryError.
    """
    if window < 1:
        raise UsageError(f"a window has at least 1 hash, not {window}")
    kept = as_hashes(hashes, "hashes").copy()
    count = ffi.new("size_t *", kept.size)
    _check(lib.nd_winnow(_pointer("uint64_t[]", kept), count, window))
    return kept[: count[0]]


def pack(signature: NDArray[np.uint32], bits: int) -> bytes:
    """The highest `bits` bits (1, 2, 4, 8 or 16) of each value, in order.

    16 bits are two bytes, the lower first; fewer than 8 fill a byte from its highest bit on, the last with zeros.
    """
    if bits not in BITS:
        raise UsageError(f"bits must be 1, 2, 4, 8 or 16, not {bits}")
    numbers = np.ascontiguousarray(signature, dtype=np.uint32)
    packed = np.empty((numbers.size * bits + 7) // 8, dtype=np.uint8)
    lib.nd_pack(_pointer("uint32_t[]", numbers), numbers.size, bits, _pointer("uint8_t[]", packed))
    return packed.tobytes()


def equal_parts(one: bytes, packed: NDArray[np.uint8], bits: int = 1) -> NDArray[np.int32]:
    """The number of packed groups of `bits` bits that are equal in `one` and in each row of an array.

    `packed` is uint8 of shape (n, len(one)); gives int32 of shape (n,). Bits that fill a last byte count as equal.
    Raises UsageError for other shapes, types or bits.
    """
    parts = _parts(packed, bits)
    if packed.shape[1] != len(one):
        raise UsageError(f"packed values have {packed.shape[1]} bytes each, the one to compare {len(one)}")
    differing = np.empty(packed.shape[0], dtype=np.int32)
    rows = np.ascontiguousarray(packed)
    lib.nd_differing(
        ffi.from_buffer(one), _pointer("uint8_t[]", rows), rows.shape[0], len(one), bits,
        _pointer("uint32_t[]", differing.view(np.uint32)),
    )  # fmt: skip
    return np.subtract(parts, differing, out=differing)


def equal_parts_of_pairs(
    packed: NDArray[np.uint8], left: ArrayLike, right: ArrayLike, bits: int = 1
) -> NDArray[np.int32]:
    """The same for pairs of rows of one array, left[i] and right[i]: int32 of their shape (m,).

    Raises UsageError also for numbers of no row, and where left and right have different shapes.
    """
    parts = _parts(packed, bits)
    lefts, rights = as_hashes(left, "left"), as_hashes(right, "right")
    if lefts.shape != rights.shape:
        raise UsageError(f"left has shape {lefts.shape}, right {rights.shape}")
    if lefts.size and max(int(lefts.max()), int(rights.max())) >= packed.shape[0]:
        raise UsageError(f"left and right must be numbers of the {packed.shape[0]} rows")
    differing = np.empty(lefts.size, dtype=np.int32)
    rows = np.ascontiguousarray(packed)
    lib.nd_differing_pairs(
        _pointer("uint8_t[]", rows), rows.shape[1], bits, _pointer("uint64_t[]", lefts),
        _pointer("uint64_t[]", rights), lefts.size, _pointer("uint32_t[]", differing.view(np.uint32)),
    )  # fmt: skip
    return np.subtract(parts, differing, out=differing)


def _parts(packed: NDArray[np.uint8], bits: int) -> int:
    if bits not in BITS:
        raise UsageError(f"bits must be 1, 2, 4, 8 or 16, not {bits}")
    if packed.dtype != np.uint8 or packed.ndim != 2:
        raise UsageError(f"packed values must be a two-dimensional array of uint8, not {packed.ndim}-d {packed.dtype}")
    return -(-8 * int(packed.shape[1]) // bits)


def folded_text(text: str | bytes) -> bytes:
    """A text as `text_digest` reads it: toNFKC_Casefold, runs of White_Space one space, none at the ends, as UTF-8.

    White_Space is the property of that name in Unicode. Raises MemoryError.
    """
    data = encoded(text)
    folded = ffi.new("nd_tokens *")
    _check(lib.nd_fold_text(ffi.from_buffer(data), len(data), folded))
    try:
        return _taken(folded)
    finally:
        lib.nd_tokens_free(folded)


def text_digest(text: str | bytes) -> bytes:
    """A digest of 16 bytes, equal for two texts only if they are equal except for case and white space.

    They are the first 16 of SHA-256 (FIPS 180-4), which scripts inside engines can make too, over `folded_text`; so
    numbers, symbols and URLs count. Raises MemoryError.
    """
    return digest_of_folded(folded_text(text))


def text_digests(texts: Texts) -> NDArray[np.uint8]:
    """The `text_digest` of each of many texts: uint8 of shape (n, 16). Raises MemoryError."""
    data, ends = joined_texts(texts)
    count = ends.size
    folded = ffi.new("nd_tokens *")
    if not count:
        return np.empty((0, DIGEST_BYTES), dtype=np.uint8)
    _check(lib.nd_fold_texts(ffi.from_buffer(data), _pointer("size_t[]", ends), count, folded))
    try:
        # An empty text may have left no buffer at all.
        whole = memoryview(ffi.buffer(folded.text, folded.length)) if folded.length else memoryview(b"")
        stops = ffi.unpack(folded.ends, count)
        parts = zip([0, *stops], stops, strict=False)
        digests = b"".join([digest_of_folded(whole[start:stop]) for start, stop in parts])
    finally:
        lib.nd_tokens_free(folded)
    return np.frombuffer(digests, dtype=np.uint8).reshape(count, DIGEST_BYTES)


def cluster_ids(ids: Texts) -> NDArray[np.bytes_]:
    """The values of `indexer.model.own_cluster_id` for documents without index and routing: S26 of shape (n,)."""
    data, ends = joined_texts(ids)
    made = np.empty(ends.size, dtype=f"S{CLUSTER_ID_LENGTH}")
    lib.nd_cluster_ids(
        ffi.from_buffer(data), _pointer("size_t[]", ends), ends.size, _pointer("uint8_t[]", made.view(np.uint8))
    )
    return made


def is_clean(text: Any) -> bool:
    """True if the extraction of plain text takes UTF-8 (bytes, or anything with their interface) as it is.

    That is, without control characters but white space, U+FFFE, U+FFFF and U+FEFF.
    """
    return bool(lib.nd_is_clean(ffi.from_buffer(text), memoryview(text).nbytes))


def digest_of_folded(folded: bytes | memoryview) -> bytes:
    """The `text_digest` of a text that is folded."""
    return hashlib.sha256(folded).digest()[:DIGEST_BYTES]


def align(left: NDArray[np.uint64], right: NDArray[np.uint64], limit: int) -> NDArray[np.uint32] | None:
    """The blocks in which two lines of numbers differ, by the alignment that leaves the fewest out (Myers 1986).

    Rows of uint32, shape (n, 4): `left[row[0]:row[1]]` stands against `right[row[2]:row[3]]`, and one of them may be
    empty. None where more than `limit` numbers are left out. Raises MemoryError.
    """
    blocks, count = np.empty((limit + 1, 4), dtype=np.uint32), ffi.new("size_t *")
    status = lib.nd_align(
        _pointer("uint64_t[]", left), left.size, _pointer("uint64_t[]", right), right.size, limit,
        _pointer("uint32_t[]", blocks), count,
    )  # fmt: skip
    if status == lib.ND_OVERFLOW:
        return None
    _check(status)
    return blocks[: count[0]]
