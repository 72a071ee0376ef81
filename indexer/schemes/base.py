"""The contract of every scheme: fingerprint, keys, candidates, verification (tested by `neardup.schemes.testing`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from indexer.core.one_pass import Forms, OneTextFeatures, TextFeatures, features_of_text, features_of_texts
from indexer.errors import UsageError
from indexer.model import Sketch
from indexer.model.joined import Joined, Texts
from indexer.model.ragged import Ragged, no_payload
from indexer.schemes.keys import postings
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo

Parameter = int | float | str | bool
Hashes = npt.NDArray[np.uint64]
Weights = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int64]
Similarities = npt.NDArray[np.float64]
Allowed = TypeVar("Allowed", int, str)

# What a similarity may lose by rounding.
SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Sketches:
    """Many sketches of one scheme: `payloads` (uint8) and packed `keys` (int64), a row for each."""

    payloads: Ragged
    keys: Ragged

    def __len__(self) -> int:
        return len(self.payloads)

    def take(self, positions: Positions) -> Sketches:
        """The sketches at these positions."""
        return Sketches(self.payloads.take(positions), self.keys.take(positions) if len(self.keys) else self.keys)

    def sketch(self, position: int, scheme: str) -> Sketch:
        """One of them, by the scheme with this id; the number of its features is not kept."""
        return Sketch(scheme, self.payloads.bytes_of(position), tuple(self.keys.row(position).tolist()), 0)


@dataclass(frozen=True, slots=True)
class SketchedTexts(Sketches):
    """The sketches of texts by a scheme, and the number of features (int64) of each.

    A row without features is empty.
    """

    features: npt.NDArray[np.int64]

    @classmethod
    def of_sketches(cls, sketches: Sequence[Sketch | None]) -> Self:
        """Collect single sketches, None for a text without features."""
        return cls(
            Ragged.of_bytes([each.payload if each else b"" for each in sketches]),
            Ragged.of_integers([each.keys if each else () for each in sketches]),
            np.array([each.features if each else 0 for each in sketches], dtype=np.int64),
        )

    def where(self, kept: npt.NDArray[np.bool_]) -> Self:
        """Keep only the sketches selected by a mask and empty the other rows."""
        if np.count_nonzero(kept) == kept.size:
            return self
        return type(self)(self.payloads.where(kept), self.keys.where(kept), np.where(kept, self.features, 0))

    def listed(self, scheme: str) -> list[Sketch | None]:
        """The sketches one by one, of the scheme with this id; None for a text without features."""
        payloads, keys = self.payloads.values.tobytes(), self.keys.values.tolist()
        bounds = pairwise(self.payloads.offsets.tolist()), pairwise(self.keys.offsets.tolist())
        return [
            Sketch(scheme, payloads[first:end], tuple(keys[start:stop]), features) if features else None
            for (first, end), (start, stop), features in zip(*bounds, self.features.tolist(), strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a lookup for a similarity: the keys it asks for, and the share of pairs it finds.

    `probes` is the largest number of keys to ask for, None if it depends on the text's length; `agreeing` tables must
    match. `recall` is the expected share found of pairs exactly as similar as asked (1.0 if nothing is missed);
    `guaranteed` says that it is certain. `explanation` explains the plan in a sentence or two.
    """

    similarity: float
    probes: int | None
    agreeing: int
    recall: float
    guaranteed: bool
    explanation: str


