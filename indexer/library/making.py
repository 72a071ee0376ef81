"""Sketches of many texts, or of features that the caller has made, in several threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer import core
from indexer.errors import UsageError
from indexer.model import SIMHASH_DOC, Sketch
from indexer.model.chunking import chunks
from indexer.model.tokens import Tokens
from indexer.schemes.base import Hashes, Scheme, Weights

Token = str | bytes | int
Given = str | bytes | Sequence[Token] | AbstractSet[Token] | Mapping[Token, int]
"""A text; or features in its place: tokens or numbers, in a mapping with how much each counts."""

_AT_ONCE = 64


def sketches_of(given: Any, schemes: Mapping[str, Scheme]) -> dict[str, Sketch | None]:
    """The sketch by each scheme of a text or of features; None where there is nothing to sketch.

    Raises UsageError for features that are none, and by schemes that read texts only.
    """
    if not isinstance(given, str | bytes):
        features, weights = hashed(given)
        return {name: scheme.sketch_features(features, weights) for name, scheme in schemes.items()}
    found: dict[str, Sketch | None] = {}
    both = next((scheme for scheme in schemes.values() if scheme.one_pass), None)
    if both is not None and SIMHASH_DOC in schemes:
        from indexer.schemes.simhash import keys

        of, found[both.family] = both.fingerprint_and_sketch(given)
        if of is not None:
            found[SIMHASH_DOC] = Sketch(SIMHASH_DOC, of.value.to_bytes(8, "big"), keys(of), of.tokens)
        else:
            found[SIMHASH_DOC] = None
    return {name: found[name] if name in found else scheme.sketch(given) for name, scheme in schemes.items()}


def hashed(features: Any) -> tuple[Hashes, Weights | None]:
    """The hashes of features, uint64 of shape (n,), and their weights where they have any.

    A hash is lookup8 of a token's UTF-8, or of a number's 8 bytes, the lowest first. Raises UsageError.
    """
    weights = None
    if isinstance(features, Mapping):
        counts = list(features.values())
        if not all(isinstance(count, int | np.integer) and count > 0 for count in counts):
            raise UsageError("how much a feature counts is a whole number above 0")
        weights = np.array(counts, dtype=np.int64)
        features = list(features)
    if isinstance(features, np.ndarray) and features.dtype.kind in "iu" and features.ndim == 1:
        return _hashed_numbers(features), weights
    if not isinstance(features, Iterable):
        raise UsageError(f"{type(features).__name__} is neither a text nor features")
    return _hashed_tokens([_token(each) for each in features]), weights


def _token(given: Any) -> bytes:
    if isinstance(given, str):
        return given.encode("utf-8", "surrogatepass")
    if isinstance(given, bytes):
        return given
    if isinstance(given, int | np.integer) and -(1 << 63) <= given < 1 << 64:
        return (int(given) & (1 << 64) - 1).to_bytes(8, "little")
    raise UsageError(f"a feature is a string, bytes or an integer of 64 bits, not {given!r}"[:200])


def _hashed_tokens(tokens: Sequence[bytes]) -> Hashes:
    ends = np.cumsum([0, *map(len, tokens)]).astype(np.uintp)
    return core.hash_tokens(Tokens(b"".join(tokens), ends[:-1], ends[1:]))


def _hashed_numbers(numbers: npt.NDArray[Any]) -> Hashes:
    ends = np.arange(numbers.size + 1, dtype=np.uintp) * 8
    wide = "<i8" if numbers.dtype.kind == "i" else "<u8"
    return core.hash_tokens(Tokens(numbers.astype(wide).tobytes(), ends[:-1], ends[1:]))


def all_sketches(
    given: Iterable[Any], schemes: Mapping[str, Scheme], threads: int | None = None
) -> Iterator[dict[str, Sketch | None]]:
    """The sketches of each text or set of features, in order; some hundred are read ahead.

    `threads` is the number of processors where None. The core lets go of the GIL while it works on a text.
    """
    workers = default_threads() if threads is None else threads
    if workers < 1:
        raise UsageError(f"threads must be at least 1, not {threads}")
    if workers == 1:
        yield from (sketches_of(each, schemes) for each in given)
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="sketches") as pool:
        waiting: deque[Future[list[dict[str, Sketch | None]]]] = deque()
        texts = iter(given)
        for some in chunks(texts, _AT_ONCE):
            waiting.append(pool.submit(_part, some, schemes))
            if len(waiting) > 2 * workers:
                yield from waiting.popleft().result()
        yield from chain.from_iterable(each.result() for each in waiting)


def _part(some: Sequence[Any], schemes: Mapping[str, Scheme]) -> list[dict[str, Sketch | None]]:
    return [sketches_of(each, schemes) for each in some]


def default_threads() -> int:
    """As many as this process may use processors."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
