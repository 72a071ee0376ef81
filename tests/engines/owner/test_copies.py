"""An owner finds the copies among his documents, by a query of his own, and deletes them where he says so."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest

import indexer
from indexer.clustering.prune import Pruning
from indexer.clustering.verdicts import Permitted
from indexer.engine.index import mapping
from indexer.errors import StoreError, UsageError
from indexer.library.opening import open_store
from indexer.library.options import RemovalRequest
from indexer.model import Ref
from tests.cli.written import prose
from tests.engines.annotated import annotate, fill, neardup, require_type, sources, write
from tests.engines.servers import Server
from tests.stores.made import INFO

MAPPING: dict[str, Any] = {"properties": {"body": {"type": "text"}, "lang": {"type": "keyword"}}}


def test_what_is_marked_is_found_by_a_query(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    quoted = f'"{prose(1)}"'
    texts = {"a": quoted, "b": quoted, "near": prose(1), "other": prose(2)}
    fill(server, index_name, {name: {"body": text} for name, text in texts.items()}, MAPPING)
    annotate(url, "--field", "body")
    neardup("cluster", "--store", url, "--canonical", "longest")

    def found(query: dict[str, Any]) -> set[str]:
        hits = server.request("POST", f"/{index_name}/_search", {"query": query})["hits"]["hits"]
        return {hit["_id"] for hit in hits}

    marked = {"exists": {"field": "neardup.duplicate_of"}}
    assert found(marked) == set()
    neardup("prune", "--store", url)
    marks = {source["neardup"].get("duplicate_of") for source in sources(server, index_name).values()} - {None}
    [canonical] = marks
    copies = {"a", "b", "near"} - marks
    assert found(marked) == found({"term": {"neardup.duplicate_of": canonical}}) == copies
    for copy in copies:
        known = json.loads(neardup("show", copy, "--store", url, "--json").stdout)
        assert known["duplicate_of"] == canonical
    # Only what is identical; the mark of the other goes.
    neardup("prune", "--store", url, "--remove", "identical")
    [copy] = found(marked)
    mark = sources(server, index_name)[f"{index_name}/{copy}"]["neardup"]["duplicate_of"]
    assert {copy, mark} == {"a", "b"}
    # Written anew, it is no longer what it was.
    write(server, index_name, copy, {**sources(server, index_name)[f"{index_name}/{copy}"], "body": prose(3)})
    annotate(url)
    server.request("POST", f"/{index_name}/_refresh")
    assert found(marked) == set()


TEXT = prose(1)
BONN: dict[str, Any] = {"lang": "en", "price": 1, "place": {"city": "Bonn", "street": "A"}}
OWNED: dict[str, dict[str, Any]] = {
    "a": {"body": TEXT, **BONN},
    "copy": {"body": TEXT.upper().replace(" ", "\n"), **BONN},
    "dear": {"body": TEXT, **BONN, "price": 2, "place": {"city": "Bonn", "street": "B"}},
    "lacks": {"body": TEXT, "price": 1, "place": {"city": "Bonn", "street": "A"}},
    "changed": {"body": TEXT, **BONN},
    "near": {"body": TEXT.rsplit(" ", 8)[0], **BONN},
}


def clustered(server: Server, index: str) -> str:
    """The URL of an index of these documents, of which "a" came first; one was changed and not annotated again."""
    url = f"{server.url}/{index}"
    fill(server, index, {"a": OWNED["a"]}, MAPPING)
    annotate(url, "--field", "body")
    # Times are kept to the second.
    time.sleep(1.1)
    for name in OWNED.keys() - {"a"}:
        write(server, index, name, OWNED[name], refresh="true")
    annotate(url)
    neardup("cluster", "--store", url)
    server.request("POST", f"/{index}/_update/changed?refresh=true", {"doc": {"body": "no longer the same"}})
    return url


def listed(url: str, *flags: str) -> dict[str, Any]:
    """What a dry run says of each document that repeats another."""
    lines = neardup("prune", "--store", url, "--with-documents", "--dry-run", "--json", *flags).stdout
    return {line["id"]: line for line in map(json.loads, lines.splitlines())}


def test_copies_go_as_a_whole(server: Server, index_name: str) -> None:
    url = clustered(server, index_name)
    plain = neardup("prune", "--store", url, "--with-documents", "--dry-run").stderr
    found = listed(url)
    differs = {"copy": [], "dear": ["place.street", "price"], "lacks": ["lang"], "changed": [], "near": []}
    assert {name: line["differs"] for name, line in found.items()} == differs
    assert [name for name, line in found.items() if not line["kept"]] == ["copy"]
    assert "not identical" in found["near"]["kept"]
    # To trust the sketches is no permission to delete what its owner wrote.
    assert "not identical" in listed(url, "--unverified", "--ignore-field", "body")["near"]["kept"]
    assert "the text of changed was changed after it was fingerprinted" in found["changed"]["kept"]
    assert "kept: 2 documents: other fields differ\n" in plain
    assert "dear: it differs from a in place.street, price\n" in plain
    told = json.loads(neardup("prune", "--store", url, "--delete", "--with-documents", "--yes", "--json").stdout)
    assert (told["deleted"], told["stripped"]) == (1, 0)
    assert {name.partition("/")[2] for name in sources(server, index_name)} == OWNED.keys() - {"copy"}
    # What may differ is named in so many words, an object by its name too; a text that was changed since stays.
    ignored = [word for field in ("price", "lang", "place") for word in ("--ignore-field", field)]
    neardup("prune", "--store", url, "--delete", "--with-documents", "--yes", *ignored)
    left = {"a", "changed", "near"}
    assert {name.partition("/")[2] for name in sources(server, index_name)} == left
    # Told otherwise, what is near goes too, where its text may differ; not what was changed since.
    delete = ("prune", "--store", url, "--delete", "--with-documents", "--yes", "--verify", "sketch")
    assert listed(url, "--verify", "sketch")["near"]["differs"] == ["body"]
    neardup(*delete)
    assert {name.partition("/")[2] for name in sources(server, index_name)} == left
    neardup(*delete, "--ignore-field", "body")
    assert {name.partition("/")[2] for name in sources(server, index_name)} == {"a", "changed"}


def test_a_program_deletes_copies_as_a_whole(server: Server, index_name: str) -> None:
    url = clustered(server, index_name)
    with indexer.open(url) as collection:
        listed = collection.prune(RemovalRequest(with_documents=True), dry_run=True).surplus
        differs = {row.id: row.differs for row in listed if row.kept and row.differs}
        assert differs == {"dear": ("place.street", "price"), "lacks": ("lang",)}
        assert [row.id for row in listed if not row.kept] == ["copy"]
        asked = RemovalRequest(with_documents=True, ignore_field=("price", "place"))
        with pytest.warns(UserWarning, match="1 document stays: .* run neardup annotate"):
            done = collection.prune(asked, delete=True)
        assert (done.deleted, done.stripped, done.outdated) == (2, 0, 1)
        for asked, delete in (
            (RemovalRequest(with_documents=True), False),
            (RemovalRequest(ignore_field=("price",)), True),
        ):
            with pytest.raises(UsageError, match=r"goes with (delete or dry_run|with_documents)"):
                collection.prune(asked, delete=delete)
        untyped = RemovalRequest(with_documents=True, ignore_field="price")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="a tuple of names"):
            collection.prune(untyped, delete=True)
    left = {name.partition("/")[2] for name in sources(server, index_name)}
    assert left == {"a", "lacks", "changed", "near"}


def test_what_changes_after_the_comparison_stays(
    server: Server, index_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = clustered(server, index_name)
    with open_store(url) as store:
        pruning = Pruning(store, permitted=Permitted.named("identical")).with_documents(["price", "lang", "place"])
        named = {document.record.ref.id for document in pruning.surplus() if not document.kept}
        assert named == {"copy", "dear", "lacks"}
        delete = store.delete

        def changed_before(refs: Sequence[Ref], **more: Any) -> int:
            server.request("POST", f"/{index_name}/_update/dear?refresh=true", {"doc": {"price": 99}})
            return delete(refs, **more)

        monkeypatch.setattr(store, "delete", changed_before)
        assert pruning.delete() == 2
    assert {f"{index_name}/{name}" for name in ("a", "dear", "changed", "near")} == sources(server, index_name).keys()


def test_what_can_not_be_compared_is_refused(server: Server, index_name: str) -> None:
    side = f"{index_name}-side"
    fill(server, index_name, OWNED, MAPPING)
    annotate(f"{server.url}/{index_name}", "--field", "body", "--to", side)
    neardup("cluster", "--store", f"{server.url}/{side}")
    for flags in (("--dry-run",), ("--delete", "--yes")):
        refused = neardup("prune", "--store", f"{server.url}/{side}", "--with-documents", *flags, code=2).stderr
        assert f"it has records alone, of documents in {index_name}; delete there" in refused
    assert len(sources(server, side)) == len(OWNED)
    lossy = {
        "properties": {**MAPPING["properties"], "secret": {"type": "keyword"}},
        "_source": {"excludes": ["secret"]},
    }
    made = mapping.new_index(INFO)["mappings"]
    lossy["properties"] |= made["properties"]
    fill(server, f"{index_name}-2", {}, {**made, **lossy})
    with open_store(f"{server.url}/{index_name}-2") as store, pytest.raises(StoreError, match="excludes secret"):
        store.differing(())


def test_documents_with_others_below_them_are_refused(server: Server, index_name: str) -> None:
    join = {"type": "join", "relations": {"book": "chapter"}}
    require_type(server, index_name, join)
    made = mapping.new_index(INFO)["mappings"]
    made["properties"] |= {"part": join}
    fill(server, index_name, {}, made)
    with open_store(f"{server.url}/{index_name}") as store, pytest.raises(StoreError, match="have others below them"):
        store.differing(())
