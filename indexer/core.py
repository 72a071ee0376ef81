"""The C core with Python's types: with `core_sketch` the only module that imports the extension.

Every call releases the GIL while the C code runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from indexer._core import ffi, lib
from indexer.errors import UsageError, shown
from indexer.model.hashes import as_hashes
from indexer.model.joined import encoded
from indexer.model.tokens import Tokens

UNICODE_VERSION: str = ffi.string(lib.nd_unicode_version()).decode("ascii")
KEY_TABLES: int = lib.ND_KEY_TABLES
KEY_BITS: int = lib.ND_KEY_BITS
MAX_DISTANCE: int = lib.ND_MAX_DISTANCE
MAX_ROWS: int = lib.ND_MAX_ROWS

# Numbers that are copied in less time than a destructor takes.
_FEW = 4096

Number = TypeVar("Number", np.uint64, np.uintp, np.uint32)

PairSink = Callable[[NDArray[np.uint64], NDArray[np.uint64]], bool]
"""Takes a block of pairs (smaller values, larger values), its own copies; False stops the search."""


def _check(status: int) -> None:
    if status == lib.ND_NO_MEMORY:
        raise MemoryError("the core ran out of memory")
    if status == lib.ND_OVERFLOW:
        raise UsageError("the weights add up to more than a signed 64-bit bucket holds")


def fingerprint(text: str | bytes) -> tuple[int, int] | None:
    """The simhash-doc value (unsigned 64 bits) and the number of tokens of a text; None where it holds no token.

    Bytes are read as UTF-8, ill-formed ones as U+FFFD. Raises MemoryError.
    """
    if not isinstance(text, str | bytes):
        raise UsageError(f"a text is a string, or bytes in UTF-8, not {shown(text)}")
    data = encoded(text)
    out = ffi.new("uint64_t[2]")
    status = lib.nd_fingerprint(ffi.from_buffer(data), len(data), out, out + 1)
    if status == lib.ND_EMPTY:
        return None
    _check(status)
    return out[0], out[1]


def _taken(tokens: Any) -> bytes:
    return bytes(ffi.buffer(tokens.text, tokens.length)) if tokens.length else b""


def _adopted(values: Any, count: int, kind: type[Number]) -> NDArray[Number]:
    """An array over memory that the core reserved, which is freed with it; of few numbers a copy."""
    owned = values if count <= _FEW else ffi.gc(values, lib.nd_free)
    if count:
        array = np.frombuffer(ffi.buffer(owned, count * np.dtype(kind).itemsize), dtype=kind)
    else:
        array = np.empty(0, dtype=kind)
    if count <= _FEW:
        array = array.copy()
        lib.nd_free(values)
    array.flags.writeable = False
    return array


def _tokens(status: int, tokens: Any) -> Tokens:
    _check(status)
    owned = ffi.gc(tokens.text, lib.nd_free)
    starts, ends = (_adopted(numbers, tokens.count, np.uintp) for numbers in (tokens.starts, tokens.ends))
    return Tokens(bytes(ffi.buffer(owned, tokens.length)) if tokens.length else b"", starts, ends)


def tokenise(text: str | bytes, *, numbers: bool = False) -> Tokens:
    """The tokens that `fingerprint` hashes, in the text that they are cut from: normalised, identifiers blanked.

    With `numbers` also the pieces that simhash-doc leaves out for having no letter, if they have a decimal digit.
    Raises MemoryError.
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
    return ffi.from_buffer(tokens.text), _pointer("size_t[]", starts), _pointer("size_t[]", ends), starts.size


def strip_digits(tokens: Tokens) -> Tokens:
    """The tokens without their decimal digits, those of digits alone left out. Raises MemoryError."""
    stripped = ffi.new("nd_tokens *")
    return _tokens(lib.nd_strip_digits(*_spans(tokens), stripped), stripped)


def normalise(text: str | bytes) -> bytes:
    """toNFKC_Casefold of a text as UTF-8 (Unicode Standard, section 3.13). Raises MemoryError."""
    data = encoded(text)
    tokens = ffi.new("nd_tokens *")
    _check(lib.nd_normalise(ffi.from_buffer(data), len(data), tokens))
    try:
        return _taken(tokens)
    finally:
        lib.nd_tokens_free(tokens)


