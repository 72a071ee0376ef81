"""Judge match rules on given documents: recall, precision, curves and costs.

The truth is the exact Jaccard coefficient of the sets of 5-word shingles (see `indexer.matching.measures.exact`); for
short texts of their words, if no number, size, negation or name differs; or the user's pairs and groups.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated

import numpy as np
import numpy.typing as npt

from indexer.errors import UsageError
from indexer.matching.lookups import plans
from indexer.matching.measures.exact import SHINGLE, ExactPairs, ShingleSets, jaccard, jaccard_pairs, shingle_sets
from indexer.matching.measures.tables import Comparer
from indexer.matching.relating import ReadDocument, relation_of
from indexer.matching.rule import READINGS, MatchRule, TextVerification, parse_rule
from indexer.model import Sketch
from indexer.model.ragged import Ragged
from indexer.relations.relation import Relation
from indexer.schemes import registry
from indexer.schemes.base import SLACK, Scheme, Sketches
from indexer.text.corpus import Corpus, gather
from indexer.text.features import parse_recipe
from indexer.text.short import ShortText, short_text

BANDS = ((0.9, 1.0), (0.8, 0.9), (0.7, 0.8), (0.6, 0.7), (0.5, 0.6))
ALIKE = 0.8
RIGHT = 0.5
DEFAULT_RULES = ("simhash-doc@3bits", "simhash-doc@7bits", "simhash-doc@7bits+minhash@0.6", "minhash@0.6")

_THRESHOLDS = tuple(step / 50 for step in range(51))
# So many pairs of a rule are aligned, taken evenly from all of them.
MOST_PAIRS = 1000
TOO_LONG = "too long"

TellStage = Callable[[str], None]
IndexPair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Point:
    """Precision and recall of all candidates within a threshold."""

    threshold: Annotated[float, "The least similarity (0 to 1)"]
    precision: Annotated[float | None, "The share of returned pairs that are right; null for none"]
    recall: Annotated[float | None, "The share of the wanted pairs returned; null for none"]
    f1: Annotated[float | None, "The harmonic mean of precision and recall; null if one of them is"]


@dataclass(frozen=True, slots=True)
class Judged:
    """The accuracy of pairs with scores.

    `recall` holds a share for each of BANDS, None for a band without pairs; `precision`, `overall` (recall of all
    wanted pairs) and `f1` are at the rule's threshold. `wrong` counts wrong returned pairs. `best` is the point of the
    curve with the largest F1.
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
    """The judgement of one rule, and its costs; `indexer.matching.evaluation.figures.RuleFigures` explains them.

    `seconds` is for all sketches, one thread. Means are a document or a query; `relations` counts at most MOST_PAIRS
    returned pairs by the relation of their texts.
    """

    rule: MatchRule
    judged: Judged
    seconds: float
    payload_bytes: float
    key_bytes: float
    candidates: float
    probes: int
    lookup_seconds: float
    without: int
    relations: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PartFigures:
    """The passages taken out of the documents, and the share a rule finds."""

    words: Annotated[int, "The number of words of each passage"]
    misread: Annotated[float, "The share of its letters replaced by others (0 to 1)"]
    asked: Annotated[int, "The number of passages asked for"]
    found: Annotated[float, "The share of passages with their document found (0 to 1)"]
    first: Annotated[float, "The share of passages with half or more in the first answer (0 to 1)"]
    candidates: Annotated[float, "The documents compared for a passage, on average"]
    wrong: Annotated[float, "The share of all answers with less than 30% of the passage (0 to 1)"]


