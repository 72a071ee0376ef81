"""`neardup batch`, as it is typed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indexer.batch.clusters.clustering import BEFORE
from indexer.batch.reading import CLUSTERS
from indexer.batch.sketches.parts import SKETCHES
from indexer.ingest.readers.tables import BATCH_FOLDERS
from tests.cli.command import Neardup, write
from tests.cli.written import changed, html, prose

COPIES: dict[str, bytes | str] = {"docs/a.html": html(prose(1)), "docs/b.html": html(prose(2)), "lines.jsonl": ""}


def test_from_documents_to_those_that_are_kept(neardup: Neardup) -> None:
    lines = [{"id": "near", "text": f"{prose(1)}."}, {"id": "own", "text": prose(9), "lang": "en"}]
    write(neardup.folder, {**COPIES, "lines.jsonl": "".join(json.dumps(line) + "\n" for line in lines)})
    made = neardup("batch", "sketch", "docs", "lines.jsonl", "--out", "batch", "--json").json
    assert (made["files"], made["documents"], made["failed"]) == (2, 4, {})
    again = neardup("batch", "sketch", "docs", "lines.jsonl", "--out", "batch").out
    assert "2 done before" in again
    said = neardup("batch", "cluster", "batch", "--out", "batch", "--json").json
    assert (said["documents"], said["clusters"], said["clustered"]) == (4, 1, 2)
    neardup("index", "docs", "lines.jsonl")
    stored = neardup("cluster", "--json").json
    names = ("rule", "documents", "compared", "clusters", "clustered", "largest", "split", "comparisons")
    assert [said[name] for name in names] == [stored[name] for name in names]
    assert "1, the largest of 2" in neardup("batch", "report", "batch").out
    assert neardup("batch", "report", "batch", "--json").json["could_go"] == 1
    kept = neardup("batch", "filter", "docs", "lines.jsonl", "--clusters", "batch", "--out", "kept", "--json").json
    assert (kept["kept"], kept["removed"]) == (3, 1)
    [removed] = pq.read_table(neardup.folder / "kept.removed.parquet").to_pylist()
    # The page has its navigation beside the text, and the line has nothing there.
    assert [removed[name] for name in ("id", "duplicate_of", "relation")] == ["near", "docs/a.html", "reflowed"]
    # Of the cluster one document is in docs/, the other beside it; the other three documents are alone.
    assert neardup("batch", "report", "batch", "--json").json["spanning"] == 1
    origins = ("--clusters", "batch", "--min-origins", "2", "--singletons", "drop")
    known = neardup("batch", "filter", "docs", "lines.jsonl", *origins, "--out", "known", "--json").json
    names = ("kept", "removed", "few_origins", "singletons")
    assert [known[name] for name in names] == [1, 1, 0, 2]
    deduped = ("batch", "dedupe", "docs", "lines.jsonl", "--min-origins", "3")
    few = neardup(*deduped, "--out", "few", "--json").json
    assert [few[name] for name in ("documents", *names)] == [4, 2, 0, 2, 0]
    assert "2 of clusters from fewer than 3 origins" in neardup(*deduped, "--out", "again").out


def test_listed_files_are_deduplicated_to_where_their_paths_say(neardup: Neardup) -> None:
    lines = "".join(json.dumps({"id": str(n), "text": prose(n)}) + "\n" for n in (2, 7))
    write(
        neardup.folder,
        {"a/x.html": html(prose(1)), "b/x.html": html(prose(3)), "b/y.html": html(prose(1)), "l.jsonl": lines},
    )
    deduped = ("batch", "dedupe", "--paths-from", "-", "--out")
    listed = f"a/x.html\0b/x.html\0{neardup.folder / 'b/y.html'}\0l.jsonl".encode()
    said = neardup(*deduped, "kept", "--json", stdin=listed).json
    assert (said["files"], said["documents"], said["kept"], said["removed"]) == (4, 5, 4, 1)
    kept = neardup.folder / "kept"
    assert {path.relative_to(kept).as_posix() for path in kept.rglob("*.*")} == {"a/x.html", "b/x.html", "l.jsonl"}
    assert (kept / "l.jsonl").read_text() == lines
    # As for files that are named, nothing is written of a list with what is not there, or into what is read.
    assert "missing" in neardup(*deduped, "no", stdin=b"missing\0l.jsonl", code=2).err
    assert "lies inside" in neardup(*deduped, "a/no", stdin=b"a\0l.jsonl", code=2).err
    # A path that leads out of the folder is written inside of it.
    neardup(*deduped, "up", stdin=f"a/../../{neardup.folder.name}/b/y.html".encode())
    [written] = (neardup.folder / "up").rglob("*.html")
    assert written.name == "y.html"
    assert not [*neardup.folder.rglob("no*")]


def test_what_was_loaded_goes_on_as_a_store(neardup: Neardup) -> None:
    lines = [{"id": "near", "text": changed(prose(1), 3)}, {"id": "own", "text": prose(9)}, {"id": "none"}]
    write(neardup.folder, {**COPIES, "lines.jsonl": "".join(json.dumps(line) + "\n" for line in lines)})
    neardup("batch", "sketch", "docs", "lines.jsonl", "--out", "batch")
    neardup("batch", "cluster", "batch", "--out", "clustered")
    dry = neardup("batch", "load", "batch", "--clusters", "clustered", "--dry-run", "--json").json
    done = neardup("batch", "load", "batch", "--clusters", "clustered", "--json").json
    assert (dry["dry_run"], dry["created"], done["created"]) == (True, 4, 4)
    assert (done["documents"], done["failed"], done["missing"], done["others"]) == (5, {"malformed": 1}, 0, 0)
    assert done["written"] == {"documents": 2, "clusters": 1, "removed": 0}
    assert done["rule"] == neardup("cluster", "--canonical", "longest", "--dry-run", "--json").json["rule"]
    [repeating] = neardup("prune", "--dry-run", "--json").lines
    assert repeating["id"] in {"near", "docs/a.html"}
    assert [line["id"] for line in neardup("failures", "--json").lines] == ["lines.jsonl:3"]
    said = neardup("batch", "load", "batch", "--clusters", "clustered").out
    assert "unchanged" in said
    assert neardup("index", "docs", "lines.jsonl", "--json").json["unchanged"] == 4


def test_tasks_share_the_files(neardup: Neardup) -> None:
    write(neardup.folder, {f"{n}.jsonl": json.dumps({"id": str(n), "text": prose(n)}) for n in range(5)})
    files = [
        neardup("batch", "sketch", "*.jsonl", "--out", "b", "--task", f"{task}/3", "--json").json["files"]
        for task in (1, 2, 3)
    ]
    assert (sorted(files), sum(files)) == ([1, 2, 2], 5)
    assert neardup("batch", "cluster", "b", "--out", "b", "--json").json["documents"] == 5
    for wrong in ("4/3", "0/3", "x"):
        assert "third of eight" in neardup("batch", "sketch", "*.jsonl", "--out", "b", "--task", wrong, code=2).err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("sketch", "--out", "b"), 2, "name at least one"),
        (("sketch", "-", "--out", "b"), 2, "neardup index reads standard input"),
        (("sketch", "nothing.jsonl", "--out", "b"), 5, "nothing.jsonl"),
        (("cluster", "b", "--out", "b"), 3, "neardup batch sketch"),
        (("report", "b"), 3, "neardup batch cluster"),
        (("filter", "docs", "--clusters", "b", "--out", "k"), 3, "neardup batch cluster"),
        (("filter", "docs", "--clusters", "b", "--out", "k", "--singletons", "drop"), 2, "goes with --min-origins"),
        (("dedupe", "docs", "--out", "k", "--min-origins", "1"), 2, "2<=x<=100"),
        (("load", "b"), 3, "neardup batch sketch"),
        (("load", "b", "--routing-column", "shard"), 2, "search engine"),
    ],
)
def test_what_is_wrong_is_said(neardup: Neardup, words: tuple[str, ...], code: int, said: str) -> None:
    write(neardup.folder, COPIES)
    assert said in neardup("batch", *words, code=code).err


def test_a_document_that_fails_is_counted_and_strict_says_so(neardup: Neardup) -> None:
    write(neardup.folder, {**COPIES, "docs/broken.pdf": b"%PDF-1.4 broken"})
    assert "malformed" in neardup("batch", "sketch", "docs", "--out", "b").out
    write(neardup.folder, {"docs/c.html": html(prose(3))})
    for files in (1, 0):
        done = neardup("batch", "sketch", "docs", "--out", "b", "--strict", "--json", code=6).json
        assert (done["files"], done["documents"], done["failed"]) == (files, 4, {"malformed": 1})


def test_a_resumed_dedupe_says_the_whole_and_strict_says_so(neardup: Neardup) -> None:
    write(neardup.folder, {**COPIES, "docs/broken.pdf": b"%PDF-1.4 broken", "docs/empty.txt": ""})
    asked = ("batch", "dedupe", "docs", "--out", "kept", "--json")
    first = neardup(*asked).json
    assert (first["failed"], first["empty"]) == ({"malformed": 1}, 1)
    shutil.rmtree(neardup.folder / "kept")
    again = neardup(*asked, "--strict", code=6).json
    assert {**again, "seconds": 0, "reading_seconds": 0} == {**first, "seconds": 0, "reading_seconds": 0}


def test_without_pyarrow_the_extra_is_named(neardup: Neardup) -> None:
    missing = "raise ModuleNotFoundError(\"No module named 'pyarrow'\", name='pyarrow')"
    write(neardup.folder, {**COPIES, "hidden/pyarrow/__init__.py": missing})
    environment = {"PYTHONPATH": str(neardup.folder / "hidden")}
    for words in (("sketch", "docs", "--out", "b"), ("report", "b")):
        assert "neardup[parquet]" in neardup("batch", *words, code=2, **environment).err
    assert "neardup batch sketch" in neardup("batch", "--help", **environment).out


def test_what_spark_has_no_part_in_is_refused(neardup: Neardup) -> None:
    write(neardup.folder, {"a.jsonl": json.dumps({"id": "a", "text": prose(1)})})
    made = ("batch", "sketch", "a.jsonl", "--out", "b")
    assert "--master goes with --run-on spark" in neardup(*made, "--master", "local", code=2).err
    assert "has tasks of its own" in neardup(*made, "--run-on", "spark", "--task", "1/2", code=2).err
    neardup(*made)
    for option in ("--partitions", "--most-joined", "--most-grouped"):
        printed = neardup("batch", "cluster", "b", "--out", "b", option, "3", code=2).err
        assert f"{option} goes with --run-on spark" in printed
    write(neardup.folder, {"hidden/pyspark/__init__.py": "raise ModuleNotFoundError('no', name='pyspark')"})
    environment = {"PYTHONPATH": str(neardup.folder / "hidden")}
    printed = neardup("batch", "cluster", "b", "--out", "b", "--run-on", "spark", code=2, **environment).err
    assert "neardup[spark]" in printed


def test_what_a_batch_wrote_is_no_document(neardup: Neardup) -> None:
    """Not its own files, nor those of another one, whatever folder they were moved to."""
    assert BATCH_FOLDERS == (SKETCHES, CLUSTERS, BEFORE)
    write(neardup.folder, {"a.txt": prose(1), "lines.jsonl": json.dumps({"id": "x", "text": prose(2)})})
    for _ in range(2):
        done = neardup("batch", "sketch", ".", "--out", "batch", "--json").json
        neardup("batch", "cluster", "batch", "--out", "batch")
    assert (done["files"], done["done_before"], done["failed"]) == (0, 2, {})
    assert neardup("index", ".", "--json").json["indexed"] == 2
    (neardup.folder / "batch" / "sketches").rename(neardup.folder / "moved")
    done = neardup("index", "moved", "batch", "--json").json
    assert (done["indexed"], done["failed"]) == (0, {"special-file": 2})
    assert "a file of sketches that neardup batch wrote" in neardup("failures").out
    # With texts added they are documents again.
    for path in (neardup.folder / "moved").iterdir():
        table = pq.read_table(path)
        pq.write_table(table.append_column("text", pa.array([prose(3)] * table.num_rows)), path)
    assert neardup("index", "moved", "--json").json["replaced"] == 2


def test_the_list_of_what_was_removed_names_each_file(neardup: Neardup) -> None:
    names = [f"docs/{folder}/{number}.html" for folder in ("deep", "other") for number in range(3)]
    write(neardup.folder, {name: html(prose(1 + place % 2)) for place, name in enumerate(names)})
    neardup("batch", "dedupe", "docs", "--out", "kept", "--id-from", "digest", "--latest")
    listed = pq.read_table(neardup.folder / "kept.removed.parquet").to_pylist()
    kept = {str(path.relative_to(neardup.folder / "kept")) for path in (neardup.folder / "kept").rglob("*.html")}
    assert len(listed) == 4
    assert {row["source"].partition("docs/")[2] for row in listed} == {name[5:] for name in names} - kept


def test_files_that_are_left_out_are_counted(neardup: Neardup) -> None:
    files = {"docs/.hidden.txt": prose(3), "docs/.git/one.txt": prose(4), "docs/style.css": "p {}"}
    write(neardup.folder, {**COPIES, **files, "none/style.css": "p {}"})
    assert neardup("batch", "sketch", "docs", "--out", "batch", "--json").json["left_out"] == 3
    assert "3 files by name or kind of file; --include" in neardup("batch", "sketch", "docs", "--out", "batch").out
    neardup("batch", "cluster", "batch", "--out", "batch")
    filtering = ("batch", "filter", "docs", "--clusters", "batch", "--out")
    assert neardup(*filtering, "kept", "--json").json["left_out"] == 3
    assert "left out  3 files by name or kind of file" in neardup(*filtering, "more").out
    assert neardup("batch", "dedupe", "docs", "--out", "deduped", "--hidden", "--json").json["left_out"] == 1
    assert "left out  3 files" in neardup("batch", "dedupe", "docs", "--out", "again").out
    assert (
        "none: no file to read; 1 file left out by name" in neardup("batch", "dedupe", "none", "--out", "n", code=2).err
    )


def test_passages_are_cut_from_what_is_kept(neardup: Neardup) -> None:
    """A near-duplicate is removed first; so what only it had before the others stays in one of these."""
    shared, release = prose(1, 90), prose(2, 200)
    rows = [
        {"id": "a", "text": f"{shared} {release}"},
        # Near the first one, which is kept.
        {"id": "b", "text": f"{shared} {release}."},
        {"id": "c", "text": f"{prose(3, 200)} {shared}"},
        {"id": "d", "text": f"{shared} few words"},
    ]
    write(neardup.folder, {"lines.jsonl": "".join(json.dumps(row) + "\n" for row in rows), "one.txt": prose(9, 80)})
    neardup("batch", "sketch", "lines.jsonl", "one.txt", "--out", "b")
    neardup("batch", "cluster", "b", "--out", "b")
    filtering = ("batch", "filter", "lines.jsonl", "--clusters", "b")
    found = neardup(*filtering, "--out", "seen", "--passages", "report", "--json").json
    assert (found["kept"], found["removed"]) == (3, 1)
    repeated = found["repeated"]
    assert (repeated["documents"], repeated["cut_documents"], repeated["cut_words"]) == (3, 2, 180)
    assert (repeated["out"], repeated["passages_list"]) == (None, None)
    whole = neardup(*filtering, "--out", "whole", "--json").json
    assert whole["repeated"] is None
    assert (neardup.folder / "seen/lines.jsonl").read_bytes() == (neardup.folder / "whole/lines.jsonl").read_bytes()
    done = neardup(*filtering, "--out", "kept", "--passages", "cut", "--least-left", "5", "--json").json["repeated"]
    assert (done["cut_words"], done["dropped"], done["passages_list"]) == (180, 1, "kept.passages.parquet")
    left = [json.loads(line) for line in (neardup.folder / "kept/lines.jsonl").read_text().splitlines()]
    assert left == [rows[0], {"id": "c", "text": prose(3, 200)}]
    cuts = pq.read_table(neardup.folder / "kept.passages.parquet").to_pylist()
    assert [(cut["source"], cut["id"], cut["stands_in"]) for cut in cuts] == [
        ("kept/lines.jsonl", "c", "a"),
        ("kept/lines.jsonl", "d", "a"),
    ]
    assert sorted(path.name for path in neardup.folder.glob("kept*")) == [
        "kept", "kept.passages.parquet", "kept.removed.parquet",
    ]  # fmt: skip
    shown = neardup(*filtering, "--out", "shown", "--passages", "report").out
    assert "would cut  180 words (" in shown
    single = ("batch", "filter", "one.txt", "--clusters", "b", "--out", "single", "--passages", "cut")
    assert "say --texts" in neardup(*single, code=2).err
    assert neardup(*single, "--texts").out
    assert "--words goes with --passages" in neardup(*filtering, "--out", "x", "--words", "9", code=2).err
    assert "does nothing with --tag" in neardup(*filtering, "--out", "x", "--tag", "--passages", "cut", code=2).err


def test_memory_that_is_freed_is_given_back(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a", "b"], "text": [prose(1), prose(2)]}), tmp_path / "texts.parquet")
    program = (
        "from indexer import cli; cli.main(['batch', 'passages', 'texts.parquet']); "
        "import pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    )
    for given, said in (({}, "system"), ({"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}, "mimalloc")):
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, **given}, capture_output=True, check=True
        )
        assert done.stdout.decode().splitlines()[-1] == said
