"""Functions without a store: fingerprint, sketch, pair and deduplicate texts."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.clustering.choosing import choose
from indexer.clustering.grouping import group
from indexer.clustering.verdicts import Permitted, Reason, Relations, Verdict, verdicts_of
from indexer.errors import UsageError, shown, takes_named
from indexer.library.making import TextInput, all_sketches, is_many
from indexer.library.memory import rule_without_store
from indexer.library.rows import Rows, html_table
from indexer.matching.measures.tables import Comparer
from indexer.matching.nodes import Nodes, keyed, nodes_of
from indexer.matching.pairing import document_pairs
from indexer.matching.relating import NO_COPY, RelatedTexts
from indexer.matching.rule import MatchRule
from indexer.model import SIMHASH_DOC, Ref
from indexer.model.ragged import Ragged
from indexer.relations.comparing import relate
from indexer.relations.lexicon import Lexicon
from indexer.relations.relation import Relation
from indexer.relations.wording import Wording
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
    """The sketches of n texts by a scheme: `payloads` in a row each, empty for a text without features.

    `mask` (bool, shape (n,)) marks the others.
    """

    scheme: Scheme
    payloads: Ragged
    mask: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.payloads)

    @property
    def matrix(self) -> npt.NDArray[np.uint8]:
        """The payloads as uint8 of shape (n, width), zeros for a text without. Raises UsageError if lengths differ."""
        sizes = self.payloads.sizes[self.mask]
        width = int(sizes.max(initial=0))
        if np.any(sizes != width):
            raise UsageError(f"sketches of {self.scheme.family} are of unequal lengths: see payloads")
        rows = np.zeros((len(self), width), dtype=np.uint8)
        rows[self.mask] = self.payloads.values.reshape(sizes.size, width)
        return rows

    def similarities(self, left: npt.ArrayLike, right: npt.ArrayLike) -> Similarities:
        """The similarities (0 to 1) of texts by their positions, left[i] and right[i]; NaN if one has no sketch."""
        one, other = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
        place = np.cumsum(self.mask) - 1
        values = np.full(one.shape, np.nan)
        there = self.mask[one] & self.mask[other]
        values[there] = self.scheme.compare(self.payloads.take(self.mask), place[one[there]], place[other[there]])
        return values


@dataclass(frozen=True, slots=True)
class TextPair:
    """Two texts by their positions, left < right, and their similarity (0 to 1)."""

    left: int
    right: int
    similarity: float


@dataclass(frozen=True, slots=True)
class TextCopy:
    """A text by its position, a repeat of the text at `of`, with their similarity (0 to 1).

    `relation` is a word such as "edited", and `evidence` explains it in a line; both are empty if texts were not
    compared.
    """

    position: int
    of: int
    similarity: float
    relation: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Deduped:
    """The result of deduplicating n texts: text i is a copy of text `of[i]`, and is kept if `of[i]` is i.

    `of` is int64 of shape (n,); `similarity` is float64 of that shape, the similarity to the kept text. `missing` has
    the positions of missing texts, as None: they repeat nothing, and stay. `relations` has the relation of each copy
    near its kept text, and `reasons` the reason for keeping other near texts, such as forms; both by position, if texts
    were compared. A reason is told when you ask for it, so the result holds these texts.
    """

    of: Positions
    similarity: Similarities
    relations: Mapping[int, Relation] = field(default_factory=dict)
    reasons: Mapping[int, str] = field(default_factory=dict)
    missing: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """The mask of the kept texts, bool of shape (n,), as in `frame[dedupe(frame["text"]).mask]`."""
        return np.asarray(self.of == np.arange(self.of.size), dtype=np.bool_)

    @property
    def kept(self) -> Positions:
        """The positions of the kept texts, in order."""
        return np.flatnonzero(self.mask)

    @property
    def copies(self) -> Rows[TextCopy]:
        """The removed texts, in order."""
        places = np.flatnonzero(~self.mask)
        rows = zip(places.tolist(), self.of[places].tolist(), self.similarity[places].tolist(), strict=True)
        return Rows(TextCopy, (TextCopy(*row, *self._evidence(row[0])) for row in rows))

    def _evidence(self, place: int) -> tuple[str, str]:
        relation = self.relations.get(place)
        return (relation.word, relation.evidence) if relation else ("", "")

    def __repr__(self) -> str:
        return f"{self._said()}\n{self.copies!r}"

    def _repr_html_(self) -> str:
        return html_table((), [(self._said(),)]) + self.copies._repr_html_()

    def _said(self) -> str:
        texts, missing = self.of.size - self.missing.size, self.missing.size
        said = f"{self.kept.size - missing:,} of {counted(texts, 'text')} kept"
        return f"{said}; {missing:,} more {'is' if missing == 1 else 'are'} missing" if missing else said


@takes_named
def fingerprints(texts: Iterable[TextInput], *, threads: int | None = None) -> Fingerprints:
    """The simhash-doc fingerprints of texts, or of features instead of texts (see `sketches`).

    `threads` defaults to the number of processors. Raises UsageError.
    """
    made = all_sketches(given_texts(texts), {SIMHASH_DOC: registry.scheme(SIMHASH_DOC)}, threads)
    payloads = [sketch.payload if (sketch := sketch_of[SIMHASH_DOC]) else b"" for sketch_of in made]
    values = np.frombuffer(b"".join(payload or bytes(8) for payload in payloads), dtype=">u8").astype(np.uint64)
    return Fingerprints(values, np.array([bool(payload) for payload in payloads], dtype=np.bool_))


@takes_named
def sketches(
    texts: Iterable[TextInput], scheme: str | Scheme = "minhash", *, threads: int | None = None
) -> TextSketches:
    """The sketches of texts by a scheme, named as in `neardup schemes` (`minhash:values=256`).

    Instead of a text you may pass your own features: an iterable of tokens (strings or bytes) or integers, to be
    hashed, or, for schemes with weights, a mapping from these to counts (positive integers). `threads` defaults to the
    number of processors. Raises UsageError.
    """
    made = registry.scheme(scheme) if isinstance(scheme, str) else scheme
    if not isinstance(made, Scheme):
        raise UsageError(f"a scheme is one, or its name as in minhash:values=256, not {shown(scheme)}")
    made_sketches = [
        sketches_of_text[made.family]
        for sketches_of_text in all_sketches(given_texts(texts), {made.family: made}, threads)
    ]
    mask = np.array([sketches_of_text is not None for sketches_of_text in made_sketches], dtype=np.bool_)
    return TextSketches(
        made,
        Ragged.of_bytes([sketches_of_text.payload if sketches_of_text else b"" for sketches_of_text in made_sketches]),
        mask,
    )


@takes_named
def pairs_of(
    texts: Iterable[TextInput],
    match: str | MatchRule | None = None,
    *,
    collapse: bool = False,
    threads: int | None = None,
) -> Rows[TextPair]:
    """Every pair of texts, or of features (see `sketches`), near by a match rule, sorted by left, then right.

    `match` is a rule as in `parse_rule`; None means the default rule of a new store. With `collapse`, texts with equal
    sketches are paired only with the first of them, and it represents them in other pairs. `threads` defaults to the
    number of processors. Memory: the sketches, about 300 bytes a text, and the pairs. Raises UsageError.
    """
    if isinstance(texts, Store):
        raise UsageError("pairs_of() takes texts: neardup.open(...).pairs() lists those of a store")
    rule = rule_without_store(match)
    nodes = nodes_of(rule, _batches(all_sketches(given_texts(texts), rule.schemes, threads), rule))
    pairs = document_pairs(nodes, Comparer(rule, nodes.payloads), collapse=collapse, threads=threads)
    triples = ((int(pair.left.id), int(pair.right.id), pair.similarity) for pair in pairs)
    return Rows(TextPair, (TextPair(*triple) for triple in sorted(triples)))


@takes_named
def dedupe(
    texts: Iterable[TextInput],
    match: str | MatchRule | None = None,
    *,
    keep: Keep = "first",
    remove: str | Iterable[str] | None = None,
    verify: Literal["text", "sketch"] = "text",
    threads: int | None = None,
) -> Deduped:
    """Deduplicate texts, or features (see `sketches`): find the texts to keep, and the kept one for each copy.

    Preferred are the first texts ("first"), the last ones ("last"), or the longest, the first of equally long ones
    ("longest"). In this order a text is kept if it is near none kept so far. Otherwise an alignment tells its relation
    to the nearest kept text. It is a copy if `remove` names this relation, by default "identical,reflowed,noise": both
    have the same sentences in the same order. Other texts are kept, also one that says more. Of two texts with misread
    words the cleaner one stays, whatever `keep` says. Near pairs are those of `pairs_of`. Equal texts are always
    copies; None is no text, and no copy of another None.

    With verify="sketch" texts are not aligned: all near texts go, also forms, and no two kept texts are near. Features
    are always compared so. `match` and `threads` are as for `pairs_of`. Memory: the sketches, about 300 bytes a text,
    the texts if they can be read only once, and texts near others. Raises UsageError.
    """
    if not isinstance(keep, str) or keep not in ("first", "last", "longest"):
        raise UsageError(f"keep={shown(keep)}: is one of first, last, longest")
    if not isinstance(verify, str) or verify not in ("text", "sketch"):
        raise UsageError(f"verify={shown(verify)}: is text or sketch")
    rule = rule_without_store(match)
    rule.require_copies()
    listed = _listed(texts)
    # What can be gone through but once is needed again for the texts that are near others.
    listed = list(listed) if verify == "text" and iter(listed) is listed else listed
    distinct = _Distinct(keep)
    nodes = nodes_of(rule, _batches(all_sketches(distinct.of(listed), rule.schemes, threads), rule))
    of_text, rank, first = distinct.ranked()
    # What the rule can't compare is a copy of what equals it only.
    compared = np.array([int(ref.id) for ref in nodes.refs], dtype=np.int64)
    near = _NearTexts(listed, first[compared])
    reads = verify == "text" and distinct.are_texts
    aligned = partial(near.relations, Permitted.named(remove)) if reads else None
    chosen_of, values, verdicts = _settled(nodes, rule, rank[first[compared]], aligned, threads)
    relations: dict[int, Relation] = {}
    reasons: dict[int, Reason | int] = {}
    for place, verdict in verdicts.items():
        position = int(first[compared[place]])
        if verdict.relation is NO_COPY:
            reasons[position] = int(first[compared[verdict.repeats]])
        elif verdict.reason:
            reasons[position] = verdict.reason
        elif verdict.relation:
            relations[position] = verdict.relation
    told = _Reasons(reasons, near) if reasons else {}
    equal = first[of_text]
    # Of equal texts only the first was aligned.
    for place in np.flatnonzero(equal != np.arange(equal.size)).tolist() if reads else ():
        relations[place] = relations.get(int(equal[place]), Relation("identical"))
    of, similarity = np.arange(first.size), np.ones(first.size)
    of[compared], similarity[compared] = compared[chosen_of], values
    missing = np.array(distinct.missing, dtype=np.int64)
    return Deduped(first[of[of_text]], similarity[of_text], relations, told, missing)


def dedupe_sketches(
    made: Sequence[dict[str, Any]],
    rule: MatchRule,
    relations: Callable[[Positions], Relations[int]],
    *,
    threads: int | None = None,
) -> tuple[Positions, Similarities, Mapping[int, Verdict[int]]]:
    """(of, similarity), as in `Deduped`, for documents given by their sketches, and the verdicts on near ones.

    A sketch of each of the rule's schemes by its name, None if missing. `relations` gets the positions of the compared
    ones, and numbers these. A document goes only for an earlier one.
    """
    nodes = nodes_of(rule, _batches(iter(made), rule))
    compared = np.array([int(ref.id) for ref in nodes.refs], dtype=np.int64)
    of, similarity = np.arange(len(made)), np.ones(len(made))
    chosen, values, found = _settled(nodes, rule, compared, lambda _: relations(compared), threads, firsts_stay=True)
    of[compared], similarity[compared] = compared[chosen], values
    return of, similarity, {int(compared[place]): verdict for place, verdict in found.items()}


def _settled(
    nodes: Nodes,
    rule: MatchRule,
    ranks: Positions,
    relations: Callable[[Positions], Relations[int]] | None,
    threads: int | None,
    *,
    firsts_stay: bool = False,
) -> tuple[Positions, Similarities, Mapping[int, Verdict[int]]]:
    """The kept document for each, their similarity, and verdicts; all by places among the nodes."""
    comparison = Comparer(rule, nodes.payloads)
    whole = group(nodes, comparison, radius=1.0, threads=threads).whole
    chosen = choose(nodes, comparison, whole, np.arange(ranks.size), ranks, threads=threads)
    of, values = chosen.of.copy(), chosen.similarity.copy()
    if relations is None:
        return of, values, {}

    def near(one: int, other: int) -> bool:
        return _similarity(comparison, nodes, one, other) >= 0

    def may_go(place: int) -> bool:
        return not firsts_stay or int(chosen.of[place]) != place

    verdicts = dict(verdicts_of(relations(chosen.of), chosen.of, ranks, whole[nodes.node_of], near, may_go))
    for place, verdict in verdicts.items():
        other = place if verdict.reason else verdict.repeats
        if other != of[place]:
            of[place], values[place] = other, _similarity(comparison, nodes, place, other)
    return of, values, verdicts


class _Distinct:
    """The distinct ones of some texts, with the index of each, and their order of preference."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self.are_texts = True
        self.missing: list[int] = []
        self._same: list[int] = []
        self._lengths: list[int] = []

    def of(self, texts: Iterable[TextInput]) -> Iterator[TextInput]:
        seen: dict[bytes, int] = {}
        count = itertools.count()
        for place, text in enumerate(texts):
            if _is_missing(text):
                self.missing.append(place)
                text = ""  # noqa: PLW2901
                digest = None
            else:
                digest = _digest(text) if isinstance(text, str | bytes) else None
                self.are_texts &= digest is not None
            known = None if digest is None else seen.get(digest)
            if self._keep == "longest":
                self._lengths.append(len(text))
            if known is not None:
                self._same.append(known)
                continue
            number = next(count)
            if digest is not None:
                seen[digest] = number
            self._same.append(number)
            yield text

    def ranked(self) -> tuple[Positions, Positions, Positions]:
        of_text = np.array(self._same, dtype=np.int64)
        order = _preferred(of_text.size, self._keep, self._lengths)
        _, first = np.unique(of_text[order], return_index=True)
        rank = np.empty(order.size, dtype=np.int64)
        rank[order] = np.arange(order.size)
        return of_text, rank, order[first]


