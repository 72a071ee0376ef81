"""XML: the words of JATS, TEI, DocBook and RFC XML without metadata, and all words of other XML.

The fast extractor is expat; it streams, so deep nesting is harmless. The reference extractor is lxml in recovery mode,
for documents not well-formed. Entities declared by a document are never expanded: their references and values are left
out of the text. Those of HTML (`&nbsp;`, `&eacute;`) are read as their character. No DTD and nothing else is fetched.
"""

from __future__ import annotations

import pyexpat
import re
from collections.abc import Mapping
from functools import cache
from html.entities import html5
from importlib.metadata import version
from typing import Protocol

from indexer.core.markup import BLOCK_END, CELL_END, ROW_END
from indexer.errors import ExtractionError
from indexer.extract.base import ENTITY, EXTRACTOR_VERSION
from indexer.extract.markup.rfc import RfcWords
from indexer.extract.markup.vocabularies import (
    ARTICLE_TYPES,
    INLINE,
    NEVER,
    NOT_OF_ARTICLES,
    RFC,
    UNKNOWN,
    Vocabulary,
    vocabulary_of,
)
from indexer.extract.text import cells_behind_gaps, cleaned, decode, in_blocks, marked
from indexer.model import Document

_ENCODING = re.compile(rb"\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([\w:.()+-]+)", re.IGNORECASE)
_DECLARATION = re.compile(rb"\s*<\?xml\b.*?\?>", re.DOTALL)
_REFERENCE = re.compile(rb"&([A-Za-z_:\x80-\xff][\w:.\-\x80-\xff]*);")
_DECLARED = re.compile(rb"""<!ENTITY\s+([^\s%]+)\s+("[^"]*"|'[^']*')""")
_GIVEN_NAME = re.compile(r"\b([^\W\d_a-z])[^\W\d_]+\.?")
_ROWS, _CELLS = frozenset(("tr", "row")), frozenset(("td", "th", "cell", "entry"))
_RAISED, _NO_VALUES = frozenset(("sup", "superscript")), frozenset(("space", "lang", "base", "schemaLocation"))
_TITLES = frozenset(("title", "article-title", "book-title"))


def extract_xml(data: bytes, extractor: str) -> Document:
    source = in_utf8(data)
    builder = _TextBuilder()
    notes: tuple[str, ...] = ()
    if extractor == "fast":
        parse_fast(source, builder)
    else:
        parse_reference(source, builder)
        notes = ("read in recovery, as far as the markup goes",)
    builder.rfc.finish()
    text = "".join((*builder.parts, *builder.notes))
    title = cleaned("".join(builder.title))
    name = _extractor_name(extractor, builder.vocabulary.name)
    left_out = (*builder.left_out, *_entities(source), *cells_behind_gaps(text))
    return Document(in_blocks(text), title, extractor=name, notes=notes, left_out=left_out)


@cache
def _extractor_name(extractor: str, vocabulary: str) -> str:
    name = pyexpat.EXPAT_VERSION.replace("_", "/") if extractor == "fast" else f"lxml {version('lxml')}"
    return f"{name} rules {EXTRACTOR_VERSION} ({vocabulary})"


class Builder(Protocol):
    def start(self, tag: str, attributes: Mapping[str, str], /) -> None: ...

    def end(self, tag: str = "", /) -> None: ...

    def data(self, text: str, /) -> None: ...


class _Around:
    __slots__ = ("is_mixed", "marks")

    def __init__(self) -> None:
        self.is_mixed = False
        self.marks: list[int] = []