@dataclass(frozen=True, slots=True)
class Truth:
    """Near-duplicate pairs named by a user: positions, left < right; `name` is their source."""

    pairs: frozenset[IndexPair]
    name: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Results of all rules.

    `band_pairs` counts the true pairs of each of BANDS; `text_bytes` is the size of all texts. `parts`, on request, are
    the figures of passages by each rule, written with all parameters.
    """

    documents: int
    text_bytes: int
    band_pairs: tuple[int, ...]
    wanted: int
    truth: str
    results: tuple[Result, ...]
    notes: tuple[str, ...] = field(default=())
    parts: Mapping[str, tuple[PartFigures, ...]] = field(default_factory=dict)


def read_rule(text: str, corpus: Callable[[str], object] | None = None) -> MatchRule:
    """A match rule with statistics from `corpus`. Raises UsageError."""
    rule = parse_rule(text, scheme=lambda name: registry.scheme(name, corpus))
    if isinstance(rule.verifier, TextVerification):
        raise UsageError(f"{text!r}: the truth is what the texts say; measure a rule with sketches")
    rule.require_symmetric()
    return rule


def check_rule(text: str) -> None:
    """Raise UsageError for a rule in a wrong form, before anything is read."""
    parts = [registry.split(part.partition("@")[0].strip()) for part in text.replace("+", "/").split("/")]
    known = [registry.scheme_class(family).needed(given) for family, given in parts if family not in READINGS]
    if not any(known):
        plans(read_rule(text))


def corpus_of(texts: Sequence[str]) -> Callable[[str], Corpus]:
    return cache(lambda name: gather(texts, parse_recipe(name.removeprefix("corpus."))))


def evaluate(
    texts: Sequence[str],
    rules: Sequence[MatchRule],
    truth: Truth | None = None,
    *,
    alike: float = ALIKE,
    right: float = RIGHT,
    short: bool = False,
    progress: TellStage | None = None,
) -> Evaluation:
    """Measure rules on texts, as `neardup.library.evaluating.evaluate` explains.

    Memory grows with all texts together. Raises UsageError for fewer than two texts.
    """
    if len(texts) < 2:
        raise UsageError(f"{len(texts)} documents with text: an evaluation compares at least two")
    tell = progress or (lambda _: None)
    tell("exact Jaccard coefficients")
    titles = list(map(short_text, texts)) if short else None
    judge = Judge(shingle_sets(texts, 1 if short else SHINGLE), truth, alike=alike, right=right, titles=titles)
    results = []
    related = _RelatedPairs(texts)
    sketched: dict[str, _TimedSketches] = {}
    for rule in rules:
        tell(rule.name)
        for scheme in rule.schemes.values():
            if scheme.id not in sketched:
                sketched[scheme.id] = _TimedSketches.made(scheme, texts)
        results.append(_measured(rule, sketched, judge, related))
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    of = " of words, where no number, size, negation or name differs," if short else ""
    named = truth.name if truth else f"Jaccard{of} from {alike:g}; right from {right:g}"
    return Evaluation(len(texts), size, judge.band_pairs, len(judge.wanted), named, tuple(results))


@dataclass(frozen=True, slots=True)
class _TimedSketches:
    sketches: list[Sketch | None]
    seconds: float

    @classmethod
    def made(cls, by: Scheme, texts: Sequence[str]) -> _TimedSketches:
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        begin = time.perf_counter()
        return cls(by.sketch_many(encoded).listed(by.id), time.perf_counter() - begin)


class Judge:
    """Judges pairs of documents, given by their sets of shingles: wanted or not, right or not, and the band.

    `wanted` and `right` are sets of pairs of positions, left < right; `bands` such a set for each of BANDS. Documents
    with different facts or names in their `titles`, if given, are not alike.
    """

    def __init__(
        self,
        sets: ShingleSets,
        truth: Truth | None = None,
        *,
        alike: float = ALIKE,
        right: float = RIGHT,
        titles: Sequence[ShortText] | None = None,
    ):
        if truth is None:
            banded = _known(jaccard_pairs(sets, min(right, BANDS[-1][0])))
            if titles is not None:
                banded = {pair: value for pair, value in banded.items() if _say_alike(*(titles[one] for one in pair))}
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
        return tuple(map(len, self.bands))

    def judge(self, pairs: Sequence[IndexPair], scores: npt.NDArray[np.float64], threshold: float) -> Judged:
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


def _say_alike(one: ShortText, other: ShortText) -> bool:
    sides = ((one, other), (other, one))
    names = [
        any(named and word not in beside.words for word, named in zip(title.words, title.names, strict=True))
        for title, beside in sides
    ]
    return one.facts == other.facts and not all(names)


def _known(exact: ExactPairs) -> dict[IndexPair, float]:
    pairs = zip(exact.left.tolist(), exact.right.tolist(), strict=True)
    return dict(zip(pairs, exact.jaccard.tolist(), strict=True))


class _RelatedPairs:
    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._known: dict[IndexPair, str] = {}

    def counts(self, pairs: Sequence[IndexPair]) -> Mapping[str, int]:
        step = max(1.0, len(pairs) / MOST_PAIRS)
        some = [pairs[int(at * step)] for at in range(min(len(pairs), MOST_PAIRS))]
        return dict(Counter(map(self._relation, some)).most_common())

    def _relation(self, pair: IndexPair) -> str:
        if pair not in self._known:
            made = relation_of(ReadDocument(self._texts[pair[0]]), ReadDocument(self._texts[pair[1]]), brief=True)
            self._known[pair] = made.word if isinstance(made, Relation) else TOO_LONG
        return self._known[pair]


def _measured(rule: MatchRule, sketched: dict[str, _TimedSketches], judge: Judge, related: _RelatedPairs) -> Result:
    made = {name: sketched[scheme.id] for name, scheme in rule.schemes.items()}
    begin = time.perf_counter()
    near = candidates(rule, {name: scheme.sketches for name, scheme in made.items()})
    seconds = time.perf_counter() - begin
    pairs = list(zip(near.left.tolist(), near.right.tolist(), strict=True))
    finders = [(finder.scheme, made[finder.name].sketches) for finder in rule.finders]
    documents = len(finders[0][1])
    payloads = sum(len(sketch.payload) for scheme in made.values() for sketch in scheme.sketches if sketch)
    keys = sum(
        len(sketch.keys) * ((by.layout.bits + 7) // 8) for by, sketches in finders for sketch in sketches if sketch
    )
    least = rule.measure.similarity - SLACK
    returned = [pair for pair, score in zip(pairs, near.scores.tolist(), strict=True) if score >= least]
    return Result(
        rule=rule,
        judged=judge.judge(pairs, near.scores, least),
        seconds=sum(scheme.seconds for scheme in made.values()),
        payload_bytes=payloads / documents,
        key_bytes=keys / documents,
        candidates=2 * near.compared / documents,
        probes=near.probes,
        lookup_seconds=seconds / documents,
        without=sum(sketch is None for sketch in made[rule.measure.name].sketches),
        relations=related.counts(returned),
    )


def _curve(pairs: Sequence[IndexPair], scores: npt.NDArray[np.float64], judge: Judge) -> Iterator[Point]:
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
class Candidates:
    """Pairs, left < right, each once, with the scores of the rule's measure, from 0 on.

    `compared` pairs shared keys as in a store; `probes` is the largest number of keys of a query.
    """

    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]
    compared: int
    probes: int


def candidates(rule: MatchRule, sketches: Mapping[str, Sequence[Sketch | None]]) -> Candidates:
    count = len(next(iter(sketches.values())))
    payloads = {
        name: Ragged.of_bytes([each.payload if each else b"" for each in column]) for name, column in sketches.items()
    }
    comparison = Comparer(rule, payloads)
    codes: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    met = probes = 0
    for finder in rule.finders:
        given = [each for each in sketches[finder.name] if each]
        where = np.array([place for place, each in enumerate(sketches[finder.name]) if each], dtype=np.int64)
        probes += max((len(finder.scheme.probes(sketch, finder.similarity)) for sketch in given), default=0)
        table = Sketches(payloads[finder.name].take(where), Ragged.of_integers([each.keys for each in given]))
        for one, other in finder.scheme.join_on_keys(table, finder.similarity):
            met += one.size
            left, right = where[np.minimum(one, other)], where[np.maximum(one, other)]
            if finder is not rule.measure:
                near = comparison.by(finder, left, right) >= finder.similarity - SLACK
                left, right = left[near], right[near]
            codes.append(left * count + right)
    every = np.unique(np.concatenate(codes))
    left, right = every // max(count, 1), every % max(count, 1)
    return Candidates(left, right, np.maximum(comparison.similarities(left, right), 0.0), met, probes)
