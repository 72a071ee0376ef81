"""What batches on Spark keep, write and cut is what one process keeps, writes and cuts."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indexer.batch.clusters.clustering import ClusteringOptions, cluster
from indexer.batch.copying import Output
from indexer.batch.cutting import Cutting, cut_file, cut_passages
from indexer.batch.filtering import keep
from indexer.batch.form import Form
from indexer.batch.reading import rule_of
from indexer.cli import main
from indexer.clustering.canonical import CanonicalRule
from indexer.errors import UsageError
from indexer.ingest.readers.base import ColumnNames
from tests.batch.batched import LONGEST, MINHASH, sketched, write_files
from tests.batch.choices import batch as batch_of_texts
from tests.batch.choices import chosen, drifting
from tests.batch.choices import mixed as mixed_texts
from tests.batch.inputs import as_files, as_gzip, as_parquet, as_warc
from tests.batch.on_spark import NO_SPARK, QUIET, every, same_files, same_said
from tests.cli.written import prose
from tests.relations.filled import COPIES, forms

pytest.importorskip("pyspark", reason=NO_SPARK)

from indexer.batch.spark import clustering, tables
from indexer.batch.spark.runner import steps

pytestmark = QUIET
TIMES = ("out", "batch", "removed_list", "seconds", "reading_seconds")


def files_below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "more",
    [
        ("--min-origins", "2", "--singletons", "drop"),
        pytest.param((), marks=every),
        pytest.param(("--tag",), marks=every),
    ],
)
def test_what_is_deduplicated_on_spark_is_what_one_machine_writes(
    more: tuple[str, ...],
    spark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for write in (as_gzip, as_parquet, as_warc, as_files):
        given = tmp_path / "in" / write.__name__
        given.mkdir(parents=True)
        write(given)
    (tmp_path / "in" / "bad.jsonl").write_text('{"id": "x", "text": "some words"}\nno JSON\n')

    def answered(*words: str) -> Any:
        assert main(["batch", *words, *more, "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        return {name: said[name] for name in said if name not in TIMES}

    spread = ("--run-on", "spark", "--partitions", "2", "--most-joined", "1", "--most-grouped", "3")
    made = ("dedupe", "in", "--latest", "--canonical", "longest", "--remove", "noise,edited", "--out")
    here = answered(*made, "here")
    assert answered(*made, "there", *spread) == here
    assert here["failed"]
    assert min(here["removed"], here["kept"]) > 0
    wanted = files_below(tmp_path / "here")
    assert {name.partition("/")[0] for name in wanted} >= {"as_gzip", "as_parquet", "as_warc", "bad.jsonl"}
    listed = (tmp_path / "here.removed.parquet").read_bytes()
    assert answered("filter", "in", "--clusters", "there.batch", "--out", "again", "--run-on", "spark")
    for out in ("there", "again"):
        assert files_below(tmp_path / out) == wanted
        assert (tmp_path / f"{out}.removed.parquet").read_bytes() == listed
    # What can't be written is said as it is on one machine.
    (tmp_path / "later").touch()
    with pytest.raises(UsageError, match="later"):
        keep(["in"], "there.batch", Output("later"), write=steps(spark).write)


def test_different_texts_with_one_id_are_refused_and_counted_as_in_one_process(spark: Any, tmp_path: Path) -> None:
    texts = [" ".join(f"word{number}x{place}" for place in range(60)) for number in range(6)]
    for name, own in (("a", texts[:3]), ("b", [texts[0], *texts[4:]])):
        write_files(tmp_path / name, [{"id": str(place), "text": text} for place, text in enumerate(own)], 1)
        sketched(tmp_path / name, tmp_path / "out", Form((MINHASH,)))
    out, wanted = str(tmp_path / "out"), ClusteringOptions(rule_of(Form((MINHASH,)), None), LONGEST, parts=2, threads=1)
    with pytest.raises(UsageError, match=r"'1' has different texts .* 2 documents") as refused:
        cluster(out, out, wanted)
    with pytest.raises(UsageError) as on_spark:
        clustering.cluster(spark, out, out, wanted)
    assert str(on_spark.value) == str(refused.value)
    said = cluster(out, out, replace(wanted, latest=True))
    assert same_said(clustering.cluster(spark, out, str(tmp_path / "spark"), replace(wanted, latest=True)), said)
    assert (said["replaced"], said["differing"]) == (3, 2)


@pytest.mark.parametrize("count", [2, pytest.param(1, marks=every), pytest.param(7, marks=every)])
def test_the_same_is_kept_as_in_one_process(count: int, spark: Any, tmp_path: Path) -> None:
    texts = [*drifting(6), *mixed_texts(5, 80)]
    expected = chosen(batch_of_texts(tmp_path, texts))
    rows = [{"id": f"t{place}", "text": text, "seen": f"{place:09}"} for place, text in enumerate(texts)]
    random.Random(count).shuffle(rows)
    made = tables.sketches(spark.createDataFrame(rows).repartition(count), time="seen")
    found = tables.clusters(
        made, canonical="earliest", partitions=count, most_grouped=3 if count > 1 else 1000, verify="sketch"
    )
    got = {row["id"]: (row["keep"], row["duplicate_of"], row["duplicate_similarity"]) for row in found.collect()}
    assert got == expected
    assert len({kept for kept, _, _ in got.values()}) == 2


def test_texts_decide_as_in_one_process(spark: Any, tmp_path: Path) -> None:
    """Copies go and not one form, from files and from tables, and all of it says the same."""
    texts = {f"f{place:02}": text for place, text in enumerate(forms(40))}
    draw = random.Random(2)
    texts |= {f"z{name}": draw.choice(COPIES)(texts[name], draw) for name in ("f03", "f17", "f28", "f31")}
    # One with more misread words than its copy goes, whatever comes first.
    texts |= {"a-misread": texts["f05"].replace("zahl", "zahI").replace("Rechnung", "Rcchnung")}
    # A mail stays beside the text that a rule prefers.
    texts |= {"z-mail.eml": texts["f09"], "z-text.txt": texts["f09"]}
    # Equal ones of few words go, and of none.
    texts |= {"s-few": "Thank you", "s-few2": "thank you", "s-none": "12 17 4\n3 8", "s-none2": "12 17 4\n3 8\n"}
    prefers_text = CanonicalRule("source", sources=("*.txt",))
    rows = [
        {"id": name, "text": text, "seen": sorted(texts).index(name), "url": f"https://{name[1:2]}.example/{name}"}
        for name, text in texts.items()
    ]
    write_files(tmp_path / "in", rows, 3)
    for name in ("here", "spark"):
        sketched(tmp_path / "in", tmp_path / name, Form((MINHASH,), time_field="seen"))
    wanted = ClusteringOptions(rule_of(Form((MINHASH,)), None), prefers_text, parts=2, threads=1)
    said = cluster(str(tmp_path / "here"), str(tmp_path / "here"), wanted)
    told = clustering.cluster(spark, str(tmp_path / "spark"), str(tmp_path / "spark"), wanted)
    assert same_said(told, said)
    assert same_files(tmp_path / "here", tmp_path / "spark")
    assert said["removed"] >= 6
    assert said["stays"]["facts differ (forms)"] > 10
    here = {row["id"]: row for path in tmp_path.glob("here/clusters/*") for row in pq.read_table(path).to_pylist()}
    assert {row["origins"] for row in here.values()} >= {1, 2}
    assert here["z-mail.eml"]["stays_for"] == "a mail beside another kind of document"
    assert here["f09"]["duplicate_of"] == "z-text.txt"
    assert {name: here[name]["duplicate_of"] for name in here if name.startswith("s-")} == {
        "s-few": None, "s-few2": "s-few", "s-none": None, "s-none2": "s-none",
    }  # fmt: skip
    documents = spark.createDataFrame(rows).repartition(3)
    made = tables.sketches(documents, source="url", time="seen")
    found = tables.clusters(made, canonical=prefers_text, partitions=2, texts=documents.select("id", "text"))
    columns = [name for name in here["f03"] if name != "row"]
    assert {row["id"]: row.asDict() for row in found.collect()} == {
        name: {column: row[column] for column in columns} for name, row in here.items()
    }
    # Without texts nothing goes but what is identical.
    alone = {row["id"]: row for row in tables.clusters(made, canonical="earliest", partitions=2).collect()}
    assert {row["relation"] for row in alone.values() if not row["keep"]} <= {"identical"}
    assert sum(row["stays_for"] == "not verified" for row in alone.values()) > 10


def test_passages_are_cut_as_by_one_process(spark: Any, tmp_path: Path) -> None:
    shared = [prose(number, 60) for number in range(4)]
    for name, ids in (("a", range(12)), ("b", range(12, 30))):
        rows = [{"id": f"d{each}", "text": f"{prose(100 + each, 40)} {shared[each % 4]}"} for each in ids]
        rows += [{"id": f"{name}-none", "text": None}]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{name}.parquet", row_group_size=5)
    lines = [json.dumps({"id": f"l{each}", "text": f"{shared[each]} {shared[0]}"}) for each in range(4)]
    (tmp_path / "c.jsonl").write_text("\n".join(lines))
    given, asked = [str(tmp_path / name) for name in ("a.parquet", "b.parquet", "c.jsonl")], Cutting(20, least_left=3)
    here: Any = {"read": steps(spark).read_words, "write": steps(spark).write_cut}
    counted = cut_passages(given, asked, **here)
    one = cut_passages(given, asked, str(tmp_path / "one"))
    other = cut_passages(given, asked, str(tmp_path / "other"), **here)
    assert one.cut_words > 0 < one.dropped
    assert replace(one, seconds=0) == replace(other, seconds=0) == replace(counted, seconds=0)
    for name in ("a.parquet", "b.parquet"):
        assert pq.read_table(tmp_path / "one" / name).equals(pq.read_table(tmp_path / "other" / name))
    assert (tmp_path / "one/c.jsonl").read_bytes() == (tmp_path / "other/c.jsonl").read_bytes()
    cuts = [pq.read_table(cut_file(str(tmp_path / name))).drop_columns("source") for name in ("one", "other")]
    assert cuts[0].num_rows == one.passages
    assert cuts[0].equals(cuts[1])
    with pytest.raises(UsageError, match="has no column body"):
        cut_passages(given[:2], Cutting(20, columns=ColumnNames(text="body")), **here)