def _similarity(comparison: Comparer, nodes: Nodes, one: int, other: int) -> float:
    left, right = nodes.node_of[[one]], nodes.node_of[[other]]
    return 1.0 if left[0] == right[0] else float(comparison.judged(left, right)[0])


class _NearTexts:
    """The texts near others, by their positions; `place_of` has those of the numbers that are compared."""

    def __init__(self, texts: Iterable[Any], place_of: Positions) -> None:
        self._texts, self._place_of = texts, place_of
        self._held: dict[int, Any] = {}
        self.lexicon = Lexicon()

    def relations(self, permitted: Permitted, of: Positions) -> Relations[int]:
        going = np.flatnonzero(of != np.arange(of.size))
        wanted = {*self._place_of[going].tolist(), *self._place_of[of[going]].tolist()}
        self._held = {place: text for place, text in enumerate(self._texts) if place in wanted}
        self._texts = ()
        texts_read = RelatedTexts(
            lambda numbers: ((number, self.text(int(self._place_of[number]))) for number in numbers),
            key=int,
            name=lambda number: f"text {self._place_of[number]}",
            digest=lambda _: "",
            lexicon=self.lexicon,
            learns=True,
            brief="copies" if permitted.only_copies else True,
        )
        return Relations(permitted, texts_read)

    def keep(self, places: Container[int]) -> None:
        self._held = {place: text for place, text in self._held.items() if place in places}

    def text(self, place: int) -> str:
        text = self._held[place]
        return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)


