"""DOCX (ECMA-376) and OpenDocument (1.3): the words of the body, its tables and notes, without page boilerplate.

Left out are headers and footers, what was deleted in tracked changes, comments, field codes, and generated tables of
contents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

from indexer.core.markup import BLOCK_END, CELL_END, PAGE_END, ROW_END
from indexer.errors import ExtractionError
from indexer.extract.base import EXTRACTOR_VERSION, Content
from indexer.extract.markup.xml import Builder, in_utf8, parse_fast, parse_reference
from indexer.extract.packages.parts import PackageParts
from indexer.extract.text import as_title, cleaned, in_blocks
from indexer.model import Document

# A title stands among the first paragraphs; a heading is one where all begins with it and it is the only one of its
# level, or it is a section's.
_OPENING = 20
_TITLE, _HEADING = "title", "heading 1"


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


_ENDS = {
    **dict.fromkeys(("p", "h", "br", "cr", "line-break"), BLOCK_END),
    **dict.fromkeys(("tc", "table-cell"), CELL_END),
    **dict.fromkeys(("tr", "table-row"), ROW_END),
    **dict.fromkeys(("s", "tab"), " "),
    "page": PAGE_END,
}


class _OfficeText:
    """Takes the events of a parser: the text within some elements, nothing of others, and a mark where one ends."""

    def __init__(self, within: str, out: str = "") -> None:
        self.parts: list[str] = []
        self._within, self._out = _names(within), _names(out)
        self._path: list[str] = []
        self._inside = self._out_at = 0

    def start(self, tag: str, _attributes: Mapping[str, str]) -> None:
        """An element begins."""
        name = _local(tag)
        self._path.append(name)
        self._inside += name in self._within
        if not self._out_at and name in self._out:
            self._out_at = len(self._path)
        if name in _ENDS:
            self.parts.append(_ENDS[name])

    def end(self, _tag: str = "") -> None:
        """An element ends."""
        if self._out_at == len(self._path):
            self._out_at = 0
        name = self._path.pop()
        self._inside -= name in self._within
        if name in _ENDS:
            self.parts.append(_ENDS[name])

    def data(self, text: str) -> None:
        """A piece of text."""
        if self._inside and not self._out_at:
            self.parts.append(text)


class _OpeningText(_OfficeText):
    """The same, which also keeps the first paragraphs that have text, each with the name of its style."""

    def __init__(self, within: str, out: str = "") -> None:
        super().__init__(within, out)
        self.opening: list[tuple[str, str]] = []
        self.styles = _Styles()
        self._styled: Counter[str] = Counter()
        self._style, self._begin, self._frame, self._slides = "", 0, "", 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        super().start(tag, attributes)
        name = self._path[-1]
        if name == "pStyle":
            self._style = _value(attributes, "val")
            self._styled[self._style] += 1
        elif name == "h":
            self._begin, self._style = len(self.parts), ""
            if _value(attributes, "outline-level") in ("", "1"):
                self._style = _HEADING
                self._styled[_HEADING] += 1
        elif name == "table" and self._path[-2:-1] == ["spreadsheet"]:
            # What the sheet is called, as Excel's documents have it; the names of tables in texts are not seen.
            self.parts.append(f"{PAGE_END}{_value(attributes, 'name')}{BLOCK_END}")
        elif len(self.opening) == _OPENING:
            return
        elif name == "p":
            is_slides = self._frame == _TITLE and self._slides == 1
            self._begin, self._style = len(self.parts), _TITLE if is_slides else _value(attributes, "style-name")
        elif name == "frame":
            self._frame = _value(attributes, "class")
        elif name == "page":
            self._slides += 1
        else:
            self.styles.start(tag, attributes)

    def end(self, tag: str = "") -> None:
        """An element ends."""
        name = self._path[-1]
        super().end(tag)
        if name == "frame":
            self._frame = ""
        if name not in ("p", "h") or len(self.opening) == _OPENING:
            return
        if text := cleaned("".join(self.parts[self._begin :])):
            self.opening.append((self._style, text))
        self._begin, self._style = len(self.parts), ""

    def title(self) -> str:
        """The paragraphs with the style of a title, or the first of all if it is a heading like no other; or ""."""
        titles: list[str] = []
        for style, text in self.opening:
            if self._is(style, _TITLE):
                titles.append(text)
            elif titles:
                break
        if titles or not self.opening:
            return as_title(" ".join(titles))
        style, text = self.opening[0]
        headings = sum(count for name, count in self._styled.items() if self._is(name, _HEADING))
        return as_title(text) if headings == 1 and self._is(style, _HEADING) else ""

    def _is(self, style: str, wanted: str) -> bool:
        return self.styles.names.get(style, style).lower() == wanted


class _Styles:
    """The names that styles have in every language, by the names that a document uses for them."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._style = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        name = _local(tag)
        if name == "style":
            self._style = _value(attributes, "styleId")
            if parent := _value(attributes, "parent-style-name"):
                self.names[_value(attributes, "name")] = parent
        elif name == "name" and self._style:
            self.names[self._style] = _value(attributes, "val")

    def end(self, _tag: str = "") -> None:
        """An element ends."""

    def data(self, _text: str) -> None:
        """A piece of text."""


