"""The relations of pairs of texts: pairs a second, by what differs.

Run as `python -m tests.benchmarks relations`. Texts are sentences of made-up words, frequent and rare ones as in a
language, with names and numbers. Of each there is a second one: equal, in other lines, or with words or facts changed.
Texts are prepared once (`Wording`), then aligned, and compared, in full and as `cluster` does it, which looks no
further than the first fact that differs (`brief`); prepared and compared is what a pair costs that meets no other one.
Beside that the whole command, with relations and without, on a store of such pairs in a file of JSON lines.
"""

from __future__ import annotations

import html
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import indexer
from indexer.clustering.annotations import READ_AT_ONCE
from indexer.matching.relating import RelatedTexts
from indexer.model.chunking import chunks
from indexer.relations.alignment import blocks_between
from indexer.relations.comparing import relate
from indexer.relations.lexicon import Lexicon
from indexer.relations.wording import Wording
from tests.benchmarks.commands import processor_time
from tests.benchmarks.forms import Speech
from tests.relations.edits import misread
from tests.relations.filled import identical, reflowed

PAIRS = 2000
LENGTHS = (300, 5000)
WHOLE = 10_000
_NUMBERS, _NAMES = 40, 25


def prose(speech: Speech, count: int) -> str:
    """Sentences of so many words in paragraphs, with a number and a name now and then."""
    draw, sentences, words = speech.draw, list[str](), list[str]()
    for place, word in enumerate(speech.words(count)):
        said = str(draw.randint(10, 99_999)) if draw.randrange(_NUMBERS) == 0 else word
        words.append(said.capitalize() if not words or draw.randrange(_NAMES) == 0 else said)
        if (len(words) > 5 and draw.randrange(12) == 0) or place == count - 1:
            sentences.append(" ".join(words) + ("." if draw.randrange(5) else ".\n\n"))
            words = []
    return " ".join(sentences).replace("\n ", "\n")


def _edited(count: int, speech: Speech) -> Callable[[str, random.Random], str]:
    def edited(text: str, draw: random.Random) -> str:
        words = text.split(" ")
        for _ in range(count):
            place = draw.randrange(1, len(words))
            kind = draw.randrange(3)
            if kind == 0:
                del words[place]
            elif kind == 1:
                words[place:place] = speech.words(1)
            else:
                words[place : place + 1] = speech.words(1)
        return " ".join(words)

    return edited


def _filled(count: int) -> Callable[[str, random.Random], str]:
    def filled(text: str, draw: random.Random) -> str:
        words = text.split(" ")
        numbers = [place for place, word in enumerate(words) if word.isdigit()]
        for place in draw.sample(numbers, min(count, len(numbers))):
            words[place] = str(draw.randint(100_000, 999_999))
        return " ".join(words)

    return filled


def kinds(speech: Speech) -> Mapping[str, Callable[[str, random.Random], str]]:
    """By name: what makes the second text of a pair."""
    return {
        "identical": identical,
        "reflowed": reflowed,
        "1 word edited": _edited(1, speech),
        "5 words edited": _edited(5, speech),
        "20 words edited": _edited(20, speech),
        "form with 3 facts": _filled(3),
        "4% misread": misread,
    }


def pairs_of(kind: str, words: int, count: int, seed: int = 5) -> list[tuple[str, str]]:
    """Pairs of texts of so many words, of one kind."""
    speech, draw = Speech(seed), random.Random(seed)
    change = kinds(speech)[kind]
    texts = [prose(speech, words) for _ in range(count)]
    return [(text, change(text, draw)) for text in texts]


def measured(texts: Sequence[tuple[str, str]]) -> tuple[float, float, float, float]:
    """The seconds of one processor that preparing all texts takes, aligning, comparing, and comparing them briefly."""
    begun = time.process_time()
    made = [(Wording(left), Wording(right)) for left, right in texts]
    prepared = time.process_time()
    for left, right in made:
        blocks_between(left, right)
    aligned = time.process_time()
    for left, right in made:
        relate(left, right)
    compared = time.process_time()
    # A text remembers its digest.
    again = [(Wording(left), Wording(right)) for left, right in texts]
    begun_briefly = time.process_time()
    for left, right in again:
        relate(left, right, brief=True)
    return prepared - begun, aligned - prepared, compared - aligned, time.process_time() - begun_briefly


