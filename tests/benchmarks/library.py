"""What a program does without a store: sketches in one thread and in two, which texts to keep, an index in memory.

Run as `python -m tests.benchmarks library`. Texts are English-like, some with near-duplicates; beside datasketch in the
same run, which gets the texts cut into 5-word shingles by str.split, as its users do.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache, partial
from itertools import accumulate, islice
from typing import Any

import numpy as np

from indexer import MemoryIndex, dedupe, fingerprints, sketches
from indexer.core.one_pass import Forms, MinhashForm, features_of_texts
from indexer.model.joined import joined_texts

SIZES = (500, 2000, 20_000)
BYTES = 24_000_000
ROUNDS = 5
DOCUMENTS = 20_000
MANY = 60_000


def words() -> list[str]:
    """20,000 made words."""
    draw = random.Random(1)
    return ["".join(draw.choices("etaoinshrdlucmfwypvbgk", k=draw.randint(1, 11))) for _ in range(20_000)]


def texts_of(size: int, count: int) -> list[str]:
    """Texts of about this many bytes, of words drawn by Zipf's law."""
    draw, known = random.Random(size), words()
    weights = list(accumulate(1 / (rank + 2) for rank in range(len(known))))
    return [" ".join(draw.choices(known, cum_weights=weights, k=size // 6)) for _ in range(count)]


def with_copies(texts: Sequence[str]) -> list[str]:
    """The same texts, of which every fourth is one of the others with three words changed."""
    draw, found = random.Random(3), list(texts)
    for place in range(3, len(found), 4):
        copied = found[draw.randrange(place)].split()
        for _ in range(3):
            copied[draw.randrange(len(copied))] = "changed"
        found[place] = " ".join(copied)
    return found


def seconds(ways: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """The least of some rounds, all ways in turn, so that a change of the machine's speed meets them all."""
    found = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            found[name] = min(found[name], time.perf_counter() - start)
    return found


def threads() -> dict[str, float]:
    """By the size of the texts: how much faster two threads are than one, and what part of the work needs no GIL."""
    found = {}
    for size in SIZES:
        texts = texts_of(size, BYTES // size // 4)
        for name, make, inside in (
            ("sketches", sketches, partial(features_of_texts, forms=Forms(MinhashForm()))),
            ("fingerprints", fingerprints, features_of_texts),
        ):
            ways: dict[str, Callable[[], object]] = {
                str(count): lambda count=count, make=make, texts=texts: make(texts, threads=count)  # type: ignore[misc]
                for count in (1, 2)
            }
            taken = seconds(ways)
            gain = found[f"{name}, {size}"] = taken["1"] / taken["2"]
            joined = worked(lambda texts=texts: joined_texts(texts))  # type: ignore[misc]
            free = worked(lambda inside=inside, texts=texts: inside(texts)) - joined  # type: ignore[misc]
            part = found[f"{name}, {size}, without the GIL"] = free / worked(ways["1"])
            rate = len(texts) / taken["1"]
            print(
                f"{name:13} {size:6,} bytes: {rate:9,.0f} a second in one thread, {part:.0%} of it without the GIL; "
                f"{gain:.2f} x in two"
            )
    return found


def worked(way: Callable[[], object]) -> float:
    """The processor's seconds in this thread, the least of some rounds; what else runs hardly matters."""
    found = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        way()
        found.append(time.thread_time() - start)
    return min(found)


def passages(text: str) -> set[bytes]:
    """The 5-word shingles, as users of datasketch cut them."""
    found = text.split()
    return {" ".join(found[place : place + 5]).encode() for place in range(len(found) - 4)}


def indices() -> dict[str, float]:
    """Documents a second into an index, questions a second, and those of datasketch."""
    texts = with_copies(texts_of(2000, DOCUMENTS))
    asked = texts[:2000]
    index = MemoryIndex("minhash@0.7")
    found = {
        "inserted": DOCUMENTS / seconds({"": lambda: index.insert_many(enumerate(texts), threads=1)}, 1)[""],
        "asked": len(asked) / seconds({"": lambda: list(index.query_many(asked, threads=1))}, 3)[""],
        "dedupe": DOCUMENTS / seconds({"": lambda: dedupe(texts, "minhash@0.7")}, 1)[""],
    }
    try:
        from datasketch import MinHash, MinHashLSH
    except ImportError:
        print("datasketch is not installed: no ratio (make bench installs it)")
    else:
        # As many values as the sketch has bytes; both take the texts as they are.
        def made(text: str) -> MinHash:
            return MinHash.bulk([passages(text)], num_perm=128)[0]

        other, few = MinHashLSH(threshold=0.7, num_perm=128), texts[: DOCUMENTS // 10]

        def insert() -> None:
            for place, text in enumerate(few):
                other.insert(place, made(text))

        found["datasketch, inserted"] = len(few) / seconds({"": insert}, 1)[""]
        ask = seconds({"": lambda: [other.query(made(text)) for text in islice(asked, 500)]}, 1)[""]
        found["datasketch, asked"] = 500 / ask
    for name, rate in found.items():
        print(f"{name:22} {rate:9,.0f} texts of 2 kB a second")
    return found


def found_copies() -> dict[str, float]:
    """Seconds of the processor to find the copies among 60,000 texts of 250 words: every fourth, with 1 to 8 others."""
    texts, draw = texts_of(1500, MANY), random.Random(5)
    copies = range(3, MANY, 4)
    for place in copies:
        copied = texts[4 * draw.randrange(place // 4 + 1)].split()
        for where in draw.sample(range(len(copied)), draw.randint(1, 8)):
            copied[where] = draw.choice(copied)
        texts[place] = " ".join(copied)
    found = {}
    for name, way in (
        ("neardup, by sketches", near_by_sketches),
        ("neardup, by texts", near_by_texts),
        ("rensa", near_by_rensa),
        ("datasketch", near_by_datasketch),
    ):
        start = time.process_time()
        try:
            near = way(texts)
        except ImportError:
            print(f"{name} is not installed (make bench installs it)")
            continue
        found[name] = time.process_time() - start
        share = len(near & {*copies}) / len(copies)
        print(f"{name:22} {found[name]:6.1f} s of the processor, finds {share:.1%} of the copies")
    return found


def near_by_sketches(texts: Sequence[str]) -> set[int]:
    """The positions of texts near an earlier one."""
    return {copy.position for copy in dedupe(texts, "minhash@0.7", verify="sketch").copies}


def near_by_texts(texts: Sequence[str]) -> set[int]:
    """The same, each also compared with the earlier one by its text."""
    done = dedupe(texts, "minhash@0.7")
    return {*(copy.position for copy in done.copies), *done.reasons}


def near_by_rensa(texts: Sequence[str]) -> set[int]:
    """The positions of texts with a band in common with another one, by signatures made in one call."""
    from rensa import RMinHash, RMinHashLSH

    made = RMinHash.digest_matrix_from_token_byte_sets([list(passages(text)) for text in texts], 128, 1)
    index = RMinHashLSH(threshold=0.7, num_perm=128, num_bands=16)
    return {place for place, near in enumerate(index.insert_matrix_and_query_duplicate_flags(made)) if near}


def near_by_datasketch(texts: Sequence[str]) -> set[int]:
    """The positions of texts near an earlier one, by an index of the earlier ones."""
    from datasketch import MinHash, MinHashLSH

    index, near = MinHashLSH(threshold=0.7, num_perm=128), set()
    for place, text in enumerate(texts):
        made = MinHash.bulk([passages(text)], num_perm=128)[0]
        if index.query(made):
            near.add(place)
        index.insert(place, made)
    return near


def near_by_text_dedup(texts: Sequence[str]) -> set[int]:
    """The positions of texts with a band in common with an earlier one, as its script has them by default."""
    from text_dedup.minhash import SIGNATURE_COLUMN, embed_func
    from text_dedup.utils import optimal_param, sha1_hash

    values, draw, prime = 250, np.random.RandomState(42), np.uint64((1 << 61) - 1)
    bands, rows = optimal_param(0.7, values, 0.5, 0.5)
    made = partial(
        embed_func, num_perm=values, ngram_size=5, min_length=5, hash_func=partial(sha1_hash, d=32), dtype=np.uint64,
        hashranges=[(band * rows, (band + 1) * rows) for band in range(bands)],
        permutations=tuple(draw.randint(least, prime, size=values, dtype=np.uint64) for least in (1, 0)),
        max_hash=np.uint32((1 << 32) - 1), modulo_prime=prime,
    )  # fmt: skip
    return _with_common_bands(made(text, 0)[SIGNATURE_COLUMN] for text in texts)


def near_by_datatrove(texts: Sequence[str]) -> set[int]:
    """The positions of texts with a bucket in common with an earlier one, by its first step for English texts."""
    step = _datatrove_step()
    shingles = [step.get_shingles(text) for text in texts]
    return _with_common_bands([*map(tuple, step.get_signature(each))] if each.size else [] for each in shingles)


@cache
def _datatrove_step() -> Any:
    from datatrove.pipeline.dedup.minhash import MinhashDedupSignature

    return MinhashDedupSignature("memory://signatures")


def _with_common_bands(signatures: Iterable[Sequence[Hashable]]) -> set[int]:
    seen: set[tuple[int, Hashable]] = set()
    near = set()
    for place, signature in enumerate(signatures):
        if not seen.isdisjoint(bands := [*enumerate(signature)]):
            near.add(place)
        seen.update(bands)
    return near


def run() -> dict[str, float]:
    """Measure and print; gives the figures."""
    return {**threads(), **indices(), **found_copies()}


if __name__ == "__main__":
    run()
    sys.exit()
