"""How fast text becomes a fingerprint, beside gaoya in the same run: `python -m tests.benchmarks.core [DATA]`.

Texts are about 5 KB each and made: words drawn by Zipf's law from a made vocabulary, English-like, Chinese and Russian.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from indexer.core.native import simd_level
from indexer.core.sketches import fingerprint
from indexer.schemes import simhash

TEXT_BYTES = 5000
TEXTS = 400
ROUNDS = 9


@dataclass(frozen=True, slots=True)
class Speed:
    """Megabytes (10**6 bytes of UTF-8) a second: the median over rounds, and the least and the most seen."""

    name: str
    median: float
    least: float
    most: float


def made_text(words: Sequence[str], space: str, seed: int) -> list[str]:
    """Texts of about TEXT_BYTES of words drawn by Zipf's law, with punctuation and capitals."""
    draw = random.Random(seed)
    weights = [1 / (rank + 2) for rank in range(len(words))]
    texts = []
    for _ in range(TEXTS):
        pieces, size = [], 0
        while size < TEXT_BYTES:
            sentence = space.join(draw.choices(words, weights, k=draw.randint(8, 20)))
            sentence = sentence[0].upper() + sentence[1:] + ("." + space if space else "。")
            pieces.append(sentence)
            size += len(sentence.encode())
        texts.append("".join(pieces))
    return texts


def english() -> list[str]:
    """English-like texts: 20,000 words of 1 to 14 letters, common ones short."""
    draw = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    weights = [1 / (rank + 2) for rank in range(26)]
    words = [
        "".join(draw.choices(letters, weights, k=min(14, 1 + int(draw.gammavariate(3 + n / 8000, 1.4)))))
        for n in range(20000)
    ]
    return made_text(words, " ", 2)


def chinese() -> list[str]:
    """Chinese-like texts: 3,500 characters by Zipf's law, a full stop every 8 to 20."""
    return made_text([chr(0x4E00 + n * 5) for n in range(3500)], "", 3)


def russian() -> list[str]:
    """Russian-like texts, for a script of two bytes a letter with capitals."""
    draw = random.Random(4)
    words = ["".join(draw.choices("оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъ", k=draw.randint(1, 12))) for _ in range(20000)]
    return made_text(words, " ", 5)


def measure(ways: dict[str, Callable[[str], object]], texts: Sequence[str]) -> list[Speed]:
    """Run all ways in turn, ROUNDS times, so that a change of the machine's speed meets them all."""
    size = sum(len(text.encode()) for text in texts)
    seen: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            start = time.thread_time()
            for text in texts:
                way(text)
            seen[name].append(size / (time.thread_time() - start) / 1e6)
    return [Speed(name, sorted(s)[len(s) // 2], min(s), max(s)) for name, s in seen.items()]


def gaoya_query() -> Callable[[str], object] | None:
    """gaoya's simhash of word 1-grams, by a question to an empty index; None where gaoya is not installed."""
    try:
        from gaoya.simhash import SimHashStringIndex
    except ImportError:
        return None
    ask: Callable[[str], object] = SimHashStringIndex(64, 6, 3, "word", True, (1, 1)).query
    return ask


def run() -> dict[str, Any]:
    """Measure and print; gives the figures."""
    figures: dict[str, Any] = {"simd_level": simd_level()}
    for language, texts in (("English", english()), ("Chinese", chinese()), ("Russian", russian())):
        encoded = {text: text.encode() for text in texts}
        ways: dict[str, Callable[[str], object]] = {
            "core, bytes to simhash": lambda text, encoded=encoded: fingerprint(encoded[text]),  # type: ignore[misc]
            "indexer.fingerprint": simhash.fingerprint,
        }
        gaoya = gaoya_query() if language == "English" else None
        if gaoya is not None:
            ways["gaoya, word 1-grams"] = gaoya
        speeds = measure(ways, texts)
        figures[language] = [asdict(speed) for speed in speeds]
        print(f"{language}, {len(texts)} texts of {TEXT_BYTES} bytes, one core, instruction level {simd_level()}")
        for speed in speeds:
            ratio = f"   {speed.median / speeds[-1].median:5.1f} x gaoya" if gaoya is not None else ""
            print(f"  {speed.name:26} {speed.median:7.0f} MB/s ({speed.least:.0f} to {speed.most:.0f}){ratio}")
        if language == "English" and gaoya is None:
            print("  gaoya is not installed: no ratio (make bench installs it)")
    return figures


if __name__ == "__main__":
    run()
    sys.exit()
