"""Mails and mailboxes: their texts, attachments and names, and what damaged and hostile ones cost."""

from __future__ import annotations

import io
import random
from email.message import EmailMessage, MIMEPart
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import indexer
from indexer.extract import Extracted, Item, Limits, Options, WorkerPool
from indexer.ingest.readers import BadEntry, FileEntry, ReaderOptions, reader_of
from indexer.text.quotations import own_words
from tests.extract.real_office import MAIL_JAR, names, real

TEXT = "The ferry leaves at nine. " * 6


def mail(text: str = TEXT, subject: str = "Ferries", date: str = "Mon, 05 Jan 2026 10:00:00 +0100") -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"], made["Date"] = "Ann <ann@example.org>", "bo@example.org", subject, date
    made["Message-ID"] = "<1@example.org>"
    made.set_content(text)
    return made


def mailbox(*mails: bytes) -> bytes:
    line = b"From ann@example.org Mon Jan  5 10:00:00 2026\n"
    return b"\n".join(line + each.rstrip(b"\n") + b"\n" for each in mails)


def read(data: bytes, name: str = "a.eml", limit: int = 1_000_000) -> list[FileEntry | BadEntry]:
    reader = reader_of(name)
    assert reader
    return list(reader.entries(io.BytesIO(data), name, ReaderOptions(limit)))


def only(data: bytes, name: str = "a.eml") -> FileEntry:
    [entry] = read(data, name)
    assert isinstance(entry, FileEntry)
    return entry


def test_a_mail() -> None:
    entry = only(bytes(mail("Grüße an alle.\n", "Die Fähre fährt")))
    assert (entry.data.decode(), entry.title, entry.format, entry.number) == (
        "Grüße an alle.",
        "Die Fähre fährt",
        "text",
        0,
    )
    assert entry.metadata == {
        "from": "Ann <ann@example.org>",
        "to": "bo@example.org",
        "message_id": "<1@example.org>",
        "date": "2026-01-05T10:00:00+01:00",
    }


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_malformed_line_does_not_end_the_head(end: bytes) -> None:
    lines = [b"Received: from harbour", b"this line is no field", b"From: ann@example.org", b"Subject: Ferries"]
    head = end.join([*lines, b"Date: Mon, 05 Jan 2026 10:00:00 +0100", b"", b""])
    entry = only(head + TEXT.encode())
    assert (entry.data.decode(), entry.title, entry.metadata["from"]) == (TEXT.strip(), "Ferries", "ann@example.org")


def test_the_head_may_end_without_an_empty_line() -> None:
    head = b"Subject: Ferries\nFrom: ann@example.org\nDate: Mon, 05 Jan 2026 10:00:00 +0100\n"
    text = b"The ferry leaves at nine.\nNote: at ten on Sundays.\n\nBring the tickets.\n"
    assert only(head + text).data.decode().split() == text.decode().split()


def test_of_alternatives_the_plain_one_is_read_and_html_where_it_is_all_there_is() -> None:
    both = mail("plain words\n")
    both.add_alternative("<p>rich words</p>", subtype="html")
    assert only(bytes(both)).data == b"plain words"
    rich = mail()
    rich.set_content("<p>rich &amp; words</p>", subtype="html")
    entry = only(bytes(rich))
    assert (entry.format, b"rich &amp; words" in entry.data) == ("mail", True)


def test_html_is_not_lost_beside_a_plain_footer() -> None:
    made = mail()
    made.set_content("<p>The body</p>", subtype="html")
    made.make_mixed()
    footer = MIMEPart()
    footer.set_content("the list's <footer>\n")
    made.attach(footer)
    entry = only(bytes(made))
    assert entry.format == "mail"
    assert b"The body" in entry.data
    assert b"&lt;footer&gt;" in entry.data


def test_attachments_are_documents_and_make_two_mails_two() -> None:
    entries = []
    for minutes in (b"minutes of May", b"minutes of June"):
        made = mail("See attached.\n")
        made.add_attachment(minutes, maintype="text", subtype="plain", filename="minutes.txt")
        made.add_attachment(mail("inner words\n", "Inner"))
        made.add_attachment(b"x", maintype="text", subtype="plain", filename="../../etc/minutes.txt")
        entries.append(read(bytes(made)))
    first, second = entries
    assert [entry.member for entry in first] == ["", "minutes.txt", "Inner.eml", "2-minutes.txt"]
    assert first[1].data == b"minutes of May"  # type: ignore[union-attr]
    assert (first[2].title, first[2].data) == ("Inner", b"inner words")  # type: ignore[union-attr]
    assert first[0].data.startswith(b"See attached.\nminutes.txt ")  # type: ignore[union-attr]
    assert first[0].data != second[0].data  # type: ignore[union-attr]


