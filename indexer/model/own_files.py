"""The files in use by this process, never read as documents.

SQLite guards a store by POSIX locks, and closing any descriptor of a file drops all locks the process holds on it
(fcntl(2)). Reading a store's own file as a document would let others write over fresh data. So these files are
recognised by device and inode, under any name, before they are opened.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO, Any

AnyPath = str | os.PathLike[str]

SIDE_FILES = ("-wal", "-shm", "-lock", "-journal")
"""The files beside that of a store: SQLite's log and its index, the writer's lock, and an older kind of log."""

_held: Counter[tuple[str, ...]] = Counter()
_guard = threading.Lock()
# Opened in the moment in which a name began to stand for one of these files: closing them would do the harm.
_never_closed: list[int] = []

_SQLITE = b"SQLite format 3\0"
_LOGS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
# Readers of datasets and walks pass over names that begin with a dot.
_PART = ".neardup-"
_LONG_LEFT = 24 * 3600.0
_IN_USE = "belongs to a store that is in use, or is written in the same run"


class OwnFileError(OSError):
    """The named file is in use by this process, or is a store."""

    def __init__(self, path: AnyPath, reason: str) -> None:
        super().__init__(errno.EBUSY, reason, os.fspath(path))
        self.strerror: str = reason


@contextmanager
def in_use(path: AnyPath, *, store: bool = False) -> Iterator[None]:
    """Keep a file from being read as a document; with `store` also its neighbours. The file need not exist."""
    whole = os.path.realpath(path)
    names = (whole, *(whole + suffix for suffix in SIDE_FILES)) if store else (whole,)
    with _guard:
        _held[names] += 1
    try:
        yield
    finally:
        with _guard:
            _held[names] -= 1
            if not _held[names]:
                del _held[names]


def is_own(path: AnyPath) -> bool:
    """True if a path, however written, leads to a file in use by this process."""
    with suppress(OSError, ValueError):
        return _is_own(os.stat(path))
    return False


def reader(path: AnyPath, flags: int = os.O_RDONLY) -> int:
    """Open a file named by a user for reading, also as `opener` of open(). Raises OwnFileError for a file in use."""
    before = os.stat(path)
    if not _is_own(before):
        descriptor = os.open(path, flags)
        now = os.fstat(descriptor)
        if os.path.samestat(before, now) or not _is_own(now):
            return descriptor
        _never_closed.append(descriptor)
    raise OwnFileError(path, _IN_USE)


def writer(path: AnyPath, flags: int, mode: int = 0o666) -> int:
    """Open a file named by a user for writing, also as `opener` of open(). Raises OwnFileError as require_free()."""
    require_free(path)
    return os.open(path, flags, mode)


@contextmanager
def written_whole(path: AnyPath, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """A file to write, as by open(); it takes its place at the path when complete and is removed otherwise.

    It keeps the permissions of the file it replaces. `remove_left` removes the remains of a killed process. Raises
    OwnFileError as require_free(), and OSError.
    """
    require_free(path)
    part, lock = part_beside(path), -1
    try:
        permissions = stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        permissions = -1
    try:
        while True:
            with open(part, mode, opener=partial(os.open, mode=permissions & 0o666), **options) as file:
                if permissions >= 0:
                    os.chmod(part, permissions)
                lock = os.dup(file.fileno())
                _locked(lock)
                if os.fstat(lock).st_nlink:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                    break
            # Somebody took it for left, before it was locked.
            os.close(lock)
        require_free(path)
        os.replace(part, path)
    finally:
        with suppress(OSError):
            os.unlink(part)
        with suppress(OSError):
            os.close(lock)


@contextmanager
def temporary_folder(parent: AnyPath) -> Iterator[str]:
    """A temporary folder inside another one; `remove_left` removes the remains of a killed process."""
    import shutil

    folder = part_beside(os.path.join(os.fsdecode(parent), "any"))
    os.mkdir(folder, 0o700)
    lock = os.open(folder, os.O_RDONLY) if sys.platform != "win32" else -1
    try:
        _locked(lock)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock >= 0:
            os.close(lock)


def part_beside(path: AnyPath) -> str:
    """A new name for an unfinished file or folder beside a path, with the name of the writing machine."""
    return os.path.join(os.path.dirname(os.fsdecode(path)), f"{_PART}{machine()}-{os.urandom(8).hex()}.part")


def machine() -> str:
    # Imported here, and shutil below: every process that extracts loads this module, and none of them needs these.
    import platform

    return re.sub(r"[^\w.]+", "_", platform.node())[:64]


def remove_left(folder: AnyPath) -> None:
    """Remove incomplete files and folders of killed processes from a folder.

    Locks of another machine may not reach this one, so its files stay for a day. A missing or read-only folder has
    nothing to remove.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_PART) and entry.name.endswith(".part"):
                with suppress(OSError):
                    _remove_if_left(entry)


def _remove_if_left(entry: os.DirEntry[str]) -> None:
    import shutil

    is_folder, lock, known = entry.is_dir(follow_symlinks=False), -1, False
    if sys.platform != "win32":
        lock = os.open(entry.path, (os.O_RDONLY if is_folder else os.O_RDWR) | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        # OSError where the process that writes it lives.
        known = _locked(lock, wait=False) and entry.name.startswith(f"{_PART}{machine()}-")
        if known or time.time() - entry.stat(follow_symlinks=False).st_mtime > _LONG_LEFT:
            if is_folder:
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)
    finally:
        if lock >= 0:
            os.close(lock)


def _locked(file: int, *, wait: bool = True) -> bool:
    """Lock an open file until the process ends; False without locks on this system.

    Raises OSError if another process has the lock.
    """
    try:
        import fcntl
    except ImportError:
        # As on Windows.
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def require_free(path: AnyPath) -> None:
    """Raise OwnFileError if writing to a path would harm a store of this or another process, or its log or lock."""
    whole = os.path.realpath(path)
    beside = [whole.removesuffix(suffix) for suffix in SIDE_FILES if whole.endswith(suffix)]
    # Its log may hold all that tells a store from another program's file, and that one is no place for a report either.
    if _first_bytes(whole).startswith((_SQLITE, *_LOGS)) or any(map(is_database, beside)):
        raise OwnFileError(path, "is an SQLite file, as a store is, or belongs to one; name another file")


def is_database(path: AnyPath) -> bool:
    """True if a path leads to an SQLite file, by its first bytes; an open store is not opened again."""
    return _first_bytes(path) == _SQLITE


def _first_bytes(path: AnyPath) -> bytes:
    with suppress(OSError, ValueError):
        status = os.stat(path)
        with _guard:
            stores = [names for names in _held if len(names) > 1]
        for main, *beside in stores:
            if _is_one_of(status, [main]):
                return _SQLITE
            if _is_one_of(status, beside):
                return _LOGS[0]
        # A pipe's first bytes are for its reader.
        if stat.S_ISREG(status.st_mode):
            with open(path, "rb", opener=reader) as file:
                return file.read(len(_SQLITE))
    return b""


def _is_own(status: os.stat_result) -> bool:
    with _guard:
        names = [name for held in _held for name in held]
    return _is_one_of(status, names)


def _is_one_of(status: os.stat_result, names: list[str]) -> bool:
    # For each document of a run: without what would cost more than the system's answers.
    for name in names:
        try:
            there = os.stat(name)
        except OSError:
            continue
        if there.st_ino == status.st_ino and there.st_dev == status.st_dev:
            return True
    return False
