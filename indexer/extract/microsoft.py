"""RTF, Microsoft Office documents and Outlook mails, read by a library."""

from __future__ import annotations

import functools
import importlib
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from indexer.errors import ExtractionError
from indexer.extract.base import COMMENTER, Limits, PartsLeftOut
from indexer.extract.formats import MICROSOFT_MAGIC, Format
from indexer.extract.packages.office import parts_beside
from indexer.extract.packages.parts import PackageParts
from indexer.extract.text import TABLE_CELL, cleaned, in_blocks, marked
from indexer.model import Document

_RTF = MICROSOFT_MAGIC[0]
# The streams that tell the documents in compound files apart (MS-DOC 2.1, MS-XLS 2.1, MS-PPT 2.1, MS-OXMSG 2.2).
_STREAMS: Mapping[str, Format] = {
    "WordDocument": "doc",
    "Workbook": "xls",
    "WORKBOOK": "xls",
    "Book": "xls",
    "PowerPoint Document": "ppt",
    "__properties_version1.0": "msg",
}
# The library gives the code of a field (MS-DOC 2.8.25) before what it shows, and SHAPE alone for a picture; the same
# text as DOCX has no such words.
_ARGUMENT = r"""(?:\s+(?:\\[a-z]|\\\*\s*\w{1,20}|"[^"\n]{0,2000}"|_\w{1,40}))"""
_GAP = re.compile(r" (?= )|^ ")
_FIELD_CODE = re.compile(
    rf"""\b(?:(?:HYPERLINK|PAGEREF|REF|TOC|SEQ|EMBED){_ARGUMENT}+
    |SEQ\s+\w{{1,40}}{_ARGUMENT}+|EMBED\s+(?:Package\b|\w{{1,40}}(?:\.\w{{1,40}}){{1,3}}){_ARGUMENT}*)\s*
    |(?:^|(?<=\t))(?:[ ]SHAPE[ ])+(?=\t|$)""",
    re.MULTILINE | re.VERBOSE,
)
# The library takes a picture without data for damage of the whole document.
_PICTURE = re.compile(rb"<((?:\w{1,9}:)?)pic[ >].*?</\1pic>", re.DOTALL)
# What the library passes over in RTF (1.9.1, page 9), and the groups in it that hold no text of their own.
_RTF_ASIDE = {
    **dict.fromkeys((b"header", b"headerl", b"headerr", b"headerf"), "page header"),
    **dict.fromkeys((b"footer", b"footerl", b"footerr", b"footerf"), "page footer"),
    b"footnote": "footnote",
    b"annotation": "comment",
}
_RTF_NO_TEXT = frozenset((b"pict", b"fldinst", b"object", b"listtext", b"atnref", b"atndate"))
_RTF_SPACES = frozenset((b"par", b"line", b"tab", b"cell"))
_RTF_PIECE = re.compile(rb"\\'([0-9a-fA-F]{2})|\\([a-z]{1,32})(-?[0-9]{1,9})? ?|\\([^a-z'])|([{}])|([^\\{}\r\n]+)")
_ENCRYPTED = ("EncryptedPackage", "EncryptionInfo")
_ROOTS: Mapping[Format, str] = {"pptx": "ppt", "xlsx": "xl"}
_TYPES: Mapping[Format, str] = {
    "rtf": "application/rtf",
    "doc": "application/msword",
    "ppt": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "msg": "application/vnd.ms-outlook",
}


def kind_of_microsoft(data: bytes) -> Format | None:
    """The kind of bytes with the magic number of these documents; None for another kind.

    Raises ExtractionError "encrypted" for a document with a password.
    """
    if data.startswith(_RTF):
        return "rtf"
    if all(_stream(name) in data for name in _ENCRYPTED):
        raise ExtractionError("encrypted", "the document has a password")
    # A mail, or a document with others in it, has their streams too: what stands first is the file's own.
    places = {data.find(_stream(name)): kind for name, kind in _STREAMS.items()}
    found = {place: kind for place, kind in places.items() if place >= 0}
    return "msg" if "msg" in found.values() else found[min(found)] if found else None


def extract_microsoft(kind: Format, data: bytes, limits: Limits) -> Document:
    """The document in an Office file.

    Raises ExtractionError "unsupported" without the library, "encrypted", or "malformed".
    """
    notes: tuple[str, ...] = ()
    try:
        found = _found(kind, data)
    except ExtractionError as error:
        if kind != "pptx" or error.reason != "malformed":
            raise
        found = _found(kind, _without_pictures(data, limits))
        notes = (f"read without its pictures: {error.detail}",)
    metadata = found.metadata
    title, text = metadata.get("title") or metadata.get("subject") or "", found.content
    if kind == "msg":
        # The library writes the header before the body, a blank line between.
        title, text = metadata.get("subject") or "", text.partition("\n\n")[2]
    elif kind == "doc":
        text = _FIELD_CODE.sub("", text)
    name = f"kreuzberg {_library(kind)[0].__version__} ({kind.upper()})"
    left_out = _cells_behind_gaps(text) if kind in ("xls", "xlsx") else ()
    text = in_blocks(marked(text))
    left_out += _beside(kind, data, text, limits)
    return Document(text, cleaned(title), extractor=name, notes=notes, left_out=left_out)


