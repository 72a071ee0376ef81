"""Batches on Spark give what one process gives, whatever the partitions, the order, and tasks that run again."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from indexer.batch.clusters.clustering import ClusteringOptions, cluster
from indexer.batch.reading import rule_of
from indexer.cli import main
from indexer.clustering.canonical import CanonicalRule
from indexer.errors import UsageError
from tests.batch.batched import LONGEST, MINHASH, Case, Row, by_batch, row_of, sketched, write_files
from tests.batch.older import CANONICAL, FORM, RULE, halves
from tests.batch.older import rows as older_rows
from tests.batch.older import wanted as asked_against
from tests.batch.on_spark import NO_SPARK, QUIET, every, same_files, same_said
from tests.batch.samples import EARLIEST, RULES, chain, hot
from tests.batch.spotted import spotted
from tests.pages import DOCS, blocks
from tests.planted import collection, named

pytest.importorskip("pyspark", reason=NO_SPARK)

from indexer.batch.spark import clustering, frames, tables
from indexer.batch.spark.session import mapped

pytestmark = QUIET


def mixed() -> dict[str, str]:
    """Versions of documents, a chain, pages with one boilerplate, and texts with stop-words."""
    return {**named(collection(1, 120)), **chain(60), **hot(100), **spotted(40)}


def by_frames(spark: Any, case: Case, partitions: int, seed: int = 0) -> dict[str, Row]:
    """What Spark makes of the documents, in any order and as many partitions."""
    rows = case.rows()
    random.Random(seed).shuffle(rows)
    documents = spark.createDataFrame(rows).repartition(partitions)
    schemes = ",".join(("simhash-doc", *case.schemes))
    metadata = ["seen"] if case.canonical.kind == "field" else []
    source = "url" if case.versions else None
    made = tables.sketches(documents, source=source, time="seen", metadata=metadata, schemes=schemes)
    found = tables.clusters(
        made,
        match=case.rule,
        canonical=str(case.canonical),
        bound=case.bound,
        partitions=partitions,
        # Either way gives the same.
        most_grouped=3 if partitions == 7 else frames.MOST_GROUPED,
    )
    clusters = {row["id"]: row_of(row) for row in found.collect()}
    assert len(clusters) == len(rows)
    return clusters


@pytest.mark.parametrize(
    ("case", "partitions"),
    [
        (Case({}, canonical=CanonicalRule("newest"), versions=True), 2),
        pytest.param(Case({}), 2, marks=every),
        *(pytest.param(case, parts, marks=every) for case in RULES for parts in (1, 2, 7)),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else f"{value.rule} {value.canonical} {value.bound}",
)
def test_clusters_of_frames_are_those_of_one_process(case: Case, partitions: int, spark: Any, tmp_path: Path) -> None:
    tried = replace(case, texts=mixed())
    wanted, said = by_batch(tried, tmp_path)
    assert said["clusters"] > 3
    assert by_frames(spark, tried, partitions, seed=partitions) == wanted


@every
@pytest.mark.parametrize(("most_joined", "most_grouped"), [(frames.MOST_JOINED, None), (1, 3)])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_clusters_of_folders_are_those_of_one_process(
    count: int, most_joined: int, most_grouped: int | None, spark: Any, tmp_path: Path
) -> None:
    case = Case(mixed(), "minhash@0.4", canonical=EARLIEST, bound=0.3)
    _, said = by_batch(case, tmp_path, files=5, parts=1)
    assert said["split"] > 0
    out = tmp_path / "spark"
    rule = rule_of(case.form, case.rule)
    asked = ClusteringOptions(rule, case.canonical, case.bound, parts=count, most_grouped=most_grouped)
    again = clustering.cluster(spark, str(tmp_path / "out"), str(out), asked, most_joined=most_joined)
    assert same_said(again, said, verified_before=bool(most_grouped))
    assert json.loads((out / "clustering.json").read_bytes()) == again
    assert same_files(tmp_path / "out", out)


@pytest.mark.parametrize(("count", "size"), [(2, 8), *(pytest.param(number, 100, marks=every) for number in (1, 2, 7))])
def test_more_joined_documents_than_one_task_holds_take_rounds(
    count: int, size: int, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(count)
    numbers = [number << 40 for number in draw.sample(range(1000), 2 * size)]
    linked, leaves = numbers[:size], numbers[size:]
    # A chain and a star, of which each pair was found by several blocks.
    pairs = [*pairwise(linked), *((leaves[0], other) for other in leaves[1:])]
    frame = spark.createDataFrame(draw.sample(pairs * 5, 5 * len(pairs)), "one bigint, other bigint")
    wanted = {number: min(linked) for number in linked} | {number: min(leaves) for number in leaves}
    stars, rounds = frames._stars, [0]

    def noted(pairs: Any, count: int) -> Any:
        rounds[0] += 1
        return stars(pairs, count)

    monkeypatch.setattr(frames, "_stars", noted)
    if size > 10:
        spark.sparkContext.setCheckpointDir(str(tmp_path / "kept"))
    # Where a round leaves as many as one task holds, that task does the rest.
    for most_joined, least, most in ((5 * len(pairs), 0, 0), (len(pairs), 1, 1), (1, 2, 12)):
        rounds[0] = 0
        with ExitStack() as kept:
            labels = frames.labelled(frame, count, most_joined, kept).collect()
            assert {row["owner"]: row["label"] for row in labels} == wanted
            assert len(labels) == len(wanted)
        assert least <= rounds[0] <= most
    assert (tmp_path / "kept").exists() == (size > 10)


@every
def test_the_rounds_of_a_chain_grow_with_its_logarithm(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stars, taken = frames._stars, []

    def noted(pairs: Any, count: int) -> Any:
        taken[-1] += 1
        return stars(pairs, count)

    monkeypatch.setattr(frames, "_stars", noted)
    for size in (64, 512, 4096):
        numbers = np.random.default_rng(size).permutation(size).tolist()
        taken.append(0)
        with ExitStack() as kept:
            frame = spark.createDataFrame(list(pairwise(numbers)), "one bigint, other bigint")
            labels = frames.labelled(frame, 2, 1, kept).collect()
        assert {row["owner"]: row["label"] for row in labels} == dict.fromkeys(range(size), 0)
    # Eight times the length takes few rounds more.
    assert taken[0] <= 10
    assert max(np.diff(taken)) <= 4


def flaky(folder: Path) -> Any:
    """`mapped` whose every step fails in the midst of its first run, wherever that is."""

    def failing(frame: Any, step: Any, schema: Any, *given: Any, **named: Any) -> Any:
        mark = str(folder / f"{step.__name__}-{len(list(folder.iterdir()))}.planned")
        Path(mark).touch()

        def fails_once(batches: Iterator[Any], *arguments: Any, **more: Any) -> Iterator[Any]:
            for batch in step(batches, *arguments, **more):
                yield batch
                try:
                    os.close(os.open(mark + ".failed", os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                raise RuntimeError("a machine was lost")

        return mapped(frame, fails_once, schema, *given, **named)

    return failing


@pytest.mark.parametrize(("seed", "count"), [(1, 2), pytest.param(2, 5, marks=every)])
def test_tasks_that_fail_are_run_again_and_an_older_batch_is_as_in_one_process(
    seed: int, count: int, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older, newer = halves(seed)
    old, new, out, marks = (tmp_path / name for name in ("old", "new", "spark", "marks"))
    marks.mkdir()
    sketched(write_files(tmp_path / "a", older_rows(older), 2), old, FORM)
    cluster(str(old), str(old), asked_against())
    sketched(write_files(tmp_path / "b", older_rows(newer), 3), new, FORM)
    asked = asked_against(against=str(old))
    said = cluster(str(new), str(new), asked)
    assert min(said["replaced"], said["repeating"], said["new"], said["clusters"]) > 0
    for module in (clustering, frames):
        monkeypatch.setattr(module, "mapped", flaky(marks))
    again = clustering.cluster(spark, str(new), str(out), replace(asked, parts=count, most_grouped=2))
    assert same_said(again, said, verified_before=True)
    assert same_files(new, out)
    failed = sorted(path.name.partition("-")[0] for path in marks.glob("*.failed"))
    # Files are read for what may be near, and for texts that are too short for it.
    several = ["unite"] * 2 + ["read_labelled"] * 4 + ["read_files"] * 2
    once = ["block_values", "connect", "group", "read_ids", "share", "verify", "write_files"]
    once += ["read_near", "words_in", "count_words", "judge"]
    assert failed == sorted(several + once)
    assert not list(out.rglob(".*.part"))


def test_the_command_runs_on_spark(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Names as a user writes them: of folders beside this one.
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "in", Case(mixed()).rows(), 3)
    (tmp_path / "in" / "page.html").write_text("<p>" + mixed()["link001"])
    (tmp_path / "in" / "bad.jsonl").write_text('{"id": "x", "text": "some words"}\nno JSON\n')
    told = []

    def answered(*words: str) -> Any:
        assert main(["batch", *words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    for out, more in (("here", []), ("spark", ["--run-on", "spark"])):
        made = ("sketch", "in", "--out", out, *(more or ["--jobs", "1"]))
        counts = answered(*made)
        assert counts["failed"], counts
        again = answered(*made)
        assert (again["files"], again["done_before"]) == (0, 5)
        grouped = ["--most-grouped", "3"] if more else []
        clustered = answered("cluster", out, "--out", out, *more, *grouped)
        assert clustered.pop("seconds") > 0
        told.append((clustered, {**counts, "out": "", "seconds": 0}))
    assert same_said(told[1][0], told[0][0], verified_before=True)
    assert told[0][1] == told[1][1]
    for path in (tmp_path / "here" / "sketches").iterdir():
        assert path.read_bytes() == (tmp_path / "spark" / "sketches" / path.name).read_bytes()
    assert same_files(tmp_path / "here", tmp_path / "spark")
    assert {path.name for path in (tmp_path / "spark").iterdir()} == {"sketches", "clusters", "clustering.json"}


@every
def test_what_cannot_be_exact_is_refused(spark: Any, tmp_path: Path) -> None:
    case = Case(hot(60))
    by_batch(case, tmp_path)
    out = str(tmp_path / "out")
    made = tables.read(spark, out)
    with pytest.raises(Exception, match="several documents have the id page000"):
        tables.clusters(made.unionByName(made.where("id = 'page000'"))).collect()
    other = tables.sketches(spark.createDataFrame([("a", "some words")], "id string, text string"), min_tokens=1)
    with pytest.raises(Exception, match="sketches are of several forms"):
        tables.clusters(made.unionByName(other)).collect()
    with pytest.raises(UsageError, match="no sketches as sketches"):
        tables.clusters(made.drop("form"))
    with pytest.raises(Exception, match="a document has no id"):
        tables.sketches(spark.createDataFrame([(None, "some words")], "id string, text string")).collect()


@every
def test_the_example_of_the_page_runs(spark: Any) -> None:
    texts = hot(60)
    case = Case(texts | {f"copy{place}": f"{texts[f'page00{place}']}\n" for place in range(9)})
    rows = [{"url": row["id"], "body": row["text"], "seen": row["seen"]} for row in case.rows()]
    spark.createDataFrame(rows).write.saveAsTable("pages")
    known: dict[str, Any] = {"spark": spark}
    exec(blocks(DOCS / "how-to" / "spark.md", "python")[0], known)
    clusters = spark.table("clusters").collect()
    assert {row["id"] for row in clusters} == case.texts.keys()
    kept = known["kept"].collect()
    assert {row["url"] for row in kept} == {row["id"] for row in clusters if row["keep"]}
    assert {row["url"] for row in kept} > {row["duplicate_of"] for row in clusters} - {None}
    assert len(kept) == len(texts)


@every
def test_of_rows_with_one_id_the_latest_counts_and_older_documents_keep_their_clusters(
    spark: Any, tmp_path: Path
) -> None:
    older, newer = halves(3)
    old, new = tmp_path / "old", tmp_path / "new"
    sketched(write_files(tmp_path / "a", older_rows(older), 2), old, FORM)
    cluster(str(old), str(old), asked_against())
    sketched(write_files(tmp_path / "b", older_rows(newer), 1), new, FORM)
    cluster(str(new), str(new), asked_against(against=str(old)))
    before = spark.read.parquet(str(old / "clusters")).select("id", "cluster", "keep")
    texts = spark.createDataFrame([{"id": name, "text": text} for name, text in (older | newer).items()])
    found = tables.clusters(
        tables.read(spark, str(new)),
        match=RULE,
        canonical=str(CANONICAL),
        against=tables.read(spark, str(old)).join(before, "id"),
        texts=texts,
    )
    names = [
        "id",
        "cluster",
        "is_canonical",
        "keep",
        "similarity",
        "size",
        "canonical",
        "repeats",
        "repeats_similarity",
        "duplicate_of",
        "relation",
        "evidence",
    ]
    got = sorted(found.where("not older").select(*names).collect())
    wanted = [pq.read_table(path, columns=names).to_pylist() for path in (new / "clusters").iterdir()]
    assert [row.asDict() for row in got] == sorted((row for rows in wanted for row in rows), key=lambda row: row["id"])
    # Each document once more, with another text, and an earlier time.
    rows = Case(hot(60)).rows()
    earlier = [{**row, "text": "gone " + row["text"][::-1], "seen": "2025"} for row in rows[:20]]
    made = tables.sketches(spark.createDataFrame([*earlier, *rows]), time="seen", schemes=f"simhash-doc,{MINHASH}")
    found = tables.clusters(made, canonical="longest", latest="time").collect()
    assert sum(row["cluster"] is None and not row["is_canonical"] for row in found) == 20
    counted = {row["id"]: row_of(row) for row in found if row["cluster"]}
    assert counted == by_batch(Case(hot(60)), tmp_path / "again")[0]


def shuffled_bytes(spark: Any) -> int:
    """What all stages until now have written for others."""
    context = spark.sparkContext
    nothing = context._gateway.new_array(context._jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(None, False, False, nothing, None)
    return sum(stages.apply(number).shuffleWriteBytes() for number in range(stages.size()))


@every
def test_a_hot_bucket_costs_as_many_comparisons_and_bytes_as_there_are_documents(spark: Any, tmp_path: Path) -> None:
    menu = " ".join(f"menu{number}" for number in range(60))
    texts = {f"page{place:04}": f"{menu} own{place} text{place}" for place in range(1500)}
    case = Case(texts, "minhash@0.6")
    sketched(write_files(tmp_path / "in", case.rows(), 4), tmp_path / "out", case.form)
    out, before = str(tmp_path / "out"), shuffled_bytes(spark)
    wanted = ClusteringOptions(rule_of(case.form, case.rule), LONGEST, parts=4, permitted=None)
    said = clustering.cluster(spark, out, out, wanted)
    assert said["shared_keys"][0]["texts"] > 500
    assert said["comparisons"] < 20 * len(texts)
    # A key takes 16 bytes, and a sketch some hundred, which travels once.
    assert shuffled_bytes(spark) - before < 2000 * len(texts)
