"""What a batch removes by the texts: copies, and not one form; and what it says of the others."""

from __future__ import annotations

import gzip
import json
import random
import re
import tarfile
from collections import Counter
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indexer.batch.clusters.clustering import ClusteringOptions, cluster
from indexer.batch.filtering import removed_file
from indexer.batch.form import Form
from indexer.batch.reading import rule_of
from indexer.cli import main
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.verdicts import Permitted
from indexer.library.batch_options import BatchOutput
from indexer.library.batches import batch_folder, dedupe
from indexer.relations.relation import COPIES as SAME
from indexer.text.words import words_of
from tests.batch.batched import LONGEST, MINHASH, sketched
from tests.batch.choices import EARLIEST
from tests.relations.edits import added, misread, mistyped, reworded
from tests.relations.filled import COPIES, forms
from tests.relations.reprints import story

FORMS = forms(60)
_DRAW = random.Random(9)
COPIED = _DRAW.sample(range(len(FORMS)), 12)
TEXTS = {f"form{place:02}": text for place, text in enumerate(FORMS)} | {
    f"z-copy{place:02}": _DRAW.choice(COPIES)(FORMS[place], _DRAW) for place in COPIED
}
FORM = Form((MINHASH,))
LESS = Permitted.named("identical,reflowed,noise,edited")


def as_jsonl(folder: Path, texts: dict[str, str]) -> None:
    lines = [json.dumps({"id": name, "text": text}) for name, text in texts.items()]
    (folder / "a.jsonl").write_text("\n".join(lines[::2]))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(lines[1::2]).encode()))


def as_parquet(folder: Path, texts: dict[str, str]) -> None:
    rows = [{"id": name, "text": text} for name, text in texts.items()]
    # Some need more than the core, and some are no documents.
    rows.insert(3, {"id": "none", "text": None})
    rows[5] = {"id": rows[5]["id"], "text": f"{rows[5]['text']}\x01"}
    pq.write_table(pa.Table.from_pylist(rows), folder / "a.parquet", row_group_size=16)


