"""The keys of a simhash and the guarantee of the lookup plans, checked for every pattern of differing bits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import UsageError
from indexer.schemes.keys.layout import KeyLayout
from indexer.schemes.keys.simhash64 import (
    CELLS,
    MAX_DISTANCE,
    PLANS,
    SIMHASH64_LAYOUT,
    key_cells,
    key_positions,
    probes,
    simhash_keys,
)

values = st.integers(0, 2**64 - 1)


def naive_keys(value: int) -> list[int]:
    """The 16 keys as the text of the definition reads, on a string of bits."""
    bits = f"{value:064b}"
    keys = []
    for b in range(4):
        block, left = bits[16 * b : 16 * b + 16], bits[: 16 * b] + bits[16 * b + 16 :]
        keys += [int(f"{4 * b + s:b}" + block + left[12 * s : 12 * s + 12], 2) for s in range(4)]
    return keys


def patterns(distance: int, cells: tuple[int, ...] = CELLS) -> Iterator[tuple[int, ...]]:
    """Every way of spreading exactly `distance` differing bits over the cells."""
    if not cells:
        if distance == 0:
            yield ()
        return
    for here in range(min(distance, cells[0]) + 1):
        for rest in patterns(distance - here, cells[1:]):
            yield (here, *rest)


@settings(deadline=None)
@given(values)
def test_the_keys_are_the_definition(value: int) -> None:
    assert list(simhash_keys(value)) == naive_keys(value)


def test_a_key_by_hand() -> None:
    keys = simhash_keys(0x0123_4567_89AB_CDEF)
    assert [f"{key:08x}" for key in keys[:5]] == ["00123456", "10123789", "20123abc", "30123def", "44567012"]
    assert SIMHASH64_LAYOUT.unpack(keys[4]) == (4, 0x4567012)
    assert SIMHASH64_LAYOUT.term(0x4567012) == "4567012"
    assert SIMHASH64_LAYOUT.field(4) == "t04"


@settings(deadline=None)
@given(st.integers(0, 15), st.integers(0, 2**28 - 1))
def test_packing_goes_both_ways(table: int, key: int) -> None:
    packed = SIMHASH64_LAYOUT.pack(table, key)
    assert SIMHASH64_LAYOUT.unpack(packed) == (table, key)
    assert 0 <= packed < SIMHASH64_LAYOUT.end


def test_terms_of_odd_widths_keep_their_zeros() -> None:
    assert KeyLayout(tables=3, bits=13).term(1) == "0001"


@settings(deadline=None)
@given(values)
def test_positions_say_where_the_bits_of_a_key_are(value: int) -> None:
    for table, packed in enumerate(simhash_keys(value)):
        key = "".join(str(value >> (63 - position) & 1) for position in key_positions(table))
        assert SIMHASH64_LAYOUT.unpack(packed) == (table, int(key, 2))


def test_cells_are_the_finest_partition() -> None:
    # Bits of one cell are in the key of the same tables, on the same side, and a key is made of whole cells in order.
    cell_of = [cell for cell, size in enumerate(CELLS) for _ in range(size)]
    assert len(cell_of) == 64
    for table in range(16):
        cells = [cell_of[position] for position in key_positions(table)]
        assert cells == [cell for cell in key_cells(table) for _ in range(CELLS[cell])]


@pytest.mark.parametrize("distance", range(MAX_DISTANCE + 1))
def test_a_plan_misses_no_pattern_within_its_radius(distance: int) -> None:
    words = {table: set(row.split()) for table, row in PLANS[distance].items()}
    seen = 0
    for bits in range(distance + 1):
        for pattern in patterns(bits):
            seen += _ways(pattern)
            assert any("".join(str(pattern[c]) for c in key_cells(t)) in chosen for t, chosen in words.items()), pattern
    # The classes stand for every single pattern of bits: none was left out.
    assert seen == sum(comb(64, bits) for bits in range(distance + 1))


def _ways(pattern: tuple[int, ...]) -> int:
    ways = 1
    for size, count in zip(CELLS, pattern, strict=True):
        ways *= comb(size, count)
    return ways


def test_three_bits_are_found_without_flips() -> None:
    # Each of the 41,664 patterns of three bits, one by one and by the keys themselves.
    own = set(simhash_keys(0))
    found = sum(not own.isdisjoint(simhash_keys(1 << a | 1 << b | 1 << c)) for a, b, c in combinations(range(64), 3))
    assert found == 41_664


@pytest.mark.parametrize("distance", range(MAX_DISTANCE + 1))
def test_dropping_any_word_loses_pairs(distance: int) -> None:
    # Each word is needed: the plan without it misses a pattern that only it covers.
    plan = [(table, key_cells(table), set(row.split())) for table, row in PLANS[distance].items()]
    needed: set[tuple[int, str]] = set()
    for bits in range(distance + 1):
        for pattern in patterns(bits):
            digits = "".join(map(str, pattern))
            shown = ((table, "".join([digits[cell] for cell in cells]), words) for table, cells, words in plan)
            covering = [(table, word) for table, word, words in shown if word in words]
            if len(covering) == 1:
                needed.add(covering[0])
    assert needed == {(table, word) for table, _, words in plan for word in words}


@settings(deadline=None)
@given(values, st.sets(st.integers(0, 63), max_size=MAX_DISTANCE), st.integers(0, MAX_DISTANCE))
def test_probes_find_every_value_within_the_radius(value: int, flipped: set[int], distance: int) -> None:
    other = value
    for bit in flipped:
        other ^= 1 << bit
    asked = probes(value, max(distance, len(flipped)))
    assert not set(asked).isdisjoint(simhash_keys(other))


@settings(deadline=None)
@given(values)
def test_probes_are_packed_keys_without_repetition(value: int) -> None:
    for distance in range(MAX_DISTANCE + 1):
        asked = probes(value, distance)
        assert len(set(asked)) == len(asked) == PROBES[distance]
        assert all(type(key) is int and 0 <= key < SIMHASH64_LAYOUT.end for key in asked)


PROBES = (1, 2, 6, 16, 90, 278, 744, 1968)


@pytest.mark.parametrize("distance", [-1, 8, 64])
def test_other_distances_are_refused(distance: int) -> None:
    with pytest.raises(UsageError, match="from 0 to 7"):
        probes(0, distance)


@pytest.mark.parametrize("distance", range(6))
def test_no_cheaper_plan_exists(distance: int) -> None:
    milp = pytest.importorskip(
        "scipy.optimize", reason="NEEDS SCIPY: that the plans are the cheapest was not derived again"
    ).milp
    assert _cheapest(distance, milp) == PROBES[distance]


def _cheapest(distance: int, milp: object) -> int:
    """The cost of the cheapest plan: a set cover of the patterns by words, solved to optimality."""
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint
    from scipy.sparse import coo_array

    columns: dict[tuple[int, tuple[int, ...]], int] = {}
    cost: list[int] = []
    rows, cols = [], []
    every = [pattern for bits in range(distance + 1) for pattern in patterns(bits)]
    for row, pattern in enumerate(every):
        for table in range(16):
            word = tuple(pattern[cell] for cell in key_cells(table))
            column = columns.setdefault((table, word), len(columns))
            if column == len(cost):
                cost.append(
                    _ways(tuple(word[key_cells(table).index(c)] if c in key_cells(table) else 0 for c in range(10)))
                )
            rows.append(row)
            cols.append(column)
    cover = coo_array((np.ones(len(rows)), (rows, cols)), shape=(len(every), len(cost))).tocsr()
    solved = milp(
        np.array(cost, dtype=float),
        integrality=np.ones(len(cost)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(cover, 1, np.inf),
        options={"mip_rel_gap": 0},
    )
    assert solved.status == 0
    return round(solved.fun)
