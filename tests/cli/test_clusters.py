"""`neardup pairs`, `cluster`, `prune`, and `index` with clusters, as a user runs them."""

from __future__ import annotations

import csv
import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from command import COMMAND, Neardup, clean_environment, contents, mixed_folder, write
from written import changed, html, prose

ALIKE = ["docs/a.html", "docs/b.pdf", "docs/deep/c.xml", "docs/deep/d.txt", "docs/near.txt"]


@pytest.fixture
def indexed(neardup: Neardup) -> Neardup:
    """A store of documents in every format, five of them alike, without clusters."""
    mixed_folder(neardup.folder)
    neardup("index", "docs")
    return neardup


def clusters(neardup: Neardup, store: str = "collection.neardup") -> dict[str, dict[str, object]]:
    shown = {}
    for name in contents(neardup, store)[0]:
        annotations = neardup("show", name, "--store", store, "--json").json["annotations"]
        shown[name] = annotations
    return shown


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_pairs_in_every_form(indexed: Neardup) -> None:
    shown = indexed("pairs")
    pairs = rows(shown.out)
    assert len(pairs) == 10
    assert "10 pairs within 3 bits" in shown.err
    assert {frozenset((row["id_a"], row["id_b"])) for row in pairs} == {
        frozenset((a, b)) for a in ALIKE for b in ALIKE if a < b
    }
    for row in pairs:
        assert float(row["similarity"]) == 1 - int(row["distance"]) / 64
        assert (int(row["distance"]) > 0) == ("docs/near.txt" in row.values())
    lines = indexed("pairs", "--format", "jsonl").lines
    assert [{key: str(value) for key, value in line.items()} for line in lines] == pairs
    assert len(indexed("pairs", "--collapse", "--format", "jsonl").lines) == 4
    assert len(indexed("pairs", "-k", "0", "--format", "jsonl").lines) == 6


def test_pairs_into_a_file(indexed: Neardup) -> None:
    done = indexed("pairs", "-o", "pairs.csv")
    assert done.out == ""
    assert rows((indexed.folder / "pairs.csv").read_text()) == rows(indexed("pairs").out)
    assert "can't be written" in indexed("pairs", "-o", "nowhere/pairs.csv", code=2).err
    assert [path.name for path in indexed.folder.glob("*.part")] == []


def test_pairs_as_parquet(indexed: Neardup) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="NOT INSTALLED: pyarrow; Parquet was not tried")
    indexed("pairs", "--format", "parquet", "-o", "pairs.parquet")
    read = parquet.read_table(indexed.folder / "pairs.parquet").to_pylist()
    assert [{key: str(value) for key, value in row.items()} for row in read] == rows(indexed("pairs").out)


def test_parquet_without_its_library_is_explained(indexed: Neardup) -> None:
    (indexed.folder / "pyarrow.py").write_text("raise ImportError('not here')")
    done = indexed("pairs", "--format", "parquet", "-o", "x", code=2, PYTHONPATH=str(indexed.folder))
    assert "neardup[parquet]" in done.err
    assert not (indexed.folder / "x").exists()


def test_pairs_against_another_store_and_against_a_list(indexed: Neardup) -> None:
    write(indexed.folder, {"new/one.txt": changed(prose(1), 50), "new/two.txt": prose(9)})
    indexed("index", "new", "--store", "new.neardup")
    found = rows(indexed("pairs", "--against", "new.neardup", "-k", "6").out)
    assert sorted(row["id_a"] for row in found) == ALIKE
    assert {row["id_b"] for row in found} == {"new/one.txt"}
    (indexed.folder / "new.jsonl").write_text(indexed("hash", "new/one.txt", "new/two.txt", "--json").out)
    listed = rows(indexed("pairs", "--against", "new.jsonl", "-k", "6").out)
    assert sorted(listed, key=str) == sorted(found, key=str)


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


