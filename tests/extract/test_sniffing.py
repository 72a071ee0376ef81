"""The kind of a document and its encoding."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import ExtractionError
from indexer.extract.base import Limits, Options
from indexer.extract.document import read_document
from indexer.extract.sniffing import sniff, unpack
from indexer.extract.text import decode
from tests.cli.written import html, pdf, xml

LIMITS = Limits(input_bytes=10_000)


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b"%PDF-1.4\n", "a.html", "pdf"),
        (b"junk\n%PDF-1.4\n", "", "pdf"),
        (b"<!DOCTYPE html><p>", "a.txt", "html"),
        (b"\xef\xbb\xbf\n <!-- c --><HTML>", "", "html"),
        ("<html><p>".encode("utf-16"), "", "html"),
        ("<html><p>".encode("utf-16-le"), "", "html"),
        (b"<?xml version='1.0'?><!DOCTYPE html><html>", "a.xml", "html"),
        (b"<?xml version='1.0'?><article><front/></article>", "a.html", "xml"),
        (b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c>'>]><a/>", "", "xml"),
        (b"<article><front/></article>", "a.xml", "xml"),
        (b"<rfc><front></front></rfc>", "", "xml"),
        (b"plain words", "", "text"),
        (b"plain words", "a.html", "html"),
        (b"plain words < and >", "unknown.ext", "text"),
        (b"<tag> begins this text", "", "text"),
        (b"caf\xe9 au lait", "", "text"),
        (b"a \x1b[1mlog\x1b[0m with a stray \x01 in a long line of words and more words to come", "a.log", "text"),
        ("words".encode("utf-16"), "", "text"),
    ],
)
def test_kinds(data: bytes, name: str, kind: str) -> None:
    assert sniff(data, name) == kind


@pytest.mark.parametrize(
    ("data", "name", "number"),
    [(html("some words"), "a.html", 2), (pdf("some words"), "a.pdf", 2), (xml("some words"), "a.xml", 2),
     (b"some words", "a.txt", 1)],
)  # fmt: skip
def test_html_pdf_and_xml_have_two_extractors_each(data: bytes | str, name: str, number: int) -> None:
    given = data.encode() if isinstance(data, str) else data
    read = [read_document(given, name, Options(extractor=each), Limits()) for each in ("fast", "reference")]
    assert all("some words" in each.text for each in read)
    assert len({each.extractor for each in read}) == number


@pytest.mark.parametrize("data", [b"PK\x03\x04abc", b"GIF89a", bytes(range(256)) * 4, b"\x7fELF\x02\x01"])
def test_unknown_kinds_are_named(data: bytes) -> None:
    with pytest.raises(ExtractionError) as caught:
        read_document(data, "a.dat", Options(), Limits())
    assert caught.value.reason == "unsupported"


PLAIN_MAIL = (
    b"Received: from a\r\n\tby b; Mon, 1 Jan 2024\r\nFrom: A <a@b>\r\nSubject: tea\r\nMIME-Version: 1.0\r\n\r\n"
)
MAIL = PLAIN_MAIL.replace(b"\r\n\r\n", b"\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n")


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"712\n" + MAIL, "1.emlx"), (PLAIN_MAIL, "a.EML"), (b"From a@b\n" + MAIL, "all.mbox"), (MAIL, "a.eml"),
    ],
)  # fmt: skip
def test_a_mail_is_refused_with_a_sentence(data: bytes, name: str) -> None:
    with pytest.raises(ExtractionError, match=r"this is a mail, .* --format text") as caught:
        read_document(data, name, Options(), Limits())
    assert caught.value.reason == "unsupported"
    assert read_document(data, name, Options(format="text"), Limits()).format == "text"


def encoded(*fields: str, body: str = "") -> bytes:
    return PLAIN_MAIL.replace(b"\r\n\r\n", "\r\n".join(("", *fields, "", body)).encode())


PART = "--b\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\nR3LDvMOfZQ==\r\n--b--\r\n"
PARTS = "Content-Type: multipart/mixed; boundary=b"


@pytest.mark.parametrize(
    ("data", "name", "text"),
    [
        (encoded("content-transfer-encoding: BASE64", body="R3LDvMOfZQ=="), "a.txt", "Grüße"),
        (encoded("Content-Transfer-Encoding: quoted-printable", body="Gr=C3=BC=C3=9Fe"), "", "Grüße"),
        (encoded("Content-Type: text/html", body="<p>Gr&uuml;&szlig;e</p>"), "1.", "Grüße"),
        (encoded(PARTS, body=PART), "a.txt", "Grüße"),
        (b"\xef\xbb\xbf" + encoded(PARTS, body=PART), "a.txt", "Grüße"),
        (gzip.compress(encoded(PARTS, body=PART)), "a.gz", "Grüße"),
        (b"Delivered-To: a@b\n" + encoded(PARTS, body=PART).replace(b"\tby b", b"\tby b" * 2000), "", "Grüße"),
    ],
)  # fmt: skip
def test_an_encoded_mail_under_another_name_is_read_as_a_mail(data: bytes, name: str, text: str) -> None:
    document = read_document(data, name, Options(), Limits())
    assert (document.text.split(), document.title) == (text.split(), "tea")


BETWEEN = b"From a@b Mon Jan  1 00:00:00 2024\n"
BASE64 = encoded("Content-Transfer-Encoding: base64", body="R3LDvMOfZQ==")
MARKED_UP = encoded("Content-Type: text/html", body="<p>of <b>tea</b></p><blockquote type=cite>quoted</blockquote>")


@pytest.mark.parametrize(
    ("mails", "text"),
    [
        ((BASE64,), "Grüße"),
        ((BASE64, PLAIN_MAIL + b"words\n-- \nA. B."), "Grüße\nwords"),
        ((PLAIN_MAIL + b"1 < 2\n> quoted", BASE64, MARKED_UP), "1 < 2 Grüße of tea"),
        ((BASE64, PLAIN_MAIL + b"words\nFrom a@b Mon Jan  1 00:00:00 2024\nin a letter"),
         "Grüße\nwords\nFrom a@b Mon Jan 1 00:00:00 2024\nin a letter"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
def test_a_mailbox_with_encoded_mails_under_another_name_is_a_text_of_them(
    mails: tuple[bytes, ...], text: str, end: bytes
) -> None:
    document = read_document(b"".join(BETWEEN + mail + end for mail in mails), "Sent Items", Options(), Limits())
    assert document.text.split() == text.split()
    assert document.title == "tea"


def test_a_line_made_to_take_time_separates_no_mails() -> None:
    data = BETWEEN + BASE64 + b"\n\nFrom a" + b"12:34" * 1_000_000 + b"\n"
    assert read_document(data, "Sent", Options(), Limits(seconds=5)).title == "tea"


def test_an_attachment_of_such_a_mail_is_there_by_its_digest() -> None:
    attached = "--b\r\nContent-Disposition: attachment; filename=a.bin\r\n\r\n{}\r\n"
    one, other = (
        read_document(encoded(PARTS, body=attached.format(each) + PART), "a.txt", Options(), Limits()).text
        for each in ("x", "y")
    )
    assert one.startswith("Grüße\na.bin ")
    assert one != other


@pytest.mark.parametrize("body", ["words outside of any part", "--b\r\nContent-Type: image/png\r\n\r\nwords\r\n--b--"])
def test_a_mail_without_a_body_is_a_text(body: str) -> None:
    document = read_document(encoded(PARTS, body=body), "a.txt", Options(), Limits())
    assert document.format == "text"
    assert "tea" in document.text
    assert "words" in document.text


def test_a_mail_made_to_take_time_is_refused_under_another_name_too() -> None:
    data = encoded(PARTS, body="--b\r\n\r\nx\r\n" * 2000 + "--b--")
    with pytest.raises(ExtractionError, match="1,000 parts"):
        read_document(data, "a.txt", Options(), Limits())


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"From: a@b\nSubject: a post without an envelope\nLines: 3\n\nwords", ""), (b"PEP: 1\nTitle: a\n\nw", ""),
        (b"Received: in March\n\nwords", ""), (b"From here on: words\n", ""), (b"words\n\n" + MAIL, "about-mail.md"),
        (b"Message-ID: is a field\n", ""), (PLAIN_MAIL + b"words\n\nContent-Type: multipart/mixed\n", "a.txt"),
        (PLAIN_MAIL, ""), (b"From a@b Mon Jan  1 00:00:00 2024\n" + PLAIN_MAIL + b"words", "2024-January.txt"),
        (b"From: a@b\nMessage-ID: <1@b>\nAbstract: a howto of Git\nContent-type: text/asciidoc\n\nwords", "howto.txt"),
    ],
)  # fmt: skip
def test_a_text_that_begins_as_a_mail_is_read(data: bytes, name: str) -> None:
    assert sniff(data, name) == "text"
    assert read_document(data, name, Options(), LIMITS).text.split() == data.decode().split()


def test_gzip_is_seen_through() -> None:
    assert unpack(gzip.compress(b"one ") + gzip.compress(b"two") + b"\0" * 9, "a.html.gz", LIMITS)[:2] == (
        b"one two",
        "a.html",
    )
    document = read_document(gzip.compress(b"<p>a</p>b"), "a.html.gz", Options(), LIMITS)
    assert (document.text, document.format) == ("a\nb", "html")


def test_damaged_gzip_is_read_as_far_as_it_goes() -> None:
    data = gzip.compress(b"".join(b"line %d\n" % (n * n) for n in range(5000)))
    document = read_document(data[:-5000], "a.txt.gz", Options(), Limits())
    assert document.text.startswith("line 0\nline 1\n")
    assert "ends early" in document.notes[0]
    broken = bytearray(data)
    broken[-6] ^= 1
    assert "damaged" in read_document(bytes(broken), "", Options(), Limits()).notes[0]
    with pytest.raises(ExtractionError, match="malformed"):
        read_document(data[:10], "", Options(), LIMITS)


def test_a_gzip_bomb_is_refused() -> None:
    with pytest.raises(ExtractionError, match="too-large"):
        unpack(gzip.compress(b"\0" * 50_000_000), "", LIMITS)
    pieces = [gzip.compress(b"x" * 4000)] * 3
    with pytest.raises(ExtractionError, match="too-large"):
        unpack(b"".join(pieces), "", LIMITS)


@pytest.mark.parametrize("data", [b"", b"\0" * 5000, b" \n\t", gzip.compress(b"", mtime=0)])
def test_nothing_is_an_empty_document(data: bytes) -> None:
    assert read_document(data, "a.pdf", Options(), LIMITS).text == ""


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        (b"\xef\xbb\xbfcaf\xc3\xa9", "koi8-r", "café"),
        ("café".encode("utf-16"), "utf-8", "café"),
        ("a few plain words".encode("utf-16-be"), "", "a few plain words"),
        (b"caf\xe9 \x80", "latin1", "café €"),
        (b"caf\xc3\xa9", "us-ascii-nonsense", "café"),
        ("日本語の文章".encode("shift_jis"), "Shift_JIS", "日本語の文章"),
        ("한국어".encode("cp949"), "ks_c_5601-1987", "한국어"),
        (b"x\xff" + "é".encode() * 50, "utf-8", "x\ufffd" + "é" * 50),
    ],
)
def test_encodings(data: bytes, declared: str, text: str) -> None:
    assert decode(data, declared)[0] == text


def test_wrongly_declared_utf8_is_detected() -> None:
    words = "Все люди рождаются свободными и равными в своём достоинстве и правах. " * 10
    assert decode(words.encode("cp1251"), "utf-8")[0] == words


@given(st.binary(max_size=3000), st.text(max_size=20))
def test_decoding_never_fails(data: bytes, declared: str) -> None:
    assert isinstance(decode(data, declared)[0], str)


@given(st.binary(max_size=500))
def test_any_bytes_give_a_document_or_a_named_reason(data: bytes) -> None:
    for form in (data, gzip.compress(data), b"<" + data, b"%PDF-" + data, zlib.compress(data)):
        reason = ""
        try:
            document = read_document(form, "", Options(), LIMITS)
        except ExtractionError as error:
            reason = error.reason
        named = ("unsupported", "malformed", "encrypted", "needs-ocr")
        assert document.size == len(form) if not reason else reason in named


PROSE = "The ferry to the island left at noon, and nobody on the pier had seen the dog since breakfast.\n"


@pytest.mark.parametrize(
    "text",
    [
        "<!-- minutes of the meeting\n" + PROSE + "See <b>here</b>.",
        "<!-- minutes -->\n" + PROSE + "See <b>here</b> & there.",
        "<Anna> hello all </Anna>\n<Ben> " + PROSE,
        "<?php echo 1 ?>\n" + PROSE + "<br/>",
        "<?xml version='1.0'?>\n" + PROSE,
        "%PDF-1.4 is how such a file begins.\n" + PROSE,
        "GIF89a pictures can move.\n" + PROSE,
        "%!PS was the sign of a printer.\n" + PROSE,
        "BZh stands at the head of them.\n" + PROSE,
    ],
)
@pytest.mark.parametrize("name", ["notes.txt", "notes.MD", "notes.log"])
def test_a_text_that_begins_like_another_format_is_read_as_text_with_a_remark(text: str, name: str) -> None:
    read = read_document(text.encode(), name, Options(), Limits())
    assert (read.format, read.text.split()) == ("text", text.split())
    assert any(note.startswith("read as text") for note in read.notes)
    assert read.extractor.endswith("; begins like another format")


def test_markup_that_can_be_parsed_is_markup_whatever_it_is_called() -> None:
    page = f"<report><head/><body><p>{PROSE}</p></body></report>".encode()
    read = read_document(page, "notes.txt", Options(), Limits())
    assert (read.format, read.text) == ("xml", PROSE.strip())
    # Where the name says nothing of text, as much is read as there is.
    torn = read_document(page[: page.index(b"</p>")], "notes.xml", Options(), Limits())
    assert (torn.format, torn.text) == ("xml", PROSE.strip())
