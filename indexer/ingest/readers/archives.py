"""ZIP and TAR archives, as if they were folders: each file a document, or taken apart by its own reader."""

from __future__ import annotations

import dataclasses
import io
import posixpath
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, BinaryIO, cast

from indexer.errors import NeardupError
from indexer.ingest.readers.base import Asked, BadEntry, Entry, Reader
from indexer.ingest.readers.compression import buffered, plain
from indexer.text.counts import counted

# So deep archives stand in archives; one that holds itself has no end.
_DEEPEST = 2
_ENCRYPTED = 0x1
# Longer names and attributes are made to take memory.
_LONGEST_HEADER = 1 << 20
_EXTENDED = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip


class Zip(Reader):
    """ZIP archives; documents that are ZIP files themselves (EPUB, DOCX, ...) have names and readers of their own."""

    suffixes = (".zip",)
    is_folder = True

    def entries(self, stream: BinaryIO, name: str, asked: Asked) -> Iterator[Entry | BadEntry]:  # noqa: ARG002
        """The documents of the members, in the archive's order."""
        try:
            # An archive in an archive, which can't be read from its end.
            whole = stream if stream.seekable() else io.BytesIO(_bounded(stream, asked.limit))
            archive = zipfile.ZipFile(whole)
            infos = archive.infolist()
        except Exception as error:
            yield _bad(error, "")
            return
        for info in infos:
            if not info.is_dir():
                yield from _member(_opened(archive, info), info.filename, info.file_size, asked)


class Tar(Reader):
    """TAR archives, compressed or not; what is no file in them, as links and devices, is passed over."""

    suffixes = (".tar", ".tgz", ".tbz2", ".txz", ".tzst")
    magic = (257, b"ustar")
    is_folder = True

    def entries(self, stream: BinaryIO, name: str, asked: Asked) -> Iterator[Entry | BadEntry]:
        """The documents of the members, in the archive's order; where the archive breaks off, a last BadEntry."""
        try:
            packed = plain(stream, name)
            with tarfile.open(fileobj=packed, mode="r|", tarinfo=_Header) as archive:
                for info in archive:
                    # It would remember every member.
                    cast(Any, archive).members = []
                    if info.isreg():
                        yield from _member(partial(archive.extractfile, info), info.name, info.size, asked)
        except NeardupError:
            raise
        except Exception as error:
            yield _bad(error, "")


class _Header(tarfile.TarInfo):
    """Raises OSError where tarfile would take damage for the end of the archive."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        if len(buf) < tarfile.BLOCKSIZE:
            raise OSError("the archive is cut off")
        try:
            found = super().frombuf(buf, encoding, errors)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise OSError(f"a damaged header: {error}") from None
        if found.type in _EXTENDED and found.size > _LONGEST_HEADER:
            raise OSError(f"a header of {counted(found.size, 'byte')}")
        return found


def _opened(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
    def opened() -> IO[bytes]:
        if info.flag_bits & _ENCRYPTED:
            raise PermissionError("it is encrypted")
        return archive.open(info)

    return opened


def _member(opened: Callable[[], IO[bytes] | None], path: str, size: int, asked: Asked) -> Iterator[Entry | BadEntry]:
    from indexer.ingest.readers import reader_of

    member = posixpath.normpath(path.lstrip("/"))
    if ".." in member.split("/"):
        yield BadEntry(0, "malformed", f"its path leads out of the archive: {path[:200]!r}", path.replace("..", "__"))
        return
    if not asked.wanted(member):
        return
    reader = reader_of(member)
    try:
        if reader and reader.is_folder and asked.depth >= _DEEPEST:
            yield BadEntry(0, "unsupported", f"an archive more than {_DEEPEST} deep in archives", member)
            return
        if not reader and size > asked.limit:
            raise OverflowError(f"{counted(size, 'byte')}")
        with cast(BinaryIO, opened()) as stream:
            if not reader:
                yield Entry(0, "", _bounded(stream, asked.limit), None, member=member)
                return
            for entry in reader.entries(
                buffered(cast(BinaryIO, _OneWay(stream))), member, _asked_inside(member, asked)
            ):
                yield dataclasses.replace(entry, member=f"{member}/{entry.member}".rstrip("/"))
    except NeardupError:
        raise
    except Exception as error:
        yield _bad(error, member)


def _asked_inside(member: str, asked: Asked) -> Asked:
    """What the reader of a member is told: paths in it are seen from the archive."""
    outer = asked.columns_of
    return dataclasses.replace(
        asked,
        depth=asked.depth + 1,
        columns=outer(member) if outer else asked.columns,
        wanted=lambda below: asked.wanted(f"{member}/{below}"),
        columns_of=(lambda below: outer(f"{member}/{below}")) if outer else None,
    )


class _OneWay(io.RawIOBase):
    """A member that is read once from its beginning: to seek in it would mean to decompress it again."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _bounded(stream: BinaryIO, limit: int) -> bytes:
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise OverflowError(f"more than {counted(limit, 'byte')}")
    return data


def _bad(error: Exception, member: str) -> BadEntry:
    """What the libraries raise on damage, which is nearly anything."""
    if isinstance(error, PermissionError):
        return BadEntry(0, "encrypted", str(error), member)
    if isinstance(error, OverflowError):
        return BadEntry(0, "too-large", f"{error}; --max-size is the limit", member)
    return BadEntry(0, "malformed", f"{type(error).__name__}: {error}"[:300], member)