def _local(name: str) -> str:
    """A name without its namespace, as either parser writes that."""
    return name.rpartition("}")[2].rpartition(":")[2]


def _value(attributes: Mapping[str, str], wanted: str) -> str:
    """The value of an attribute, whatever its namespace is called."""
    return next((value for name, value in attributes.items() if _local(name) == wanted), "")


def extract_docx(parts: PackageParts, _content: Content, extractor: str) -> Document:
    """The document of a DOCX file."""
    # What stands in a Fallback stands before it in another form.
    read = [
        (_OpeningText("t", "del moveFrom Fallback"), parts.read(name))
        for name in ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml")
        if name in parts or name == "word/document.xml"
    ]
    text = in_blocks(BLOCK_END.join(_words(data, extractor, words) for words, data in read))
    title = _title(parts, "docProps/core.xml", extractor)
    # A title is not worth a document's failure.
    with suppress(ExtractionError):
        if not title and "word/styles.xml" in parts:
            body = read[0][0]
            _parse(parts.read("word/styles.xml"), extractor, body.styles)
            title = body.title()
    return _extracted("DOCX", extractor, text, title)


def extract_open_document(parts: PackageParts, _content: Content, extractor: str) -> Document:
    """The document of an ODT, ODP or ODS file. ExtractionError "encrypted" for one with a password."""
    if "META-INF/manifest.xml" in parts and b"encryption-data" in parts.read("META-INF/manifest.xml"):
        raise ExtractionError("encrypted", "the document has a password")
    words = _OpeningText(
        "p h", "tracked-changes annotation note-citation table-of-content illustration-index table-index"
    )
    text = in_blocks(_words(parts.read("content.xml"), extractor, words))
    return _extracted("OpenDocument", extractor, text, _title(parts, "meta.xml", extractor) or words.title())


def _title(parts: PackageParts, name: str, extractor: str) -> str:
    return cleaned(_words(parts.read(name), extractor, _OfficeText("title"))) if name in parts else ""


def _words(data: bytes, extractor: str, words: _OfficeText) -> str:
    _parse(data, extractor, words)
    return "".join(words.parts)


def _parse(data: bytes, extractor: str, builder: Builder) -> None:
    (parse_fast if extractor == "fast" else parse_reference)(in_utf8(data), builder)


def _extracted(kind: str, extractor: str, text: str, title: str) -> Document:
    name = "expat" if extractor == "fast" else "lxml"
    return Document(text, title, extractor=f"{name} rules {EXTRACTOR_VERSION} ({kind})")
