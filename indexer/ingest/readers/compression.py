"""Compressed streams, recognised by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import IO, Any, BinaryIO, Literal, cast

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
    with _opened(file, suffix, "wb", name) if suffix else nullcontext(file) as opened:
        yield cast(BinaryIO, opened)


def _opened(stream: Any, kind: str, mode: Literal["rb", "wb"], needed_by: str) -> Any:
    if kind == ".gz":
        # Without the time.
        return gzip.GzipFile("", mode, fileobj=stream, mtime=0)
    if kind in (".bz2", ".xz"):
        return (bz2.BZ2File if kind == ".bz2" else lzma.LZMAFile)(stream, mode)
    zstd = _zstd(needed_by)
    window = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW}
    return zstd.ZstdFile(stream, mode, options=window if mode == "rb" else None)


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
        needed_by = "Zstandard-compressed input"
        self._unpacked, self._file = unpacked, _opened(stream, kind, "rb", needed_by)
        self._damaged: type[Exception] = _zstd(needed_by).ZstdError if kind == ".zst" else OSError

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