def as_files(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = folder / ("even" if len(text) % 2 else "odd") / f"{name}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def as_tar(folder: Path, texts: dict[str, str]) -> None:
    with tarfile.open(folder / "a.tar.gz", "w:gz") as archive:
        for name, text in texts.items():
            info = tarfile.TarInfo(f"{name}.txt")
            info.size = len(text.encode())
            archive.addfile(info, BytesIO(text.encode()))


def clusters_in(out: Path) -> dict[str, dict[str, Any]]:
    rows = (row for path in sorted(out.glob("clusters/*")) for row in pq.read_table(path).to_pylist())
    return {Path(row["id"]).stem: row for row in rows}


def clustered(given: Path, out: Path, **more: Any) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    sketched(given, out, FORM)
    wanted = ClusteringOptions(rule_of(FORM, None), more.pop("canonical", EARLIEST), threads=1, **more)
    return cluster(str(out), str(out), wanted), clusters_in(out)


def written(folder: Path, texts: dict[str, str]) -> Path:
    folder.mkdir(parents=True)
    as_jsonl(folder, texts)
    return folder


@pytest.mark.parametrize("write", [as_jsonl, as_parquet, as_files, as_tar])
def test_copies_go_and_not_one_form_whatever_they_stand_in(
    write: Callable[[Path, dict[str, str]], None], tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in", TEXTS)
    said, rows = clustered(tmp_path / "in", tmp_path / "out", parts=3)
    pairs = {name: row["duplicate_of"] for name, row in rows.items() if row["duplicate_of"]}
    assert len(pairs) == said["removed"] == len(COPIED)
    for one, other in pairs.items():
        # Which of both stays is a matter of their order.
        assert {one[-2:]} == {Path(other).stem[-2:]}
        assert {one[:4], Path(other).stem[:4]} == {"form", "z-co"}
        assert rows[one]["relation"] in SAME[:2]
        assert rows[one]["near_to"]
    near = [row for row in rows.values() if row["near_to"] and row["keep"]]
    assert said["stays"] == Counter(row["stays_for"] for row in near)
    assert said["relations"] == Counter(row["relation"] for row in rows.values() if not row["keep"])
    # Sketches alone would lose these.
    assert len(near) > 20
    assert {row["relation"] for row in near} == {"form"}
    assert all("fact" in row["evidence"] for row in near)


def test_what_is_asked_for_goes_too(tmp_path: Path) -> None:
    given, out = written(tmp_path / "in", TEXTS), tmp_path / "out"
    usual, _ = clustered(given, out)
    by_sketch, rows = clustered(given, out, permitted=None)
    assert by_sketch["removed"] > usual["removed"] + 20
    assert by_sketch["verify"] == "sketch"
    assert all(row["duplicate_of"] == row["near_to"] and row["relation"] is None for row in rows.values())
    with_forms, rows = clustered(given, out, permitted=Permitted.named("identical,reflowed,noise,form"))
    assert with_forms["removed"] > usual["removed"] + 20
    assert with_forms["relations"]["form"] > 20
    assert "facts differ (forms)" not in with_forms["stays"]


@pytest.mark.parametrize("canonical", [EARLIEST, LONGEST], ids=str)
def test_what_goes_lacks_no_words_in_what_stays(canonical: CanonicalRule, tmp_path: Path) -> None:
    draw, texts = random.Random(5), dict[str, str]()
    pages = [" ".join(draw.sample(FORMS[place::10], 3)) for place in range(10)]
    for number, page in enumerate(pages):
        texts[f"p{number}"] = page
        for change in (added, misread, mistyped, reworded):
            texts[f"p{number}-{change.__name__}"] = change(page, draw)
        kept = page.split()
        texts[f"p{number}-half"] = " ".join(kept[: round(len(kept) * draw.uniform(0.7, 0.99))])
    said, rows = clustered(written(tmp_path / "in", texts), tmp_path / "out", canonical=canonical)
    gone = {name: row["duplicate_of"] for name, row in rows.items() if not row["keep"]}
    assert len(gone) > 5
    assert said["lost"] == sum(rows[name]["lost"] for name in gone)
    for name, other in gone.items():
        assert rows[other]["keep"]
        own, there = (Counter(words_of(texts[each]).hashes.tolist()) for each in (name, other))
        lacking = sum((own - there).values())
        misread_words = 0.05 * sum(own.values()) if rows[name]["relation"] == "noise" else 0
        assert lacking <= misread_words
    edited, _ = clustered(tmp_path / "in", tmp_path / "out", canonical=canonical, permitted=LESS)
    assert edited["removed"] - said["removed"] >= (1 if canonical is EARLIEST else 0)


def test_of_a_noise_pair_the_cleaner_text_stays(tmp_path: Path) -> None:
    draw, words = random.Random(3), forms(1)[0].lower().split()
    texts = {}
    for number in range(3):
        clean = [word for word in draw.choices(words, k=200) if word.isalpha()]
        dirty = list(clean)
        for place in [place for place, word in enumerate(clean) if len(word) > 7][::9]:
            at = 2 + number
            dirty[place] = f"{clean[place][:at]}{clean[place][at + 1]}{clean[place][at]}{clean[place][at + 2 :]}"
        # What comes first would stay, and yet goes.
        texts |= {f"a{number}": " ".join(dirty), f"b{number}": " ".join(clean), f"c{number}": " ".join(dirty) + "\n"}
    said, rows = clustered(written(tmp_path / "in", texts), tmp_path / "out")
    assert {name: row["duplicate_of"] for name, row in rows.items() if not row["keep"]} == {
        f"{name}{number}": f"b{number}" for number in range(3) for name in "ac"
    }
    assert said["relations"] == {"noise": 6}
    assert rows["b0"]["near_to"] == "a0"
    assert rows["b0"]["stays_for"] == "other documents repeat it and go"


def test_what_could_not_be_read_is_kept_and_said(tmp_path: Path) -> None:
    given, out = written(tmp_path / "in", TEXTS), tmp_path / "out"
    _, before = clustered(given, out)
    (given / "b.jsonl.gz").unlink()
    (given / "a.jsonl").write_text((given / "a.jsonl").read_text().replace("der", "dei"))
    wanted = ClusteringOptions(rule_of(FORM, None), EARLIEST, threads=1, stale="keep")
    said, rows = cluster(str(out), str(out), wanted), clusters_in(out)
    # What is identical needs no text, and some texts can still be read.
    gone = {name for name, row in rows.items() if not row["keep"]}
    assert gone < {name for name, row in before.items() if not row["keep"]}
    assert {rows[name]["relation"] for name in gone} <= {"identical", "reflowed"}
    [(why, count), *_] = sorted(said["stays"].items(), key=lambda one: one[0] != "not verified")
    assert why == "not verified"
    unread = [row for row in rows.values() if row["stays_for"] == why]
    assert len(unread) == count > 10
    assert all(row["evidence"].startswith("not verified: ") for row in unread)


def test_a_copy_of_an_older_form_goes_for_it(tmp_path: Path) -> None:
    older = {name: text for name, text in TEXTS.items() if name.startswith("form")}
    newer = {name: text for name, text in TEXTS.items() if name not in older}
    first, _ = clustered(written(tmp_path / "old", older), tmp_path / "may")
    assert first["removed"] == 0
    said, rows = clustered(written(tmp_path / "new", newer), tmp_path / "june", against=str(tmp_path / "may"))
    assert {name: row["duplicate_of"] for name, row in rows.items()} == {
        f"z-copy{place:02}": f"form{place:02}" for place in COPIED
    }
    assert (said["kept"], said["removed"]) == (0, len(COPIED))
    before = [
        row for path in (tmp_path / "june" / "clusters-before").iterdir() for row in pq.read_table(path).to_pylist()
    ]
    assert len(before) == len(older)
    assert all(row["keep"] for row in before)


def ids_in(out: Path) -> set[str]:
    lines = [path.read_bytes() for path in out.rglob("*.jsonl*")]
    data = [gzip.decompress(each) if each.startswith(b"\x1f\x8b") else each for each in lines]
    return {json.loads(line)["id"] for each in data for line in each.splitlines()}


def test_what_is_written_is_what_the_texts_allow(tmp_path: Path) -> None:
    given = written(tmp_path / "in", TEXTS)
    done = dedupe([str(given)], BatchOutput(str(tmp_path / "kept")))
    listed = pq.read_table(removed_file(str(tmp_path / "kept"))).to_pylist()
    assert ids_in(tmp_path / "kept") == TEXTS.keys() - {row["id"] for row in listed}
    assert len(listed) == done.removed == len(COPIED)
    assert {row["relation"] for row in listed} <= {*SAME[:2]}
    # A simhash alone finds, and the texts decide.
    alone = dedupe([str(given)], BatchOutput(str(tmp_path / "alone")), match="simhash-doc@6bits")
    assert 0 < alone.removed <= len(COPIED)
    assert not [
        row
        for row in clusters_in(Path(batch_folder(str(tmp_path / "alone")))).values()
        if row["relation"] == "form" and not row["keep"]
    ]


def answered(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> Any:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_command_says_how_many_of_each_relation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = str(written(tmp_path / "in", TEXTS))
    said = answered(["batch", "dedupe", given, "--out", str(tmp_path / "kept")], capsys)
    assert sum(said["relations"].values()) == said["removed"] == len(COPIED)
    assert said["stays"]["facts differ (forms)"] > 20
    batch = batch_folder(str(tmp_path / "kept"))
    assert answered(["batch", "report", batch], capsys)["relations"] == said["relations"]
    more = answered(["batch", "cluster", batch, "--out", str(tmp_path / "forms"), "--remove", "form"], capsys)
    assert more["relations"]["form"] > 20
    assert main(["batch", "cluster", batch, "--out", str(tmp_path / "sketch"), "--verify", "sketch"]) == 0
    assert "relations" not in capsys.readouterr().out
    assert main(["batch", "cluster", batch, "--out", str(tmp_path / "text")]) == 0
    told = capsys.readouterr().out
    assert "facts differ (forms)" in told
    assert "read again in" in told
    for path in (tmp_path / "in").iterdir():
        path.unlink()
    assert main(["batch", "cluster", batch, "--out", str(tmp_path / "unread"), "--stale", "keep"]) == 0
    assert "could not be verified, and stay: run it where the files are" in capsys.readouterr().err
    for wrong in (["--verify", "sketch", "--remove", "form"], ["--remove", "part"]):
        assert main(["batch", "cluster", batch, "--out", str(tmp_path / "no"), *wrong]) == 2
    capsys.readouterr()


@pytest.mark.parametrize(("ending", "relations"), [("html", {"rendition"}), ("txt", {"form", "reworded"})])
def test_formats_tell_a_rendition_from_a_changed_text(ending: str, relations: set[str], tmp_path: Path) -> None:
    told = story(3)
    marked = [re.sub(r"\b(\w{6,})\b", r"*\1*", part, count=1) for part in told.paragraphs]
    marked[1] = marked[1].replace(". ", ".[1] ", 1)
    note = "[1]: a note of the editor, who has seen the harbour himself"
    paragraphs = [told.title, *marked, note]
    given = tmp_path / "in"
    given.mkdir()
    (given / "a.txt").write_text("\n\n".join((told.title, *told.paragraphs)))
    page = "".join(f"<p>{each}</p>" for each in paragraphs)
    (given / f"b.{ending}").write_text(
        f"<html><body>{page}</body></html>" if ending == "html" else "\n\n".join(paragraphs)
    )
    said, rows = clustered(given, tmp_path / "out")
    assert {row["relation"] for row in rows.values()} - {None} <= relations
    assert (said["removed"], said["clusters"]) == (0, 1)
