"""Which scheme finds what: recall by band of true Jaccard, precision, curves and costs, on documents at hand.

The truth is the exact Jaccard coefficient of the sets of 5-word shingles (see `indexer.exact`), or pairs and groups
that the user names. A method is a scheme that finds candidates by its keys and verifies them itself, or lets another
one do so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt

from indexer.corpus import Corpus, gather
from indexer.errors import UsageError
from indexer.exact import SHINGLE, ExactPairs, ShingleSets, jaccard, jaccard_pairs, shingle_sets
from indexer.features import parse_recipe
from indexer.model import Sketch
from indexer.scheme_pairs import candidate_sketches
from indexer.schemes.base import Scheme
from indexer.schemes.registry import scheme, scheme_class, split
from indexer.sketch_table import runs, table_of_sketches

BANDS = ((0.9, 1.0), (0.8, 0.9), (0.7, 0.8), (0.6, 0.7), (0.5, 0.6))
ALIKE = 0.8
RIGHT = 0.5
DEFAULT_METHODS = ("simhash", "simhash@0.890625", "simhash@0.890625+minhash", "minhash")

_THRESHOLDS = tuple(step / 50 for step in range(51))

Pair = tuple[int, int]
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Method:
    """Candidates by the keys of `finder` for `similarity`, verified by `verifier` from `threshold` on."""

    name: str
    finder: Scheme
    similarity: float
    verifier: Scheme
    threshold: float


@dataclass(frozen=True, slots=True)
class Point:
    """Precision and recall of all candidates that a threshold lets through; None where nothing is divided by."""

    threshold: float
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True, slots=True)
class Judged:
    """How right pairs with scores are.

    `recall` holds a share for each of BANDS, None for a band without pairs; `precision`, `overall` (recall of all
    wanted pairs) and `f1` are at the method's threshold. `wrong` counts returned pairs that are not right. `best` is
    the point of the curve with the largest F1.
    """

    recall: tuple[float | None, ...]
    precision: float | None
    overall: float | None
    f1: float | None
    returned: int
    wrong: int
    best: Point
    curve: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What one method did, and its costs.

    `seconds` is for all sketches, one thread; `payload_octets` and `key_octets` are means a document; `candidates` is
    a mean a query, `probes` the largest number of keys of one; `lookup_seconds` is a mean of finding and verifying in
    memory; `without` counts documents that have no fingerprint.
    """

    method: Method
    judged: Judged
    seconds: float
    payload_octets: float
    key_octets: float
    candidates: float
    probes: int
    lookup_seconds: float
    without: int


