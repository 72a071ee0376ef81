"""Mails as Outlook saves them (MS-OXMSG)."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.util
import io
import struct
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.header import Header
from email.message import Message
from email.parser import HeaderParser
from email.utils import format_datetime, formataddr
from typing import Any

from indexer.extract.formats import MICROSOFT_MAGIC, Format
from indexer.extract.mails import LONGEST_FIELD, BodyPart, field_of, header_text
from indexer.extract.text import decode
from indexer.ingest.readers.base import ColumnNames, FileEntry
from indexer.ingest.readers.mails import Mail
from indexer.text.counts import counted

# Properties of MS-OXPROPS, by their numbers.
_SUBJECT, _HEADERS, _PLAIN, _HTML, _MESSAGE_ID = 0x0037, 0x007D, 0x1000, 0x1013, 0x1035
_SENDER, _ADDRESSES, _TO, _CC, _SENT = 0x0C1A, (0x5D01, 0x0C1F), 0x0E04, 0x0E03, 0x0039
_DATA, _NAMES, _TYPE, _CONTENT_ID, _IS_HIDDEN = 0x3701, (0x3707, 0x3704, 0x3001), 0x370E, 0x3712, 0x7FFE
# Their types, as the names of streams have them: text in UTF-16, text in eight bits, bytes, and a mail in the mail.
_WIDE, _NARROW, _BYTES, _STORAGE = "001F", "001E", "0102", "000D"
_STREAM = 2
_FIXED = "__properties_version1.0"
# MS-OXMSG 2.4.1: the bytes before the properties of fixed length, in a mail, a mail within it, and an attachment.
_OUTER, _INNER, _OF_ATTACHMENT = 32, 24, 8
_MOST_ATTACHMENTS, _DEEPEST = 1_000, 4
_CODE_PAGES, _UTF_8 = (0x3FFD, 0x3FDE), 65001
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def is_read_here() -> bool:
    return importlib.util.find_spec("olefile") is not None


class OutlookMail(Mail):
    """A mail saved by Outlook, read by olefile, or by kreuzberg if its body is RTF alone."""

    suffixes = (".msg",)

    def fits(self, head: bytes, kind: Format | None, columns: ColumnNames) -> bool:  # noqa: ARG002
        return kind is None or head.startswith(MICROSOFT_MAGIC)

    def takes(self, name: str) -> bool:
        """True if the library is installed; without it the mail is one document without attachments."""
        return name.endswith(self.suffixes) and is_read_here()

    def _read(self, data: bytes, name: str, limit: int) -> Message:  # noqa: ARG002
        try:
            return mail_of_outlook(data, limit)
        except (OverflowError, NotImplementedError):
            raise
        except Exception:
            # What is damaged for one library may not be so for the other, which says what is wrong.
            return Message()

    def _entry(self, mail: Message, body: list[BodyPart], attached: Mapping[str, bytes], data: bytes) -> FileEntry:
        made = super()._entry(mail, body, attached, data)
        return made if body else dataclasses.replace(made, data=data, format="msg")


def mail_of_outlook(data: bytes, limit: int) -> Message:
    """The mail in the bytes of a file; its body is empty if Outlook kept it as RTF alone.

    Raises OverflowError for more than `limit` bytes of attachments, NotImplementedError for more than a thousand, and
    any error of the library on damage.
    """
    olefile: Any = importlib.import_module("olefile")
    with olefile.OleFileIO(io.BytesIO(data)) as opened:
        return _OutlookFile(opened, limit).mail([], _OUTER, 0)


class _OutlookFile:
    def __init__(self, opened: Any, limit: int) -> None:
        self._opened, self._left, self._attachments = opened, limit, 0
        self._storages = defaultdict[tuple[str, ...], list[str]](list)
        for path in opened.listdir(streams=False, storages=True):
            if path[-1].startswith("__attach"):
                self._storages[tuple(path[:-1])].append(path[-1])
        fixed = self._fixed([], _OUTER)
        page = next(filter(None, map(fixed.get, _CODE_PAGES)), 0)
        self._encoding = "utf-8" if page == _UTF_8 else f"cp{page}"

    def mail(self, at: list[str], start: int, depth: int) -> Message:
        # Imported here, as below: each run loads this module, and few meet such a mail.
        from email.mime.multipart import MIMEMultipart
        from email.mime.text import MIMEText

        made = MIMEMultipart()
        head = HeaderParser().parsestr(self._text(at, _HEADERS))
        address = next(filter(None, (self._text(at, each) for each in _ADDRESSES)), "")
        own = {
            "From": formataddr((self._text(at, _SENDER), address)) if "@" in address else self._text(at, _SENDER),
            "To": self._text(at, _TO),
            "Cc": self._text(at, _CC),
            "Subject": self._text(at, _SUBJECT),
            "Message-ID": self._text(at, _MESSAGE_ID),
            "Date": self._date(at, start),
        }
        for name, value in own.items():
            if said := field_of(head, name) or header_text(value[:LONGEST_FIELD]):
                made[name] = Header(said, "utf-8").encode()
        if plain := self._text(at, _PLAIN):
            made.attach(MIMEText(plain, "plain", "utf-8"))
        elif html := self._text(at, _HTML):
            made.attach(MIMEText(html, "html", "utf-8"))
        for storage in self._storages[tuple(at)]:
            self._attachments += 1
            if self._attachments > _MOST_ATTACHMENTS:
                raise NotImplementedError(f"a mail with more than {counted(_MOST_ATTACHMENTS, 'attachment')}")
            if attached := self._attached([*at, storage], depth):
                made.attach(attached)
        return made

    def _attached(self, at: list[str], depth: int) -> Message | None:
        from email.mime.application import MIMEApplication
        from email.mime.message import MIMEMessage

        inner = [*at, f"__substg1.0_{_DATA:04X}{_STORAGE}"]
        if self._opened.exists([*inner, _FIXED]):
            return MIMEMessage(self.mail(inner, _INNER, depth + 1)) if depth < _DEEPEST else None
        kind = self._text(at, _TYPE)
        is_shown = self._text(at, _CONTENT_ID) and kind.startswith("image/")
        data = self._bytes(at, _DATA, _BYTES)
        if data is None or is_shown or self._fixed(at, _OF_ATTACHMENT).get(_IS_HIDDEN, 0) & 1:
            return None
        name = next(filter(None, (self._text(at, each) for each in _NAMES)), "")
        made = MIMEApplication(data)
        made.add_header("Content-Disposition", "attachment", filename=("utf-8", "", name))
        return made

    def _text(self, at: list[str], number: int) -> str:
        wide = self._bytes(at, number, _WIDE)
        if wide is not None:
            return wide.decode("utf-16-le", "replace").rstrip("\0").encode("utf-8", "replace").decode("utf-8")
        narrow = self._bytes(at, number, _NARROW) or self._bytes(at, number, _BYTES) or b""
        try:
            return narrow.decode(self._encoding).rstrip("\0")
        except (LookupError, UnicodeDecodeError):
            return decode(narrow)[0].rstrip("\0")

    def _bytes(self, at: list[str], number: int, kind: str) -> bytes | None:
        path = [*at, f"__substg1.0_{number:04X}{kind}"]
        if not self._opened.exists(path) or self._opened.get_type(path) != _STREAM:
            return None
        # Streams of one file may share their bytes, so that they are more than the file.
        self._left -= self._opened.get_size(path)
        if self._left < 0:
            raise OverflowError("attachments that take more than the file may")
        data: bytes = self._opened.openstream(path).read()
        return data

    def _fixed(self, at: list[str], start: int) -> dict[int, int]:
        path = [*at, _FIXED]
        data: bytes = self._opened.openstream(path).read() if self._opened.exists(path) else b""
        whole = data[start : start + (len(data) - start) // 16 * 16]
        return {number: value for _, number, _, value in struct.iter_unpack("<HHIQ", whole)}

    def _date(self, at: list[str], start: int) -> str:
        with contextlib.suppress(OverflowError, ValueError):
            if ticks := self._fixed(at, start).get(_SENT):
                return format_datetime(_EPOCH + timedelta(microseconds=ticks // 10))
        return ""
