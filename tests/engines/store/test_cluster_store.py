"""What only a cluster has: owners' documents, routing, aliases, data streams, patterns, refreshes, hubs."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from indexer.engine.client.connection import connect
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.setup.provision import Provision
from indexer.engine.store.store import SearchStore, open_search_store
from indexer.errors import IncompatibleStoreError, StoreError, UsageError
from indexer.library.opening import open_store
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.model import Fingerprint, Record, Ref
from indexer.schemes.keys.simhash64 import probes, simhash_keys
from indexer.schemes.simhash import sketched
from indexer.stores import PutStatus
from tests import warm
from tests.engines.annotated import left_by_removal
from tests.engines.servers import OpenSearch, Server
from tests.stores.asked import counts_with_keys, documents_with_keys, holders_of, values_of
from tests.stores.made import INFO, put, record

OWNER = {"lang": "en", "date": "2026-03-01", "body": "text of the owner's"}


def made(server: Server, name: str) -> SearchStore:
    """A new store whose writes are found at once."""
    store = open_search_store(f"{server.url}/{name}", INFO)
    store.refresh = "true"
    return store


def values(store: SearchStore, value: int, distance: int = 0) -> dict[int, int]:
    """What is found within the plan of a distance: values, and how many documents have each."""
    return counts_with_keys(store, probes(value, distance))


class TestOwnersDocuments:
    def test_only_neardup_changes_in_an_owners_document(self, server: Server, index_name: str) -> None:
        with made(server, index_name) as store:
            server.request("PUT", f"/{index_name}/_doc/a?refresh=true", OWNER)
            assert store.get([Ref("a")]) == [None]
            assert list(store.scan()) == []
            assert put(store, record("a", 1, title="x", metadata={"k": 1})) == [PutStatus.REPLACED]
            store.annotate([(Ref("a"), {"n": 1, "cluster": {"id": "c", "is_canonical": True, "distance": 0}})])
            assert put(store, record("a", 7)) == [PutStatus.REPLACED]
            assert store.get([Ref("a")]) == [record("a", 7)]
            assert store.annotations([Ref("a")]) == [{}]
            assert store.delete([Ref("a")]) == 1
            assert store.stats().documents == 0
            stored = server.request("GET", f"/{index_name}/_doc/a")["_source"]
            assert stored == OWNER | left_by_removal(server)

    def test_an_owners_field_that_looks_like_a_record_is_found_by_nothing(
        self, server: Server, index_name: str
    ) -> None:
        with made(server, index_name) as store:
            fields = store.bodies.fields(record("x", 1))
            for name, theirs in (("text", {**fields, "tokens": "5"}), ("list", [fields])):
                answer = server.request("PUT", f"/{index_name}/_doc/{name}?refresh=true", {"neardup": theirs})
                assert answer["result"] == "created"
            put(store, record("a", 1))
            assert documents_with_keys(store, simhash_keys(1)) == {Ref("a"): 1}
            assert holders_of(store, [1]) == [Ref("a")]
            question = Question("asked", fingerprint=Fingerprint(1, 500))
            found = lookup(store, parse_rule("simhash-doc@3bits"), question)
            assert [match.record.ref for match in found.matches] == [Ref("a")]

    def test_what_changed_since_it_was_read_is_read_again(self, server: Server, index_name: str) -> None:
        with made(server, index_name) as store, open_search_store(f"{server.url}/{index_name}") as other:
            names = ["a", "b", "c"]
            for name in names:
                server.request("PUT", f"/{index_name}/_doc/{name}?refresh=true", OWNER)
            put(store, *[record(name, number) for number, name in enumerate(names)])
            refs = [Ref(name) for name in names]
            assert store.annotations(refs) == [{}, {}, {}]
            server.request("POST", f"/{index_name}/_update/a", {"doc": {"lang": "de"}})
            other.annotate([(Ref("a"), {"others": 1})])
            other.delete([Ref("b")])
            assert store.annotate([(ref, {"own": 2}) for ref in refs]) == 2
            assert store.annotations(refs) == [{"others": 1, "own": 2}, None, {"own": 2}]
            sources = [server.request("GET", f"/{index_name}/_doc/{name}")["_source"] for name in names]
            assert [each["lang"] for each in sources] == ["de", "en", "en"]
            assert sources[1] == OWNER | left_by_removal(server)

    def test_of_many_batches_the_last_word_counts(self, server: Server, index_name: str) -> None:
        with made(server, index_name) as store:
            put(store, *[record(str(number), number) for number in range(1100)])
            given = [
                (Ref(str(number)), {"n": turn, f"turn{turn}": True}) for turn in range(3) for number in range(1100)
            ]
            assert store.annotate(given) == 3300
            wanted = {"n": 2, "turn0": True, "turn1": True, "turn2": True}
            assert [each for each in store.annotations([Ref(str(n)) for n in range(1100)]) if each != wanted] == []

    @pytest.mark.parametrize("change", ["update", "update-by-query", "reindex"])
    def test_keys_stay_through_the_owners_own_changes(self, server: Server, index_name: str, change: str) -> None:
        with made(server, index_name) as store:
            put(store, *[record(str(number), number << 8) for number in range(10)])
            name = index_name
            if change == "update":
                server.request("POST", f"/{name}/_update/3?refresh=true", {"doc": OWNER})
            elif change == "update-by-query":
                answer = server.request("POST", f"/{name}/_update_by_query?refresh=true&conflicts=proceed")
                if "updated" not in answer:
                    pytest.skip(f"{server.name} here has no _update_by_query")
            else:
                mappings = server.request("GET", f"/{name}")[name]["mappings"]
                name = f"{index_name}-again"
                server.request("PUT", f"/{name}", {"mappings": mappings})
                body = {"source": {"index": index_name}, "dest": {"index": name}}
                if "created" not in server.request("POST", "/_reindex?refresh=true", body):
                    pytest.skip(f"{server.name} here has no _reindex")
        with open_store(f"{server.url}/{name}") as changed:
            for number in range(10):
                assert documents_with_keys(changed, simhash_keys(number << 8))[Ref(str(number))] == number << 8

    def test_a_filter_narrows_candidates(self, server: Server, index_name: str) -> None:
        with made(server, index_name) as store:
            for name, lang in (("a", "en"), ("b", "de")):
                server.request("PUT", f"/{index_name}/_doc/{name}?refresh=true", {**OWNER, "lang": lang})
            put(store, record("a", 1), record("b", 1))
            assert values(store, 1) == {1: 2}
            store.narrow("lang:en AND date:[2024 TO *]")
            assert values(store, 1) == {1: 1}
            assert values_of(store) == {Ref("a"): 1}
            assert holders_of(store, [1]) == [Ref("a")]
            with pytest.raises(UsageError, match="filter"):
                store.narrow("lang:(en AND")

    def test_nested_documents_and_join_fields(self, server: Server, index_name: str) -> None:
        with made(server, index_name) as store:
            mapping: dict[str, Any] = {"comments": {"type": "nested", "properties": {"by": {"type": "keyword"}}}}
            server.request("PUT", f"/{index_name}/_mapping", {"properties": mapping})
            join = {"relation": {"type": "join", "relations": {"question": "answer"}}}
            joins = "error" not in server.request("PUT", f"/{index_name}/_mapping", {"properties": join})
            server.request("PUT", f"/{index_name}/_doc/q", {"comments": [{"by": "x"}, {"by": "y"}]})
            put(store, record("q", 1))
            assert values(store, 1) == {1: 1}
            assert values_of(store) == {Ref("q"): 1}
            if joins:
                child = {"relation": {"name": "answer", "parent": "q"}}
                server.request("PUT", f"/{index_name}/_doc/c?routing=q&refresh=true", child)
                keyed = Record(Ref("c", "", "q"), sketched(Fingerprint(1, 5)))
                (result,) = store.put([keyed])
                assert (result.status, result.reason) == (PutStatus.REPLACED, "")
                stored = server.request("GET", f"/{index_name}/_doc/c?routing=q")["_source"]
                assert stored["relation"] == {"name": "answer", "parent": "q"}
                assert Ref("c", "", "q") in holders_of(store, [1])


class TestIdentity:
    def test_equal_ids_with_other_routing_are_others(self, server: Server, index_name: str) -> None:
        client = connect(f"{server.url}/{index_name}")
        provision = Provision(client)
        list(provision.carry_out(provision.set_up(INFO, shards=5, replicas=0)))
        client.close()
        with made(server, index_name) as store:
            routed = [Record(Ref("same", "", str(n)), sketched(Fingerprint(n, 5))) for n in range(8)]
            results = list(store.put(routed))
            kept = [each.ref for each in results if each.status is PutStatus.CREATED]
            assert kept
            # Where two fall on one shard the engine can't tell them apart: said, and nothing is overwritten.
            assert all("routing" in each.reason for each in results if each.status is PutStatus.FAILED)
            assert sorted(found.ref for found in store.scan()) == sorted(kept)
            assert store.get([Ref("same")]) == [None]
            assert store.find_each(["same"]) == [sorted(kept)]
            again = [each for each in routed if each.ref in kept]
            assert put(store, *again) == [PutStatus.REPLACED] * len(kept)
            assert store.delete(kept) == len(kept)

    def test_equal_ids_in_two_indices_are_ambiguous(self, server: Server, index_name: str) -> None:
        names = [f"{index_name}-{letter}" for letter in "ab"]
        for number, name in enumerate(names):
            with made(server, name) as store:
                put(store, record("same", number), record(f"only-{number}", 5))
        with open_search_store(f"{server.url}/{index_name}-*", None, True) as store:
            assert store.find_each(["same"]) == [[Ref("same", name) for name in names]]
            assert store.find_each([f"{names[1]}/same"]) == [[Ref("same", names[1])]]
            assert store.get([Ref("same")]) == [None]
            assert [each and each.fingerprint for each in store.get(store.find_each(["same"])[0])] == [
                Fingerprint(0, 500),
                Fingerprint(1, 500),
            ]
            assert values(store, 5) == {5: 2}
            assert store.stats().documents == 4
            with pytest.raises(StoreError, match=r"read-only|only be read"):
                put(store, record("new", 1))

    def test_indices_that_differ_are_not_mixed(self, server: Server, index_name: str) -> None:
        made(server, f"{index_name}-a").close()
        other = {name: getattr(INFO, name) for name in INFO.__slots__} | {"unicode": "1.1.0"}
        open_search_store(f"{server.url}/{index_name}-b", type(INFO)(**other)).close()
        with pytest.raises(IncompatibleStoreError, match="Unicode"):
            open_store(f"{server.url}/{index_name}-*", read_only=True)


class TestAliases:
    def test_behind_a_rolled_over_alias_a_document_is_replaced_where_it_lies(
        self, server: Server, index_name: str
    ) -> None:
        old, new, alias = f"{index_name}-1", f"{index_name}-2", f"{index_name}-all"
        with made(server, old) as store:
            put(store, record("a", 1), record("b", 2))
        made(server, new).close()
        actions = [
            {"add": {"index": old, "alias": alias, "is_write_index": False}},
            {"add": {"index": new, "alias": alias, "is_write_index": True}},
        ]
        server.request("POST", "/_aliases", {"actions": actions})
        with open_search_store(f"{server.url}/{alias}") as store:
            assert put(store, record("a", 9), record("c", 3)) == [PutStatus.REPLACED, PutStatus.CREATED]
            # Not yet refreshed, and found all the same.
            assert put(store, record("c", 4)) == [PutStatus.REPLACED]
            found = {each.ref: each.fingerprint.value for each in store.scan() if each.fingerprint}
            assert found == {Ref("a", old): 9, Ref("b", old): 2, Ref("c", new): 4}
            assert store.get([Ref("b")]) == [record("b", 2)]
            assert store.annotate([(Ref("b"), {"x": 1}), (Ref("c", new), {"x": 2})]) == 2
            assert store.delete([Ref("b"), Ref("c")]) == 2

    def test_a_data_stream(self, server: Server, index_name: str) -> None:
        if not isinstance(server, OpenSearch):
            pytest.skip("this build of Elasticsearch has no data streams")
        body = mapping_of(index_name)
        server.request("PUT", f"/_index_template/{index_name}", body)
        try:
            assert "error" not in server.request("PUT", f"/_data_stream/{index_name}-ds")
            with open_search_store(f"{server.url}/{index_name}-ds") as store:
                assert put(store, record("a", 1), record("b", 2)) == [PutStatus.CREATED] * 2
                server.request("POST", f"/{index_name}-ds/_rollover")
            with open_search_store(f"{server.url}/{index_name}-ds") as store:
                assert put(store, record("a", 3), record("c", 1)) == [PutStatus.REPLACED, PutStatus.CREATED]
                assert put(store, record("c", 5)) == [PutStatus.REPLACED]
                assert sorted((each.ref.id, each.fingerprint.value) for each in store.scan() if each.fingerprint) == [
                    ("a", 3),
                    ("b", 2),
                    ("c", 5),
                ]
                assert len({each.ref.index for each in store.scan()}) == 2
                assert store.delete([Ref("a")]) == 1
        finally:
            server.request("DELETE", f"/_data_stream/{index_name}-ds")
            server.request("DELETE", f"/_index_template/{index_name}")


def mapping_of(name: str) -> dict[str, Any]:
    """An index template of a data stream with neardup's fields."""
    from indexer.engine.index import mapping

    mappings = {"_meta": {"neardup": mapping.meta(INFO)}, "properties": mapping.properties()}
    return {"index_patterns": [f"{name}-ds"], "data_stream": {}, "priority": 900, "template": {"mappings": mappings}}


