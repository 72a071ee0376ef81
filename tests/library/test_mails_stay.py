"""A mail never goes for what has its words but neither its sender nor its date: in stores, in batches, as it comes."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import indexer
from indexer.batch.clusters.clustering import ClusteringOptions, cluster
from indexer.batch.form import Form
from indexer.batch.reading import rule_of
from indexer.clustering.canonical import CanonicalRule, parse_canonical
from indexer.library.options import RemovalRequest
from tests.batch.batched import MINHASH, sketched
from tests.cli.written import prose

TEXTS_FIRST = ("source", ("*.txt",))
# Equal words in a mail and in what sorts before it, and behind it, and in a copy of the mail.
NAMES = ("a.txt", "b.eml", "c.txt", "d/cur/1700000000.x:2,S", "z.txt")


def written(folder: Path, names: tuple[str, ...] = NAMES) -> Path:
    for name in names:
        mail = EmailMessage()
        mail["From"], mail["Subject"], mail["Date"] = "Ann <a@example.org>", "Tea", "Mon, 05 Jan 2026 10:00:00 +0100"
        mail.set_content(prose(1), cte="8bit")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(prose(1).encode() if name.endswith(".txt") else bytes(mail))
    return folder


def removed_of_store(
    folder: Path, canonical: CanonicalRule, asked: RemovalRequest = RemovalRequest()
) -> dict[str, str]:
    with indexer.open(folder.parent / f"{canonical.kind}.neardup") as store:
        store.index(folder, id_from="relative")
        store.cluster(canonical=canonical)
        return {row.id: row.kept for row in store.prune(asked, dry_run=True).surplus}


def removed_of_batch(folder: Path, canonical: CanonicalRule, against: str | None = None) -> dict[str, str]:
    out, form = folder.parent / f"batch-{folder.name}", Form((MINHASH,))
    sketched(folder, out, form, id_from="relative")
    cluster(str(out), str(out), ClusteringOptions(rule_of(form, None), canonical, threads=1, against=against))
    rows = (row for path in out.glob("clusters/*") for row in pq.read_table(path).to_pylist())
    return {row["id"]: row["stays_for"] or "" for row in rows if row["near_to"]}


@pytest.mark.parametrize("removed", [removed_of_store, removed_of_batch])
def test_the_mail_stays_of_equal_words(removed: object, tmp_path: Path) -> None:
    found = removed(written(tmp_path / "in"), CanonicalRule())  # type: ignore[operator]
    assert found == dict.fromkeys({*NAMES} - {"b.eml"}, "")


@pytest.mark.parametrize("removed", [removed_of_store, removed_of_batch])
def test_a_mail_stays_beside_the_text_that_a_rule_prefers(removed: object, tmp_path: Path) -> None:
    found = removed(written(tmp_path / "in"), parse_canonical(*TEXTS_FIRST))  # type: ignore[operator]
    assert found.keys() == {*NAMES} - {"a.txt"}
    # The other one is a copy of this mail.
    assert {name for name, kept in found.items() if "mail" in kept} == {"b.eml"}


def test_identical_texts_go_but_no_mail_for_them(tmp_path: Path) -> None:
    asked = RemovalRequest(remove="identical")
    found = removed_of_store(written(tmp_path / "in"), parse_canonical(*TEXTS_FIRST), asked)
    assert {name for name, kept in found.items() if kept} == {"b.eml"}


@pytest.mark.parametrize("asked", [RemovalRequest(verify="sketch"), RemovalRequest(unverified=True)])
def test_a_mail_stays_also_where_no_text_is_read(asked: RemovalRequest, tmp_path: Path) -> None:
    found = removed_of_store(written(tmp_path / "in"), parse_canonical(*TEXTS_FIRST), asked)
    assert {name for name, kept in found.items() if "mail" in kept} == {"b.eml", "d/cur/1700000000.x:2,S"}
    assert {name for name, kept in found.items() if not kept} == {"c.txt", "z.txt"}


def test_a_mail_is_not_left_out_for_a_text_that_is_there(tmp_path: Path) -> None:
    with indexer.open(tmp_path / "a.neardup") as store:
        store.index(written(tmp_path / "one", ("z.txt",)), id_from="relative")
        came = store.index(
            written(tmp_path / "two", ("b.eml", "c.txt", "e.eml")), id_from="relative", skip_duplicates=True
        )
        assert (came.indexed, came.duplicates) == (1, 2)
        assert {document.id for document in store} == {"z.txt", "b.eml"}
    with indexer.open(tmp_path / "b.neardup") as store:
        store.index(tmp_path / "one", id_from="relative")
        store.index(tmp_path / "two", id_from="relative", skip_duplicates="sketch")
        assert {document.id for document in store} == {"z.txt", "b.eml"}


def test_a_mail_is_kept_beside_a_text_of_an_older_batch(tmp_path: Path) -> None:
    older = written(tmp_path / "one", ("a.txt",))
    assert removed_of_batch(older, CanonicalRule()) == {}
    found = removed_of_batch(
        written(tmp_path / "two", ("b.eml", "c.txt")), CanonicalRule(), str(tmp_path / "batch-one")
    )
    assert found["c.txt"] == ""
    assert "mail" in found["b.eml"]


def test_a_mail_with_an_attachment_says_more_than_the_text_of_its_body(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", ("a.txt",))
    mail = EmailMessage()
    mail.set_content(prose(1), cte="8bit")
    mail.add_attachment(prose(2).encode(), maintype="text", subtype="plain", filename="minutes.txt")
    (folder / "b.eml").write_bytes(bytes(mail))
    assert removed_of_store(folder, CanonicalRule())["a.txt"].startswith("edited")
    with indexer.open(tmp_path / "earliest.neardup") as store:
        going = store.prune(RemovalRequest(remove="edited"), dry_run=True).surplus
    assert [(each.id, each.kept) for each in going] == [("a.txt", "")]


def test_a_mail_that_stands_whole_in_a_longer_document_stays(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", ("a.txt", "b.eml"))
    for name in ("longer.txt", "z.eml"):
        mail = EmailMessage()
        mail["From"], mail["Subject"], mail["Date"] = "Ben <b@example.org>", "More", "Tue, 06 Jan 2026 10:00:00 +0100"
        mail.set_content(f"{prose(3)}\n{prose(1)}\n{prose(2)}", cte="8bit")
        (folder / name).write_bytes(mail.get_content().encode() if name.endswith(".txt") else bytes(mail))
    with indexer.open(tmp_path / "a.neardup", schemes=["passages"]) as store:
        store.index(folder, id_from="relative")
        kept = {row.id: row.kept for row in store.prune(RemovalRequest(parts=True), dry_run=True).surplus}
    assert kept["a.txt"] == ""
    assert "sender" in kept["b.eml"]
