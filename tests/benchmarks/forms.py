"""What rules find of headlines with a word changed, and what removing duplicates removes of records in one form.

Run as `python -m tests.benchmarks forms`. Headlines are 8 to 20 made-up words, frequent and rare ones as in a language;
of each there is a second one with a word replaced. Records are chats: a template that all of them share, a question and
an answer of their own, and a few true copies with a word changed. The usual way to remove duplicates takes whatever
shares a band of minhash (14 bands of 8) or lies within 3 bits of simhash for near, and keeps one of each component;
`sketches` is `indexer.dedupe` with verify="sketch", which removes what is near a kept one; `neardup` is the same
as it is by default: it aligns the texts of those, and keeps the ones whose facts differ; so do `neardup prune`
and `neardup batch dedupe`.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array  # type: ignore[import-untyped]
from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]

import indexer
from indexer.batch.arrow import parquet
from indexer.library import batches
from indexer.library.batch_options import BatchOutput
from indexer.schemes import registry
from tests.relations.filled import COPIES as COPIED
from tests.relations.filled import forms

HEADLINES, RECORDS, COPIES = 5000, 2000, 100
FORMS, FORM_COPIES = 10_000, 1000
LENGTHS = ((8, 10), (11, 14), (15, 20))
RULES = ("simhash-doc@3bits/minhash@0.6+minhash@0.6", "minhash:shingle=2@0.6", "minhash:shingle=1@0.6")
TEMPLATE_SHARES = (0.3, 0.5, 0.6, 0.7, 0.8)
_RECORD_WORDS = 200
_WORDS = 20_000
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


def run() -> dict[str, Any]:
    """Measure and print; gives the figures."""
    return {
        "headlines": headlines(HEADLINES),
        "chats": chats(RECORDS, COPIES),
        "filled": filled(FORMS, FORM_COPIES),
        "twice": filled(20, 20),
        "apart": apart(FORMS, FORM_COPIES),
    }


class Speech:
    """Words by Zipf's law."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        made = {"".join(self.draw.choices(_SYLLABLES, k=1 + rank % 4)) + f"{rank:x}" for rank in range(_WORDS)}
        self._words = ["".join(c for c in word if c.isalpha()) + "qwxy"[n % 4] for n, word in enumerate(sorted(made))]
        self._weights = np.cumsum(1 / (np.arange(len(self._words)) + 2.7)).tolist()

    def words(self, count: int) -> list[str]:
        """This many of them."""
        return self.draw.choices(self._words, cum_weights=self._weights, k=count)

    def changed(self, words: Sequence[str]) -> list[str]:
        """These with another word in one place."""
        made = list(words)
        place = self.draw.randrange(len(made))
        while made[place] == words[place]:
            [made[place]] = self.words(1)
        return made

    def longer(self, words: Sequence[str]) -> list[str]:
        """These with one more in some place."""
        made = list(words)
        made.insert(self.draw.randrange(len(made)), *self.words(1))
        return made


def headlines(count: int) -> dict[str, dict[str, float]]:
    """Of headlines with a changed one each: the part of these pairs that a rule finds by length, and of all it calls
    near the part that shares less than half of its words.
    """
    speech = Speech(1)
    found: dict[str, dict[str, float]] = {}
    texts = [speech.words(speech.draw.randint(LENGTHS[0][0], LENGTHS[-1][1])) for _ in range(count)]
    texts += [speech.changed(words) for words in texts]
    print(f"{'rule':44s}" + "".join(f"{f'{low} to {high} words':>16s}" for low, high in LENGTHS) + f"{'wrong':>10s}")
    for rule in RULES:
        near = [(pair.left, pair.right) for pair in indexer.pairs_of([" ".join(words) for words in texts], rule)]
        right = {left for left, other in near if other == left + count}
        wrong = sum(_shared(texts[left], texts[other]) < 0.5 for left, other in near)
        row = {}
        for low, high in LENGTHS:
            here = [place for place in range(count) if low <= len(texts[place]) <= high]
            row[f"{low} to {high}"] = sum(place in right for place in here) / len(here)
        found[rule] = {**row, "wrong": wrong / max(1, len(near))}
        print(f"{rule:44s}" + "".join(f"{value:16.1%}" for value in row.values()) + f"{found[rule]['wrong']:10.2%}")
    return found


def _shared(one: Sequence[str], other: Sequence[str]) -> float:
    return len({*one} & {*other}) / len({*one, *other})


def chats(count: int, copies: int) -> dict[float, dict[str, tuple[int, int]]]:
    """By the template's share of the words: how many each way removes, and how many of these are no planted copies."""
    found: dict[float, dict[str, tuple[int, int]]] = {}
    ways = {"bands": by_bands, "simhash": by_simhash, "sketches": by_sketches, "neardup": by_neardup}
    print(f"\n{count:,} records and {copies} copies: removed, and of them wrongly")
    print(f"{'template':10s}{'14 bands of 8':>20s}{'simhash, 3 bits':>20s}{'sketches':>20s}{'neardup':>20s}")
    for share in TEMPLATE_SHARES:
        speech = Speech(2)
        own = round(_RECORD_WORDS * (1 - share))
        template = speech.words(_RECORD_WORDS - own)
        records = [template + speech.words(own) for _ in range(count)]
        # A copy has one word more in what is its own.
        records += [template + speech.longer(words[len(template) :]) for words in records[:copies]]
        found[share] = {}
        for name, way in ways.items():
            removed = way([" ".join(words) for words in records])
            found[share][name] = (removed.size, int(np.count_nonzero(removed < count)))
        shown = (f"{removed:,} / {wrong:,}" for removed, wrong in found[share].values())
        print(f"{share:<10.0%}" + "".join(f"{each:>20s}" for each in shown))
    return found