class Scheme(ABC):
    """One scheme with its parameters; immutable, picklable, free of state between calls.

    Made by `neardup.schemes.registry.scheme`. For unfitting parameters the constructor raises UsageError with the
    parameter, its value and the allowed values.
    """

    family: ClassVar[str]
    """The name by which users ask for it, and the name of its fields in a store: letters, digits and hyphens."""
    summary: ClassVar[str]
    """One sentence: what it compares, and what it is good for."""
    measure: ClassVar[str]
    """The quantity that its similarity estimates, such as "Jaccard coefficient of the sets of 5-word shingles"."""
    layout: KeyLayout
    agreeing: int = 1
    """The number of tables that must agree for a document to be a candidate."""
    forms: Forms | None = None
    """The forms by which the C core makes the sketch, in one pass over a text with others'; None where it does not."""
    default_similarity: float
    """The similarity from which two documents count as near-duplicates unless the user says otherwise."""

    payload_bytes: int = 0
    """The number of bytes of every payload; 0 if it depends on the text."""
    unit: ClassVar[Literal["bits", "share"]] = "share"
    """The unit that a threshold is written in: bits that may differ, or the share that must be equal."""
    of_parts: ClassVar[bool] = False
    """True if its similarity is a share of the smaller document: what reaches it may be a part, and is no copy then."""
    common: ClassVar[int] = 0
    """A lookup sets a key aside that more documents than this hold, where it has others; 0 if it never does."""
    crowded: ClassVar[int] = 0
    """All pairs are made without a key that more different sketches than this hold; 0 if none is left out."""
    quick: ClassVar[bool] = False
    """True if a sketch of any text takes time and memory by its length and no more, so that no limits are needed."""
    exact_join: ClassVar[bool] = False
    """True if join() gives only pairs that are as similar as asked."""
    joins_keys: ClassVar[bool] = True
    """True if all pairs are found by the keys, so that these have to be read."""

    @classmethod
    def keys_of(cls, payloads: Ragged) -> Ragged | None:  # noqa: ARG003 most keys are made of more than the payload
        """The packed keys (int64) contained in payloads, a row for each; None if payloads don't contain them.

        A store keeps contained keys once. Raises PayloadError for other bytes.
        """
        return None

    @classmethod
    def payloads_of(cls, keys: Ragged) -> Ragged | None:  # noqa: ARG003 most payloads are made of more than the keys
        """The payloads (uint8) contained in packed keys (int64), a row for each; None if keys contain less.

        The reverse of keys_of(), for a store with keys and without payloads.
        """
        return None

    @classmethod
    def needed(cls, parameters: Mapping[str, Parameter]) -> str:  # noqa: ARG003 some schemes need none
        """The name of the corpus (`neardup.text.corpus`) needed by a scheme of these parameters; empty for none."""
        return ""

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, Parameter]:
        """Every parameter of a fingerprint, with its value."""

    @cached_property
    def id(self) -> str:
        """The family and every parameter, sorted by name: "minhash:bands=20,rows=6"; equal ids, comparable sketches."""
        written = ",".join(f"{name}={_written(value)}" for name, value in sorted(self.parameters.items()))
        return f"{self.family}:{written}" if written else self.family

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scheme) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def guarantee(self) -> int | None:
        """Two texts with this many words in a row in common share a key; None without a guarantee."""
        return None

    @property
    def info(self) -> SchemeInfo:
        """The description of the scheme as a store keeps it."""
        return SchemeInfo(self.family, self.id, self.layout)

    @abstractmethod
    def sketch(self, text: str | bytes) -> Sketch | None:
        """The fingerprint of a text (bytes are read as UTF-8) with its keys; None without features."""

    def sketch_features(self, features: Hashes, weights: Weights | None = None) -> Sketch | None:  # noqa: ARG002
        """The sketch of features provided by the caller instead of a text; None without features.

        `features` are well-mixed hashes of shape (n,), with repeats if each counts; `weights` are whole numbers above 0
        of the same shape. Raises UsageError if the scheme reads texts only.
        """
        raise UsageError(f"{self.family}: reads texts, and takes no features in their place")

    def sketch_many(self, texts: Texts) -> SketchedTexts:
        """The sketch of each text; `sketch_texts` makes those of several schemes together."""
        [sketched] = sketch_texts([self], texts)
        return sketched

    def taken_from_one(self, features: OneTextFeatures) -> Sketch | None:
        """The sketch from the core's result for one text by the scheme's `forms`."""
        raise NotImplementedError(self.family, features)

    def taken_from(self, features: TextFeatures) -> SketchedTexts:
        """The sketches from the core's results by the scheme's `forms`."""
        raise NotImplementedError(self.family, features)

    def similarities(self, payload: bytes, others: Sequence[bytes]) -> npt.NDArray[np.float64]:
        """The similarity, 0 to 1, of one payload to each of the others: shape (len(others),).

        A scheme overrides this or compare(). Raises PayloadError for a payload of another scheme.
        """
        require_bytes(self, (payload, *others))
        return self.compare_one(payload, Ragged.of_bytes(others))

    @abstractmethod
    def plan(self, similarity: float) -> Plan:
        """The plan of a lookup for this similarity (0 to 1). Raises UsageError if the scheme can't serve it."""

    def probes(self, sketch: Sketch, similarity: float) -> Sequence[int]:  # noqa: ARG002 some schemes ask for more
        """The packed keys to ask for; every document promised by the plan shares `agreeing` tables with them.

        Raises PayloadError if the keys come from the payload and it is of another scheme.
        """
        return sketch.keys

    def common_keys(self, sketches: Sketches, similarity: float) -> Ragged:
        """Values (int64), a row for each sketch; any two sketches that can meet in a lookup share a value."""
        if type(self).probes is Scheme.probes:
            return sketches.keys
        probes = self._probes_of(sketches, similarity)
        own = (sketches.keys.row(row).tolist() for row in range(len(sketches)))
        return Ragged.of_integers([list({*keys, *probes(row)}) for row, keys in enumerate(own)])

    def compare(self, payloads: Ragged, left: Positions, right: Positions) -> Similarities:
        """The similarities of the payloads at positions `left[i]` and `right[i]`; shape (len(left),)."""
        similarities = np.empty(left.size, dtype=np.float64)
        order = np.argsort(left, kind="stable")
        for start, end in runs(left[order]):
            places = order[start:end]
            one = payloads.bytes_of(int(left[places[0]]))
            similarities[places] = self.similarities(
                one, [payloads.bytes_of(other) for other in right[places].tolist()]
            )
        return similarities

    def shares(self, payloads: Ragged, left: Positions, right: Positions) -> Similarities:
        """The share of the left one in the right one, and the other way round: shape (len(left), 2), from 0 to 1.

        For a scheme `of_parts` the greater one is the similarity. Other schemes have a single measure for both.
        """
        return np.repeat(self.compare(payloads, left, right)[:, None], 2, axis=1)

    def compare_one(self, payload: bytes, payloads: Ragged) -> Similarities:
        """The similarities of one payload to each row of others; shape (len(payloads),)."""
        table = Ragged.joined([Ragged.of_bytes([payload]), payloads])
        return self.compare(table, np.zeros(len(payloads), dtype=np.int64), np.arange(1, len(payloads) + 1))

    def join(
        self, sketches: Sketches, similarity: float, *, threads: int | None = None
    ) -> Iterator[tuple[Positions, Positions]]:
        """Blocks of candidate pairs of positions for a similarity, each pair once, left < right.

        Candidates may be less similar; compare() verifies them. The default is a join on the keys; memory: 24 bytes a
        sketch, and a block of pairs. `threads` defaults to the number of processors.
        """
        del threads
        return self.join_on_keys(sketches, similarity)

    def join_on_keys(self, sketches: Sketches, similarity: float) -> Iterator[tuple[Positions, Positions]]:
        """Blocks of the pairs of positions found by lookups for this similarity, each pair once, left < right."""
        agreeing = self.plan(similarity).agreeing
        if type(self).probes is Scheme.probes:
            return postings.sharing(sketches.keys, self.layout, agreeing, self.crowded)
        return postings.probing(self._probes_of(sketches, similarity), sketches.keys, self.layout, agreeing)

    def join_between(
        self, asked: Sketches, sketches: Sketches, similarity: float, *, threads: int | None = None
    ) -> Iterator[tuple[Positions, Positions]]:
        """Blocks of (position in `asked`, position in `sketches`) found by a plan, each once."""
        del threads
        agreeing = self.plan(similarity).agreeing
        probes = self._probes_of(asked, similarity)
        return postings.between(probes, len(asked), sketches.keys, self.layout, agreeing)

    def _probes_of(self, sketches: Sketches, similarity: float) -> Callable[[int], Sequence[int]]:
        return lambda position: self.probes(sketches.sketch(position, self.id), similarity)

    def least(self, text: str) -> float:
        """The similarity (0 to 1) of a written threshold. Raises UsageError for an invalid or unserved one."""
        try:
            share = float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise UsageError(f"{self.family}@{text}: the threshold of {self.family} must be from 0 to 1")
        return share

    def written(self, similarity: float) -> str:
        """A threshold as it is written in a rule; the reverse of least()."""
        return f"{similarity:.12g}"

    def described(self, similarity: float) -> str:
        """A threshold in words, after "near-duplicates"."""
        return f"that share {similarity:.0%} or more ({self.measure})"


