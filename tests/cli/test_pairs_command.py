"""`neardup pairs`, as a user runs it."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.cli.command import Neardup, mixed_folder, write
from tests.cli.written import changed, prose

USUAL = "simhash-doc@3bits/minhash@0.6+minhash@0.6"
ALIKE = ["docs/a.html", "docs/b.pdf", "docs/deep/c.xml", "docs/deep/d.txt", "docs/near.txt"]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def texts_of(row: dict[str, object]) -> dict[str, str]:
    """A row as CSV has it."""
    return {key: "" if value in (None, [], "[]") else str(value) for key, value in row.items()}


def test_pairs_in_every_form(indexed: Neardup) -> None:
    shown = indexed("pairs")
    pairs = rows(shown.out)
    assert len(pairs) == 10
    assert "10 pairs by the default rule" in shown.err
    assert {frozenset((row["left"], row["right"])) for row in pairs} == {
        frozenset((a, b)) for a in ALIKE for b in ALIKE if a < b
    }
    for row in pairs:
        assert set(row) >= {"left", "right", "similarity", "bits"}
        assert not row["relation"]
        assert (float(row["similarity"]) < 1) == ("docs/near.txt" in row.values())
        assert len(row["similarity"]) <= 8
    lines = indexed("pairs", "--format", "jsonl").lines
    assert [texts_of(line) for line in lines] == pairs
    assert len(indexed("pairs", "--collapse", "--format", "jsonl").lines) == 4


def test_pairs_say_what_was_not_compared(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    neardup("index", "docs")
    said = "not compared: 1 without words, unless equal, 1 with too few words (see --include-short), 1 refused"
    assert f"3 documents {said}" in neardup("pairs").err
    logged = [json.loads(line) for line in neardup("--log-format", "json", "pairs", "--include-short").err.splitlines()]
    assert [line["not_comparable"] for line in logged if "not_comparable" in line] == [2]
    neardup("index", "docs", "--store", "lean.neardup", "--schemes", "simhash-doc")
    neardup("index", "docs/a.html", "docs/b.pdf", "--store", "lean.neardup", "--scheme", "minhash")
    assert (
        "can't be compared: no sketch of minhash is stored"
        in neardup("pairs", "--store", "lean.neardup", "--match", "minhash@0.6").err
    )


def test_pairs_by_bits_have_these_too(indexed: Neardup) -> None:
    shown = indexed("pairs", "--match", "simhash-doc@3bits")
    assert "10 pairs by simhash-doc@3bits" in shown.err
    for row in rows(shown.out):
        assert float(row["similarity"]) == 1 - int(row["bits"]) / 64
        assert (int(row["bits"]) > 0) == ("docs/near.txt" in row.values())
    exact = indexed("pairs", "-k", "0", "--format", "jsonl").lines
    assert [(line["bits"], line["similarity"]) for line in exact] == [(0, 1.0)] * 6
    # All pairs are searched further than lookups go, and it is said so.
    far = indexed("pairs", "-k", "12", "--explain")
    assert len(rows(far.out)) == 10
    assert "for all pairs alone, of which every one is found" in far.err
    assert set(rows(indexed("pairs", "-k", "12", "--verify", "sketch").out)[0]) == set(rows(far.out)[0])


def test_pairs_into_a_file(indexed: Neardup) -> None:
    done = indexed("pairs", "-o", "pairs.csv")
    assert done.out == ""
    assert rows((indexed.folder / "pairs.csv").read_text()) == rows(indexed("pairs").out)
    assert "can't be written" in indexed("pairs", "-o", "nowhere/pairs.csv", code=2).err
    assert [path.name for path in indexed.folder.glob(".*.part")] == []


def test_pairs_as_parquet(indexed: Neardup) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="NOT INSTALLED: pyarrow; Parquet was not tried")
    indexed("pairs", "--format", "parquet", "-o", "pairs.parquet")
    read = parquet.read_table(indexed.folder / "pairs.parquet").to_pylist()
    assert [texts_of(row) for row in read] == rows(indexed("pairs").out)


def test_parquet_without_its_library_is_explained(indexed: Neardup) -> None:
    (indexed.folder / "pyarrow.py").write_text("raise ImportError('not here')")
    done = indexed("pairs", "--format", "parquet", "-o", "x", code=2, PYTHONPATH=str(indexed.folder))
    assert "neardup[parquet]" in done.err
    assert not (indexed.folder / "x").exists()


def test_pairs_against_another_store_and_against_a_list(indexed: Neardup) -> None:
    write(indexed.folder, {"new/one.txt": changed(prose(1), 50), "new/two.txt": prose(9)})
    indexed("index", "new", "--store", "new.neardup")
    found = rows(indexed("pairs", "--against", "new.neardup", "-k", "6").out)
    assert sorted(row["left"] for row in found) == ALIKE
    assert {row["right"] for row in found} == {"new/one.txt"}
    (indexed.folder / "new.jsonl").write_text(indexed("hash", "new/one.txt", "new/two.txt", "--json").out)
    listed = rows(indexed("pairs", "--against", "new.jsonl", "-k", "6").out)
    assert sorted(listed, key=str) == sorted(found, key=str)
    # By default stores are compared as they are clustered, and a list by the simhash, which is all that it has.
    by_share = rows(indexed("pairs", "--against", "new.neardup").out)
    assert {(row["left"], row["right"]) for row in by_share} == {(row["left"], row["right"]) for row in found}
    assert all(0.6 <= float(row["similarity"]) < 1 for row in by_share)
    assert "by simhash-doc@3bits" in indexed("pairs", "--against", "new.jsonl").err
    refused = indexed("pairs", "--against", "new.jsonl", "--match", "minhash@0.6", code=2).err
    assert "new.jsonl: has simhashes alone" in refused
    assert "not for --against" in indexed("pairs", "--against", "new.neardup", "--collapse", code=2).err


def test_stores_whose_sketches_differ_are_not_compared(indexed: Neardup) -> None:
    indexed("index", "docs", "--store", "lean.neardup", "--schemes", "simhash-doc")
    indexed("index", "docs", "--store", "other.neardup", "--schemes", "simhash-doc,minhash:shingle=3")
    assert "no sketches of the scheme 'minhash'" in indexed("pairs", "--against", "lean.neardup", code=2).err
    refused = indexed("pairs", "--against", "other.neardup", code=4).err
    assert "shingle=5" in refused
    assert "shingle=3" in refused
    assert len(rows(indexed("pairs", "--against", "lean.neardup", "-k", "0").out)) == 18
    assert "of the scheme" not in indexed("pairs", "--store", "lean.neardup").err


@pytest.mark.parametrize(
    ("content", "said"),
    [("[]", "line 1"), ('{"hash": "sd1-aaaaaaaaaaaaa"}\n\n{"id": 1}', "line 3"), ('{"hash": "zz"}', "line 1")],
)
def test_a_list_that_is_none_is_refused_by_its_line(indexed: Neardup, content: str, said: str) -> None:
    (indexed.folder / "bad.jsonl").write_text(content)
    done = indexed("pairs", "--against", "bad.jsonl", code=2)
    assert "bad.jsonl" in done.err
    assert said in done.err
    assert "no such file" in indexed("pairs", "--against", "none.jsonl", code=5).err


def test_stores_of_another_kind_are_not_compared(indexed: Neardup) -> None:
    indexed("index", "docs", "--content", "full", "--store", "full.neardup")
    assert "content mode" in indexed("pairs", "--against", "full.neardup", code=4).err
