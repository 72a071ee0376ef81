"""Items as lists of a few."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from indexer.model.chunking import chunks, chunks_by_size


@given(st.lists(st.integers(0, 9)), st.integers(1, 5), st.integers(1, 20))
def test_every_item_comes_once_and_in_order(items: list[int], most: int, size: int) -> None:
    by_size = list(chunks_by_size(items, most, int, size))
    for lists in (list(chunks(items, most)), by_size):
        assert [item for each in lists for item in each] == items
        assert all(0 < len(each) <= most for each in lists)
        assert all(len(each) == most for each in lists[:-1] if lists is not by_size)
    for each in by_size[:-1]:
        assert len(each) == most or sum(each) >= size
        assert sum(each[:-1]) < size
