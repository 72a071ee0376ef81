"""Schemes beside the first on real servers: indexed, asked, paired and clustered; what the mapping has and keeps."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from servers import Server

from indexer.cluster import cluster_store
from indexer.errors import UsageError
from indexer.keys import KeyLayout, SchemeInfo
from indexer.model import Ref
from indexer.pipeline import Settings, index, store_info
from indexer.provision import Provision
from indexer.scheme_clusters import group_by_scheme
from indexer.scheme_pairs import scheme_pairs_of_store
from indexer.scheme_similar import similar_by
from indexer.schemes import registry
from indexer.sources import Input
from indexer.store_schemes import scheme_of
from indexer.stores import Store, open_store
from indexer.stores.connection import connect
from indexer.verifying import verifier


def texts() -> dict[str, str]:
    """Ten families of three versions each."""
    draw = random.Random(7)
    found = {}
    for family in range(10):
        words = [f"w{draw.randrange(400)}x{family}y" for _ in range(200)]
        for version in range(3):
            found[f"f{family}v{version}"] = " ".join(words)
            words[20 + 50 * version] = f"changed{version}word"
    return found


@pytest.fixture
def store(server: Server, index_name: str) -> Iterator[Store]:
    """A store with two schemes beside its first, filled by the pipeline."""
    schemes = [registry.scheme("minhash"), registry.scheme("spotsigs:antecedents=w1x1y.w2x2y,stop=en")]
    with open_store(f"{server.url}/{index_name}", create=store_info("landmarks")) as opened:
        items = [Input(name, f"https://example.org/{name}", "", text.encode()) for name, text in texts().items()]
        summary = index(items, opened, Settings(schemes=schemes))
        assert (summary.indexed, summary.failures) == (30, 0)
        again = index(items, opened, Settings(schemes=schemes))
        assert again.unchanged == 30
        yield opened


def test_a_cluster_answers_as_the_embedded_store(store: Store) -> None:
    scheme = scheme_of(store, "minhash")
    text = texts()["f3v0"]
    answer = similar_by(store, scheme, scheme.sketch(text), 0.6, exclude=Ref("f3v0"))
    assert [match.record.ref.id for match in answer.matches] == ["f3v1", "f3v2"]
    assert answer.total == 2
    pairs = {tuple(sorted((p.left.id, p.right.id))) for p in scheme_pairs_of_store(store, scheme, 0.6)}
    assert pairs == {(f"f{n}v{a}", f"f{n}v{b}") for n in range(10) for a, b in ((0, 1), (0, 2), (1, 2))}
    found = cluster_store(store, by=lambda each: group_by_scheme(each, scheme, 0.6))
    assert (found.clusters, found.clustered) == (10, 30)
    # Annotating is a partial update: the keys are still there, and still found.
    assert similar_by(store, scheme, scheme.sketch(text), 0.6).total == 3
    check = verifier(store, "sketch", jaccard=0.99)
    checked = cluster_store(store, by=lambda each: group_by_scheme(each, scheme, 0.6, None, check), dry_run=True)
    assert checked.clusters == 0


def test_the_mapping_grows_by_the_scheme_and_setup_leaves_it(server: Server, index_name: str, store: Store) -> None:
    mapping = server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]
    fields = mapping["properties"]["neardup"]["properties"]["minhash"]["properties"]
    assert fields["sketch"] == {"type": "binary", "doc_values": True}
    # What is an engine's own default for keywords, it leaves out: no norms, index_options docs.
    assert fields["t00"].items() >= {"type": "keyword", "doc_values": False}.items()
    assert fields["t00"].get("index_options", "docs") == "docs"
    # Two pieces, for an entry takes 50 characters.
    meta = fields["features"]["meta"]
    assert meta["id000"] + meta["id001"] == store.info.schemes[0].id
    assert [each.name for each in store.info.schemes] == ["minhash", "spotsigs"]
    client = connect(f"{server.url}/{index_name}")
    assert not any(step.path.endswith("/_mapping") for step in Provision(client).set_up(store_info("landmarks")))
    client.close()
    with open_store(f"{server.url}/{index_name}", read_only=True) as other:
        assert other.info == store.info


def test_an_index_without_room_is_left_as_it_is(server: Server, index_name: str, store: Store) -> None:
    before = server.request("GET", f"/{index_name}/_mapping")
    with pytest.raises(UsageError, match="total_fields"):
        store.add_scheme(SchemeInfo("wide", "wide", KeyLayout(1000, 8)))
    with pytest.raises(UsageError, match="own fields"):
        store.add_scheme(SchemeInfo("cluster", "cluster", KeyLayout(4, 8)))
    assert server.request("GET", f"/{index_name}/_mapping") == before
