"""Paths as text that any store takes, and the paths of stores."""

from __future__ import annotations

import os
import re

_WRITTEN_OUT = re.compile(rb"\\x(5c|[89a-f][0-9a-f])")
_SURROGATE = re.compile("[\udc80-\udcff]")


def printable_path(path: str) -> str:
    r"""A path as text that any store takes, of no two paths the same: bytes that are no UTF-8 are written \xff.

    A path that has such bytes, or the written-out form of one, has its backslashes written \x5c.
    """
    data = os.fsencode(path)
    text = data.decode("utf-8", "surrogateescape")
    if not _WRITTEN_OUT.search(data) and not _SURROGATE.search(text):
        return text
    return data.replace(b"\\", b"\\x5c").decode("utf-8", "backslashreplace")


def path_of_printable(text: str) -> str:
    """The path that printable_path() wrote."""
    data = text.encode("utf-8", "surrogatepass")
    return os.fsdecode(_WRITTEN_OUT.sub(lambda written: bytes([int(written[1], 16)]), data))


def store_file(store: str) -> str:
    """The absolute path of an embedded store's file, empty for a store that is no file."""
    scheme, colon, rest = store.partition("://")
    if colon and scheme == "sqlite":
        return os.path.abspath(rest.removeprefix("/"))
    return "" if colon else os.path.abspath(store)
