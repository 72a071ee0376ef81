"""Rows of different lengths behave as a list of rows does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import UsageError
from indexer.ragged import Ragged

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
