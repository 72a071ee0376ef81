"""The schemes that an index is let have when neardup comes to it: by annotate, set-up, and templates."""

from __future__ import annotations

import re
from typing import Any

import pytest

from indexer.engine.index.sketches import scheme_in
from indexer.library.opening import open_store
from indexer.schemes import registry
from tests.cli.written import changed, prose
from tests.engines.annotated import annotate, fill, neardup, run
from tests.engines.servers import Server

pytestmark = pytest.mark.usefixtures("clean")

MINHASH = registry.scheme("minhash").info
DOCUMENTS = {"a": {"body": prose(1)}, "b": {"body": changed(prose(1))}, "c": {"body": prose(2)}}


def schemes(server: Server, index: str) -> list[Any]:
    """The schemes that an index's mapping describes."""
    [found] = server.request("GET", f"/{index}/_mapping").values()
    fields = found["mappings"]["properties"]["neardup"]["properties"]
    return [scheme for name, field in fields.items() if (scheme := scheme_in(name, field))]


@pytest.mark.parametrize("set_up", [False, True], ids=["annotate", "set-up before"])
def test_an_owners_documents_get_the_sketch_that_decides(server: Server, index_name: str, set_up: bool) -> None:
    url = f"{server.url}/{index_name}"
    fill(server, index_name, DOCUMENTS)
    if set_up:
        neardup("setup", "--store", url)
        assert schemes(server, index_name) == [MINHASH]
    assert annotate(url, "--field", "body")["annotated"] == 3
    with open_store(url, read_only=True) as store:
        assert store.info.schemes == (MINHASH,)
        assert store.sketch_counts() == {"minhash": 3}
    assert "minhash@0.6" in neardup("similar", "--store", url, "--id", "a", "--json").stdout
    # Doing it again keeps it up, whatever is said of new ones.
    assert annotate(url, "--field", "body")["unchanged"] == 3
    assert "this one has simhash-doc, minhash" in run(url, "--field", "body", "--schemes", "simhash-doc", code=2).stderr
    assert annotate(url, "--field", "body", "--schemes", "simhash-doc,minhash")["unchanged"] == 3


@pytest.mark.parametrize("command", ["annotate", "setup"])
def test_the_lean_form(server: Server, index_name: str, command: str) -> None:
    url = f"{server.url}/{index_name}"
    fill(server, index_name, DOCUMENTS)
    if command == "setup":
        neardup("setup", "--store", url, "--schemes", "simhash-doc")
    assert annotate(url, "--field", "body", "--schemes", "simhash-doc")["annotated"] == 3
    assert schemes(server, index_name) == []
    # It keeps what it has, until a scheme is added.
    assert annotate(url, "--field", "body")["unchanged"] == 3
    neardup("setup", "--store", url)
    assert schemes(server, index_name) == []
    assert annotate(url, "--field", "body", "--scheme", "minhash")["annotated"] == 3
    assert schemes(server, index_name) == [MINHASH]


def test_an_index_beside(server: Server, index_name: str) -> None:
    url, beside = f"{server.url}/{index_name}", f"{index_name}-beside"
    fill(server, index_name, DOCUMENTS)
    assert annotate(url, "--field", "body", "--to", beside)["annotated"] == 3
    assert schemes(server, beside) == [MINHASH]
    printed = run(url, "--field", "body", "--to", beside, "--schemes", "simhash-doc", code=2).stderr
    assert "this one has simhash-doc, minhash" in printed
    lean = f"{beside}-lean"
    assert annotate(url, "--field", "body", "--to", lean, "--schemes", "simhash-doc")["annotated"] == 3
    assert schemes(server, lean) == []


def test_no_room_for_the_sketch_changes_nothing(server: Server, index_name: str) -> None:
    fill(server, index_name, DOCUMENTS)
    url = f"{server.url}/{index_name}"

    def limit(fields: int) -> None:
        wanted = {"index.mapping.total_fields.limit": fields}
        assert server.request("PUT", f"/{index_name}/_settings", wanted) == {"acknowledged": True}

    limit(20)
    printed = run(url, "--field", "body", "--schemes", "simhash-doc", code=2).stderr
    counted = re.search(r"has (\d+) fields and neardup adds (\d+)", printed)
    assert counted
    limit(int(counted[1]) + int(counted[2]))
    before = server.request("GET", f"/{index_name}/_mapping")
    assert "total_fields.limit" in run(url, "--field", "body", code=2).stderr
    assert server.request("GET", f"/{index_name}/_mapping") == before
    assert annotate(url, "--field", "body", "--schemes", "simhash-doc")["annotated"] == 3


