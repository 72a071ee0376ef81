"""The files that this process has in use itself, and so are no documents: its open stores, and what a run writes.

SQLite guards a store by POSIX locks, and closing any descriptor of a file takes away all that the process holds on it
(fcntl(2)): to read a store's own file as a document would let others write over what was just stored. So such a file is
recognised by device and inode, under whatever name, before it is opened.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

AnyPath = str | os.PathLike[str]

SIDE_FILES = ("-wal", "-shm", "-lock", "-journal")
"""What stands beside the file of a store: SQLite's log and its index, the writer's lock, and an older kind of log."""

_held: Counter[tuple[str, ...]] = Counter()
_guard = threading.Lock()
# Opened in the moment in which a name began to stand for one of these files: closing them would do the harm.
_never_closed: list[int] = []

_SQLITE = b"SQLite format 3\0"
_LOGS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_IN_USE = "belongs to a store that is in use, or is written in the same run"


class OwnFileError(OSError):
    """A file that is in use by this process, or is a store, was named where another is meant."""

    def __init__(self, path: AnyPath, reason: str) -> None:
        super().__init__(errno.EBUSY, reason, os.fspath(path))
        self.strerror: str = reason


@contextmanager
def in_use(path: AnyPath, *, store: bool = False) -> Iterator[None]:
    """Keep a file from being read as a document, with `store` also what stands beside a store; it need not be there."""
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
    """Whether a path, however it is written, leads to a file that this process has in use."""
    with suppress(OSError, ValueError):
        return _is_own(os.stat(path))
    return False


def reader(path: AnyPath, flags: int = os.O_RDONLY) -> int:
    """Open a file that a user named for reading, as `opener` of open() too. OwnFileError for one that is in use."""
    before = os.stat(path)
    if not _is_own(before):
        descriptor = os.open(path, flags)
        now = os.fstat(descriptor)
        if os.path.samestat(before, now) or not _is_own(now):
            return descriptor
        _never_closed.append(descriptor)
    raise OwnFileError(path, _IN_USE)


def writer(path: AnyPath, flags: int, mode: int = 0o666) -> int:
    """Open a file that a user named for writing, as `opener` of open() too. OwnFileError as require_free()."""
    require_free(path)
    return os.open(path, flags, mode)


@contextmanager
def written_whole(path: AnyPath, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """A file to write, as by open(), that takes the place at a path when it is complete, and is gone otherwise.

    Raises OwnFileError as require_free(), and OSError.
    """
    require_free(path)
    # Also told apart from what a process of this number writes on another machine.
    part = f"{os.fsdecode(path)}.{os.getpid()}-{os.urandom(4).hex()}.part"
    try:
        with open(part, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        require_free(path)
        os.replace(part, path)
    finally:
        with suppress(OSError):
            os.unlink(part)


def require_free(path: AnyPath) -> None:
    """Raise OwnFileError where writing to a path would harm a store, of this process or another, or its log or lock."""
    whole = os.path.realpath(path)
    beside = [whole.removesuffix(suffix) for suffix in SIDE_FILES if whole.endswith(suffix)]
    # Its log may hold all that tells a store from another program's file, and that one is no place for a report either.
    if _first_bytes(whole).startswith((_SQLITE, *_LOGS)) or any(map(is_database, beside)):
        raise OwnFileError(path, "is an SQLite file, as a store is, or belongs to one; name another file")


def is_database(path: AnyPath) -> bool:
    """Whether a path leads to an SQLite file, by its first bytes; that of an open store is not opened again."""
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
