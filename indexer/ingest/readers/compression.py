"""Compressed streams, recognised by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO, cast

from indexer.ingest.readers.base import ReaderOptions, Unpacked, optional

_MAGIC = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\0"}
SUFFIXES = tuple(_MAGIC)
# What a window of Zstandard may take, as a power of two: a file that needs more is refused.
_ZSTD_WINDOW = 27

BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""The errors that reading a damaged stream raises."""


def without_suffix(name: str) -> str:
    small = name.lower()
    if not small.endswith(SUFFIXES):
        return name
    return next(name[: -len(suffix)] for suffix in SUFFIXES if small.endswith(suffix))


def buffered(stream: BinaryIO) -> io.BufferedReader:
    return stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, stream), 1 << 16)


def decompressed(stream: BinaryIO, name: str = "", asked: ReaderOptions | None = None) -> io.BufferedReader:
    """The content of a stream, decompressed while reading; damage raises one of BROKEN.

    Raises UsageError if the package for a compression is missing.
    """
    given = buffered(stream)
    head = given.peek(8)[:8]
    kind = next((suffix for suffix, magic in _MAGIC.items() if head.startswith(magic)), "")
    kind = kind or next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix) and head), "")
    if not kind:
        return given
    asked = asked or ReaderOptions(0)
    packed = given if asked.is_unpacked else _CountingStream(given, asked.unpacked)
    return buffered(cast(BinaryIO, _DecompressingStream(packed, kind, asked.unpacked)))


@contextmanager
def packed(file: IO[bytes], name: str) -> Iterator[BinaryIO]:
    """A file to write to, compressed by its suffix; equal content gives equal bytes.

    Raises UsageError if the package for a compression is missing.
    """
    suffix = next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), "")
    opened: Any
    if suffix == ".gz":
        # Without the time.
        opened = gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
    elif suffix == ".bz2":
        opened = bz2.BZ2File(file, "wb")
    elif suffix == ".xz":
        opened = lzma.LZMAFile(file, "wb")  # noqa: SIM115 - closed below
    elif suffix:
        opened = _zstd(name).ZstdFile(file, mode="wb")
    else:
        yield cast(BinaryIO, file)
        return
    with opened:
        yield cast(BinaryIO, opened)


def _zstd(needed_by: str) -> Any:
    module = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return optional(module, "zst", needed_by)


class _CountingStream:
    def __init__(self, stream: BinaryIO, unpacked: Unpacked) -> None:
        self._stream, self._unpacked = stream, unpacked

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._unpacked.packed += len(data)
        return data


class _DecompressingStream(io.RawIOBase):
    """Gives everything decompressed before it raises: all content of a cut-off file is read."""

    def __init__(self, stream: Any, kind: str, unpacked: Unpacked) -> None:
        self._unpacked = unpacked
        self._damaged: type[Exception] = OSError
        self._file: Any
        if kind == ".gz":
            self._file = gzip.GzipFile(fileobj=stream)
        elif kind == ".bz2":
            self._file = bz2.BZ2File(stream)
        elif kind == ".xz":
            self._file = lzma.LZMAFile(stream)  # noqa: SIM115 - as long as the stream is read
        else:
            zstd = _zstd("Zstandard-compressed input")
            self._damaged = zstd.ZstdError
            self._file = zstd.ZstdFile(stream, options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW})

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._file.read1(len(buffer))
        except self._damaged as error:
            raise OSError(str(error)) from None
        self._unpacked.add(len(data))
        buffer[: len(data)] = data
        return len(data)
