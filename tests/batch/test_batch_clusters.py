"""Clusters of a batch are those of a store of the same documents, whatever the files, their order, the partitions."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.batch.clusters import grouping, partitioning
from indexer.batch.clusters.blocking import verified
from indexer.batch.clusters.clustering import ClusteringOptions, cluster
from indexer.batch.clusters.grouping import partitions
from indexer.batch.form import Form
from indexer.batch.reading import figures, rule_of
from indexer.clustering.canonical import CanonicalRule
from indexer.errors import StoreError, UsageError
from indexer.library import batches
from indexer.schemes.base import Positions
from tests.batch.batched import LONGEST, MINHASH, Case, by_batch, by_store, clusters_in, sketched, write_files
from tests.batch.samples import RULES, chain, hot
from tests.planted import collection, named


def spots(count: int) -> dict[str, str]:
    """Texts of the same words behind stop-words, of which every other has some of its own."""
    words = [f"the word{number} of" for number in range(40)]
    return {f"spots{place}": " ".join([*words, *([f"own{place}"] * (place % 2 * 3))]) for place in range(count)}


@pytest.mark.parametrize("case", RULES, ids=lambda case: f"{case.rule} {case.canonical} {case.bound}")
@pytest.mark.parametrize(
    "texts", [named(collection(1, 150)), chain(80), hot(150)], ids=["versions", "chain", "boilerplate"]
)
def test_as_in_a_store(case: Case, texts: dict[str, str], tmp_path: Path) -> None:
    tried = Case(texts, case.rule, case.schemes, case.canonical, case.bound)
    wanted, by = by_store(tried, tmp_path / "store")
    for number, (files, parts) in enumerate([(1, None), (7, 5)]):
        found, said = by_batch(tried, tmp_path / str(number), files=files, parts=parts, seed=number)
        assert found == wanted
        figures = ("documents", "compared", "clusters", "clustered", "largest", "split")
        assert [said[name] for name in figures] == [getattr(by, name) for name in figures]
        if parts is None:
            assert said["comparisons"] == by.comparisons


def test_a_batch_without_documents_has_no_clusters(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "none.jsonl").write_text("\n")
    batches.sketch([str(tmp_path / "in")], str(tmp_path / "out"))
    made = batches.cluster(str(tmp_path / "out"), str(tmp_path / "out"))
    assert (made.documents, made.clusters) == (0, 0)


@pytest.mark.parametrize("kind", ["newest", "oldest"])
def test_versions_as_in_a_store(kind: Literal["newest", "oldest"], tmp_path: Path) -> None:
    texts = {**named(collection(1, 150)), **chain(40)}
    tried = Case(texts, canonical=CanonicalRule(kind), versions=True)
    wanted, by = by_store(tried, tmp_path / "store")
    assert by.changes.versions > by.changes.unordered > 0
    for number, (files, parts) in enumerate([(1, None), (7, 5)]):
        found, said = by_batch(tried, tmp_path / str(number), files=files, parts=parts, seed=number)
        assert found == wanted
        assert said["unordered"] == by.changes.unordered
    plain, _ = by_batch(replace(tried, canonical=CanonicalRule()), tmp_path / "plain")
    assert plain != wanted


def test_what_a_text_declares_orders_it(tmp_path: Path) -> None:
    words = " ".join(f"word{number}" for number in range(300))
    names = [f"draft-doe-http-{number}" for number in ("09", "11", "10")]
    tried = Case({name: f"{name}\n{words}" for name in names}, canonical=CanonicalRule("newest"))
    found, _ = by_batch(tried, tmp_path)
    assert [name for name, (_, is_canonical, *_) in found.items() if is_canonical] == [names[1]]
    assert found == by_store(tried, tmp_path / "store")[0]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 999), st.integers(1, 60), st.integers(1, 4), st.integers(1, 9), st.sampled_from(RULES[:5]))
def test_as_in_a_store_at_random(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int, files: int, parts: int, case: Case
) -> None:
    folder = tmp_path_factory.mktemp("random")
    tried = Case(named(collection(seed, count)), case.rule, case.schemes, case.canonical, case.bound)
    assert by_batch(tried, folder, files=files, parts=parts, seed=seed)[0] == by_store(tried, folder / "store")[0]


@pytest.mark.parametrize("case", RULES, ids=lambda case: f"{case.rule} {case.canonical} {case.bound}")
@pytest.mark.parametrize(("files", "parts", "memory"), [(1, 2, 1 << 30), (9, 4, 50_000)])
def test_components_too_large_to_be_grouped_are_verified_first(
    case: Case, files: int, parts: int, memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = replace(case, texts={**named(collection(1, 60)), **chain(40), **hot(60), **spots(20)})
    found, said = by_batch(tried, tmp_path / "whole")
    monkeypatch.setattr(grouping, "_TOGETHER", 30)
    monkeypatch.setattr(partitioning, "_MOST_PARTS", 5000)
    calls: list[int] = []

    def counting(table: Any, *more: Any) -> Any:
        calls.append(table.num_rows)
        return verified(table, *more)

    monkeypatch.setattr(partitioning, "verified", counting)
    made = by_batch(tried, tmp_path / "parts", files=files, parts=parts, seed=3, most_grouped=2, memory=memory)
    assert calls
    assert made[0] == found
    again = made[1]
    assert again.pop("comparisons") >= said.pop("comparisons")
    for one in (said, again):
        # How many comparisons each took is another number.
        for kind in ("shared_keys", "chains"):
            one[kind] = [{**each, "comparisons": 0} for each in one[kind]]
    assert again == said


def test_they_are_clusters_at_all(tmp_path: Path) -> None:
    # What the tests above compare must not be empty, nor never cut.
    assert by_batch(Case(named(collection(1, 150))), tmp_path / "a")[1]["clusters"] > 10
    assert by_batch(Case(chain(80), "minhash@0.4"), tmp_path / "b", parts=3)[1]["split"] == 1
    assert by_batch(Case(hot(150)), tmp_path / "c")[1]["clustered"] > 30


def test_little_memory_makes_partitions_and_too_little_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(named(collection(2, 100)))
    found, _ = by_batch(case, tmp_path / "a")
    out = str(tmp_path / "a" / "out")
    asked: list[int] = []

    def counting(labels: Positions, count: int) -> Positions:
        asked.append(count)
        return partitions(labels, count)

    monkeypatch.setattr(partitioning, "partitions", counting)
    wanted = ClusteringOptions(rule_of(case.form, None), LONGEST, memory=20_000, threads=1)
    cluster(out, out, wanted)
    assert asked
    assert asked[0] > 3
    assert clusters_in(Path(out)) == found
    assert {path.name for path in Path(out).iterdir()} == {"sketches", "clusters", "clustering.json"}
    with pytest.raises(UsageError, match="--memory 100"):
        cluster(out, out, replace(wanted, memory=100))


def test_the_largest_buckets_and_components_are_named_with_what_they_took(tmp_path: Path) -> None:
    texts = {**chain(80), **{f"copy{place:02}": " ".join(f"same{n}" for n in range(50)) for place in range(30)}}
    said = by_batch(Case(texts, "minhash@0.4"), tmp_path / "a")[1]
    first, second = said["chains"][:2]
    assert (first["texts"], first["documents"], first["example"][:4]) == (80, 80, "link")
    assert first["groups"] > 1
    # Each has to be compared at least once to be in it, and once more to be cut from it.
    assert first["comparisons"] > 2 * 79
    assert (second["texts"], second["documents"], second["groups"]) == (1, 30, 1)
    assert sum(one["comparisons"] for one in said["chains"]) <= said["comparisons"]
    assert said["shared_keys"][0]["texts"] >= said["shared_keys"][-1]["texts"] > 1
    assert {one["scheme"] for one in said["shared_keys"]} == {"minhash"}
    apart = by_batch(Case(texts, "minhash@0.4"), tmp_path / "b", files=3, parts=3, seed=1)[1]
    assert [one["documents"] for one in apart["chains"]] == [one["documents"] for one in said["chains"]]


@pytest.mark.parametrize("rule", ["minhash@0.6", "simhash-doc@3bits/minhash@0.6+minhash@0.6", "simhash-doc@6bits"])
def test_of_equally_large_ones_the_same_are_named_however_documents_are_dealt(tmp_path: Path, rule: str) -> None:
    # Thirty of one size, of which some have equal documents, and nine larger ones: one place is left for the thirty.
    texts = {}
    for group in range(39):
        words = [f"g{group}w{place}" for place in range(60)]
        for copy in range(5 if group % 13 < 3 else 3):
            other = [] if group % 5 == 0 else [f"c{copy}"]
            texts[f"d{(group * 5 + copy) * 7 % 197:03}"] = " ".join([*words, *other])
    told = []
    for number, (files, parts) in enumerate(((1, 1), (1, 5), (4, 3), (3, 1))):
        said = by_batch(Case(texts, rule), tmp_path / str(number), files=files, parts=parts, seed=number)[1]
        told.append([
            [{name: value for name, value in one.items() if name != "comparisons"} for one in said[kind]]
            for kind in ("shared_keys", "chains")
        ])  # fmt: skip
        assert "digest" not in said["chains"][0]
    assert len(told[0][1]) == 10
    assert [one["documents"] for one in told[0][1]] == [5] * 9 + [3]
    assert told[1:] == told[:1] * 3


def test_the_report_counts_what_is_in_the_files(tmp_path: Path) -> None:
    texts = hot(150)
    texts |= {f"copy{place}": texts[f"page00{place}"] for place in range(9)}
    found, said = by_batch(Case(texts), tmp_path, files=3)
    sizes = Counter(Counter(cluster for cluster, *_ in found.values()).values())
    told = figures(str(tmp_path / "out"))
    assert said.items() <= told.items()
    assert sum(told["sizes"].values()) == said["clusters"] == sum(n for size, n in sizes.items() if size > 1)
    assert told["sizes"]["2"] == sizes[2]
    rows = [row for path in (tmp_path / "out" / "clusters").iterdir() for row in pq.read_table(path).to_pylist()]
    assert told["could_go"] == sum(not row["keep"] for row in rows) == said["removed"] > 0
    largest = told["largest_clusters"][0]
    assert largest["size"] == max(sizes) == said["largest"]
    assert found[largest["canonical"]][:2] == (largest["cluster"], True)


def test_real_pages_as_in_a_store(shared_data: Path, tmp_path: Path) -> None:
    pages = sorted(path for path in (shared_data / "html").rglob("*") if path.is_file())[:120]
    texts = {path.relative_to(shared_data).as_posix(): path.read_text("utf-8", "replace") for path in pages}
    case = Case({name: text for name, text in texts.items() if "\0" not in text})
    wanted, by = by_store(case, tmp_path / "store")
    assert by.clusters > 0
    assert by_batch(case, tmp_path / "batch", files=3, parts=4)[0] == wanted


def test_of_documents_with_one_id_the_last_counts(tmp_path: Path) -> None:
    words = " ".join(f"word{number}" for number in range(60))
    for name, text in (("a", "other " + words[30:]), ("b", words)):
        write_files(tmp_path / name, [{"id": "same", "text": text}, {"id": name, "text": words}], 1)
        (tmp_path / name / "0.parquet").rename(tmp_path / f"{name}.parquet")
    form = Form((MINHASH,))
    for name in "ba":
        sketched(tmp_path / f"{name}.parquet", tmp_path / "out", form)
    out, wanted = str(tmp_path / "out"), ClusteringOptions(rule_of(form, None), LONGEST, threads=1)
    with pytest.raises(UsageError, match=r"'same' has different texts in .*a\.parquet and .*b\.parquet, .* 1 document"):
        cluster(out, out, wanted)
    said = cluster(out, out, replace(wanted, latest=True))
    assert (said["documents"], said["replaced"], said["clusters"], said["clustered"]) == (3, 1, 1, 3)
    assert said["differing"] == 1
    [gone] = [
        (path.name[0], row)
        for path in (tmp_path / "out" / "clusters").iterdir()
        for row in pq.read_table(path).to_pylist()
        if row["cluster"] is None
    ]
    assert gone[0] == "a"
    assert (gone[1]["id"], gone[1]["canonical"]) == ("same", "same")
    assert not gone[1]["is_canonical"]
    assert not gone[1]["keep"]


@pytest.mark.parametrize("command", ["sketch", "cluster"])
def test_what_a_killed_batch_leaves_is_read_by_nobody_and_removed_by_the_next(command: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="NOT INSTALLED: pandas; reading what a killed batch left")
    out = tmp_path / "out"
    by_batch(Case(named(collection(2, 60))), tmp_path, files=3)
    told = {name: pandas.read_parquet(out / name) for name in ("sketches", "clusters")}
    killed = """