LIST = "- one\n- two\n" * 6


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Yes.\n\nOn Monday, Ann wrote:\n> Is it so?\n> I wonder.\n\nBye\n", "Yes.\n\n\nBye"),
        ("Ja.\n\nAm 5. Januar 2026 um 10:00 schrieb Ann\n<ann@example.org>:\n\n> Ist es so?\n", "Ja."),
        ("> Is it so?\nYes.\n> And this?\nNo.\n", "Yes.\n\nNo."),
        ("Words:\nmore\n-- \nAnn\nExample & Co\n", "Words:\nmore"),
        ("Words\n_______________________________________________\nlist mailing list\nlist@example.org\n", "Words"),
        ("No.\n\n-----Original Message-----\nFrom: Ann\nSent: Monday\nTo: Bo\n\nIs it so?\n", "No."),
        ("Nej.\n\n---- Ursprungligt meddelande ----\nFrån: Ann\nTill: Bo\n\nÄr det så?\n", "Nej."),
        # Lists keep no blank at the end of a line, and put their footer above the signature or below it.
        ("Words\n--\nAnn\nExample & Co\n", "Words"),
        ("Words\n\n____________________\nlist mailing list\n-- \nAnn\n", "Words"),
        ("Words\n-- \nAnn\n\n____________________\nlist mailing list\n", "Words"),
        ("Yes.\n--\nAnn\n\nOn Monday, Bo wrote:\n> Is it so?\n> I wonder.\n", "Yes."),
        ("    >> Is it so?\n\t> It may be.\nYes.\n", "Yes."),
        ("On 5 January 2026 at 10:00, Bo wrote:\n| Is it so?\n|\n| > It is.\nYes.\n| And this?\n", "Yes."),
        # A mail below that no sign of quotation marks.
        ("No.\n\nFrom: Ann <ann@example.org>\nSent: Monday\nTo: Bo\nSubject: Tea\n\nIs it so?\n", "No."),
        ("否。\n\n发件人：安\n发送时间：周一\n收件人：博\n主题：茶\n\n是这样吗？\n", "否。"),
        ("No.\n\nOn 5 Jan 2026, at 10:00, Ann <ann@example.org> wrote:\n\nIs it so?\n", "No."),
        ("No.\n\nAm 5. Jan. 2026 um 10:00 schrieb Ann\n<ann at example.org>:\n\nIst es so?\n", "No."),
        # What only resembles it stays.
        ("From: the kitchen\nTea: green\n", "From: the kitchen\nTea: green"),
        ("Dates\n----------\nPapers: 5 May\nPosters: 6 June\n", "Dates\n----------\nPapers: 5 May\nPosters: 6 June"),
        ("A table:\n| a | b |\n", "A table:\n| a | b |"),
        ("At 10:00 we meet:\nin the hall\n", "At 10:00 we meet:\nin the hall"),
        (f"A list:\n--\n{LIST}", f"A list:\n--\n{LIST}".strip()),
        ("--- chapter one ---\nIt was: night.\n", "--- chapter one ---\nIt was: night."),
        ("> All of it is quoted.\n", "> All of it is quoted.\n"),
        ("-- \nAnn\n", "-- \nAnn\n"),
        ("a > b and\n c > d\n", "a > b and\n c > d"),
    ],
)
def test_a_mail_has_its_own_words(text: str, own: str) -> None:
    assert own_words(text) == own


@given(st.text("> |\n-_:ab@1.", max_size=200))
def test_own_words_are_words_of_the_mail_and_never_none(text: str) -> None:
    own = own_words(text)
    assert set(own.split()) <= set(text.split())
    assert bool(own.strip()) == bool(text.strip())


def test_a_mailbox_names_its_mails_by_what_they_are() -> None:
    one, two = bytes(mail("first words\n")), bytes(mail("second words\n>From here on\n"))
    there = read(mailbox(one, two), "in.mbox")
    assert [entry.data for entry in there if isinstance(entry, FileEntry)] == [
        b"first words",
        b"second words\nFrom here on",
    ]
    moved = read(mailbox(two, b"Received: by way of\nX-Status: RO\n" + one), "other.mbox")
    assert [entry.member for entry in moved] == [entry.member for entry in reversed(there)]
    forged = read(mailbox(bytes(mail("other words\n"))), "in.mbox")
    assert forged[0].member not in {entry.member for entry in there}


def test_a_mail_over_the_limit_costs_itself() -> None:
    small = bytes(mail("small\n"))
    found = read(mailbox(small, bytes(mail("words " * 5000)), small), "in.mbox", limit=5000)
    assert [type(entry) for entry in found] == [FileEntry, BadEntry, FileEntry]
    assert found[1].number == 2
    assert "over the limit" in found[1].detail  # type: ignore[union-attr]


def test_a_mail_with_hostile_fields_hides_none_behind_it() -> None:
    small = bytes(mail("small\n"))
    hostile = [
        b"Content-Type: text/plain; charset=" + b"x" * 100_000 + b"\n\nwords\n",
        b"Content-Type: text/plain" + b"; a*1=x" * 20_000 + b"\n\nwords\n",
        b"Content-Disposition: attachment; filename=" + b"../" * 50_000 + b"\n\nwords\n",
    ]
    found = read(mailbox(small, *(part for each in hostile for part in (each, small))), "in.mbox")
    assert [type(entry) for entry in found] == [FileEntry, *[BadEntry, FileEntry] * 3]
    assert not any(entry.is_last for entry in found if isinstance(entry, BadEntry))


