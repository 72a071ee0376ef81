"""A collection in an index of an engine, of its own and of an owner's."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import indexer
from indexer.errors import NoStoreError, UsageError
from indexer.ingest.rereading import StoredTexts
from indexer.library.options import RemovalRequest
from tests.cli.written import changed, prose
from tests.engines.annotated import annotate, fill, neardup
from tests.engines.servers import Server

pytestmark = pytest.mark.usefixtures("clean")


def test_a_collection_in_an_index(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    with pytest.raises(NoStoreError):
        indexer.open(url, read_only=True)
    with indexer.open(url) as collection:
        assert collection.add("a", prose(1), title="One", lang="en") == "indexed"
        assert collection.add_many([("b", changed(prose(1))), ("c", prose(2))]).indexed == 2
        assert len(collection) == 3
        assert {match.id for match in collection.similar(changed(prose(1)))} == {"a", "b"}
        assert [match.id for match in collection.similar(id="a")] == ["b"]
        [pair] = collection.pairs()
        assert {pair.left, pair.right} == {"a", "b"}
        assert collection.cluster().clusters == 1
        assert collection.clusters()[0].size == 2
        assert collection.prune(RemovalRequest(verify="sketch")).marked == 1
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda number: collection.add(f"t{number}", prose(10 + number)), range(8)))
        assert found == ["indexed"] * 8
        assert {each.id for each in collection} == {"a", "b", "c", *(f"t{number}" for number in range(8))}
        assert collection["a"].metadata == {"lang": "en"}
        assert collection.delete([f"t{number}" for number in range(8)]).deleted == 8
    with indexer.open(url, filter="neardup.format:text AND neardup.title:One", read_only=True) as narrowed:
        assert [match.id for match in narrowed.similar(prose(1))] == ["a"]


def test_an_index_remembers_columns_and_files(server: Server, index_name: str, tmp_path: Path) -> None:
    path = tmp_path / "named.jsonl"
    rows = [{"key": f"k{number}", "body": prose(number), "url": f"https://example.org/{number}"} for number in range(3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with indexer.open(f"{server.url}/{index_name}") as collection:
        assert collection.index(path, fields={"text": "body", "id": "key"}).indexed == 3
        assert collection.index(path).unchanged == 3
        found = {record.ref.id: text for record, text in StoredTexts(collection.store).read(collection.store.scan())}
    assert found == {f"k{number}": prose(number) for number in range(3)}


def test_an_owners_documents_stay(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    fill(server, index_name, {"a": {"body": prose(1)}, "b": {"body": f"{prose(1)}."}, "c": {"body": prose(2)}})
    annotate(url, "--field", "body")
    with indexer.open(url) as collection:
        assert len(collection.pairs()) == 1
        collection.cluster()
        assert collection.report().repeating == 1
        pruned = collection.prune(delete=True)
        assert pruned.deleted == 0
        assert pruned.stripped == 1
    server.request("POST", f"/{index_name}/_refresh")
    assert server.request("GET", f"/{index_name}/_count")["count"] == 3


def test_copies_of_an_owners_keep_their_text(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    fill(server, index_name, {"a": {"body": prose(1)}, "b": {"body": prose(1)}, "c": {"body": prose(2)}})
    annotate(url, "--field", "body")
    with indexer.open(url) as collection:
        # One of neardup's own among the owner's.
        collection.add("d", prose(1))
        listed = collection.delete_copies("a", dry_run=True)
        assert [(one.id, one.identical, one.outcome) for one in listed.documents] == [
            (name, True, "listed") for name in "abd"
        ]
        done = collection.delete_copies("a")
        assert (done.deleted, done.stripped, done.changed) == (1, 2, 0)
        assert {one.outcome for one in done.documents} == {"deleted", "stripped"}
        assert len(collection) == 1
    server.request("POST", f"/{index_name}/_refresh")
    assert server.request("GET", f"/{index_name}/_count?q=_exists_:body")["count"] == 3


def test_copies_beside_name_the_owners(server: Server, index_name: str) -> None:
    fill(server, index_name, {"a": {"body": prose(1)}, "b": {"body": prose(1)}})
    annotate(f"{server.url}/{index_name}", "--field", "body", "--to", f"{index_name}-beside")
    with indexer.open(f"{server.url}/{index_name}-beside") as collection:
        done = collection.delete_copies([next(iter(collection)).id])
        assert (done.deleted, done.stripped) == (2, 0)
        assert sorted(one.left for one in done.documents) == [f"{index_name}/a", f"{index_name}/b"]


def test_a_name_that_several_have_is_no_name(server: Server, index_name: str) -> None:
    for name in (index_name, f"{index_name}-two"):
        with indexer.open(f"{server.url}/{name}") as collection:
            collection.add("a", prose(1))
    with indexer.open(f"{server.url}/{index_name}*", read_only=True) as both:
        with pytest.raises(UsageError, match="2 documents have this id"):
            both.get("a")
        assert both[f"{index_name}/a"].id == f"{index_name}/a"


def test_the_command_makes_an_index_and_says_so(server: Server, index_name: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(prose(1), "utf-8")
    (tmp_path / "none").mkdir()
    url = f"{server.url}/{index_name}"
    # Neither where it must not, nor for nothing, nor one that a pattern would name.
    assert "there is no store" in neardup("index", str(tmp_path), "--store", url, "--no-create", code=3).stderr
    assert "no store was made" in neardup("index", str(tmp_path / "none"), "--store", url).stderr
    assert "a pattern can't make one" in neardup("index", str(tmp_path), "--store", f"{url}*", code=3).stderr
    assert index_name not in server.request("GET", "/_mapping")
    said = f"there was no index {url}, so it was made"
    assert said in neardup("index", str(tmp_path), "--store", url).stderr
    assert said not in neardup("index", str(tmp_path), "--store", url).stderr
    with indexer.open(url, read_only=True) as collection:
        assert [document.title for document in collection] == [prose(1)[:500]]
    # As set-up makes it: nothing is left to be added.
    assert neardup("setup", "--store", url, "--dry-run", "--json").stdout


def test_files_that_were_left_out_are_counted_in_the_report(server: Server, index_name: str, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "one.png", "two.png", "style.css"):
        (tmp_path / name).write_text(prose(1), "utf-8")
    url = f"{server.url}/{index_name}"
    with indexer.open(url) as collection:
        collection.index(tmp_path)
        collection.cluster()
    [left_out] = json.loads(neardup("report", "--format", "json", "--store", url).stdout)["left_out"]
    assert left_out == {"reason": "passed-over", "documents": 3, "names": ["2 .png", "1 .css"]}


def test_the_command_fills_no_index_of_an_owners(server: Server, index_name: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(prose(1), "utf-8")
    fill(server, index_name, {"a": {"body": prose(1)}})
    refused = neardup("index", str(tmp_path), "--store", f"{server.url}/{index_name}", code=3).stderr
    assert "without neardup's fields" in refused
    assert server.request("GET", f"/{index_name}/_count")["count"] == 1
