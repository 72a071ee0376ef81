"""The names and ids of files."""

from __future__ import annotations

import glob
import heapq
import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from indexer.extract.brought import brought_by
from indexer.extract.formats import IMAGE_SUFFIXES
from indexer.ingest.readers import reader_of, reader_of_file
from indexer.ingest.readers.compression import SUFFIXES, without_suffix
from indexer.ingest.remote import is_remote
from indexer.model import own_files
from indexer.model.paths import path_of_printable, printable_path

# So many entries of a folder are held; one with millions of files is listed once for each part of this size, so that
# its files come by name all the same.
FOLDER_PART = 50_000
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


def id_of_path(path: str, base: str) -> str:
    """A file's default id: its path relative to the folder `base` if it lies below it, else its absolute path."""
    whole = absolute(path)
    if base and whole.startswith(os.path.join(base, "")):
        whole = os.path.relpath(whole, base)
    return printable_path(whole)


def possible_ids(path: str, base: str) -> list[str]:
    parts = absolute(path).split(os.sep)
    tails = [os.path.join(*parts[start:]) for start in range(1, len(parts))]
    return [printable_path(name) for name in (absolute(path), id_of_path(path, base), stem(path), *tails)]


def absolute(path: str) -> str:
    return path if is_remote(path) else os.path.abspath(path)


def container_of(source: str) -> str:
    if is_remote(source):
        parts = source.split("/")
        folders = ("/".join(parts[:end]) for end in range(4, len(parts)))
        return next((each for each in folders if (reader := reader_of(each)) and reader.is_folder), source)
    if not os.path.isabs(source):
        return ""
    path = source
    while path != os.sep:
        # What lies below a file is a member of it, whatever the file is called.
        if os.path.isfile(path_of_printable(path)):
            return path if path != source or reader_of_file(path_of_printable(path)) else ""
        path = os.path.dirname(path)
    return source if reader_of(source) else ""


def walk_order(path: str) -> list[str]:
    """The sort key of paths in the order of walking their folders: the content of a folder stays together."""
    return path.split("/")


def stem(path: str) -> str:
    return os.path.splitext(without_suffix(os.path.basename(path)))[0]


def is_document(name: str, relative: str, include: Sequence[str] = (), *, images: bool = False) -> bool:
    """True if a file is read: an archive always, others by the patterns, or, without patterns, if they may have
    text.
    """
    reader = reader_of(name)
    if reader and reader.is_folder:
        return True
    if include:
        return any(matches(name, relative, pattern) for pattern in include)
    kind = _kind(name)
    return kind not in NOT_DOCUMENTS or (images and kind in IMAGE_SUFFIXES) or brought_by(None, name) is not None


def matches(name: str, relative: str, pattern: str) -> bool:
    return fnmatchcase(relative if "/" in pattern else name, pattern)


def fixed_part(pattern: str) -> str:
    parts = pattern.split(os.sep)
    fixed = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    return os.sep.join(parts[:fixed]) or (os.sep if pattern.startswith(os.sep) else os.curdir)


def _kind(name: str) -> str:
    suffix = os.path.splitext(name)[1].lower()
    if suffix in SUFFIXES and reader_of(name):
        suffix = os.path.splitext(without_suffix(name))[1].lower()
    beside = next((ending for ending in own_files.SIDE_FILES if suffix.endswith(ending)), "")
    return suffix.removesuffix(beside)


def entries_by_name(folder: str) -> Iterator[os.DirEntry[str]]:
    """The entries in the order of `walk_order`. Raises OSError."""
    part = _least_entries(folder, "")
    while len(part) == FOLDER_PART:
        yield from part
        part = _least_entries(folder, part[-1].name)
    yield from part


def _least_entries(folder: str, after: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        left = (entry for entry in entries if entry.name > after)
        return heapq.nsmallest(FOLDER_PART, left, key=lambda entry: entry.name)


def is_folder(entry: os.DirEntry[str], follow_links: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow_links)
    except OSError:
        return False
