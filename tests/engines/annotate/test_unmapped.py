"""Indices behind a store's name that came without neardup's fields: never written, said, and mended by set-up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from indexer.cli import main
from indexer.engine.index import mapping
from indexer.engine.store.store import open_search_store
from indexer.errors import StoreError
from indexer.ingest.indexing import store_info
from indexer.model import Ref
from indexer.schemes import registry
from tests.cli.written import changed, prose
from tests.engines import annotated
from tests.engines.servers import Server
from tests.stores.made import put, record

INFO = store_info("landmarks")
OWNERS: dict[str, Any] = {"properties": {"body": {"type": "text"}}}
Run = Callable[..., str]


def fields(server: Server, index: str) -> dict[str, Any]:
    """What is mapped under neardup in an index."""
    found = server.request("GET", f"/{index}/_mapping")[index]["mappings"].get("properties", {})
    return dict(found.get("neardup", {}).get("properties", {}))


def add(server: Server, index: str, alias: str, mappings: dict[str, Any]) -> None:
    """Make an index and let an alias write to it, as a rollover does."""
    before = server.request("GET", f"/_alias/{alias}")
    assert "error" not in server.request("PUT", f"/{index}", {"mappings": mappings})
    actions: list[Any] = [{"add": {"index": index, "alias": alias, "is_write_index": True}}]
    if "error" not in before:
        actions += [{"add": {"index": each, "alias": alias, "is_write_index": False}} for each in before]
    answer = server.request("POST", "/_aliases", {"actions": actions})
    assert "error" not in answer, answer


@pytest.fixture
def alias(server: Server, index_name: str) -> str:
    """An alias over an index with neardup's fields and two near-duplicates."""
    name = f"{index_name}-all"
    add(server, f"{index_name}-1", name, mapping.new_index(INFO)["mappings"])
    with open_search_store(f"{server.url}/{name}") as store:
        put(store, record("a", 1), record("b", 3))
    return name


