"""Whatever an owner does with an annotated index, every document is found by its keys and keeps its cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from indexer import open_store
from indexer.clustering.annotations import stored_clusters
from indexer.matching.lookups import Asking
from indexer.matching.question import Question
from indexer.matching.rule import default_rule
from indexer.model import SIMHASH_DOC, Ref
from tests.cli.written import changed, prose
from tests.engines.annotated import OWNERS_MAPPING, annotate, fill, found_by_keys, neardup, sources, write
from tests.engines.servers import Server

TEXTS = {name: prose(number) for number, name in enumerate("abcdefgh")} | {"copy": changed(prose(0))}
BODIES = {name: {"body": text, "lang": "xx"} for name, text in TEXTS.items()}
PAIR = ["a", "copy"]


@pytest.fixture
def url(server: Server, index_name: str) -> str:
    """An owner's index, annotated and put into clusters."""
    fill(server, index_name, BODIES)
    url = f"{server.url}/{index_name}"
    assert annotate(url, "--field", "body")["annotated"] == len(TEXTS)
    cluster(url)
    require_kept(url)
    return url


def cluster(url: str) -> None:
    """Run the command."""
    neardup("cluster", "--store", url)


def require_kept(url: str) -> None:
    """Fail unless every document is found by the keys of its text, and the pair is one cluster."""
    found = found_by_keys(url, TEXTS)
    near = {"a": set(PAIR), "copy": set(PAIR)}
    assert found == {name: near.get(name, {name}) for name in TEXTS}
    with open_store(url, read_only=True) as store:
        assert [sorted(ref.id for ref in each.members) for each in stored_clusters(store, least=2)] == [PAIR]
        assert len(list(stored_clusters(store))) == len(TEXTS) - 1


def done(answer: Any) -> Any:
    """An answer that is no error."""
    assert "error" not in answer, answer
    assert not answer.get("errors"), answer
    return answer


def test_partial_updates(server: Server, index_name: str, url: str) -> None:
    for name in TEXTS:
        done(server.request("POST", f"/{index_name}/_update/{name}", {"doc": {"lang": "en"}}))
    server.request("POST", f"/{index_name}/_refresh")
    assert server.request("GET", f"/{index_name}/_count?q=lang:en")["count"] == len(TEXTS)
    require_kept(url)
    assert annotate(url, "--field", "body")["unchanged"] == len(TEXTS)


def test_an_update_by_query(server: Server, index_name: str, url: str) -> None:
    if server.name != "opensearch":
        pytest.skip("this Elasticsearch is without the module")
    script = {"source": "ctx._source.lang = 'en'"}
    path = f"/{index_name}/_update_by_query?refresh=true"
    assert done(server.request("POST", path, {"script": script}))["updated"] == len(TEXTS)
    require_kept(url)
    assert annotate(url, "--field", "body")["unchanged"] == len(TEXTS)


def test_a_reindex_and_an_alias_that_changes_over(server: Server, index_name: str, url: str) -> None:
    alias, new = f"{index_name}-alias", f"{index_name}-new"
    done(server.request("POST", "/_aliases", {"actions": [{"add": {"index": index_name, "alias": alias}}]}))
    require_kept(f"{server.url}/{alias}")
    if server.name == "opensearch":
        done(server.request("PUT", f"/{new}", server.request("GET", f"/{index_name}/_mapping")[index_name]))
        moved = {"source": {"index": index_name}, "dest": {"index": new}}
        assert done(server.request("POST", "/_reindex?refresh=true", moved))["created"] == len(TEXTS)
    else:
        # This Elasticsearch has no _reindex.
        server.request("PUT", f"/{index_name}/_settings", {"index.blocks.write": True})
        settings = {"index.blocks.write": None}
        done(server.request("POST", f"/{index_name}/_clone/{new}?wait_for_active_shards=1", {"settings": settings}))
    change = [{"remove": {"index": index_name, "alias": alias}}, {"add": {"index": new, "alias": alias}}]
    done(server.request("POST", "/_aliases", {"actions": change}))
    server.request("DELETE", f"/{index_name}")
    require_kept(f"{server.url}/{alias}")
    assert annotate(f"{server.url}/{alias}", "--field", "body")["unchanged"] == len(TEXTS)
    cluster(f"{server.url}/{alias}")
    require_kept(f"{server.url}/{alias}")


def test_a_rollover(server: Server, index_name: str) -> None:
    alias = f"{index_name}-alias"
    for number in (1, 2):
        body = {"mappings": OWNERS_MAPPING, "aliases": {alias: {"is_write_index": True}}}
        if number == 1:
            done(server.request("PUT", f"/{index_name}-000001", body))
        else:
            done(server.request("POST", f"/{alias}/_rollover", {"mappings": OWNERS_MAPPING}))
        for name in list(TEXTS)[:5] if number == 1 else list(TEXTS)[5:]:
            write(server, alias, name, BODIES[name])
        counts = annotate(f"{server.url}/{alias}", "--field", "body")
        assert counts["annotated"] + counts["unchanged"] == counts["total"] == (5 if number == 1 else len(TEXTS))
    # A pair over two indices.
    cluster(f"{server.url}/{alias}")
    require_kept(f"{server.url}/{alias}")
    done(server.request("POST", f"/{alias}/_rollover"))
    require_kept(f"{server.url}/{alias}")


