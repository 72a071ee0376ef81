"""Workers that extract begin here as they do for users, with nothing imported."""

from __future__ import annotations

import subprocess

import pytest

from indexer import extract
from indexer.extract import pool


@pytest.fixture(autouse=True)
def started_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without those that are forked (`tests/warm.py`), also by tests of other folders."""
    extract._end()
    monkeypatch.setattr(pool, "subprocess", subprocess)
