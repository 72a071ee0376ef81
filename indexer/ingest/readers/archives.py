"""ZIP and TAR archives, as if they were folders."""

from __future__ import annotations

import dataclasses
import io
import posixpath
import tarfile
import zipfile
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

from indexer.errors import NeardupError
from indexer.extract.formats import Format
from indexer.ingest.readers.base import (
    ZIP,
    BadEntry,
    ColumnNames,
    FileEntry,
    FileReader,
    ReaderOptions,
    Unpacked,
    is_as_named,
)
from indexer.ingest.readers.compression import buffered, decompressed
from indexer.ingest.readers.warc import Warc
from indexer.text.counts import counted

# So deep archives stand in archives; one that holds itself has no end.
_DEEPEST = 2
_ENCRYPTED = 0x1
# Longer names and attributes are made to take memory.
_LONGEST_HEADER = 1 << 20
_EXTENDED = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip
# Of a header of a file with holes (GNU tar, "Sparse Formats"): the size with them, and whether more of it follows.
_WITH_HOLES, _GOES_ON, _GOES_ON_AFTER = slice(483, 495), 482, 504
_SKIPPED = 1 << 16
# Where the first name in a ZIP file stands.
_NAME_AT = 30


# The reader of files with a name, of those within an archive; None for a file that is one document.
ReaderOf = Callable[[str], FileReader | None]


class Archive(FileReader):
    is_folder = True

    def __init__(self, reader_of: ReaderOf) -> None:
        self._reader_of = reader_of

    def entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:
        try:
            yield from self._entries(stream, name, asked)
        except NeardupError:
            raise
        except Exception as error:
            yield entry_of_error(error, "")

    @abstractmethod
    def _entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:
        """The same; raises any error."""

    def _member(
        self,
        opened: Callable[[], BinaryIO],
        path: str,
        size: int,
        asked: ReaderOptions,
        unpacked: Unpacked | None = None,
    ) -> Iterator[FileEntry | BadEntry]:
        member = posixpath.normpath(path.lstrip("/"))
        if ".." in member.split("/"):
            yield BadEntry(
                0, "malformed", f"its path leads out of the archive: {path[:200]!r}", path.replace("..", "__")
            )
            return
        if not asked.wanted(member):
            return
        reader = self._reader_of(member)
        try:
            if reader and reader.is_folder and asked.depth >= _DEEPEST:
                yield BadEntry(0, "unsupported", f"an archive more than {_DEEPEST} deep in archives", member)
                return
            if not reader and size > asked.limit:
                raise OverflowError(f"{counted(size, 'byte')}")
            with opened() as stream:
                inside = _asked_inside(member, asked, is_unpacked=unpacked is not None)
                if not reader:
                    yield FileEntry(0, "", bounded(stream, asked.limit), None, member=member)
                    return
                given = buffered(cast(BinaryIO, _OneWay(stream, unpacked)))
                if self.is_folder and not is_as_named(reader, given, inside.columns):
                    yield FileEntry(0, "", bounded(given, asked.limit), None, member=member)
                    return
                for entry in reader.entries(given, member, inside):
                    yield dataclasses.replace(entry, member=f"{member}/{entry.member}".rstrip("/"))
        except NeardupError:
            raise
        except Exception as error:
            yield entry_of_error(error, member)


class Zip(Archive):
    """ZIP archives; documents that are ZIP files themselves (EPUB, DOCX, ...) have names and readers of their own."""

    suffixes = (".zip",)

    def fits(self, head: bytes, kind: Format | None, columns: ColumnNames) -> bool:
        if not head.startswith(ZIP):
            return super().fits(head, kind, columns)
        return not head.startswith((b"[Content_Types].xml", b"mimetypeapplication/"), _NAME_AT)

    def _entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:  # noqa: ARG002
        # An archive in an archive, which can't be read from its end.
        whole = stream if stream.seekable() else io.BytesIO(bounded(stream, asked.limit))
        archive = zipfile.ZipFile(whole)
        if not asked.is_unpacked:
            asked.unpacked.packed += whole.seek(0, io.SEEK_END)
        for info in archive.infolist():
            if not info.is_dir():
                opened = _opened(archive, info)
                yield from self._member(opened, info.filename, info.file_size, asked, asked.unpacked)


class Wacz(Zip):
    """WACZ files (WACZ 1.1.1): the web archives of a crawl in a ZIP archive, read as one.

    Their indexes and lists of pages are not documents.
    """

    suffixes = (".wacz",)
    is_folder = False

    def entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:
        def wanted(member: str) -> bool:
            return member.startswith("archive/") and isinstance(self._reader_of(member), Warc)

        inside = dataclasses.replace(asked, wanted=wanted, columns_of=None)
        for number, entry in enumerate(super().entries(stream, name, inside), 1):
            yield dataclasses.replace(entry, number=number, member="") if entry.member else entry


class Tar(Archive):
    """TAR archives, compressed or not; links, devices and the like are skipped."""

    suffixes = (".tar", ".tgz", ".tbz2", ".txz", ".tzst")
    magic = (257, b"ustar")

    def fits(self, head: bytes, kind: Format | None, columns: ColumnNames) -> bool:
        return head.startswith(b"ustar", 257) or super().fits(head, kind, columns)

    def _entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:
        given = buffered(stream)
        blocks = decompressed(given, name, asked)
        inside = dataclasses.replace(asked, is_unpacked=asked.is_unpacked or blocks is not given)
        for path, size, member in _members(blocks):
            yield from self._member(member.opened, path, size, inside)


