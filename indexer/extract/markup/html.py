"""HTML: the visible text of a page.

The core writes a white-space mark before the tags of block elements to keep their words apart; white space there never
changes the parser's tree. The `<title>` is no part of the text: it often names the site, and the same article on two
sites should match. Of ruby, the base text stays and the readings (`rt`, `rp`) go.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from indexer.core.markup import BLOCK_END, CELL_END, ENDS_LINES, ENDS_WORD, ROW_END, Names, Scan, scanned
from indexer.extract.base import EXTRACTOR_VERSION, Content, PartsLeftOut, require_main_content
from indexer.extract.declared import declared_in_page
from indexer.extract.markup import boilerplate
from indexer.extract.markup.quoted import own_html
from indexer.extract.text import cells_behind_gaps, cleaned, decode, in_blocks, marked
from indexer.model import Document

if TYPE_CHECKING:
    from bs4 import Tag


# What browsers put on lines or in cells of their own (HTML Standard, section 15.3, Flow content), images, and form
# controls. Every other element, known or not, is inline and does not end a word.
_ENDS = {
    "address article aside blockquote body br center dd details dialog dir div dl dt fieldset figcaption figure footer "
    "form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li main menu nav ol optgroup option p "
    "search section summary title ul": BLOCK_END,
    "caption table tbody tfoot thead tr": ROW_END,
    "td th": CELL_END,
    "listing plaintext pre xmp": ENDS_LINES,
    "audio button canvas col colgroup iframe img input map meta noscript object script select style svg template "
    "textarea video": ENDS_WORD,
}
_NAMES = Names(
    {name: end for names, end in _ENDS.items() for name in names.split()}, boilerplate.ELEMENTS, boilerplate.BEGINNINGS
)

_SUSPECT_DEPTH = 4000
# So little can't nest deep enough to cost a second.
_SMALL = 100_000
_TAG = re.compile(rb"<(/?)([A-Za-z][^\s/>]*)[^>]*>")
_ENDS_BY_ITSELF = frozenset(
    b"area base br col embed hr img input link meta param source track wbr "
    b"p li dt dd tr td th thead tbody tfoot option optgroup colgroup rp rt html head body".split()
)
# The Standard looks for the declaration in the first 1024 bytes; real pages have it a little later too.
_PRESCAN = 4096
_COMMENT = re.compile(rb"<!--.*?(?:-->|$)", re.DOTALL)
_META = re.compile(rb"<[Mm][Ee][Tt][Aa][\s/][^>]*")
_CHARSET = re.compile(rb"\bcharset\s*=\s*[\"']?\s*([\w:.()+-]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([\w:.()+-]+)", re.IGNORECASE)
# Without the flag for the whole, under which the search for "<" would lose its fast path.
_EMPTY_RAW = re.compile(rb"<((?i:title|script|style|iframe|noscript|textarea|template)\b[^<>]*?)/>")


def extract_html(data: bytes, content: Content, engine: str, *, is_mail: bool = False) -> Document:
    source, quoted = _utf8(data), PartsLeftOut()
    if is_mail:
        source, quoted = own_html(_flattened(source) if len(source) > _SMALL else source)
    if content == "main":
        return _main_content(source, quoted)
    page = scanned(source, _NAMES)
    if len(source) > _SMALL and page.depth > _SUSPECT_DEPTH:
        page = scanned(_flattened(source), _NAMES)
    read = _read_fast if engine == "fast" else _read_reference
    found = read(page, content)
    notes: tuple[str, ...] = ()
    if not found.text:
        found = read(page, content, unwrapped=True)
    if not found.text and content == "landmarks":
        found = read(page, "full")
        if found.text:
            notes = ("all text stands in navigation, banners, footers, asides, dialogs or forms; it was kept",)
    return Document(
        found.text, found.title, extractor=_engine_name(engine), notes=notes, declared=declared_in_page(source),
        left_out=found.left_out + quoted,
    )  # fmt: skip


@cache
def _engine_name(engine: str) -> str:
    if engine == "fast":
        return f"lexbor/selectolax {version('selectolax')} rules {EXTRACTOR_VERSION}"
    return f"lxml/beautifulsoup4 {version('beautifulsoup4')} rules {EXTRACTOR_VERSION}"


def _utf8(data: bytes) -> bytes:
    source = data
    # In ASCII there is nothing to decode, unless escape sequences switch character sets.
    if not data.isascii() or b"\x1b" in data or b"\0" in data:
        text, codec = decode(data, _declared(data[:_PRESCAN]))
        if codec != "utf-8" or "\ufffd" in text:
            source = text.encode("utf-8", "replace")
    # In XHTML an element may be empty; to an HTML parser it would swallow the rest of the page.
    if b"<?xml" in source[:100] or b"//DTD XHTML" in source[:500]:
        source = _EMPTY_RAW.sub(rb"<\1></\1>", source)
    return source


def _declared(head: bytes) -> str:
    if b"<!--" in head:
        head = _COMMENT.sub(b"", head)
    labels = (_CHARSET.search(meta[0]) for meta in _META.finditer(head))
    label = next(filter(None, labels), None) or _XML_ENCODING.match(head)
    return label[1].decode("ascii", "replace") if label else ""


def _flattened(source: bytes) -> bytes:
    depth = dropped = 0
    parts: list[bytes] = []
    end = 0
    for tag in _TAG.finditer(source):
        closes, tag_name = tag.groups()
        if tag_name.lower() in _ENDS_BY_ITSELF and depth < boilerplate.MAX_DEPTH:
            continue
        drop = False
        if closes:
            drop = dropped > 0
            dropped -= drop
            depth = max(0, depth - (not drop))
        elif depth >= boilerplate.MAX_DEPTH:
            drop = True
            dropped += tag_name.lower() not in _ENDS_BY_ITSELF
        else:
            depth += 1
        if drop:
            parts += (source[end : tag.start()], b" ")
            end = tag.end()
    parts.append(source[end:])
    return b"".join(parts)


class _ReadPage(NamedTuple):
    text: str
    title: str
    left_out: tuple[tuple[str, str], ...]


def _read_fast(page: Scan, content: Content, unwrapped: bool = False) -> _ReadPage:
    tree, title, left_out = _pruned(page, content, unwrapped)
    text = (tree.root.text_lexbor() or "") if tree.root else ""
    return _ReadPage(in_blocks(text), title, left_out + cells_behind_gaps(text))


def _pruned(
    page: Scan, content: Content, unwrapped: bool = False
) -> tuple[LexborHTMLParser, str, tuple[tuple[str, str], ...]]:
    tree = LexborHTMLParser(page.page, options=LexborDocumentOptions.WO_EVENTS)
    while unwrapped and tree.body is not None and (wrapper := boilerplate.wrapper(tree.body)):
        wrapper.unwrap()
    found = tree.css(boilerplate.selector(page, content))
    named = next((node for node in found if node.tag == "title"), None) or tree.css_first("h1")
    title = named.text() if named is not None else ""
    left_out = boilerplate.remove(found, page, content)
    return tree, cleaned(title), left_out


class _ReferenceNode:
    """A tag of BeautifulSoup as a node of selectolax."""

    def __init__(self, node: Tag) -> None:
        self._node, self.tag, self.attributes = node, node.name, node.attrs
        self.decompose, self.insert_before, self.unwrap = node.decompose, node.insert_before, node.unwrap
        self.text_lexbor = node.get_text

    @property
    def parent(self) -> _ReferenceNode | None:
        above = None if self._node.decomposed else self._node.parent
        return None if above is None else _ReferenceNode(above)

    def replace_with(self, text: str) -> None:
        self._node.insert_before(text)
        self._node.decompose()

    def text(self, deep: bool) -> str:
        return "".join(self._node.find_all(string=_is_text, recursive=deep))

    def iter(self) -> Iterable[_ReferenceNode]:
        return map(_ReferenceNode, self._node.find_all(True, recursive=False))

    def css(self, selector: str) -> Iterable[_ReferenceNode]:
        return map(_ReferenceNode, self._node.select(selector))

    def css_first(self, selector: str) -> Tag | None:
        return self._node.select_one(selector)


def _is_text(string: object) -> bool:
    from bs4.element import CData, NavigableString

    return type(string) in (NavigableString, CData)


def _read_reference(page: Scan, content: Content, unwrapped: bool = False) -> _ReadPage:
    from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        # Its own way with white space would take the marks.
        tree = BeautifulSoup(page.page, "lxml", from_encoding="utf-8", preserve_whitespace_tags={"html"})
    as_node: Any = _ReferenceNode
    while unwrapped and tree.body is not None and (wrapper := boilerplate.wrapper(as_node(tree.body))):
        wrapper.unwrap()
    named = tree.find("title") or tree.find("h1")
    title = named.get_text() if named else ""
    found = tree.select(boilerplate.selector(page, content))
    left_out = boilerplate.remove(map(as_node, found), page, content)
    text = "".join(tree.find_all(string=_is_text))
    return _ReadPage(in_blocks(text), cleaned(title), left_out + cells_behind_gaps(text))


def _main_content(source: bytes, quoted: PartsLeftOut) -> Document:
    """The main block as trafilatura finds it.

    Chosen by measurement on 529 pages of API documentation and 532 translations of one text: trafilatura, told to
    favour recall, keeps 86% of the words of the former; resiliparse keeps 8%, too few to tell near-duplicates.
    """
    require_main_content()
    import trafilatura

    page = scanned(source, _NAMES)._replace(page=source)
    tree, title, left_out = _pruned(page, "full")
    if not tree.text().strip():
        tree, title, left_out = _pruned(page, "full", unwrapped=True)
    left_out += (("whole page", cleaned(tree.text())), *quoted)
    # Its own deduplication and its slower second opinions would make the text depend on more than the page.
    text = trafilatura.extract(
        tree.html, fast=True, favor_recall=True, include_comments=False, include_tables=True, deduplicate=False
    )
    engine = f"trafilatura {version('trafilatura')} rules {EXTRACTOR_VERSION}"
    notes = () if text else ("no main content found",)
    return Document(
        in_blocks(marked(text or "")), title, extractor=engine, notes=notes, declared=declared_in_page(source),
        left_out=left_out,
    )  # fmt: skip
