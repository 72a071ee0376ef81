"""Texts made to be dear or to deceive, in a file with passages; with NEARDUP_ALL as large as they get."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import indexer
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.matching.lookups import Answer, lookup
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.model import SIMHASH_DOC, Record, Ref
from indexer.schemes import registry
from indexer.schemes.testing import document
from indexer.stores import Store
from indexer.text.words import words_of

ALL = bool(os.environ.get("NEARDUP_ALL"))
SCHEMES = [registry.scheme(SIMHASH_DOC), registry.scheme("passages")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "hostile.neardup", create=store_info("landmarks", SCHEMES[1:])) as opened:
        yield opened


def made(name: str, text: str) -> Record:
    return Record(Ref(name), {scheme.family: sketch for scheme in SCHEMES if (sketch := scheme.sketch(text))})


def put(store: Store, *records: Record) -> None:
    assert not [result.reason for result in store.put(records) if result.reason]


def asked(store: Store, question: Question, rule: str = "passages@0.5") -> Answer:
    return lookup(store, parse_rule(rule, store), question, limit=3, include_short=True)


_REPEATED = """
import sys
from indexer.schemes import registry
sketch = registry.scheme("passages").sketch(b"word " * int(sys.argv[1]))
assert sketch is not None and len(sketch.keys) == 1, sketch
"""


def test_a_word_repeated_very_often_is_one_key() -> None:
    count = 50_000_000 if ALL else 1_000_000
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    subprocess.run([sys.executable, "-c", _REPEATED, str(count)], check=True, timeout=600)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    # The text itself, and what its words take: no more than 60 bytes a word.
    assert peak <= max(before, 150_000 + 60 * count // 1024)


def test_equal_pages_are_kept_once_and_all_found(store: Store) -> None:
    count = 100_000 if ALL else 5000
    page = made("page", document(1, 400))
    put(store, *[replace(page, ref=Ref(f"{number}")) for number in range(count)])
    put(store, made("other", document(2, 400)))
    answer = asked(store, Question("asked", record=page))
    assert (answer.total, answer.set_aside, len(answer.matches)) == (count, 0, 3)
    assert {match.similarity for match in answer.matches} == {1.0}


def test_what_every_page_says_neither_hides_what_few_say_nor_is_asked_for(store: Store) -> None:
    count = 20_000 if ALL else 1500
    licence, chapter = document(3, 300), document(4, 300)
    put(store, *[made(f"{number}", f"{document(number + 10, 60)} {licence}") for number in range(count)])
    put(store, made("book", f"{document(5, 2000)} {chapter} {document(6, 2000)} {licence}"))
    answer = asked(store, Question("asked", f"{chapter} {licence}"))
    # Of the keys, the licence's are set aside; the rest lead to the book alone.
    assert [match.record.ref.id for match in answer.matches] == ["book"]
    assert 5 < answer.set_aside < answer.keys - 5
    assert answer.candidates < 10
    # A question of common keys only is answered.
    answer = asked(store, Question("asked", licence))
    assert answer.set_aside == answer.keys > 5
    assert answer.total == min(answer.candidates, count + 1)
    assert answer.candidates == min(10_000, count + 1)


def test_a_text_of_all_keys_of_another_is_none_that_has_its_passages(tmp_path: Path) -> None:
    text = document(7, 20_000 if ALL else 3000)
    words = text.split()
    hashes = registry.scheme("passages").sketch(text)
    assert hashes is not None
    # The five words of each key, in another order, so that no longer row of words is in both.
    shingles = {" ".join(words[at : at + 5]) for at in range(len(words) - 4)}
    chosen = []
    for shingle in sorted(shingles):
        sketch = registry.scheme("passages:window=1").sketch(shingle)
        assert sketch is not None
        if np.isin(sketch.keys[0], hashes.keys):
            chosen.append(shingle)
    random.Random(1).shuffle(chosen)
    forged = " ".join(chosen)
    assert len(words_of(forged)) < len(words) / 2
    (tmp_path / "honest.txt").write_text(text)
    with indexer.open(tmp_path / "store.db", schemes=["passages"]) as opened:
        opened.index([tmp_path / "honest.txt"])
        # By keys alone it looks like a part of the other one; the texts say that it is none.
        assert asked(opened.store, Question("asked", forged)).total == 1
        assert asked(opened.store, Question("asked", forged), "passages@0.5+aligned@0.5").total == 0
        assert asked(opened.store, Question("asked", forged), "passages@40words").total == 0
