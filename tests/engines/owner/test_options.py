"""What options ask of a cluster: filters, names of documents, verification inside, refreshes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from indexer.cli import main
from indexer.engine.client.connection import connect
from indexer.engine.setup.provision import Provision
from indexer.engine.store.store import SearchStore, open_search_store
from indexer.errors import UsageError
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.model import Fingerprint, Record, Ref
from indexer.model.times import Refresh
from indexer.schemes.keys.simhash64 import simhash_keys
from indexer.schemes.simhash import sketched
from indexer.stores import PutStatus
from tests.engines.servers import OpenSearch, Server
from tests.stores.asked import counts_with_keys
from tests.stores.made import INFO, put, record

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """The command in this process: its exit code, what it answers and what it says."""
    monkeypatch.chdir(tmp_path)

    def ran(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return ran


def made(server: Server, name: str) -> SearchStore:
    """A new store whose writes are found at once."""
    store = open_search_store(f"{server.url}/{name}", INFO)
    store.refresh = "true"
    return store


def planted(value: int, each: int, seed: int = 7) -> dict[str, int]:
    """Values at 0 to 9 bits from one, `each` of every distance, by a name that says how far."""
    chosen = random.Random(seed)
    found = {}
    for distance in range(10):
        for number in range(each):
            flipped = sum(1 << bit for bit in chosen.sample(range(64), distance))
            found[f"{distance}-{number}"] = value ^ flipped
    return found


class TestLookups:
    VALUE = 0x9E37_79B9_7F4A_7C15

    @pytest.fixture
    def collection(self, server: Server, index_name: str) -> tuple[SearchStore, dict[str, int]]:
        chosen = random.Random(1)
        values = planted(self.VALUE, 12) | {f"other-{number}": chosen.getrandbits(64) for number in range(2000)}
        store = made(server, index_name)
        store.refresh = "wait"
        assert set(put(store, *[record(name, value) for name, value in values.items()])) == {PutStatus.CREATED}
        return store, values

    def test_nothing_is_missed_and_nothing_else_found_from_0_to_7_bits(
        self, server: Server, collection: tuple[SearchStore, dict[str, int]]
    ) -> None:
        store, values = collection
        asked = Question("asked", fingerprint=Fingerprint(self.VALUE, 500))
        with store:
            for distance in range(8):
                true = {name for name, value in values.items() if (value ^ self.VALUE).bit_count() <= distance}
                assert len(true) >= 12 * (distance + 1)
                rule = parse_rule(f"simhash-doc@{distance}bits")
                found = lookup(store, rule, asked, limit=None)
                assert {match.record.ref.id for match in found.matches} == true
                assert found.total == len(true)
                if isinstance(server, OpenSearch):
                    inside = lookup(store, rule, asked, limit=None, inside=True)
                    assert (inside.matches, inside.total) == (found.matches, found.total)
                    # Nothing but what is near has crossed the wire.
                    assert inside.candidates == len(true) <= found.candidates
            if not isinstance(server, OpenSearch):
                with pytest.raises(UsageError, match=r"can't verify candidates.*Painless"):
                    lookup(store, rule, asked, inside=True)


class TestFilters:
    @pytest.fixture
    def store(self, server: Server, index_name: str) -> SearchStore:
        store = made(server, index_name)
        for number, lang in enumerate(("en", "de", "en", "de")):
            body = {"lang": lang, "date": f"202{number}-01-01"}
            server.request("PUT", f"/{index_name}/_doc/{number}?refresh=true", body)
        put(store, *[record(str(number), 1) for number in range(4)])
        return store

    def test_the_command_answers_what_matches(self, store: SearchStore, run: Run) -> None:
        url = store.shown
        asked = ("similar", "--store", url, "--hash", str(Fingerprint(1, 5)), "--json")
        assert '"total": 4' in run(*asked)[1]
        assert '"total": 1' in run(*asked, "--filter", "lang:en AND date:[2021 TO *]")[1]
        # The document asked about is not counted, whether or not the filter leaves it in.
        for identity, total in (("0", 1), ("1", 2)):
            own = run("similar", "--store", url, "--id", identity, "--filter", "lang:en", "--json")[1]
            assert f'"total": {total}' in own
        assert len(run("pairs", "--store", url, "--filter", "lang:de")[1].splitlines()) == 2
        store.close()

    def test_a_pattern_beside_which_neardup_has_no_indices(self, store: SearchStore, run: Run) -> None:
        asked = ("similar", "--store", f"{store.shown}*", "--hash", str(Fingerprint(1, 5)), "--json")
        assert '"total": 1' in run(*asked, "--filter", "lang:en AND date:[2021 TO *]")[1]
        store.close()

    def test_a_filter_that_can_not_be_read_is_one_sentence(self, store: SearchStore, run: Run) -> None:
        asked = ("similar", "--store", store.shown, "--hash", str(Fingerprint(1, 5)), "--filter")
        for query in ("lang:(en AND", "date:[2024 TO", '"open'):
            code, out, err = run(*asked, query)
            assert (code, out) == (2, "")
            [line] = err.splitlines()
            assert f"the filter {query!r} can't be read: " in line
            assert "line 1, column" in line
            assert "Exception" not in line
        store.close()

    def test_a_store_file_has_no_filters(self, run: Run, tmp_path: Path) -> None:
        open_store(tmp_path / "a.neardup", create=INFO).close()
        asked = ("similar", "--store", "a.neardup", "--hash", str(Fingerprint(1, 5)))
        code, _, err = run(*asked, "--filter", "lang:en")
        assert (code, err.count("\n")) == (2, 1)
        assert "no query language" in err
        code, _, err = run(*asked, "--verify-in-engine")
        assert (code, err.count("\n")) == (2, 1)


class TestRefresh:
    def test_what_a_command_wrote_is_found_when_it_says_so(
        self, server: Server, index_name: str, run: Run, tmp_path: Path
    ) -> None:
        open_store(f"{server.url}/{index_name}", create=store_info("landmarks")).close()
        server.request("PUT", f"/{index_name}/_settings", {"index.refresh_interval": "1h"})
        url = f"{server.url}/{index_name}"

        def indexed(name: str, *options: str) -> int:
            (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": name, "text": f"{name} " * 30}) + "\n")
            assert run("index", f"{name}.jsonl", "--store", url, *options)[0] == 0
            found: int = server.request("GET", f"/{index_name}/_count")["count"]
            return found

        assert indexed("a") == 1
        assert indexed("b", "--refresh", "none") == 1
        assert indexed("c", "--refresh", "true") == 3
        assert run("delete", "a", "--store", url, "--refresh", "none")[0] == 0
        assert server.request("GET", f"/{index_name}/_count")["count"] == 3
        assert run("cluster", "--store", url, "--refresh", "wait")[0] == 0
        assert run("delete", "b", "--store", url)[:2] == (0, "deleted  1\n")
        assert server.request("GET", f"/{index_name}/_count")["count"] == 1

    def test_what_annotate_wrote(self, server: Server, index_name: str, run: Run) -> None:
        settings = {"index.refresh_interval": "1h"}
        server.request("PUT", f"/{index_name}", {"settings": settings})
        server.request("PUT", f"/{index_name}/_doc/a?refresh=true", {"body": "word " * 30})

        def annotated(*options: str) -> int:
            asked = ("annotate", "--store", f"{server.url}/{index_name}", "--field", "body", "--again", "--jobs", "1")
            assert run(*asked, *options)[0] == 0
            found: int = server.request("GET", f"/{index_name}/_count?q=_exists_:neardup.tokens")["count"]
            return found

        assert annotated("--refresh", "none") == 0
        assert annotated() == 1

    def test_each_batch_is_found_at_once_where_asked_for(self, server: Server, index_name: str) -> None:
        with open_search_store(f"{server.url}/{index_name}", INFO) as store:
            server.request("PUT", f"/{index_name}/_settings", {"index.refresh_interval": "1h"})
            ways: dict[Refresh, int] = {"none": 0, "wait": 0, "true": 3}
            for way, found in ways.items():
                store.refresh = way
                put(store, record(way, 1))
                assert server.request("GET", f"/{index_name}/_count")["count"] == found
            store.refresh = "none"
            put(store, record("last", 1))
            # Its own searches see what it wrote all the same.
            assert counts_with_keys(store, simhash_keys(1)) == {1: 4}


class TestNames:
    def test_an_id_in_two_indices_has_to_be_named_whole(self, server: Server, index_name: str, run: Run) -> None:
        one, two = f"{index_name}-a", f"{index_name}-b"
        for name, value in ((one, 1), (two, 3)):
            with made(server, name) as store:
                put(store, record("same", value), record(f"{one}/x", value), record(f"only/{name}", value))
        with made(server, one) as store:
            put(store, record("x", 5))
        url = f"{server.url}/{index_name}-*"
        code, _, err = run("show", "same", "--store", url)
        assert code == 2
        assert f"same: 2 documents have this id: {one}/same, {two}/same; name one of them so" in err
        for name in (one, two):
            assert f'"index": "{name}"' in run("show", f"{name}/same", "--store", url, "--json")[1]
            # An id with a slash is an id all the same, and so is one behind an index.
            assert run("show", f"only/{name}", "--store", url)[0] == 0
            assert run("show", f"{name}/only/{name}", "--store", url)[0] == 0
        # What similar lists can be asked about.
        listed = run("similar", "--store", url, "--id", f"{one}/same")[1]
        assert f"\n{two}/same " in listed
        # The index and the id, or all of it as an id in either: never one of them in silence.
        code, _, err = run("similar", "--id", f"{one}/x", "--store", url)
        assert code == 2
        assert f"{one}/{one}/x" in err
        # In its own index an id is what it is.
        assert run("show", f"{one}/x", "--store", f"{server.url}/{one}", "--json")[1].startswith(f'{{"id": "{one}/x"')
        assert run("delete", "same", "x", "--store", f"{server.url}/{one}")[:2] == (0, "deleted  2\n")
        assert run("show", "same", "--store", url)[0] == 0

    def test_an_id_with_several_routings_has_to_be_named_whole(self, server: Server, index_name: str, run: Run) -> None:
        client = connect(f"{server.url}/{index_name}")
        provision = Provision(client)
        list(provision.carry_out(provision.set_up(INFO, shards=5, replicas=0)))
        client.close()
        with made(server, index_name) as store:
            routed = [Record(Ref("i", "", way), sketched(Fingerprint(3, 5))) for way in ("x y", "b", "c", "d")]
            kept = [each.ref for each in store.put([record("i", 1), *routed]) if each.status is PutStatus.CREATED]
            put(store, record("j?routing=b", 1))
        assert len(kept) > 2
        url = f"{server.url}/{index_name}"
        code, _, err = run("delete", "i", "--store", url, "--json")
        assert code == 5
        assert f"{len(kept)} documents have this id: i?routing=, i?routing=" in err
        assert run("show", "j?routing=b", "--store", url)[0] == 0
        # Without a value: the one that has no routing.
        for way in ["", *[ref.routing.replace(" ", "%20") for ref in kept if ref.routing]]:
            assert run("delete", f"{index_name}/i?routing={way}", "--store", url)[:2] == (0, "deleted  1\n")
        assert run("show", "i", "--store", url)[0] == 5
