"""Sketches of many texts, or of the caller's features, in several threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.core.pairs import number_of_threads
from indexer.core.text import Tokens, hash_tokens
from indexer.errors import UsageError, shown
from indexer.model import Sketch
from indexer.schemes.base import Hashes, Scheme, Weights, sketch_texts

GivenToken = str | bytes | int
TextInput = str | bytes | Sequence[GivenToken] | AbstractSet[GivenToken] | Mapping[GivenToken, int]
"""A text; or features in its place: tokens or numbers, in a mapping with how much each counts."""

_AT_ONCE, _SIZE_AT_ONCE = 64, 1 << 20


def sketches_of(given: Any, schemes: Mapping[str, Scheme]) -> dict[str, Sketch | None]:
    """The sketch by each scheme of a text or of features; None if there is nothing to sketch.

    Raises UsageError for invalid features, and by schemes that read texts only.
    """
    [sketches] = many_sketches([given], schemes)
    return sketches


def many_sketches(given: Sequence[Any], schemes: Mapping[str, Scheme]) -> list[dict[str, Sketch | None]]:
    """`sketches_of` for each; the core reads many texts in one call, and releases the GIL once."""
    texts = [one for one in given if isinstance(one, str | bytes)]
    made = iter(_text_sketches(texts, schemes))
    return [next(made) if isinstance(one, str | bytes) else _feature_sketches(one, schemes) for one in given]


def _text_sketches(texts: Sequence[str | bytes], schemes: Mapping[str, Scheme]) -> Iterator[dict[str, Sketch | None]]:
    columns = zip(schemes.values(), sketch_texts([*schemes.values()], texts), strict=True)
    rows = zip(*(column.listed(scheme.id) for scheme, column in columns), strict=True)
    return (dict(zip(schemes, row, strict=True)) for row in rows)


def _feature_sketches(given: Any, schemes: Mapping[str, Scheme]) -> dict[str, Sketch | None]:
    features, weights = hashed(given)
    return {name: scheme.sketch_features(features, weights) for name, scheme in schemes.items()}


def is_many(given: Any) -> bool:
    """True for an iterable, unlike an array of no dimension."""
    return isinstance(given, Iterable) and bool(getattr(given, "ndim", 1))


def hashed(features: Any) -> tuple[Hashes, Weights | None]:
    """The hashes of features, uint64 of shape (n,), and their weights if they have any.

    A hash is lookup8 of a token's UTF-8, or of a number's 8 bytes, the lowest first. Raises UsageError.
    """
    weights = None
    if isinstance(features, Mapping):
        counts = list(features.values())
        if not all(isinstance(count, int | np.integer) and count > 0 for count in counts):
            raise UsageError(
                "in a mapping of features, how much each counts is a whole number above 0; of documents give the texts"
            )
        weights = np.array(counts, dtype=np.int64)
        features = list(features)
    if isinstance(features, np.ndarray) and features.dtype.kind in "iu" and features.ndim == 1:
        return _hashed_numbers(features), weights
    if not is_many(features):
        raise UsageError(f"{shown(features)} is neither a text nor features")
    return _hashed_tokens([_token(feature) for feature in features]), weights


def _token(given: Any) -> bytes:
    if isinstance(given, str):
        return given.encode("utf-8", "surrogatepass")
    if isinstance(given, bytes):
        return given
    if isinstance(given, int | np.integer) and -(1 << 63) <= given < 1 << 64:
        return (int(given) & (1 << 64) - 1).to_bytes(8, "little")
    raise UsageError(f"a feature is a string, bytes or an integer of 64 bits, not {type(given).__name__}")


def _hashed_tokens(tokens: Sequence[bytes]) -> Hashes:
    ends = np.cumsum([0, *map(len, tokens)]).astype(np.uintp)
    return hash_tokens(Tokens(b"".join(tokens), ends[:-1], ends[1:]))


def _hashed_numbers(numbers: npt.NDArray[Any]) -> Hashes:
    ends = np.arange(numbers.size + 1, dtype=np.uintp) * 8
    wide = "<i8" if numbers.dtype.kind == "i" else "<u8"
    return hash_tokens(Tokens(numbers.astype(wide).tobytes(), ends[:-1], ends[1:]))


def all_sketches(
    given: Iterable[Any], schemes: Mapping[str, Scheme], threads: int | None = None
) -> Iterator[dict[str, Sketch | None]]:
    """The sketches of each text or set of features, in order; some hundred are read ahead.

    `threads` defaults to the number of processors. The core releases the GIL while it works on a text.
    """
    workers = number_of_threads(threads)
    if workers == 1:
        for batch in _parts(given):
            yield from many_sketches(batch, schemes)
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="sketches") as pool:
        waiting: deque[Future[list[dict[str, Sketch | None]]]] = deque()
        for batch in _parts(given):
            waiting.append(pool.submit(many_sketches, batch, schemes))
            if len(waiting) > 2 * workers:
                yield from waiting.popleft().result()
        yield from chain.from_iterable(part.result() for part in waiting)


def _parts(given: Iterable[Any]) -> Iterator[list[Any]]:
    batch: list[Any] = []
    size = 0
    for text in given:
        batch.append(text)
        size += len(text) if hasattr(text, "__len__") and is_many(text) else 0
        if len(batch) == _AT_ONCE or size >= _SIZE_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
