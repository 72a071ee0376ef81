"""Secondary schemes on real servers: indexed, asked, paired and clustered; what the mapping has and keeps."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from indexer.clustering.clusters import cluster
from indexer.engine.client.connection import connect
from indexer.engine.setup.provision import Provision
from indexer.errors import UsageError
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Input
from indexer.library.opening import open_store
from indexer.matching.lookups import lookup
from indexer.matching.pairing import pairs_of
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.model import Ref
from indexer.schemes import registry
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo
from indexer.stores import Store
from tests.engines.servers import Server


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
    """A store with two secondary schemes, filled by the pipeline."""
    schemes = [registry.scheme("minhash"), registry.scheme("spotsigs:antecedents=w1x1y.w2x2y,stop=en")]
    with open_store(f"{server.url}/{index_name}", create=store_info("landmarks")) as opened:
        items = [Input(name, f"https://example.org/{name}", "", text.encode()) for name, text in texts().items()]
        summary = index(items, opened, Settings(schemes=schemes))
        assert (summary.indexed, summary.failures) == (30, 0)
        again = index(items, opened, Settings(schemes=schemes))
        assert again.unchanged == 30
        yield opened


FAMILIES = {(f"f{n}v{a}", f"f{n}v{b}") for n in range(10) for a, b in ((0, 1), (0, 2), (1, 2))}


@pytest.mark.parametrize("written", ["minhash@0.6", "simhash-doc@3bits/minhash@0.6+minhash@0.6", "spotsigs@0.5"])
def test_an_engine_answers_as_the_embedded_store(store: Store, tmp_path: Path, written: str) -> None:
    rule, question = parse_rule(written, store), Question("asked", texts()["f3v0"])
    with open_store(str(tmp_path / "same.neardup"), create=store_info("landmarks")) as other:
        for scheme in store.info.schemes:
            other.add_scheme(scheme)
        assert all(result for result in other.put(replace(each, ref=Ref(each.ref.id)) for each in store.scan()))
        for include_short in (False, True):
            ours, theirs = (lookup(each, rule, question, include_short=include_short) for each in (store, other))
            assert [m.record.ref.id for m in ours.matches] == [m.record.ref.id for m in theirs.matches]
            assert [m.similarity for m in ours.matches] == [m.similarity for m in theirs.matches]
            assert (ours.total, ours.keys, ours.lacking) == (theirs.total, theirs.keys, theirs.lacking)
        found = [{tuple(sorted((p.left.id, p.right.id))) for p in pairs_of(each, rule)} for each in (store, other)]
        assert found[0] == found[1]
        counts = [(each.clusters, each.clustered, each.split) for each in (cluster(store, rule), cluster(other, rule))]
        assert counts[0] == counts[1]
    if written != "spotsigs@0.5":
        assert found[0] == FAMILIES
    # Annotating is a partial update: the keys are still there, and still found.
    assert lookup(store, rule, question).total == theirs.total
    assert cluster(store, parse_rule("minhash@0.6+minhash@0.99", store), dry_run=True).clusters == 0


def test_the_mapping_grows_by_the_scheme_and_setup_leaves_it(server: Server, index_name: str, store: Store) -> None:
    mapping = server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]
    fields = mapping["properties"]["neardup"]["properties"]["minhash"]["properties"]
    # An index of neardup's own has no doc values of payloads.
    assert fields["sketch"] == {"type": "binary"}
    terms = {"type": "text", "analyzer": "whitespace", "norms": False, "index_options": "docs"}
    assert fields["key_terms"] == terms
    assert set(fields) == {"sketch", "features", "key_terms"}
    # Two pieces, for an entry takes 50 characters.
    meta = fields["features"]["meta"]
    assert meta["id000"] + meta["id001"] == store.info.schemes[0].id
    assert [each.name for each in store.info.schemes] == ["minhash", "spotsigs"]
    client = connect(f"{server.url}/{index_name}")
    assert not any(step.path.endswith("/_mapping") for step in Provision(client).set_up(store_info("landmarks")))
    client.close()
    with open_store(f"{server.url}/{index_name}", read_only=True) as other:
        assert other.info == store.info


def fields_in(mapping: dict[str, Any]) -> int:
    """How many fields a mapping has, objects and multi-fields too."""
    inner = [*mapping.get("properties", {}).values(), *mapping.get("fields", {}).values()]
    return len(inner) + sum(map(fields_in, inner))


def test_an_index_without_room_is_left_as_it_is(server: Server, index_name: str, store: Store) -> None:
    before = server.request("GET", f"/{index_name}/_mapping")
    have = fields_in(before[index_name]["mappings"])
    server.request("PUT", f"/{index_name}/_settings", {"index.mapping.total_fields.limit": have + 3})
    # However many tables it has, it adds itself, its payload, its features and its keys.
    with pytest.raises(UsageError, match=r"neardup adds 4.*total_fields"):
        store.add_scheme(SchemeInfo("wide", "wide", KeyLayout(1000, 8)))
    with pytest.raises(UsageError, match="own fields"):
        store.add_scheme(SchemeInfo("cluster", "cluster", KeyLayout(4, 8)))
    assert server.request("GET", f"/{index_name}/_mapping") == before
