"""A kind of texts in an engine: said once, kept in the mapping, and held to."""

from __future__ import annotations

import pytest

from indexer.errors import IncompatibleStoreError
from indexer.library.opening import open_store
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import default_rule
from tests.engines.annotated import annotate, fill, neardup
from tests.engines.servers import Server

TITLES = {
    "shoe": {"heading": "Kestrel running shoe, black, size 42"},
    "shoe-43": {"heading": "Kestrel running shoe, black, size 43"},
    "other": {"heading": "Museum of modern art opens again after repairs"},
}
SCHEMES = {"short": ["short-text"], "scans": ["minhash", "passages"], "pdfs": ["minhash"]}
ASKED = "Kestrel runing shoe black, size 42"


def near(url: str) -> list[str]:
    with open_store(url, read_only=True) as store:
        assert store.info.kind == "short"
        answer = lookup(store, default_rule(store), Question("asked", ASKED))
    assert answer.lacking == 0
    return [match.record.ref.id.rpartition("/")[2] for match in answer.matches if match.near]


@pytest.mark.parametrize("aside", [False, True])
def test_titles_of_an_owner_are_compared_as_titles(server: Server, index_name: str, aside: bool) -> None:
    url, target = f"{server.url}/{index_name}", f"{index_name}-neardup" if aside else index_name
    fill(server, index_name, TITLES)
    flags = ["--field", "heading", *(["--to", target] if aside else [])]
    assert annotate(url, *flags, "--kind", "short")["short"] == 0
    assert near(f"{server.url}/{target}") == ["shoe"]
    # It is not said again.
    assert annotate(url, *flags)["unchanged"] == len(TITLES)
    refused = neardup("annotate", "--store", url, *flags, "--kind", "documents", code=IncompatibleStoreError.exit_code)
    assert "kind of texts short in the store, documents asked for" in refused.stderr


@pytest.mark.parametrize("kind", [*SCHEMES])
def test_an_index_is_set_up_for_a_kind(server: Server, index_name: str, kind: str) -> None:
    url, usual = f"{server.url}/{index_name}", f"{server.url}/{index_name}-usual"
    neardup("setup", "--store", url, "--kind", kind)
    neardup("setup", "--store", usual)
    with open_store(url, read_only=True) as store, open_store(usual, read_only=True) as other:
        assert (store.info.kind, [scheme.name for scheme in store.info.schemes]) == (kind, SCHEMES[kind])
        assert (other.info.kind, [scheme.name for scheme in other.info.schemes]) == ("documents", ["minhash"])
    # Done again it has nothing to do, and another kind is refused.
    neardup("setup", "--store", url)
    refused = neardup("setup", "--store", url, "--kind", "documents", code=IncompatibleStoreError.exit_code)
    assert f"kind of texts {kind} in the store, documents asked for" in refused.stderr
