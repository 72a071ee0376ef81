"""EPUB 2 and 3: the pages of a book in order."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from urllib.parse import unquote

from indexer.errors import ExtractionError
from indexer.extract.base import Content
from indexer.extract.markup.html import extract_html
from indexer.extract.markup.xml import in_utf8, local_name, parse_fast, parse_reference
from indexer.extract.packages.parts import PackageParts
from indexer.extract.text import cleaned
from indexer.model import Document

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGES = frozenset(("application/xhtml+xml", "text/html", "application/x-dtbook+xml"))
_MOST_PAGES = 100_000


def extract_epub(parts: PackageParts, content: Content, extractor: str) -> Document:
    """The document of an EPUB file. Raises ExtractionError "encrypted" for encrypted pages."""
    package_path = _parsed(parts, _CONTAINER, extractor).package
    package = _parsed(parts, package_path, extractor)
    locked = _parsed(parts, _ENCRYPTION, extractor).locked if _ENCRYPTION in parts else set[str]()
    texts: list[str] = []
    left_out: list[tuple[str, str]] = []
    named = ""
    for page, is_contents in package.pages(posixpath.dirname(package_path)).items():
        if page in locked:
            raise ExtractionError("encrypted", f"the page {page} is encrypted")
        # A book may name what it lacks; a path that leads out of the book names nothing in it.
        if page in parts:
            found = extract_html(parts.read(page), content, extractor)
            if is_contents:
                left_out.append(("table of contents", found.text))
                continue
            texts.append(found.text)
            left_out += found.left_out
            named = found.extractor
    title = cleaned("".join(package.title))
    left_out += [("book author", author) for each in package.authors if (author := cleaned(each))]
    name = f"{named} (EPUB)".strip()
    return Document("\f".join(filter(None, texts)), title, extractor=name, left_out=tuple(left_out))


def _parsed(parts: PackageParts, name: str, extractor: str) -> _Package:
    found = _Package()
    (parse_fast if extractor == "fast" else parse_reference)(in_utf8(parts.read(name)), found)
    return found


class _Package:
    def __init__(self) -> None:
        self.package = ""
        self.title: list[str] = []
        self.authors: list[str] = []
        self.locked: set[str] = set()
        self._items: dict[str, tuple[str, bool]] = {}
        self._spine: list[str] = []
        self._path: list[str] = []
        self._titles = 0

    def pages(self, folder: str) -> dict[str, bool]:
        """The paths of the pages in their order; true for a page of links to the others."""
        items = [self._items[each] for each in self._spine if each in self._items]
        return {posixpath.normpath(posixpath.join(folder, unquote(href))): contents for href, contents in items}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = local_name(tag)
        self._path.append(name)
        if name == "rootfile" and not self.package:
            self.package = posixpath.normpath(attributes.get("full-path", ""))
        elif name == "item" and attributes.get("media-type") in _PAGES:
            contents = "nav" in attributes.get("properties", "").split()
            self._items[attributes.get("id", "")] = attributes.get("href", "").partition("#")[0], contents
        elif name == "itemref" and len(self._spine) < _MOST_PAGES:
            self._spine.append(attributes.get("idref", ""))
        elif name == "CipherReference":
            self.locked.add(posixpath.normpath(unquote(attributes.get("URI", ""))))
        elif name == "title":
            self._titles += 1
        elif name == "creator":
            self.authors.append("")

    def end(self, _tag: str = "") -> None:
        self._path.pop()

    def data(self, text: str) -> None:
        if self._titles == 1 and self._path and self._path[-1] == "title":
            self.title.append(text)
        elif self._path[-1:] == ["creator"]:
            self.authors[-1] += text
