"""How sharp and how fast sketches are, by the way their minima are made: `python -m tests.benchmarks sketches`.

Errors are those of estimates for pairs of random sets of hashes, times the best of several rounds in processor time of
one thread. Beside the core's ways stands one permutation with optimal densification, built here with the C compiler.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import numpy.typing as npt

from indexer.core import sketches
from indexer.core.sketches import equal_parts, equal_parts_of_pairs, fast_minhash, minhash, pack
from indexer.core.text import text_digest
from indexer.model.ragged import Ragged
from indexer.schemes import simhash
from indexer.schemes.base import Scheme, sketch_texts
from indexer.schemes.minhash import Minhash
from indexer.schemes.minwise import estimated, packed_bits
from indexer.schemes.passages import Passages
from indexer.schemes.simhash import SimhashDoc
from tests.benchmarks import sketches_sets
from tests.benchmarks.core import chinese, english, russian

Hashes = npt.NDArray[np.uint64]
Signature = npt.NDArray[np.uint32]

SIZES = (1, 5, 30, 300, 5000)
JACCARD = 0.8
PAIRS = 1000
ROUNDS = 9
WORDS = (1, 3, 10, 30, 100, 300, 1000, 5000, 20000)
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Way:
    """How a signature of `values` is made, of which `bits` each are kept."""

    name: str
    values: int
    bits: int
    signature: Callable[[Hashes, int], Signature]
    spread: bool = False

    def made(self, hashes: Hashes) -> Signature:
        """A set's signature."""
        return self.signature(hashes, self.values)

    def packed(self, hashes: Hashes) -> bytes:
        """What is stored of a set's signature."""
        found = self.made(hashes)
        return packed_bits(found, self.bits) if self.spread else pack(found, self.bits)


def run(shared_data: Path) -> dict[str, Any]:
    """Measure and print; gives the figures. `shared_data` is the folder of real documents with truth."""
    ways = [*_ways(), *_densified()]
    return {
        "errors": _errors(ways),
        "microseconds": _times(ways),
        "texts": _texts(),
        "scripts": _scripts(),
        "million": _million(),
        "sets": sketches_sets.run(shared_data),
    }


def _fast(rounds: int) -> Callable[[Hashes, int], Signature]:
    def signature(hashes: Hashes, values: int) -> Signature:
        found = fast_minhash(hashes, values, rounds)
        assert found is not None
        return found

    return signature


def _permutations(hashes: Hashes, values: int) -> Signature:
    found = minhash(hashes, values)
    assert found is not None
    return found


def _ways() -> list[Way]:
    chosen = sketches.ROUNDS
    rounds = [Way(f"1,024 x 1, {n:,} rounds", 1024, 1, _fast(n)) for n in (0, 2, 4, chosen, 16, 32, 1024)]
    return [
        Way("128 x 8, permutations", 128, 8, _permutations, spread=True),
        *rounds,
        Way(f"512 x 2, {chosen} rounds", 512, 2, _fast(chosen)),
    ]


def _densified() -> list[Way]:
    """The same by one permutation and densification; none where there is no C compiler."""
    source = Path(__file__).with_name("densified.c")
    ffi = cffi.FFI()
    ffi.cdef("void densified(const uint64_t *, size_t, size_t, int, uint32_t *);")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "densified.so"
        command = ["cc", "-O3", "-shared", "-fPIC", "-o", str(library), str(source)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"one permutation, densified: not measured ({error})")
            return []
        densified = ffi.dlopen(str(library)).densified

    def made(*, hashed: bool) -> Callable[[Hashes, int], Signature]:
        def signature(hashes: Hashes, values: int) -> Signature:
            found = np.empty(values, dtype=np.uint32)
            densified(
                ffi.from_buffer("uint64_t[]", hashes), hashes.size, values, hashed, ffi.from_buffer("uint32_t[]", found)
            )
            return found

        return signature

    return [
        Way("1,024 x 1, densified", 1024, 1, made(hashed=True)),
        Way("1,024 x 1, densified, bits copied", 1024, 1, made(hashed=False)),
    ]


def _pair(draw: np.random.Generator, size: int) -> tuple[Hashes, Hashes, float]:
    """Two random sets of about this many hashes, and their Jaccard coefficient: 0.8, or 0 for sets of one."""
    union = max(2, round(size * 2 / (1 + JACCARD)))
    shared = 0 if size == 1 else round(union * JACCARD)
    left = (union - shared) // 2
    hashes = draw.integers(0, 2**64, union, dtype=np.uint64)
    return hashes[: shared + left], np.concatenate([hashes[:shared], hashes[shared + left :]]), shared / union


