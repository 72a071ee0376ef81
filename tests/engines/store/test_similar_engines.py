"""Many questions to an engine: few requests, and the answers that each has alone."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import indexer
from tests import warm
from tests.cli.written import changed, prose
from tests.engines.annotated import neardup
from tests.engines.proxy import Proxy
from tests.engines.servers import Server

pytestmark = pytest.mark.usefixtures("clean")
COUNT = 120


def test_many_files_and_ids_are_asked_about_in_few_requests(server: Server, index_name: str, tmp_path: Path) -> None:
    proxy = Proxy(server.url)
    try:
        url, stored = f"{proxy.url}/{index_name}", f"{server.url}/{index_name}"
        with indexer.open(stored) as collection:
            collection.add_many((f"d{number}", prose(number)) for number in range(COUNT))
        for number in range(COUNT):
            (tmp_path / f"{number:03}.txt").write_text(changed(prose(number)), "utf-8")
        proxy.requests.clear()
        done = neardup("similar", str(tmp_path), "--store", url, "--json")
        asked = Counter(path.partition("?")[0].rpartition("/")[2] for _, path in proxy.requests)
        answers = list(map(json.loads, done.stdout.splitlines()))
        assert [[match["id"] for match in each["matches"]] for each in answers] == [[f"d{n}"] for n in range(COUNT)]
        # Three groups: the files' own identities, and what is near them.
        assert asked["_search"] + asked["_msearch"] <= 3 + 4, asked
        assert sum(asked.values()) <= 20, asked
        assert answers[7] == json.loads(neardup("similar", str(tmp_path / "007.txt"), "--store", url, "--json").stdout)
        ids = [word for number in range(60) for word in ("--id", f"d{number}")]
        proxy.requests.clear()
        found = neardup("similar", *ids, "--store", url, "--json").stdout.splitlines()
        assert [json.loads(line)["total"] for line in found] == [0] * 60
        assert len(proxy.requests) <= 20, proxy.requests
        # What a query narrows, and what the engine itself verifies where it can, is so for each of many.
        narrowed = [str(tmp_path / "000.txt"), "d1", "--store", url, "--json", "--filter", "neardup.title:*", "-k", "3"]
        lines = neardup("similar", *narrowed).stdout
        assert [json.loads(line)["total"] for line in lines.splitlines()] == [1, 0]
        done = warm.run_text("similar", *narrowed, "--verify-in-engine")
        assert done.stdout == lines if done.returncode == 0 else "does not run Painless" in done.stderr
    finally:
        proxy.close()


def test_the_nearest_are_found_however_distant(server: Server, index_name: str) -> None:
    texts = {f"d{number}": prose(number) for number in range(30)}
    asked = " ".join(prose(3).split()[:30] + prose(900).split()[:60])
    memory = indexer.MemoryIndex()
    memory.insert_many(texts.items())
    with indexer.open(f"{server.url}/{index_name}") as collection:
        collection.add_many(texts.items())
        assert not collection.similar(asked)
        found = collection.similar(asked, at_least=0, limit=None)
        assert {match.id: match.similarity for match in found} == {
            near.id: pytest.approx(near.similarity) for near in memory.query(asked, at_least=0, limit=None)
        }
        assert found[0].id == "d3"
        # A stored document is no answer to itself, and what a query narrows is so here too.
        assert "d3" not in {match.id for match in collection.similar(id="d3", at_least=0, limit=None)}
    done = neardup(
        "similar",
        "--id",
        "d3",
        "--at-least",
        "0",
        "--filter",
        "_id:d7",
        "--store",
        f"{server.url}/{index_name}",
        "--json",
    )
    assert [match["id"] for match in json.loads(done.stdout)["matches"]] == ["d7"]
