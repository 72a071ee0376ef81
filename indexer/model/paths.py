"""Paths as text for any store, and the paths of stores."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

_WRITTEN_OUT = re.compile(rb"\\x(5c|[89a-f][0-9a-f])")
_SURROGATE = re.compile("[\udc80-\udcff]")


def printable_path(path: str) -> str:
    r"""A path as text for any store, different for different paths: bytes outside UTF-8 become \xff.

    A path with these bytes, or with their written form, has its backslashes written \x5c.
    """
    data = os.fsencode(path)
    text = data.decode("utf-8", "surrogateescape")
    if not _WRITTEN_OUT.search(data) and not _SURROGATE.search(text):
        return text
    return data.replace(b"\\", b"\\x5c").decode("utf-8", "backslashreplace")


def path_of_printable(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return os.fsdecode(_WRITTEN_OUT.sub(lambda written: bytes([int(written[1], 16)]), data))


def store_file(store: str) -> str:
    """The absolute path of an embedded store's file, empty for other stores."""
    scheme, colon, rest = store.partition("://")
    if colon and scheme == "sqlite":
        return os.path.abspath(rest.removeprefix("/"))
    return "" if colon else os.path.abspath(store)


@dataclass(frozen=True, slots=True)
class MovableFolder:
    """The folder of a store's file. Paths below it are kept relative to it, so that both can be moved together.

    `prefix` is the folder as written by printable_path(), with a final slash; empty for a store without a file. Any
    other text is kept as it is.
    """

    prefix: str = ""

    @classmethod
    def of_file(cls, path: str | os.PathLike[str]) -> MovableFolder:
        """The folder this file lies in now; for a link, also the folder it points to, by its given name."""
        named, real = os.path.dirname(os.path.abspath(path)), os.path.dirname(os.path.realpath(path))
        return cls(printable_path(os.path.join(named if os.path.realpath(named) == real else real, "")))

    def kept(self, text: str) -> str:
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
        if not self.prefix or not kept.startswith("./"):
            return kept
        if kept.startswith(".//"):
            return f"./{kept[3:]}"
        return self.prefix + kept[2:] if kept != "./" else self.prefix[:-1]
