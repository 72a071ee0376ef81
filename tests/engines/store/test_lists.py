"""A store that is a list or a pattern reads, beside its parts, what is kept beside each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.cli import main
from indexer.library.opening import open_store
from indexer.model import Failure, Ref
from tests.engines.servers import Server
from tests.stores.made import INFO, cluster, put, record


@pytest.fixture
def parts(server: Server, index_name: str) -> dict[str, str]:
    """Three stores: two with all that may be beside one, the third with nothing; their URLs by their last letter."""
    urls = {letter: f"{server.url}/{index_name}-{letter}" for letter in "abc"}
    for number, (letter, url) in enumerate(urls.items()):
        with open_store(url, create=INFO) as store:
            put(store, *[record(f"{letter}{each}", 1000 * number + each) for each in range(3)])
            if letter != "c":
                store.put_failures([Failure(Ref(f"bad-{letter}"), "", f"reason-{letter}", "why", "", "d")])
                store.put_clusters([cluster(f"{letter}" * 32, title=letter), cluster("e" * 32, title=f"both-{letter}")])
                store.put_resource(f"of-{letter}", letter.encode() * 3)
    return urls


@pytest.mark.parametrize("names", ["a,b", "b,a", "a,b,c", "c,b,a", "*", "a*,b", "*,-c"])
def test_what_is_beside_each_part_is_read(
    server: Server, index_name: str, parts: dict[str, str], names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = ",".join(
        f"-{index_name}-{each[1:]}" if each.startswith("-") else f"{index_name}-{each}" for each in names.split(",")
    )
    url = f"{server.url}/{name}"
    with open_store(url, read_only=True) as store:
        counts = store.stats()
        assert counts.failures == {"reason-a": 1, "reason-b": 1}
        assert counts.documents == (9 if "c" in names.replace("-c", "") or names == "*" else 6)
        assert [failure.ref.id for failure in store.failures()] == ["bad-a", "bad-b"]
        assert [each.title for each in store.clusters()] == ["a", "b", "both-a", "both-b"]
        found = store.get_clusters(["b" * 32, "f" * 32, "a" * 32, "e" * 32])
        assert [each.title if each else None for each in found] == ["b", None, "a", "both-a"]
        assert [store.get_resource(each) for each in ("of-a", "of-b", "of-c")] == [b"aaa", b"bbb", None]
    capsys.readouterr()
    assert main(["failures", "--store", url]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["reason-a", "reason-b"]


def test_a_part_without_anything_beside_it(server: Server, index_name: str, parts: dict[str, str]) -> None:
    with open_store(f"{parts['c']},{index_name}-c", read_only=True) as store:
        assert store.stats().failures == {}
        assert not [*store.failures(), *store.clusters()]
        assert store.get_clusters(["a" * 32]) == [None]


def test_commands_on_a_list(server: Server, index_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What clustering found in each of two stores is reported of both."""
    monkeypatch.chdir(tmp_path)
    for letter in "ab":
        url = f"{server.url}/{index_name}-{letter}"
        with open_store(url, create=INFO) as store:
            put(store, *[record(f"{letter}{each}", ord(letter) << 40) for each in range(4)])
        assert main(["cluster", "--store", url]) == 0
    with open_store(f"{server.url}/{index_name}-a,{index_name}-b", read_only=True) as store:
        assert [each.size for each in store.clusters()] == [4, 4]
    assert main(["report", "--store", f"{server.url}/{index_name}-a,{index_name}-b", "--format", "md"]) == 0
