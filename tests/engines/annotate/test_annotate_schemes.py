"""Secondary schemes for the documents of an owner's index: annotated, kept up, and left alone by updates."""

from __future__ import annotations

import pytest

from indexer.library.opening import open_store
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from tests.engines.annotated import annotate, fill, neardup, prose, sources, write
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
