"""The place of the one writer of a store file, taken for as long as the writer lives."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from pathlib import Path

from indexer.errors import StoreBusyError, StoreError

_POLL_SECONDS = 0.05

# A POSIX lock holds between processes only, so the writers of this one are known by their lock file's device and inode.
_own: set[tuple[int, int]] = set()
_own_guard = threading.Lock()


class WriterLock:
    """A POSIX lock on the file `<store>-lock`, which the system lets go of when the process dies.

    Such a lock is not inherited over fork(), so that worker processes outliving a killed parent don't keep it. SQLite's
    own lock would do for single batches, but a second long run must wait or fail at its start, not in its middle.
    """

    def __init__(self, store: Path, wait: float) -> None:
        self._store = store
        self._path = Path(f"{store}-lock")
        self._wait = wait
        self._file = -1
        self._identity = (0, 0)

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._file >= 0

    def take(self) -> None:
        """Wait for the lock and take it; StoreBusyError after the wait, StoreError where there can be no lock file."""
        deadline = time.monotonic() + self._wait
        while not self._try():
            if time.monotonic() >= deadline:
                raise StoreBusyError(
                    f"{self._store}: {self._holder()} is writing to this store (waited {self._wait:g} s); "
                    "try again when it has ended, or wait longer"
                )
            time.sleep(_POLL_SECONDS)

    def release(self) -> None:
        """Let go of the lock; nothing where it is not held."""
        if self.held:
            # The file stays: removing it would let two writers lock two files of the same name.
            os.close(self._file)
            self._file = -1
            with _own_guard:
                _own.discard(self._identity)

    def _try(self) -> bool:
        with _own_guard:
            # Looked up by name, not opened: closing a second descriptor would drop this process's lock on the file.
            if self._path.exists() and _identity(os.stat(self._path)) in _own:
                return False
            try:
                file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            except OSError as error:
                raise StoreError(
                    f"{self._path}: the lock file can't be made or opened: {error.strerror}; "
                    "a store is written in a directory that can be written to"
                ) from error
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(file)
                if error.errno in (errno.EACCES, errno.EAGAIN):
                    return False
                raise StoreError(f"{self._path}: the file system gives no locks: {error.strerror}") from error
            self._file, self._identity = file, _identity(os.fstat(file))
            _own.add(self._identity)
        try:
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        except OSError:
            pass  # the number is for the message of others only; a full disk is told by the store itself
        return True

    def _holder(self) -> str:
        with _own_guard:
            if self._path.exists() and _identity(os.stat(self._path)) in _own:
                return "this process itself, through another store object,"
            try:
                number = self._path.read_text("ascii").strip()
            except (OSError, ValueError):
                number = ""
        return f"process {number}" if number.isdigit() else "another process"


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