def lookup8(key: bytes, initial: int = 0) -> int:
    """Jenkins' 64-bit hash (lookup8.c, `hash`) of bytes with an initial value, unsigned."""
    return int(lib.nd_lookup8(ffi.from_buffer(key), len(key), initial))


def _pointer(kind: str, array: NDArray[Any]) -> Any:
    return ffi.from_buffer(kind, array) if array.size else ffi.NULL


def simhash(features: ArrayLike, weights: ArrayLike | None = None) -> int | None:
    """The simhash (Charikar 2002) of ready 64-bit feature hashes, each counted once or by its integer weight.

    `features` is a uint64 (or int64, same bits) array of shape (n,), `weights` an int64 array of the same shape. Gives
    an unsigned value, None for no feature. A bucket of exactly 0 gives bit 0. Raises UsageError where shapes or types
    do not fit, and where the absolute weights pass the range of int64.
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
    status = lib.nd_simhash(
        _pointer("uint64_t[]", hashes),
        ffi.NULL if counts is None else _pointer("int64_t[]", counts),
        hashes.size,
        out,
    )
    if status == lib.ND_EMPTY:
        return None
    _check(status)
    return int(out[0])


def simhash_keys(values: ArrayLike) -> NDArray[np.uint32]:
    """The 16 packed keys, table << 28 | key, of each hash: shape (n,) to uint32 of shape (n, 16)."""
    hashes = as_hashes(values, "values")
    keys = np.empty((hashes.size, KEY_TABLES), dtype=np.uint32)
    lib.nd_keys(_pointer("uint64_t[]", hashes), hashes.size, _pointer("uint32_t[]", keys))
    return keys


def hamming_distances(query: int, values: ArrayLike) -> NDArray[np.uint8]:
    """The Hamming distance, 0 to 64, of one hash to each of `values`: shape (n,) to uint8 of shape (n,).

    Raises UsageError for numbers that are no 64-bit integers, unsigned or signed with the same bits.
    """
    hashes = as_hashes(values, "values")
    query = int(as_hashes([query], "query")[0])
    distances = np.empty(hashes.size, dtype=np.uint8)
    lib.nd_hamming_one(query, _pointer("uint64_t[]", hashes), hashes.size, _pointer("uint8_t[]", distances))
    return distances


def hamming_matrix(left: ArrayLike, right: ArrayLike) -> NDArray[np.uint8]:
    """The Hamming distances of each of `left` to each of `right`: shapes (n,) and (m,) to uint8 of shape (n, m)."""
    rows, columns = as_hashes(left, "left"), as_hashes(right, "right")
    distances = np.empty((rows.size, columns.size), dtype=np.uint8)
    lib.nd_hamming_many(
        _pointer("uint64_t[]", rows), rows.size, _pointer("uint64_t[]", columns), columns.size,
        _pointer("uint8_t[]", distances),
    )  # fmt: skip
    return distances


def pairs_plan(distinct: NDArray[np.uint64], distance: int) -> NDArray[np.uint64]:
    """The masks of the tables of the cheapest all-pairs search among distinct hashes; one of 0 says: without tables."""
    masks = np.zeros(lib.ND_MAX_TABLES, dtype=np.uint64)
    count = lib.nd_pairs_plan(_pointer("uint64_t[]", distinct), distinct.size, distance, _pointer("uint64_t[]", masks))
    return masks[:count]


def pairs_bucket_mask(mask: int, count: int) -> int:
    """The bits of a table's mask that distinguish its buckets, for this many values."""
    return int(lib.nd_pairs_bucket_mask(mask, count))


def pairs_count(values: NDArray[np.uint64], bucket_mask: int, counts: NDArray[np.uint64]) -> None:
    """Add to `counts`, shape (buckets,), how many values each bucket gets."""
    lib.nd_pairs_count(_pointer("uint64_t[]", values), values.size, bucket_mask, _pointer("uint64_t[]", counts))


def pairs_scatter(
    values: NDArray[np.uint64], bucket_mask: int, cursors: NDArray[np.uint64], out: NDArray[np.uint64]
) -> None:
    """Put each value into `out` at its bucket's cursor, which moves on; the cursors must come from `pairs_count`."""
    lib.nd_pairs_scatter(
        _pointer("uint64_t[]", values), values.size, bucket_mask,
        _pointer("uint64_t[]", cursors), _pointer("uint64_t[]", out),
    )  # fmt: skip