def _found(kind: Format, data: bytes) -> Any:
    library, asked = _library(kind)
    try:
        return library.extract_bytes_sync(data, _TYPES[kind], asked)
    except BaseException as error:
        # A panic of the library is no Exception; what else is none is not for here.
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        if "password" in str(error):
            raise ExtractionError("encrypted", "the document has a password") from None
        raise ExtractionError("malformed", cleaned(str(error))) from None


def _cells_behind_gaps(text: str) -> PartsLeftOut:
    # The library writes a space between two cells, also between empty ones.
    rows = [_GAP.sub(" |", row) for row in map(str.rstrip, text.split("\n")) if _GAP.search(row)]
    return ((TABLE_CELL, "; ".join(rows)),) if rows else ()


def _without_pictures(data: bytes, limits: Limits) -> bytes:
    made = io.BytesIO()
    with PackageParts(data, limits) as parts, zipfile.ZipFile(made, "w") as archive:
        for name in parts.names(""):
            if not name.startswith("ppt/media/"):
                part = parts.read(name)
                archive.writestr(name, _PICTURE.sub(b"", part) if name.startswith("ppt/slide") else part)
    return made.getvalue()


def _beside(kind: Format, data: bytes, text: str, limits: Limits) -> tuple[tuple[str, str], ...]:
    """The parts that the library does not read, which are not worth a document's failure."""
    beside = list[tuple[str, str]]()
    if kind == "rtf" and any(rb"\%s" % name in data for name in _RTF_ASIDE):
        beside = [(name, cleaned(part)) for name, part in _beside_rtf(data)]
    elif kind in _ROOTS:
        with suppress(ExtractionError), PackageParts(data, limits) as parts:
            beside = parts_beside(parts, _ROOTS[kind], "fast")
    return tuple((name, part) for name, part in beside if name == COMMENTER or (part and part not in text))


def _beside_rtf(data: bytes) -> Iterator[tuple[str, str]]:
    depth = within = begin = 0
    kind = ""
    for piece in _RTF_PIECE.finditer(data):
        depth += piece[5] == b"{"
        if not within and (kind := _RTF_ASIDE.get(piece[2] or b"", "")):
            within, begin = depth, piece.end()
        if piece[5] == b"}":
            if within == depth:
                # A character beyond the first plane is written as two halves.
                pieces = _RTF_PIECE.finditer(data, begin, piece.start())
                text = "".join(_rtf_words(pieces)).encode("utf-16-le", "surrogatepass")
                yield kind, text.decode("utf-16-le", "replace")
                within = 0
            depth -= 1


def _rtf_words(pieces: Iterable[re.Match[bytes]]) -> Iterator[str]:
    silent = skipped = 0
    depth = fallback = 1
    for piece in pieces:
        code, word, number, _, brace, plain = piece.groups()
        if brace:
            silent = 0 if brace == b"}" and silent == depth else silent
            depth += 1 if brace == b"{" else -1
        elif silent:
            continue
        elif word in _RTF_NO_TEXT:
            silent = depth
        elif word == b"uc":
            fallback = int(number or 1)
        elif word == b"u":
            yield chr(int(number or 0) % 0x10000)
            skipped = fallback
        elif word:
            yield " " if word in _RTF_SPACES else ""
        elif plain or skipped:
            yield (plain or b"")[skipped:].decode("ascii", "replace")
            skipped = max(0, skipped - len(plain or b"."))
        elif code:
            yield bytes.fromhex(code.decode()).decode("cp1252", "replace")


def _stream(name: str) -> bytes:
    return name.encode("utf-16-le") + b"\0\0"


@functools.cache
def _library(kind: Format) -> tuple[Any, Any]:
    try:
        library = importlib.import_module("kreuzberg")
    except ModuleNotFoundError:
        raise ExtractionError(
            "unsupported",
            f"{kind.upper()} is read by kreuzberg, which is not installed: pip install 'neardup[formats]'",
        ) from None
    # Pictures are not read for words, and nothing is written anywhere.
    asked = library.ExtractionConfig(
        use_cache=False, enable_quality_processing=False, disable_ocr=True, output_format="plain"
    )
    return library, asked
