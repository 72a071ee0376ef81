"""`neardup batch load` into an index that set-up made, and onto the documents of an owner's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indexer import open_store
from indexer.model import Ref, name_of
from tests.cli.written import changed, prose
from tests.engines.annotated import fill, neardup, owners, sources
from tests.engines.servers import Server

TEXTS = {
    "a": prose(1),
    "b": changed(prose(1)),
    "c": changed(prose(1), 30),
    "d": prose(2),
    "e": prose(2),
    "f": prose(2),
    "alone": prose(3),
    "short": "a few words",
    "empty": "",
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def batch(rows: list[dict[str, Any]], name: str = "batch") -> str:
    """A batch of rows, clustered, by the name of its folder."""
    pq.write_table(pa.Table.from_pylist(rows), f"{name}.parquet")
    neardup("batch", "sketch", f"{name}.parquet", "--out", name, "--jobs", "1")
    neardup("batch", "cluster", name, "--out", name)
    return name


def load(url: str, *flags: str, code: int = 0, folder: str = "batch") -> Any:
    done = neardup("batch", "load", folder, "--store", url, "--json", *flags, code=code)
    return json.loads(done.stdout) if code == 0 else done.stderr


def state(url: str) -> dict[str, Any]:
    """What a store holds, but for when, what dashboards alone need, and the cluster ids of what is alone."""
    with open_store(url, read_only=True) as store:
        annotations = {ref: dict(known) for ref, known in store.scan_annotations() if known}
        for known in annotations.values():
            if "cluster" in known:
                known["cluster"] = {name: value for name, value in known["cluster"].items() if name != "repeats_origin"}
        return {
            "records": {record.ref: replace(record, indexed_at="") for record in store.scan()},
            "annotations": annotations,
            "clusters": [
                replace(one, first_seen="", last_seen="", repeated_origins=(), repeated_shares=())
                for one in store.clusters()
            ],
            "notes": [replace(note, at="") for note in store.clustering_notes().values()],
            "failures": [(one.ref, one.reason) for one in store.failures()],
        }


def rows_of(texts: dict[str, str], **more: Any) -> list[dict[str, Any]]:
    return [{"id": name, "text": text, "lang": "en", **more} for name, text in texts.items()]


def test_an_index_of_its_own_is_as_a_file(server: Server, index_name: str) -> None:
    batch([*rows_of(TEXTS), {"id": "broken", "text": None, "lang": "de"}])
    url = f"{server.url}/{index_name}"
    assert "there is no store" in load(url, "--no-create", code=3)
    dry = load(url, "--dry-run")
    assert "there is no store" in load(url, "--no-create", code=3), "a dry run makes nothing"
    assert "there is no store" in load(url, "--create-missing", code=3), "these are somebody else's documents"
    made = neardup("batch", "load", "batch", "--store", url, "--json")
    assert f"there was no index {url}, so it was made\n" in made.stderr
    done = json.loads(made.stdout)
    for option in ("--create-missing", "--allow-version-change"):
        assert f"{option} is for somebody else's index; {url} is neardup's own" in load(url, option, code=2)
    names = ("created", "failed", "empty", "short", "documents")
    assert [dry[name] for name in names] == [done[name] for name in names]
    assert (done["created"], done["failed"], done["missing"], done["others"]) == (9, {"malformed": 1}, 0, 0)
    load("file.neardup")
    loaded = state(url)
    assert loaded == state("file.neardup")
    assert len(loaded["clusters"]) == 2
    before = sources(server, index_name)
    again = load(url)
    assert (again["created"], again["replaced"], again["unchanged"]) == (0, 0, 9)
    assert again["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    assert sources(server, index_name) == before
    # It goes on from there.
    made = json.loads(neardup("cluster", "--store", url, "--canonical", "earliest", "--json").stdout)
    assert made["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    Path("new.jsonl").write_text(json.dumps({"id": "g", "text": changed(prose(2))}) + "\n")
    assert json.loads(neardup("index", "new.jsonl", "--store", url, "--cluster", "--json").stdout)["near"] == 1
    listed = neardup("prune", "--dry-run", "--store", url).stdout
    assert {line.split()[0] for line in listed.splitlines()} == {"e", "f"}


class Owner:
    """Documents with routing in two indices behind an alias, and a table of them and of one that is not there."""

    def __init__(self, server: Server, name: str) -> None:
        self.server, self.name, self.url = server, name, f"{server.url}/{name}"
        self.rows = []
        for number, (document, text) in enumerate(TEXTS.items()):
            index, routing = f"{name}-{number % 2}", [None, "r1", "é?&=/ %"][number % 3]
            self.rows.append({"id": document, "text": text, "lang": "en", "where": index, "shard": routing})
        indices = f"{name}-0", f"{name}-1"
        for index in indices:
            made = server.request("PUT", f"/{index}", {"settings": {"number_of_shards": 3, "number_of_replicas": 0}})
            assert "error" not in made, made
        lines: list[Any] = []
        for row in self.rows:
            action = {"_index": row["where"], "_id": row["id"]} | ({"routing": row["shard"]} if row["shard"] else {})
            lines += [{"index": action}, {"body": row["text"], "lang": "en", "n": 1}]
        answer = server.request("POST", "/_bulk?refresh=true", lines=lines)
        assert not answer["errors"], answer
        behind = [{"index": index, "alias": name, "is_write_index": index.endswith("0")} for index in indices]
        assert "error" not in server.request("POST", "/_aliases", {"actions": [{"add": one} for one in behind]})

    def documents(self) -> dict[str, dict[str, Any]]:
        return sources(self.server, self.name)


def test_the_documents_of_an_owner_in_two_indices_with_routing(server: Server, index_name: str) -> None:
    owner = Owner(server, index_name)
    before = owner.documents()
    assert len(before) == 9
    gone = {"id": "gone", "text": prose(9), "lang": "en", "where": f"{index_name}-1", "shard": "r1"}
    elsewhere = {**gone, "id": "elsewhere", "where": "somebody-elses"}
    batch([*owner.rows, gone, elsewhere])
    columns = ("--index-column", "where", "--routing-column", "shard")
    dry = load(owner.url, *columns, "--dry-run")
    assert owner.documents() == before
    done = load(owner.url, *columns)
    assert (dry["replaced"], dry["missing"], dry["failed"]) == (done["replaced"], done["missing"], done["failed"])
    assert (done["created"], done["replaced"], done["missing"], done["others"]) == (0, 9, 1, 0)
    assert done["first_missing"] == [name_of(Ref("gone", f"{index_name}-1", "r1"))]
    assert done["failed"] == {"refused": 1}
    after = owner.documents()
    assert owners(after) == before
    assert not {"metadata", "container"} & set().union(*(each["neardup"] for each in after.values()))
    assert "error" in server.request("GET", "/somebody-elses")
    # The clusters and their ids are those that neardup cluster makes of the same documents.
    loaded = state(owner.url)
    assert len(loaded["clusters"]) == 2
    assert {ref.routing for ref in loaded["annotations"]} == {None, "r1", "é?&=/ %"}
    made = json.loads(neardup("cluster", "--store", owner.url, "--canonical", "earliest", "--json").stdout)
    assert made["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    again = load(owner.url, *columns)
    assert (again["replaced"], again["unchanged"], again["missing"]) == (0, 9, 1)
    assert again["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    assert owner.documents() == after
    # Only where it is asked for is a document made.
    created = load(owner.url, *columns, "--create-missing")
    assert (created["created"], created["unchanged"], created["missing"]) == (1, 9, 0)
    assert set(owner.documents()[f"{index_name}-1/gone"]) == {"neardup"}
    neardup("setup", "--store", owner.url, "--remove", "--yes")
    assert {name: owner.documents()[name]["body"] for name in before} == {
        name: each["body"] for name, each in before.items()
    }


def test_documents_are_found_by_their_ids_where_no_column_names_the_index(server: Server, index_name: str) -> None:
    owner = Owner(server, index_name)
    late = {"id": "late", "text": prose(8), "lang": "en", "where": "", "shard": None}
    # What its owner wrote just now is there too.
    for index in (f"{index_name}-0", f"{index_name}-1"):
        server.request("PUT", f"/{index}/_settings", {"index": {"refresh_interval": "-1"}})
    server.request("PUT", f"/{index_name}-1/_doc/late", {"body": prose(8)})
    batch([*owner.rows, late])
    done = load(owner.url)
    assert (done["replaced"], done["missing"]) == (10, 0)
    made = json.loads(neardup("cluster", "--store", owner.url, "--canonical", "earliest", "--json").stdout)
    assert made["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    assert load(owner.url)["unchanged"] == 10


def test_one_index_of_an_owner(server: Server, index_name: str) -> None:
    fill(server, index_name, {name: {"body": text, "lang": "en"} for name, text in TEXTS.items()})
    url = f"{server.url}/{index_name}"
    batch([*rows_of(TEXTS, where=index_name), *rows_of({"gone": prose(9)}, where=index_name)])
    assert load(url, "--index-column", "where")["replaced"] == 9
    # An owner who writes a document anew has its sketches made anew.
    server.request("PUT", f"/{index_name}/_doc/a?refresh=true", {"body": prose(1), "lang": "en"})
    done = load(url)
    assert (done["replaced"], done["unchanged"], done["missing"]) == (1, 8, 1)
    assert done["written"]["documents"] == 1
    found = json.loads(neardup("similar", "--id", "a", "--store", url, "--json").stdout)
    assert {match["id"] for match in found["matches"]} == {"b", "c"}
    # A version that its owner counts is left alone.
    server.request(
        "PUT", f"/{index_name}/_doc/gone?refresh=true&version=7000000&version_type=external", {"body": prose(9)}
    )
    assert "--allow-version-change" in load(url, code=3)
    assert load(url, "--allow-version-change")["replaced"] == 1


def test_what_does_not_fit_is_refused_before_anything_is_written(server: Server, index_name: str) -> None:
    fill(server, index_name, {name: {"body": text, "lang": "en"} for name, text in TEXTS.items()})
    url = f"{server.url}/{index_name}"
    neardup("setup", "--store", url, "--schemes", "simhash-doc")
    before = sources(server, index_name), server.request("GET", f"/{index_name}")
    batch(rows_of(TEXTS))
    assert "sketches of" in load(url, code=4)
    assert (sources(server, index_name), server.request("GET", f"/{index_name}")) == before
