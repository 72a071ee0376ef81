"""Find the kind of a document, by content, then by name."""

from __future__ import annotations

import codecs
import os
import re
import zlib
from typing import NamedTuple

from indexer.errors import ExtractionError
from indexer.extract.base import Limits, too_large
from indexer.extract.formats import MICROSOFT_MAGIC, SUFFIXES, Format, is_mail_name

_GZIP = b"\x1f\x8b\x08"
_ZIP = b"PK\x03\x04"
HEAD = 4096
"""The bytes that the kind of a document is told by."""
_PIECE = 1024

# Names of formats that a user may expect to be read; the message is better with them.
_MAGIC = (
    (_ZIP, "a ZIP archive, or a document of an unknown kind in one"),
    (b"\xd0\xcf\x11\xe0", "a compound file, as old Microsoft Office documents are, of no known kind"),
    (b"%!PS", "a PostScript document"),
    (b"GIF8", "a GIF image"),
    (b"\x7fELF", "a program"),
    (b"\xfd7zXZ", "xz-compressed"),
    (b"BZh", "bzip2-compressed"),
    (b"\x28\xb5\x2f\xfd", "Zstandard-compressed"),
    (b"SQLite format 3\0", "an SQLite database"),
)
# PNG, JPEG, and TIFF in both orders of bytes.
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
# The tags by which the MIME Sniffing Standard knows HTML, and those that such pages begin with besides.
_HTML = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|script|iframe|h[1-6]|div|font|table|a|style|title|b|br|p|meta|link|ul|ol|"
    rb"center|span|section|article|main|header|nav|form|frameset)[\s/>]",
    re.IGNORECASE,
)
_PROLOGUE = re.compile(
    rb"\s*(?:<\?.*?\?>|<!--.*?-->|<!doctype(?!\s+html)[^\[>]*(?:\[.*?\]\s*)?>)", re.DOTALL | re.IGNORECASE
)
_XML = re.compile(rb"\s*(?:<\?xml[\s?]|<!doctype\s|<!--|<\?|<[A-Za-z_][\w.:-]*[\s/>])", re.IGNORECASE)
_HTML_ROOT = re.compile(rb"<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)
_ELEMENT = re.compile(rb"<[A-Za-z_]")
_MARKUP_END = re.compile(rb"</[A-Za-z_][\w.:-]*\s*>|/>")
# The fields that a mail begins with (RFC 5322), in a mailbox after a line of its own, in Apple Mail after its size; no
# text begins with two of these.
_FIELDS = re.compile(rb"(?:From [^\n]*\n|[0-9]{1,12}[ \t\r]*\n)?(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)+")
_FIELD = re.compile(rb"^([!-9;-~]+):", re.MULTILINE)
_OF_MAIL = frozenset((b"message-id", b"mime-version", b"received", b"return-path", b"delivered-to", b"dkim-signature"))
# A mail whose parts are encoded or marked up, which no text editor shows as it is read; its fields are no longer.
_ENCODED = re.compile(
    rb"^content-(?:type:\s*(?:multipart/|message/|text/html)|transfer-encoding:\s*(?:base64|quoted-printable))",
    re.IGNORECASE | re.MULTILINE,
)
_MAILBOX = b"From "
_FIELDS_END = re.compile(rb"\r?\n\r?\n")
_MOST_FIELDS = 1 << 16
# The bytes that mark binary data in the MIME Sniffing Standard, section 3.
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


class Decompressed(NamedTuple):
    data: bytes
    name: str
    note: str = ""


def unpack(data: bytes, name: str, limits: Limits) -> Decompressed:
    """Undo gzip (RFC 1952), one layer, as far as it goes.

    Raises ExtractionError "too-large" if the input or its decompressed form exceeds the limit.
    """
    if len(data) > limits.input_bytes:
        raise too_large("the input", len(data), limits)
    if not data.startswith(_GZIP):
        return Decompressed(data, name)
    plain_name = name[:-3] if name.lower().endswith(".gz") else name
    content, note = _inflated(data, limits)
    if note and not content:
        raise ExtractionError("malformed", note)
    return Decompressed(content, plain_name, note)


def _inflated(data: bytes, limits: Limits) -> tuple[bytes, str]:
    parts: list[bytes] = []
    size = place = 0
    while data.startswith(_GZIP, place):
        inflate = zlib.decompressobj(wbits=31)
        while not inflate.eof:
            # In small pieces: of a bomb only the first piece over the limit is inflated, and of a damaged member only
            # the piece with the damage is lost.
            piece = data[place : place + _PIECE]
            if not piece:
                return b"".join(parts), "the gzip data ends early, read as far as it goes"
            try:
                parts.append(inflate.decompress(piece))
            except zlib.error as error:
                return b"".join(parts), f"damaged gzip data, read as far as it goes: {error}"
            place += len(piece) - len(inflate.unused_data)
            size += len(parts[-1])
            if size > limits.input_bytes:
                raise too_large("the decompressed document", size, limits)
    return b"".join(parts), ""


def sniff(data: bytes, name: str = "") -> Format:
    """The kind of document. Raises ExtractionError "unsupported" for unknown content."""
    head = _ascii_view(data[:HEAD])
    if binary := _by_magic(data, head):
        return binary
    named = SUFFIXES.get(os.path.splitext(name)[1].lower())
    if marked_up := _markup(head, named):
        return marked_up
    if is_mail_name(name) and is_mail(head):
        raise ExtractionError(
            "unsupported",
            "this is a mail, whose headers and encoded parts would count as words: neardup index and Collection.index "
            "read mails; to read it as text, give --format text",
        )
    if named == "pdf":
        return "pdf" if data.strip() else "text"
    if is_binary(head):
        raise ExtractionError("unsupported", "binary data of no known kind")
    if data[:1] in (b".", b"'", b"\n"):
        from indexer.extract.markup.man import is_man

        if is_man(data):
            return "man"
    if b"-->" in head or head.startswith(b"WEBVTT"):
        from indexer.extract.subtitles import is_subtitles

        if is_subtitles(head):
            return "subtitles"
    # XML begins with a tag.
    return "text" if named in (None, "xml") else named


def kind_of_head(head: bytes) -> Format | None:
    try:
        return sniff(head)
    except ExtractionError:
        return None


def _by_magic(data: bytes, head: bytes) -> Format | None:
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(_ZIP):
        from indexer.extract.packages import kind_of_package

        if kind := kind_of_package(data):
            return kind
    if head.startswith(MICROSOFT_MAGIC):
        from indexer.extract.microsoft import kind_of_microsoft

        if kind := kind_of_microsoft(data):
            return kind
    if head.startswith(_IMAGES):
        return "image"
    for magic, what in _MAGIC:
        if head.startswith(magic):
            raise ExtractionError("unsupported", f"this is {what}")
    return None


def _markup(head: bytes, named: Format | None) -> Format | None:
    start = head.lstrip()
    if not start.startswith(b"<"):
        return None
    while prologue := _PROLOGUE.match(start):
        start = start[prologue.end() :].lstrip()
    declared = head.lstrip().startswith(b"<?xml")
    # Of tags that XML may have too, only the root of HTML identifies it.
    if (_HTML_ROOT if declared or named == "xml" else _HTML).match(start):
        return "html"
    if declared and (named != "html" or _ELEMENT.match(start)):
        return "xml"
    if named in ("html", "xml"):
        return named
    if _XML.match(head) and (_MARKUP_END.search(head) or b"xmlns" in head):
        return "xml"
    return None


def is_mail(head: bytes) -> bool:
    """True for bytes with the beginning of a mail (RFC 5322)."""
    fields = _FIELDS.match(head)
    if not fields:
        return False
    names = {found.lower() for found in _FIELD.findall(fields[0])}
    return len(names & _OF_MAIL) >= (1 if b"from" in names else 2)


def is_encoded_mail(data: bytes) -> bool:
    """True for a mail that does not read as a text, and for a mailbox with one."""
    if not is_mail(_ascii_view(data[:HEAD])):
        return False
    where = data if data.startswith(_MAILBOX) else _FIELDS_END.split(data[:_MOST_FIELDS], 1)[0]
    return _ENCODED.search(where) is not None


def _ascii_view(head: bytes) -> bytes:
    """The head without byte-order marks, with UTF-16 as ASCII, so that one set of patterns fits all."""
    if head.startswith(codecs.BOM_UTF8):
        return head[3:]
    for bom, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(bom):
            return head[2:].decode(codec, "replace").encode("utf-8")
    for pattern, codec in ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be")):
        if head.startswith(pattern):
            return head.decode(codec, "replace").encode("utf-8")
    return head


def is_binary(head: bytes) -> bool:
    if not _BINARY.search(head):
        return False
    # UTF-16 text is full of zero bytes, and a stray control character does not make a text binary.
    from indexer.extract.text import decode

    text, codec = decode(head)
    marks = sum(1 for c in text if (c < " " and c not in "\t\n\r\f\x1b") or c == "\ufffd")
    return marks > (0.3 if codec.startswith("utf-16") else 0.02) * len(text)
