"""What clusters in files are described by is what stores say of the same documents."""

from __future__ import annotations

import json
import random

import numpy as np
import pyarrow as pa
import pytest

from indexer.batch.clusters.describing import origins_of, ranks_in
from indexer.clustering.canonical import CanonicalRule
from indexer.model import Fingerprint, Record, Ref
from indexer.model.origins import origin_of

RULES = [
    CanonicalRule(),
    CanonicalRule("longest"),
    CanonicalRule("field", "score", True),
    CanonicalRule("source", sources=("*/b/*", "https://*")),
]


@pytest.mark.parametrize("by_arrival", [True, False])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_documents_are_ranked_by_the_canonical_rule(rule: CanonicalRule, by_arrival: bool) -> None:
    draw = random.Random(5)
    # Of the same characters in UTF-8 and in UTF-16 the orders differ.
    names = [f"{letter}{number}" for letter in ("z", "é", "\ufb01", "\U0001f600", "") for number in range(40)]
    draw.shuffle(names)
    times = [draw.choice([None, "", "2026-01-02", "2026-01-01T10:00:00Z"]) for _ in names]
    scores = [draw.choice([None, 3, 2.5, "high"]) for _ in names]
    paths = [
        None,
        "/a/b/c",
        "https://h/x",
        "/a/x",
        "/a/Backup/c",
        "/OLD/Export/c (2).pdf",
        "/a/backup/old/c~",
        "old/x/copy",
        "letter.eml",
        "/Backup/LETTER.EML.gz",
        "/m/cur/1700000000.x:2,S",
        "/m/letter.eml/minutes.txt",
        "/all.tar.gz/Backup.zip/x",
    ]
    sources = [draw.choice(paths) for _ in names]
    tokens = [draw.randrange(3) for _ in names]
    arrivals = np.array(draw.sample(range(1000), len(names)), dtype=np.int64)
    columns = {
        "id": pa.array(names),
        "time": pa.array(times, pa.string()),
        "source": pa.array(sources, pa.string()),
        "tokens": pa.array(tokens, pa.int64()),
        "metadata": pa.array([None if score is None else json.dumps({"score": score}) for score in scores]),
    }
    rows = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    def key(place: int) -> object:
        name = "" if by_arrival else names[place]
        known = {} if scores[place] is None else {"score": scores[place]}
        about = {"indexed_at": times[place] or "", "source": sources[place] or "", "metadata": known}
        return rule.key(Record(Ref(name), Fingerprint(0, tokens[place]).sketches(()), **about)), arrivals[
            place
        ] * by_arrival

    expected = sorted(range(len(names)), key=key)  # type: ignore[arg-type]
    assert np.argsort(ranks_in(rows, rule, arrivals if by_arrival else None)).tolist() == expected


def test_origins_are_those_of_the_documents_of_each_cluster() -> None:
    draw = random.Random(6)
    few = [None, "", "/a/b/x.html", "/a/b/y.html", "https://one/x", "https://one/y"]
    many = [*few, *map("https://h{}/".format, range(150))]
    of = np.sort(np.array([draw.randrange(4) for _ in range(900)], dtype=np.int64))
    sources = [draw.choice(few if number < 2 else many) for number in of.tolist()]
    expected: list[set[str]] = [set(), set(), set(), set()]
    for number, source in zip(of.tolist(), sources, strict=True):
        expected[number].add(origin_of(source or ""))
    found = origins_of(pa.array(sources, pa.string()), of)
    assert found == [min(len(one), 100) for one in expected]
    assert found[0] == 3
    assert found[3] == 100
    assert origins_of(pa.array([], pa.string()), of[:0]) == []
