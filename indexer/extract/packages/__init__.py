"""ZIP files of XML and HTML: EPUB, DOCX, OpenDocument."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping

from indexer.extract.base import Content, Limits
from indexer.extract.formats import Format
from indexer.extract.packages.epub import extract_epub
from indexer.extract.packages.office import extract_docx, extract_open_document
from indexer.extract.packages.parts import PackageParts
from indexer.model import Document

# EPUB (OCF 3.3, section 4.3) and ODF (1.3, part 2) put this name, uncompressed, first.
_FIRST, _PLACE = b"mimetype", 30
_TYPES: Mapping[bytes, Format] = {
    b"application/epub+zip": "epub",
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.presentation": "odp",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
}
_NAMES: Mapping[str, Format] = {
    "word/document.xml": "docx",
    "ppt/presentation.xml": "pptx",
    "xl/workbook.xml": "xlsx",
    "META-INF/container.xml": "epub",
}

_EXTRACTORS: Mapping[Format, Callable[[PackageParts, Content, str], Document]] = {
    "epub": extract_epub,
    "docx": extract_docx,
    **dict.fromkeys(("odt", "odp", "ods"), extract_open_document),
}


def kind_of_package(data: bytes) -> Format | None:
    if data.startswith(_FIRST, _PLACE):
        start = _PLACE + len(_FIRST)
        return next((kind for name, kind in _TYPES.items() if data.startswith(name, start)), None)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        return None
    return next((kind for name, kind in _NAMES.items() if name in names), None)


def extract_package(kind: Format, data: bytes, content: Content, extractor: str, limits: Limits) -> Document:
    """The document in a package; the limit on size holds for all its parts together.

    Raises ExtractionError.
    """
    with PackageParts(data, limits) as parts:
        return _EXTRACTORS[kind](parts, content, extractor)