class _Reasons(Mapping[int, str]):
    """The reasons to keep near texts; for one with the position of another one it is told when somebody asks."""

    def __init__(self, known: Mapping[int, Reason | int], texts: _NearTexts) -> None:
        self._known, self._texts = known, texts
        texts.keep({each for one, other in known.items() if isinstance(other, int) for each in (one, other)})
        # These texts have no line that was known as frame.
        texts.lexicon.frames = False

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[int]:
        return iter(self._known)

    def __getitem__(self, place: int) -> str:
        reason = self._known[place]
        if isinstance(reason, Reason):
            return reason.sentence
        one, other = (Wording(self._texts.text(each)) for each in (place, reason))
        return f"{relate(one, other, self._texts.lexicon, brief=True)}, beside text {reason}"


def given_texts(texts: Iterable[Any]) -> Iterable[Any]:
    """The texts of a list, a column of a DataFrame or an Arrow array; a missing one has no words."""
    return ("" if _is_missing(text) else text for text in _listed(texts))


def _listed(texts: Any) -> Iterable[Any]:
    if isinstance(texts, Mapping | Set):
        raise UsageError(f"texts: {type(texts).__name__} is not a list of texts; put them into a list")
    if isinstance(texts, str | bytes) or hasattr(texts, "columns") or hasattr(texts, "schema"):
        raise UsageError(f"texts: {type(texts).__name__} is not a list of texts; give a list, or one column of a table")
    if not is_many(texts):
        raise UsageError(f"texts: {type(texts).__name__} is not a list of texts")
    listed: Iterable[Any] = texts.to_pylist() if hasattr(texts, "to_pylist") else texts
    return listed


