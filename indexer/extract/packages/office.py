"""DOCX (ECMA-376) and OpenDocument (1.3): the words of the body, its tables and notes, without page boilerplate.

Left out are headers and footers, what was deleted in tracked changes, comments, field codes, and generated tables of
contents.
"""

from __future__ import annotations

from collections.abc import Mapping

from indexer.errors import ExtractionError
from indexer.extract.base import EXTRACTOR_VERSION, Content
from indexer.extract.markup.xml import in_utf8, parse_fast, parse_reference
from indexer.extract.packages.parts import PackageParts
from indexer.extract.text import cleaned
from indexer.model import Document


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


class _OfficeText:
    """Takes the events of a parser: the text within some elements, spaces around others, nothing of a third kind."""

    def __init__(self, within: str, spaces: str, out: str = "") -> None:
        self.parts: list[str] = []
        self._within, self._spaces, self._out = _names(within), _names(spaces), _names(out)
        self._path: list[str] = []
        self._inside = self._out_at = 0

    def start(self, tag: str, _attributes: Mapping[str, str]) -> None:
        """An element begins."""
        name = tag.rpartition("}")[2].rpartition(":")[2]
        self._path.append(name)
        self._inside += name in self._within
        if not self._out_at and name in self._out:
            self._out_at = len(self._path)
        if name in self._spaces:
            self.parts.append(" ")

    def end(self, _tag: str = "") -> None:
        """An element ends."""
        if self._out_at == len(self._path):
            self._out_at = 0
        name = self._path.pop()
        self._inside -= name in self._within
        if name in self._spaces:
            self.parts.append(" ")

    def data(self, text: str) -> None:
        """A piece of text."""
        if self._inside and not self._out_at:
            self.parts.append(text)


def extract_docx(parts: PackageParts, _content: Content, extractor: str) -> Document:
    """The document of a DOCX file."""
    # What stands in a Fallback stands before it in another form.
    found = [
        _words(parts.read(name), extractor, _OfficeText("t", "p br cr tab tc", "del moveFrom Fallback"))
        for name in ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml")
        if name in parts or name == "word/document.xml"
    ]
    return _extracted("DOCX", extractor, " ".join(found), _title(parts, "docProps/core.xml", extractor))


def extract_open_document(parts: PackageParts, _content: Content, extractor: str) -> Document:
    """The document of an ODT, ODP or ODS file. ExtractionError "encrypted" for one with a password."""
    if "META-INF/manifest.xml" in parts and b"encryption-data" in parts.read("META-INF/manifest.xml"):
        raise ExtractionError("encrypted", "the document has a password")
    words = _OfficeText(
        "p h", "p h s tab line-break table-cell",
        "tracked-changes annotation note-citation table-of-content illustration-index table-index",
    )  # fmt: skip
    text = _words(parts.read("content.xml"), extractor, words)
    return _extracted("OpenDocument", extractor, text, _title(parts, "meta.xml", extractor))


def _title(parts: PackageParts, name: str, extractor: str) -> str:
    return _words(parts.read(name), extractor, _OfficeText("title", "")) if name in parts else ""


def _words(data: bytes, extractor: str, words: _OfficeText) -> str:
    (parse_fast if extractor == "fast" else parse_reference)(in_utf8(data), words)
    return cleaned("".join(words.parts))


def _extracted(kind: str, extractor: str, text: str, title: str) -> Document:
    name = "expat" if extractor == "fast" else "lxml"
    return Document(text, title, extractor=f"{name} rules {EXTRACTOR_VERSION} ({kind})")
