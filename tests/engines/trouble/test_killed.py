"""Commands that are killed in the middle, and two at once: the next run has everything, once, in the same clusters."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from indexer.clustering.annotations import is_alone, stored_clusters
from indexer.library.opening import open_store
from indexer.stores import Store
from tests import warm
from tests.cli.written import changed, prose
from tests.clustered import cluster_store
from tests.engines import annotated  # noqa: F401 where the test documents are found
from tests.engines.servers import Server
from tests.stores.made import INFO, put, record

COMMAND = [sys.executable, "-m", "indexer"]


def run(*arguments: str, folder: Path) -> None:
    """A command that ends well."""
    done = warm.run(arguments, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stderr


def start(*arguments: str, folder: Path) -> subprocess.Popen[bytes]:
    """A command at work."""
    return subprocess.Popen([*COMMAND, *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill_when(process: subprocess.Popen[bytes], ready: Callable[[], bool]) -> None:
    """SIGKILL as soon as so much is done; fails where the command has ended before."""
    limit = time.monotonic() + 120
    while not ready() and process.poll() is None and time.monotonic() < limit:
        time.sleep(0.02)
    process.kill()
    assert process.wait() == -9, "it ended before it was killed"


def lines(texts: Iterable[tuple[str, str]], path: Path) -> None:
    """A file of JSON lines."""
    path.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts))


def members(store: Store) -> list[list[str]]:
    """Which documents are together, the canonical one of each cluster first."""
    return sorted([each.canonical.id, *sorted(ref.id for ref in each.members)] for each in stored_clusters(store))


def counted(server: Server, index: str, field: str) -> int:
    """How many documents have a field."""
    server.request("POST", f"/{index}/_refresh")
    return int(server.request("POST", f"/{index}/_count", {"query": {"exists": {"field": field}}}).get("count", 0))


def test_a_killed_index_run_again_has_every_document_once(server: Server, index_name: str, tmp_path: Path) -> None:
    names = [f"{number:05d}" for number in range(4000)]
    lines(((name, prose(int(name), 30)) for name in names), tmp_path / "all.jsonl")
    url = f"{server.url}/{index_name}"
    index = ("index", "all.jsonl", "--store", url, "--jobs", "1")
    run("setup", "--store", url, folder=tmp_path)
    process = start(*index, folder=tmp_path)
    kill_when(process, lambda: counted(server, index_name, "neardup.tokens") > 0)
    first = counted(server, index_name, "neardup.tokens")
    assert 0 < first < len(names)
    run(*index, folder=tmp_path)
    with open_store(url, read_only=True) as store:
        assert sorted(found.ref.id for found in store.scan()) == names
        assert list(store.failures()) == []
    assert server.request("GET", f"/{index_name}/_count")["count"] == len(names)


def test_two_indexers_at_once_are_reconciled_by_the_next_clustering(
    server: Server, index_name: str, tmp_path: Path
) -> None:
    texts = []
    for number in range(80):
        text = prose(number, 120)
        texts += [(f"{number}-{copy}", changed(text, copy) if copy else text) for copy in range(3)]
    random.Random(1).shuffle(texts)
    url = f"{server.url}/{index_name}"
    lines(texts, tmp_path / "all.jsonl")
    # Some documents come by both.
    lines(texts[:140], tmp_path / "one.jsonl")
    lines(texts[100:], tmp_path / "two.jsonl")
    run("setup", "--store", url, folder=tmp_path)
    both = [
        start("index", name, "--store", url, "--cluster", "--jobs", "1", folder=tmp_path)
        for name in ("one.jsonl", "two.jsonl")
    ]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
    run("index", "all.jsonl", "--store", "plain.neardup", "--jobs", "1", folder=tmp_path)
    # Times of arrival differ, so the canonical document is not the earliest but the longest, then the first by name.
    for store in (url, "plain.neardup"):
        run("cluster", "--store", store, "--canonical", "longest", folder=tmp_path)
    with open_store(url, read_only=True) as one, open_store(str(tmp_path / "plain.neardup"), read_only=True) as other:
        assert [each[1:] for each in members(one)] == [each[1:] for each in members(other)]
        assert len(list(one.scan())) == len(texts)
        # What is told of clusters as a whole is true of their members.
        sizes = {each.id: len(each.members) for each in stored_clusters(one, least=2)}
        assert {each.id: each.size for each in one.clusters()} == sizes
        assert cluster_store(one, dry_run=True).documents == len(texts)


def fill(store: Store) -> None:
    """2,400 documents in 1,200 pairs, and 600 alone, none near another."""
    generator = random.Random(7)
    values = [generator.getrandbits(64) for _ in range(1800)]
    pairs = [record(f"{n:04d}-{c}", value ^ c) for n, value in enumerate(values[:1200]) for c in (0, 1)]
    put(store, *pairs, *[record(f"{n:04d}", value) for n, value in enumerate(values[1200:])])


def wholly(store: Store) -> list[object]:
    """All that is stored about clusters; that a document is alone need not be said."""
    every = [(ref, dict(fields)) for ref, fields in store.scan_annotations()]
    # What dashboards alone need stands in engines alone.
    for _, fields in every:
        if "cluster" in fields:
            fields["cluster"] = {name: value for name, value in fields["cluster"].items() if name != "repeats_origin"}
    found = sorted(
        ((ref.id, annotations) for ref, annotations in every if not is_alone(ref, annotations)),
        key=lambda pair: pair[0],
    )
    clusters = [replace(one, repeated_origins=(), repeated_shares=()) for one in store.clusters()]
    return [*found, *clusters]


@pytest.fixture(scope="module")
def never_killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[object]]:
    """An embedded store before clustering, and what clustering makes of it."""
    folder = tmp_path_factory.mktemp("whole")
    with open_store(str(folder / "before.neardup"), create=INFO) as store:
        fill(store)
    shutil.copy(folder / "before.neardup", folder / "after.neardup")
    with open_store(str(folder / "after.neardup")) as store:
        cluster_store(store)
        return folder / "before.neardup", wholly(store)


def test_a_killed_clustering_of_an_embedded_store_is_completed(
    never_killed: tuple[Path, list[object]], tmp_path: Path
) -> None:
    before, wanted = never_killed
    path = tmp_path / "store.neardup"
    for least in (1, 700):
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        shutil.copy(before, path)

        def written(least: int = least) -> bool:
            with open_store(str(path), read_only=True) as store:
                return sum(1 for _ in store.clusters()) >= least

        kill_when(start("cluster", "-k", "3", "--no-relation", "--store", str(path), folder=tmp_path), written)
        with open_store(str(path)) as store:
            assert len(list(store.clusters())) >= least
            cluster_store(store)
            assert wholly(store) == wanted
            again = cluster_store(store).changes
        assert (again.documents, again.clusters, again.removed) == (0, 0, 0)


def test_a_killed_clustering_of_an_index_is_completed(
    server: Server, index_name: str, never_killed: tuple[Path, list[object]], tmp_path: Path
) -> None:
    _, wanted = never_killed
    url = f"{server.url}/{index_name}"
    with open_store(url, create=INFO) as store:
        fill(store)
    process = start("cluster", "-k", "3", "--no-relation", "--store", url, folder=tmp_path)
    kill_when(process, lambda: counted(server, index_name, "neardup.cluster.is_canonical") > 0)
    assert counted(server, index_name, "neardup.cluster.is_canonical") > 0
    run("cluster", "-k", "3", "--no-relation", "--store", url, folder=tmp_path)
    with open_store(url) as store:
        assert wholly(store) == wanted
        again = cluster_store(store).changes
        assert (again.documents, again.clusters, again.removed) == (0, 0, 0)
