"""The indices beside a store's own."""

from __future__ import annotations

from typing import get_args

from indexer.engine.client.names import SideKind, reading_path


def test_what_lies_beside_a_store_is_no_part_of_a_pattern() -> None:
    left_out = reading_path("news*").split(",")[1:]
    assert left_out == [f"-neardup-*-{kind}" for kind in get_args(SideKind)]
