"""Documents as JSON lines: one object a line with "id", "text" or "html", and whatever else belongs to it."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn, cast

from indexer.extract.base import Format
from indexer.model import REASON_KEY
from indexer.text.counts import counted

_PIECE = 1 << 16
# As in a browser, a byte order mark outdoes whatever encoding the HTML declares: the text has been decoded already.
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """One document; `number` counts lines from 1; `data` is UTF-8; `again` says that a store refused it before."""

    number: int
    id: str
    data: bytes
    format: Format
    title: str
    url: str
    metadata: Mapping[str, Any]
    again: bool = False


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no document; `reason` is a short fixed word."""

    number: int
    reason: str
    detail: str


def read(stream: BinaryIO, *, compressed: bool, limit: int) -> Iterator[Line | BadLine]:
    """The documents of a stream, each line of at most `limit` bytes; blank lines are passed over.

    A bad line costs that line only; where the stream itself breaks, a last BadLine says so.
    """
    number = 0
    try:
        lines = cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if compressed else stream
        while line := lines.readline(limit + 1):
            number += 1
            if len(line) > limit and not line.endswith(b"\n"):
                _skip_rest(lines)
                yield BadLine(number, "too-large", f"the line is longer than the limit of {counted(limit, 'byte')}")
                continue
            if number == 1:
                line = line.removeprefix(_MARK)
            if line.strip():
                yield _document(number, line)
    except (OSError, EOFError, zlib.error) as error:
        yield BadLine(number + 1, "unreadable", f"the stream breaks off here: {error}")


def _skip_rest(lines: BinaryIO) -> None:
    while (piece := lines.readline(_PIECE)) and not piece.endswith(b"\n"):
        pass


def _document(number: int, line: bytes) -> Line | BadLine:
    try:
        item = json.loads(line.decode("utf-8"), parse_constant=_refuse)
        if b"\\u" in line:
            # Halves of surrogate pairs can be written in JSON, and in no encoding.
            text = json.dumps(item, ensure_ascii=False)
            item = json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
        return _checked(number, item)
    except UnicodeDecodeError as error:
        return BadLine(number, "malformed", f"not UTF-8 at byte {error.start + 1}")
    except json.JSONDecodeError as error:
        return BadLine(number, "malformed", f"no JSON: {error.msg} at character {error.pos + 1}")
    except RecursionError:
        return BadLine(number, "malformed", "nested too deeply")
    except ValueError as error:
        return BadLine(number, "malformed", str(error))


def _checked(number: int, item: Any) -> Line:
    if not isinstance(item, dict):
        raise ValueError("a line holds one JSON object")
    identity = item.get("id", "")
    if isinstance(identity, int) and not isinstance(identity, bool):
        identity = str(identity)
    if not isinstance(identity, str) or ("id" in item and not identity):
        raise ValueError('"id" must be a string that is not empty, or an integer')
    kind: Format = "html" if not item.get("text") and item.get("html") is not None else "text"
    body = item.get(kind)
    if not isinstance(body, str):
        raise ValueError('no "text" or "html"' if body is None else f'"{kind}" must be a string')
    place = "url" if item.get("url") else "source"
    title, url = item.get("title"), item.get(place)
    for name, value in (("title", title), (place, url)):
        if value is not None and not isinstance(value, str):
            raise ValueError(f'"{name}" must be a string')
    own = ("id", "text", "html", "title", place, REASON_KEY)
    metadata = {key: value for key, value in item.items() if key not in own}
    data = body.encode("utf-8")
    data = data if kind == "text" else _MARK + data
    return Line(number, identity, data, kind, title or "", url or "", metadata, REASON_KEY in item)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
