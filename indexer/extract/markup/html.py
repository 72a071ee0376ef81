"""HTML: what a reader of the page sees, without the furniture that HTML itself marks as such.

The words of block elements are kept apart by a space written before their tags into the source, which a regular
expression does at 250 MB/s; a space there never changes the tree that the parser builds. Whether an element is left
out is decided in one place for both engines. The `<title>` is the document's title and no part of its text: it often
names the site, and the same article on two sites should meet; the heading of the article is in the text anyway. Of
ruby, the base text stays and the readings (`rt`, `rp`) go.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from indexer.extract.base import EXTRACTOR_VERSION, Content, Extracted, require_main_content
from indexer.extract.markup import furniture
from indexer.extract.text import cleaned, collapsed, decode

if TYPE_CHECKING:
    from bs4 import Tag


# What browsers put on lines or in cells of their own (HTML Standard, section 15.3, Flow content), images, and form
# controls. Every other element, known or not, is inline and does not end a word.
_BLOCKS = furniture.words(
    "address article aside audio blockquote body br button canvas caption center col colgroup dd details dialog dir "
    "div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html "
    "iframe img input legend li listing main map menu meta nav noscript object ol optgroup option p plaintext pre "
    "script search section select style summary svg table tbody td template textarea tfoot th thead title tr ul "
    "video xmp"
)

# The parser's cost grows with the square of the depth; browsers stop at 512 too.
_MAX_DEPTH = 512
_SUSPECT_DEPTH = 4000
# So little can't nest deep enough to cost a second.
_SMALL = 100_000
_TAG_NAME_END = r"[\t\n\f\r />]"
_CAPITALS = re.compile(rb"</?[A-Z]")
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
_EMPTY_RAW = re.compile(rb"<((?:title|script|style|iframe|noscript|textarea|template)\b[^<>]*?)/>", re.IGNORECASE)


def extract_html(data: bytes, content: Content, engine: str) -> Extracted:
    """The document of an HTML page; `engine` is "fast" or "reference"."""
    source = _utf8(data)
    if content == "main":
        return _main_content(source)
    source = _flattened(source)
    unusual = _unusual().search(source) is not None
    any_case = unusual and _CAPITALS.search(source) is not None
    spaced = _spaced(source, any_case)
    read = _read_fast if engine == "fast" else _read_reference
    text, title = read(spaced, content, unusual, any_case)
    notes: tuple[str, ...] = ()
    if not text:
        text, title = read(spaced, content, unusual, any_case, unwrapped=True)
    if not text and content == "landmarks":
        text, title = read(spaced, "full", unusual, any_case)
        if text:
            notes = ("all text stands in navigation, banners, footers, asides, dialogs or forms; it was kept",)
    return Extracted(_engine_name(engine), text, title, notes)


@cache
def _engine_name(engine: str) -> str:
    if engine == "fast":
        return f"lexbor/selectolax {version('selectolax')} rules {EXTRACTOR_VERSION}"
    return f"lxml/beautifulsoup4 {version('beautifulsoup4')} rules {EXTRACTOR_VERSION}"


def _utf8(data: bytes) -> bytes:
    """The page as UTF-8, decoded as a browser would."""
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
    """The label of the encoding that the page declares, or ""."""
    if b"<!--" in head:
        head = _COMMENT.sub(b"", head)
    labels = (_CHARSET.search(meta[0]) for meta in _META.finditer(head))
    label = next(filter(None, labels), None) or _XML_ENCODING.match(head)
    return label[1].decode("ascii", "replace") if label else ""


def _spaced(source: bytes, any_case: bool) -> bytes:
    """The page with a space before each tag of a block element that has no white space before it."""
    return _block_tag(any_case).sub(b" <", source)


@cache
def _block_tag(any_case: bool) -> re.Pattern[bytes]:
    # Case is written out as classes: under re.IGNORECASE, the search for the "<" would lose its fast path.
    return re.compile(rf"<(?<=\S<)(?=/?{_trie(_BLOCKS, any_case)}{_TAG_NAME_END})".encode())


@cache
def _unusual() -> re.Pattern[bytes]:
    """A pattern that finds a tag in capitals or a rare one: with either, the slower ways are taken."""
    names = furniture.RARE_ELEMENTS
    first = "".join({name[0] for name in names})
    # Looking at the first letter alone saves most looks at the names.
    return re.compile(rf"<(?:[A-Z]|/[A-Z]|(?=[{first}]){_trie(names, any_case=False)}{_TAG_NAME_END})".encode())


def _trie(words: Iterable[str], any_case: bool) -> str:
    """A pattern that matches exactly `words`, with common beginnings shared, so that a search tries each once."""
    branches: dict[str, list[str]] = {}
    optional = False
    for word in words:
        if word:
            branches.setdefault(word[0], []).append(word[1:])
        else:
            optional = True
    if not branches:
        return ""
    letters = {c: f"[{c}{c.upper()}]" if any_case and c.isalpha() else c for c in branches}
    options = "|".join(letters[c] + _trie(rest, any_case) for c, rest in sorted(branches.items()))
    if len(branches) > 1 or optional:
        options = f"(?:{options})"
    return options + "?" if optional else options


def _flattened(source: bytes) -> bytes:
    """The page without the tags that stand deeper than any browser nests; the text in them stays."""
    if not _may_be_deep(source):
        return source
    depth = dropped = 0
    parts: list[bytes] = []
    end = 0
    for tag in _TAG.finditer(source):
        closes, tag_name = tag.groups()
        if tag_name.lower() in _ENDS_BY_ITSELF and depth < _MAX_DEPTH:
            continue
        drop = False
        if closes:
            drop = dropped > 0
            dropped -= drop
            depth = max(0, depth - (not drop))
        elif depth >= _MAX_DEPTH:
            drop = True
            dropped += tag_name.lower() not in _ENDS_BY_ITSELF
        else:
            depth += 1
        if drop:
            parts += (source[end : tag.start()], b" ")
            end = tag.end()
    parts.append(source[end:])
    return b"".join(parts)


def _may_be_deep(source: bytes) -> bool:
    """Whether, at any of some places, so many more tags have opened than closed that a closer look is due."""
    if len(source) < _SMALL:
        return False
    opened = 0
    step = 1 << 16
    for start in range(0, len(source), step):
        part = source[start : start + step]
        opened += part.count(b"<") - 2 * part.count(b"</")
        if opened > _SUSPECT_DEPTH:
            return True
    return False


class _FastElement:
    def __init__(self, node: LexborNode) -> None:
        self._node = node
        self.tag = node.tag or ""
        self.attributes: Mapping[str, Any] = node.attributes

    @property
    def text(self) -> str:
        return self._node.text()

    @property
    def own_text(self) -> str:
        return self._node.text(deep=False)

    def children(self) -> Iterable[_FastElement]:
        return (_FastElement(node) for node in self._node.iter() if node.is_element_node)

    def unwrap(self) -> None:
        self._node.unwrap()

    def ancestors(self) -> Iterable[str]:
        parent = self._node.parent
        for _ in range(_MAX_DEPTH):
            if parent is None:
                return
            yield parent.tag or ""
            parent = parent.parent

    def inside(self, selector: str) -> Iterable[str]:
        return (node.text() for node in self._node.css(selector))


def _read_fast(
    source: bytes, content: Content, unusual: bool, any_case: bool, unwrapped: bool = False
) -> tuple[str, str]:
    page, title = _pruned(source, content, unusual, any_case, unwrapped)
    return collapsed(page.text()), title


def _pruned(
    source: bytes, content: Content, unusual: bool, any_case: bool, unwrapped: bool = False
) -> tuple[LexborHTMLParser, str]:
    """The page without what is no part of its text, and its title; `unwrapped`: first without what holds all of it."""
    page = LexborHTMLParser(source, options=LexborDocumentOptions.WO_EVENTS)
    while unwrapped and page.body is not None and (wrapper := furniture.wrapper(_FastElement(page.body))):
        wrapper.unwrap()
    unwanted = page.css(furniture.selector(content, unusual))
    named = next((node for node in unwanted if node.tag == "title"), None) or page.css_first("h1")
    title = named.text() if named is not None else ""
    for node in unwanted:
        if furniture.left_out(_FastElement(node), content):
            node.decompose()
    if content == "landmarks" and (boxes := furniture.named_selector(source, any_case)):
        # From the innermost outwards: no element is looked at after it went with another.
        for node in reversed(page.css(boxes)):
            if furniture.named_furniture(_FastElement(node)):
                node.decompose()
    return page, cleaned(title)


class _ReferenceElement:
    def __init__(self, node: Tag) -> None:
        self._node = node
        self.tag = node.name
        self.attributes: Mapping[str, Any] = node.attrs

    @property
    def text(self) -> str:
        return self._node.get_text()

    @property
    def own_text(self) -> str:
        return "".join(self._node.find_all(string=_is_text, recursive=False))

    def children(self) -> Iterable[_ReferenceElement]:
        return map(_ReferenceElement, self._node.find_all(True, recursive=False))

    def unwrap(self) -> None:
        self._node.unwrap()

    def ancestors(self) -> Iterable[str]:
        return (parent.name for parent in self._node.parents)

    def inside(self, selector: str) -> Iterable[str]:
        return (node.get_text() for node in self._node.select(selector))


def _is_text(string: object) -> bool:
    from bs4.element import CData, NavigableString

    return type(string) in (NavigableString, CData)


def _read_reference(
    source: bytes, content: Content, unusual: bool, any_case: bool, unwrapped: bool = False
) -> tuple[str, str]:
    from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        page = BeautifulSoup(source, "lxml", from_encoding="utf-8")
    while unwrapped and page.body is not None and (wrapper := furniture.wrapper(_ReferenceElement(page.body))):
        wrapper.unwrap()
    named = page.find("title") or page.find("h1")
    title = named.get_text() if named else ""
    for node in page.select(furniture.selector(content, unusual)):
        # What stood in something left out is gone already.
        if not node.decomposed and furniture.left_out(_ReferenceElement(node), content):
            node.decompose()
    if content == "landmarks" and (boxes := furniture.named_selector(source, any_case)):
        for node in reversed(page.select(boxes)):
            if furniture.named_furniture(_ReferenceElement(node)):
                node.decompose()
    text = "".join(page.find_all(string=_is_text))
    return collapsed(text), cleaned(title)


def _main_content(source: bytes) -> Extracted:
    """The main block as trafilatura finds it.

    Chosen by measuring on 529 pages of API documentation and 532 translations of one text: trafilatura, told to
    favour recall, keeps 86% of the words of the former and resiliparse 8%, of which near-duplicates can't be told.
    """
    require_main_content()
    import trafilatura

    page, title = _pruned(source, "full", unusual=True, any_case=True)
    if not page.text().strip():
        page, title = _pruned(source, "full", unusual=True, any_case=True, unwrapped=True)
    # Its own deduplication and its slower second opinions would make the text depend on more than the page.
    text = trafilatura.extract(
        page.html, fast=True, favor_recall=True, include_comments=False, include_tables=True, deduplicate=False
    )
    engine = f"trafilatura {version('trafilatura')} rules {EXTRACTOR_VERSION}"
    return Extracted(engine, cleaned(text or ""), title, () if text else ("no main content found",))
