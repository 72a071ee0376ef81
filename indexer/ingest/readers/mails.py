"""Mails and mailboxes: each mail a document, and each attachment one of its own, named after its mail."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import email
import email.utils
import hashlib
import html
import io
import mimetypes
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from typing import Any, BinaryIO, ClassVar

from indexer.errors import NeardupError
from indexer.extract.formats import Format
from indexer.ingest.readers.archives import Archive, bounded, entry_of_error
from indexer.ingest.readers.base import MARK, BadEntry, FileEntry, ReaderOptions, skip_line
from indexer.ingest.readers.compression import decompressed
from indexer.text.counts import counted
from indexer.text.quotations import own_words

# A mail with more parts, or parts deeper in parts, is made to take time.
_MOST_PARTS, _DEEPEST = 1_000, 12
_LONGEST_FIELD = 10_000
_LONGEST_NAME = 120
# RFC 4155: the line before each mail of a mailbox, with a date as asctime() writes it.
_SEPARATOR = re.compile(rb"From \S.*\d\d:\d\d.* \d{4}\s*$")
_QUOTED_SEPARATOR = re.compile(rb">+From ")
# What is the same in each copy of a mail; other fields tell of its way.
_FIELDS = ("From", "To", "Cc", "Date", "Subject", "Message-ID")
_HEAD = re.compile(rb"(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)+")
# A maildir's file: in one of its folders, by the time of delivery.
_IN_MAILDIR = re.compile(r"(?:^|/)(?:cur|new)/\d{6,}\.[^/]+$")
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\\]+")


@dataclass(frozen=True, slots=True)
class BodyPart:
    """A part of a mail's body, as text or as HTML."""

    text: str
    is_html: bool


class Mail(Archive):
    """A mail (RFC 5322), also as Apple Mail keeps it, and web pages saved as one (MHTML, RFC 2557).

    Its text is the best part of its body, and of that only the mail's own words. Attached files and mails are
    members; a line for each, with a digest of it, ends the mail's text, since two mails are one only with their
    attachments.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".eml", ".emlx", ".mht", ".mhtml")
    is_document = True

    def takes(self, name: str) -> bool:
        """True for the files of a maildir too."""
        return super().takes(name) or _IN_MAILDIR.search(name) is not None

    def entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:
        """The mail, then its attachments."""
        try:
            data = bounded(decompressed(stream, name, asked), asked.limit)
            mail, parts = self._read(data, name, asked.limit), _MailParts()
            body = parts.body(mail)
            yield self._entry(mail, body, parts.attached, data)
            for member, attached in parts.attached.items():
                yield from self._member(_opener(attached), member, len(attached), asked)
        except NeardupError:
            raise
        except RecursionError:
            yield BadEntry(0, "malformed", "nested too deeply")
        except Exception as error:
            yield entry_of_error(error, "")

    def _read(self, data: bytes, name: str, limit: int) -> Message:  # noqa: ARG002
        return email.message_from_bytes(_message_of(data, name))

    def _entry(self, mail: Message, body: list[BodyPart], attached: Mapping[str, bytes], data: bytes) -> FileEntry:  # noqa: ARG002
        return _entry(mail, body, attached)


class Mailbox(Archive):
    """A mailbox (RFC 4155): its mails are members, each named by a digest of what is the same in all of its copies."""

    suffixes = (".mbox",)

    def entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:
        """The mails and their attachments, in the order of the mailbox."""
        # A mailbox is no archive around its mails: these may have archives attached all the same.
        inside = dataclasses.replace(asked, depth=asked.depth - 1)
        try:
            lines = decompressed(stream, name, asked)
            for number, raw in enumerate(_mails(lines, asked.limit), 1):
                if raw is None:
                    yield BadEntry(number, "too-large", f"a mail over the limit of {counted(asked.limit, 'byte')}")
                    continue
                yield from self._member(_opener(raw), f"{_digest(raw)}.eml", len(raw), inside)
        except NeardupError:
            raise
        except Exception as error:
            yield dataclasses.replace(entry_of_error(error, ""), is_last=True)


class _MailParts:
    """The parts of a mail: pieces of its body, and files with their names."""

    def __init__(self) -> None:
        self.attached: dict[str, bytes] = {}
        self._count = 0

    def body(self, part: Message, depth: int = 0) -> list[BodyPart]:
        """The pieces of the body in a part; files in it are attached. NotImplementedError for too many parts."""
        self._count += 1
        if self._count > _MOST_PARTS or depth > _DEEPEST:
            raise NotImplementedError(
                f"a mail of more than {counted(_MOST_PARTS, 'part')}, or of parts more than {_DEEPEST} deep"
            )
        kind = part.get_content_type()
        inner: Any = part.get_payload()
        if kind == "message/rfc822" and isinstance(inner, list) and inner:
            self._attach(f"{_field(inner[0], 'Subject') or 'mail'}.eml", _enclosed(part, inner[0]))
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
            plain = (choice for choice in choices if not any(piece.is_html for piece in choice))
            return next(plain, choices[-1] if choices else [])
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
            name = f"part{mimetypes.guess_extension(kind) or ''}"
        stem, suffix = os.path.splitext(name)
        name = stem[: _LONGEST_NAME - len(suffix)] + suffix[:_LONGEST_NAME]
        member, number = name, 1
        while member in self.attached:
            number += 1
            member = f"{number}-{name}"
        self.attached[member] = data


def _entry(mail: Message, body: list[BodyPart], attached: Mapping[str, bytes]) -> FileEntry:
    """The document of the mail itself."""
    last = "\n".join(f"{member} {hashlib.sha256(data).hexdigest()[:16]}" for member, data in attached.items())
    is_html = any(piece.is_html for piece in body)
    if is_html:
        pieces = [piece.text if piece.is_html else _as_html(own_words(piece.text)) for piece in body]
        data = MARK + "<hr>".join(filter(None, [*pieces, _as_html(last)])).encode("utf-8", "replace")
    else:
        words = own_words("\n".join(piece.text for piece in body))
        data = f"{words}\n{last}".strip().encode("utf-8", "replace")
    about = {name.lower().replace("-", "_"): _field(mail, name) for name in ("From", "To", "Cc", "Message-ID")}
    about["date"] = _date(mail)
    url = _field(mail, "Snapshot-Content-Location") or _field(mail, "Content-Location")
    return FileEntry(
        *(0, "", data, _kind(url, is_html=is_html), _field(mail, "Subject"), url if "://" in url[:20] else ""),
        {name: value for name, value in about.items() if value},
    )


def _kind(url: str, *, is_html: bool) -> Format:
    """The format of a mail's text; a web page that was saved as one quotes no mail."""
    return ("html" if url else "mail") if is_html else "text"