import os, signal, sys
from indexer.model import own_files
def kill(path): os.kill(os.getpid(), signal.SIGKILL)
own_files.os.fsync = kill
from indexer.__main__ import main
main()
"""
    if command == "sketch":
        for path in (tmp_path / "in").iterdir():
            pq.write_table(pq.read_table(path), path, compression="none")
    asked = {"sketch": [str(tmp_path / "in"), "--time-field", "seen"], "cluster": [str(out)]}[command]
    done = subprocess.run([sys.executable, "-c", killed, "batch", command, *asked, "--out", str(out)])
    assert done.returncode == -signal.SIGKILL
    left = list(out.rglob(".neardup-*"))
    assert left
    for name, before in told.items():
        assert pandas.read_parquet(out / name).equals(before)
    again = subprocess.run([sys.executable, "-m", "indexer", "batch", command, *asked, "--out", str(out)])
    assert again.returncode == 0
    assert not list(out.rglob(".neardup-*"))


def test_row_numbers_of_several_files_as_ids_are_refused_and_the_same_text_again_is_not(tmp_path: Path) -> None:
    texts = [" ".join(f"word{number}x{place}" for place in range(60)) for number in range(6)]
    form = Form((MINHASH,))
    for name, own in (("a", texts[:3]), ("b", texts[3:]), ("again", texts[:3])):
        rows = [
            {"id": str(number), "text": text.upper() if name == "again" else text} for number, text in enumerate(own)
        ]
        write_files(tmp_path / name, rows, 1)
    sketched(tmp_path / "a", tmp_path / "out", form)
    sketched(tmp_path / "again", tmp_path / "out", form)
    out, wanted = str(tmp_path / "out"), ClusteringOptions(rule_of(form, None), LONGEST, threads=1)
    said = cluster(out, out, wanted)
    assert (said["documents"], said["replaced"], said["differing"]) == (3, 3, 0)
    sketched(tmp_path / "b", tmp_path / "out", form)
    with pytest.raises(UsageError, match="so have 6 documents in all"):
        cluster(out, out, wanted)


def test_rules_that_need_what_is_not_there_are_refused(tmp_path: Path) -> None:
    form = Form(())
    with pytest.raises(UsageError, match="--scheme minhash"):
        rule_of(form, "minhash@0.6")
    with pytest.raises(UsageError, match="no texts to read again"):
        rule_of(form, "simhash-doc@3bits+text@0.5")
    with pytest.raises(StoreError, match="neardup batch sketch"):
        cluster(str(tmp_path), str(tmp_path), ClusteringOptions(rule_of(form, None), LONGEST))
