"""Documents that wait for a later one with their id: for how long, and how many of them."""

from __future__ import annotations

import pytest

from indexer.extract.base import Item
from indexer.ingest import left_out
from indexer.ingest.left_out import HeldBack
from indexer.model import Ref


def held(*names: str) -> HeldBack[str]:
    waiting: HeldBack[str] = HeldBack(Ref)
    for name in names:
        waiting.hold(Item(name, name.encode() * 10, "", "text"))
    return waiting


def test_all_of_them_come_at_the_end_but_those_that_a_later_one_replaced() -> None:
    waiting = held("a", "b", "c")
    assert waiting.due() == []
    assert waiting.drop(Ref("b"))
    assert not waiting.drop(Ref("b"))
    assert [item.key for item in waiting.due(at_the_end=True)] == ["a", "c"]
    assert waiting.due(at_the_end=True) == []


def test_the_first_of_too_many_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_out, "_MOST_BYTES", 25)
    waiting = held("a", "b", "c", "d")
    assert [item.key for item in waiting.due()] == ["a", "b"]
    assert [item.key for item in waiting.due(at_the_end=True)] == ["c", "d"]


def test_none_waits_long(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = held("a", "b")
    monkeypatch.setattr(left_out, "_MOST_SECONDS", 0.0)
    assert [item.key for item in waiting.due()] == ["a", "b"]
