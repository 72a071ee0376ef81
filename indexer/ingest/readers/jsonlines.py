"""JSON lines with "id", "text" or "html", and metadata."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import BinaryIO, NoReturn

from indexer.extract.formats import Format
from indexer.extract.sniffing import HEAD
from indexer.ingest.readers.base import (
    MARK,
    MOST_BLANK,
    TOO_BLANK,
    BadEntry,
    ColumnNames,
    FileEntry,
    FileReader,
    ReaderOptions,
    entry_of,
    printable_id,
    skip_line,
    value_at,
)
from indexer.ingest.readers.compression import BROKEN, decompressed
from indexer.text.counts import counted

_OBJECT = re.compile(rb"^\s*\{", re.MULTILINE)
# A string, with the colon behind it where it names a member, or what opens or closes an object or a list.
_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*(:?)|[{}\[\]]')
_HALVES = re.compile(rb"\\u[dD][89a-fA-F]")


class JsonLines(FileReader):
    """Reads JSON lines, each of at most the limit's bytes; blank lines are skipped.

    A bad line costs only itself; a broken stream is a last BadEntry.
    """

    suffixes = (".jsonl", ".ndjson")

    def fits(self, head: bytes, kind: Format | None, columns: ColumnNames) -> bool:
        undecided = len(head) == HEAD and b"\n" not in head
        return (kind == "text" and (undecided or _OBJECT.search(head) is not None)) or super().fits(head, kind, columns)

    def are_rows(self, head: bytes, columns: ColumnNames) -> bool:
        """True if the first of some bytes' lines is an object with the text, whatever the file is called."""
        line, ended, _ = head.removeprefix(MARK).lstrip().partition(b"\n")
        names = {name.partition(".")[0].encode() for name in ((columns.text,) if columns.text else ("text", "html"))}
        if not line.startswith(b"{") or names.isdisjoint(_members(line)):
            return False
        # A line that goes on behind the head is none that can be parsed.
        return not ended or isinstance(_document(1, line, columns), FileEntry)

    def entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:
        number, blank, limit = 0, 0, asked.limit
        try:
            lines = decompressed(stream, name, asked)
            while line := lines.readline(limit + 1):
                number += 1
                if len(line) > limit and not line.endswith(b"\n"):
                    skip_line(lines)
                    yield BadEntry(
                        number, "too-large", f"the line is longer than the limit of {counted(limit, 'byte')}"
                    )
                    continue
                if number == 1:
                    line = line.removeprefix(MARK)
                if line.strip():
                    blank = 0
                    yield _document(number, line, asked.columns)
                elif (blank := blank + 1) > MOST_BLANK:
                    yield BadEntry(number, "malformed", TOO_BLANK)
                    return
        except BROKEN as error:
            yield BadEntry(number + 1, "unreadable", f"the stream breaks off here: {error}", is_last=True)


def _members(line: bytes) -> Iterator[bytes]:
    depth = 0
    for token in _TOKEN.finditer(line):
        if token[2]:
            if depth == 1:
                yield token[1]
        elif token[1] is None:
            depth += 1 if token[0] in b"{[" else -1


def _document(number: int, line: bytes, columns: ColumnNames) -> FileEntry | BadEntry:
    try:
        item = _DECODER.decode(line.decode("utf-8"))
        if not _HALVES.search(line):
            return entry_of(number, item, columns)
        # Halves of surrogate pairs can be written in JSON, and in no encoding.
        text = json.dumps(item, ensure_ascii=False)
        entry = entry_of(
            number, json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")), columns
        )
        identity = value_at(item, columns.id or "id")
        return dataclasses.replace(entry, id=printable_id(identity)) if isinstance(identity, str) else entry
    except UnicodeDecodeError as error:
        return BadEntry(number, "malformed", f"not UTF-8 at byte {error.start + 1}")
    except json.JSONDecodeError as error:
        return BadEntry(number, "malformed", f"no JSON: {error.msg} at character {error.pos + 1}")
    except RecursionError:
        return BadEntry(number, "malformed", "nested too deeply")
    except ValueError as error:
        # Of numbers Python says what is no matter of the document's.
        digits = str(error).startswith("Exceeds the limit")
        return BadEntry(number, "malformed", "a number with too many digits" if digits else str(error))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# loads() would make one for each line.
_DECODER = json.JSONDecoder(parse_constant=_refuse)
