"""Open regular files within a limit, without waiting for a pipe."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

from indexer.errors import machines_fault
from indexer.model import own_files
from indexer.model.own_files import OwnFileError
from indexer.model.paths import printable_path
from indexer.text.counts import counted

# Never waits for a pipe's writer, and reads bytes as they are; systems without pipes in folders lack the names.
_READING = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"):
    _READING |= getattr(os, _flag, 0)


class UnreadableError(Exception):
    """A file that can't be read as a document; `reason` is a short fixed word."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def open_regular(path: str, *, any_kind: bool = False, buffer: int = 1 << 18) -> BinaryIO:
    """Open a regular file for reading, `buffer` bytes at once; with `any_kind` a pipe too.

    Raises UnreadableError.
    """
    try:
        if any_kind:
            return open(path, "rb", opener=own_files.reader)
        descriptor = own_files.reader(path, _READING)
    except OwnFileError as error:
        raise UnreadableError("special-file", error.strerror) from None
    except (OSError, ValueError) as error:
        if fault := machines_fault(error, printable_path(path)):
            raise fault from None
        # ENXIO: a socket, or a pipe that nobody reads from.
        special = isinstance(error, OSError) and error.errno == errno.ENXIO
        detail = error.strerror if isinstance(error, OSError) else str(error)
        raise UnreadableError("special-file" if special else "unreadable", detail or str(error)) from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        # Each read lets other threads in, and waits for them.
        return os.fdopen(descriptor, "rb", buffer)
    os.close(descriptor)
    kind = "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device"
    raise UnreadableError("special-file", f"{kind}, not a file")


def read_file(path: str, limit: int, *, any_kind: bool = False) -> bytes:
    """The bytes of a file of at most `limit` bytes. Raises UnreadableError."""
    with open_regular(path, any_kind=any_kind) as file:
        try:
            size = os.fstat(file.fileno()).st_size
            data = file.read(limit + 1) if size <= limit else b""
        except OSError as error:
            if fault := machines_fault(error, printable_path(path)):
                raise fault from None
            raise UnreadableError("unreadable", error.strerror or str(error)) from None
    if max(size, len(data)) > limit:
        raise UnreadableError("too-large", f"{counted(max(size, len(data)), 'byte')}; the limit is {limit:,}")
    return data


def write_line(descriptor: int, line: bytes) -> None:
    """Append a line; it is on disk when this returns. Raises OSError."""
    line += b"\n"
    while line:
        line = line[os.write(descriptor, line) :]
    os.fsync(descriptor)