@ffi.def_extern(error=1)  # type: ignore[untyped-decorator]
def nd_python_sink(state: Any, left: Any, right: Any, count: int) -> int:
    """Hand a block of pairs from C to the PairSink behind `state`."""
    blocks = [np.frombuffer(bytes(ffi.buffer(side, count * 8)), dtype=np.uint64) for side in (left, right)]
    return 0 if ffi.from_handle(state)(*blocks) else 1


@dataclass(frozen=True, slots=True)
class Buckets:
    """The values of one table of an all-pairs search: `values[offsets[b]:offsets[b + 1]]` is bucket b."""

    values: NDArray[np.uint64]
    offsets: NDArray[np.uint64]
    bucket_mask: int
    masks: NDArray[np.uint64]
    table: int


def pairs_scan(buckets: Buckets, distance: int, block: int, part: tuple[int, int], sink: PairSink) -> None:
    """Give the pairs that lie in a part of the buckets (first, last + 1) to the sink, in blocks. Raises MemoryError."""
    handle = ffi.new_handle(sink)
    _check(
        lib.nd_pairs_scan(
            _pointer("uint64_t[]", buckets.values), _pointer("uint64_t[]", buckets.offsets), *part,
            buckets.bucket_mask, _pointer("uint64_t[]", buckets.masks), buckets.table, distance, block,
            lib.nd_python_sink, handle,
        )
    )  # fmt: skip


def pairs_brute(values: NDArray[np.uint64], distance: int, block: int, rows: tuple[int, int], sink: PairSink) -> None:
    """The same without tables: each value of a range of rows with every one behind it. Raises MemoryError."""
    handle = ffi.new_handle(sink)
    _check(
        lib.nd_pairs_brute(
            _pointer("uint64_t[]", values), values.size, *rows, distance, block, lib.nd_python_sink, handle
        )
    )


def find_values(values: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every value that is among the `wanted` ones (distinct), in order: its place there, and its position.

    Raises MemoryError.
    """
    room = wanted.size + 1024
    hits = ffi.new("size_t *")
    while True:
        places, positions = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        _check(
            lib.nd_find_values(
                _pointer("uint64_t[]", values), values.size, _pointer("uint64_t[]", wanted), wanted.size,
                _pointer("int64_t[]", places), _pointer("int64_t[]", positions), room, hits,
            )
        )  # fmt: skip
        if hits[0] <= room:
            return places[: hits[0]], positions[: hits[0]]
        room = hits[0]


@dataclass(frozen=True, slots=True)
class IndexTable:
    """A table of a lookup index, as the C core has it; `offsets` increase from 0 to the number of values."""

    mask: int
    first_bucket: int
    offsets: NDArray[np.uint64]
    values: NDArray[np.uint64]


def index_plan(distinct: NDArray[np.uint64], distance: int) -> NDArray[np.uint64]:
    """The masks of the distance + 1 tables of a lookup index."""
    masks = np.zeros(MAX_DISTANCE + 1, dtype=np.uint64)
    count = lib.nd_index_plan(_pointer("uint64_t[]", distinct), distinct.size, distance, _pointer("uint64_t[]", masks))
    return masks[:count]


def index_search(
    tables: Sequence[IndexTable], queries: NDArray[np.uint64], distance: int
) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.uint64]]]:
    """Blocks of finds: the queries' numbers, and the indexed values within `distance` bits, each once."""
    array = ffi.new("nd_table[]", len(tables))
    kept = []
    for at, table in enumerate(tables):
        offsets, values = _pointer("uint64_t[]", table.offsets), _pointer("uint64_t[]", table.values)
        kept += [offsets, values]
        array[at] = (table.mask, table.first_bucket, table.offsets.size - 1, offsets, values)
    progress = ffi.new("size_t[2]")
    room = 1 << 16
    while progress[0] < queries.size:
        before = progress[0]
        numbers, values_found = np.empty(room, dtype=np.uint64), np.empty(room, dtype=np.uint64)
        lib.nd_index_search(
            array, len(tables), _pointer("uint64_t[]", queries), queries.size, distance, progress,
            _pointer("uint64_t[]", numbers), _pointer("uint64_t[]", values_found), room, progress + 1,
        )  # fmt: skip
        if progress[1]:
            yield numbers[: progress[1]], values_found[: progress[1]]
        if progress[0] == before:
            room *= 4  # one query alone has more finds than there was room for


def _hashes(status: int, hashes: Any) -> NDArray[np.uint64]:
    _check(status)
    return _adopted(hashes.values, hashes.count, np.uint64)


def hash_tokens(tokens: Tokens) -> NDArray[np.uint64]:
    """lookup8 (initial value 0) of each token: uint64 of shape (n,). UsageError where one is not within its text."""
    text, starts, ends, count = _spans(tokens)
    hashes = np.empty(count, dtype=np.uint64)
    lib.nd_hash_spans(text, len(tokens.text), starts, ends, count, _pointer("uint64_t[]", hashes))
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


def words_of(
    text: str | bytes, *, numbers: bool = True, identifiers: bool = True
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32]]:
    """The words of a text, in order: their hashes as of `token_hashes`, and where each begins and ends in the text.

    Three arrays of shape (n,); starts and ends count characters. With `numbers` also the words without a letter,
    with `identifiers` also what stands in URLs and the like. Raises UsageError for 4 GiB of text or more, MemoryError.
    """
    data = encoded(text)
    if len(data) >> 32:
        raise UsageError("a text must be smaller than 4 GiB")
    words = ffi.new("nd_words *")
    _check(lib.nd_words_of(ffi.from_buffer(data), len(data), numbers, identifiers, words))
    starts, ends = (_adopted(each, words.count, np.uint32) for each in (words.starts, words.ends))
    return _adopted(words.hashes, words.count, np.uint64), starts, ends


