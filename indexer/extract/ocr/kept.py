"""Pages read by OCR, kept in a folder of the user's own."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress

from indexer.errors import UsageError
from indexer.extract.base import EXTRACTOR_VERSION
from indexer.extract.ocr.tesseract import version

MOST_BYTES = 500_000_000
"""The most bytes that are kept: the pages that were used least lately go first."""

_MOST_FILE = 50_000_000
_END = ".json"
# After so many bytes were written it is looked whether there are too many.
_LOOK_AFTER = 10_000_000


def folder() -> str:
    home = os.path.expanduser("~")
    usual = os.path.join(home, "Library", "Caches") if sys.platform == "darwin" else os.path.join(home, ".cache")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or usual, "neardup", "ocr")


def kept_files() -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder()) as entries:
            return [entry for entry in entries if entry.name.endswith(_END) and entry.is_file(follow_symlinks=False)]
    except OSError:
        return []


def clear(leaving: int = 0) -> int:
    """Remove the least recently used files until no more than `leaving` bytes are left; returns how many."""
    sized = []
    for entry in kept_files():
        with suppress(OSError):
            known = entry.stat(follow_symlinks=False)
            sized.append((known.st_mtime_ns, known.st_size, entry.path))
    total, removed = sum(size for _, size, _ in sized), 0
    for _, size, path in sorted(sized):
        if total <= leaving:
            break
        with suppress(OSError):
            os.unlink(path)
            total -= size
            removed += 1
    return removed


class KeptPages:
    """The texts of the pages of documents, by a digest of their bytes, the version of tesseract and the languages.

    Only the user can read them. If the folder can't be made, nothing is kept. Raises UsageError if another user owns
    it, because they could forge texts.
    """

    def __init__(self, languages: str) -> None:
        self._rules = f"{EXTRACTOR_VERSION}\0{version()}\0{languages}\0"
        self._folder, self._written = folder(), 0
        with suppress(OSError):
            os.makedirs(self._folder, 0o700, exist_ok=True)
            known = os.lstat(self._folder)
            if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.geteuid():
                raise UsageError(f"{self._folder}: this folder for pages read by OCR must be your own; remove it")
            if known.st_mode & 0o077:
                os.chmod(self._folder, 0o700)

    def of(self, data: bytes) -> dict[int, str]:
        path = self._path(data)
        try:
            with open(path, "rb") as file:
                known = json.loads(file.read(_MOST_FILE))
            os.utime(path)
            return {int(number): text for number, text in known.items() if isinstance(text, str)}
        except (OSError, ValueError, AttributeError):
            return {}

    def keep(self, data: bytes, pages: Mapping[int, str]) -> None:
        written = json.dumps(pages).encode()
        if len(written) > _MOST_FILE:
            return
        with suppress(OSError):
            # Only its owner can read such a file, and another process sees all of it or nothing.
            place, name = tempfile.mkstemp(dir=self._folder)
            try:
                with os.fdopen(place, "wb") as file:
                    file.write(written)
                os.replace(name, self._path(data))
            except OSError:
                os.unlink(name)
                raise
            self._written += len(written)
            if self._written > _LOOK_AFTER:
                self._written = 0
                clear(MOST_BYTES)

    def _path(self, data: bytes) -> str:
        digest = hashlib.sha256(self._rules.encode())
        digest.update(data)
        return os.path.join(self._folder, digest.hexdigest() + _END)