def _as_html(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>" if text else ""


def _enclosed(part: Message, mail: Message) -> bytes:
    """The bytes of a mail in a mail, also where it was encoded, which RFC 2046, section 5.2.1, forbids."""
    if str(part.get("Content-Transfer-Encoding") or "").strip().lower() == "base64":
        with contextlib.suppress(ValueError):
            return base64.b64decode(str(mail.get_payload()))
    return bytes(mail)


def _message_of(data: bytes, name: str) -> bytes:
    """The mail in a file; Apple Mail writes its size before it and facts of its own behind."""
    first, _, rest = data[:32].partition(b"\n")
    if name.lower().endswith(".emlx") and first.strip().isdigit():
        start = len(data[:32]) - len(rest)
        return data[start : start + int(first)]
    return data[data.find(b"\n") + 1 :] if data.startswith(b"From ") else data


def _mails(lines: BinaryIO, limit: int) -> Iterator[bytes | None]:
    """The mails of a mailbox; None for one over the limit."""
    mail: list[bytes] | None = None
    size, is_blank = 0, True
    while line := lines.readline(limit + 1):
        if len(line) > limit:
            if not line.endswith(b"\n"):
                skip_line(lines)
            size = limit + 1
        elif is_blank and _SEPARATOR.match(line):
            if mail is not None:
                yield b"".join(mail) if size <= limit else None
            mail, size = [], 0
        elif mail is None and line.strip():
            raise ValueError("a mailbox begins with a line such as `From ann@example.org Mon Jan  5 10:00:00 2026`")
        elif mail is not None:
            size += len(line)
            if size <= limit:
                mail.append(line[1:] if _QUOTED_SEPARATOR.match(line) else line)
        is_blank = not line.strip()
    if mail is not None:
        yield b"".join(mail) if size <= limit else None


def _digest(raw: bytes) -> str:
    raw = raw.replace(b"\r\n", b"\n")
    head = _HEAD.match(raw)
    start = head.end() if head else 0
    mail = email.message_from_bytes(raw[:start])
    digest = hashlib.sha256()
    for name in _FIELDS:
        digest.update(f"{name}: {_field(mail, name)}\n".encode("utf-8", "replace"))
    digest.update(raw[start:].strip())
    return digest.hexdigest()[:32]


def _opener(data: bytes) -> Any:
    return lambda: io.BytesIO(data)


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


def _field(mail: Message, name: str) -> str:
    return header_text(str(mail.get(name) or "")[:_LONGEST_FIELD])


def _date(mail: Message) -> str:
    try:
        return email.utils.parsedate_to_datetime(_field(mail, "Date")).isoformat()
    except (TypeError, ValueError, OverflowError):
        return ""


def header_text(value: str) -> str:
    """The value of a header with its encoded words (RFC 2047) read, and on one line."""
    with contextlib.suppress(LookupError, ValueError, MessageError):
        value = str(make_header(decode_header(value)))
    return " ".join(value.encode("utf-8", "replace").decode("utf-8").split())
