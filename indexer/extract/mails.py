"""The own words of a mail."""

from __future__ import annotations

import base64
import codecs
import contextlib
import hashlib
import html
import mimetypes
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.errors import MessageError, MissingHeaderBodySeparatorDefect
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesHeaderParser, BytesParser
from email.policy import Compat32
from typing import Any

from indexer.errors import ExtractionError
from indexer.extract.base import QUOTED, PartsLeftOut
from indexer.extract.formats import Format
from indexer.extract.text import cleaned
from indexer.text.counts import counted
from indexer.text.quotations import beside, own_words

# A mail with more parts, or parts deeper in parts, is made to take time. Mails in mails may be a little deeper.
_MOST_PARTS, _DEEPEST, _DEEPEST_MAILS = 1_000, 12, 48
LONGEST_FIELD = 10_000
_LONGEST_NAME = 120
# RFC 4155: the line before each mail of a mailbox, with a date as asctime() writes it.
SEPARATOR = rb"From \S[^\n]{0,300}\d\d:\d\d[^\n]{0,60} \d{4}[ \t\r]*$"
_SEPARATORS = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))" + SEPARATOR + rb"\n", re.MULTILINE)
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_MALFORMED = re.compile(rb"(\n)(?![!-9;-~]+[ \t]*:|[ \t])")
_REQUIRED = {name: re.compile(rb"\n" + name.encode() + rb"[ \t]*:", re.IGNORECASE) for name in ("From", "Date")}
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\\]+")


class _ShortFields(Compat32):
    """Fields as the standard library reads them; it takes quadratic time for a long one with parameters."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        if len(value) > LONGEST_FIELD and name.lower() in ("content-type", "content-disposition"):
            raise NotImplementedError(f"a mail with a {name} of {counted(len(value), 'character')}")
        return super().header_fetch_parse(name, value)


class _ShallowMessage(Message):
    """A mail or part of one. Each of its lines is compared with the boundaries of all parts around it."""

    _depth = 0

    def attach(self, payload: Any) -> None:
        payload._depth = self._depth + 1
        if payload._depth > _DEEPEST_MAILS:
            raise NotImplementedError(f"a mail with parts more than {_DEEPEST_MAILS} deep")
        super().attach(payload)


def parsed_mail(data: bytes, *, head_only: bool = False) -> Message:
    """A mail or its head, parsed in time linear in its size. Raises NotImplementedError for a hostile one."""
    parser = (BytesHeaderParser if head_only else BytesParser)(_ShallowMessage, policy=_ShortFields())
    mail = parser.parsebytes(data)
    if any(isinstance(defect, MissingHeaderBodySeparatorDefect) for defect in mail.defects):
        head, *rest = _HEAD_END.split(data, maxsplit=1)
        # RFC 5322, 3.6: each head has both. One that comes later shows a malformed line within it, which continues here
        # what stands before.
        if rest and any(name not in mail and _REQUIRED[name].search(head) for name in _REQUIRED):
            mail = parser.parsebytes(_MALFORMED.sub(rb"\1 ", head) + data[len(head) :])
    return mail


@dataclass(frozen=True, slots=True)
class BodyPart:
    """A part of a mail's body, as text or as HTML."""

    text: str
    is_html: bool


def _says(plain: list[BodyPart], rich: list[BodyPart]) -> bool:
    words = [word for piece in rich for word in _words_of(piece)]
    known = {word for piece in plain for word in _words_of(piece)}
    return 2 * sum(map(known.__contains__, words)) >= len(words)


def _words_of(piece: BodyPart) -> list[str]:
    if not piece.is_html:
        return piece.text.split()
    tags = (each.partition(">") for each in f">{piece.text}".split("<"))
    text = " ".join(words for tag, _, words in tags if not tag[:6].lower().startswith(("style", "script")))
    return html.unescape(text).split()


class MailParts:
    def __init__(self) -> None:
        self.attached: dict[str, bytes] = {}
        self._count = 0

    def body(self, part: Message, depth: int = 0) -> list[BodyPart]:
        self._count += 1
        if self._count > _MOST_PARTS or depth > _DEEPEST:
            raise NotImplementedError(
                f"a mail of more than {counted(_MOST_PARTS, 'part')}, or of parts more than {_DEEPEST} deep"
            )
        kind = part.get_content_type()
        inner: Any = part.get_payload()
        if kind == "message/rfc822" and isinstance(inner, list) and inner:
            self._attach(f"{field_of(inner[0], 'Subject') or 'mail'}.eml", _enclosed(part, inner[0]))
        elif isinstance(inner, list):
            return self._inner(kind, part, inner, depth + 1)
        elif part.get_filename() or part.get_content_disposition() == "attachment":
            self._attach(header_text(part.get_filename() or ""), _payload(part), kind)
        elif kind in ("text/plain", "text/html"):
            text = _text(part)
            return [BodyPart(text, is_html=kind == "text/html")] if text.strip() else []
        else:
            self._attach("", _payload(part), kind)
        return []

    def _inner(self, kind: str, part: Message, inner: list[Message], depth: int) -> list[BodyPart]:
        if kind == "multipart/alternative":
            choices = [choice for each in inner if (choice := self.body(each, depth))]
            plain = next((choice for choice in choices if not any(piece.is_html for piece in choice)), None)
            rich = choices[-1] if choices else []
            return plain if plain and _says(plain, rich) else rich
        if kind == "multipart/related":
            # Pictures and frames of a page, which are no documents; its root is the first part unless one is named.
            root = part.get_param("start")
            named = [each for each in inner if root and each.get("Content-ID") == root]
            if found := self.body((named or inner)[0], depth):
                return found
            inner = [each for each in inner if each.get_content_type() == "text/html"]
        return [piece for each in inner for piece in self.body(each, depth)]

    def _attach(self, name: str, data: bytes, kind: str = "") -> None:
        name = _UNFIT.sub(" ", os.path.basename(name.replace("\\", "/"))).strip(". ")
        if not name:
            # guess_extension reads files of the system, which a worker may not open.
            name = f"part{next((ending for ending, of in mimetypes.types_map.items() if of == kind), '')}"
        stem, suffix = os.path.splitext(name)
        name = stem[: _LONGEST_NAME - len(suffix)] + suffix[:_LONGEST_NAME]
        member, number = name, 1
        while member in self.attached:
            number += 1
            member = f"{number}-{name}"
        self.attached[member] = data


