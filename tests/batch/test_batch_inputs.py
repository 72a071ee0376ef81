"""Inputs that are gone, changed or out of sight: sketches of them don't count unseen, and no text is lost by them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from indexer.batch.clusters.clustering import ClusteringOptions, cluster
from indexer.batch.copying import Output
from indexer.batch.filtering import keep, removed_file
from indexer.batch.form import Form
from indexer.batch.loading import Batch
from indexer.batch.reading import rule_of
from indexer.batch.sketches import parts
from indexer.clustering.verdicts import Permitted
from indexer.errors import UsageError
from indexer.model import own_files
from tests.batch.batched import LONGEST, MINHASH, clusters_in, sketched

FORM = Form((MINHASH,))
TEXTS = [" ".join(f"word{number}x{place}" for place in range(60)) for number in range(40)]


def lines(path: Path, texts: Sequence[str], name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"id": f"{name}{n}", "text": text}) + "\n" for n, text in enumerate(texts)))
    return path


def clustered(out: Path, **more: Any) -> dict[str, Any]:
    # What says less may go for what says more.
    asked = {"permitted": Permitted.named("identical,reflowed,noise,edited"), "threads": 1, **more}
    return cluster(str(out), str(out), ClusteringOptions(rule_of(FORM, None), LONGEST, **asked))


def crawl(folder: Path) -> Path:
    """Two files, of which the second has texts of the first with a sentence more, sketched and clustered."""
    lines(folder / "crawl" / "a.jsonl", TEXTS, "a")
    lines(folder / "crawl" / "z.jsonl", [f"{text}. And more." for text in TEXTS[:25]], "z")
    sketched(folder / "crawl", folder / "batch", FORM)
    clustered(folder / "batch")
    return folder / "crawl"


def texts_in(folder: Path) -> list[str]:
    found = [json.loads(line)["text"] for path in folder.rglob("*.jsonl") for line in path.read_text().splitlines()]
    return sorted(text.removesuffix(". And more.") for text in found)


@pytest.mark.parametrize("how", ["renamed", "deleted", "deleted with its folder"])
def test_an_input_that_is_gone_is_forgotten_and_nothing_is_lost(how: str, tmp_path: Path) -> None:
    given, batch = crawl(tmp_path), tmp_path / "batch"
    if how == "deleted with its folder":
        (given / "deep").mkdir()
        (given / "z.jsonl").rename(given / "deep" / "z.jsonl")
        assert sketched(given, batch, FORM).forgotten == [str(given / "z.jsonl")]
        clustered(batch)
        shutil.rmtree(given / "deep")
    elif how == "renamed":
        (given / "z.jsonl").rename(given / "b.jsonl")
    else:
        (given / "z.jsonl").unlink()
    with pytest.raises(UsageError, match=r"z\.jsonl \(gone\)"):
        clustered(batch)
    assert len(sketched(given, batch, FORM).forgotten) == 1
    clustered(batch)
    keep([str(given)], str(batch), Output(str(tmp_path / "kept")))
    assert set(texts_in(tmp_path / "kept")) == set(texts_in(given)) == set(TEXTS)


def test_clusters_and_stores_refuse_what_is_gone_or_another_unless_told(tmp_path: Path) -> None:
    given, batch = crawl(tmp_path), tmp_path / "batch"
    for name in ("one.txt", "two.txt"):
        (given / name).write_text(f"{name} {TEXTS[0]}")
    sketched(given, batch, FORM)
    first = clustered(batch)
    assert first["unseen"] == first["stale"] == []
    (given / "one.txt").unlink()
    lines(given / "z.jsonl", TEXTS, "z")
    for refused in (lambda: clustered(batch), lambda: Batch.of(str(batch))):
        with pytest.raises(UsageError, match=r"2 inputs .*crawl#0000 \(changed\).*z\.jsonl \(changed\)|2 inputs .*"):
            refused()
    assert len(Batch.of(str(batch), stale="keep").sketched) == first["documents"]
    kept = clustered(batch, stale="keep")
    assert kept["documents"] == first["documents"]
    assert sorted(kept["stale"]) == [f"{given}#0000", str(given / "z.jsonl")]
    said = clustered(batch, stale="forget")
    assert (said["documents"], said["stale"]) == (40, [])
    assert {path.name[0] for path in (batch / "clusters").iterdir()} == {"a"}


def test_what_cannot_be_seen_is_not_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, batch = crawl(tmp_path), tmp_path / "batch"
    gone = str(given / "z.jsonl")
    (given / "z.jsonl").unlink()
    with monkeypatch.context() as patch:
        # As where it was sketched on another machine.
        patch.setattr(own_files, "machine", lambda: "elsewhere")
        assert sketched(given, batch, FORM).forgotten == []
        # By its text nothing would go for what can't be read.
        assert clustered(batch, permitted=None)["unseen"] == [gone]
        with pytest.raises(UsageError, match=r"z\.jsonl: 'z\d+' of it"):
            keep([str(given)], str(batch), Output(str(tmp_path / "kept")))
    with monkeypatch.context() as patch:
        # As where the file system that had it is not mounted, and its folder there is empty.
        patch.setattr(parts, "seen_from", lambda folder: f"{own_files.machine()}:-1")
        assert sketched(given, batch, FORM).forgotten == []
        assert clustered(batch)["unseen"] == [gone]
    assert sketched(tmp_path / "crawl" / "a.jsonl", batch, FORM).forgotten == []
    assert sketched(given, batch, FORM).forgotten == [gone]


def test_older_batches_count_on_and_are_named(tmp_path: Path) -> None:
    given, batch, june = crawl(tmp_path), tmp_path / "batch", tmp_path / "june"
    new = lines(tmp_path / "new" / "n.jsonl", TEXTS, "n")
    (given / "a.jsonl").unlink()
    sketched(new, june, FORM)
    said = clustered(june, against=str(batch))
    assert said["unseen"] == [str(given / "a.jsonl")]
    with pytest.raises(UsageError, match=r"[az]\.jsonl: .* --against"):
        keep([str(new)], str(june), Output(str(tmp_path / "kept")))
    keep([str(new)], str(june), Output(str(tmp_path / "kept")), against=[str(batch)])
    gone = pq.read_table(removed_file(str(tmp_path / "kept"))).to_pylist()
    assert len(gone) >= 25
    found = clusters_in(june)
    assert all(row["id"] in found for row in gone)


def test_nothing_is_removed_for_what_is_not_copied_with_it(tmp_path: Path) -> None:
    given, batch = crawl(tmp_path), tmp_path / "batch"
    with pytest.raises(UsageError, match=r"z\.jsonl: 'z\d+' of it"):
        keep([str(given / "a.jsonl")], str(batch), Output(str(tmp_path / "kept")))
    assert not (tmp_path / "kept").exists()
    # A later document of the same id, too.
    lines(given / "b.jsonl", TEXTS[:3], "a")
    sketched(given, batch, FORM)
    clustered(batch)
    (given / "b.jsonl").write_text((given / "b.jsonl").read_text() + "\n")
    with pytest.raises(UsageError, match="would not be kept"):
        keep([str(given / "a.jsonl"), str(given / "z.jsonl")], str(batch), Output(str(tmp_path / "kept")))
    # Who says that the rest is kept elsewhere can copy each file by itself.
    done = keep([str(given / "a.jsonl")], str(batch), Output(str(tmp_path / "kept")), against=[str(batch)])
    assert done.removed + done.replaced >= 25


@pytest.mark.parametrize("size", [0, 70 << 20])
def test_a_change_that_keeps_size_and_time_is_seen(size: int, tmp_path: Path) -> None:
    path, batch, out = tmp_path / "a.jsonl", tmp_path / "batch", Output(str(tmp_path / "kept"))
    lines(path, TEXTS[:3], "a")
    with path.open("ab") as file:
        file.truncate(path.stat().st_size + size)
    sketched(path, batch, FORM)
    clustered(batch)
    before, given = path.stat(), path.read_bytes()
    path.write_bytes(given.replace(b'"id": "a0"', b'"id": "b0"'))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    with pytest.raises(UsageError, match="has changed since it was sketched"):
        keep([str(path)], str(batch), out)
    # What was only written again is the same.
    path.write_bytes(given)
    if not size:
        assert keep([str(path)], str(batch), out).kept == 3