def _passes(schemes: Sequence[Scheme]) -> Iterator[tuple[Forms, list[Scheme]]]:
    waiting = [(scheme, scheme.forms) for scheme in schemes if scheme.forms is not None]
    while waiting:
        together, asked, later = [], Forms(), []
        for scheme, forms in waiting:
            if both := asked.beside(forms):
                asked = both
                together.append(scheme)
            else:
                later.append((scheme, forms))
        yield asked, together
        waiting = later


def sketch_text(schemes: Sequence[Scheme], text: str | bytes) -> list[Sketch | None]:
    """The sketch of one text by each scheme, as `sketch_texts` makes them. Raises MemoryError."""
    made: dict[str, Sketch | None] = {}
    for forms, together in _passes(schemes):
        features = features_of_text(text, forms)
        made |= {scheme.id: scheme.taken_from_one(features) for scheme in together}
    return [made[each.id] if each.id in made else each.sketch(text) for each in schemes]


def sketch_texts(schemes: Sequence[Scheme], texts: Texts) -> list[SketchedTexts]:
    """The sketches of many texts by each scheme. The core makes its share in one pass over each text.

    Raises MemoryError.
    """
    made: dict[str, SketchedTexts] = {}
    for forms, together in _passes(schemes):
        features = features_of_texts(texts, forms)
        made |= {scheme.id: scheme.taken_from(features) for scheme in together}
    others = {scheme.id: scheme for scheme in schemes if scheme.id not in made}
    if others:
        listed = texts.listed() if isinstance(texts, Joined) else texts
        for name, scheme in others.items():
            made[name] = SketchedTexts.of_sketches([scheme.sketch(text) for text in listed])
    return [made[scheme.id] for scheme in schemes]