def test_a_data_stream(server: Server, index_name: str) -> None:
    stream = f"{index_name}-stream"
    template = {"mappings": {"properties": {"body": {"type": "text"}}}}
    body = {"index_patterns": [stream], "data_stream": {}, "template": template, "priority": 500}
    done(server.request("PUT", f"/_index_template/{stream}", body))
    try:
        for place, (name, document) in enumerate(BODIES.items()):
            stamped = {"@timestamp": "2026-01-01T00:00:00Z", **document}
            done(server.request("PUT", f"/{stream}/_create/{name}", stamped))
            if place == 4:
                done(server.request("POST", f"/{stream}/_rollover"))
        url = f"{server.url}/{stream}"
        assert annotate(url, "--field", "body")["annotated"] == len(TEXTS)
        cluster(url)
        require_kept(url)
        done(server.request("POST", f"/{stream}/_rollover"))
        require_kept(url)
        index = server.request("GET", f"/{stream}/_search?q=_id:a")["hits"]["hits"][0]["_index"]
        done(server.request("POST", f"/{index}/_update/a?refresh=true", {"doc": {"lang": "en"}}))
        require_kept(url)
    finally:
        server.request("DELETE", f"/_data_stream/{stream}")
        server.request("DELETE", f"/_index_template/{stream}")


def test_split_and_shrink(server: Server, index_name: str, url: str) -> None:
    before = index_name
    for number in range(3):
        done(server.request("POST", f"/{index_name}/_update/a", {"doc": {"lang": str(number)}}))
    for way, shards in (("split", 4), ("shrink", 2)):
        server.request("PUT", f"/{before}/_settings", {"index.blocks.write": True})
        after = f"{index_name}-{way}"
        settings = {"index.number_of_shards": shards, "index.blocks.write": None}
        done(server.request("POST", f"/{before}/_{way}/{after}?wait_for_active_shards=1", {"settings": settings}))
        changed_url = f"{server.url}/{after}"
        require_kept(changed_url)
        # Nor are the versions taken for its owner's.
        assert annotate(changed_url, "--field", "body")["unchanged"] == len(TEXTS)
        assert annotate(changed_url, "--field", "body", "--again")["annotated"] == len(TEXTS)
        before = after


@pytest.fixture
def repository(server: Server, index_name: str) -> Iterator[str]:
    """A place for snapshots."""
    settings = {"type": "fs", "settings": {"location": index_name}}
    done(server.request("PUT", f"/_snapshot/{index_name}", settings))
    yield index_name
    server.request("DELETE", f"/_snapshot/{index_name}/*")
    server.request("DELETE", f"/_snapshot/{index_name}")


def test_a_snapshot_and_its_restore(server: Server, index_name: str, url: str, repository: str) -> None:
    wanted = {"indices": f"{index_name},neardup-{index_name}-*", "include_global_state": False}
    answer = done(server.request("PUT", f"/_snapshot/{repository}/all?wait_for_completion=true", wanted))
    assert answer["snapshot"]["state"] == "SUCCESS"
    server.request("DELETE", f"/{index_name},neardup-{index_name}-*")
    renamed = {"rename_pattern": index_name, "rename_replacement": f"{index_name}-back"}
    for change, name in (({}, index_name), (renamed, f"{index_name}-back")):
        path = f"/_snapshot/{repository}/all/_restore?wait_for_completion=true"
        done(server.request("POST", path, {**wanted, **change}))
        back = f"{server.url}/{name}"
        require_kept(back)
        assert annotate(back, "--field", "body")["unchanged"] == len(TEXTS)
        with open_store(back, read_only=True) as store:
            assert [each.size for each in store.clusters()] == [2]


@pytest.mark.parametrize("left_out", [["neardup.*.t*", "neardup.*.keys"], ["neardup.minhash.keys"]])
def test_many_questions_at_once_where_source_lacks_the_keys(
    server: Server, index_name: str, url: str, left_out: list[str]
) -> None:
    # Near to two others by the sketch, and by its simhash to none.
    words = prose(0).split()
    words[::16] = prose(77, len(words[::16])).split()
    write(server, index_name, "far", {"body": " ".join(words)}, refresh="true")
    annotate(url, "--field", "body")
    other = f"{index_name}-other"
    mappings = server.request("GET", f"/{index_name}")[index_name]["mappings"]
    done(server.request("PUT", f"/{other}", {"mappings": {**mappings, "_source": {"excludes": left_out}}}))
    for name, source in sources(server, index_name).items():
        write(server, other, name.partition("/")[2], source, refresh="true")
    with open_store(url, read_only=True) as store, open_store(f"{server.url}/{other}", read_only=True) as bare:
        rule = default_rule(store)
        names = [*TEXTS, "far"]
        records = store.get([Ref(name) for name in names])
        questions = [
            Asking(store, rule, Question(name, record=each)).probes for name, each in zip(names, records, strict=True)
        ]
        by_hash = {
            ref
            for some in store.probe([one for one in questions[-1] if one.scheme == SIMHASH_DOC])
            for ref in some.refs
        }
        assert by_hash == {Ref("far")}
        for searched in (store, bare):
            singly = [{ref for some in searched.probe(probes) for ref in some.refs} for probes in questions]
            assert singly[-1] >= {Ref("a"), Ref("copy"), Ref("far")}
            many = [{ref for some in found for ref in some.refs} for found in searched.probe_many(questions)]
            assert many == singly