def filled(count: int, copies: int) -> dict[str, tuple[int, int]]:
    """Of forms of ten templates in three languages, and copies of some: how many each way removes, and how many of
    these are no planted copies.
    """
    draw = random.Random(4)
    made = forms(count)
    texts = made + [draw.choice(COPIED)(text, draw) for text in draw.sample(made, copies)]
    ways = {
        "14 bands of 8": by_bands, "simhash, 3 bits": by_simhash, "sketches": by_sketches, "neardup": by_neardup,
        "neardup prune": by_prune, "batch dedupe": by_batch,
    }  # fmt: skip
    print(f"\n{count:,} forms of ten templates and {copies} copies: removed, and of them wrongly")
    found = {}
    for name, way in ways.items():
        removed = way(texts)
        found[name] = (removed.size, int(np.count_nonzero(removed < count)))
        print(f"{name:20s}{found[name][0]:,} / {found[name][1]:,}")
    return found


def apart(count: int, copies: int) -> dict[str, tuple[int, int, int, float]]:
    """Of such forms and copies, by what is kept apart: the clusters, those of several forms, the copies that are with
    theirs, and the seconds of the processor.
    """
    draw = random.Random(4)
    made = forms(count)
    copied = draw.sample(range(count), copies)
    texts = made + [draw.choice(COPIED)(made[place], draw) for place in copied]
    of = [*range(count), *copied]
    found = {}
    print(f"\n{'kept apart':12s}{'clusters':>10s}{'of several forms':>18s}{'copies with theirs':>20s}{'seconds':>9s}")
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder, "texts.jsonl")
        given.write_text("".join(json.dumps({"id": f"{n:06}", "text": text}) + "\n" for n, text in enumerate(texts)))
        with indexer.open(Path(folder, "store.neardup")) as collection, warnings.catch_warnings():
            # It says that another clustering was made before.
            warnings.simplefilter("ignore")
            collection.index(given)
            for way in ("none", "form", "form again"):
                begun = time.process_time()
                collection.cluster(apart="none" if way == "none" else "form")
                seconds = time.process_time() - begun
                clusters = [[int(name) for name in each.members] for each in collection.clusters()]
                together = sum(of[one] in members for members in clusters for one in members if one >= count)
                several = sum(len({of[one] for one in members}) > 1 for members in clusters)
                found[way] = len(clusters), several, together, seconds
                print(f"{way:12s}{len(clusters):10,}{several:18,}{together:20,}{seconds:9.1f}", flush=True)
    return found


Positions = npt.NDArray[np.int64]


def by_bands(texts: Sequence[str]) -> Positions:
    """What is removed where each component of texts that share a band of minhash keeps its first."""
    scheme = registry.scheme("minhash:bands=14,rows=8")
    first: dict[tuple[int, int], int] = {}
    edges = []
    for place, text in enumerate(texts):
        sketch = scheme.sketch(text)
        for table, key in enumerate(sketch.keys if sketch else ()):
            edges.append((first.setdefault((table, int(key)), place), place))
    return _all_but_first(edges, len(texts))


def by_simhash(texts: Sequence[str]) -> Positions:
    """What is removed where each component of texts within 3 bits keeps its first."""
    pairs = indexer.pairs_of(texts, "simhash-doc@3bits", collapse=True)
    return _all_but_first([(pair.left, pair.right) for pair in pairs], len(texts))


def by_sketches(texts: Sequence[str]) -> Positions:
    """What indexer.dedupe removes by sketches alone."""
    return np.setdiff1d(np.arange(len(texts)), indexer.dedupe(texts, verify="sketch").kept)


def by_neardup(texts: Sequence[str]) -> Positions:
    """What indexer.dedupe removes."""
    return np.setdiff1d(np.arange(len(texts)), indexer.dedupe(texts).kept)


def by_prune(texts: Sequence[str]) -> Positions:
    """What neardup prune removes from a store of the texts, where the first ones are preferred."""
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder, "texts.jsonl")
        with said.open("w", encoding="utf-8") as lines:
            for place, text in enumerate(texts):
                lines.write(json.dumps({"id": f"{place:06}", "text": text}) + "\n")
        with indexer.open(Path(folder, "store.neardup")) as collection:
            collection.index([said])
            collection.cluster()
            surplus = collection.prune(dry_run=True).surplus
            return np.array(sorted(int(one.id) for one in surplus if not one.kept), dtype=np.int64)


def by_batch(texts: Sequence[str]) -> Positions:
    """What neardup batch dedupe removes from a file of the texts."""
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder, "texts.jsonl"), Path(folder, "kept")
        given.write_text(
            "".join(json.dumps({"id": str(place), "text": text}) + "\n" for place, text in enumerate(texts))
        )
        done = batches.dedupe([str(given)], BatchOutput(str(out)))
        removed = parquet.read_table(done.removed_list)["id"].to_pylist()
    return np.sort(np.array([int(name) for name in removed], dtype=np.int64))


def _all_but_first(edges: Iterable[tuple[int, int]], count: int) -> Positions:
    left, right = np.array([*edges, (0, 0)]).T
    _, labels = connected_components(
        coo_array((np.ones(left.size), (left, right)), shape=(count, count)), directed=False
    )
    return np.setdiff1d(np.arange(count), np.unique(labels, return_index=True)[1])
