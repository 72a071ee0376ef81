"""An owner changes documents and nobody annotates: no text goes, or is left out, for one that is no longer there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import indexer
from indexer.clustering.decision_acts import DecidedPruning
from indexer.clustering.verdicts import Permitted
from indexer.errors import UsageError
from indexer.library.opening import open_store
from indexer.model.decisions import DecidedDocument, Decision
from indexer.service.schemas import read_form
from indexer.service.verbs import VERBS
from tests.cli.written import html, prose
from tests.engines.annotated import annotate, fill, made, neardup, send, sources
from tests.engines.servers import Server

MAPPING: dict[str, Any] = {"properties": {"body": {"type": "text"}, "part": {"properties": {"text": {"type": "text"}}}}}
IDENTICAL = ("--remove", "identical")
TEXT, OTHER, NEW = prose(1), prose(2), prose(99)


def document(kind: str, text: str) -> dict[str, Any]:
    """A document with a text, in the fields of a kind of index."""
    if kind == "html":
        return {"body": html(text).decode()}
    if kind == "fields":
        return {"body": text[:300], "part": {"text": text[300:]}}
    return {"body": "\n".join([text] * 25) if kind == "long" else text}


def annotated(server: Server, index: str, kind: str, documents: dict[str, str]) -> str:
    """The URL of the fingerprints of an index with these texts, in clusters."""
    fill(server, index, {name: document(kind, text) for name, text in documents.items()}, MAPPING)
    url = beside = f"{server.url}/{index}"
    options = ["--field", "body"]
    if kind == "html":
        options += ["--format", "html"]
    elif kind == "fields":
        options += ["--field", "part.text"]
    elif kind == "long":
        options += ["--scheme", "passages"]
    elif kind == "beside":
        beside = f"{url}-beside"
        options += ["--to", f"{index}-beside"]
    annotate(url, *options)
    neardup("cluster", "--store", beside)
    return beside


def update(server: Server, index: str, name: str, fields: dict[str, Any]) -> None:
    answer = server.request("POST", f"/{index}/_update/{name}?refresh=true", {"doc": fields})
    assert "error" not in answer, answer


def surplus(url: str, *flags: str) -> dict[str, dict[str, Any]]:
    lines = neardup("prune", "--store", url, "--dry-run", "--json", *flags).stdout.splitlines()
    return {one["id"].rpartition("/")[2]: one for one in map(json.loads, lines)}


def marks(server: Server, index: str) -> set[str]:
    found = sources(server, index).items()
    return {name.rpartition("/")[2] for name, one in found if (one.get("neardup") or {}).get("duplicate_of")}


@pytest.mark.parametrize("kind", ["plain", "html", "fields", "long", "beside"])
def test_what_repeats_a_changed_document_stays_until_it_is_annotated(
    server: Server, index_name: str, kind: str
) -> None:
    url = annotated(server, index_name, kind, {"a": TEXT, "b": TEXT, "c": OTHER})
    [(gone, before)] = surplus(url, *IDENTICAL).items()
    kept = before["repeats"].rpartition("/")[2]
    update(server, index_name, kept, document(kind, NEW))
    for flags in ([*IDENTICAL], [], ["--verify", "sketch"]):
        assert "was changed after it was fingerprinted" in surplus(url, *flags)[gone]["kept"], flags
        said = neardup("prune", "--store", url, "--json", *flags)
        assert "neardup annotate" in said.stderr
        done = json.loads(said.stdout)
        assert (done["marked"], done["outdated"]) == (0, 1), flags
    assert "or repeating a changed document" in neardup("prune", "--store", url, "--dry-run").stderr
    deleted = json.loads(neardup("prune", "--store", url, *IDENTICAL, "--delete", "--yes", "--json").stdout)
    assert (deleted["deleted"], deleted["stripped"]) == (0, 0)
    # The owner takes the change back: all is as it was.
    update(server, index_name, kept, document(kind, TEXT))
    assert not surplus(url, *IDENTICAL)[gone]["kept"]
    # The one that would go is looked at too.
    update(server, index_name, gone, document(kind, NEW))
    assert gone in surplus(url, *IDENTICAL)[gone]["kept"]
    update(server, index_name, gone, dict.fromkeys(document(kind, NEW)))
    assert surplus(url, *IDENTICAL)[gone]["kept"]
    update(server, index_name, gone, document(kind, OTHER))
    options = ["--to", f"{index_name}-beside"] if kind == "beside" else []
    annotate(f"{server.url}/{index_name}", *options)
    neardup("cluster", "--store", url)
    assert surplus(url, *IDENTICAL).keys() < {gone, "c"}
    assert not any(one["kept"] for one in surplus(url, *IDENTICAL).values())


def test_a_mark_goes_only_onto_the_document_that_was_compared(server: Server, index_name: str) -> None:
    from indexer.clustering.prune import Pruning
    from indexer.clustering.removal import RedundantDocument

    url = annotated(server, index_name, "plain", {"a": TEXT, "b": TEXT})

    class Slow(Pruning):
        """The owner changes the document after it was compared."""

        def _confirmed(self, surplus: list[RedundantDocument]) -> list[RedundantDocument]:
            checked = super()._confirmed(surplus)
            for one in checked:
                update(server, index_name, one.record.ref.id, {"body": NEW})
            return checked

    with open_store(url) as store:
        assert Slow(store, permitted=Permitted.named("identical")).mark().documents == 0
        assert store.contended.count == 1
    assert not marks(server, index_name)


def test_with_documents_the_last_copy_of_a_text_is_never_deleted(server: Server, index_name: str) -> None:
    url = annotated(server, index_name, "plain", {"a": TEXT, "b": TEXT, "c": OTHER, "d": OTHER})
    before = surplus(url, "--with-documents")
    changed = next(iter(before.values()))["repeats"]
    update(server, index_name, changed, {"body": NEW})
    done = json.loads(neardup("prune", "--store", url, "--with-documents", "--delete", "--yes", "--json").stdout)
    assert (done["deleted"], done["outdated"]) == (1, 1)
    assert {each["body"] for each in sources(server, index_name).values()} == {TEXT, OTHER, NEW}


def test_a_decision_about_a_text_that_was_changed_drops_nothing(server: Server, index_name: str) -> None:
    url = annotated(server, index_name, "plain", {"a": TEXT, "b": TEXT})
    with indexer.open(url) as collection:
        digest = collection["a"].read_digest
    decision = Decision((DecidedDocument("a", digest, "keep"), DecidedDocument("b", digest, "drop")))
    for name in ("a", "b"):
        update(server, index_name, name, {"body": NEW})
        with open_store(url) as store:
            assert DecidedPruning(store, [decision]).mark().documents == 0
        update(server, index_name, name, {"body": TEXT})
    with open_store(url) as store:
        assert DecidedPruning(store, [decision]).mark().documents == 1


def test_a_part_goes_for_no_text_that_is_gone(server: Server, index_name: str) -> None:
    whole = " ".join(map(prose, range(20, 40)))
    part = prose(25)
    fill(
        server, index_name, {name: {"body": text} for name, text in {"whole": whole, "one": part, "two": part}.items()}
    )
    url = f"{server.url}/{index_name}"
    annotate(url, "--field", "body", "--scheme", "passages")
    assert all(not surplus(url, "--parts")[name]["kept"] for name in ("one", "two"))
    update(server, index_name, "two", {"body": NEW})
    found = surplus(url, "--parts")
    assert not found["one"]["kept"]
    assert "fingerprinted" in found["two"]["kept"]


def test_what_comes_is_compared_with_texts_that_are_there(server: Server, index_name: str, tmp_path: Path) -> None:
    url = annotated(server, index_name, "plain", {"a": TEXT, "b": TEXT, "c": OTHER})
    [(gone, kept)] = [(name, one["repeats"]) for name, one in surplus(url).items()]

    def seen() -> dict[str, Any]:
        with indexer.open(url, read_only=True) as collection:
            asked = read_form(VERBS["seen"].request, {"documents": [{"text": TEXT}]})
            [answer] = VERBS["seen"].answer_request(collection, asked).answers
        return {"seen": answer.seen, "match": answer.match and answer.match.id, "outdated": answer.outdated}

    def skipped() -> tuple[list[str], int]:
        through = made(url, {"index": {"_id": "again"}}, {"body": TEXT}, skip=True)
        return [one.repeats for one in through.skipped], through.outdated

    def left_out(name: str) -> tuple[int, str]:
        lines = tmp_path / f"{name}.jsonl"
        lines.write_text(json.dumps({"id": name, "text": TEXT}) + "\n")
        said = neardup("index", str(lines), "--store", url, "--skip-duplicates", "--json")
        count: int = json.loads(said.stdout)["duplicates"]
        return count, said.stderr

    update(server, index_name, gone, {"body": NEW})
    assert seen() == {"seen": True, "match": kept, "outdated": 1}
    assert skipped() == ([kept], 0)
    assert left_out("first")[0] == 1
    update(server, index_name, kept, {"body": NEW})
    assert seen() == {"seen": False, "match": None, "outdated": 2}
    assert skipped() == ([], 1)
    count, said = left_out("second")
    assert count == 0
    assert "neardup annotate" in said
    annotate(url)
    with indexer.open(url, read_only=True) as collection:
        [asked] = collection.similar_each([gone], by="ids", current=True, limit=5)
        assert [match.id for match in asked.matches] == [kept]
    update(server, index_name, gone, {"body": prose(5)})
    with indexer.open(url, read_only=True) as collection:
        [asked] = collection.similar_each([gone], by="ids", current=True, limit=5)
        assert (asked.total, asked.outdated) == (0, 1)


def test_where_the_fields_are_forgotten_nothing_goes_by_a_digest(server: Server, index_name: str) -> None:
    url = annotated(server, index_name, "plain", {"a": TEXT, "b": TEXT})
    meta = server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]["_meta"]
    del meta["neardup"]["texts"]
    server.request("PUT", f"/{index_name}/_mapping", {"_meta": meta})
    [one] = surplus(url, *IDENTICAL).values()
    assert "neardup annotate" in one["kept"]
    assert made(url, {"index": {"_id": "n"}}, {"body": TEXT}, skip=True, fields=["body"]).outdated == 1


def test_records_of_files_are_never_outdated(server: Server, index_name: str, tmp_path: Path) -> None:
    url = f"{server.url}/{index_name}"
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(TEXT)
    neardup("index", str(tmp_path), "--store", url, "--cluster")
    with indexer.open(url) as collection:
        collection.add_many({"text": OTHER, "id": name} for name in ("c", "d"))
    neardup("cluster", "--store", url)
    assert [one["kept"] for one in surplus(url, *IDENTICAL).values()] == ["", ""]


WAYS: dict[str, list[Any]] = {
    "delete": [{"delete": {"_id": "old"}}],
    "by an alias": [{"delete": {"_index": "ALIAS", "_id": "old"}}],
    "with routing": [{"delete": {"_id": "old", "routing": "x"}}, {"delete": {"_id": "old"}}],
    "replace": [{"index": {"_id": "old"}}, {"body": NEW}],
    "update": [{"update": {"_id": "old"}}, {"doc": {"body": NEW}}],
    "script": [{"update": {"_id": "old"}}, {"script": {"source": "ctx._source.remove('body')"}}],
    "script that deletes": [{"update": {"_id": "old"}}, {"script": {"source": "ctx.op = 'delete'"}}],
    "upsert": [{"update": {"_id": "old"}}, {"doc": {"body": NEW}, "doc_as_upsert": True}],
    "create after delete": [{"delete": {"_id": "old"}}, {"create": {"_id": "old"}}, {"body": NEW}],
    "twice": [{"index": {"_id": "old"}}, {"body": TEXT}, {"index": {"_id": "old"}}, {"body": NEW}],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", [True, False])
def test_nothing_is_left_out_for_what_the_same_request_takes_away(
    server: Server, index_name: str, way: str, first: bool
) -> None:
    url = f"{server.url}/{index_name}"
    fill(server, index_name, {"old": {"body": TEXT}, "12": {"body": OTHER}})
    alias = f"{index_name}-alias"
    server.request("POST", "/_aliases", {"actions": [{"add": {"index": index_name, "alias": alias}}]})
    annotate(url, "--field", "body")
    own = json.loads(json.dumps(WAYS[way]).replace("ALIAS", alias))
    moved = [{"index": {"_id": "moved"}}, {"body": TEXT}, {"index": {"_id": "again"}}, {"body": TEXT}]
    number = [b'{"delete":{"_id":12}}\n', {"create": {}}, {"body": OTHER}]
    through = made(url, *((own + moved) if first else (moved + own)), *number, skip=True)
    assert list(through.skipped) == []
    if "script" in way and server.name == "elasticsearch":
        # This server runs no scripts; the request itself shows that nothing was left out.
        return
    send(server, index_name, through.lines)
    assert {TEXT, OTHER} <= {each.get("body") for each in sources(server, index_name).values()}


def test_an_action_that_names_a_member_twice_is_refused(server: Server, index_name: str) -> None:
    url = annotated(server, index_name, "plain", {"a": TEXT, "b": OTHER})
    twice = b'{"delete": {"_id": "a", "_id": "b"}}\n'
    with pytest.raises(UsageError, match="line 1: is no action"):
        made(url, twice, {"index": {"_id": "moved"}}, {"body": TEXT}, skip=True)
