"""The one writer of a store file: its lock and its thread."""

from __future__ import annotations

import errno
import os
import sqlite3
import struct
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from indexer.errors import StoreBusyError, StoreError

T = TypeVar("T")

# Short, because one who writes many batches leaves the place free for a moment only.
_POLL_SECONDS = 0.005

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_BUSY = (errno.EACCES, errno.EAGAIN)
_UNKNOWN = (errno.EINVAL, errno.ENOSYS)


class WriterLock:
    """A lock on the file `<store>-lock`, released by the system when the process dies.

    It belongs to its descriptor (fcntl(2), "open file description locks"; flock(2) elsewhere), not to the process like
    SQLite's locks, so it survives other opens and closes of the file. SQLite's own lock would do for single batches,
    but a second long run must wait or fail at its start, not in its middle.
    """

    def __init__(self, store: Path, wait: float) -> None:
        self._store = store
        # Beside the file itself, as SQLite's log, so that two writers that name the store by different links meet.
        self._path = Path(f"{os.path.realpath(store)}-lock")
        self._wait = wait
        self._file = -1

    @property
    def held(self) -> bool:
        return self._file >= 0

    def take(self) -> None:
        """Wait for the lock and take it.

        Raises StoreBusyError after the wait, StoreError if there can be no lock file.
        """
        deadline = time.monotonic() + self._wait
        while not self._try():
            if time.monotonic() >= deadline:
                raise StoreBusyError(
                    f"{self._store}: {self._holder()} is writing to this store (waited {self._wait:g} s); "
                    "try again when it has ended"
                )
            time.sleep(_POLL_SECONDS)

    def release(self) -> None:
        if self.held:
            # The file stays: removing it would let two writers lock two files of the same name.
            os.close(self._file)
            self._file = -1
            _held.discard(self)

    def _try(self) -> bool:
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise StoreError(
                f"{self._path}: the lock file can't be made or opened: {error.strerror}; "
                "a store needs a writable directory"
            ) from error
        try:
            if not _lock(file):
                os.close(file)
                return False
        except OSError as error:
            os.close(file)
            raise StoreError(f"{self._path}: the file system gives no locks: {error.strerror}") from error
        self._file = file
        _held.add(self)
        with suppress(OSError):
            # The number is for the message of others only; a full disk is reported by the store itself.
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, f"{os.getpid()}\n".encode())
        return True

    def _holder(self) -> str:
        try:
            number = self._path.read_text("ascii").strip()
        except (OSError, ValueError):
            number = ""
        if number == str(os.getpid()):
            return "this process itself, through another store object,"
        return f"process {number}" if number.isdigit() else "another process"


def _lock(file: int) -> bool:
    if sys.platform == "win32":
        return _lock_on_windows(file)
    # Linux's alone: others that have the name have another structure.
    command = getattr(fcntl, "F_OFD_SETLK", None) if sys.platform == "linux" else None
    try:
        if command is not None:
            # struct flock of fcntl(2): type, whence, start, length (0: to the end), process.
            fcntl.fcntl(file, command, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
            return True
    except OSError as error:
        if error.errno in _BUSY:
            return False
        # Headers may know more than the system that runs.
        if error.errno not in _UNKNOWN:
            raise
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (*_BUSY, errno.EWOULDBLOCK):
            return False
        raise
    return True


def _lock_on_windows(file: int) -> bool:
    # A byte that is never written: on Windows others can't even read a locked one.
    if sys.platform == "win32":
        os.lseek(file, 1 << 30, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (*_BUSY, errno.EDEADLK):
                return False
            raise
    return True


_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()


def _let_go_in_child() -> None:
    # A child has the descriptors too, and would keep the lock when it outlives the writer. Closing them there takes
    # nothing from the parent.
    for lock in list(_held):
        lock.release()


class WritingThread(Generic[T]):
    """Does one task after the other on its own connection, while another one reads the store.

    Thread and connection start with the first task.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._connection: sqlite3.Connection | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._is_own = threading.local()
        self._latest: Future[T] | None = None
        _threads.add(self)

    @property
    def connection(self) -> sqlite3.Connection | None:
        return self._connection if hasattr(self._is_own, "mark") else None

    def begin(self, task: Callable[[], T]) -> Future[T]:
        if self._thread is None:
            self._connection = self._connect()
            self._thread = ThreadPoolExecutor(1, "neardup-write", lambda: setattr(self._is_own, "mark", True))
        self._latest = self._thread.submit(task)
        return self._latest

    def settle(self) -> None:
        if self._latest is not None and self.connection is None:
            wait([self._latest])
            self._latest = None

    def close(self) -> None:
        if self._thread is not None:
            self._thread.shutdown()
        self._thread, connection, self._connection = None, self._connection, None
        if connection is not None:
            connection.close()


_threads: weakref.WeakSet[WritingThread[Any]] = weakref.WeakSet()


def _settle_before_fork() -> None:
    # A child has the connections too, but not the thread: what that has locked while a statement runs would stay so.
    for thread in list(_threads):
        thread.settle()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_settle_before_fork, after_in_child=_let_go_in_child)
