"""The relation of two documents of an index is the same in every command, by the words that are kept beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

import indexer
from tests.engines.annotated import annotate, fill
from tests.engines.servers import Server
from tests.words_known import said, write


def test_every_command_says_the_same(
    server: Server, index_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    url = f"{server.url}/{index_name}"
    with indexer.open(url) as collection:
        collection.index(".")
        assert collection.cluster().relations == {"reworded": 3, "noise": 1}
    assert set(said(url).values()) == {"noise"}


def test_so_it_is_with_an_owners_documents(server: Server, index_name: str, tmp_path: Path) -> None:
    write(tmp_path)
    fill(server, index_name, {path.name: {"body": path.read_text()} for path in tmp_path.glob("*.txt")})
    url = f"{server.url}/{index_name}"
    annotate(url, "--field", "body")
    with indexer.open(url) as collection:
        collection.cluster()
    assert set(said(url).values()) == {"noise"}
