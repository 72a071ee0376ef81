"""The interface of readers of files with many documents."""

from __future__ import annotations

import importlib
import io
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar

from indexer.errors import UsageError
from indexer.extract.base import PartsLeftOut
from indexer.extract.fields import FieldFormat, format_of
from indexer.extract.formats import Format
from indexer.extract.sniffing import HEAD, kind_of_head
from indexer.model import REASON_KEY
from indexer.text.counts import counted

# As in a browser, a byte order mark outdoes whatever encoding the HTML declares: the text has been decoded already.
MARK = b"\xef\xbb\xbf"
# A ZIP file, also an empty one.
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
# A small compressed file can hold more blank lines than anybody waits for.
MOST_BLANK = 1_000_000
TOO_BLANK = f"more than {MOST_BLANK:,} blank lines in a row; the file is read no further"
# What is read of one line, and unpacked of one file, without a document coming of it.
MOST_SKIPPED = 4 << 30
# Texts are packed to a tenth; what was made to take time, to a thousandth and less.
MOST_RATIO = 200
_PIECE = 1 << 16
# What a message lists of a table's columns.
_MOST_NAMES, _MOST_CHARACTERS = 20, 400


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One document of a file with many.

    `number` counts lines, rows or records from 1, and is 0 if `member`, the path of a file in an archive, says enough.
    `id` is empty if the document has none; `data` is UTF-8 for the format text. `again` says that a store refused it
    before. `name` helps to tell its kind. `left_out` is what the reader left out of `data`; `field` names the field
    that it is the value of.
    """

    number: int
    id: str
    data: bytes
    format: Format | None
    title: str = ""
    url: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    again: bool = False
    member: str = ""
    name: str = ""
    left_out: PartsLeftOut = ()
    field: str = ""


@dataclass(frozen=True, slots=True)
class BadEntry:
    """A line, row, record or member without a document; `reason` is a short fixed word.

    Number 0 means a file or member as a whole; `is_last` says that nothing behind it can be read.
    """

    number: int
    reason: str
    detail: str
    member: str = ""
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The columns of the text, the id and the title, each empty for its usual name, and the format of the text.

    A dot leads into an object: "meta.lang". A column with a dot in its own name is found first.
    """

    text: str = ""
    id: str = ""
    title: str = ""
    format: FieldFormat = "text"


@dataclass(slots=True)
class Unpacked:
    """Bytes unpacked from a file without a document, compared with the bytes read: a small file can hold a petabyte.

    Counts the output of every compression and archive in it. A document justifies some text around it.
    """

    packed: int = 0
    wasted: int = 0

    def add(self, size: int) -> None:
        self.wasted += size
        if self.wasted > max(MOST_SKIPPED, MOST_RATIO * self.packed):
            raise OSError(
                f"{counted(self.packed, 'byte')} of the file unpack to {self.wasted:,} that hold no documents; "
                "it is read no further"
            )

    def used(self, size: int) -> None:
        self.wasted = max(0, self.wasted - 16 * size - _PIECE)


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """The request to a reader: the most bytes of one entry, the columns, and the wanted members of an archive.

    `columns_of` gives the columns of a member; None means the archive's. `unpacked` counts for the file as a whole;
    `is_unpacked` says that the stream is decompressed already.
    """

    limit: int
    columns: ColumnNames = field(default_factory=ColumnNames)
    wanted: Callable[[str], bool] = lambda _: True
    columns_of: Callable[[str], ColumnNames] | None = None
    depth: int = 0
    unpacked: Unpacked = field(default_factory=Unpacked)
    is_unpacked: bool = False


class FileReader(ABC):
    """A kind of file with many documents; `indexer.ingest.readers` lists them."""

    suffixes: ClassVar[tuple[str, ...]]
    """The suffixes of such files, in lower case, before that of a compression."""

    magic: ClassVar[tuple[int, bytes] | None] = None
    """The place in a file and the bytes there that tell that it is one; None for a kind that its name alone tells."""

    is_folder: ClassVar[bool] = False
    """True if its members are files."""

    is_document: ClassVar[bool] = False
    """True if such a file is a document itself, its first entry; what else it holds is attached to it."""

    def takes(self, name: str) -> bool:
        """True for the name of a file of this kind, in lower case and without a compression's suffix."""
        return name.endswith(self.suffixes)

    def fits(self, head: bytes, kind: Format | None, columns: ColumnNames) -> bool:  # noqa: ARG002
        """True unless the first bytes, decompressed, are of another kind; `kind` is the document kind they suggest."""
        return kind is None and not head.startswith(ZIP)

    def is_own(self, path: str, columns: ColumnNames) -> bool:  # noqa: ARG002
        """True for a file neardup wrote into a folder for itself: its rows are no documents by these columns."""
        return False

    @abstractmethod
    def entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:
        """The documents of a file; anything else, and the point where the file breaks off, is a BadEntry.

        Raises UsageError for a missing package; no other error.
        """


def is_as_named(reader: FileReader, stream: io.BufferedReader, columns: ColumnNames) -> bool:
    """True unless the first bytes of a file, chosen by name, contradict this reader; none are taken."""
    head = stream.peek(HEAD)[:HEAD]
    return not head.strip() or reader.fits(head, kind_of_head(head), columns)