@dataclass(frozen=True, slots=True)
class Truth:
    """Pairs that a user says are near-duplicates: positions, left < right; `name` says where they are from."""

    pairs: frozenset[Pair]
    name: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Results of all methods. `band_pairs` counts the true pairs of each of BANDS; `octets` of all texts in UTF-8."""

    documents: int
    octets: int
    band_pairs: tuple[int, ...]
    wanted: int
    truth: str
    results: tuple[Result, ...]
    notes: tuple[str, ...] = field(default=())


def parse_method(text: str, corpus: Callable[[str], object] | None = None) -> Method:
    """A method from `SCHEME[:name=value,...][@SIMILARITY]`, and `+` with a second one that verifies.

    `simhash@0.89+minhash@0.7`: candidates within 7 bits, of which those are returned whose minhash estimate is at
    least 0.7. Raises UsageError.
    """
    found = []
    for specification, similarity in _parts(text):
        made = scheme(specification, corpus)
        found.append((made, made.default_similarity if similarity is None else similarity))
    finder, similarity = found[0]
    verifier, threshold = found[-1]
    return Method(text, finder, similarity, verifier, threshold)


def check_method(text: str) -> None:
    """Raise UsageError where no method is written like this; parameters are looked at when it is made."""
    for specification, _ in _parts(text):
        scheme_class(split(specification)[0])


def _parts(text: str) -> list[tuple[str, float | None]]:
    parts = text.split("+")
    if len(parts) > 2 or not all(parts):
        raise UsageError(f"{text!r}: a method is a scheme, or two with + between them")
    found: list[tuple[str, float | None]] = []
    for part in parts:
        specification, at, wanted = part.partition("@")
        try:
            similarity = float(wanted) if at else None
        except ValueError:
            similarity = -1.0
        if similarity is not None and not 0 <= similarity <= 1:
            raise UsageError(f"{part!r}: what stands after @ is a similarity from 0 to 1")
        found.append((specification, similarity))
    return found


def corpus_of(texts: Sequence[str]) -> Callable[[str], Corpus]:
    """What gathers the statistics that a scheme needs from the texts themselves, each once."""
    return cache(lambda name: gather(texts, parse_recipe(name.removeprefix("corpus."))))


def evaluate(
    texts: Sequence[str],
    methods: Sequence[Method],
    truth: Truth | None = None,
    *,
    alike: float = ALIKE,
    right: float = RIGHT,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure methods on texts.

    Without `truth` the pairs that should be found are those with a Jaccard coefficient of at least `alike`, and a
    returned pair is right from `right` on; with it, both are the pairs that it names. Memory grows with all texts
    together. Raises UsageError where there are fewer than two texts.
    """
    if len(texts) < 2:
        raise UsageError(f"{len(texts)} documents with text: an evaluation compares at least two")
    tell = progress or (lambda _: None)
    tell("exact Jaccard coefficients")
    judge = Judge(shingle_sets(texts, SHINGLE), truth, alike=alike, right=right)
    results = []
    sketched: dict[str, _Sketches] = {}
    for method in methods:
        tell(method.name)
        for each in (method.finder, method.verifier):
            if each.id not in sketched:
                sketched[each.id] = _Sketches.made(each, texts)
        results.append(_measured(method, sketched, judge))
    octets = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    named = truth.name if truth else f"Jaccard from {alike:g}; right from {right:g}"
    return Evaluation(len(texts), octets, judge.band_pairs, len(judge.wanted), named, tuple(results))


@dataclass(frozen=True, slots=True)
class _Sketches:
    sketches: list[Sketch | None]
    seconds: float

    @classmethod
    def made(cls, by: Scheme, texts: Sequence[str]) -> _Sketches:
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        begin = time.perf_counter()
        return cls([by.sketch(text) for text in encoded], time.perf_counter() - begin)


class Judge:
    """Says of pairs of documents, given by their sets of shingles, whether they are wanted, right, and in which band.

    `wanted` and `right` are sets of pairs of positions, left < right; `bands` such a set for each of BANDS.
    """

    def __init__(self, sets: ShingleSets, truth: Truth | None = None, *, alike: float = ALIKE, right: float = RIGHT):
        if truth is None:
            banded = _known(jaccard_pairs(sets, min(right, BANDS[-1][0])))
            self.wanted = {pair for pair, value in banded.items() if value >= alike}
            self.right = {pair for pair, value in banded.items() if value >= right}
        else:
            self.wanted = self.right = set(truth.pairs)
            pairs = sorted(truth.pairs)
            values = jaccard(sets, [a for a, _ in pairs], [b for _, b in pairs])
            banded = dict(zip(pairs, values.tolist(), strict=True))
        self.bands = [
            {pair for pair, value in banded.items() if low <= value < high or value == high == 1.0}
            for low, high in BANDS
        ]

    @property
    def band_pairs(self) -> tuple[int, ...]:
        """How many pairs each band has."""
        return tuple(map(len, self.bands))

    def judge(self, pairs: Sequence[Pair], scores: npt.NDArray[np.float64], threshold: float) -> Judged:
        """How right pairs, each once, are at a threshold of their scores and at all others."""
        curve = tuple(_curve(pairs, scores, self))
        returned = {pair for pair, value in zip(pairs, scores.tolist(), strict=True) if value >= threshold}
        at = _point(threshold, len(returned), len(returned & self.right), len(returned & self.wanted), self)
        return Judged(
            recall=tuple(len(returned & band) / len(band) if band else None for band in self.bands),
            precision=at.precision,
            overall=at.recall,
            f1=at.f1,
            returned=len(returned),
            wrong=len(returned - self.right),
            best=max(curve, key=lambda point: (point.f1 or 0.0, -point.threshold)),
            curve=curve,
        )


