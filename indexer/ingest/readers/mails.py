"""Mails and mailboxes: mails and attachments as documents."""

from __future__ import annotations

import dataclasses
import email.utils
import hashlib
import io
import re
from collections.abc import Iterator, Mapping
from email.message import Message
from typing import Any, BinaryIO, ClassVar

from indexer.extract.formats import Format
from indexer.extract.mails import SEPARATOR, BodyPart, MailParts, field_of, parsed_mail, url_of, words_of_mail
from indexer.extract.sniffing import is_mail
from indexer.ingest.readers.archives import Archive, bounded, entry_of_error
from indexer.ingest.readers.base import BadEntry, ColumnNames, FileEntry, ReaderOptions, skip_line
from indexer.ingest.readers.compression import decompressed
from indexer.text.counts import counted

_SEPARATOR = re.compile(SEPARATOR)
_QUOTED_SEPARATOR = re.compile(rb">+From ")
# What is the same in each copy of a mail; other fields tell of its way.
_FIELDS = ("From", "To", "Cc", "Date", "Subject", "Message-ID")
_HEAD = re.compile(rb"(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)+")
# A maildir's file: in one of its folders, by the time of delivery.
_IN_MAILDIR = re.compile(r"(?:^|/)(?:cur|new)/\d{6,}\.[^/]+$")


class Mail(Archive):
    """A mail (RFC 5322), also as Apple Mail keeps it, and web pages saved as one (MHTML, RFC 2557).

    Its text is the mail's own words in the best part of its body. Attached files and mails are members; a line for
    each, with a digest of it, ends the mail's text, since equal mails need equal attachments.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".eml", ".emlx", ".mht", ".mhtml")
    is_document = True

    def fits(self, head: bytes, kind: Format | None, columns: ColumnNames) -> bool:
        return kind == "text" or is_mail(head) or super().fits(head, kind, columns)

    def takes(self, name: str) -> bool:
        return super().takes(name) or _IN_MAILDIR.search(name) is not None

    def _entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:
        data = bounded(decompressed(stream, name, asked), asked.limit)
        mail, parts = self._read(data, name, asked.limit), MailParts()
        body = parts.body(mail)
        yield self._entry(mail, body, parts.attached, data)
        for member, attached in parts.attached.items():
            yield from self._member(_opener(attached), member, len(attached), asked)

    def _read(self, data: bytes, name: str, limit: int) -> Message:  # noqa: ARG002
        return parsed_mail(_message_of(data, name))

    def _entry(self, mail: Message, body: list[BodyPart], attached: Mapping[str, bytes], data: bytes) -> FileEntry:  # noqa: ARG002
        words, kind, left_out = words_of_mail(mail, body, attached)
        about = {name.lower().replace("-", "_"): field_of(mail, name) for name in ("From", "To", "Cc", "Message-ID")}
        about["date"] = _date(mail)
        url = url_of(mail)
        return FileEntry(
            *(0, "", words, kind, field_of(mail, "Subject"), url if "://" in url[:20] else ""),
            {name: value for name, value in about.items() if value},
            left_out=left_out,
        )  # fmt: skip


class Mailbox(Archive):
    """A mailbox (RFC 4155): its mails are members, each named by a digest of the part common to all its copies."""

    suffixes = (".mbox",)

    def fits(self, head: bytes, kind: Format | None, columns: ColumnNames) -> bool:
        return head.lstrip().startswith(b"From ") or super().fits(head, kind, columns)

    def _entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:
        # A mailbox is no archive around its mails: these may have archives attached all the same.
        inside = dataclasses.replace(asked, depth=asked.depth - 1)
        lines = decompressed(stream, name, asked)
        for number, raw in enumerate(_mails(lines, asked.limit), 1):
            if raw is None:
                yield BadEntry(number, "too-large", f"a mail over the limit of {counted(asked.limit, 'byte')}")
                continue
            try:
                name_of_mail = f"{_digest(raw)}.eml"
            except Exception as error:
                # One mail that is made to fail hides none of those behind it.
                yield dataclasses.replace(entry_of_error(error, ""), number=number)
                continue
            yield from self._member(_opener(raw), name_of_mail, len(raw), inside)


def _message_of(data: bytes, name: str) -> bytes:
    first, _, rest = data[:32].partition(b"\n")
    if name.lower().endswith(".emlx") and first.strip().isdigit():
        start = len(data[:32]) - len(rest)
        return data[start : start + int(first)]
    return data[data.find(b"\n") + 1 :] if data.startswith(b"From ") else data


def _mails(lines: BinaryIO, limit: int) -> Iterator[bytes | None]:
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
    mail = parsed_mail(raw[:start], head_only=True)
    digest = hashlib.sha256()
    for name in _FIELDS:
        digest.update(f"{name}: {field_of(mail, name)}\n".encode("utf-8", "replace"))
    digest.update(raw[start:].strip())
    return digest.hexdigest()[:32]


def _opener(data: bytes) -> Any:
    return lambda: io.BytesIO(data)


def _date(mail: Message) -> str:
    try:
        return email.utils.parsedate_to_datetime(field_of(mail, "Date")).isoformat()
    except (TypeError, ValueError, OverflowError):
        return ""