def common_runs(
    left: NDArray[np.uint64], right: NDArray[np.uint64], *, size: int, gap: int, least: int
) -> NDArray[np.uint32]:
    """Chains of the runs of equal hashes that two rows have in common: uint32 of shape (n, 4), as simhash.h says.

    Each is a place in the left row, one in the right row, the number of hashes, and the chain; the runs of a chain
    follow one another in both rows, with `gap` hashes at most between two. A chain begins with `size` (1 on) equal
    hashes in a row, reaches over `least` in both, and has half as many in its runs. Raises UsageError for 2**31 hashes
    or more, MemoryError.
    """
    if size < 1 or max(left.size, right.size) >> 31:
        raise UsageError("a run has at least 1 hash, and a row fewer than 2**31")
    runs = ffi.new("nd_runs *")
    given = _pointer("uint64_t[]", left), left.size, _pointer("uint64_t[]", right), right.size
    _check(lib.nd_common_runs(*given, size, gap, least, runs))
    return _adopted(ffi.cast("uint32_t *", runs.items), 4 * runs.count, np.uint32).reshape(-1, 4)


def token_hashes(text: str | bytes) -> NDArray[np.uint64]:
    """The hash of every token that `fingerprint` adds up, in the order of the text: uint64 of shape (tokens,).

    It is lookup8 (initial value 0) of the token's UTF-8. Raises MemoryError.
    """
    data = encoded(text)
    hashes = ffi.new("nd_hashes *")
    return _hashes(lib.nd_token_hashes(ffi.from_buffer(data), len(data), hashes), hashes)


def shingle_hashes(text: str | bytes, size: int, *, numbers: bool = False) -> NDArray[np.uint64]:
    """The hash of every shingle of `size` tokens (1 on), in the order of the text, with repeats: uint64 of shape (n,).

    It is lookup8 (initial value 0) of the tokens' hashes, each written as 8 bytes, the lowest first. A text of fewer
    tokens has one shingle, of all its tokens; one without tokens has none. With `numbers` the tokens are those of
    `tokenise` with numbers. Raises UsageError for a size below 1, MemoryError.
    """
    if size < 1:
        raise UsageError(f"a shingle has at least 1 token, not {size}")
    data = encoded(text)
    hashes = ffi.new("nd_hashes *")
    return _hashes(lib.nd_shingle_hashes(ffi.from_buffer(data), len(data), size, numbers, hashes), hashes)


def minhash(features: ArrayLike, values: int) -> NDArray[np.uint32] | None:
    """The minhash signature (Broder 1997) of well-mixed 64-bit feature hashes, of any order and with any repeats.

    Shape (n,) to uint32 of shape (values,); None for no feature. Value i is the least of a * x + b modulo 2**32 over
    the low 32 bits x of the features; with SplitMix64 from seed 0, numbered from 0, a is the high half of number 2i
    with its last bit set, b the high half of number 2i + 1.
    """
    hashes = as_hashes(features, "features")
    signature = np.empty(values, dtype=np.uint32)
    status = lib.nd_minhash(_pointer("uint64_t[]", hashes), hashes.size, values, _pointer("uint32_t[]", signature))
    return None if status == lib.ND_EMPTY else signature


