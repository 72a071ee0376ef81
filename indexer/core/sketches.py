"""Sketches of features, their keys and comparisons, by the C core.

Every call releases the GIL while the C code runs.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from indexer._core import ffi, lib
from indexer.core.native import check, pointer
from indexer.errors import UsageError, shown
from indexer.model import CLUSTER_ID_LENGTH
from indexer.model.hashes import as_hashes
from indexer.model.joined import Texts, encoded, joined_texts

KEY_TABLES: int = lib.ND_KEY_TABLES
KEY_BITS: int = lib.ND_KEY_BITS
MAX_ROWS: int = lib.ND_MAX_ROWS
ROUNDS: int = lib.ND_ROUNDS
MAX_VALUES: int = lib.ND_MAX_VALUES
MIN_VALUES = 8
BITS = (1, 2, 4, 8, 16)
PASSAGE_BITS: int = lib.ND_PASSAGE_BITS

_Integer = TypeVar("_Integer", bound=np.integer[Any])


def fingerprint(text: str | bytes) -> tuple[int, int] | None:
    """The simhash-doc value (unsigned 64 bits) and the number of tokens of a text; None without tokens.

    Bytes are read as UTF-8, ill-formed ones as U+FFFD. Raises MemoryError.
    """
    if not isinstance(text, str | bytes):
        raise UsageError(f"a text is a string, or bytes in UTF-8, not {shown(text)}")
    data = encoded(text)
    out = ffi.new("uint64_t[2]")
    status = lib.nd_fingerprint(ffi.from_buffer(data), len(data), out, out + 1)
    if status == lib.ND_EMPTY:
        return None
    check(status)
    return out[0], out[1]


def simhash(features: ArrayLike, weights: ArrayLike | None = None) -> int | None:
    """The simhash (Charikar 2002) of ready 64-bit feature hashes, each counted once or by its integer weight.

    `features` is a uint64 (or int64, same bits) array of shape (n,), `weights` an int64 array of the same shape.
    Returns an unsigned value, None without features. A bucket of exactly 0 gives bit 0. Raises UsageError if shapes or
    types do not fit, or if the absolute weights pass the range of int64.
    """
    hashes = as_hashes(features, "features")
    counts = None
    if weights is not None:
        counts = np.asarray(weights)
        if counts.size and counts.dtype.kind not in "iu":
            raise UsageError(f"weights must be integers, not {counts.dtype}")
        if counts.shape != hashes.shape:
            raise UsageError(f"weights have shape {counts.shape}, features {hashes.shape}")
        if counts.dtype == np.uint64 and counts.size and int(counts.max()) > np.iinfo(np.int64).max:
            raise UsageError("a weight passes the range of a signed 64-bit integer")
        counts = np.ascontiguousarray(counts, dtype=np.int64)
    out = ffi.new("uint64_t *")
    status = lib.nd_simhash(pointer(hashes), ffi.NULL if counts is None else pointer(counts), hashes.size, out)
    if status == lib.ND_EMPTY:
        return None
    check(status)
    return int(out[0])


def simhash_keys(values: ArrayLike) -> NDArray[np.uint32]:
    """The 16 packed keys, table << 28 | key, of each hash: shape (n,) to uint32 of shape (n, 16)."""
    hashes = as_hashes(values, "values")
    keys = np.empty((hashes.size, KEY_TABLES), dtype=np.uint32)
    lib.nd_keys(pointer(hashes), hashes.size, pointer(keys))
    return keys


def minhash(features: ArrayLike, values: int) -> NDArray[np.uint32] | None:
    """The minhash signature (Broder 1997) of well-mixed 64-bit feature hashes, of any order and with any repeats.

    Shape (n,) to uint32 of shape (values,); None for no feature. Value i is the least of a * x + b modulo 2**32 over
    the low 32 bits x of the features; with SplitMix64 from seed 0, numbered from 0, a is the high half of number 2i
    with its last bit set, b the high half of number 2i + 1.
    """
    hashes = as_hashes(features, "features")
    signature = np.empty(values, dtype=np.uint32)
    status = lib.nd_minhash(pointer(hashes), hashes.size, values, pointer(signature))
    return None if status == lib.ND_EMPTY else signature


def fast_minhash(features: ArrayLike, values: int, rounds: int = ROUNDS) -> NDArray[np.uint32] | None:
    """A minhash signature by fast similarity sketching (Dahlgaard, Knudsen and Thorup, FOCS 2017).

    `features` are well-mixed 64-bit hashes of shape (n,), of any order and with any repeats; gives uint32 of shape
    (values,), None for no feature; simhash.h says how values are made. Raises UsageError unless `values` is a power of
    2 from 8 to 4,096 and `rounds` an even number below 4,096.
    """
    require_values(values)
    if rounds % 2 or not 0 <= rounds < 4096:
        raise UsageError(f"rounds must be an even number from 0 to 4094, not {rounds}")
    hashes = as_hashes(features, "features")
    signature = np.empty(values, dtype=np.uint32)
    status = lib.nd_fast_minhash(pointer(hashes), hashes.size, values, rounds, pointer(signature))
    return None if status == lib.ND_EMPTY else signature


def require_values(values: int) -> None:
    """Raise UsageError unless fast similarity sketching has signatures of this many values."""
    if not MIN_VALUES <= values <= MAX_VALUES or values & (values - 1):
        raise UsageError(f"values must be a power of 2 from {MIN_VALUES} to {MAX_VALUES}, not {values}")


def weighted_minhash(features: ArrayLike, weights: ArrayLike, values: int) -> NDArray[np.uint32] | None:
    """A signature of consistent weighted sampling (Ioffe 2010): equal values estimate the weighted Jaccard similarity.

    `features` are distinct, well-mixed 64-bit hashes of shape (n,); their order matters only if two samples are equal.
    `weights` has the same shape and is above 0. Returns uint32 of shape (values,); None without features. simhash.h
    says how the random numbers are drawn. Raises UsageError for weights of another shape, or not above 0.
    """
    hashes = as_hashes(features, "features")
    numbers = np.ascontiguousarray(weights, dtype=np.float64)
    if numbers.shape != hashes.shape:
        raise UsageError(f"weights have shape {numbers.shape}, features {hashes.shape}")
    if not np.all(np.isfinite(numbers) & (numbers >= np.finfo(np.float64).tiny)):
        raise UsageError("weights must be finite and above 0")
    signature = np.empty(values, dtype=np.uint32)
    status = lib.nd_weighted_minhash(pointer(hashes), pointer(numbers), hashes.size, values, pointer(signature))
    return None if status == lib.ND_EMPTY else signature


def random_projection(features: ArrayLike, words: int) -> NDArray[np.uint64] | None:
    """The bits of a random projection of well-mixed 64-bit feature hashes, repeats counted.

    Shape (n,) to uint64 of shape (words,); None without features. Bit i of word w is 1 where more features have a 1
    there than a 0, in number w (from 0) of SplitMix64 from the feature as the seed.
    """
    hashes = as_hashes(features, "features")
    projection = np.empty(words, dtype=np.uint64)
    status = lib.nd_random_projection(pointer(hashes), hashes.size, words, pointer(projection))
    return None if status == lib.ND_EMPTY else projection


def sorted_distinct(numbers: NDArray[_Integer]) -> NDArray[_Integer]:
    """The distinct integers, rising.

    It does the same as numpy.unique, which takes twenty times as long from numpy 2.3 on.
    """
    ordered = np.sort(numbers, axis=None)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if ordered.size else ordered


def among(numbers: NDArray[_Integer], rising: NDArray[_Integer]) -> NDArray[np.bool_]:
    """True for each integer among some others in ascending order: shape (n,)."""
    if not rising.size:
        return np.zeros(numbers.size, dtype=np.bool_)
    places = np.minimum(np.searchsorted(rising, numbers), rising.size - 1)
    return np.asarray(rising[places] == numbers, dtype=np.bool_)


def winnowed(hashes: ArrayLike, window: int) -> NDArray[np.uint64]:
    """The least of every `window` (1 on) hashes in a row, in order: uint64 of shape (n,) to (m,), m at most n.

    The least of several windows in a row comes once. With fewer hashes than a window the least of all is left.
    (Schleimer, Wilkerson and Aiken, "Winnowing: local algorithms for document fingerprinting", SIGMOD 2003.) Raises
    UsageError for a window below 1, MemoryError.
    """
    if window < 1:
        raise UsageError(f"a window has at least 1 hash, not {window}")
    kept = as_hashes(hashes, "hashes").copy()
    count = ffi.new("size_t *", kept.size)
    check(lib.nd_winnow(pointer(kept), count, window))
    return kept[: count[0]]


def pack(signature: NDArray[np.uint32], bits: int) -> bytes:
    """The highest `bits` bits (1, 2, 4, 8 or 16) of each value, in order.

    16 bits are two bytes, the lower first; fewer than 8 fill a byte from its highest bit on, the last with zeros.
    """
    if bits not in BITS:
        raise UsageError(f"bits must be 1, 2, 4, 8 or 16, not {bits}")
    numbers = np.ascontiguousarray(signature, dtype=np.uint32)
    packed = np.empty((numbers.size * bits + 7) // 8, dtype=np.uint8)
    lib.nd_pack(pointer(numbers), numbers.size, bits, pointer(packed))
    return packed.tobytes()


def band_keys(signature: NDArray[np.uint32], bands: int, rows: int) -> NDArray[np.uint64]:
    """The hash of each band of `rows` values of a signature: uint64 of shape (bands,).

    It is lookup8 (initial value 0) of the values, each written as 4 bytes, the lowest first. Raises UsageError if the
    signature has fewer than bands * rows values, or rows are not 1 to 256.
    """
    if not 1 <= rows <= MAX_ROWS or bands * rows > signature.size:
        raise UsageError(f"{bands} bands of {rows} rows do not fit into {signature.size} values")
    keys = np.empty(bands, dtype=np.uint64)
    numbers = np.ascontiguousarray(signature, dtype=np.uint32)
    lib.nd_band_keys(pointer(numbers), bands, rows, pointer(keys))
    return keys


def equal_parts(one: bytes, packed: NDArray[np.uint8], bits: int = 1) -> NDArray[np.int32]:
    """The number of equal packed groups of `bits` bits in `one` and each row of an array.

    `packed` is uint8 of shape (n, len(one)); returns int32 of shape (n,). Bits filling the last byte count as equal.
    Raises UsageError for other shapes, types or bits.
    """
    parts = _parts(packed, bits)
    if packed.shape[1] != len(one):
        raise UsageError(f"packed values have {packed.shape[1]} bytes each, the one to compare {len(one)}")
    differing = np.empty(packed.shape[0], dtype=np.uint32)
    rows = np.ascontiguousarray(packed)
    lib.nd_differing(ffi.from_buffer(one), pointer(rows), rows.shape[0], len(one), bits, pointer(differing))
    return np.subtract(np.uint32(parts), differing, out=differing).view(np.int32)


def equal_parts_of_pairs(
    packed: NDArray[np.uint8], left: ArrayLike, right: ArrayLike, bits: int = 1
) -> NDArray[np.int32]:
    """`equal_parts` for pairs of rows of one array, left[i] and right[i]: int32 of their shape (m,).

    Raises UsageError also for numbers beyond the rows, and for different shapes of left and right.
    """
    parts = _parts(packed, bits)
    lefts, rights = _pairs_of_rows(left, right, packed.shape[0])
    differing = np.empty(lefts.size, dtype=np.uint32)
    rows = np.ascontiguousarray(packed)
    pairs = pointer(lefts), pointer(rights), lefts.size
    lib.nd_differing_pairs(pointer(rows), rows.shape[1], bits, *pairs, pointer(differing))
    return np.subtract(np.uint32(parts), differing, out=differing).view(np.int32)


def _parts(packed: NDArray[np.uint8], bits: int) -> int:
    if bits not in BITS:
        raise UsageError(f"bits must be 1, 2, 4, 8 or 16, not {bits}")
    if packed.dtype != np.uint8 or packed.ndim != 2:
        raise UsageError(f"packed values must be a two-dimensional array of uint8, not {packed.ndim}-d {packed.dtype}")
    return -(-8 * int(packed.shape[1]) // bits)


def intersection_sizes(values: ArrayLike, offsets: ArrayLike, left: ArrayLike, right: ArrayLike) -> NDArray[np.int64]:
    """The number of values shared by the sets left[i] and right[i], for each i: int64 of the shape (n,) of `left`.

    Set s is `values[offsets[s]:offsets[s + 1]]`, sorted 64-bit integers. Raises UsageError for an unsorted set, offsets
    outside `values`, numbers beyond the sets, and other shapes.
    """
    numbers, ends = as_hashes(values, "values"), as_hashes(offsets, "offsets")
    _require_rising(numbers, ends, "values")
    lefts, rights = _pairs_of_rows(left, right, ends.size - 1)
    sizes = np.empty(lefts.size, dtype=np.uint64)
    lib.nd_intersections(pointer(numbers), pointer(ends), pointer(lefts), pointer(rights), lefts.size, pointer(sizes))
    return sizes.view(np.int64)


class RunMeetings:
    """Rows of runs held by sketches, such as keys common to several; finds where two sketches meet.

    Sketch s holds `codes[offsets[s]:offsets[s + 1]]`, int64 and rising, each 2 * run + side and each run once; run r is
    of table `tables[r]`, which rises with r. Two sketches meet in a run held by both, unless both are on side 1. Raises
    UsageError for an unsorted row, offsets outside `codes`, and runs without a table.
    """

    def __init__(self, codes: ArrayLike, offsets: ArrayLike, tables: ArrayLike) -> None:
        self._codes, self._offsets = as_hashes(codes, "codes"), as_hashes(offsets, "offsets")
        self._tables = as_hashes(tables, "tables")
        _require_rising(self._codes, self._offsets, "codes")
        if self._codes.size and int(self._codes.max() >> np.uint64(1)) >= self._tables.size:
            raise UsageError(f"codes must be of the {self._tables.size} runs that have a table")

    def firsts(self, left: ArrayLike, right: ArrayLike, agreeing: int = 1) -> NDArray[np.int64]:
        """The least run where left[i] and right[i] meet, -1 if they meet in runs of fewer than `agreeing` tables.

        All have the shape (n,). Raises UsageError for numbers beyond the sketches, other shapes, and `agreeing` below
        1.
        """
        lefts, rights = _pairs_of_rows(left, right, self._offsets.size - 1)
        if agreeing < 1:
            raise UsageError(f"agreeing={agreeing}: must be at least 1")
        firsts = np.empty(lefts.size, dtype=np.uint64)
        held = pointer(self._codes), pointer(self._offsets), pointer(self._tables)
        lib.nd_meetings(*held, pointer(lefts), pointer(rights), lefts.size, agreeing, pointer(firsts))
        return firsts.view(np.int64)


def _require_rising(values: NDArray[np.uint64], ends: NDArray[np.uint64], name: str) -> None:
    if ends.size == 0 or int(ends[-1]) > values.size or np.any(ends[1:] < ends[:-1]):
        raise UsageError(f"offsets must be sorted, and end within the {name}")
    falls = np.flatnonzero(values[1:] <= values[:-1]) + 1
    if not np.isin(falls[falls < int(ends[-1])], ends).all():
        raise UsageError(f"the {name} of each row must be sorted, without repeats")


def _pairs_of_rows(left: ArrayLike, right: ArrayLike, rows: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    lefts, rights = as_hashes(left, "left"), as_hashes(right, "right")
    if lefts.shape != rights.shape:
        raise UsageError(f"left has shape {lefts.shape}, right {rights.shape}")
    if lefts.size and max(int(lefts.max()), int(rights.max())) >= rows:
        raise UsageError(f"left and right must be numbers of the {rows} rows")
    return lefts, rights


def logarithm(x: float) -> float:
    """The natural logarithm of a positive normal number, the same to the last bit on every machine."""
    return float(lib.nd_log(x))


def cluster_ids(ids: Texts) -> NDArray[np.bytes_]:
    """The values of `neardup.model.own_cluster_id` for documents without index and routing: S26 of shape (n,)."""
    data, ends = joined_texts(ids)
    made = np.empty(ends.size, dtype=f"S{CLUSTER_ID_LENGTH}")
    lib.nd_cluster_ids(ffi.from_buffer(data), pointer(ends, "size_t[]"), ends.size, pointer(made.view(np.uint8)))
    return made
