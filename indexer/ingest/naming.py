"""The ids that documents have by the places of their files, and the files that places lead back to."""

from __future__ import annotations

import os

from indexer.ingest.readers import reader_of
from indexer.ingest.readers.compression import without_suffix
from indexer.ingest.remote import is_remote
from indexer.model.paths import path_of_printable, printable_path


def id_of_path(path: str, base: str) -> str:
    """A file's default id: its path seen from the folder `base` where it lies below it, else its absolute path."""
    whole = absolute(path)
    if base and whole.startswith(os.path.join(base, "")):
        whole = os.path.relpath(whole, base)
    return printable_path(whole)


def possible_ids(path: str, base: str) -> list[str]:
    """Every id that some rule but "digest" can have given to the file at this path."""
    parts = absolute(path).split(os.sep)
    tails = [os.path.join(*parts[start:]) for start in range(1, len(parts))]
    return [printable_path(name) for name in (absolute(path), id_of_path(path, base), stem(path), *tails)]


def absolute(path: str) -> str:
    """A path in full; the URL of a file in an object store as it is."""
    return path if is_remote(path) else os.path.abspath(path)


def container_of(source: str) -> str:
    """The file with many documents that a document's source is, or is a member of; empty where it is neither."""
    if is_remote(source):
        parts = source.split("/")
        folders = ("/".join(parts[:end]) for end in range(4, len(parts)))
        return next((each for each in folders if (reader := reader_of(each)) and reader.is_folder), source)
    if not os.path.isabs(source):
        return ""
    path, reader = source, reader_of(source)
    while path != os.sep:
        kind = reader_of(path)
        if kind and (path == source or kind.is_folder) and os.path.isfile(path_of_printable(path)):
            return path
        path = os.path.dirname(path)
    return source if reader else ""


def stem(path: str) -> str:
    """The name of a file without its suffix and that of its compression."""
    return os.path.splitext(without_suffix(os.path.basename(path)))[0]
