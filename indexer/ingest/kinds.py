"""The choice of a folder's files that are documents, by their names alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase

from indexer import own_files
from indexer.ingest.readers import reader_of
from indexer.ingest.readers.compression import SUFFIXES, without_suffix

# Left out of a folder that is walked, by name and without reading them, unless asked for with `include`; so is what
# stands beside a database.
NOT_DOCUMENTS = frozenset(
    f".{suffix}"
    for kind in (
        "css js mjs map json lock",
        "png jpg jpeg gif svg svgz webp avif ico bmp tif tiff woff woff2 ttf otf eot",
        "mp3 mp4 m4a ogg oga ogv wav flac webm avi mov mkv",
        "bz2 xz zst 7z rar jar whl",
        "exe dll so dylib o a class pyc pyo db sqlite sqlite3 neardup",
        "part partial crdownload",
    )
    for suffix in kind.split()
)


def is_document(name: str, relative: str, include: Sequence[str] = ()) -> bool:
    """True if a file is read: an archive always, else what fits a pattern, and without patterns what may have text."""
    reader = reader_of(name)
    if reader and reader.is_folder:
        return True
    if include:
        return any(matches(name, relative, pattern) for pattern in include)
    return _kind(name) not in NOT_DOCUMENTS


def matches(name: str, relative: str, pattern: str) -> bool:
    """True if a pattern fits a file's name, or its path below the named folder where the pattern holds a slash."""
    return fnmatchcase(relative if "/" in pattern else name, pattern)


def _kind(name: str) -> str:
    suffix = os.path.splitext(name)[1].lower()
    if suffix in SUFFIXES and reader_of(name):
        suffix = os.path.splitext(without_suffix(name))[1].lower()
    beside = next((ending for ending in own_files.SIDE_FILES if suffix.endswith(ending)), "")
    return suffix.removesuffix(beside)
