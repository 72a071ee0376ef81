"""All features of a text, by one pass of the C core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from indexer._core import ffi, lib
from indexer.core.native import adopted, check, pointer
from indexer.core.sketches import BITS, require_values
from indexer.errors import UsageError
from indexer.model.joined import Texts, encoded, joined_texts
from indexer.model.ragged import Ragged


@dataclass(frozen=True, slots=True)
class MinhashForm:
    """The parameters of a minhash sketch; `indexer.schemes.minhash` checks and explains the values."""

    shingle: int = 5
    numbers: bool = True
    values: int = 1024
    bits: int = 1
    bands: int = 16
    rows: int = 4
    letters: bool = False


@dataclass(frozen=True, slots=True)
class PassagesForm:
    """The parameters of the keys of the passages scheme; `indexer.schemes.passages` checks and explains the values."""

    shingle: int = 5
    window: int = 32
    letters: bool = False


class Forms(NamedTuple):
    """The sketches to make in one pass beside a simhash-doc fingerprint; None for a sketch not wanted."""

    minhash: MinhashForm | None = None
    passages: PassagesForm | None = None

    def beside(self, other: Forms) -> Forms | None:
        if self.minhash and other.minhash and self.minhash != other.minhash:
            return None
        if self.passages and other.passages and self.passages != other.passages:
            return None
        return Forms(self.minhash or other.minhash, self.passages or other.passages)


class TextFeatures(NamedTuple):
    """The results of one pass over each of many texts, a row for each.

    `simhashes` and `tokens` are those of simhash-doc, uint64 of shape (n,), zero for a text without tokens. For
    minhash, `shingles` counts distinct ones, uint64 of (n,); `packed` is uint8 of (n, bytes); `keys` is uint64 of (n,
    bands), packed as table << 32 | key. They are zero where there are no shingles. `passages` are the keys of passages,
    int64. Sketches not asked for have rows without values.
    """

    simhashes: NDArray[np.uint64]
    tokens: NDArray[np.uint64]
    shingles: NDArray[np.uint64]
    packed: NDArray[np.uint8]
    keys: NDArray[np.uint64]
    passages: Ragged


class OneTextFeatures(NamedTuple):
    """The features of one text as Python numbers: arrays of one row take longer than the pass itself."""

    simhash: int
    tokens: int
    shingles: int
    packed: bytes
    keys: tuple[int, ...]
    passages: tuple[int, ...]


def features_of_text(text: str | bytes, forms: Forms) -> OneTextFeatures:
    """`features_of_texts` for one text. Raises MemoryError, UsageError for an invalid form."""
    minhash, passages = forms
    asked = _minhash_form(minhash), _passages_form(passages)
    data = encoded(text)
    found, kept, ends = ffi.new("nd_text_features *"), ffi.new("nd_hashes *"), ffi.new("size_t[1]", (len(data),))
    packed = bytearray(minhash.values * minhash.bits // 8 if minhash else 0)
    keys = ffi.new("uint64_t[]", minhash.bands if minhash else 0)
    check(lib.nd_sketch_texts(ffi.from_buffer(data), ends, 1, *asked, found, ffi.from_buffer(packed), keys, kept))
    try:
        own = tuple(ffi.unpack(kept.values, kept.count)) if kept.count else ()
    finally:
        lib.nd_free(kept.values)
    return OneTextFeatures(found.simhash, found.tokens, found.shingles, bytes(packed), tuple(keys), own)


def features_of_texts(texts: Texts, forms: Forms = Forms()) -> TextFeatures:  # noqa: B008 - frozen
    """Make the simhash-doc fingerprint and the requested sketches of each text in one pass over it.

    Bytes are read as UTF-8, ill-formed ones as U+FFFD. A text with fewer tokens than a shingle is one shingle. With
    numbers, a text of numbers has a sketch but no fingerprint. Raises MemoryError, UsageError for an invalid form.
    """
    minhash, passages = forms
    asked = _minhash_form(minhash), _passages_form(passages)
    data, ends = joined_texts(texts)
    count = ends.size
    found = np.zeros((count, 4), dtype=np.uint64)
    packed = np.zeros((count, minhash.values * minhash.bits // 8 if minhash else 0), dtype=np.uint8)
    keys = np.zeros((count, minhash.bands if minhash else 0), dtype=np.uint64)
    kept = ffi.new("nd_hashes *")
    given = ffi.from_buffer(data), pointer(ends, "size_t[]"), count, *asked
    check(lib.nd_sketch_texts(*given, pointer(found, "nd_text_features[]"), pointer(packed), pointer(keys), kept))
    offsets = np.zeros(count + 1, dtype=np.int64)
    if passages:
        np.cumsum(found[:, 3], out=offsets[1:], dtype=np.int64)
    rows = adopted(kept.values, kept.count, np.uint64).view(np.int64)
    return TextFeatures(found[:, 0], found[:, 1], found[:, 2], packed, keys, Ragged(rows, offsets))


def _minhash_form(form: MinhashForm | None) -> Any:
    if form is None:
        return ffi.NULL
    require_values(form.values)
    fits = 1 <= form.rows <= lib.ND_MAX_ROWS and 0 <= form.bands * form.rows <= form.values
    if form.shingle < 1 or form.bits not in BITS or not fits:
        raise UsageError(f"{form} is not a form of a sketch")
    return ffi.new(
        "nd_minhash_form *",
        (form.shingle, form.numbers, form.values, form.bits, form.bands, form.rows, form.letters),
    )


def _passages_form(form: PassagesForm | None) -> Any:
    if form is None:
        return ffi.NULL
    if form.shingle < 1 or form.window < 1:
        raise UsageError(f"{form} is not a form of a sketch")
    return ffi.new("nd_passages_form *", (form.shingle, form.window, form.letters))