def words_of_mail(
    mail: Message, body: list[BodyPart], attached: Mapping[str, bytes]
) -> tuple[bytes, Format, PartsLeftOut]:
    """The own words of a mail, their format, and what is quoted in its plain text."""
    last = "\n".join(f"{member} {hashlib.sha256(data).hexdigest()[:16]}" for member, data in attached.items())
    is_html = any(piece.is_html for piece in body)
    if is_html:
        own = [piece.text if piece.is_html else own_words(piece.text) for piece in body]
        pieces = [text if piece.is_html else _as_html(text) for piece, text in zip(body, own, strict=True)]
        # As in a browser, the mark outdoes whatever encoding the HTML declares.
        data = codecs.BOM_UTF8 + "<hr>".join(filter(None, [*pieces, _as_html(last)])).encode("utf-8", "replace")
    else:
        body = [BodyPart("\n".join(piece.text for piece in body), is_html=False)]
        own = [own_words(body[0].text)]
        data = f"{own[0]}\n{last}".strip().encode("utf-8", "replace")
    quoted = (beside(piece.text, text) for piece, text in zip(body, own, strict=True))
    left_out = tuple((QUOTED, cleaned(text)) for text in quoted if text)
    return data, _kind(url_of(mail), is_html=is_html), left_out


def read_mail(data: bytes) -> tuple[bytes, Format, str, PartsLeftOut]:
    """The words, format and title of a mail, or of all mails of a mailbox, in a file of another name; what is left out.

    Raises ExtractionError.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    read = [_read(mail) for mail in _SEPARATORS.split(data) if mail.strip()]
    title = next((title for _, _, title, _ in read if title), "")
    left_out = tuple(part for *_, parts in read for part in parts) + ((("subject", title),) if title else ())
    if all(kind == "text" for _, kind, _, _ in read):
        return b"\n\n".join(words for words, *_ in read), "text", title, left_out
    if len(read) == 1:
        return *read[0][:3], left_out
    pieces = (
        _as_html(words.decode("utf-8", "replace")).encode() if kind == "text" else words.removeprefix(codecs.BOM_UTF8)
        for words, kind, *_ in read
    )
    return codecs.BOM_UTF8 + b"<hr>".join(pieces), "mail", title, left_out


def _read(data: bytes) -> tuple[bytes, Format, str, PartsLeftOut]:
    parts = MailParts()
    try:
        mail = parsed_mail(data)
        body = parts.body(mail)
        words, kind, quoted = words_of_mail(mail, body, parts.attached)
    except (NotImplementedError, RecursionError) as error:
        raise ExtractionError("unsupported", f"unreadable as a mail: {error}") from None
    except Exception as error:
        # The parser of the standard library raises whatever it likes on damaged mails.
        raise ExtractionError("malformed", f"unreadable as a mail: {type(error).__name__}: {error}") from None
    return (words, kind, field_of(mail, "Subject"), quoted) if body and words else (data, "text", "", ())


def _kind(url: str, *, is_html: bool) -> Format:
    return ("html" if url else "mail") if is_html else "text"


def _as_html(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>" if text else ""


def _enclosed(part: Message, mail: Message) -> bytes:
    """The bytes of a mail in a mail, also if it was encoded against RFC 2046, section 5.2.1."""
    if str(part.get("Content-Transfer-Encoding") or "").strip().lower() == "base64":
        with contextlib.suppress(ValueError):
            return base64.b64decode(str(mail.get_payload()))
    return bytes(mail)


def _payload(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text(part: Message) -> str:
    data = _payload(part)
    try:
        return data.decode(str(part.get_content_charset() or "utf-8"))
    except (LookupError, UnicodeDecodeError, ValueError):
        from indexer.extract.text import decode

        return decode(data)[0]


def field_of(mail: Message, name: str) -> str:
    return header_text(str(mail.get(name) or "")[:LONGEST_FIELD])


def url_of(mail: Message) -> str:
    return field_of(mail, "Snapshot-Content-Location") or field_of(mail, "Content-Location")


def header_text(value: str) -> str:
    """The value of a header with its encoded words (RFC 2047) read, and on one line."""
    with contextlib.suppress(LookupError, ValueError, MessageError):
        value = str(make_header(decode_header(value)))
    return " ".join(value.encode("utf-8", "replace").decode("utf-8").split())
