"""Where documents came from, as coarse as people count them: a URL's host, or the folder of a path."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

UNKNOWN = "unknown"


def origin_parts(source: str) -> tuple[str, ...]:
    """A URL's host, the folders of a path, the outermost first ("/" where the path is absolute), or a name as it is."""
    if "://" in source[:20]:
        try:
            return (urlsplit(source).netloc.rpartition("@")[2].lower() or UNKNOWN,)
        except ValueError:
            return (UNKNOWN,)
    folders = source.split("/")[:-1]
    if source.startswith("/"):
        return ("/", *(folder for folder in folders if folder))
    return tuple(folders) or (source or UNKNOWN,)


def origin_name(parts: Sequence[str]) -> str:
    """The parts as one text."""
    return "/" + "/".join(parts[1:]) if parts[0] == "/" else "/".join(parts)


def origin_of(source: str) -> str:
    """The host of a URL, the whole folder of a path, or a plain name; "unknown" where there is no source."""
    return origin_name(origin_parts(source))
