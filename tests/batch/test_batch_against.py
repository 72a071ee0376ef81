"""A new batch against an older one gives what a store gives that had the older documents before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from indexer.batch.clusters.clustering import cluster
from indexer.clustering.annotations import version_of
from indexer.clustering.clusters import cluster as cluster_store
from indexer.errors import StoreError, UsageError
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Selection, Sources
from indexer.library.opening import open_store
from indexer.matching.rule import parse_rule
from indexer.model import own_cluster_id
from indexer.schemes import registry
from tests.batch.batched import Row, clusters_in, seen_of, sketched, write_files
from tests.batch.older import CANONICAL, FORM, RULE, halves, rows, wanted


def in_store(older: Mapping[str, str], newer: Mapping[str, str], folder: Path) -> dict[str, Row]:
    """The clusters of a store that was clustered, filled further, and clustered again."""
    schemes = [registry.scheme("minhash")]
    found: dict[str, Row] = {}
    with open_store(folder / "s.neardup", create=store_info("landmarks", schemes)) as store:
        for number, texts in enumerate((older, newer)):
            given = write_files(folder / f"stored{number}", rows(texts), 1)
            index(Sources([str(given)], Selection()), store, Settings(jobs=1, schemes=schemes))
            cluster_store(store, parse_rule(RULE, store), canonical=CANONICAL, threads=1)
        for ref, noted in store.scan_annotations():
            known = noted.get("cluster") or {"id": own_cluster_id(ref), "is_canonical": True, "similarity": 1.0}
            found[ref.id] = (known["id"], known["is_canonical"], known["similarity"], *version_of(noted))
    return found


def before_in(out: Path) -> dict[str, Row]:
    (out / "view").mkdir()
    (out / "view" / "clusters").symlink_to(out / "clusters-before")
    return clusters_in(out / "view")


@pytest.mark.parametrize(("seed", "parts"), [(1, None), (2, 3), (3, 1)])
def test_as_in_a_store_of_the_older_documents(seed: int, parts: int | None, tmp_path: Path) -> None:
    older, newer = halves(seed)
    old, new = tmp_path / "old", tmp_path / "new"
    sketched(write_files(tmp_path / "a", rows(older), 2), old, FORM)
    first = cluster(str(old), str(old), wanted())
    sketched(write_files(tmp_path / "b", rows(newer), 3), new, FORM)
    said = cluster(str(new), str(new), wanted(against=str(old), parts=parts))
    expected = in_store(older, newer, tmp_path)
    assert {**before_in(new), **clusters_in(new)} == expected
    # Some clusters were there, and some of their names are kept where their canonical document is another one.
    assert first["clusters"] >= 5
    kept = {row[0] for row in clusters_in(old).values()} & {row[0] for row in expected.values()}
    assert any(name != own_cluster_id_of(expected, name) for name in kept)
    assert said["older"] == len(older)
    assert said["new"] + said["repeating"] == len(newer)
    assert said["replaced"] == 8


def own_cluster_id_of(found: Mapping[str, Row], name: str) -> str:
    from indexer.model import Ref

    [canonical] = [each for each, (cluster_name, first, *_) in found.items() if first and cluster_name == name]
    return own_cluster_id(Ref(canonical))


def test_each_new_document_says_what_it_repeats(tmp_path: Path) -> None:
    older, newer = halves(5)
    old, new = tmp_path / "old", tmp_path / "new"
    sketched(write_files(tmp_path / "a", rows(older), 2), old, FORM)
    cluster(str(old), str(old), wanted())
    sketched(write_files(tmp_path / "b", rows(newer), 2), new, FORM)
    said = cluster(str(new), str(new), wanted(against=str(old)))
    clusters = {**before_in(new), **clusters_in(new)}
    repeated = 0
    for path in (new / "clusters").iterdir():
        for row in pq.read_table(path).to_pylist():
            together = [name for name, (cluster_name, *_) in clusters.items() if cluster_name == row["cluster"]]
            before = [name for name in together if name in older and name not in newer]
            first = min(before, key=seen_of, default=None)
            assert row["repeats"] == first
            assert (row["repeats_similarity"] is None) == (first is None)
            repeated += first is not None
    assert repeated == said["repeating"] > 10
    for path in (new / "clusters-before").iterdir():
        assert pq.read_table(path)["repeats"].null_count == pq.read_metadata(path).num_rows


def test_an_older_batch_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    older, newer = halves(1)
    old, new = tmp_path / "old", tmp_path / "new"
    given = write_files(tmp_path / "a", rows(older), 1)
    sketched(given, old, FORM)
    sketched(write_files(tmp_path / "b", rows(newer), 1), new, FORM)
    with pytest.raises(StoreError, match="no finished clusters"):
        cluster(str(new), str(new), wanted(against=str(old)))
    cluster(str(old), str(old), wanted())
    with pytest.raises(UsageError, match="is the older batch"):
        cluster(str(new), str(old), wanted(against=str(old)))
    write_files(tmp_path / "a", rows(older)[1:], 1)
    sketched(given, old, FORM)
    with pytest.raises(StoreError, match="have changed since"):
        cluster(str(new), str(new), wanted(against=str(old)))
