"""Batches in which the choice of what is kept matters, and the choice that a slow reading of the rule makes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from indexer.batch.clusters.clustering import ClusteringOptions, cluster
from indexer.batch.form import Form
from indexer.batch.reading import rule_of
from indexer.clustering.canonical import CanonicalRule
from tests.batch.batched import MINHASH, sketched
from tests.planted import collection, named

FORM = Form((MINHASH,), time_field="seen")


EARLIEST = CanonicalRule("earliest")


Decided = dict[str, tuple[bool, str | None, float | None]]


def drifting(families: int, members: int = 16, words: int = 100, share: float = 0.02) -> list[str]:
    """Families of texts of which each has some words of the one before exchanged: the ends share nothing near."""
    draw = random.Random(24)
    texts = []
    for _ in range(families):
        text = [f"w{draw.randrange(20_000)}" for _ in range(words)]
        for _ in range(members):
            texts.append(" ".join(text))
            for place in draw.sample(range(words), max(1, round(share * words))):
                text[place] = f"w{draw.randrange(20_000)}"
    draw.shuffle(texts)
    return texts


def mixed(seed: int = 5, count: int = 150) -> list[str]:
    """Versions of documents, equal ones, short ones and ones without words, of different lengths."""
    texts = list(named(collection(seed, count)).values())
    draw = random.Random(seed)
    texts += [draw.choice(texts) for _ in range(count // 10)] + ["short text", "", "1234"]
    draw.shuffle(texts)
    return texts


def batch(folder: Path, texts: Sequence[str], files: int = 3, time: bool = True) -> Path:
    """The sketches of texts in files, in their order, with the place of each as its id and its time."""
    (folder / "in").mkdir(parents=True)
    size = -(-len(texts) // files)
    for number in range(files):
        rows = [
            {"id": f"t{place}", "text": text, "seen": f"{place:09}" if time else None}
            for place, text in enumerate(texts)
        ][number * size : (number + 1) * size]
        if rows:
            pq.write_table(pa.Table.from_pylist(rows), folder / "in" / f"{number}.parquet")
    sketched(folder / "in", folder / "out", FORM)
    return folder / "out"


def decided_in(out: Path, name: str = "clusters") -> Decided:
    rows = [row for path in (out / name).glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    return {row["id"]: (row["keep"], row["duplicate_of"], row["duplicate_similarity"]) for row in rows}


def chosen(out: Path, canonical: CanonicalRule = EARLIEST, rule: str | None = None, **more: Any) -> Decided:
    """What sketches alone keep of a batch."""
    wanted = ClusteringOptions(rule_of(FORM, rule), canonical, threads=1, permitted=None, **more)
    said = cluster(str(out), str(out), wanted)
    found = decided_in(out)
    assert said["kept"] == sum(kept for kept, _, _ in found.values())
    assert said["kept"] + said["removed"] == len(found)
    return found
