"""What needs no store: fingerprints and sketches of texts, all near pairs among them, and which of them to keep."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.errors import UsageError
from indexer.library.making import Given, all_sketches
from indexer.library.memory import MemoryIndex, rule_without_store
from indexer.library.rows import Rows, html_table
from indexer.matching.measures.tables import Comparison
from indexer.matching.nodes import keyed, nodes_of
from indexer.matching.pairing import document_pairs
from indexer.matching.rule import MatchRule
from indexer.model import SIMHASH_DOC, Ref
from indexer.model.ragged import Ragged
from indexer.schemes import registry
from indexer.schemes.base import Positions, Scheme, Similarities
from indexer.stores.base import Store
from indexer.stores.sketches import Found
from indexer.text.counts import counted

Keep = Literal["first", "last", "longest"]

_ROWS_AT_ONCE = 1 << 14


class Fingerprints(NamedTuple):
    """`values` (uint64) and `mask` (bool) of shape (n,): text i has the fingerprint `values[i]` if `mask[i]`, else 0.

    The texts without a fingerprint are those without words.
    """

    values: npt.NDArray[np.uint64]
    mask: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class TextSketches:
    """The sketches of n texts by a scheme: `payloads` in a row each, of no bytes where a text has no features.

    `mask` (bool, shape (n,)) tells which have any.
    """

    scheme: Scheme
    payloads: Ragged
    mask: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.payloads)

    @property
    def matrix(self) -> npt.NDArray[np.uint8]:
        """The payloads as uint8 of shape (n, width), zeros for a text without; UsageError where lengths differ."""
        sizes = self.payloads.sizes[self.mask]
        width = int(sizes.max(initial=0))
        if np.any(sizes != width):
            raise UsageError(f"sketches of {self.scheme.family} are of unequal lengths: see payloads")
        found = np.zeros((len(self), width), dtype=np.uint8)
        found[self.mask] = self.payloads.values.reshape(sizes.size, width)
        return found

    def similarities(self, left: npt.ArrayLike, right: npt.ArrayLike) -> Similarities:
        """The similarities (0 to 1) of texts by their positions, left[i] and right[i]; NaN where one has no sketch."""
        one, other = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
        place = np.cumsum(self.mask) - 1
        found = np.full(one.shape, np.nan)
        there = self.mask[one] & self.mask[other]
        found[there] = self.scheme.compare(self.payloads.take(self.mask), place[one[there]], place[other[there]])
        return found


@dataclass(frozen=True, slots=True)
class TextPair:
    """Two texts by their positions, left < right, and their similarity (0 to 1)."""

    left: int
    right: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Copy:
    """A text by its position that repeats the text at `of`, with their similarity (0 to 1)."""

    position: int
    of: int
    similarity: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Deduped:
    """Which of n texts to keep: text i is a copy of text `of[i]`, which is i itself for one that is kept.

    `of` is int64 of shape (n,), `similarity` float64 of that shape: to the one that is kept, 1 for itself.
    """

    of: Positions
    similarity: Similarities

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Which texts are kept, shape (n,): `frame[dedupe(frame["text"]).mask]`."""
        return np.asarray(self.of == np.arange(self.of.size), dtype=np.bool_)

    @property
    def kept(self) -> Positions:
        """The positions of the texts that are kept, in order."""
        return np.flatnonzero(self.mask)

    @property
    def copies(self) -> Rows[Copy]:
        """The others, in order."""
        places = np.flatnonzero(~self.mask)
        rows = zip(places.tolist(), self.of[places].tolist(), self.similarity[places].tolist(), strict=True)
        return Rows(Copy, (Copy(*row) for row in rows))

    def __repr__(self) -> str:
        return f"{self._said()}\n{self.copies!r}"

    def _repr_html_(self) -> str:
        return html_table((), [(self._said(),)]) + self.copies._repr_html_()

    def _said(self) -> str:
        return f"{self.kept.size:,} of {counted(self.of.size, 'text')} kept"


def fingerprints(texts: Iterable[Given], *, threads: int | None = None) -> Fingerprints:
    """The simhash-doc fingerprints of texts, or of features in their place (see `sketches`).

    `threads` is the number of processors where None. Raises UsageError.
    """
    made = all_sketches(given_texts(texts), {SIMHASH_DOC: registry.scheme(SIMHASH_DOC)}, threads)
    payloads = [sketch.payload if (sketch := found[SIMHASH_DOC]) else b"" for found in made]
    values = np.frombuffer(b"".join(payload or bytes(8) for payload in payloads), dtype=">u8").astype(np.uint64)
    return Fingerprints(values, np.array([bool(payload) for payload in payloads], dtype=np.bool_))


def sketches(texts: Iterable[Given], scheme: str | Scheme = "minhash", *, threads: int | None = None) -> TextSketches:
    """The sketches of texts by a scheme, named as in `neardup schemes` (`minhash:values=256`).

    In the place of a text may be features of one's own: an iterable of tokens (strings or bytes) or integers, each of
    which is hashed, or a mapping of such to how often each counts (a whole number above 0), for schemes that weigh.
    `threads` is the number of processors where None. Raises UsageError.
    """
    made = registry.scheme(scheme) if isinstance(scheme, str) else scheme
    found = [each[made.family] for each in all_sketches(given_texts(texts), {made.family: made}, threads)]
    mask = np.array([each is not None for each in found], dtype=np.bool_)
    return TextSketches(made, Ragged.of_bytes([each.payload if each else b"" for each in found]), mask)


