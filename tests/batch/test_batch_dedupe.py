"""One command from files to files: what is kept of each kind of input, what is tagged, and what is refused at once."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indexer.batch.filtering import removed_file
from indexer.errors import UsageError
from indexer.library.batch_options import BatchJudging, BatchOutput
from indexer.library.batches import batch_folder, dedupe
from indexer.library.options import ClusterOptions
from tests.batch.inputs import ORIGINALS, TEXTS, as_files, as_gzip, as_parquet, as_warc, page
from tests.extract.made_pdf import make_pdf

EDITED: Any = {
    "clustering": ClusterOptions(canonical="longest"),
    "judging": BatchJudging(remove="identical,reflowed,noise,edited"),
}
KEPT = sorted([*ORIGINALS[4:], *TEXTS[6:]])


def as_jsonl(folder: Path) -> None:
    (folder / "a.jsonl").write_text("".join(json.dumps({"id": str(n), "text": t}) + "\n" for n, t in enumerate(TEXTS)))


def as_csv(folder: Path) -> None:
    (folder / "a.csv").write_text("id,text\n" + "".join(f"{n},{text}\n" for n, text in enumerate(TEXTS)))


def as_zip(folder: Path) -> None:
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        for number, text in enumerate(TEXTS):
            archive.writestr(f"deep/{number}.html", page(text))


def as_tar(folder: Path) -> None:
    with tarfile.open(folder / "a.tar.gz", "w:gz") as archive:
        for number, text in enumerate(TEXTS):
            info = tarfile.TarInfo(f"{number}.txt")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))


def rows_in(out: Path) -> list[dict[str, Any]]:
    """The documents of an output of tables and lines."""
    rows = [row for path in out.rglob("*.parquet") for row in pq.read_table(path).to_pylist()]
    for path in out.rglob("*.jsonl*"):
        data = path.read_bytes()
        lines = (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines()
        rows += [json.loads(line) for line in lines]
    return rows


def texts_in(rows: Sequence[dict[str, Any]]) -> list[str]:
    return sorted(row["text"].strip() for row in rows)


@pytest.mark.parametrize("write", [as_jsonl, as_gzip, as_parquet, as_csv, as_warc, as_zip, as_tar, as_files])
def test_what_is_kept_of_each_kind_of_input(write: Callable[[Path], None], tmp_path: Path) -> None:
    given, out = tmp_path / "in", tmp_path / "kept"
    given.mkdir()
    write(given)
    done = dedupe([str(given)], BatchOutput(str(out), texts=True), **EDITED)
    assert texts_in(rows_in(out)) == KEPT
    assert (done.kept, done.removed) == (6, 4)
    assert set(done.seconds) == {"sketch", "cluster", "filter"}
    listed = pq.read_table(removed_file(str(out))).to_pylist()
    ids = {row["id"] for row in rows_in(out)}
    assert {row["duplicate_of"] for row in listed} <= ids
    assert len(listed) == 4
    # All of it, with what was decided.
    tagged = dedupe([str(given)], BatchOutput(str(tmp_path / "tagged"), tag=True), **EDITED)
    assert tagged.kept == 6
    rows = rows_in(tmp_path / "tagged")
    assert texts_in(rows) == sorted(TEXTS)
    assert texts_in([row for row in rows if row["neardup_keep"]]) == KEPT
    for row in rows:
        assert (row["neardup_duplicate_of"] is None) == row["neardup_keep"]
        assert row["neardup_keep"] or row["neardup_duplicate_of"] in ids
        assert row["neardup_cluster"]


def test_single_files_are_copied_unless_their_texts_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    as_files(tmp_path / "in")
    dedupe([str(tmp_path / "in")], BatchOutput(str(tmp_path / "kept")), **EDITED)
    names = sorted(path.relative_to(tmp_path / "kept").as_posix() for path in (tmp_path / "kept").rglob("*.html"))
    assert names == ["even/5.html", "even/7.html", "even/9.html", "odd/4.html", "odd/6.html", "odd/8.html"]
    assert (tmp_path / "kept" / names[0]).read_bytes() == (tmp_path / "in" / names[0]).read_bytes()


def test_lines_that_are_no_documents_and_columns_stay_as_they_are(tmp_path: Path) -> None:
    as_jsonl(tmp_path)
    path = tmp_path / "a.jsonl"
    path.write_text("{broken\n\n[1]\n{}\n" + path.read_text().replace('"id": ', '"n":1e3,  "id": '))
    dedupe([str(path)], BatchOutput(str(tmp_path / "tagged"), tag=True))
    lines = (tmp_path / "tagged" / "a.jsonl").read_text().splitlines()
    assert lines[:3] == ["{broken", "", "[1]"]
    assert all('"n":1e3,  "id": ' in line for line in lines[4:])
    assert json.loads(lines[3])["neardup_keep"] is True
    with pytest.raises(UsageError, match="line 4: a member neardup_"):
        dedupe([str(tmp_path / "tagged" / "a.jsonl")], BatchOutput(str(tmp_path / "again"), tag=True))
    failing = dedupe([str(path)], BatchOutput(str(tmp_path / "kept")))
    assert failing.failures == 3
    assert (tmp_path / "kept" / "a.jsonl").read_text().startswith("{broken\n\n[1]\n{}\n")


def test_it_goes_on_with_what_is_there_and_an_older_run_counts(tmp_path: Path) -> None:
    (tmp_path / "may").mkdir()
    (tmp_path / "june").mkdir()
    as_jsonl(tmp_path / "may")
    may, june = str(tmp_path / "may-kept"), str(tmp_path / "june-kept")
    first = dedupe([str(tmp_path / "may")], BatchOutput(may))
    assert first.batch == batch_folder(may)
    with pytest.raises(UsageError, match="is not empty"):
        dedupe([str(tmp_path / "may")], BatchOutput(may))
    new = [f"{ORIGINALS[5]}.", " ".join(f"other{place}" for place in range(60))]
    pq.write_table(pa.table({"id": ["x", "y"], "text": new}), tmp_path / "june" / "b.parquet")
    done = dedupe([str(tmp_path / "june")], BatchOutput(june), against=first.batch)
    assert [row["id"] for row in rows_in(tmp_path / "june-kept")] == ["y"]
    assert done.removed == 1


def test_what_cannot_be_done_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    as_parquet(tmp_path)
    given = tmp_path / "a.parquet"
    pq.write_table(pq.read_table(given).append_column("neardup_keep", [[True] * len(TEXTS)]), given)
    out = str(tmp_path / "kept")
    with pytest.raises(UsageError, match="a column neardup_keep"):
        dedupe([str(given)], BatchOutput(out, tag=True))
    with pytest.raises(UsageError, match="--unverified"):
        dedupe([str(given)], BatchOutput(out), match="simhash-doc@3bits", judging=BatchJudging("sketch"))
    (tmp_path / "empty.parquet").touch()
    with pytest.raises(UsageError, match=r"empty\.parquet: can't be tagged"):
        dedupe([str(tmp_path / "empty.parquet")], BatchOutput(out, tag=True))
    (tmp_path / "empty.parquet").unlink()
    with pytest.raises(UsageError, match="lies inside"):
        dedupe([str(tmp_path)], BatchOutput(out))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet"]


SHORT = {
    "a": "Thank you", "b": "thank  YOU", "c": "thank you all", "d": "you thank", "e": "", "f": "", "g": "!",
    "h": "one two three four five six seven", "i": "One two three four five six seven",
    "j": "12 17 4\n3,5 8 -2", "k": "12  17 4\n3,5 8 -2\n", "l": "12 17 4\n3,5 8 2",
}  # fmt: skip


def test_equal_texts_go_however_short_also_without_words(tmp_path: Path) -> None:
    given = tmp_path / "in"
    given.mkdir()
    for number, names in enumerate(("abcdefg", "hijkl")):
        pq.write_table(
            pa.table({"id": list(names), "text": [SHORT[name] for name in names]}), given / f"{number}.parquet"
        )
    done = dedupe([str(given)], BatchOutput(str(tmp_path / "kept")))
    assert sorted(row["id"] for row in rows_in(tmp_path / "kept")) == list("acdefghjl")
    gone = pq.read_table(removed_file(str(tmp_path / "kept"))).to_pylist()
    assert [(row["id"], row["duplicate_of"], row["relation"]) for row in gone] == [
        ("b", "a", "identical"),
        ("i", "h", "identical"),
        ("k", "j", "identical"),
    ]
    assert (done.short, done.empty) == (6, 6)
    filtering = ("filter", str(given), "--clusters", str(tmp_path / "kept.batch"), "--out", str(tmp_path / "filtered"))
    for command in (("dedupe", str(given), "--out", str(tmp_path / "again")), filtering):
        run = [sys.executable, "-m", "indexer", "batch", *command]
        said = subprocess.run(run, capture_output=True, text=True, check=True).stdout
        assert "not compared  6 too short, 6 without words; of equal ones one is kept" in said, command[0]


def test_of_files_without_any_text_equal_bytes_go(tmp_path: Path) -> None:
    given, scan = tmp_path / "in", make_pdf([[]], numbered=False)
    given.mkdir()
    for name, data in {"a.pdf": scan, "b.pdf": scan, "c.pdf": make_pdf([[], []], numbered=False)}.items():
        (given / name).write_bytes(data)
    for name in ("e.txt", "f.txt"):
        (given / name).touch()
    done = dedupe([str(given)], BatchOutput(str(tmp_path / "kept")))
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["a.pdf", "c.pdf", "e.txt", "f.txt"]
    assert done.relations == {"identical": 1}