class TestFinding:
    def test_a_hub_is_counted_whole(self, server: Server, index_name: str) -> None:
        count = 50_000
        with made(server, index_name) as store:
            store.refresh = "wait"
            for _ in store.put(record(f"{number:06d}", 7) for number in range(count)):
                pass
            tracemalloc.start()
            try:
                assert values(store, 7, 3) == {7: count}
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            # A page of hits at a time: 50,000 records would take many times that.
            assert peak < 40 << 20
            # Past the engines' window of 10,000 hits.
            assert len(values_of(store)) == count

    def test_every_distinct_value_comes_past_any_window(self, server: Server, index_name: str) -> None:
        with made(server, index_name) as store:
            # One key in common: the first table's.
            values_there = [0xABCD_EF00_0000_0000 | number for number in range(12_000)]
            for _ in store.put(record(str(number), value) for number, value in enumerate(values_there)):
                pass
            found = documents_with_keys(store, simhash_keys(values_there[0])[:1])
            assert found == {Ref(str(number)): value for number, value in enumerate(values_there)}

    def test_only_doc_values_are_read_for_keys_and_values(self, server: Server, index_name: str) -> None:
        with made(server, index_name) as store:
            mappings = server.request("GET", f"/{index_name}")[index_name]["mappings"]
            bare = f"{index_name}-bare"
            # Nothing of a fingerprint can be had from _source here.
            server.request(
                "PUT",
                f"/{bare}",
                {"mappings": {**mappings, "_source": {"excludes": ["neardup.simhash-doc", "neardup.tokens"]}}},
            )
        with open_search_store(f"{server.url}/{bare}") as store:
            store.refresh = "true"
            # More than come with their records.
            stored = {f"{number:03d}": number % 2 * 2 + 1 for number in range(300)}
            put(store, *[record(name, value) for name, value in stored.items()])
            found = {Ref(name): value for name, value in stored.items()}
            assert documents_with_keys(store, simhash_keys(1)) == values_of(store) == found

    def test_when_a_command_has_ended_well_its_documents_are_found(self, server: Server, index_name: str) -> None:
        slow = {"index_patterns": [index_name], "priority": 800, "template": {"settings": {"refresh_interval": "1h"}}}
        server.request("PUT", f"/_index_template/{index_name}", slow)
        try:
            with open_search_store(f"{server.url}/{index_name}", INFO) as store:
                put(store, record("a", 1))
                assert server.request("GET", f"/{index_name}/_count")["count"] == 0
                # The store itself sees what it wrote.
                assert values(store, 1) == {1: 1}
                put(store, record("b", 1))
            assert server.request("GET", f"/{index_name}/_count")["count"] == 2
            with open_search_store(f"{server.url}/{index_name}", INFO) as store:
                store.refresh = "none"
                put(store, record("c", 1))
            assert server.request("GET", f"/{index_name}/_count")["count"] == 2
        finally:
            server.request("DELETE", f"/_index_template/{index_name}")


def test_the_command_indexes_and_finds(server: Server, index_name: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    text = " ".join(f"word{number}" for number in range(200))
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.txt").write_text(text + " more")
    url = f"{server.url}/{index_name}"

    def neardup(*arguments: str) -> str:
        done = warm.run_text(*arguments, "--store", url, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    neardup("setup")
    neardup("index", ".")
    assert '"unchanged": 2' in neardup("index", ".", "--json")
    assert "b.txt" in neardup("similar", "a.txt", "--distance", "7")


def test_wrong_urls_are_told() -> None:
    for url, words in (
        ("https://host:9200", "name a host and an index"),
        ("https://user:secret@host:9200", "name a host and an index"),
        ("https://host:9200/Upper", "not a valid index name"),
        ("https:///index", "name a host"),
        ("https://host/index?x=1", "write https"),
    ):
        with pytest.raises(UsageError, match=words) as caught:
            open_store(url)
        assert "secret" not in str(caught.value)


def test_nobody_there() -> None:
    with pytest.raises(StoreError, match="no answer after"):
        open_search_store("http://127.0.0.1:9/docs", retry=RetryPolicy(timeout=2, limit=0.5, first=0.05))
