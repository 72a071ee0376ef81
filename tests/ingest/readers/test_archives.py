"""Archives as folders: members by their paths, patterns, readers inside readers, and what hostile archives cost."""

from __future__ import annotations

import io
import json
import random
import tarfile
from pathlib import Path
from typing import Any

import pytest

from indexer.extract.base import Limits, Options
from indexer.ingest.from_store import stored_inputs
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.readers import BadEntry, FileEntry
from indexer.ingest.sources import Input, Rejected, Selection, Sources
from indexer.library.opening import open_store
from indexer.matching.evaluation.documents import read_texts
from tests.ingest.readers.archived import ARCHIVES, entries, tarred, zipped

WORDS = [" ".join(f"w{number}x{place}" for place in range(30)) for number in range(8)]


FILES = {
    "docs/one.html": f"<p>{WORDS[0]}".encode(),
    "./docs/two.txt": WORDS[1].encode(),
    "docs/style.css": b"p {}",
    "docs/.hidden.txt": b"hidden",
    "drafts/three.txt": WORDS[2].encode(),
    "lines.jsonl": "".join(json.dumps({"text": text}) + "\n" for text in WORDS[3:5]).encode(),
    "inner.zip": zipped({"deep.txt": WORDS[5].encode()}),
}


def taken(path: Path, **selection: Any) -> list[str]:
    return [item.id for item in Sources([str(path)], Selection(**{"id_from": "relative", **selection}))]


@pytest.mark.parametrize("name", ARCHIVES)
def test_members_are_files_of_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(ARCHIVES[name](FILES))
    found = Sources([str(tmp_path)], Selection(id_from="relative", exclude=("drafts",)))
    items = list(found)
    inside = ["docs/one.html", "docs/two.txt", "lines.jsonl:1", "lines.jsonl:2", "inner.zip/deep.txt"]
    assert [item.id for item in items] == [f"{name}/{each}" for each in inside]
    assert found.passed_over.total == 3
    assert items[0].source == str(tmp_path / name / "docs/one.html")
    assert taken(tmp_path, include=("*.txt",)) == [
        f"{name}/{each}" for each in ("docs/two.txt", "drafts/three.txt", "inner.zip/deep.txt")
    ]
    assert taken(tmp_path, id_from="stem", include=("one.*",)) == ["one"]
    assert taken(tmp_path, exclude=("a.*",)) == []


@pytest.mark.parametrize("name", ARCHIVES)
def test_texts_are_read_again(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(ARCHIVES[name](FILES))
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as store:
        summary = index(Sources([str(tmp_path / name)], Selection(base=str(tmp_path))), store, Settings(jobs=1))
        assert (summary.indexed, summary.failures) == (6, 0)
        found = read_texts(stored_inputs(store, store.scan(), Selection()), Options(), Limits(), 1)
    assert (dict(found.failed), sorted(found.texts)) == ({}, sorted(WORDS[:6]))


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize("path", ["../../etc/passwd", "a/../../b.txt", "/../x"])
def test_paths_that_lead_out_are_outcomes(tmp_path: Path, pack: Any, path: str) -> None:
    name = "a.zip" if pack is zipped else "a.tar"
    (tmp_path / name).write_bytes(pack({path: b"words", "/good.txt": b"words"}))
    bad, good = Sources([str(tmp_path / name)])
    assert isinstance(bad, Rejected)
    assert bad.reason == "malformed"
    assert bad.source.startswith(str(tmp_path / name))
    assert ".." not in bad.source.split("/")
    assert isinstance(good, Input)
    assert good.id == str(tmp_path / name / "good.txt")


def test_links_and_devices_of_a_tar_are_passed_over() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            info = tarfile.TarInfo(f"it{kind!r}")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert entries("a.tar", out.getvalue()) == []


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_member_that_decompresses_over_the_limit(name: str) -> None:
    data = ARCHIVES[name](
        {"bomb.txt": b" " * 5_000_000, "good.txt": b"words", "bomb.csv": b"text\n" + b" " * 5_000_000}
    )
    found = {entry.member: entry for entry in entries(name, data, limit=100_000)}
    assert isinstance(found["good.txt"], FileEntry)
    for member in ("bomb.txt", "bomb.csv"):
        bad = found[member]
        assert isinstance(bad, BadEntry)
        assert bad.reason == "too-large"


def test_a_size_that_lies() -> None:
    data = zipped({"bomb.txt": b" " * 5_000_000})
    small = (10).to_bytes(4, "little")
    data = data.replace((5_000_000).to_bytes(4, "little"), small)
    [bad] = entries("a.zip", data, limit=100_000)
    assert isinstance(bad, BadEntry)


def test_archives_in_archives_have_an_end() -> None:
    data = zipped({"deep.txt": b"words"})
    for _ in range(5):
        data = zipped({"inner.zip": data})
    [bad] = entries("a.zip", data)
    assert isinstance(bad, BadEntry)
    assert bad.reason == "unsupported"


def test_an_encrypted_member() -> None:
    data = bytearray(zipped({"a.txt": b"words", "b.txt": b"words"}))
    place = data.find(b"PK\x01\x02")
    data[place + 8] |= 1
    bad, good = entries("a.zip", bytes(data))
    assert isinstance(bad, BadEntry)
    assert bad.reason == "encrypted"
    assert isinstance(good, FileEntry)


def test_headers_that_take_memory() -> None:
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, 1 << 33
    [bad] = entries(
        "a.tar", info.tobuf(tarfile.USTAR_FORMAT if info.size < 1 << 33 else tarfile.GNU_FORMAT) + b"\0" * 99
    )
    assert isinstance(bad, BadEntry)
    assert "header" in bad.detail


@pytest.mark.parametrize("name", ARCHIVES)
def test_what_is_cut_off_is_told(name: str) -> None:
    chance = random.Random(1)
    whole = ARCHIVES[name]({f"{number}.txt": chance.randbytes(3000) for number in range(20)})
    # A tar is filled up behind its end.
    length = 20 * (512 + 3072) if name == "a.tar" else len(whole) - 100
    for _ in range(20):
        found = entries(name, whole[: chance.randrange(length)])
        assert isinstance(found[-1], BadEntry)


@pytest.mark.parametrize("name", ARCHIVES)
@pytest.mark.parametrize("seed", range(10))
def test_no_damage_escapes(name: str, seed: int) -> None:
    chance = random.Random(seed)
    whole = bytearray(ARCHIVES[name](FILES))
    for _ in range(8):
        whole[chance.randrange(len(whole))] = chance.randrange(256)
    assert all(isinstance(entry, FileEntry | BadEntry) for entry in entries(name, bytes(whole)))
