"""DOCX (ECMA-376) and OpenDocument (1.3).

Headers and footers, tracked deletions, comments and OpenDocument's generated tables of contents are kept beside the
text. Field codes are not read.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType

from indexer.core.markup import BLOCK_END, CELL_END, PAGE_END, ROW_END
from indexer.errors import ExtractionError
from indexer.extract.base import COMMENTER, EXTRACTOR_VERSION, Content
from indexer.extract.formats import names
from indexer.extract.markup.xml import Builder, in_utf8, local_name, parse_fast, parse_reference
from indexer.extract.packages.parts import PackageParts
from indexer.extract.text import DELETED, DELETION, as_title, cells_behind_gaps, cleaned, in_blocks
from indexer.model import Document

# A title stands among the first paragraphs; a heading is one where all begins with it and it is the only one of its
# level, or it is a section's.
_OPENING = 20
_TITLE, _HEADING = "title", "heading 1"


_ENDS = {
    **dict.fromkeys(("p", "h", "br", "cr", "line-break"), BLOCK_END),
    **dict.fromkeys(("tc", "table-cell"), CELL_END),
    **dict.fromkeys(("tr", "table-row"), ROW_END),
    **dict.fromkeys(("s", "tab", "pt"), " "),
    "page": PAGE_END,
}


# Formulas of Office (ECMA-376, part 1, section 22.1): fractions and roots.
_FORMULAS = {"den": "/", "rad": "\u221a"}
_BETWEEN = "|"
_OFF = frozenset(("0", "false", "off"))
# What stands beside the text, by what it is called; what has no name is another form of the text, or made from it.
_OUT_OF_DOCX = {"del": DELETED, "moveFrom": "", "Fallback": ""}
_OUT_OF_OPEN_DOCUMENT = {
    "tracked-changes": DELETED,
    "annotation": "comment",
    **dict.fromkeys(("table-of-content", "illustration-index", "table-index"), "table of contents"),
    "note-citation": "",
}
_MARGINS = {
    **dict.fromkeys(("header", "header-left", "header-first", "hdr"), "page header"),
    **dict.fromkeys(("footer", "footer-left", "footer-first", "ftr"), "page footer"),
    **dict.fromkeys(("comment", "cm", "threadedComment"), "comment"),
    "author": COMMENTER,
}
_COMMENTS = ("comments", "threadedComments/", "commentAuthors", "authors", "persons/")
# The attributes with the names of those who wrote comments.
_COMMENTERS = {"comment": "author", "cmAuthor": "name", "author": "name", "person": "displayName"}
_PICTURED = {"charts/chart": "chart", "diagrams/data": "diagram"}
_SHEET_MARGIN = re.compile(rb"<(?:\w{1,9}:)?(?:odd|even|first)(Header|Footer)>([^<]*)<")
_SHEET_CODES = re.compile(r"&(?:\"[^\"]*\"|\d+|K[0-9A-Fa-f]{6}|[A-Za-z])")
_SHAPE = re.compile(rb"<p:sp\b.*?</p:sp>", re.DOTALL)
_SHAPE_MARGIN = re.compile(rb'<p:ph [^>]*type="(ftr|hdr|dt)"')
_SHAPE_TEXT = re.compile(rb"<a:t>([^<]*)<")


class _OfficeText:
    """Takes the events of a parser: the text within some elements, with a mark at the end of each.

    `out` names the kinds of text left out.
    """

    def __init__(self, within: str, out: Mapping[str, str] = MappingProxyType({})) -> None:
        self.parts: list[str] = []
        self.notes: list[str] = []
        self._note_from = 0
        self.left_out: list[tuple[str, str]] = []
        self._within, self._out = names(within), out
        self._path: list[str] = []
        self._aside: list[str] = []
        self._inside = self._out_at = 0
        self._is_raised = False
        self._is_struck = False
        self._style_name, self._raised, self._struck = "", set[str](), set[str]()
        self._brackets: list[dict[str, str]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = local_name(tag)
        self._path.append(name)
        self._inside += name in self._within
        if not self._out_at and name in self._out:
            self._out_at = len(self._path)
        self._end_of(name)
        if name in _COMMENTERS and (who := cleaned(_value(attributes, _COMMENTERS[name]))):
            self.left_out.append((COMMENTER, who))
        if self._out_at:
            return
        if name == "sym":
            # A character of a font of symbols, such as a checked box.
            with suppress(ValueError, OverflowError):
                self.parts.append(chr(int(_value(attributes, "char"), 16)))
        elif name == "note-body":
            self._note_from = len(self.parts)
        elif name == "change":
            self.parts.append(DELETION)
        elif name == "ilvl" and (level := _value(attributes, "val")) not in ("", "0"):
            self.left_out.append(("list level", level))
        self._begin_style(name, attributes)
        self._begin_formula(name, attributes)

    def _begin_style(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "vertAlign":
            self._is_raised = _value(attributes, "val") == "superscript"
        elif name in ("strike", "dstrike"):
            self._is_struck = self._path[-3:-1] == ["r", "rPr"] and _value(attributes, "val") not in _OFF
        elif name == "style":
            self._style_name = _value(attributes, "name")
        elif name == "text-properties":
            if _value(attributes, "text-position").startswith("super"):
                self._raised.add(self._style_name)
            if _value(attributes, "text-line-through-style") not in ("", "none"):
                self._struck.add(self._style_name)
        elif name == "span":
            style = _value(attributes, "style-name")
            self._is_raised, self._is_struck = style in self._raised, style in self._struck

    def _begin_formula(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "sup":
            self._is_raised = True
        elif name in _FORMULAS:
            self.parts.append(_FORMULAS[name])
        elif name == "chr":
            self.parts.append(_value(attributes, "val"))
        elif name == "d":
            self._brackets.append({"begChr": "(", "endChr": ")"})
        elif name in ("begChr", "endChr") and self._brackets:
            self._brackets[-1][name] = _value(attributes, "val")
        elif name == "e" and self._path[-2:-1] == ["d"]:
            self.parts.append(self._brackets[-1]["begChr"])
            self._brackets[-1]["begChr"] = _BETWEEN

    def end(self, _tag: str = "") -> None:
        name = self._path[-1]
        self._end_of(name)
        if name == "d" and not self._out_at:
            brackets = self._brackets.pop()
            self.parts += [brackets["endChr"]] if brackets["begChr"] == _BETWEEN else []
        if name == "note-body" and not self._out_at:
            # A note stands in a sentence, and is shown behind it.
            self.notes += self.parts[self._note_from :]
            del self.parts[self._note_from :]
        if self._out_at == len(self._path):
            kind, text = self._out[name], cleaned("".join(self._aside))
            self._aside.clear()
            self._out_at = 0
            if kind and text:
                self.left_out.append((kind, text))
                if name == "del":
                    self.parts.append(DELETION)
        self._path.pop()
        self._inside -= name in self._within
        if name in ("r", "span"):
            self._is_raised = self._is_struck = False

    def _end_of(self, name: str) -> None:
        if name in _ENDS:
            (self._aside if self._out_at else self.parts).append(_ENDS[name])

    def data(self, text: str) -> None:
        if self._path[-1:] == ["instrText"]:
            return
        if self._out_at:
            self._aside.append(text)
        elif self._inside and self._is_struck and text.strip():
            self._strike(text)
        elif self._inside:
            self.parts.append(f"^{text}" if self._is_raised and text[:1].isdigit() else text)

    def _strike(self, text: str) -> None:
        if self.parts[-1:] == [DELETION]:
            text = f"{self.left_out.pop()[1]} {text}"
        else:
            self.parts.append(DELETION)
        self.left_out.append((DELETED, cleaned(text)))


class _OpeningText(_OfficeText):
    def __init__(self, within: str, out: Mapping[str, str]) -> None:
        super().__init__(within, out)
        self.opening: list[tuple[str, str]] = []
        self.names: dict[str, str] = {}
        self._styled: Counter[str] = Counter()
        self._style, self._named, self._begin, self._frame, self._slides = "", "", 0, "", 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
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
        elif name == "style":
            self._named = _value(attributes, "styleId")
            if parent := _value(attributes, "parent-style-name"):
                self.names[_value(attributes, "name")] = parent
        elif name == "name" and self._named:
            self.names[self._named] = _value(attributes, "val")

    def end(self, tag: str = "") -> None:
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
        return self.names.get(style, style).lower() == wanted


def _value(attributes: Mapping[str, str], wanted: str) -> str:
    return next((value for name, value in attributes.items() if local_name(name) == wanted), "")


def extract_docx(parts: PackageParts, _content: Content, extractor: str) -> Document:
    # What stands in a Fallback stands before it in another form.
    read = [
        (_OpeningText("t", _OUT_OF_DOCX), parts.read(name))
        for name in ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml")
        if name in parts or name == "word/document.xml"
    ]
    text = BLOCK_END.join(_words(data, extractor, words) for words, data in read)
    left_out = [*(part for words, _ in read for part in words.left_out), *cells_behind_gaps(text)]
    for name in parts.names("word/header", "word/footer"):
        left_out += _aside(parts, name, extractor)
    left_out += parts_beside(parts, "word", extractor)
    title = _title(parts, "docProps/core.xml", extractor)
    # A title is not worth a document's failure.
    with suppress(ExtractionError):
        if not title and "word/styles.xml" in parts:
            body, styles = read[0][0], _OpeningText("", {})
            _parse(parts.read("word/styles.xml"), extractor, styles)
            body.names |= styles.names
            title = body.title()
    return _extracted("DOCX", extractor, in_blocks(text), title, left_out)


def extract_open_document(parts: PackageParts, _content: Content, extractor: str) -> Document:
    if "META-INF/manifest.xml" in parts and b"encryption-data" in parts.read("META-INF/manifest.xml"):
        raise ExtractionError("encrypted", "the document has a password")
    words = _OpeningText("p h", _OUT_OF_OPEN_DOCUMENT)
    text = _words(parts.read("content.xml"), extractor, words)
    left_out = [*words.left_out, *cells_behind_gaps(text)]
    left_out += _aside(parts, "styles.xml", extractor) if "styles.xml" in parts else []
    for name in parts.names(""):
        # A formula or a chart.
        if name.endswith("/content.xml"):
            with suppress(ExtractionError):
                left_out.append(("object", cleaned(_words(parts.read(name), extractor, _OfficeText("p math")))))
    title = _title(parts, "meta.xml", extractor) or words.title()
    return _extracted("OpenDocument", extractor, in_blocks(text), title, left_out)


def _aside(parts: PackageParts, name: str, extractor: str) -> list[tuple[str, str]]:
    found = _OfficeText("", _MARGINS)
    with suppress(ExtractionError):
        _words(parts.read(name), extractor, found)
    return found.left_out


def parts_beside(parts: PackageParts, root: str, extractor: str) -> list[tuple[str, str]]:
    """The comments, commenters, charts and diagrams of a document of Office, and the margins of sheets and slides."""
    found = []
    for name in parts.names(*(f"{root}/{each}" for each in _COMMENTS)):
        found += _aside(parts, name, extractor)
    for folder, kind in _PICTURED.items():
        for name in parts.names(f"{root}/{folder}"):
            with suppress(ExtractionError):
                found.append((kind, cleaned(_words(parts.read(name), extractor, _OfficeText("v t")))))
    for name in parts.names(f"{root}/worksheets/sheet", f"{root}/slides/slide"):
        with suppress(ExtractionError):
            found += _margins_of(parts.read(name))
    return [(kind, text) for kind, text in found if text]


def _margins_of(page: bytes) -> Iterator[tuple[str, str]]:
    """The headers and footers of a sheet of Excel or a slide of PowerPoint."""
    for margin in _SHEET_MARGIN.finditer(page):
        text = html.unescape(margin[2].decode("utf-8", "replace"))
        yield f"page {margin[1].decode().lower()}", cleaned(_SHEET_CODES.sub(" ", text))
    for shape in _SHAPE.findall(page) if b'type="' in page else ():
        if kind := _SHAPE_MARGIN.search(shape):
            text = b" ".join(_SHAPE_TEXT.findall(shape)).decode("utf-8", "replace")
            yield "page header" if kind[1] == b"hdr" else "page footer", cleaned(html.unescape(text))


def _title(parts: PackageParts, name: str, extractor: str) -> str:
    return cleaned(_words(parts.read(name), extractor, _OfficeText("title"))) if name in parts else ""


def _words(data: bytes, extractor: str, words: _OfficeText) -> str:
    _parse(data, extractor, words)
    return "".join((*words.parts, *words.notes))


def _parse(data: bytes, extractor: str, builder: Builder) -> None:
    (parse_fast if extractor == "fast" else parse_reference)(in_utf8(data), builder)


def _extracted(kind: str, extractor: str, text: str, title: str, left_out: Iterable[tuple[str, str]]) -> Document:
    name = "expat" if extractor == "fast" else "lxml"
    return Document(text, title, extractor=f"{name} rules {EXTRACTOR_VERSION} ({kind})", left_out=tuple(left_out))
