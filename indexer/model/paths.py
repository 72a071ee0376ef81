"""Paths as text that any store takes, and the paths of stores."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class MovableFolder:
    """The folder of a store's file: paths below it are kept relative to it, so that both can be moved together.

    `prefix` is the folder as printable_path() writes it, with a slash at its end; empty for a store that has none. Any
    text that is no path below it is kept as it is, and comes back so.
    """

    prefix: str = ""

    @classmethod
    def of_file(cls, path: str | os.PathLike[str]) -> MovableFolder:
        """The folder that this file lies in now, or the one that it is a link to, by the name that it was given."""
        named, real = os.path.dirname(os.path.abspath(path)), os.path.dirname(os.path.realpath(path))
        return cls(printable_path(os.path.join(named if os.path.realpath(named) == real else real, "")))

    def kept(self, text: str) -> str:
        """The form in which a path is kept: ./ before it where it is relative."""
        if self.prefix:
            below = text[len(self.prefix) :]
            if text and f"{text}/" == self.prefix:
                return "./"
            if text.startswith(self.prefix) and below and below[0] != "/":
                return f"./{below}"
            if text.startswith("./"):
                return f".//{text[2:]}"
        return text

    def now(self, kept: str) -> str:
        """The path as it is now, of what kept() gave."""
        if not self.prefix or not kept.startswith("./"):
            return kept
        if kept.startswith(".//"):
            return f"./{kept[3:]}"
        return self.prefix + kept[2:] if kept != "./" else self.prefix[:-1]