def _is_missing(text: Any) -> bool:
    # The last two are those of pandas.
    return text is None or isinstance(text, float) or type(text).__name__ in ("NAType", "NaTType")


def _preferred(count: int, keep: Keep, lengths: Sequence[int]) -> Positions:
    if keep == "longest":
        return np.argsort(-np.array(lengths, dtype=np.int64), kind="stable")
    return np.arange(count)[::-1] if keep == "last" else np.arange(count)


def _digest(text: str | bytes) -> bytes:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return hashlib.blake2b(data, digest_size=16).digest()


def _batches(made: Iterator[dict[str, Any]], rule: MatchRule) -> Iterator[Found]:
    rows: list[tuple[int, dict[str, Any]]] = []
    for place, sketches in enumerate(made):
        rows.append((place, sketches))
        if len(rows) == _ROWS_AT_ONCE:
            yield _batch(rows, rule)
            rows = []
    yield _batch(rows, rule)


def _batch(rows: Sequence[tuple[int, dict[str, Any]]], rule: MatchRule) -> Found:
    columns = {name: [sketches[name] for _, sketches in rows] for name in rule.schemes}
    payloads = {
        name: Ragged.of_bytes([sketch.payload if sketch else b"" for sketch in column])
        for name, column in columns.items()
    }
    keys = {
        name: Ragged.of_integers([sketch.keys if sketch else () for sketch in columns[name]]) for name in keyed(rule)
    }
    return Found([Ref(str(place)) for place, _ in rows], payloads, keys)
