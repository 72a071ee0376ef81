"""HTML pages as rows of tags and text, by the C core.

Before white space is folded, marks in the text end a block, a cell, a row or a page: BLOCK_END, CELL_END, ROW_END and
PAGE_END. This module does without numpy because extracting processes have little memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, compress
from typing import Any, NamedTuple

from indexer._core import ffi, lib
from indexer.errors import UsageError

_LONGEST_NAME: int = lib.ND_TAG_NAME
ENDS_WORD, ENDS_LINES = chr(lib.ND_ENDS_WORD), chr(lib.ND_ENDS_LINES)
BLOCK_END, CELL_END, ROW_END, PAGE_END = (
    f"\f{chr(end)}" for end in (lib.ND_ENDS_BLOCK, lib.ND_ENDS_CELL, lib.ND_ENDS_ROW, lib.ND_ENDS_PAGE)
)


class Names:
    """The names a scan looks for: elements, and beginnings of classes and ids.

    All are lower-case ASCII; beginnings have three letters. `ends` maps elements to the mark they leave, ENDS_WORD, or
    ENDS_LINES for a block with significant lines.
    """

    def __init__(self, ends: Mapping[str, str], others: Sequence[str], beginnings: Sequence[str]) -> None:
        self.tags = list(dict.fromkeys((*ends, *others)))
        if len(self.tags) > lib.ND_MAX_TAGS or max(map(len, self.tags), default=0) > _LONGEST_NAME:
            raise UsageError(f"a scan looks for at most {lib.ND_MAX_TAGS} elements, of {_LONGEST_NAME} letters each")
        if any(len(beginning) != 3 for beginning in beginnings):
            raise UsageError("names begin with three letters")
        packed = b"".join(tag.encode("ascii").ljust(_LONGEST_NAME, b"\0") for tag in self.tags)
        # They stay alive with the object.
        last = "".join(end[-1] for end in ends.values())
        self._data = [ffi.from_buffer(each) for each in (packed, last.encode(), "".join(beginnings).encode("ascii"))]
        tags, ended, letters = self._data
        self.c = ffi.new("nd_markup_names *", (tags, len(self.tags), ended, len(ends), letters, len(beginnings)))


class Needles:
    """Words to look for in one pass over a text: lower-case ASCII of two characters or more."""

    def __init__(self, *marks: str) -> None:
        if len(marks) > lib.ND_MAX_MARKS or any(len(mark) < 2 for mark in marks):
            raise UsageError(f"a pass looks for at most {lib.ND_MAX_MARKS} marks, of two letters at least")
        self._marks = marks
        self._letters = ffi.from_buffer("".join(marks).encode("ascii"))
        self._ends = ffi.new("size_t[]", list(accumulate(map(len, marks))))

    def within(self, text: bytes) -> frozenset[str]:
        seen = bytearray(len(self._marks))
        lib.nd_find_marks(ffi.from_buffer(text), len(text), self._letters, self._ends, len(seen), ffi.from_buffer(seen))
        return frozenset(compress(self._marks, seen))


class Scan(NamedTuple):
    """A page with a mark before each tag that ends something, and the names found in it.

    `elements` are the names of opening elements. `classes` and `ids` are their names with one of the wanted beginnings
    (and some others), each behind a space. `styles` and `roles` say that an attribute of this name exists. `depth` is
    the most by which opening tags are ahead of closing ones. Anything shaped like a tag counts, in comments too.
    """

    page: bytes
    elements: frozenset[str]
    classes: bytes
    ids: bytes
    styles: bool
    roles: bool
    depth: int


def scanned(page: bytes, names: Names) -> Scan:
    """The scan of a page. Raises MemoryError."""
    seen = bytearray(len(names.tags))
    found = ffi.new("nd_markup *")
    if lib.nd_scan_markup(ffi.from_buffer(page), len(page), names.c, ffi.from_buffer(seen), found):
        raise MemoryError("the core ran out of memory")
    page, classes, ids = (
        _taken(*buffer)
        for buffer in ((found.page, found.length), (found.classes, found.classes_length), (found.ids, found.ids_length))
    )
    elements = frozenset(compress(names.tags, seen))
    return Scan(page, elements, classes, ids, bool(found.styles), bool(found.roles), found.depth)


def _taken(data: Any, length: int) -> bytes:
    try:
        return bytes(ffi.buffer(data, length)) if length else b""
    finally:
        lib.nd_free(data)


def collapsed(text: str, *, marks: bool = False) -> str:
    r"""A text with each run of white space and control characters as one character, none at its ends.

    It becomes a space; with `marks` it becomes "\n" if a block or a row ends in it, "\t" for a cell, "\f" for a page.
    """
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    length = lib.nd_collapse(ffi.from_buffer(data), len(data), marks)
    return str(memoryview(data)[:length], "utf-8", "surrogatepass")


def is_clean(text: Any) -> bool:
    """True if the extraction of plain text takes UTF-8 (bytes, or anything with their interface) as it is."""
    return bool(lib.nd_is_clean(ffi.from_buffer(text), memoryview(text).nbytes))
