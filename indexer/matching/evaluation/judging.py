"""Judge match rules on given documents: recall, precision, curves and costs.

The truth is the exact Jaccard coefficient of the sets of 5-word shingles (see `indexer.matching.measures.exact`); for
short texts of their words, if no number, size, negation or name differs; or the user's pairs and groups.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.errors import UsageError
from indexer.matching.evaluation.figures import Band, EvaluationFigures, MeasuredFinder, Point, RuleFigures
from indexer.matching.lookups import plans
from indexer.matching.measures.exact import SHINGLE, jaccard, jaccard_pairs, shingle_sets
from indexer.matching.measures.tables import Comparer
from indexer.matching.relating import ReadDocument, relation_of
from indexer.matching.rule import READINGS, Finder, MatchRule, TextVerification, parse_rule
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


class Judged(NamedTuple):
    """The accuracy of pairs with scores; `indexer.matching.evaluation.figures.RuleFigures` explains its members."""

    recall_by_band: tuple[float | None, ...]
    precision: float | None
    recall: float | None
    f1: float | None
    returned: int
    wrong: int
    best: Point
    curve: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Truth:
    """Near-duplicate pairs named by a user: positions, left < right; `name` is their source."""

    pairs: frozenset[IndexPair]
    name: str


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
) -> EvaluationFigures:
    """Measure rules on texts, as `neardup.library.evaluating.evaluate` explains.

    Memory grows with all texts together. Raises UsageError for fewer than two texts.
    """
    if len(texts) < 2:
        raise UsageError(f"{len(texts)} documents with text: an evaluation compares at least two")
    tell = progress or (lambda _: None)
    tell("exact Jaccard coefficients")
    titles = list(map(short_text, texts)) if short else None
    judge = Judge(shingle_sets(texts, 1 if short else SHINGLE), truth, alike=alike, right=right, titles=titles)
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    figures = []
    related = _RelatedPairs(texts)
    sketched: dict[str, _TimedSketches] = {}
    for rule in rules:
        tell(rule.name)
        for scheme in rule.schemes.values():
            if scheme.id not in sketched:
                sketched[scheme.id] = _TimedSketches.made(scheme, texts)
        figures.append(_measured(rule, sketched, judge, related, size))
    of = " of words, where no number, size, negation or name differs," if short else ""
    return EvaluationFigures(
        documents=len(texts),
        bytes=size,
        bands=tuple(Band(*band, len(pairs)) for band, pairs in zip(BANDS, judge.bands, strict=True)),
        wanted=len(judge.wanted),
        truth=truth.name if truth else f"Jaccard{of} from {alike:g}; right from {right:g}",
        notes=(),
        rules=tuple(figures),
    )


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
        sets: Ragged,
        truth: Truth | None = None,
        *,
        alike: float = ALIKE,
        right: float = RIGHT,
        titles: Sequence[ShortText] | None = None,
    ):
        if truth is None:
            exact = jaccard_pairs(sets, min(right, BANDS[-1][0]))
            known = zip(exact.left.tolist(), exact.right.tolist(), strict=True)
            banded = dict(zip(known, exact.jaccard.tolist(), strict=True))
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

    def judge(self, pairs: Sequence[IndexPair], scores: npt.NDArray[np.float64], threshold: float) -> Judged:
        curve = tuple(_curve(pairs, scores, self))
        returned = {pair for pair, value in zip(pairs, scores.tolist(), strict=True) if value >= threshold}
        at = _point(threshold, len(returned), len(returned & self.right), len(returned & self.wanted), self)
        return Judged(
            recall_by_band=tuple(len(returned & band) / len(band) if band else None for band in self.bands),
            precision=at.precision,
            recall=at.recall,
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


def _measured(
    rule: MatchRule, sketched: dict[str, _TimedSketches], judge: Judge, related: _RelatedPairs, size: int
) -> RuleFigures:
    made = {name: sketched[scheme.id] for name, scheme in rule.schemes.items()}
    begin = time.perf_counter()
    near = candidates(rule, {name: scheme.sketches for name, scheme in made.items()})
    lookups = time.perf_counter() - begin
    pairs = list(zip(near.left.tolist(), near.right.tolist(), strict=True))
    finders = [(finder.scheme, made[finder.name].sketches) for finder in rule.finders]
    documents = len(finders[0][1])
    payloads = sum(len(sketch.payload) for scheme in made.values() for sketch in scheme.sketches if sketch)
    keys = sum(
        len(sketch.keys) * ((by.layout.bits + 7) // 8) for by, sketches in finders for sketch in sketches if sketch
    )
    least = rule.measure.similarity - SLACK
    returned = [pair for pair, score in zip(pairs, near.scores.tolist(), strict=True) if score >= least]
    seconds = max(sum(scheme.seconds for scheme in made.values()), 1e-9)
    return RuleFigures(
        rule=rule.written(whole=True),
        finders=tuple(MeasuredFinder(finder.scheme.id, finder.similarity) for finder in rule.finders),
        measure=rule.measure.scheme.measure if isinstance(rule.measure, Finder) else rule.measure.name,
        threshold=rule.measure.similarity,
        **judge.judge(pairs, near.scores, least)._asdict(),
        relations=related.counts(returned),
        megabytes_per_second=size / 1e6 / seconds,
        documents_per_second=documents / seconds,
        payload_octets=payloads / documents,
        key_octets=keys / documents,
        candidates_per_query=2 * near.compared / documents,
        keys_asked=near.probes,
        lookup_seconds=lookups / documents,
        without_fingerprint=sum(sketch is None for sketch in made[rule.measure.name].sketches),
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