def _members(blocks: io.BufferedReader) -> Iterator[tuple[str, int, _ArchiveMember]]:
    """(path, size, contents) of the files in a TAR stream, each to be read before the next.

    Headers are read here because tarfile takes hours for some of a megabyte, and mistakes damage for the end. Raises
    OSError.
    """
    for_all: dict[str, str] = {}
    while header := _header(blocks, for_all):
        info, has_holes = header
        if info.isreg() or info.type not in tarfile.SUPPORTED_TYPES:
            member = _ArchiveMember(blocks, info.size, has_holes=has_holes)
            if info.isreg():
                yield info.name, info.size, member
            member.skip()


def _header(blocks: io.BufferedReader, for_all: dict[str, str]) -> tuple[tarfile.TarInfo, bool] | None:
    own: dict[str, str] = {}
    while True:
        block = _exactly(blocks, tarfile.BLOCKSIZE)
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            return None
        except tarfile.HeaderError as error:
            raise OSError(f"a damaged header: {error}") from None
        if info.type not in _EXTENDED:
            break
        if not 0 <= info.size <= _LONGEST_HEADER:
            raise OSError(f"a header of {counted(info.size, 'byte')}")
        body = _exactly(blocks, _filled(info.size))[: info.size]
        if info.type == tarfile.GNUTYPE_LONGNAME:
            own["path"] = body.partition(b"\0")[0].decode("utf-8", "surrogateescape")
        elif info.type != tarfile.GNUTYPE_LONGLINK:
            (for_all if info.type == tarfile.XGLTYPE else own).update(_fields(body))
    said = for_all | own
    info.name, info.size = said.get("path", info.name), int(said.get("size", info.size))
    if info.size < 0:
        raise OSError("a damaged header: a negative size")
    has_holes = any(name.startswith("GNU.sparse.") for name in said)
    if info.type == tarfile.GNUTYPE_SPARSE:
        has_holes = tarfile.nti(block[_WITH_HOLES]) != info.size  # type: ignore[attr-defined]
        goes_on = block[_GOES_ON]
        while goes_on:
            goes_on = _exactly(blocks, tarfile.BLOCKSIZE)[_GOES_ON_AFTER]
    return info, has_holes


def _fields(body: bytes) -> dict[str, str]:
    """The records of an extended header (POSIX.1-2017, pax): a length in decimal, a name and a value each."""
    found: dict[str, str] = {}
    place = 0
    while place < len(body):
        digits = body[place : place + 8].partition(b" ")[0]
        end = place + int(digits) if digits.isdigit() else 0
        if not place + len(digits) < end <= len(body):
            raise OSError("a damaged header: a record without its length")
        name, _, value = body[place + len(digits) + 1 : end - 1].partition(b"=")
        found[name.decode("utf-8", "replace")] = value.decode("utf-8", "surrogateescape")
        place = end
    return found


def _filled(size: int) -> int:
    return -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise OSError("the archive is cut off")
    return data


class _ArchiveMember(io.RawIOBase):
    def __init__(self, blocks: io.BufferedReader, size: int, *, has_holes: bool) -> None:
        self._blocks, self._left, self._after = blocks, size, _filled(size) - size
        self._has_holes = has_holes

    def opened(self) -> BinaryIO:
        """Itself. Raises NotImplementedError for a file with holes: a petabyte of them takes no room in an archive."""
        if self._has_holes:
            raise NotImplementedError("a file that was packed without its holes, as tar --sparse does")
        return cast(BinaryIO, self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), self._left)
        buffer[:size] = _exactly(self._blocks, size)
        self._left -= size
        return size

    def skip(self) -> None:
        left, self._left = self._left + self._after, 0
        if left and self._blocks.seekable():
            self._blocks.seek(left - 1, io.SEEK_CUR)
            left = 1
        while left:
            left -= len(_exactly(self._blocks, min(left, _SKIPPED)))


def _opened(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], BinaryIO]:
    def opened() -> BinaryIO:
        if info.flag_bits & _ENCRYPTED:
            raise PermissionError("it is encrypted")
        return cast(BinaryIO, archive.open(info))

    return opened


def _asked_inside(member: str, asked: ReaderOptions, *, is_unpacked: bool) -> ReaderOptions:
    outer = asked.columns_of
    return dataclasses.replace(
        asked,
        depth=asked.depth + 1,
        is_unpacked=asked.is_unpacked or is_unpacked,
        columns=outer(member) if outer else asked.columns,
        wanted=lambda below: asked.wanted(f"{member}/{below}"),
        columns_of=(lambda below: outer(f"{member}/{below}")) if outer else None,
    )


class _OneWay(io.RawIOBase):
    """A member to read once from its beginning: seeking would mean to decompress it again."""

    def __init__(self, stream: BinaryIO, unpacked: Unpacked | None) -> None:
        self._stream, self._unpacked = stream, unpacked

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        if self._unpacked:
            self._unpacked.add(len(data))
        buffer[: len(data)] = data
        return len(data)


def bounded(stream: BinaryIO, limit: int) -> bytes:
    """All of a stream. Raises OverflowError over the limit, in bytes."""
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise OverflowError(f"more than {counted(limit, 'byte')}")
    return data


def entry_of_error(error: Exception, member: str) -> BadEntry:
    if isinstance(error, NotImplementedError):
        return BadEntry(0, "unsupported", str(error), member)
    if isinstance(error, PermissionError):
        return BadEntry(0, "encrypted", str(error), member)
    if isinstance(error, OverflowError):
        return BadEntry(0, "too-large", f"{error}; --max-size is the limit", member)
    said = "nested too deeply" if isinstance(error, RecursionError) else f"{type(error).__name__}: {error}"[:300]
    return BadEntry(0, "malformed", said, member)