def _errors(ways: Sequence[Way]) -> dict[str, Any]:
    print(f"-- error of the estimate at a coefficient of {JACCARD}, bias and standard error, by number of shingles")
    print(f"{'':34} {'unrelated from 0.6':>18} " + " ".join(f"{size:>15,}" for size in SIZES[1:]))
    figures: dict[str, Any] = {}
    for way in ways:
        cells, chance = [], 0.0
        for size in SIZES:
            draw, errors = np.random.default_rng(size), []
            for _ in range(PAIRS if size < 5000 else PAIRS // 4):
                one, other, exact = _pair(draw, size)
                equal = equal_parts(way.packed(one), np.frombuffer(way.packed(other), dtype=np.uint8)[None], way.bits)
                found = estimated(equal, way.values, way.bits)
                errors.append(float(found[0]) - exact)
            if size == 1:
                chance = float(np.mean(np.array(errors) >= 0.6))
                continue
            cells.append((float(np.mean(errors)), float(np.sqrt(np.mean(np.square(errors))))))
        figures[way.name] = {"unrelated": chance, "errors": cells}
        print(
            f"{way.name:34} {chance:>18.1%} " + " ".join(f"{bias:>+7.4f} {error:.4f}" for bias, error in cells),
            flush=True,
        )
    print()
    return figures


def _times(ways: Sequence[Way]) -> dict[str, list[float]]:
    sizes = (*SIZES[:-1], 1000, SIZES[-1])
    print("-- microseconds for a signature of ready hashes, by their number")
    print(f"{'':34} " + " ".join(f"{size:>8,}" for size in sizes))
    figures = {}
    for way in ways:
        cells = []
        for size in sizes:
            sets = [np.random.default_rng(n).integers(0, 2**64, size, dtype=np.uint64) for n in range(40)]
            cells.append(1e6 * _best(way.made, sets) / len(sets))
        figures[way.name] = cells
        print(f"{way.name:34} " + " ".join(f"{cell:>8.1f}" for cell in cells), flush=True)
    print()
    return figures


def _best(work: Callable[[Any], object], items: Sequence[Any]) -> float:
    """The least seconds that one thread took for all items."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.thread_time()
        for item in items:
            work(item)
        best = min(best, time.thread_time() - begin)
    return best


def _texts() -> dict[str, Any]:
    """Text to simhash and sketch, by the number of words."""
    now = Minhash()
    ways: Mapping[str, Callable[[bytes], object]] = {
        "simhash": simhash.fingerprint,
        "both": lambda text: sketch_texts([SimhashDoc(), now], [text]),
        "digest": text_digest,
    }
    words = " ".join(english()).split()
    print("-- English text to simhash and sketch, by words: microseconds, MB/s")
    print(f"{'words':>8} " + " ".join(f"{name:>18}" for name in ways))
    figures: dict[str, Any] = {}
    for count in WORDS:
        texts = [" ".join(words[at : at + count]).encode() for at in range(0, min(len(words), 100 * count), count)]
        total = sum(map(len, texts))
        seconds = {name: _best(way, texts) for name, way in ways.items()}
        figures[str(count)] = {name: total / found / 1e6 for name, found in seconds.items()}
        cells = [f"{1e6 * found / len(texts):>10.1f} {total / found / 1e6:>7.0f}" for found in seconds.values()]
        print(f"{count:>8,} " + " ".join(cells), flush=True)
    print()
    return figures


def _scripts() -> dict[str, Any]:
    """All sketches of made texts of 5 KB, 400 in one call: the rate of one pass, by what it makes."""
    two = [SimhashDoc(), Minhash()]
    ways: Mapping[str, Sequence[Scheme]] = {
        "simhash": two[:1],
        "and minhash": two,
        "and passages": [*two, Passages()],
        "of letters": [*two, Passages(features="letters")],
    }
    print("-- made texts of 5 KB to sketches in one pass: MB/s, and what passages leave of the rate of the two others")
    print(f"{'':10} " + " ".join(f"{name:>14}" for name in ways))
    figures: dict[str, Any] = {}
    for name, made in (("English", english()), ("Russian", russian()), ("Chinese", chinese())):
        texts = [text.encode() for text in made]
        best = dict.fromkeys(ways, float("inf"))
        # In turn, so that a change of the machine's speed meets them all.
        for _ in range(ROUNDS):
            for way, schemes in ways.items():
                begin = time.thread_time()
                sketch_texts(schemes, texts)
                best[way] = min(best[way], time.thread_time() - begin)
        rates = {way: sum(map(len, texts)) / seconds / 1e6 for way, seconds in best.items()}
        kept = {way: rates[way] / rates["and minhash"] for way in ("and passages", "of letters")}
        figures[name] = {"MB/s": rates, "kept": kept}
        cells = [f"{rate:>8.0f} {f'{kept[way]:.2f}' if way in kept else '':>5}" for way, rate in rates.items()]
        print(f"{name:10} " + " ".join(cells), flush=True)
    print()
    return figures


def _million() -> dict[str, float]:
    """One sketch against a million, and a million pairs of them."""
    draw = np.random.default_rng(1)
    packed = draw.integers(0, 256, (MILLION, 128), dtype=np.uint8)
    one, listed = packed[0].tobytes(), [row.tobytes() for row in packed]
    left, right = draw.integers(0, MILLION, (2, MILLION))
    near = np.sort(right) // 1000 * 1000 + left % 1000
    works: Mapping[str, Callable[[Any], object]] = {
        "128 x 8, a list of payloads": lambda _: equal_parts(one, Ragged.of_bytes(listed).matrix(128), 8),
        "1,024 x 1, a list of payloads": lambda _: equal_parts(one, Ragged.of_bytes(listed).matrix(128)),
        "1,024 x 1, one array": lambda _: equal_parts(one, packed),
        "pairs anywhere in one array": lambda _: equal_parts_of_pairs(packed, left, right),
        "pairs near each other": lambda _: equal_parts_of_pairs(packed, np.sort(right), near),
    }
    print("-- milliseconds for a million comparisons")
    figures = {}
    for name, work in works.items():
        figures[name] = 1e3 * _best(work, [None])
        print(f"{name:34} {figures[name]:>8.1f}", flush=True)
    print()
    return figures
