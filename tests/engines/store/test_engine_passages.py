"""Parts of long documents in an engine: as many keys as a text has, and the same answers as in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.clustering.clusters import cluster
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Input
from indexer.library.opening import open_store
from indexer.matching.lookups import lookup
from indexer.matching.pairing import pairs_of
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.model import Ref
from indexer.schemes import registry
from indexer.schemes.testing import document
from indexer.stores import Store
from tests.engines.servers import Server

# More keys than an engine takes terms in one clause.
LIBRARY = " ".join(document(seed, 20_000) for seed in range(70))
TEXTS = {
    "note": document(1000, 60),
    "article": document(1001, 500),
    "book": " ".join(document(seed, 1000) for seed in range(2000, 2050)),
    "library": LIBRARY,
    "chapter": document(2007, 1000),
    "volume": document(33, 20_000),
}
SCHEME = "passages"


def filled(path: str) -> Store:
    opened = open_store(path, create=store_info("landmarks"))
    items = [Input(name, f"https://example.org/{name}", "", text.encode()) for name, text in TEXTS.items()]
    summary = index(items, opened, Settings(schemes=[registry.scheme(SCHEME)]))
    assert (summary.indexed, summary.failures) == (len(TEXTS), 0)
    return opened


@pytest.fixture
def stores(server: Server, index_name: str, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    with filled(f"{server.url}/{index_name}") as engine, filled(str(tmp_path / "same.neardup")) as file:
        yield engine, file


def test_parts_of_any_length_are_found_as_in_a_file(stores: tuple[Store, Store]) -> None:
    rule = parse_rule("passages@0.5", stores[0])
    asked = {
        "a page of the library": " ".join(LIBRARY.split()[700_000:700_300]),
        "a chapter": TEXTS["chapter"],
        "the whole library": LIBRARY,
        "nothing of it": document(5000, 300),
    }
    wanted = {
        "a page of the library": {"library": "contains"},
        "a chapter": {"book": "contains", "chapter": "identical"},
        "the whole library": {"library": "identical", "volume": "contained in"},
        "nothing of it": {},
    }
    sketch = registry.scheme(SCHEME).sketch(LIBRARY)
    assert sketch is not None
    assert len(sketch.keys) > 65_536
    for name, text in asked.items():
        ours, theirs = (lookup(each, rule, Question(name, text), include_short=True) for each in stores)
        assert {match.record.ref.id: match.label for match in ours.matches} == wanted[name]
        assert [(m.record.ref.id, m.similarity, m.shares) for m in ours.matches] == [
            (m.record.ref.id, m.similarity, m.shares) for m in theirs.matches
        ]


def test_pairs_and_clusters_of_parts_are_those_of_a_file(stores: tuple[Store, Store]) -> None:
    rule = parse_rule("passages@0.5", stores[0])
    found = [{tuple(sorted((p.left.id, p.right.id))) for p in pairs_of(each, rule)} for each in stores]
    assert found == [{("book", "chapter"), ("library", "volume")}] * 2
    assert [cluster(each, rule).clusters for each in stores] == [2, 2]
    for each in stores:
        [(one, _)] = [(ref, said) for ref, said in each.scan_annotations() if ref.id == "volume"]
        assert one == Ref("volume", one.index)
