"""RSS and Atom feeds: each item one document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from indexer.errors import ExtractionError
from indexer.extract.formats import Format
from indexer.ingest.readers.base import MARK, BadEntry, ColumnNames, FileEntry, FileReader, ReaderOptions
from indexer.ingest.readers.compression import BROKEN, decompressed
from indexer.text.counts import counted

_ITEMS = ("item", "entry")
_DATES = ("pubDate", "published", "updated", "date")
# A feed is parsed as a whole by the process that indexes; of what is larger as much is read as comes before.
MOST_PIECES = 1_000_000
# Of two texts of an item, the whole one.
_TEXTS = ("encoded", "content", "description", "summary")


@dataclass(slots=True)
class _FeedItem:
    fields: dict[str, str] = field(default_factory=dict)
    link: str = ""


class Feed(FileReader):
    """Items of RSS 0.9 to 2.0, entries of Atom (RFC 4287), as HTML; the link is the source, the date metadata."""

    suffixes = (".rss", ".atom")

    def fits(self, head: bytes, kind: Format | None, columns: ColumnNames) -> bool:
        return kind == "xml" or super().fits(head, kind, columns)

    def entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:
        # What parses XML is loaded with the first feed, not by every command.
        from indexer.extract.markup.xml import in_utf8, parse_fast

        found = _Items()
        wrong: BadEntry | None = None
        try:
            data = decompressed(stream, name, asked).read(asked.limit + 1)
            if len(data) > asked.limit:
                yield BadEntry(0, "too-large", f"the limit is {counted(asked.limit, 'byte')}")
                return
            parse_fast(in_utf8(data), found)
        except ExtractionError as error:
            wrong = BadEntry(0, error.reason, error.detail)
        except BROKEN as error:
            wrong = BadEntry(0, "unreadable", str(error))
        for number, item in enumerate(found.items, 1):
            yield _entry(number, item)
        if wrong:
            yield wrong


def _entry(number: int, item: _FeedItem) -> FileEntry:
    values = item.fields
    text = next((values[name] for name in _TEXTS if values.get(name, "").strip()), "")
    link = item.link or values.get("link", "").strip()
    identity = values.get("guid", "").strip() or values.get("id", "").strip() or link
    date = next((values[name].strip() for name in _DATES if values.get(name, "").strip()), "")
    title = " ".join(values.get("title", "").split())
    data = MARK + text.encode("utf-8", "replace")
    url = link if "://" in link[:20] else ""
    return FileEntry(number, identity, data, "html", title, url, {"date": date} if date else {})


class _Items:
    def __init__(self) -> None:
        self.items: list[_FeedItem] = []
        self._item: _FeedItem | None = None
        self._path: list[str] = []
        self._depth = 0
        self._parts: list[str] = []
        self._pieces = 0

    def _count(self) -> None:
        self._pieces += 1
        if self._pieces > MOST_PIECES:
            raise ExtractionError(
                "too-large", f"a feed with too many elements and pieces of text (over {MOST_PIECES:,})"
            )

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._count()
        name = tag.rpartition(":")[2]
        self._path.append(name)
        if self._item is None:
            if name in _ITEMS:
                self._item, self._depth = _FeedItem(), len(self._path)
        elif len(self._path) == self._depth + 1:
            self._parts = []
            if name == "link" and attributes.get("rel", "alternate") == "alternate":
                self._item.link = self._item.link or attributes.get("href", "")
        else:
            # XHTML that stands in the feed as it is: what its elements keep apart stays apart.
            self._parts.append(" ")

    def end(self, _tag: str = "") -> None:
        name, depth = self._path.pop(), len(self._path) + 1
        if self._item is None:
            return
        if depth == self._depth:
            self.items.append(self._item)
            self._item = None
        elif depth == self._depth + 1:
            self._item.fields.setdefault(name, "".join(self._parts))
        else:
            self._parts.append(" ")

    def data(self, text: str) -> None:
        self._count()
        if self._item is not None:
            self._parts.append(text)