def pairs_of(
    texts: Iterable[Given], match: str | MatchRule | None = None, *, collapse: bool = False, threads: int | None = None
) -> Rows[TextPair]:
    """Every pair of texts, or of features (see `sketches`), that a match rule calls near, by left, then right position.

    `match` is a rule as in `parse_rule`, that of a new store where None. With `collapse` texts with equal sketches are
    paired with the first of them only, and the others of a pair are left to it. `threads` is the number of processors
    where None. Memory: the sketches, some 300 bytes a text, and the pairs. Raises UsageError.
    """
    if isinstance(texts, Store):
        raise UsageError("pairs_of() takes texts: indexer.open(...).pairs() lists those of a store")
    rule = rule_without_store(match)
    nodes = nodes_of(rule, _batches(all_sketches(given_texts(texts), rule.schemes, threads), rule))
    pairs = document_pairs(nodes, Comparison(rule, nodes.payloads), collapse=collapse, threads=threads)
    found = ((int(pair.left.id), int(pair.right.id), pair.similarity) for pair in pairs)
    return Rows(TextPair, (TextPair(*each) for each in sorted(found)))


def dedupe(
    texts: Iterable[Given], match: str | MatchRule | None = None, *, keep: Keep = "first", threads: int | None = None
) -> Deduped:
    """Which texts, or features (see `sketches`), to keep, and of which kept one each other is a copy.

    Texts are looked at in their order ("first"), from the end ("last"), or the longest first: one that the rule calls
    near nothing kept so far is kept, another is a copy of the nearest. So no two that are kept are near as far as the
    rule's keys find them, and each copy is near what it is a copy of. Texts that are equal are copies whatever the
    rule. `match` and `threads` are as for `pairs_of`. Memory: what a `MemoryIndex` of the kept ones takes, and the
    texts unless `keep` is "first". Raises UsageError.
    """
    if keep not in ("first", "last", "longest"):
        raise UsageError(f"keep={keep!r}: is one of first, last, longest")
    index = MemoryIndex(match)
    order, ordered = _ordered(given_texts(texts), keep)
    same: list[int] = []
    of: list[int] = []
    shares: list[float] = []
    fresh: list[int] = []

    def distinct() -> Iterator[Given]:
        seen: dict[bytes, int] = {}
        for place, text in enumerate(ordered):
            known = seen.setdefault(_digest(text), place) if isinstance(text, str | bytes) else place
            same.append(known)
            of.append(place)
            shares.append(1.0)
            if known == place:
                fresh.append(place)
                yield text

    for number, found in enumerate(all_sketches(distinct(), index.rule.schemes, threads)):
        place = fresh[number]
        near = index.query_sketches(found, limit=1)
        if near:
            of[place], shares[place] = near[0].id, near[0].similarity
        else:
            index.insert_sketches(place, found)
    # What equals a copy is a copy of the same.
    first = np.array(same, dtype=np.int64)
    kept, similarity = np.array(of, dtype=np.int64)[first], np.array(shares, dtype=np.float64)[first]
    return Deduped(kept, similarity) if order is None else _as_given(kept, similarity, order)


def given_texts(texts: Iterable[Any]) -> Iterable[Any]:
    """The texts of a list, a column of a DataFrame or an Arrow array; a missing one has no words."""
    if isinstance(texts, str | bytes) or hasattr(texts, "columns") or hasattr(texts, "schema"):
        raise UsageError(f"{type(texts).__name__} is no list of texts; give a list, or one column of a table")
    if not isinstance(texts, Iterable):
        raise UsageError(f"{type(texts).__name__} is no list of texts")
    listed = texts.to_pylist() if hasattr(texts, "to_pylist") else texts
    return ("" if each is None or isinstance(each, float) else each for each in listed)


def _ordered(texts: Iterable[Any], keep: Keep) -> tuple[Positions | None, Iterable[Any]]:
    if keep == "first":
        return None, texts
    every = list(texts)
    order = np.arange(len(every))[::-1]
    if keep == "longest":
        order = np.argsort([-len(each) for each in every], kind="stable")
    return order, (every[place] for place in order.tolist())


def _as_given(of: Positions, similarity: Similarities, order: Positions) -> Deduped:
    found, shares = np.empty_like(of), np.empty_like(similarity)
    found[order], shares[order] = order[of], similarity
    return Deduped(found, shares)


def _digest(text: str | bytes) -> bytes:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return hashlib.blake2b(data, digest_size=16).digest()


def _batches(made: Iterator[dict[str, Any]], rule: MatchRule) -> Iterator[Found]:
    """The sketches of texts as batches of a scan; a text is named by its position."""
    rows: list[tuple[int, dict[str, Any]]] = []
    for place, found in enumerate(made):
        rows.append((place, found))
        if len(rows) == _ROWS_AT_ONCE:
            yield _batch(rows, rule)
            rows = []
    yield _batch(rows, rule)


def _batch(rows: Sequence[tuple[int, dict[str, Any]]], rule: MatchRule) -> Found:
    columns = {name: [found[name] for _, found in rows] for name in rule.schemes}
    payloads = {
        name: Ragged.of_bytes([each.payload if each else b"" for each in some]) for name, some in columns.items()
    }
    keys = {name: Ragged.of_integers([each.keys if each else () for each in columns[name]]) for name in keyed(rule)}
    return Found([Ref(str(place)) for place, _ in rows], payloads, keys)
