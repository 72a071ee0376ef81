"""Read one document in this process."""

from __future__ import annotations

import hashlib
import os
import stat
from codecs import BOM_UTF8
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from indexer.errors import ExtractionError, NeardupError, machines_fault
from indexer.extract.base import BYTES, Limits, Options, too_large
from indexer.extract.brought import brought_by
from indexer.extract.declared import declared_in_text, joined
from indexer.extract.formats import MICROSOFT, Format, is_mail_name, is_text_name
from indexer.extract.sniffing import HEAD, is_binary, is_encoded_mail, sniff, unpack
from indexer.extract.text import cleaned, extract_text, without_mark, without_markdown
from indexer.model import Document, own_files
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.extract.ocr.pages import PageReader

_BLANK = b"\0 \t\r\n\f"
MAX_TITLE = 500
_MAX_DETAIL = 300
# Windows has no such flag.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


def read_file(path: str, limits: Limits) -> bytes:
    try:
        # Without waiting for whoever may write to a pipe.
        with open(path, "rb", opener=lambda name, flags: own_files.reader(name, flags | _NO_WAIT)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ExtractionError("unreadable", f"{path}: a pipe, socket or device, not a file")
            data = file.read(limits.input_bytes + 1)
    except (OSError, ValueError) as error:
        if fault := machines_fault(error, path):
            raise fault from None
        raise ExtractionError("unreadable", f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > limits.input_bytes:
        raise too_large("the file", os.path.getsize(path), limits)
    return data


def read_document(
    data: bytes, name: str, options: Options, limits: Limits, reader: PageReader | None = None
) -> Document:
    """The text of some bytes; `name` helps if the content does not show its kind.

    Raises ExtractionError.
    """
    unpacked = unpack(data, name, limits)
    notes = (unpacked.note,) if unpacked.note else ()
    content = unpacked.data
    if not content[:HEAD].strip(_BLANK) and not content.strip(_BLANK):
        blank = Document("", format=options.format or "text", content=options.content, size=len(data), notes=notes)
        return replace(blank, left_out=_of_bytes(content))
    if options.ocr and reader is None:
        from indexer.extract.ocr.pages import PageReader

        reader = PageReader(options.ocr, limits)
    if brought := brought_by(options.format, unpacked.name):
        kind, extracted = brought.name, brought.document(content)
    elif options.format is None and not is_mail_name(unpacked.name) and is_encoded_mail(content):
        from indexer.extract.mails import read_mail

        words, known, title, beside = read_mail(content)
        read = _read(known, words, options, limits, reader)
        kind, extracted = known, replace(read, title=title or read.title, left_out=read.left_out + beside)
    elif options.format:
        known = cast("Format", options.format)
        kind, extracted = known, _read(known, content, options, limits, reader)
    else:
        kind, extracted = _read_by_content(content, unpacked.name, options, limits, reader)
    # Encoded only if it may matter: no character takes more than four bytes.
    if 4 * len(extracted.text) > limits.input_bytes:
        size = len(extracted.text.encode("utf-8", "replace"))
        if size > limits.input_bytes:
            raise too_large("the text", size, limits)
    return replace(
        extracted,
        title=extracted.title[:MAX_TITLE],
        format=kind,
        content=options.content,
        size=len(data),
        notes=notes + extracted.notes,
        declared=joined(extracted.declared, declared_in_text(extracted.text)),
        left_out=extracted.left_out if extracted.text else extracted.left_out + _of_bytes(content),
    )


def _of_bytes(data: bytes) -> tuple[tuple[str, str], ...]:
    content = data.removeprefix(BOM_UTF8)
    return ((BYTES, hashlib.sha256(content).hexdigest()),) if content else ()


def _read_by_content(
    data: bytes, name: str, options: Options, limits: Limits, reader: PageReader | None
) -> tuple[Format, Document]:
    is_text = is_text_name(name)
    try:
        kind = sniff(data, name)
        # Recovery from bad XML leaves out what stands outside of elements.
        strict = is_text and kind == "xml" and options.extractor == "auto"
        document = _read(kind, data, replace(options, extractor="fast") if strict else options, limits, reader)
        is_markdown = kind == "text" and name.lower().endswith((".md", ".markdown"))
        return kind, without_markdown(document) if is_markdown else document
    except ExtractionError as error:
        if not is_text or is_binary(data[:HEAD]) or error.reason not in ("malformed", "unsupported"):
            raise
        document, why = extract_text(data), f"read as text, as its name says: {error.detail}"
        named = f"{document.extractor}; begins like another format"
        return "text", replace(document, extractor=named, notes=(*document.notes, cleaned(why)))


def _read(kind: Format, data: bytes, options: Options, limits: Limits, reader: PageReader | None) -> Document:
    extractors = ("fast", "reference") if options.extractor == "auto" else (options.extractor,)
    first: Document | ExtractionError | None = None
    for extractor in extractors:
        try:
            extracted = _read_with(kind, extractor, data, options, limits, reader, probe=first is not None)
        except ExtractionError as error:
            if error.reason not in ("malformed", "encrypted"):
                raise
            first = first or error
            continue
        if extracted.text:
            if first is None:
                return extracted
            why = f"failed ({first.detail})" if isinstance(first, ExtractionError) else "found no text"
            return replace(extracted, notes=(*extracted.notes, cleaned(f"the fast extractor {why}")))
        first = first or extracted
    if isinstance(first, Document):
        return first
    raise first or ExtractionError("malformed")


def _read_with(
    kind: Format,
    extractor: str,
    data: bytes,
    options: Options,
    limits: Limits,
    reader: PageReader | None,
    *,
    probe: bool,
) -> Document:
    try:
        # Imported here: a worker for HTML never loads the PDF extractors, and so on.
        if kind in ("html", "mail"):
            from indexer.extract.markup.html import extract_html

            return without_mark(extract_html(data, options.content, extractor, is_mail=kind == "mail"))
        if kind == "pdf":
            from indexer.extract.pdf import extract_pdf

            return extract_pdf(data, extractor, limits, probe=probe, reader=reader)
        if kind == "xml":
            from indexer.extract.markup.xml import extract_xml

            return extract_xml(data, extractor)
        if kind == "text":
            return extract_text(data)
        if kind == "image":
            from indexer.extract.image import extract_image

            return extract_image(data, reader)
        return _read_rare(kind, extractor, data, options, limits)
    except NeardupError:
        raise
    except MemoryError:
        raise ExtractionError("out-of-memory", f"more than {counted(limits.memory, 'byte')}") from None
    except Exception as error:
        if fault := machines_fault(error, f"{kind} can't be read here"):
            raise fault from None
        if isinstance(error, ImportError):
            raise ExtractionError("out-of-memory", f"more than {counted(limits.memory, 'byte')}") from None
        # Parsers raise whatever they like on damaged input, and none of it may cost more than this document.
        detail = f"{type(error).__name__}: {error}"[:_MAX_DETAIL]
        raise ExtractionError("malformed", f"{extractor} extractor: {detail}") from None


def _read_rare(kind: Format, extractor: str, data: bytes, options: Options, limits: Limits) -> Document:
    if kind == "man":
        from indexer.extract.markup.man import extract_man

        return extract_man(data)
    if kind == "subtitles":
        from indexer.extract.subtitles import extract_subtitles

        return extract_subtitles(data)
    if kind in MICROSOFT:
        from indexer.extract.microsoft import extract_microsoft

        return extract_microsoft(kind, data, limits)
    from indexer.extract.packages import extract_package

    return extract_package(kind, data, options.content, extractor, limits)
