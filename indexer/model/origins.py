"""The origin of a document: a URL's host, or a path's folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

UNKNOWN = "unknown"
# The name of a file says where no other document came from; that of a site or collection does.
_FILE = re.compile(r"\.(?:x?html?|xml|pdf|te?xt|md|rst|json|epub|docx?|od[tps]|rtf|pptx?|xlsx?|msg)$", re.IGNORECASE)


def origin_parts(source: str) -> tuple[str, ...]:
    if "://" in source[:20]:
        try:
            return (urlsplit(source).netloc.rpartition("@")[2].lower() or UNKNOWN,)
        except ValueError:
            return (UNKNOWN,)
    folders = source.split("/")[:-1]
    if source.startswith("/"):
        return ("/", *(folder for folder in folders if folder))
    if folders:
        return tuple(folders)
    return (UNKNOWN,) if not source or _FILE.search(source) else (source,)


def origin_name(parts: Sequence[str]) -> str:
    return "/" + "/".join(parts[1:]) if parts[0] == "/" else "/".join(parts)


def origin_of(source: str) -> str:
    """The host of a URL, the whole folder of a path, or a plain name not of a file; else "unknown"."""
    return origin_name(origin_parts(source))
