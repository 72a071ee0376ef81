"""What is kept of a collection: one of each cluster, in files of the same kind, and a list of what is not."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indexer.batch.clusters.clustering import ClusteringOptions, cluster
from indexer.batch.copying import Output
from indexer.batch.filtering import keep, removed_file
from indexer.batch.form import Form
from indexer.batch.reading import figures, rule_of
from indexer.errors import StoreError, UsageError
from indexer.library.batch_options import BatchOutput
from indexer.library.batches import dedupe
from indexer.model import MOST_ORIGINS
from tests.batch.batched import LONGEST, MINHASH, clusters_in, sketched
from tests.planted import collection, named

TEXTS = named(collection(3, 120))


def clustered(given: Path, out: Path, rule: str | None = None, schemes: tuple[str, ...] = (MINHASH,)) -> None:
    """Clusters of which sketches alone say what is kept."""
    sketched(given, out, Form(schemes))
    wanted = ClusteringOptions(rule_of(Form(schemes), rule), LONGEST, threads=1, permitted=None)
    cluster(str(out), str(out), wanted)


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


def test_what_a_later_document_of_the_same_id_replaces_is_asked_for_and_counted_apart(tmp_path: Path) -> None:
    texts = [" ".join(f"word{number}x{place}" for place in range(60)) for number in range(5)]
    (tmp_path / "in").mkdir()
    # Numbers of rows as ids: of three texts in each file the first one is the same in both.
    for name, own in (("a", texts[:3]), ("b", [texts[0], *texts[3:]])):
        lines = [json.dumps({"id": str(place), "text": text}) for place, text in enumerate(own)]
        (tmp_path / "in" / f"{name}.jsonl").write_text("\n".join(lines))
    with pytest.raises(UsageError, match=r"'1' has different texts in .*a\.jsonl and .*b\.jsonl, .* 2 documents"):
        dedupe([str(tmp_path / "in")], BatchOutput(str(tmp_path / "kept")))
    assert not (tmp_path / "kept").exists()
    found = dedupe([str(tmp_path / "in")], BatchOutput(str(tmp_path / "kept")), latest=True)
    assert figures(found.batch)["differing"] == 2
    assert (found.documents, found.kept, found.removed, found.replaced) == (6, 3, 0, 3)
    assert {row["source"].rpartition("/")[2] for row in removed(tmp_path / "kept")} == {"a.jsonl"}
    assert [row["reason"] for row in removed(tmp_path / "kept")] == ["replaced"] * 3


def spread(given: Path, texts: dict[str, str], seed: int = 1) -> None:
    """The texts as JSON lines in four folders, every third family in the first of them."""
    chance = random.Random(seed)
    lines: dict[str, list[str]] = {}
    for name, text in texts.items():
        folder = chance.choice("abcd" if int(name[1:].partition("s")[0]) % 3 else "a")
        lines.setdefault(folder, []).append(json.dumps({"id": f"{folder}/{name}", "text": text}))
    for folder, own in lines.items():
        (given / folder).mkdir(parents=True)
        (given / folder / "x.jsonl").write_text("\n".join([*own, json.dumps({"id": f"{folder}/none", "text": ""})]))


def wide(families: int = 12, steps: int = 14) -> dict[str, str]:
    """Families that drift so far that what is near is cut into several clusters."""
    chance, texts = random.Random(7), {}
    for family in range(families):
        words = [f"w{chance.randrange(10**6)}" for _ in range(60)]
        for step in range(steps if family % 2 else 3):
            texts[f"f{family}s{step}"] = " ".join(words)
            for place in chance.sample(range(60), 2):
                words[place] = f"w{chance.randrange(10**6)}"
    return texts


def lines_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in folder.rglob("*.jsonl") for line in path.read_text().splitlines()]


def rows_of(out: Path) -> dict[str, dict[str, Any]]:
    rows = (row for path in out.glob("clusters/*.parquet") for row in pq.read_table(path).to_pylist())
    return {row["id"]: row for row in rows}


def test_origins_are_counted_and_what_few_have_is_left_out(tmp_path: Path) -> None:
    given, out = tmp_path / "in", tmp_path / "batch"
    spread(given, wide())
    clustered(given, out)
    rows = rows_of(out)
    members: dict[str, set[str]] = {}
    for name, row in rows.items():
        members.setdefault(row["cluster"], set()).add(name)
    places = {name: {each.split("/")[0] for each in own} for name, own in members.items()}
    assert {name: row["origins"] for name, row in rows.items()} == {
        name: len(places[row["cluster"]]) for name, row in rows.items()
    }
    several = [name for name, own in members.items() if len(places[name]) > 1 and len(own) > 1]
    assert figures(str(out))["spanning"] == len(several)
    standing = 0
    for least, singles in ((2, True), (2, False), (4, True), (4, False)):
        output = Output(str(tmp_path / f"kept{least}{singles}"), min_origins=least, singletons=singles)
        done = keep([str(given)], str(out), output)
        reasons = {row["id"]: row["reason"] for row in removed(Path(output.out))}
        kept = {line["id"] for line in lines_in(Path(output.out))}
        assert kept == rows.keys() - reasons.keys()
        wanted = {name for name, row in rows.items() if (singles if row["size"] == 1 else row["origins"] >= least)}
        # Each wanted document is there, or one that it repeats, and nothing else is.
        stands = {rows[name]["duplicate_of"] or name for name in wanted}
        assert kept == stands
        standing += len(stands - wanted)
        for name, reason in reasons.items():
            alone = "no-cluster" if rows[name]["size"] == 1 else "few-origins"
            assert reason == ("repeats" if name in wanted else alone)
        counts = Counter(reasons.values())
        assert (done.kept, done.removed) == (len(kept), counts["repeats"])
        assert (done.few_origins, done.singletons) == (counts["few-origins"], counts["no-cluster"])
        assert done.few_origins
        assert (done.singletons > 0) == (not singles)
    # Some stay only because documents of another cluster repeat them.
    assert standing
    tagged = Output(str(tmp_path / "tagged"), tag=True, min_origins=2)
    done = keep([str(given)], str(out), tagged)
    lines = lines_in(Path(tagged.out))
    assert len(lines) == len(rows)
    assert sum(line["neardup_keep"] for line in lines) == done.kept


def test_origins_are_counted_up_to_a_bound(tmp_path: Path) -> None:
    text = " ".join(f"word{number}" for number in range(60))
    for number in range(MOST_ORIGINS + 20):
        path = tmp_path / "in" / f"p{number}" / "same.txt"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    clustered(tmp_path / "in", tmp_path / "batch")
    assert {row["origins"] for row in rows_of(tmp_path / "batch").values()} == {MOST_ORIGINS}
    output = Output(str(tmp_path / "kept"), min_origins=MOST_ORIGINS)
    assert keep([str(tmp_path / "in")], str(tmp_path / "batch"), output).kept == 1
    for least in (0, MOST_ORIGINS + 1):
        with pytest.raises(UsageError, match="counted from 1 to 100"):
            Output("kept", min_origins=least)
