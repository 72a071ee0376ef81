"""The formats to read, and the suffixes of their files."""

from __future__ import annotations

import os
from typing import Literal

Format = Literal[
    "html", "pdf", "xml", "text", "man", "epub", "docx", "odt", "odp", "ods",
    "rtf", "doc", "ppt", "pptx", "xls", "xlsx", "msg", "image", "mail", "subtitles",
]  # fmt: skip

MICROSOFT: frozenset[Format] = frozenset(("rtf", "doc", "ppt", "pptx", "xls", "xlsx", "msg"))
"""The formats that need the extra `formats`."""
MICROSOFT_MAGIC = (b"{\\rtf", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
"""The first bytes of those that are no ZIP files: RTF, and the compound files of old Office documents (MS-CFB 2.2)."""

SUFFIXES: dict[str, Format] = {
    **dict.fromkeys((".html", ".htm", ".xhtml", ".xht", ".shtml"), "html"),
    ".pdf": "pdf",
    **dict.fromkeys((".xml", ".jats", ".nxml", ".tei", ".dbk", ".docbook", ".rss", ".atom", ".rdf"), "xml"),
    **dict.fromkeys((".srt", ".vtt"), "subtitles"),
    **dict.fromkeys((".txt", ".text", ".md", ".rst", ".tex", ".csv", ".log", ".asc"), "text"),
}
"""The formats that the end of a name may tell where the content does not."""
PDF_READERS = ("pdfium/pypdfium2", "pdfminer.six")
"""The names of the fast and the reference extractor of PDF files."""
MAIL_NAMES = (".eml", ".emlx", ".mbox", ".mht", ".mhtml")
"""The ends of the names of mails."""
IMAGE_SUFFIXES = (".png", ".tif", ".tiff", ".jpg", ".jpeg")
"""The ends of the names of images that OCR reads."""


def names(words: str) -> frozenset[str]:
    return frozenset(words.split())


def is_mail_name(name: str) -> bool:
    return os.path.splitext(name)[1].lower() in MAIL_NAMES


def is_text_name(name: str) -> bool:
    return SUFFIXES.get(os.path.splitext(name)[1].lower()) == "text"
