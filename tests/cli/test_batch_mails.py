"""Mails of a folder share a file of sketches, and are then what they are in files of their own, and in a store."""

from __future__ import annotations

import os
import re
from email.message import EmailMessage
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.command import Neardup, write
from tests.cli.written import changed, prose

MAILS = 9


def mail(number: int) -> bytes:
    """A mail, every third with a page attached, and every fourth the next one's copy."""
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "a@b.example", "c@d.example", f"no. {number // 4}"
    made["Date"], made["Message-ID"] = "Mon, 05 Jan 2026 10:00:00 +0100", f"<{number // 4}@b.example>"
    made.set_content(prose(number // 4))
    if number % 3 == 0:
        made.add_attachment(changed(prose(20 + number // 6)), filename="minutes.txt")
    return bytes(made)


@pytest.fixture
def maildir(neardup: Neardup) -> Neardup:
    """A folder of mails with a text among them."""
    write(neardup.folder, {f"box/in/{number}.eml": mail(number) for number in range(MAILS)})
    write(neardup.folder, {"box/in/4.txt": prose(0), "box/note.txt": prose(30)})
    return neardup


def rows(folder: Path) -> dict[str, list[dict[str, object]]]:
    """The rows of each file of sketches, by its name without the digest."""
    found = sorted((folder / "batch" / "sketches").glob("*.parquet"))
    return {re.sub("-[0-9a-f]{16}", "", path.name): pq.read_table(path).to_pylist() for path in found}


def sketch(neardup: Neardup) -> int:
    """Sketch the folder; the number of files that were written."""
    written: int = neardup("batch", "sketch", "box", "--out", "batch", "--json").json["files"]
    return written


def test_mails_that_follow_one_another_are_a_file_and_what_is_done_is_not_done_again(maildir: Neardup) -> None:
    sketch(maildir)
    found = rows(maildir.folder)
    assert {name: len(each) for name, each in found.items()} == {
        "in.0000.parquet": 7, "in.0001.parquet": 1, "in.0002.parquet": 5, "box.0000.parquet": 1
    }  # fmt: skip
    place = maildir.folder / "box" / "in"
    assert found["in.0000.parquet"][1]["container"] == os.fspath(place / "0.eml")
    assert sketch(maildir) == 0
    # One that has changed, and one that is gone.
    (place / "1.eml").write_bytes(mail(8))
    assert sketch(maildir) == 1
    (place / "8.eml").unlink()
    assert "changed" in maildir("batch", "cluster", "batch", "--out", "batch", code=2).err
    assert sketch(maildir) == 1
    for path in place.glob("*.eml"):
        path.unlink()
    sketch(maildir)
    assert [len(each) for each in rows(maildir.folder).values()] == [1, 1]


def test_they_are_what_a_store_holds_and_their_texts_are_read_again(maildir: Neardup) -> None:
    sketch(maildir)
    said = maildir("batch", "cluster", "batch", "--out", "batch", "--json").json
    assert said["relations"] == {"identical": 5, "reflowed": 1}
    maildir("batch", "load", "batch", "--store", "batch.neardup")
    maildir("index", "box", "--store", "index.neardup")
    maildir("cluster", "--relation", "--store", "index.neardup")
    assert maildir("cluster", "--store", "batch.neardup", "--json").json["written"] == {
        "documents": 0, "clusters": 0, "removed": 0
    }  # fmt: skip
    names = [row["id"] for each in rows(maildir.folder).values() for row in each]
    for name in names:
        one, other = (
            maildir("show", str(name), "--json", "--store", f"{store}.neardup").json for store in ("batch", "index")
        )
        for times in ("first_indexed_at", "indexed_at"):
            one.pop(times, None), other.pop(times, None)
        assert one == other


def test_what_is_kept_of_them_is_written_as_texts(maildir: Neardup) -> None:
    maildir("batch", "dedupe", "box", "--out", "kept")
    written = {os.path.relpath(path, maildir.folder / "kept") for path in (maildir.folder / "kept").rglob("*.*")}
    assert written == {"in/documents-0000.parquet", "in/documents-0002.parquet", "note.txt"}
    kept = [
        row["id"]
        for name in sorted(written)
        if "doc" in name
        for row in pq.read_table(maildir.folder / "kept" / name).to_pylist()
    ]
    removed = pq.read_table(maildir.folder / "kept.removed.parquet").to_pylist()
    assert len(kept) + 1 + len(removed) == 14
    assert {row["duplicate_of"] for row in removed} <= {*kept}
