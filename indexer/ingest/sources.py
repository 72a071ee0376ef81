"""The lazy stream of documents from files, folders and patterns.

A file with many documents is taken apart by its reader (`indexer.ingest.readers`).
"""

from __future__ import annotations

import glob
import os
import stat
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, BinaryIO, Literal

from indexer.errors import NotFoundError, UsageError, machines_fault
from indexer.extract.base import Extractor, PartsLeftOut
from indexer.extract.formats import Format
from indexer.ingest.naming import (
    absolute,
    container_of,
    entries_by_name,
    fixed_part,
    id_of_path,
    is_document,
    is_folder,
    matches,
    stem,
)
from indexer.ingest.readers import (
    JSON_LINES,
    BadEntry,
    ColumnNames,
    FileEntry,
    FileReader,
    ReaderOptions,
    reader_by_content,
    reader_of,
    reader_of_file,
)
from indexer.ingest.regular_files import UnreadableError, open_regular
from indexer.ingest.remembered import KnownColumns, PassedOver
from indexer.ingest.remote import is_remote, remote_files
from indexer.model import own_files
from indexer.model.paths import path_of_printable, printable_path
from indexer.text.counts import counted

IdFrom = Literal["path", "absolute", "relative", "name", "stem", "digest"]
STDIN = "-"

LEFT_OUT = "by name or kind of file; --include, --hidden, --follow-links take them"
"""The words of a summary for the files that were left out."""


@dataclass(frozen=True, slots=True)
class Input:
    """One document to index: a file not yet read (`path`), or bytes in memory (`data`).

    `id` is empty if it is to be made from the content. `source` is an absolute path or a URL for the user to open.
    `name` is the file name of bytes in memory. `again` retries a failed document even if unchanged. `container` is the
    file with many documents it was read from, unless `source` says so; `number` its line, row or record there, and
    `place` the id of this place if `id` is another; `left_out` is what the file's reader left out of `data`;
    `field` names the field that it is the value of.
    """

    id: str
    source: str
    path: str = ""
    data: bytes = b""
    format: Format | None = None
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    again: bool = False
    name: str = ""
    container: str = ""
    number: int = 0
    place: str = ""
    extractor: Extractor | None = None
    left_out: PartsLeftOut = ()
    field: str = ""

    @property
    def place_in_file(self) -> str:
        return (self.container or self.source) + (f":{self.number}" if self.number else "")


@dataclass(frozen=True, slots=True)
class Rejected:
    """A named or found thing that can't be a document; `reason` is a short fixed word.

    `id` is the id of its place; `number` is its line, row or record in a file with many.
    """

    id: str
    source: str
    reason: str
    detail: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection of documents from the named places, and the form of their names.

    `include` and `exclude` are shell patterns, matched against the file's name, or, with a slash, against its path
    below the named folder, with slashes in "*" too. `base` is the folder for ids of `id_from="path"`. `line_limit` is
    in bytes, for a line, row, record or member of a file. `columns` are for rows, and `known` remembers the columns of
    files. `images` includes images, and `only` selects files to read.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hidden: bool = False
    follow_links: bool = False
    id_from: IdFrom = "path"
    base: str = ""
    line_limit: int = 200_000_000
    columns: ColumnNames = field(default_factory=ColumnNames)
    known: KnownColumns = field(default_factory=KnownColumns)
    images: bool = False
    only: Callable[[str], bool] | None = None


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    relative: str
    named: bool
    opened: Callable[[], BinaryIO] | None = None
    listed: bool = False

    @property
    def place(self) -> str:
        return printable_path(absolute(self.path))

    def inside(self, member: str) -> _File:
        return _File(f"{self.path}/{member}", f"{self.relative}/{member}", named=False) if member else self