def test_what_is_no_mailbox_is_said() -> None:
    [entry] = read(b"just words\n", "in.mbox")
    assert isinstance(entry, BadEntry)
    assert "a mailbox begins with a line such as" in entry.detail


def test_a_page_saved_as_one_file_is_the_page() -> None:
    page = EmailMessage()
    page["From"], page["Subject"] = "<Saved by Blink>", "Ferries"
    page["Snapshot-Content-Location"] = "https://example.org/ferries"
    page.set_content(f"<p>{TEXT}</p>", subtype="html")
    page.add_related(b"body {}", maintype="text", subtype="css")
    entry = only(bytes(page), "page.mhtml")
    assert (entry.format, entry.title, entry.url) == ("html", "Ferries", "https://example.org/ferries")


def test_apple_mail_and_maildirs() -> None:
    data = bytes(mail("words\n"))
    assert only(b"%d\n" % len(data) + data + b"<?xml version='1.0'?><plist/>", "1.emlx").data == b"words"
    assert only(data, "box/cur/1767603600.M1P2.host:2,S").data == b"words"
    assert reader_of("box/other/1767603600.M1P2.host") is None


def test_hostile_mails_end_soon() -> None:
    deep = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(5000))
    many = mail()
    for number in range(1200):
        many.add_attachment(b"x", maintype="text", subtype="plain", filename=f"{number}.txt")
    for data, reason in ((deep, "unsupported"), (deep[:2000], "unsupported"), (bytes(many), "unsupported")):
        assert any(isinstance(entry, BadEntry) and entry.reason == reason for entry in read(data))
    for field in (b"Content-Type: multipart/mixed; ", b"Content-Disposition: attachment; "):
        [entry] = read(field + b"a=b;" * 1_000_000 + b"boundary=q\n\n--q\n\nwords\n", limit=10_000_000)
        assert (entry.reason, "of 4,000,0" in entry.detail) == ("unsupported", True)  # type: ignore[union-attr]
    inside = b"Content-Type: message/rfc822\n\n" * 200 + b"\n" + b"words\n" * 100_000
    assert [entry.reason for entry in read(inside)] == ["unsupported"]  # type: ignore[union-attr]
    long = (
        b"From: "
        + b"(" * 200_000
        + b"\nSubject: =?utf-8?q?"
        + b"=C3" * 90_000
        + b"?=\nDate: "
        + b"9" * 200_000
        + b"\n\nwords\n"
    )
    assert only(long).data == b"words"


def test_any_damage_gives_entries() -> None:
    made = mail()
    made.add_attachment(b"minutes", maintype="application", subtype="pdf", filename="minutes.pdf")
    data, chance = bytes(made), random.Random(5)
    for _ in range(300):
        harmed = bytearray(data)
        for _ in range(chance.randrange(1, 30)):
            harmed[chance.randrange(len(harmed))] = chance.randrange(256)
        assert read(bytes(harmed[: chance.randrange(len(harmed))]) or b"\n")
        read(mailbox(bytes(harmed)), "in.mbox")


def test_real_mails() -> None:
    found = 0
    for name in [*names(".eml", MAIL_JAR), *names(".mbox", MAIL_JAR)]:
        for entry in read(real(name, MAIL_JAR), name, 10_000_000):
            assert isinstance(entry, FileEntry), (name, entry)
            found += 1
    assert found >= 15


def test_a_collection_with_mails(tmp_path: Path) -> None:
    text = "The harbour office says the bridge stays closed until the autumn, since its bearings have to be made anew. "
    text += "Ferries go every hour from nine in the morning, and until midnight on the days before a holiday."
    answer = f"Who pays for it then, and was the council asked before?\n\nOn Monday, Ann wrote:\n> {text}\n"
    (tmp_path / "inbox.mbox").write_bytes(mailbox(bytes(mail(text)), bytes(mail(answer, "Re: Ferries"))))
    (tmp_path / "copy.mbox").write_bytes(mailbox(bytes(mail(text))))
    (tmp_path / "one.eml").write_bytes(bytes(mail(f"{text}\n")))
    with indexer.open(tmp_path / "store.neardup", create=True) as collection:
        summary = collection.index(tmp_path, jobs=1, id_from="relative")
        assert (summary.indexed, summary.failed) == (4, {})
        found = {match.id for match in collection.similar(tmp_path / "one.eml")}
        assert {name.split("/")[0] for name in found} >= {"inbox.mbox", "copy.mbox"}
        assert len({name.split("/")[1] for name in found if "/" in name}) == 1
        # Read again by its id, as a document of the mailbox.
        [inside] = [name for name in found if name.startswith("inbox")]
        assert collection.compare(inside, tmp_path / "one.eml").near


def test_a_worker_names_attachments_without_files_of_the_system() -> None:
    made = mail(TEXT + "Grüße")
    made.add_attachment(b"rows, of, a, table\n" * 9, maintype="application", subtype="x-ledger")
    with WorkerPool(1, Options(), Limits()) as workers:
        [found] = workers.outcomes([Item(1, bytes(made), "part")])
    assert isinstance(found, Extracted)
    assert found.document.title == "Ferries"
