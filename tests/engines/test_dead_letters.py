"""What a store refused is written so that `neardup index` reads it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer import jsonlines
from indexer.errors import StoreError
from indexer.stores.dead_letters import REASON, DeadLetters


def test_a_refused_document_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "refused.jsonl"
    with DeadLetters(path) as letters:
        assert not path.exists()
        letters.write("a", "mapper_parsing_exception: no date", "some text\n", title="T", url="u", metadata={"k": [1]})
        letters.write("b\udc80", "too long", "<p>ü</p>", html=True)
        assert letters.count == 2
    with DeadLetters(path) as letters:
        letters.write("c", "r", "x")
    assert path.stat().st_mode & 0o777 == 0o600
    with path.open("rb") as opened:
        first, second, third = jsonlines.read(opened, compressed=False, limit=10_000)
    assert isinstance(first, jsonlines.Line)
    assert (first.id, first.data, first.title, first.url) == ("a", b"some text\n", "T", "u")
    assert first.metadata == {"k": [1], REASON: "mapper_parsing_exception: no date"}
    assert isinstance(second, jsonlines.Line)
    assert second.format == "html"
    assert second.data.endswith("<p>ü</p>".encode())
    assert isinstance(third, jsonlines.Line)


def test_a_file_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    with DeadLetters(tmp_path / "no" / "folder.jsonl") as letters, pytest.raises(StoreError, match=r"folder\.jsonl"):
        letters.write("a", "r", "x")