class _TextBuilder:
    """Takes the events of a parser and keeps the text that counts.

    An element ends a block, unless words stand beside it in its parent.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.title: list[str] = []
        self.vocabulary: Vocabulary = UNKNOWN
        self._path: list[str] = []
        self._contents = [_Around()]
        self.left_out: list[tuple[str, str]] = []
        self._aside: list[str] = []
        self._left_out_at = 0
        self._in_title_at = 0
        self._citation_at = 0
        self._is_article = False
        self._root = ""
        self._html_at = self._html_from = 0
        self.notes: list[str] = []
        self._note_at = self._note_from = 0
        self.rfc = RfcWords(self.parts)
        self._begun: list[tuple[Mapping[str, str], int]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = local_name(tag)
        path = self._path
        path.append(name)
        if self._left_out_at:
            return
        if self.vocabulary is UNKNOWN:
            self.vocabulary = vocabulary_of(self._root, name)
            self._root = name
        vocabulary = self.vocabulary
        if name in vocabulary.citations:
            self._citation_at = len(path)
            self._is_article = attributes.get("publication-type") in ARTICLE_TYPES
        if not self._is_allowed(vocabulary):
            self._left_out_at = len(path)
            return
        if vocabulary is UNKNOWN:
            # Of what is data, the values are facts; in vocabularies of texts they say how it is laid out.
            for named, value in attributes.items():
                if (local := local_name(named)) not in _NO_VALUES and not named.startswith(
                    ("xmlns", "xsi:", "{http://www.w3.org/")
                ):
                    self.left_out.append((f"{name}/@{local}", cleaned(value)))
        if name in _TITLES and not self.title and not self._in_title_at:
            self._in_title_at = len(path)
        around = self._contents[-1]
        if name in INLINE or name in vocabulary.inline or attributes.get("break") == "no":
            self._contents.append(around)
        else:
            self._mark(around, name)
            self._contents.append(_Around())
        self._begin_shown(name, attributes, around)
        if name in vocabulary.html and not self._html_at:
            self._html_at, self._html_from = len(path), len(self.parts)

    def _begin_shown(self, name: str, attributes: Mapping[str, str], around: _Around) -> None:
        if name in self.vocabulary.notes and around.is_mixed and not self._note_at:
            self._note_at, self._note_from = len(self._path), len(self.parts)
        if self.vocabulary is RFC:
            if heading := self.rfc.heading(name, attributes):
                self.parts.append(heading + BLOCK_END)
            self._begun.append((dict(attributes), len(self.parts)))
            self.data(self.rfc.beginning(name, attributes))

    def _mark(self, around: _Around, name: str) -> None:
        mark = ROW_END if name in _ROWS else BLOCK_END
        if name in _CELLS and len(self._path) > 1 and self._path[-2] in _ROWS:
            mark = CELL_END
        if around.is_mixed or self._citation_at:
            mark = " "
        else:
            around.marks.append(len(self.parts))
        self.parts.append(mark)

    def _is_allowed(self, vocabulary: Vocabulary) -> bool:
        path = self._path
        name = path[-1]
        if name in NEVER or name in vocabulary.out:
            return False
        if self._citation_at and self._is_article and name in NOT_OF_ARTICLES:
            return False
        if len(path) < 2 or path[-2] not in vocabulary.only:
            return True
        grandparent, allowed = vocabulary.only[path[-2]]
        return name in allowed or (grandparent != "" and (len(path) < 3 or path[-3] != grandparent))

    def end(self, _tag: str = "") -> None:
        depth = len(self._path)
        name = self._path[-1]
        if self._left_out_at:
            self._path.pop()
            if self._left_out_at == depth:
                self._left_out_at = 0
                if name not in NEVER and (text := cleaned("".join(self._aside))):
                    self.left_out.append((name, text))
                self._aside.clear()
            else:
                self._aside.append(" ")
            return
        if self.vocabulary is RFC and self._begun:
            self.data(self.rfc.ended(name, *self._begun.pop()))
        self._contents.pop()
        if self._citation_at == depth:
            self._citation_at = 0
        if self._note_at == depth:
            self._note_at = 0
            self.notes += [BLOCK_END, *self.parts[self._note_from :]]
            del self.parts[self._note_from :]
        if self._html_at == depth:
            self._html_at = 0
            self.parts[self._html_from :] = [_text_of_html("".join(self.parts[self._html_from :]))]
        if self._in_title_at == depth:
            self._in_title_at = 0
            if not "".join(self.title).strip():
                self.title.clear()
        if name not in INLINE and name not in self.vocabulary.inline and name not in self.vocabulary.empty:
            self._mark(self._contents[-1], name)
        self._path.pop()

    def data(self, text: str) -> None:
        if self._left_out_at:
            self._aside.append(text)
        elif self._path:
            if self._citation_at and self._path[-1] == "given-names":
                text = _initials(text)
            if self._path[-1] in _RAISED and text[:1].isdigit():
                text = f"^{text}"
            self.parts.append(text)
            content = self._contents[-1]
            if not content.is_mixed and text.strip():
                content.is_mixed = True
                for place in content.marks:
                    self.parts[place] = " "
            if self._in_title_at:
                self.title.append(text)


def local_name(name: str) -> str:
    return name.rpartition("}")[2].rpartition(":")[2]


def _text_of_html(text: str) -> str:
    if "<" not in text and "&" not in text:
        return text
    from indexer.extract.markup.html import extract_html

    return marked(extract_html(text.encode("utf-8", "replace"), "full", "fast").text)


def _initials(names: str) -> str:
    if names.isupper():
        return names
    return _GIVEN_NAME.sub(r"\1.", names)


def in_utf8(data: bytes) -> bytes:
    found = _ENCODING.match(data[:1024])
    text, codec = decode(data, found[1].decode("ascii", "replace") if found else "")
    return data if codec == "utf-8" and "\ufffd" not in text else text.encode("utf-8", "replace")


def parse_fast(source: bytes, builder: Builder) -> None:
    """Feed a builder from XML, by expat. Raises ExtractionError if it is not well-formed."""
    parser = pyexpat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.buffer_size = 1 << 16
    parser.specified_attributes = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.CommentHandler = lambda _: None
    parser.ProcessingInstructionHandler = lambda _, __: None
    # Its mere presence keeps expat from expanding the entities that a document declares.
    parser.DefaultHandler = lambda piece: builder.data(_character(piece))
    # Makes a reference to an undeclared entity, such as HTML's in a document without a DTD, no error.
    parser.UseForeignDTD(True)
    try:
        # In one piece: fed in parts, expat reads a huge token from its start again with every part.
        parser.Parse(source, True)
    except pyexpat.ExpatError as error:
        raise ExtractionError("malformed", f"not well-formed XML: {error}") from None


def _character(reference: str) -> str:
    return html5.get(reference[1:], "") if reference.startswith("&") and reference.endswith(";") else ""


def _entities(source: bytes) -> list[tuple[str, str]]:
    """Return all references to entities in order, and each value once: in all no more than the document has."""
    names = [each for each in map(bytes.decode, _REFERENCE.findall(source)) if f"{each};" not in html5]
    if not names:
        return []
    declared = {name.decode(): value[1:-1].decode() for name, value in _DECLARED.findall(source)}
    values = [f"{name}: {declared[name]}" for name in dict.fromkeys(names) if name in declared]
    said = [" ".join(f"&{name};" for name in names), *values]
    return [(ENTITY, cleaned(each)) for each in said]


def parse_reference(source: bytes, builder: Builder) -> None:
    """Feed a builder from XML, by lxml in recovery. Raises ExtractionError for anything but XML."""
    from lxml import etree

    parser = etree.XMLParser(
        recover=True, encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    try:
        # The declaration may name the encoding that the bytes had before.
        root = etree.fromstring(_DECLARATION.sub(b"", source, count=1), parser)
    except etree.XMLSyntaxError as error:
        raise ExtractionError("malformed", f"not XML: {error}") from None
    if root is None:
        raise ExtractionError("malformed", "not XML: no element in it")
    # Not as a parser target: in that mode lxml expands the entities that a document declares.
    for entity in root.iter(etree.Entity):
        entity.tail = _character(f"&{entity.name};") + (entity.tail or "")
    etree.strip_tags(root, etree.Entity, etree.Comment, etree.ProcessingInstruction)
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            builder.start(element.tag, element.attrib)
            builder.data(element.text or "")
        else:
            builder.end()
            builder.data(element.tail or "")