def _known(exact: ExactPairs) -> dict[Pair, float]:
    pairs = zip(exact.left.tolist(), exact.right.tolist(), strict=True)
    return dict(zip(pairs, exact.jaccard.tolist(), strict=True))


def _measured(method: Method, sketched: dict[str, _Sketches], judge: Judge) -> Result:
    finder, verifier = sketched[method.finder.id], sketched[method.verifier.id]
    begin = time.perf_counter()
    found = candidates(method.finder, finder.sketches, method.similarity)
    scores = score(method.verifier, verifier.sketches, found.left, found.right)
    seconds = time.perf_counter() - begin
    pairs = list(zip(found.left.tolist(), found.right.tolist(), strict=True))
    made = {method.finder.id: finder, method.verifier.id: verifier}.values()
    documents = len(finder.sketches)
    present = [sketch for sketch in finder.sketches if sketch]
    payloads = sum(len(sketch.payload) for each in made for sketch in each.sketches if sketch)
    keys = sum(len(sketch.keys) for sketch in present)
    return Result(
        method=method,
        judged=judge.judge(pairs, scores, method.threshold),
        seconds=sum(each.seconds for each in made),
        payload_octets=payloads / documents,
        key_octets=keys * ((method.finder.layout.bits + 7) // 8) / documents,
        candidates=2 * found.left.size / documents,
        probes=found.probes,
        lookup_seconds=seconds / documents,
        without=documents - len(present),
    )


def _curve(pairs: Sequence[Pair], scores: npt.NDArray[np.float64], judge: Judge) -> Iterator[Point]:
    right = np.array([pair in judge.right for pair in pairs], dtype=bool)
    wanted = np.array([pair in judge.wanted for pair in pairs], dtype=bool)
    for threshold in _THRESHOLDS:
        passed = scores >= threshold
        yield _point(threshold, int(passed.sum()), int((passed & right).sum()), int((passed & wanted).sum()), judge)


def _point(threshold: float, returned: int, right: int, wanted: int, judge: Judge) -> Point:
    precision = right / returned if returned else None
    recall = wanted / len(judge.wanted) if judge.wanted else None
    f1 = None
    if precision is not None and recall is not None:
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return Point(threshold, precision, recall, f1)


@dataclass(frozen=True, slots=True)
class Found:
    """Candidate pairs, left < right, each once, by `left`; `probes` is the largest number of keys of a query."""

    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    probes: int


def candidates(by: Scheme, sketches: Sequence[Sketch | None], similarity: float) -> Found:
    """Which documents are found when each is asked for those that are as similar to it as this, as a store is asked."""
    present = np.array([place for place, sketch in enumerate(sketches) if sketch], dtype=np.int64)
    given = [sketch for sketch in sketches if sketch]
    table = table_of_sketches(by, given)
    blocks = list(candidate_sketches(table, similarity))
    left = present[np.concatenate([np.empty(0, dtype=np.int64), *(one for one, _ in blocks)])]
    right = present[np.concatenate([np.empty(0, dtype=np.int64), *(other for _, other in blocks)])]
    left, right = np.minimum(left, right), np.maximum(left, right)
    order = np.lexsort((right, left))
    probes = max((len(by.probes(sketch, similarity)) for sketch in given), default=0)
    return Found(left[order], right[order], probes)


def score(
    by: Scheme, sketches: Sequence[Sketch | None], left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """The similarity of each pair by a scheme; 0 where a document has no sketch. `left` rises."""
    scores = np.zeros(left.size)
    for start, end in runs(left):
        own = sketches[left[start]]
        others = [(place, sketches[right[place]]) for place in range(start, end)]
        present = [(place, sketch) for place, sketch in others if sketch]
        if own and present:
            values = by.similarities(own.payload, [sketch.payload for _, sketch in present])
            scores[[place for place, _ in present]] = values
    return scores