class Sources:
    """The documents behind a user's names, lazily, in bounded memory; iterate once.

    Files in use by this process (see `indexer.model.own_files`) are skipped without counting.

    `passed_over` counts files left out: in walked folders by name and as links, and everywhere links to files taken by
    their own names. `roots` are the absolute paths of the folders walked so far, and of folders searched for patterns.
    """

    def __init__(
        self, names: Sequence[str], selection: Selection | None = None, *, paths_from: Iterable[str] = ()
    ) -> None:
        self.selection = selection or Selection()
        self.passed_over = PassedOver()
        self.roots: list[str] = []
        # The files with many documents that were read, and what in each was not.
        self._whole: dict[str, tuple[_File, list[str]]] = {}
        self._names = names
        self._paths_from = paths_from
        for name in self._names:
            if name != STDIN and not is_remote(name) and not os.path.lexists(name) and not glob.has_magic(name):
                raise NotFoundError(f"{printable_path(name)}: no such file or folder; nothing was indexed")

    def __iter__(self) -> Iterator[Input | Rejected]:
        for name in self._names:
            if name == STDIN:
                yield from self._entries(_File("stdin", "stdin", named=True), sys.stdin.buffer, JSON_LINES)
            else:
                yield from self._inputs(self._named(name))
        yield from self._inputs(self._listed())

    def files(self) -> Iterator[_File | Rejected]:
        for name in self._names:
            yield from self._named(name)
        yield from self._listed()

    def inputs_of(self, file: _File) -> Iterator[Input | Rejected]:
        return self._inputs([file])

    def _listed(self) -> Iterator[_File | Rejected]:
        # Eight bytes a name, since a list may be long; the end of it tells what links lead to.
        files, links = array("Q"), list[str]()
        for name in self._paths_from:
            if is_remote(name):
                yield from self._remote(name)
            elif not os.path.lexists(name):
                yield self._rejected(name, "unreadable", "no such file or folder")
            elif os.path.isdir(name):
                self._own_names[1][name] = os.path.realpath(name)
                yield from self._walk_or_file(name, listed=True)
            elif os.path.islink(name):
                links.append(name)
            else:
                files.append(_hash_of_path(name))
                yield from self._walk_or_file(name, listed=True)
        met = set(files) if links else ()
        for name in links:
            if _hash_of_path(name) in met:
                self._pass_over(name, "links")
            else:
                yield from self._walk_or_file(name, listed=True)

    def count(self) -> int | None:
        if STDIN in self._names or self._paths_from or any(map(is_remote, self._names)):
            return None
        total = 0
        for name in self._names:
            for file in self._named(name):
                if isinstance(file, _File) and self.reader_of(file):
                    return None
                total += 1
        return total

    def _named(self, name: str) -> Iterator[_File | Rejected]:
        if is_remote(name):
            yield from self._remote(name)
            return
        if os.path.lexists(name):
            yield from self._walk_or_file(name)
            return
        any_file = False
        root = fixed_part(name)
        self.roots.append(printable_path(os.path.abspath(root)))
        for path in self._globbed(name):
            any_file = True
            if os.path.isdir(path):
                # With "**" the folder's files come by themselves.
                if not name.endswith(("**", "**/")):
                    yield from self._walk(path)
            elif os.path.islink(path) and self._is_met(path):
                self._pass_over(path, "links")
            elif self._wanted(os.path.basename(path), os.path.relpath(path, root), path):
                yield _File(path, os.path.relpath(path, root), named=False)
        if not any_file:
            raise NotFoundError(f"{printable_path(name)}: no file matches this pattern")

    def _remote(self, name: str) -> Iterator[_File]:
        for file in remote_files(name):
            base = file.relative.rpartition("/")[2]
            if file.named or self._wanted(base, file.relative, file.url):
                yield _File(file.url, file.relative, file.named, file.open)

    def _walk_or_file(self, name: str, *, listed: bool = False) -> Iterator[_File | Rejected]:
        if os.path.isdir(name):
            self.roots.append(printable_path(os.path.abspath(name)))
            yield from self._walk(name)
        elif os.path.islink(name) and self._is_met(name):
            self._pass_over(name, "links")
        elif not own_files.is_own(name):
            yield _File(name, os.path.normpath(name), named=True, listed=listed)

    def _walk(self, root: str) -> Iterator[_File | Rejected]:
        seen: set[tuple[int, int]] = set()
        stack = [self._listing(root, seen)]
        while stack:
            entry = next(stack[-1], None)
            if entry is None:
                stack.pop()
            elif isinstance(entry, Rejected):
                yield entry
            elif entry.name.startswith(".") and not self.selection.hidden:
                self._pass_over(entry.path, "hidden")
            elif is_folder(entry, self.selection.follow_links):
                if not self._excluded(entry.name, os.path.relpath(entry.path, root)):
                    stack.append(self._listing(entry.path, seen))
            elif entry.is_symlink() and (os.path.isdir(entry.path) or self._is_met(entry.path, root)):
                self._pass_over(entry.path, "links")
            elif self._wanted(entry.name, relative := os.path.relpath(entry.path, root), entry.path):
                yield _File(entry.path, relative, named=False)

    def _globbed(self, pattern: str) -> Iterator[str]:
        return glob.iglob(pattern, recursive=True, include_hidden=self.selection.hidden)

    @cached_property
    def _own_names(self) -> tuple[set[str], dict[str, str]]:
        files, folders = set[str](), dict[str, str]()
        for name in self._names:
            is_named = name == STDIN or is_remote(name) or os.path.lexists(name)
            root = "" if is_named else fixed_part(name)
            for path in (name,) if is_named else self._globbed(name):
                if os.path.isdir(path) and not name.endswith(("**", "**/")):
                    folders[path] = os.path.realpath(path)
                elif is_named or self._is_wanted(os.path.basename(path), os.path.relpath(path, root)):
                    files.update([os.path.realpath(path)] * (os.path.isfile(path) and not os.path.islink(path)))
        return files, folders

    def _is_met(self, link: str, root: str = "") -> bool:
        target, (files, folders) = os.path.realpath(link), self._own_names
        if root:
            folders = {**folders, root: os.path.realpath(root)}
        below = (
            os.path.relpath(target, real) for real in folders.values() if target.startswith(os.path.join(real, ""))
        )
        return target in files or (os.path.isfile(target) and any(map(self._is_walked, below)))

    def _is_walked(self, relative: str, above: str = "") -> bool:
        *folders, name = relative.split(os.sep)
        paths = [os.path.join(above, *folders[: depth + 1]) for depth in range(len(folders))]
        if any(self._excluded(folder, path) for folder, path in zip(folders, paths, strict=True)):
            return False
        is_shown = self.selection.hidden or not any(part.startswith(".") for part in (*folders, name))
        return is_shown and self._is_wanted(name, os.path.join(above, relative))

    def _listing(self, folder: str, seen: set[tuple[int, int]]) -> Iterator[os.DirEntry[str] | Rejected]:
        try:
            if self.selection.follow_links:
                status = os.stat(folder)
                if (status.st_dev, status.st_ino) in seen:
                    return
                seen.add((status.st_dev, status.st_ino))
            yield from entries_by_name(folder)
        except OSError as error:
            if fault := machines_fault(error, printable_path(folder)):
                raise fault from None
            yield self._rejected(folder, "unreadable", f"the folder can't be listed: {error.strerror}")

    def _wanted(self, name: str, relative: str, path: str) -> bool:
        if own_files.is_own(path):
            return False
        wanted = self._is_wanted(name, relative) and not self._is_own(path)
        return wanted or self._pass_over(path)

    def _pass_over(self, path: str, kind: str = "") -> Literal[False]:
        self.passed_over.add(self.roots[-1] if self.roots else "", path, kind)
        return False

    def _is_own(self, path: str) -> bool:
        reader = reader_of(path)
        return bool(reader and reader.is_own(path, self.selection.columns))

    def _is_wanted(self, name: str, relative: str) -> bool:
        return is_document(name, relative, self.selection.include, images=self.selection.images) and not self._excluded(
            name, relative
        )

    def _excluded(self, name: str, relative: str) -> bool:
        return any(matches(name, relative, pattern) for pattern in self.selection.exclude)

    def _inputs(self, files: Iterable[_File | Rejected]) -> Iterator[Input | Rejected]:
        for file in files:
            if isinstance(file, Rejected):
                yield file
            elif self.selection.only and not self.selection.only(file.path):
                continue
            elif reader := self.reader_of(file):
                yield from self._many(file, reader)
            elif file.opened:
                yield self._fetched(file)
            else:
                yield Input(self._id(file), printable_path(os.path.abspath(file.path)), file.path)

    def reader_of(self, file: _File) -> FileReader | None:
        columns = self.selection.known.of(file.place, self.selection.columns)
        if file.opened is None:
            return reader_of_file(file.path, columns)
        if not file.named:
            return reader_of(file.path)
        with suppress(UnreadableError, UsageError, OSError, EOFError), file.opened() as stream:
            return reader_by_content(file.path, stream, columns)
        return reader_of(file.path)

    def _fetched(self, file: _File) -> Input | Rejected:
        limit = self.selection.line_limit
        try:
            with _stream(file) as stream:
                data = stream.read(limit + 1)
        except OSError as error:
            return self._rejected(file, "unreadable", str(error))
        if len(data) > limit:
            return self._rejected(file, "too-large", f"the limit is {counted(limit, 'byte')}")
        return Input(self._id(file), file.path, data=data, name=os.path.basename(file.path))

    def _id(self, file: _File) -> str:
        rule = self.selection.id_from
        if rule == "digest":
            return ""
        if rule == "path":
            return id_of_path(file.path, self.selection.base)
        return printable_path(
            {
                "absolute": absolute(file.path),
                "relative": file.relative,
                "name": os.path.basename(file.path),
                "stem": stem(file.path),
            }[rule]
        )

    def _named_by_place(self, file: _File) -> str:
        return self._id(file) or id_of_path(file.path, self.selection.base)

    def _rejected(self, file: _File | str, reason: str, detail: str) -> Rejected:
        if isinstance(file, str):
            name, place = id_of_path(file, self.selection.base), printable_path(absolute(file))
        else:
            name, place = self._named_by_place(file), file.place
        return Rejected(name, place, reason, detail)

    def parts(self, path: str, stream: BinaryIO) -> Iterator[Input | Rejected]:
        reader = reader_of(path)
        if reader is not None:
            yield from self._entries(_File(path, os.path.normpath(path), named=True), stream, reader)

    def _many(self, file: _File, reader: FileReader) -> Iterator[Input | Rejected]:
        unread: list[str] = []
        try:
            with _stream(file) as stream:
                yield from self._entries(file, stream, reader, unread)
            self._whole[file.place] = file, unread
        except UnreadableError as error:
            yield self._rejected(file, error.reason, error.detail)
        except OSError as error:
            yield self._rejected(file, "unreadable", str(error))

    def has_read(self, source: str) -> bool:
        container = container_of(source) or source
        if container in self._whole:
            file, unread = self._whole[container]
            member = source.removeprefix(container).lstrip("/")
            return self._takes(file, member) and not any(f"{source}/".startswith(f"{each}/") for each in unread)
        if not any(source.startswith(os.path.join(root, "")) for root in self.roots):
            return False
        try:
            return stat.S_ISDIR(os.lstat(path_of_printable(container)).st_mode)
        except FileNotFoundError:
            return True
        except OSError:
            return False

    def _takes(self, file: _File, member: str) -> bool:
        return not member or self._is_walked(member.replace("/", os.sep), file.relative)

    def _entries(
        self, file: _File, stream: BinaryIO, reader: FileReader, unread: list[str] | None = None
    ) -> Iterator[Input | Rejected]:
        chosen, is_stdin = self.selection, stream is sys.stdin.buffer

        def wanted(member: str) -> bool:
            return self._takes(file, member) or self._pass_over(member)

        def columns_of(member: str) -> ColumnNames:
            return chosen.known.of(file.inside(member).place, chosen.columns)

        whole, last_source = file.path if is_stdin else file.place, ""
        named: tuple[_File | None, str] = None, ""
        container = "" if is_stdin else whole
        is_apart = False
        asked = ReaderOptions(chosen.line_limit, columns_of(""), wanted, columns_of)
        for entry in reader.entries(stream, file.path, asked):
            inner = file.inside(entry.member)
            source = whole if inner is file else inner.path if is_stdin else inner.place
            place = f":{entry.number}" if entry.number else ""
            if inner is not named[0]:
                named = inner, printable_path(inner.path) if is_stdin else self._named_by_place(inner)
                is_apart = container_of(source) != container
            by_place = named[1] + place
            if isinstance(entry, BadEntry):
                if unread is not None and (entry.is_last or not entry.number):
                    unread.append(source)
                yield Rejected(by_place, source, entry.reason, entry.detail, entry.number)
                continue
            asked.unpacked.used(len(entry.data))
            own = entry.id or by_place
            if entry.number and source != last_source and not is_stdin:
                last_source = source
                chosen.known.note(source, columns_of(entry.member))
            own = "" if chosen.id_from == "digest" else own
            yield _input(entry, own, source, container if entry.url or is_apart else "", by_place)


def _input(entry: FileEntry, identity: str, source: str, container: str, place: str) -> Input:
    name = entry.name or os.path.basename(entry.member)
    about = entry.title, entry.metadata, entry.again, name, container, entry.number, place if place != identity else ""
    return Input(
        identity, entry.url or source, "", entry.data, entry.format, *about, left_out=entry.left_out, field=entry.field
    )


def _hash_of_path(name: str) -> int:
    return hash(os.path.realpath(name)) % (1 << 64)


def _stream(file: _File) -> BinaryIO:
    return file.opened() if file.opened else open_regular(file.path)
