"""Files of object stores, s3:// and gs://, by pyarrow."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from indexer.errors import NeardupError, NotFoundError, UsageError
from indexer.ingest.readers.base import optional

_SCHEMES = ("s3://", "gs://")
# What is asked for at once: far more than a line, so that a request is worth its time.
_BUFFER = 8 << 20
_ANY_DEPTH = "**"
# Google's client tries for a quarter of an hour of each read unless it is told.
_GOOGLE_TRIES = "retry_limit_seconds"
_GOOGLE_SECONDS = 120


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file: its URL, its path below the named folder or pattern, and whether it was named itself."""

    url: str
    relative: str
    named: bool
    _system: Any
    _path: str

    def open(self) -> BinaryIO:
        file = self._system.open_input_file(self._path)
        if file.closed:
            # So pyarrow leaves a file of Google's whose first bytes did not come; any use of it is a ValueError.
            raise OSError("the store broke off at its first bytes")
        return io.BufferedReader(cast(io.RawIOBase, file), _BUFFER)


def is_remote(name: str) -> bool:
    return name.startswith(_SCHEMES)


def remote_files(name: str) -> Iterator[RemoteFile]:
    """The files of a URL: one file, all below a folder, or those matching a pattern with * and **, folder by folder.

    Options after a question mark are for pyarrow, as ?region=eu-west-1; gs://anonymous@bucket is a public bucket.
    Raises UsageError for a URL with a password or without pyarrow, NotFoundError if nothing is there, NeardupError if
    the store does not answer. Memory: the listing of a folder, on gs:// of all folders below.
    """
    filesystems: Any = optional("pyarrow.fs", "parquet", name.partition("://")[0] + "://")
    url, _, query = name.partition("?")
    user, at, _ = urlsplit(url).netloc.rpartition("@")
    # So pyarrow is told to read a public bucket without credentials.
    if at and not (user == "anonymous" and url.startswith("gs://")):
        raise UsageError(
            f"{url.partition('://')[0]}://…: a user name or password in a URL can be seen by others; "
            "give credentials as the store's own tools take them"
        )
    if url.startswith("gs://") and _GOOGLE_TRIES not in query:
        query += f"{'&' if query else ''}{_GOOGLE_TRIES}={_GOOGLE_SECONDS}"
    parts = url.rstrip("/").split("/")
    fixed = next((place for place, part in enumerate(parts) if "*" in part or "[" in part), len(parts))
    root, pattern = "/".join(parts[:fixed]), parts[fixed:]
    try:
        system, path = filesystems.FileSystem.from_uri(root + (f"?{query}" if query else ""))
        found = system.get_file_info(path)
        if found.type == filesystems.FileType.File and not pattern:
            yield RemoteFile(root, root.rpartition("/")[2], True, system, path)
            return
        if found.type != filesystems.FileType.Directory:
            raise NotFoundError(f"{root}: no such file or folder")
        yield from _below(filesystems, system, root, path, pattern)
    except (OSError, ValueError) as error:
        raise NeardupError(f"{root}: can't be read: {error}") from None


def _below(filesystems: Any, system: Any, root: str, top: str, pattern: list[str]) -> Iterator[RemoteFile]:
    folders, seen = [top], False
    # Of Google's folders pyarrow lists those alone that have an entry of their own, which few tools make.
    whole = system.type_name == "gcs"
    while folders:
        listed = system.get_file_info(filesystems.FileSelector(folders.pop(), recursive=whole))
        inner = []
        for entry in sorted(listed, key=lambda each: str(each.path)):
            relative = entry.path[len(top) :].strip("/")
            parts = relative.split("/")
            if entry.type == filesystems.FileType.Directory:
                deeper = not pattern or _ANY_DEPTH in pattern or len(parts) < len(pattern)
                if deeper and not whole:
                    inner.append(entry.path)
            elif not pattern or _matches(parts, pattern):
                seen = True
                yield RemoteFile(f"{root}/{relative}", relative, False, system, entry.path)
        folders += reversed(inner)
    if pattern and not seen:
        raise NotFoundError(f"{root}/{'/'.join(pattern)}: no file matches this pattern")


def _matches(parts: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == _ANY_DEPTH:
        return any(_matches(parts[start:], pattern[1:]) for start in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
