"""What the tests of an owner's indices share."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engines.annotated import neardup
from tests.engines.servers import Server

# Mappings that show nothing of what documents have beside it.
UNSEEN: dict[str, dict[str, Any]] = {
    "dynamic false": {"dynamic": False},
    "not enabled": {"enabled": False},
    "runtime": {"dynamic": "runtime"},
}


def remove(url: str, *flags: str, code: int = 0) -> str:
    """Run `neardup setup --remove`, and what it said."""
    return neardup("setup", "--store", url, "--remove", *flags, code=code).stderr


def require(server: Server, index: str, mapping: dict[str, Any]) -> None:
    """Skip where the engine at hand knows no such mapping."""
    answer = server.request("PUT", f"/{index}-kind", {"mappings": mapping})
    if "error" in answer:
        pytest.skip(f"NOT IN THIS {server.name}: {answer['error']['reason']}")
    server.request("DELETE", f"/{index}-kind")


def state(server: Server, index: str) -> Any:
    """All of an index: mappings, settings, aliases, documents with their versions."""
    server.request("POST", f"/{index}/_refresh")
    hits = server.request("POST", f"/{index}/_search", {"size": 1000, "version": True, "sort": ["_doc"]})["hits"][
        "hits"
    ]
    return server.request("GET", f"/{index}"), hits


def alias_of(server: Server, *indices: str, name: str, write_index: str = "") -> None:
    """Let a name stand for indices."""
    actions = [{"add": {"index": each, "alias": name, "is_write_index": each == write_index}} for each in indices]
    answer = server.request("POST", "/_aliases", {"actions": actions})
    assert "error" not in answer, answer
