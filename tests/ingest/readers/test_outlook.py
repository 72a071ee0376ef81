"""Mails of Outlook: real ones with their attachments, as other mails have them, and damaged ones."""

from __future__ import annotations

import importlib.util
import io
import random
from collections.abc import Sequence
from email.message import EmailMessage

import pytest

from indexer.ingest.readers import BadEntry, FileEntry, ReaderOptions, reader_of
from indexer.ingest.readers.outlook import OutlookMail
from tests.extract.real_office import names, real

LIMIT = 10_000_000


def read(data: bytes, name: str = "a.msg", limit: int = LIMIT) -> Sequence[FileEntry | BadEntry]:
    reader = reader_of(name)
    assert reader
    return list(reader.entries(io.BytesIO(data), name, ReaderOptions(limit)))


def documents(name: str) -> list[FileEntry]:
    return [entry for entry in read(real(name)) if isinstance(entry, FileEntry)]


def test_files_attached_are_documents_named_after_their_mail() -> None:
    mail, minutes, text = documents("testMSG_att_doc.msg")
    assert (mail.title, mail.metadata["date"]) == ("test pièce jointe 1", "2009-04-22T14:36:33+00:00")
    assert mail.data.splitlines()[0] == b"contenu"
    assert [line.split()[0] for line in mail.data.decode().splitlines()[1:]] == ["test-unicode.doc", "pj1.txt"]
    assert (minutes.member, text.member) == ("test-unicode.doc", "pj1.txt")
    assert minutes.data.startswith(b"\xd0\xcf\x11\xe0")
    assert "euro : €".encode() in text.data


def test_a_mail_in_a_mail_is_one_too() -> None:
    outer, inner, pdf = documents("testMSG_att_msg.msg")
    assert outer.metadata["from"] == "Nick Booth <nick.booth@pof.com.au>"
    assert (inner.member, inner.title, inner.data) == ("Test Attachment.eml", "Test Attachment", b"Blah blah blah")
    assert pdf.data.startswith(b"%PDF")


def test_a_mail_is_the_same_in_both_forms() -> None:
    [saved] = documents("testMSG.msg")
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = saved.metadata["from"], saved.metadata["to"], saved.title
    made.set_content(saved.data.decode())
    reader = reader_of("a.eml")
    assert reader
    [sent] = reader.entries(io.BytesIO(bytes(made)), "a.eml", ReaderOptions(LIMIT))
    assert isinstance(sent, FileEntry)
    assert sent.data.decode().split() == saved.data.decode().split()
    assert sent.title == saved.title == "MIME registry use cases"


def test_every_real_mail_gives_its_words() -> None:
    for name in names(".msg"):
        first = documents(name)[0]
        assert first.title
        assert first.format == "text"
        assert first.data


def test_attachments_take_no_more_than_a_file_may() -> None:
    [large] = read(real("testMSG_att_doc.msg"), limit=20_000)
    assert isinstance(large, BadEntry)
    assert large.reason == "too-large"


@pytest.mark.parametrize("name", ["testMSG_att_msg.msg", "testMSG_att_doc.msg"])
def test_damage_costs_one_mail(name: str) -> None:
    data, chance = real(name), random.Random(5)
    for _ in range(60):
        harmed = bytearray(data[: chance.choice((len(data), chance.randrange(len(data))))] or b"x")
        for _ in range(chance.randrange(1, 60)):
            harmed[chance.randrange(len(harmed))] = chance.randrange(256)
        for entry in read(bytes(harmed)):
            assert isinstance(entry, FileEntry | BadEntry)


def test_what_the_library_does_not_read_goes_to_the_other() -> None:
    [entry] = read(b"no compound file")
    assert isinstance(entry, FileEntry)
    assert (entry.format, entry.data) == ("msg", b"no compound file")


def test_without_the_library_a_mail_is_one_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert not OutlookMail(reader_of).takes("a.msg")
