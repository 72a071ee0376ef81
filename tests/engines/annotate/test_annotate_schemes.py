"""Secondary schemes for the documents of an owner's index: annotated, kept up, and left alone by updates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import indexer
from indexer.engine.index.bodies import OWNERS_ROOM
from indexer.library.opening import open_store
from indexer.matching.asking import Answered, Unanswered, lookup_each
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.model import Ref
from indexer.schemes.testing import document
from indexer.stores.sketches import Found
from tests.cli.written import prose
from tests.engines.annotated import annotate, fill, neardup, sources, write
from tests.engines.servers import Server


@pytest.mark.parametrize("aside", [False, True])
def test_sketches_are_added_and_kept_up(server: Server, index_name: str, aside: bool) -> None:
    url, text = f"{server.url}/{index_name}", prose(1)
    target = f"{index_name}-neardup" if aside else index_name
    fill(server, index_name, {"a": {"body": text}, "b": {"body": text}, "c": {"body": prose(2)}})
    flags = ["--field", "body", *(["--to", target] if aside else [])]
    assert annotate(url, *flags, "--schemes", "simhash-doc")["annotated"] == 3
    # Nothing changed but the schemes that are wanted; they are remembered.
    assert annotate(url, *flags, "--scheme", "minhash")["annotated"] == 3
    assert annotate(url, *flags)["unchanged"] == 3
    # Of a changed text nothing old is left, and a partial update of something else loses nothing.
    write(server, index_name, "b", {"body": prose(3)})
    server.request("POST", f"/{index_name}/_update/a", {"doc": {"lang": "en"}})
    changed = annotate(url, *flags)
    assert (changed["annotated"], changed["unchanged"]) == (1, 2)
    server.request("POST", f"/{index_name}/_update/c", {"doc": {"body": text}})
    assert annotate(url, *flags)["stale"] == 1
    with open_store(f"{server.url}/{target}", read_only=True) as store:
        rule = parse_rule("minhash@0.9", store)
        found = lookup(store, rule, Question("asked", text)).matches
        assert [match.record.ref.id.rpartition("/")[2] for match in found] == ["a", "c"]
        assert store.sketch_counts() == {"minhash": 3}
        assert [m.record.ref.id[-1] for m in lookup(store, rule, Question("asked", prose(3))).matches] == ["b"]
    if not aside:
        assert sources(server, index_name)[f"{index_name}/a"]["lang"] == "en"


def test_passages_take_no_more_of_an_owners_document_than_it_has_room_for(server: Server, index_name: str) -> None:
    url, keys = f"{server.url}/{index_name}", f"neardup-{index_name}-keys"
    note, book = f"Note\n{document(1, 1500)}", f"Book\n{document(2, 60_000)}"
    fill(server, index_name, {"note": {"body": note}, "book": {"body": book}, "leaf": {"body": document(3, 60)}})
    flags = ["--field", "body", "--scheme", "passages"]
    done = annotate(url, *flags)
    assert (done["annotated"], done["beside"]) == (3, 1)
    assert annotate(url, *flags)["unchanged"] == 3
    for each in sources(server, index_name).values():
        assert len(json.dumps(each["neardup"], separators=(",", ":"))) <= OWNERS_ROOM

    def holders(text: str) -> tuple[list[str], int]:
        with open_store(url, read_only=True) as store:
            answer = lookup(store, parse_rule("passages@0.9", store), Question("asked", text))
            assert answer.candidates >= answer.total
        return [match.record.ref.id for match in answer.matches], answer.lacking

    page, chapter = " ".join(note.split()[300:700]), " ".join(book.split()[30_000:30_700])
    # What has no room in the document is found all the same.
    assert holders(page) == (["note"], 0)
    assert holders(chapter) == (["book"], 0)
    with open_store(url, read_only=True) as store:
        assert store.sketch_counts()["passages"] == 3
        rule = parse_rule("passages@0.9", store)
        asked = [Question("page", page), Question("chapter", chapter), Question("none", prose(7))]
        many = [_ids(one) for one in lookup_each(store, rule, asked, limit=10)]
        assert many == [["note"], ["book"], []]
        found = {ref.id: len(row) for batch in store.scan_sketches(["passages"]) for ref, row in _rows(batch)}
        [record] = store.get([Ref("book")])
        assert record is not None
        assert len(record.sketches["passages"].payload) == found["book"] > 10_000
        assert [finding.level for finding in store.examine() if finding.check == "index beside"] == ["ok"]
    # A text that was cut has room, one that has grown has none, and nothing old is left beside.
    write(server, index_name, "book", {"body": chapter})
    write(server, index_name, "note", {"body": book})
    assert annotate(url, *flags)["beside"] == 1
    assert holders(chapter) == (["book", "note"], 0)
    own = {name.rpartition("/")[2]: each["neardup"] for name, each in sources(server, index_name).items()}
    assert own["book"]["passages"].keys() == {"features", "key_terms"}
    assert own["note"]["passages"].keys() == {"beside"}
    assert [each["id"] for each in sources(server, keys).values()] == ["note"]
    # Once the scheme is gone, so is the note, and the same scheme is tried anew.
    with open_store(url) as store:
        store.remove_scheme("passages")
    assert all(each["neardup"]["passages"] is None for each in sources(server, index_name).values())
    assert not sources(server, keys)
    assert annotate(url, *flags)["annotated"] == 3
    assert holders(chapter) == (["book", "note"], 0)


def test_what_lies_beside_is_used_only_for_the_text_that_it_is_of(server: Server, index_name: str) -> None:
    url, keys = f"{server.url}/{index_name}", f"neardup-{index_name}-keys"
    books = {name: f"Book\n{document(number, 8000)}" for number, name in enumerate(("kept", "gone", "other", "own"))}
    fill(server, index_name, {name: {"body": text} for name, text in books.items()})
    flags = ["--field", "body", "--scheme", "passages"]
    assert annotate(url, *flags)["beside"] == 4
    chapters = {name: " ".join(text.split()[2000:3000]) for name, text in books.items()}

    def found() -> dict[str, list[str]]:
        with open_store(url, read_only=True) as store:
            rule = parse_rule("passages@0.9", store)
            asked = {name: lookup(store, rule, Question(name, text)) for name, text in chapters.items()}
        return {name: [match.record.ref.id for match in answer.matches] for name, answer in asked.items()}

    assert found() == {name: [name] for name in books}
    # Deleted and written anew by the owner, and given another text by neardup while the record beside is an old one.
    server.request("DELETE", f"/{index_name}/_doc/gone?refresh=true")
    write(server, index_name, "other", {"body": books["own"]}, refresh="true")
    assert found() == {"kept": ["kept"], "gone": [], "other": [], "own": ["own"]}
    old = next(hit for hit in _hits(server, keys) if hit["_source"]["id"] == "own")
    server.request("PUT", f"/{index_name}/_doc/own", {"body": books["other"]})
    assert annotate(url, *flags)["annotated"] == 2
    server.request("PUT", f"/{keys}/_doc/{old['_id']}?refresh=true", old["_source"])
    assert found() == {"kept": ["kept"], "gone": [], "other": [], "own": ["other"]}
    # The record of a document that is gone went with the run, and what is lacking is told.
    assert sorted(hit["_source"]["id"] for hit in _hits(server, keys)) == ["kept", "other", "own"]
    with open_store(url) as store:
        store.delete([Ref("kept")])
        assert sorted(hit["_source"]["id"] for hit in _hits(server, keys)) == ["other", "own"]
    server.request("DELETE", f"/{keys}")
    with open_store(url, read_only=True) as store:
        [finding] = [finding for finding in store.examine() if finding.check == "index beside"]
        assert finding.level == "error"
    assert found()["own"] == []
    annotate(url, *flags, "--again")
    assert found()["own"] == ["other"]
    # A record of `neardup index` that comes to be in such a document keeps to the same room.
    with indexer.open(url, schemes=["passages"]) as collection:
        collection.add("kept", books["gone"])
    assert (
        len(json.dumps(sources(server, index_name)[f"{index_name}/kept"]["neardup"], separators=(",", ":")))
        <= OWNERS_ROOM
    )
    assert found()["gone"] == ["kept"]
    neardup("setup", "--store", url, "--remove")
    assert "error" in server.request("GET", f"/{keys}")


def test_what_lies_beside_is_found_by_whatever_name_the_index_is_read(server: Server, index_name: str) -> None:
    alias, books = f"{index_name}-all", {name: f"Book\n{document(number, 8000)}" for number, name in enumerate("ab")}
    for name, text in books.items():
        fill(server, f"{index_name}-{name}", {name: {"body": text}})
        server.request("PUT", f"/{index_name}-{name}/_alias/{alias}")
    assert annotate(f"{server.url}/{alias}", "--field", "body", "--scheme", "passages")["beside"] == 2
    chapter = " ".join(books["a"].split()[2000:3000])
    for read in (alias, f"{index_name}-a", f"{index_name}-*", f"{index_name}-a,{index_name}-b"):
        with open_store(f"{server.url}/{read}", read_only=True) as store:
            answer = lookup(store, parse_rule("passages@0.9", store), Question("asked", chapter))
            assert [match.record.ref.id for match in answer.matches] == ["a"], read
            # What the filter leaves out is none either, though its keys lie where the filter does not reach.
            store.narrow("_id:b")
            assert not lookup(store, parse_rule("passages@0.9", store), Question("asked", chapter)).matches
    neardup("setup", "--store", f"{server.url}/{alias}", "--remove")
    assert "error" in server.request("GET", f"/neardup-{index_name}-a-keys")


def _hits(server: Server, index: str) -> list[dict[str, Any]]:
    server.request("POST", f"/{index}/_refresh")
    hits: list[dict[str, Any]] = server.request("POST", f"/{index}/_search", {"size": 100})["hits"]["hits"]
    return hits


def _ids(answered: Answered | Unanswered) -> list[str]:
    assert isinstance(answered, Answered)
    return [match.record.ref.id for match in answered.answer.matches]


def _rows(batch: Found) -> Iterator[tuple[Ref, bytes]]:
    yield from ((ref, batch.payloads["passages"].bytes_of(place)) for place, ref in enumerate(batch.refs))


def test_a_text_with_other_numbers_leaves_its_cluster(server: Server, index_name: str) -> None:
    url, words = f"{server.url}/{index_name}", prose(1).split()
    bills = [" ".join(f"{word} {number}" for word in words) for number in (1, 2)]
    fill(server, index_name, {name: {"body": bills[0]} for name in "abc"})
    annotate(url, "--field", "body")
    neardup("cluster", "--store", url)
    before = sources(server, index_name)
    assert len({each["neardup"]["cluster"]["id"] for each in before.values()}) == 1
    # The simhash does not count numbers, so it is the same.
    server.request("POST", f"/{index_name}/_update/b", {"doc": {"body": bills[1]}})
    assert annotate(url, "--field", "body")["stale"] == 1
    after = sources(server, index_name)
    hashes = {each["neardup"]["simhash-doc"]["hash"] for each in (*before.values(), *after.values())}
    assert len(hashes) == 1
    assert after[f"{index_name}/a"] == before[f"{index_name}/a"]
    assert after[f"{index_name}/b"]["neardup"]["cluster"]["single"] is True