def skip_line(lines: BinaryIO) -> None:
    """Read the rest of an overlong line. Raises OSError if it has no end."""
    left = MOST_SKIPPED
    while (piece := lines.readline(_PIECE)) and not piece.endswith(b"\n"):
        left -= len(piece)
        if left < 0:
            raise OSError(f"a line of more than {counted(MOST_SKIPPED, 'byte')}; the file is read no further")


def optional(module: str, extra: str, what: str) -> Any:
    """A module of an optional package. Raises UsageError, naming the extra, if it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == package:
            why = "is not installed"
        else:
            why = f"can't be loaded ({error})"
        shown = module if package == "backports" else package
        raise UsageError(f"{what}: this needs {shown}, which {why}: pip install 'neardup[{extra}]'") from None


def entry_of(number: int, item: Any, columns: ColumnNames) -> FileEntry:
    """The document in a row of named values. Raises ValueError with the problem."""
    if not isinstance(item, dict):
        raise ValueError("a line holds one JSON object")
    id_name, title_name, url_name = columns.id or "id", columns.title or "title", "url" if item.get("url") else "source"
    identity, title, url = value_at(item, id_name), value_at(item, title_name), item.get(url_name)
    if isinstance(identity, int) and not isinstance(identity, bool):
        identity = str(identity)
    if identity is not None and (not isinstance(identity, str) or not identity):
        raise ValueError(f'"{id_name}" must be a non-empty string or an integer')
    if identity is None and columns.id:
        raise ValueError(f'no "{columns.id}"')
    for name, value in ((title_name, title), (url_name, url)):
        if value is not None and not isinstance(value, str):
            raise ValueError(f'"{name}" must be a string')
    name, given = _body(item, columns)
    body = value_at(item, name)
    if not isinstance(body, str):
        if body is not None:
            raise ValueError(f'"{name}" must be a string')
        missing = f'no "{columns.text}"' if columns.text else 'no "text" or "html"; name the field with --text-field'
        there = {name, name.partition(".")[0]} & set(item)
        raise ValueError(missing if there else f"{missing}; the fields are: {_listed(list(item))}")
    own = (id_name, title_name, url_name, REASON_KEY, *((name,) if columns.text else ("text", "html")))
    metadata = {key: value for key, value in item.items() if key not in own}
    for path in (id_name, title_name, name):
        if "." in path and path not in item:
            metadata = _without(metadata, path.split("."))
    data = body.encode("utf-8")
    kind = format_of(given, data)
    data = MARK + data if kind == "html" else data
    about = title or "", url or "", metadata, REASON_KEY in item
    return FileEntry(number, identity or "", data, kind, *about, field=name if given == "text" else "")


def row_of(number: int, item: Any, columns: ColumnNames) -> FileEntry | BadEntry:
    try:
        return entry_of(number, item, columns)
    except ValueError as error:
        return BadEntry(number, "malformed", str(error))


def column_error(names: Sequence[str], columns: ColumnNames) -> str:
    used = (columns.text or "text", columns.id or "id", columns.title or "title")
    if twice := [name for name in used if list(names).count(name) > 1]:
        return f"several columns are called {twice[0]!r}; rename all but one"
    asked = {"--text-field": columns.text, "--id-field": columns.id, "--title-field": columns.title}
    missing = [name for name in asked.values() if name and not {name, name.partition(".")[0]} & set(names)]
    if not missing and (columns.text or {"text", "html"} & set(names)):
        return ""
    what = f"no column {missing[0]!r}" if missing else "no column 'text' or 'html'; name the one with --text-field"
    return f"{what}; the columns are: {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    return (", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else ""))[:_MOST_CHARACTERS]


def _body(item: Mapping[str, Any], columns: ColumnNames) -> tuple[str, FieldFormat]:
    if columns.text:
        return columns.text, columns.format
    if not item.get("text") and item.get("html") is not None:
        return "html", "html"
    # With the format html it is a field beside files.
    return "text", "auto" if columns.format == "auto" else "text"


def _without(item: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    inner = item.get(path[0])
    rest = {key: value for key, value in item.items() if key != path[0]}
    if len(path) == 1 or path[0] not in item:
        return rest
    left = _without(inner, path[1:]) if isinstance(inner, Mapping) else inner
    return {**rest, path[0]: left} if left else rest


# What Python writes of a number that is not finite, beside strings that may say the same.
_WRITTEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?Infinity|NaN')
_IN_JSON = {"Infinity": "1e999", "-Infinity": "-1e999", "NaN": "null"}


def json_text(value: Any) -> str:
    """A value as exact JSON in ASCII: a number beyond all bounds is written as one."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return _WRITTEN.sub(lambda found: _IN_JSON.get(found[0], found[0]), json.dumps(value))


# What an id would hold for half a surrogate pair, and for a backslash beside one.
_WRITTEN_OUT = re.compile(r"[\ud800-\udfff]|\\(?:x5c|ud[89a-f][0-9a-f]{2})")


def printable_id(text: str) -> str:
    r"""An id as text for any store, different for different ids: half a surrogate pair is written \ud800."""
    if not _WRITTEN_OUT.search(text):
        return text
    return text.replace("\\", "\\x5c").encode("utf-8", "backslashreplace").decode("utf-8")


def value_at(item: Mapping[str, Any], name: str) -> Any:
    if name in item or "." not in name:
        return item.get(name)
    found: Any = item
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
