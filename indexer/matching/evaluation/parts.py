"""The share of passages found by rules, by length and misread letters."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from indexer.core.text import shingle_hashes
from indexer.matching.evaluation.figures import PartFigures
from indexer.matching.evaluation.judging import candidates
from indexer.matching.measures.exact import SHINGLE, shingle_sets
from indexer.matching.rule import MatchRule
from indexer.model import Sketch
from indexer.model.ragged import Ragged
from indexer.schemes.base import SLACK, Scheme

LENGTHS = (100, 300, 1000)
MISREAD = (0.0, 0.01, 0.02, 0.05)
ASKED = 100
# A document holds a passage with half of its shingles; an answer with less than the other share of them is wrong.
_HOLDS, _WRONG = 0.5, 0.3

_WORD = re.compile(r"\S+")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SEED = 27

TellStage = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PassageQuestion:
    """A passage of the document at a position, as it is asked for; `shingles` are of the original."""

    document: int
    text: str
    shingles: npt.NDArray[np.uint64]


def measure_parts(
    texts: Sequence[str], rules: Sequence[MatchRule], *, asked: int = ASKED, progress: TellStage | None = None
) -> dict[str, tuple[PartFigures, ...]]:
    tell = progress or (lambda _: None)
    tell("passages")
    draw = random.Random(_SEED)  # noqa: S311
    kinds = {}
    for words in LENGTHS:
        long = [place for place, text in enumerate(texts) if sum(1 for _ in _WORD.finditer(text)) >= words]
        for misread in MISREAD if long else ():
            chosen = draw.choices(long, k=asked)
            kinds[words, misread] = [_question(draw, texts[place], place, words, misread) for place in chosen]
    sets = shingle_sets(texts, SHINGLE)
    every = [question.text for questions in kinds.values() for question in questions]
    sketched: dict[str, list[Sketch | None]] = {}
    measured = {}
    for rule in rules:
        tell(f"passages by {rule.name}")
        for scheme in rule.schemes.values():
            if scheme.id not in sketched:
                sketched[scheme.id] = _sketches(scheme, [*texts, *every])
        answers = _FoundDocuments(rule, {name: sketched[by.id] for name, by in rule.schemes.items()}, len(texts), sets)
        found, start = [], 0
        for (words, misread), questions in kinds.items():
            found.append(answers.judged(words, misread, questions, start))
            start += len(questions)
        measured[rule.written(whole=True)] = tuple(found)
    return measured


def _question(draw: random.Random, text: str, place: int, words: int, misread: float) -> PassageQuestion:
    spans = [match.span() for match in _WORD.finditer(text)]
    first = draw.randrange(len(spans) - words + 1)
    part = text[spans[first][0] : spans[first + words - 1][1]]
    read = part
    if misread:
        read = "".join(draw.choice(_LETTERS) if sign.isalpha() and draw.random() < misread else sign for sign in part)
    return PassageQuestion(place, read, np.unique(shingle_hashes(part, SHINGLE, numbers=True)))


def _sketches(scheme: Scheme, texts: Sequence[str]) -> list[Sketch | None]:
    return scheme.sketch_many([text.encode("utf-8", "surrogatepass") for text in texts]).listed(scheme.id)


class _FoundDocuments:
    def __init__(self, rule: MatchRule, sketches: dict[str, list[Sketch | None]], documents: int, sets: Ragged) -> None:
        self._rule, self._sets = rule, sets
        found = candidates(rule, sketches)
        asked = (found.left < documents) & (found.right >= documents)
        self._documents, self._scores = found.left[asked], found.scores[asked]
        self._questions = found.right[asked] - documents

    def judged(self, words: int, misread: float, questions: Sequence[PassageQuestion], start: int) -> PartFigures:
        found = first = answers = wrong = met = 0
        for number, question in enumerate(questions, start):
            mine = np.flatnonzero(self._questions == number)
            met += mine.size
            near = mine[self._scores[mine] >= self._rule.measure.similarity - SLACK]
            near = near[np.lexsort((self._documents[near], -self._scores[near]))]
            held = [self._held(place, question) for place in self._documents[near].tolist()]
            found += bool(np.any(self._documents[near] == question.document))
            first += bool(held) and held[0] >= _HOLDS
            answers += len(held)
            wrong += sum(share < _WRONG for share in held)
        asked = len(questions)
        return PartFigures(words, misread, asked, found / asked, first / asked, met / asked, wrong / max(answers, 1))

    def _held(self, document: int, question: PassageQuestion) -> float:
        if not question.shingles.size:
            return float(document == question.document)
        return float(np.isin(question.shingles, self._sets.row(document), assume_unique=True).mean())
