"""The statistics of a corpus: counted right, bounded, and read back."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import UsageError
from indexer.text.corpus import MAGIC, Corpus, CorpusBuilder, gather, read_corpus, resource_name
from indexer.text.features import Features, hashes_of, parse_recipe, recipe

WORDS = recipe()
TEXTS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=8).map(" ".join), max_size=12)


def counted(texts: list[str]) -> Counter[str]:
    return Counter(word for text in texts for word in set(text.split()))


def frequencies(of: Corpus) -> dict[int, int]:
    return dict(zip(of.hashes.tolist(), of.frequencies.tolist(), strict=True))


def hashed(words: Counter[str]) -> dict[int, int]:
    return {int(hashes_of([word.encode()])[0]): count for word, count in words.items()}


@given(TEXTS)
def test_it_counts_documents_not_occurrences(texts: list[str]) -> None:
    found = gather(texts, WORDS)
    words = counted(texts)
    assert found.documents == len(texts)
    assert frequencies(found) == hashed(Counter({word: count for word, count in words.items() if count > 1}))
    assert found.missed == (1 in words.values())
    asked = hashes_of([*(word.encode() for word in words), b"never"])
    assert found.frequency(asked).tolist() == [*words.values(), 1]
    if texts:
        assert found.idf(asked).tolist() == pytest.approx([np.log1p(len(texts) / n) for n in (*words.values(), 1)])


@given(TEXTS, TEXTS)
def test_the_order_of_texts_does_not_matter(left: list[str], right: list[str]) -> None:
    assert gather(left + right, WORDS).to_bytes() == gather(right + left, WORDS).to_bytes()
    assert gather(left + right, WORDS).digest == gather(right + left, WORDS).digest


@given(TEXTS)
def test_what_was_left_out_stays_within_what_is_said(texts: list[str]) -> None:
    made = gather(texts, WORDS)
    exact, found = hashed(counted(texts)), frequencies(made)
    assert all(0 <= count - found.get(word, 0) <= made.missed for word, count in exact.items())


@given(TEXTS, st.integers(1, 6))
@settings(max_examples=200)
def test_memory_is_bounded_and_what_that_costs_is_said(texts: list[str], limit: int) -> None:
    builder = CorpusBuilder(WORDS, limit)
    for text in texts:
        builder.add(text)
    found = builder.corpus(least=1)
    assert found.hashes.size <= limit
    kept = frequencies(found)
    assert all(0 <= count - kept.get(word, 0) <= found.missed for word, count in hashed(counted(texts)).items())


@given(TEXTS)
def test_it_is_read_back_as_it_was(texts: list[str]) -> None:
    found = gather(texts, recipe("shingles", 2, stop="en"))
    again = read_corpus(found.to_bytes())
    assert again.to_bytes() == found.to_bytes()
    assert again.recipe == found.recipe
    assert again.digest == found.digest
    assert again.digest.startswith("c")


def test_the_digest_tells_collections_apart() -> None:
    digests = {gather(texts, WORDS).digest for texts in ([], ["a"], ["a", "a"], ["b", "b"])}
    digests.add(gather(["a", "a"], recipe("chars", 1)).digest)
    assert len(digests) == 5


GOOD = gather(["a b", "a b c", "c"], WORDS).to_bytes()
LINE = GOOD.index(b"\n", len(MAGIC))
BODY = GOOD[LINE + 1 :]


def with_header(**changed: object) -> bytes:
    header = json.loads(GOOD[len(MAGIC) : LINE])
    return MAGIC + json.dumps({**header, **changed}).encode() + b"\n" + BODY


@pytest.mark.parametrize(
    "data",
    [
        b"",
        GOOD[:-1],
        GOOD + b"\0",
        b"x" + GOOD,
        MAGIC,
        MAGIC + b"[" * 100_000,
        MAGIC + b"[" * 1000 + b"\n",
        MAGIC + b"[]\n",
        MAGIC + b"\xff\n",
        with_header(terms=2**62),
        with_header(terms=-3),
        with_header(terms="3"),
        with_header(documents=1),
        with_header(documents=2**40),
        with_header(documents=None),
        with_header(recipe="words"),
        with_header(recipe=7),
        GOOD[: LINE + 1] + BODY[8:16] + BODY[:8] + BODY[16:],
        GOOD[: LINE + 1] + BODY[:-4] + bytes(4),
    ],
    ids=range(19),
)
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(UsageError):
        read_corpus(data, "here")


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    for damaged in (data, MAGIC + data, GOOD[: LINE + 1] + data):
        if damaged != GOOD:
            with pytest.raises(UsageError):
                read_corpus(damaged)


def test_what_does_not_fit_together_is_refused() -> None:
    for limit in (0, 10**9):
        with pytest.raises(UsageError, match="limit"):
            CorpusBuilder(WORDS, limit)


def test_its_name_is_one_that_stores_keep() -> None:
    made = recipe("shingles", stop="auto", tokenizer="icu", lower=False)
    name = resource_name(made)
    assert len(name) <= 100
    assert all(c.isalnum() or c in "-_.:=" for c in name)
    assert parse_recipe(name.removeprefix("corpus.")) == made
    with pytest.raises(UsageError, match="stop"):
        resource_name(recipe("shingles", stop="ar.bg.cs.da.de.el.en.es.et.fa.fi.fr"))


def test_features_are_counted_once_a_document() -> None:
    found = Features(np.array([1, 5], dtype=np.uint64), np.array([9, 1], dtype=np.int64))
    assert frequencies(CorpusBuilder(WORDS).add_features(found).add_features(found).corpus()) == {1: 2, 5: 2}
