"""Rows of different lengths behave as a list of rows does."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import UsageError
from indexer.model.ragged import Ragged
from indexer.schemes.keys.layout import KeyLayout
from indexer.schemes.keys.postings import KeyPostings

rows_of_bytes = st.lists(st.binary(max_size=9), max_size=12)


@given(rows_of_bytes, st.data())
def test_rows_are_those_of_a_list(rows: list[bytes], data: st.DataObject) -> None:
    table = Ragged.of_bytes(rows)
    assert [table.bytes_of(number) for number in range(len(table))] == rows
    assert table.sizes.tolist() == [len(row) for row in rows]
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)) if rows else []
    taken = table.take(np.array(chosen, dtype=np.int64))
    assert [taken.bytes_of(number) for number in range(len(taken))] == [rows[place] for place in chosen]
    mask = np.array([len(row) % 2 == 0 for row in rows], dtype=np.bool_)
    kept = table.take(mask)
    assert [kept.bytes_of(number) for number in range(len(kept))] == [row for row in rows if len(row) % 2 == 0]


@given(st.lists(rows_of_bytes, max_size=4))
def test_joined_tables_have_all_rows_in_order(parts: list[list[bytes]]) -> None:
    table = Ragged.joined([Ragged.of_bytes(rows) for rows in parts])
    assert [table.bytes_of(number) for number in range(len(table))] == [row for rows in parts for row in rows]


def test_a_matrix_has_rows_of_one_length() -> None:
    matrix = np.arange(12, dtype=np.int64).reshape(4, 3)
    table = Ragged.of_matrix(matrix)
    assert np.array_equal(table.matrix(3), matrix)
    assert np.array_equal(Ragged.of_integers(matrix.tolist()).matrix(3), matrix)
    with pytest.raises(UsageError, match="a row of 3 values where each has 4"):
        table.matrix(4)


def test_many_rows_of_different_lengths_are_taken_in_parts() -> None:
    sizes = np.random.default_rng(1).integers(0, 5, 20_000)
    rows = [[number] * size for number, size in enumerate(sizes.tolist())]
    chosen = np.random.default_rng(2).integers(0, len(rows), 15_000)
    taken = Ragged.of_integers(rows).take(chosen)
    assert [taken.row(number).tolist() for number in range(len(taken))] == [rows[place] for place in chosen.tolist()]


@given(st.lists(st.lists(st.integers(0, 11), max_size=5), max_size=9))
def test_shared_keys_are_those_that_two_rows_hold(rows: list[list[int]]) -> None:
    # Three tables of keys of two bits; a row may have several keys of one table, and one of them twice.
    found = KeyPostings.shared(Ragged.of_integers(rows), KeyLayout(tables=3, bits=2))
    holders = {key: [place for place, row in enumerate(rows) if key in row] for key in range(12)}
    wanted = [(key, place) for key, places in holders.items() if len(places) > 1 for place in places]
    assert list(zip(found.keys.tolist(), found.owners.tolist(), strict=True)) == wanted
    offsets = found.buckets().tolist()
    assert [found.owners[a:b].tolist() for a, b in pairwise(offsets)] == [
        places for places in holders.values() if len(places) > 1
    ]
