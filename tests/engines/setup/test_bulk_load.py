"""A bulk load turns an index down and puts it back, whatever ends it."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from indexer.cli import main
from indexer.engine.index import mapping
from indexer.engine.setup.bulk_load import write_index
from indexer.engine.store.store import open_search_store
from indexer.errors import StoreError
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from tests.engines.servers import OpenSearch, Server
from tests.engines.setup.index_settings import DOWN, NOT_SET, OWN_META, loading, settings
from tests.stores.made import INFO, put, record


def put_note(server: Server, name: str, values: dict[str, str | None]) -> None:
    """Record values of settings, as a bulk load does."""
    meta = {setting: json.dumps(value) for setting, value in values.items()}
    field = {"type": "boolean", "index": False, "doc_values": False, "meta": meta}
    server.request("PUT", f"/{name}/_mapping", {"properties": {"neardup": {"properties": {"bulk_load": field}}}})


@pytest.fixture
def index(server: Server, index_name: str) -> str:
    """An index whose owner says other things in _meta too, and has set no refresh interval."""
    body = mapping.new_index(store_info("landmarks"))
    body["mappings"]["_meta"] |= OWN_META
    server.request("PUT", f"/{index_name}", body)
    assert settings(server, index_name) == NOT_SET
    return index_name


def meta(server: Server, name: str) -> dict[str, Any]:
    """What the mapping's _meta says."""
    found: dict[str, Any] = server.request("GET", f"/{name}/_mapping")[name]["mappings"]["_meta"]
    return found


def note(server: Server, name: str) -> dict[str, Any]:
    """What is recorded of the owner's settings."""
    fields = server.request("GET", f"/{name}/_mapping")[name]["mappings"]["properties"]["neardup"]["properties"]
    return dict(fields["bulk_load"].get("meta", {}))


def test_a_load_that_ends_well(server: Server, index: str, tmp_path: Path) -> None:
    before = meta(server, index)
    with loading(server, index, tmp_path) as process:
        assert note(server, index) == {"refresh_interval": "null", "number_of_replicas": '"1"'}
        assert meta(server, index) == before
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert (settings(server, index), meta(server, index), note(server, index)) == (NOT_SET, before, {})
    assert server.request("GET", f"/{index}/_count")["count"] == 1


@pytest.mark.parametrize("way", ["interrupted", "repaired", "next"])
def test_a_load_that_does_not(
    server: Server, index: str, tmp_path: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"index.refresh_interval": "7s", "index.number_of_replicas": "2"}
    server.request("PUT", f"/{index}/_settings", own)
    before = meta(server, index)
    url = f"{server.url}/{index}"
    with loading(server, index, tmp_path) as process:
        process.send_signal(signal.SIGINT if way == "interrupted" else signal.SIGKILL)
        process.communicate(timeout=60)
    if way == "interrupted":
        assert process.returncode == 130
    else:
        assert settings(server, index) == DOWN
        assert main(["stats", "--store", url]) == 0
        assert "`neardup setup --repair --store" in capsys.readouterr().err
        assert settings(server, index) == DOWN
        if way == "repaired":
            assert main(["setup", "--repair", "--dry-run", "--store", url]) == 0
            assert settings(server, index) == DOWN
            assert main(["setup", "--repair", "--store", url]) == 0
        else:
            # Whichever command writes next, even where it finds nothing to write.
            assert main(["delete", "nothing", "--store", url]) == 5
            assert "restored to its owner's settings" in capsys.readouterr().err
    assert (settings(server, index), meta(server, index)) == (own, before)
    assert main(["setup", "--repair", "--store", url]) == 0
    assert "nothing to do" in capsys.readouterr().err