def test_names_are_harmless_on_a_terminal(neardup: Neardup) -> None:
    lines = [{"id": f"{name}\x1b[31m", "text": prose(1)} for name in "ab"]
    import json

    neardup("index", "-", stdin="\n".join(map(json.dumps, lines)))
    inner, outer = pty.openpty()
    done = subprocess.run(
        [*COMMAND, "pairs"],
        cwd=neardup.folder,
        env=clean_environment(),
        stdout=outer,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    os.close(outer)
    shown = os.read(inner, 10_000)
    os.close(inner)
    assert done.returncode == 0
    assert b"\x1b" not in shown
    assert b"a\\x1b[31m" in shown


def test_cluster_writes_once(indexed: Neardup) -> None:
    tried = indexed("cluster", "--dry-run", "--json").json
    assert tried["written"] == {"documents": 8, "clusters": 1, "removed": 0}
    assert clusters(indexed)["docs/a.html"] == {}
    assert indexed("cluster", "--json").json == {**tried, "dry_run": False}
    assert indexed("cluster", "--json").json["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    found = clusters(indexed)
    assert len({str(found[name]["cluster"]["id"]) for name in ALIKE}) == 1  # type: ignore[index]
    assert len({str(noted["cluster"]["id"]) for noted in found.values()}) == 4  # type: ignore[index]
    assert "largest of 5" in indexed("cluster").out


def test_the_user_chooses_who_is_canonical(indexed: Neardup) -> None:
    indexed("cluster", "--canonical", "source", "--prefer", "*.pdf")
    assert clusters(indexed)["docs/b.pdf"]["cluster"]["is_canonical"]  # type: ignore[index]
    indexed("cluster", "--canonical", "source", "--prefer", "*.xml", "--prefer", "*.pdf")
    assert clusters(indexed)["docs/deep/c.xml"]["cluster"]["is_canonical"]  # type: ignore[index]
    assert "no rule" in indexed("cluster", "--canonical", "best", code=2).err
    assert "bound" in indexed("cluster", "-k", "5", "--bound", "3", code=2).err


def test_index_puts_documents_into_clusters_as_they_come(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    done = neardup("index", "docs", "--cluster", "--json", "--new-to", "new.txt").json
    assert (done["new"], done["near"]) == (2, 4)
    new = (neardup.folder / "new.txt").read_text().split()
    assert "docs/other.html" in new
    assert len(new) == 2
    assert neardup("cluster", "--json").json["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    write(neardup.folder, {"docs/later.html": html(prose(2))})
    assert neardup("index", "docs", "--cluster", "--json").json["near"] == 1
    assert neardup("cluster", "--json").json["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    assert "--new-to goes with" in neardup("index", "docs", "--new-to", "-", code=2).err


def test_near_copies_can_be_left_out(neardup: Neardup) -> None:
    write(neardup.folder, {"docs/a.txt": prose(1)})
    neardup("index", "docs")
    mixed_folder(neardup.folder)
    done = neardup("index", "docs", "--skip-duplicates", "--strict", "--exclude", "broken.pdf", "--json").json
    assert (done["duplicates"], done["new"], done["failed"]) == (5, 1, {})
    records, failures = contents(neardup)
    assert set(records) == {"docs/a.txt", "docs/other.html", "docs/short.txt", "docs/empty.txt"}
    assert {name: each["reason"] for name, each in failures.items()} == dict.fromkeys(ALIKE, "duplicate")
    listed = neardup("failures", "--reason", "duplicate").out
    assert listed.count("docs/a.txt") == 5
    # Once what they repeat is gone, the first of them takes its place.
    neardup("delete", "docs/a.txt")
    (neardup.folder / "docs/a.txt").unlink()
    again = neardup("index", "docs", "--skip-duplicates", "--exclude", "broken.pdf", "--json").json
    assert (again["indexed"], again["duplicates"]) == (1, 4)
    # And without the option all are stored, and are failures no more.
    neardup("index", "docs", "--exclude", "broken.pdf")
    assert set(contents(neardup)[0]) >= set(ALIKE)
    assert contents(neardup)[1] == {}


def test_prune_marks_lists_and_deletes_only_when_told(indexed: Neardup) -> None:
    assert "neardup cluster" in indexed("prune", "--keep", "canonical", "--dry-run", code=3).err
    indexed("cluster", "--canonical", "source", "--prefer", "*.pdf")
    before = contents(indexed)
    listed = indexed("prune", "--keep", "canonical", "--dry-run", "--json").lines
    surplus = sorted(set(ALIKE) - {"docs/b.pdf"})
    assert sorted(line["id"] for line in listed) == surplus
    assert {line["canonical"] for line in listed} == {"docs/b.pdf"}
    assert "duplicate_of" not in str(clusters(indexed))
    assert indexed("prune", "--keep", "canonical", "--json").json == {"marked": 4, "unmarked": 0, "contended": 0}
    assert indexed("prune", "--keep", "canonical", "--json").json == {"marked": 0, "unmarked": 0, "contended": 0}
    assert {name for name, noted in clusters(indexed).items() if noted.get("duplicate_of") == "docs/b.pdf"} == set(
        surplus
    )
    assert contents(indexed) == before
    # Nobody there to be asked: nothing is deleted, neither by the environment.
    refused = indexed("prune", "--keep", "canonical", "--delete", code=2, NEARDUP_PRUNE_YES="1")
    assert "4 of 8 documents" in refused.err
    indexed("prune", "--keep", "canonical", NEARDUP_PRUNE_DELETE="1")
    assert contents(indexed) == before
    gone = indexed("prune", "--keep", "canonical", "--delete", "--yes", "--json")
    assert gone.json == {"deleted": 4, "contended": 0}
    assert "4 of 8 documents" in gone.err
    assert set(contents(indexed)[0]) == set(before[0]) - set(surplus)
    assert indexed("cluster", "--json").json["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    assert "--keep" in indexed("prune", code=2).err


def test_prune_leaves_what_is_no_longer_true(indexed: Neardup) -> None:
    indexed("cluster", "--canonical", "source", "--prefer", "*.pdf")
    indexed("prune", "--keep", "canonical")
    write(indexed.folder, {"docs/near.txt": prose(77)})
    indexed("index", "docs")
    indexed("delete", "docs/b.pdf")
    assert indexed("prune", "--keep", "canonical", "--dry-run", "--json").lines == []
    assert indexed("prune", "--keep", "canonical", "--json").json == {"marked": 0, "unmarked": 3, "contended": 0}
    assert indexed("prune", "--keep", "canonical", "--delete", "--yes", "--json").json == {"deleted": 0, "contended": 0}


def test_settings_do_not_delete(indexed: Neardup) -> None:
    indexed("cluster")
    (indexed.folder / "neardup.toml").write_text("[prune]\ndelete = true\nyes = true\n")
    indexed("prune", "--keep", "canonical", code=2)
    assert len(contents(indexed)[0]) == 8


def test_a_reader_who_goes_away_ends_the_stream(neardup: Neardup) -> None:
    write(neardup.folder, {f"docs/{number:03d}.txt": prose(1) for number in range(150)})
    neardup("index", "docs")
    script = f"{sys.executable} -m indexer pairs | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=neardup.folder, env=clean_environment(), capture_output=True, timeout=60
    )
    assert done.stdout == b"id_a,id_b,distance,similarity\n"
    assert done.returncode == 141
    assert Path(neardup.folder / "collection.neardup").exists()