def test_an_index_that_comes_by_the_templates_has_the_fields_too(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    neardup("setup", "--store", url)
    assert schemes(server, index_name) == [MINHASH]
    # Set-up's own template, and one of the owner's that is composed of neardup's parts.
    server.request("DELETE", f"/{index_name}")
    assert "error" not in server.request("PUT", f"/{index_name}")
    assert schemes(server, index_name) == [MINHASH]
    body = {"index_patterns": [f"{index_name}-logs-*"], "composed_of": ["neardup", "neardup-minhash"], "priority": 900}
    assert "error" not in server.request("PUT", f"/_index_template/{index_name}-owners", body)
    try:
        assert "error" not in server.request("PUT", f"/{index_name}-logs-1")
        assert schemes(server, f"{index_name}-logs-1") == [MINHASH]
        assert "all is set up" in neardup("setup", "--store", url).stderr
        # What the owner uses stays.
        assert "component" not in neardup("setup", "--store", url, "--remove", "--yes").stderr
    finally:
        server.request("DELETE", f"/_index_template/{index_name}-owners")
    neardup("setup", "--store", url)
    assert (
        "delete the component template neardup-minhash" in neardup("setup", "--store", url, "--remove", "--yes").stderr
    )
    assert "error" in server.request("GET", "/_component_template/neardup-minhash")


def test_stores_of_other_sketches_have_components_of_their_own(server: Server, index_name: str) -> None:
    one, other = f"{index_name}-one", f"{index_name}-other"
    own = registry.scheme("minhash:bits=8,values=128").info
    try:
        neardup("setup", "--store", f"{server.url}/{one}", "--schemes", f"simhash-doc,{own.id}")
        neardup("setup", "--store", f"{server.url}/{other}")
        for index, scheme in ((one, own), (other, MINHASH)):
            server.request("DELETE", f"/{index}")
            assert "error" not in server.request("PUT", f"/{index}")
            assert schemes(server, index) == [scheme]
            assert "all is set up" in neardup("setup", "--store", f"{server.url}/{index}").stderr
    finally:
        for index in (one, other):
            neardup("setup", "--store", f"{server.url}/{index}", "--remove", "--yes")
    assert "error" in server.request("GET", f"/_index_template/neardup-{other}")


def test_an_index_that_comes_by_a_template_is_made_as_its_own_store_was(server: Server, index_name: str) -> None:
    first, other = f"{index_name}-first", f"{index_name}-other"
    try:
        # The component that both share is put by the first.
        neardup("setup", "--store", f"{server.url}/{first}")
        neardup("setup", "--store", f"{server.url}/{other}", "--content", "full")
        for index, content in ((first, "landmarks"), (other, "full")):
            server.request("DELETE", f"/{index}")
            assert "error" not in server.request("PUT", f"/{index}")
            with open_store(f"{server.url}/{index}", read_only=True) as store:
                assert store.info.content == content
            assert "all is set up" in neardup("setup", "--store", f"{server.url}/{index}", "--content", content).stderr
    finally:
        for index in (first, other):
            neardup("setup", "--store", f"{server.url}/{index}", "--remove", "--yes")
    for index in (first, other):
        assert "error" in server.request("GET", f"/_index_template/neardup-{index}")


def test_a_component_of_that_name_that_is_the_owners(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    theirs = {"template": {"mappings": {"properties": {"title": {"type": "text"}}}}}
    server.request("PUT", "/_component_template/neardup-minhash", theirs)
    try:
        neardup("setup", "--store", url)
        assert schemes(server, index_name) == [MINHASH]
        neardup("setup", "--store", url, "--remove", "--yes")
        [found] = server.request("GET", "/_component_template/neardup-minhash")["component_templates"]
        assert "title" in found["component_template"]["template"]["mappings"]["properties"]
    finally:
        server.request("DELETE", "/_component_template/neardup-minhash")