def test_after_an_error_and_beside_the_owners_own_changes(server: Server, index: str) -> None:
    before = meta(server, index)
    with open_search_store(f"{server.url}/{index}") as store:
        with pytest.raises(RuntimeError, match="of the load"), store.bulk_load():
            raise RuntimeError("of the load")
        assert (settings(server, index), meta(server, index)) == (NOT_SET, before)
        with store.bulk_load():
            put(store, record("a", 1))
            server.request("PUT", f"/{index}/_settings", {"index.number_of_replicas": 3})
        assert settings(server, index) == NOT_SET | {"index.number_of_replicas": "3"}
        # Two loads at once, whichever was opened first: the one that ends last leaves it as its owner had it.
        url = f"{server.url}/{index}"
        with open_search_store(url) as other, store.bulk_load(), other.bulk_load():
            assert settings(server, index) == DOWN
        with store.bulk_load(), open_search_store(url) as other, other.bulk_load():
            assert settings(server, index) == DOWN
        assert settings(server, index) == NOT_SET | {"index.number_of_replicas": "3"}
        assert meta(server, index) == before
        assert note(server, index) == {}
    # Gone in the middle: there is nothing to restore.
    with open_search_store(f"{server.url}/{index}") as store, store.bulk_load():
        server.request("DELETE", f"/{index}")


def test_a_cluster_that_decides_on_replicas_itself(server: Server, index: str) -> None:
    server.request("PUT", f"/{index}/_settings", {"index.auto_expand_replicas": "0-1"})
    own = settings(server, index)
    with open_search_store(f"{server.url}/{index}") as store:
        with store.bulk_load():
            assert settings(server, index) == own | {"index.refresh_interval": "-1"}
        assert settings(server, index) == own


def test_a_note_can_not_change_other_settings(server: Server, index: str, capsys: pytest.CaptureFixture[str]) -> None:
    put_note(server, index, {"refresh_interval": "5s", "blocks.write": "true"})
    server.request("PUT", f"/{index}/_settings", {"index.refresh_interval": "-1"})
    assert main(["setup", "--repair", "--store", f"{server.url}/{index}"]) == 0
    assert settings(server, index) == NOT_SET | {"index.refresh_interval": "5s"}
    answer = server.request("GET", f"/{index}/_settings?flat_settings=true")
    assert "index.blocks.write" not in answer[index]["settings"]


def test_removal_puts_the_owners_settings_back_first(server: Server, index: str) -> None:
    server.request("PUT", f"/{index}/_mapping", {"properties": {"body": {"type": "text"}}})
    put_note(server, index, {name.removeprefix("index."): value for name, value in NOT_SET.items()})
    server.request("PUT", f"/{index}/_settings", DOWN)
    assert main(["setup", "--remove", "--store", f"{server.url}/{index}"]) == 0
    assert (settings(server, index), meta(server, index)) == (NOT_SET, OWN_META)


def test_behind_a_name_only_the_index_that_is_written_is_turned_down(server: Server, index_name: str) -> None:
    names = [f"{index_name}-{letter}" for letter in "ab"]
    for name in names:
        open_store(f"{server.url}/{name}", create=INFO).close()
    alias = f"{index_name}-all"
    adding = [{"add": {"index": name, "alias": alias, "is_write_index": name == names[1]}} for name in names]
    server.request("POST", "/_aliases", {"actions": adding})
    with open_search_store(f"{server.url}/{alias}") as store, store.bulk_load():
        assert settings(server, names[0]) == NOT_SET
        assert settings(server, names[1]) == DOWN
    assert settings(server, names[1]) == NOT_SET
    server.request(
        "POST", "/_aliases", {"actions": [{"add": {"index": names[1], "alias": alias, "is_write_index": False}}]}
    )
    with (
        open_search_store(f"{server.url}/{alias}") as store,
        pytest.raises(StoreError, match="no write index"),
        store.bulk_load(),
    ):
        pass
    if isinstance(server, OpenSearch):
        mappings = {"_meta": {"neardup": mapping.meta(INFO)}, "properties": mapping.properties()}
        stream = f"{index_name}-ds"
        body = {"index_patterns": [stream], "data_stream": {}, "priority": 900, "template": {"mappings": mappings}}
        server.request("PUT", f"/_index_template/{index_name}", body)
        try:
            server.request("PUT", f"/_data_stream/{stream}")
            server.request("POST", f"/{stream}/_rollover")
            with open_search_store(f"{server.url}/{stream}") as store, store.bulk_load():
                first, second = sorted(store.mappings)
                assert write_index(store.client, store.mappings) == second
                assert settings(server, first) == NOT_SET
                assert settings(server, second) == DOWN
            assert settings(server, second) == NOT_SET
        finally:
            server.request("DELETE", f"/_data_stream/{stream}")
            server.request("DELETE", f"/_index_template/{index_name}")