def band_keys(signature: NDArray[np.uint32], bands: int, rows: int) -> NDArray[np.uint64]:
    """The hash of each band of a signature's values, `rows` of them at a time: uint64 of shape (bands,).

    It is lookup8 (initial value 0) of the values, each written as 4 bytes, the lowest first. Raises UsageError where
    the signature has fewer than bands * rows values, or rows are not 1 to 256.
    """
    if not 1 <= rows <= MAX_ROWS or bands * rows > signature.size:
        raise UsageError(f"{bands} bands of {rows} rows do not fit into {signature.size} values")
    keys = np.empty(bands, dtype=np.uint64)
    numbers = np.ascontiguousarray(signature, dtype=np.uint32)
    lib.nd_band_keys(_pointer("uint32_t[]", numbers), bands, rows, _pointer("uint64_t[]", keys))
    return keys


def logarithm(x: float) -> float:
    """The natural logarithm of a positive normal number, the same to the last bit on every machine."""
    return float(lib.nd_log(x))


def differing_values(one: bytes, others: Sequence[bytes], bits: int) -> NDArray[np.uint32]:
    """The number of packed groups of `bits` bits (1, 2, 4, 8 or 16) in which each other string differs from `one`.

    All strings have the same length. Gives uint32 of shape (len(others),). Raises UsageError for other lengths or bits.
    """
    if bits not in (1, 2, 4, 8, 16):
        raise UsageError(f"bits must be 1, 2, 4, 8 or 16, not {bits}")
    if any(len(other) != len(one) for other in others):
        raise UsageError(f"packed values must all have {len(one)} bytes")
    differing = np.empty(len(others), dtype=np.uint32)
    lib.nd_differing(
        ffi.from_buffer(one), ffi.from_buffer(b"".join(others)), len(others), len(one), bits,
        _pointer("uint32_t[]", differing),
    )  # fmt: skip
    return differing


def intersection_sizes(values: ArrayLike, offsets: ArrayLike, left: ArrayLike, right: ArrayLike) -> NDArray[np.int64]:
    """The number of values that the sets left[i] and right[i] share, for each i: int64 of the shape (n,) of `left`.

    Set s is `values[offsets[s]:offsets[s + 1]]`, sorted 64-bit integers. Raises UsageError for a set that is not
    sorted, offsets that leave `values`, numbers of no set, and other shapes.
    """
    numbers, ends = as_hashes(values, "values"), as_hashes(offsets, "offsets")
    lefts, rights = as_hashes(left, "left"), as_hashes(right, "right")
    if lefts.shape != rights.shape:
        raise UsageError(f"left has shape {lefts.shape}, right {rights.shape}")
    if ends.size == 0 or int(ends[-1]) > numbers.size or np.any(ends[1:] < ends[:-1]):
        raise UsageError("offsets must be sorted, and end within the values")
    if lefts.size and max(int(lefts.max()), int(rights.max())) >= ends.size - 1:
        raise UsageError(f"left and right must be numbers of the {ends.size - 1} sets")
    falls = np.flatnonzero(numbers[1:] <= numbers[:-1]) + 1
    if not np.isin(falls[falls < int(ends[-1])], ends).all():
        raise UsageError("the numbers of each set must be sorted, without repeats")
    sizes = np.empty(lefts.size, dtype=np.int64)
    lib.nd_intersections(
        _pointer("uint64_t[]", numbers), _pointer("uint64_t[]", ends), _pointer("uint64_t[]", lefts),
        _pointer("uint64_t[]", rights), lefts.size, _pointer("uint64_t[]", sizes),
    )  # fmt: skip
    return sizes


def simd_level() -> int:
    """The instructions in use: 0 plain C, 1 AVX2, 2 AVX-512."""
    return int(lib.nd_simd_level())


def set_simd_level(level: int) -> int:
    """Ask for a level of instructions, for tests; gives the level in use, never more than the machine has."""
    return int(lib.nd_set_simd_level(level))