def run() -> dict[tuple[int, str], list[float]]:
    """Measure and print; gives the pairs a second: aligned, compared, briefly, and that with both texts prepared."""
    found = {}
    for words in LENGTHS:
        count = PAIRS * LENGTHS[0] // words
        columns = "".join(f"{name:>13s}" for name in ("aligned", "compared", "briefly", "and prepared"))
        print(f"{f'pairs of {words:,} words':24s}{columns}  a second")
        for kind in kinds(Speech(5)):
            texts = pairs_of(kind, words, count)
            best = [min(taken) for taken in zip(*(measured(texts) for _ in range(3)), strict=True)]
            prepared, aligned, compared, briefly = best
            rates = found[words, kind] = [count / each for each in (aligned, compared, briefly, prepared + briefly)]
            print(f"{kind:24s}" + "".join(f"{rate:13,.0f}" for rate in rates), flush=True)
        print()
    some = kinds(Speech(5))
    pairs = [pair for seed, kind in enumerate(some) for pair in pairs_of(kind, LENGTHS[0], WHOLE // len(some), seed)]
    taken = min(noted(pairs) for _ in range(3))
    print(f"{len(pairs):,} pairs of all kinds of {LENGTHS[0]} words: cluster tells the relations in {taken:.2f} s,")
    by_sketches, with_texts = by_texts([text for pair in pairs for text in pair])
    print(f"dedupe takes by sketches {by_sketches:.1f} s, and by texts {with_texts:.1f} s of the processor")
    pages = [page(text) for pair in pairs[::4] for text in pair]
    for name, given in (("lines of text", [text for pair in pairs for text in pair]), ("lines of HTML", pages)):
        without, told = clustered(given)
        print(
            f"{len(given):,} {name}: cluster takes {without:.1f} s of processors without relations, {told:.1f} s with "
            f"them: {told / without:.2f} x, {(told - without) / len(given) * 1e3:.2f} ms a document",
            flush=True,
        )
    return found


def page(text: str) -> str:
    """A page of HTML with a text."""
    paragraphs = "".join(f"<p>{html.escape(part)}</p>" for part in text.split("\n\n"))
    return f"<html><head><title>a page</title></head><body><main>{paragraphs}</main></body></html>"


def clustered(texts: Sequence[str]) -> tuple[float, float]:
    """The seconds of processors, those of workers too, in which the command makes clusters of the lines of a file,
    without relations and with them: the least of three rounds.
    """
    name = "html" if texts[0].startswith("<") else "text"
    order = random.Random(5).sample(range(len(texts)), len(texts))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        lines = (json.dumps({"id": str(place), name: texts[place]}) + "\n" for place in order)
        (folder / "all.jsonl").write_text("".join(lines))
        with indexer.open(folder / "made.neardup") as collection:
            collection.index(folder / "all.jsonl")
        taken = []
        for _ in range(3):
            for option in ("--no-relation", "--relation"):
                shutil.copy(folder / "made.neardup", folder / "fresh.neardup")
                command = [sys.executable, "-m", "indexer", "cluster", option, "--store", str(folder / "fresh.neardup")]
                taken.append(processor_time(command, folder))
        return min(taken[::2]), min(taken[1::2])


def noted(pairs: Sequence[tuple[str, str]]) -> float:
    """The seconds of the processor in which clustering tells the relations of pairs whose texts are in memory."""
    texts = RelatedTexts[tuple[int, int]](
        lambda wanted: ((each, pairs[each[0]][each[1]]) for each in wanted), key=lambda each: each, name=str,
        digest=lambda _: "", lexicon=Lexicon(), learns=True, brief=True,
    )  # fmt: skip
    begun = time.process_time()
    for page in chunks(range(len(pairs)), READ_AT_ONCE // 2):
        texts.prepare([[(place, 0), (place, 1)] for place in page])
        for place in page:
            texts.between((place, 0), (place, 1))
    return time.process_time() - begun


def by_texts(texts: Sequence[str]) -> tuple[float, float]:
    """The seconds of the processor of a deduplication by sketches alone, and with the texts of what is near aligned."""
    begun = time.process_time()
    indexer.dedupe(texts, verify="sketch")
    between = time.process_time()
    indexer.dedupe(texts)
    return between - begun, time.process_time() - between
