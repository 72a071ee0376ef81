"""What is kept of a collection: one of each cluster, in files of the same kind, and a list of what is not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batched import LONGEST, MINHASH, clusters_in, sketched
from planted import collection, named

from indexer.batch.clusters.clustering import Wanted, cluster
from indexer.batch.copying import Output
from indexer.batch.filtering import keep, removed_file
from indexer.batch.form import Form
from indexer.batch.reading import rule_of
from indexer.errors import StoreError, UsageError

TEXTS = named(collection(3, 120))


def clustered(given: Path, out: Path, rule: str | None = None, schemes: tuple[str, ...] = (MINHASH,)) -> None:
    sketched(given, out, Form(schemes))
    cluster(str(out), str(out), Wanted(rule_of(Form(schemes), rule), LONGEST, threads=1))


def surplus(out: Path) -> dict[str, tuple[str, float]]:
    """By the id of each document that is not to be kept the one that it repeats, and how similar they are."""
    rows = [row for path in out.glob("clusters/*.parquet") for row in pq.read_table(path).to_pylist()]
    return {row["id"]: (row["duplicate_of"], row["duplicate_similarity"]) for row in rows if not row["keep"]}


def removed(out: Path) -> list[dict[str, Any]]:
    return list(pq.read_table(removed_file(str(out))).to_pylist())


def test_parquet_keeps_its_columns_and_rows(tmp_path: Path) -> None:
    given = tmp_path / "in"
    (given / "deep").mkdir(parents=True)
    rows = [{"id": name, "text": text, "n": place, "tags": [name]} for place, (name, text) in enumerate(TEXTS.items())]
    pq.write_table(pa.Table.from_pylist(rows[:50]), given / "a.parquet", row_group_size=7)
    pq.write_table(pa.Table.from_pylist(rows[50:]), given / "deep" / "b.parquet", compression="zstd")
    clustered(given, tmp_path / "batch")
    gone = surplus(tmp_path / "batch")
    assert len(gone) > 10
    done = keep([str(given)], str(tmp_path / "batch"), Output(str(tmp_path / "kept")))
    assert (done.files, done.kept, done.removed) == (2, 120 - len(gone), len(gone))
    for name, part in (("a.parquet", rows[:50]), ("deep/b.parquet", rows[50:])):
        kept = pq.read_table(tmp_path / "kept" / name)
        assert kept.to_pylist() == [row for row in part if row["id"] not in gone]
        assert kept.schema == pq.read_table(given / name).schema
    found = clusters_in(tmp_path / "batch")
    listed = removed(tmp_path / "kept")
    assert {row["id"] for row in listed} == gone.keys()
    for row in listed:
        assert found[row["id"]][0] == row["cluster"]
        assert gone[row["id"]] == (row["duplicate_of"], row["similarity"])
        assert row["duplicate_of"] not in gone
        assert rows[row["row"] - 1 + 50 * ("deep" in row["source"])]["id"] == row["id"]


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "ndjson"])
def test_json_lines_stay_as_they_are_written(suffix: str, tmp_path: Path) -> None:
    lines = []
    for name, text in TEXTS.items():
        lines += [json.dumps({"text": text, "id": name}, indent=None), "", "{broken"]
    data = "\n".join(lines).encode()
    given = tmp_path / f"d.{suffix}"
    given.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    clustered(given, tmp_path / "batch")
    gone = surplus(tmp_path / "batch")
    keep([str(given)], str(tmp_path / "batch"), Output(str(tmp_path / "kept")))
    kept = (tmp_path / "kept" / f"d.{suffix}").read_bytes()
    expected = [line for line in lines if not line.startswith('{"') or json.loads(line)["id"] not in gone]
    assert (gzip.decompress(kept) if suffix.endswith("gz") else kept).decode() == "\n".join(expected)


def test_files_are_copied_as_they_are(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        path = tmp_path / "in" / ("even" if int(name[1:]) % 2 else "odd") / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    clustered(tmp_path / "in", tmp_path / "batch")
    gone = {name.removeprefix("in/") for name in surplus(tmp_path / "batch")}
    keep([str(tmp_path / "in")], str(tmp_path / "batch"), Output(str(tmp_path / "kept")))
    there = {path.relative_to(tmp_path / "in").as_posix() for path in (tmp_path / "in").rglob("*.txt")}
    kept = {path.relative_to(tmp_path / "kept").as_posix() for path in (tmp_path / "kept").rglob("*.txt")}
    assert gone
    assert kept == there - gone


def test_what_would_do_harm_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    given = tmp_path / "in"
    given.mkdir()
    rows = [{"id": name, "text": text} for name, text in TEXTS.items()]
    pq.write_table(pa.Table.from_pylist(rows), given / "a.parquet")
    with pytest.raises(StoreError, match="neardup batch cluster"):
        keep([str(given)], str(tmp_path / "batch"), Output(str(tmp_path / "kept")))
    clustered(given, tmp_path / "batch", schemes=())
    with pytest.raises(UsageError, match="--unverified"):
        keep([str(given)], str(tmp_path / "batch"), Output(str(tmp_path / "kept")))
    clustered(given, tmp_path / "verified")
    for out in (given, given / "kept", tmp_path / "verified" / "kept"):
        with pytest.raises(UsageError, match="lies inside"):
            keep([str(given)], str(tmp_path / "verified"), Output(str(out)))
    (tmp_path / "b.parquet").write_bytes((given / "a.parquet").read_bytes())
    with pytest.raises(UsageError, match="has no clusters"):
        keep([str(given), str(tmp_path / "b.parquet")], str(tmp_path / "verified"), Output(str(tmp_path / "kept")))
    pq.write_table(pa.Table.from_pylist(rows[1:]), given / "a.parquet")
    with pytest.raises(UsageError, match="has changed"):
        keep([str(given)], str(tmp_path / "verified"), Output(str(tmp_path / "kept")))
    assert not (tmp_path / "kept").exists()
    assert not Path(removed_file(str(tmp_path / "kept"))).exists()