def require_bytes(scheme: Scheme, payloads: Iterable[bytes]) -> None:
    """Raise PayloadError unless all payloads have as many bytes as those of the scheme."""
    size = scheme.payload_bytes
    for payload in payloads:
        if size and len(payload) != size:
            raise no_payload(f"{scheme.family}: a payload of {len(payload)} bytes, not {size}")


def runs(ordered: Positions) -> Iterator[tuple[int, int]]:
    """Start and end of each run of equal numbers; nothing for no numbers."""
    if ordered.size:
        yield from pairwise((0, *(np.flatnonzero(np.diff(ordered)) + 1).tolist(), ordered.size))


def _written(value: Parameter) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def checked_integer(family: str, name: str, value: object, low: int, high: int) -> int:
    """The value of a parameter. Raises UsageError unless it is a whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UsageError(f"{family}: {name} must be a whole number from {low} to {high}, not {value!r}")
    return value


def checked_choice(family: str, name: str, value: object, allowed: Sequence[Allowed]) -> Allowed:
    """The value of a parameter. Raises UsageError unless it is an allowed one of the same type."""
    for choice in allowed:
        if type(value) is type(choice) and value == choice:
            return choice
    raise UsageError(f"{family}: {name} must be one of {', '.join(map(str, allowed))}, not {value!r}")


def checked_share(family: str, name: str, value: object) -> float:
    """The value of a parameter. Raises UsageError unless it is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise UsageError(f"{family}: {name} must be a number from 0 to 1, not {value!r}")
    return float(value)
