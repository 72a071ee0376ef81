"""Secondary schemes for the documents of an owner's index: annotated, kept up, and left alone by updates."""

from __future__ import annotations

import json

import pytest

from indexer.engine.index.bodies import OWNERS_ROOM
from indexer.library.opening import open_store
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.schemes.testing import document
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
    url, beside = f"{server.url}/{index_name}", f"{index_name}-neardup"
    note, book = f"Note\n{document(1, 1500)}", f"Book\n{document(2, 60_000)}"
    fill(server, index_name, {"note": {"body": note}, "book": {"body": book}, "leaf": {"body": document(3, 60)}})
    flags = ["--field", "body", "--scheme", "passages"]
    done = annotate(url, *flags)
    assert (done["annotated"], done["too_long"]) == (3, 1)
    assert annotate(url, *flags)["unchanged"] == 3
    for each in sources(server, index_name).values():
        assert len(json.dumps(each["neardup"], separators=(",", ":"))) <= OWNERS_ROOM

    def holders(name: str, text: str) -> tuple[list[str], int]:
        with open_store(f"{server.url}/{name}", read_only=True) as store:
            answer = lookup(store, parse_rule("passages@0.9", store), Question("asked", text))
        return [match.record.ref.id.rpartition("/")[2] for match in answer.matches], answer.lacking

    page, chapter = " ".join(note.split()[300:700]), " ".join(book.split()[30_000:31_000])
    assert holders(index_name, page) == (["note"], 1)
    # What is not kept is not found, and counted as what can't be compared.
    assert holders(index_name, chapter) == ([], 1)
    assert annotate(url, *flags, "--to", beside)["too_long"] == 0
    assert holders(beside, chapter) == (["book"], 0)
    # A text that was cut has room, and of one that has grown nothing is left.
    write(server, index_name, "book", {"body": chapter})
    write(server, index_name, "note", {"body": book})
    assert annotate(url, *flags)["too_long"] == 1
    assert holders(index_name, chapter) == (["book"], 1)
    own = {name.rpartition("/")[2]: each["neardup"] for name, each in sources(server, index_name).items()}
    assert own["book"]["passages"].keys() == {"features", "key_terms"}
    assert own["note"]["passages"].keys() == {"too_long"}
    # Once the scheme is gone, so is the note, and the same scheme is tried anew.
    with open_store(url) as store:
        store.remove_scheme("passages")
    assert all(each["neardup"]["passages"] is None for each in sources(server, index_name).values())
    assert annotate(url, *flags)["annotated"] == 3


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