@pytest.fixture
def run(server: Server, alias: str, capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs a command on the alias in this process, and gives what it said."""

    def run(*command: str, code: int = 0) -> str:
        capsys.readouterr()
        assert main([*command, "--store", f"{server.url}/{alias}"]) == code
        return capsys.readouterr().err

    return run


def test_writing_is_refused_and_reading_goes_on_until_set_up(
    server: Server, index_name: str, alias: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, new = f"{server.url}/{alias}", f"{index_name}-2"
    run("cluster")
    add(server, new, alias, OWNERS)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new.txt").write_text(prose(1))
    writing = (
        ["index", "new.txt", "--jobs", "1"],
        ["cluster"],
        ["prune", "--unverified", "--delete", "--yes"],
    )
    reading = (["stats"], ["pairs"], ["cluster", "--dry-run"], ["show", "a"], ["similar", "--id", "a"])
    for command in writing:
        printed = run(*command, code=3)
        assert printed.endswith(
            f"neardup: {url}: the index {new} is without neardup's fields, so nothing is written through this name; "
            f"`neardup setup --store {url}` adds them\n"
        )
        assert not fields(server, new)
    # Nobody misses anything yet.
    assert all("without neardup's fields" not in run(*command) for command in reading)
    annotated.write(server, new, "c", {"body": changed(prose(1))}, refresh="true")
    for command in reading:
        assert f"the index {new} is without neardup's fields, so none of the documents there is found (1)" in run(
            *command
        )
    # Deleting adds no field.
    assert main(["delete", "b", "--store", url]) == 0
    assert "add neardup's fields to the mapping" in run("setup")
    assert fields(server, new) == fields(server, f"{index_name}-1")
    assert all("without neardup's fields" not in run(*command) for command in (*reading, *writing))
    assert server.request("GET", f"/{new}/_count?q=neardup.tokens:*")["count"] == 1
    assert annotated.annotate(url, "--field", "body")["annotated"] == 1
    assert fields(server, new) == fields(server, f"{index_name}-1")


def test_annotate_maps_its_fields_itself(server: Server, index_name: str, alias: str) -> None:
    new = f"{index_name}-2"
    add(server, new, alias, OWNERS)
    annotated.write(server, new, "c", {"body": prose(1)}, refresh="true")
    assert annotated.annotate(f"{server.url}/{alias}", "--field", "body")["annotated"] == 1
    assert fields(server, new) == fields(server, f"{index_name}-1")


def test_an_alias_that_changes_over_to_bare_indices(server: Server, index_name: str, alias: str, run: Run) -> None:
    swap: list[Any] = [{"remove": {"index": f"{index_name}-1", "alias": alias}}]
    server.request("POST", "/_aliases", {"actions": swap})
    for number in range(2, 4):
        add(server, f"{index_name}-{number}", alias, OWNERS)
    for command in (["cluster"], ["stats"], ["index", "."]):
        assert "` adds them" in run(*command, code=3)
    assert not fields(server, f"{index_name}-3")
    run("setup")
    run("cluster")


def test_a_rollover_in_the_middle(server: Server, index_name: str, alias: str) -> None:
    with open_search_store(f"{server.url}/{alias}") as store:
        place = Ref("a", f"{index_name}-1")
        assert store.annotate([(place, {"x": 1})]) == 1
        add(server, f"{index_name}-2", alias, OWNERS)
        for write in (lambda: put(store, record("d", 1)), lambda: store.annotate([(place, {"x": 2})])):
            with pytest.raises(StoreError, match=f"{index_name}-2 is without .*`neardup setup --store"):
                write()
        assert not fields(server, f"{index_name}-2")
        add(server, f"{index_name}-3", alias, mapping.new_index(INFO)["mappings"])
        with pytest.raises(StoreError, match=f"{index_name}-2 is without"):
            put(store, record("d", 1))


def test_the_fields_of_schemes_too(server: Server, index_name: str, alias: str, run: Run) -> None:
    scheme = registry.scheme("minhash")
    sketch = scheme.sketch(prose(1))
    assert sketch
    sketched = record("d", 1, sketches={"minhash": sketch})
    with open_search_store(f"{server.url}/{alias}") as store:
        store.add_scheme(scheme.info)
        add(server, f"{index_name}-2", alias, mapping.new_index(INFO)["mappings"])
        with pytest.raises(StoreError, match=f"{index_name}-2 is without .*`neardup setup --store"):
            put(store, sketched)
        assert "minhash" not in fields(server, f"{index_name}-2")
        assert f"the mapping of {index_name}-2" in run("setup")
        assert "nothing to do" in run("setup")
        assert fields(server, f"{index_name}-2") == fields(server, f"{index_name}-1")
    with open_search_store(f"{server.url}/{alias}") as store:
        assert [each.value for each in put(store, sketched)] == ["created"]
        assert fields(server, f"{index_name}-2") == fields(server, f"{index_name}-1")


@pytest.fixture
def template(server: Server, index_name: str) -> Iterator[str]:
    """The path of the template of a data stream, which holds no component template in the end."""
    path = f"/_index_template/{index_name}"
    yield path
    assert "error" not in server.request("PUT", path, {"index_patterns": [index_name], "data_stream": {}})


def test_doctor_warns_of_a_data_stream_whose_next_index_lacks_the_fields(
    server: Server, index_name: str, template: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"{server.url}/{index_name}"
    made: dict[str, Any] = {"index_patterns": [index_name], "data_stream": {}, "template": {"mappings": OWNERS}}
    assert "error" not in server.request("PUT", template, made)
    text = {"@timestamp": "2026-03-01T10:00:00Z", "body": prose(1)}
    assert "error" not in server.request("POST", f"/{index_name}/_doc?refresh=true", text)
    assert annotated.annotate(url, "--field", "body")["annotated"] == 1

    def said(code: int) -> str:
        capsys.readouterr()
        assert main(["doctor", "--store", url]) == code
        return capsys.readouterr().out

    warning = f"the next index of {index_name} will lack neardup's fields"
    advised = f'add "neardup" and "neardup-minhash" to composed_of of the index template {index_name}'
    told = said(7)
    assert warning in told
    assert advised in " ".join(told.split())
    assert main(["setup", "--store", url]) == 0
    server.request("PUT", template, {**made, "composed_of": ["neardup", "neardup-minhash"]})
    assert warning not in said(0)
    server.request("POST", f"/{index_name}/_rollover")
    said(0)
