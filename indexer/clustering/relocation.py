"""Move files of repeats aside, or replace them by links."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from indexer.clustering.annotations import READ_AT_ONCE
from indexer.clustering.removal import RedundantDocument, Removal
from indexer.errors import FileActError, NotFoundError, UsageError
from indexer.extract.brought import missing
from indexer.ingest.digests import options_of
from indexer.ingest.naming import container_of
from indexer.ingest.readers import reader_of_file
from indexer.ingest.relocating import Act, ActList, FileAct, checked_bytes, digest_of, do_act, target_of, undo_act
from indexer.ingest.sources import Input, Selection, Sources
from indexer.model import Record, Ref
from indexer.model.chunking import chunks
from indexer.model.paths import path_of_printable, printable_path
from indexer.stores.base import Store

# The annotations of a document whose file was moved or linked: where it was, and the digests of what is being done to
# it or was. Undo believes these, not its list.
MOVED, ACTS = "moved_from", "file_acts"
_CHANGED = "has changed since it was indexed"


@dataclass(frozen=True, slots=True)
class Relocated:
    """A document with its file moved or linked, or to be; `kept` is the reason to leave it, else empty."""

    document: RedundantDocument
    act: FileAct | None
    kept: str = ""


class Relocation:
    """The files of documents with a kept stand-in, moved to `folder` or replaced by links.

    Raises UsageError unless the store is a file of this machine, and for a folder inside of the indexed ones.
    """

    def __init__(self, removal: Removal, *, folder: str = "", link: Act | None = None) -> None:
        store = removal.store
        if not store.embedded:
            raise UsageError("files are moved and linked for a store in a file; this one is in a search engine")
        self.store, self._removal, self._link = store, removal, link
        path = getattr(store, "path", "")
        self._base = os.path.dirname(os.path.realpath(path)) if path else ""
        self._folder = os.path.realpath(folder) if folder else ""
        self._taken: set[str] = set()
        self._shared, self._linked = set[int](), set[int]()
        if self._folder:
            self._look_around(self._folder)

    def _look_around(self, folder: str) -> None:
        """Note files of several documents, and files symbolic links in their folders lead to.

        Raises UsageError if a folder holds documents of the store, or lies in a folder that does.
        """
        homes: dict[str, None] = {}
        files = array("Q")
        for page in chunks(self.store.scan(sketches=False), READ_AT_ONCE):
            noted = self.store.annotations([record.ref for record in page])
            for record, said in zip(page, noted, strict=True):
                if os.path.isabs(record.source):
                    place = container_of(record.source) or record.source
                    number = [*_numbers(path_of_printable(place))]
                    files.extend(number)
                    if number and not _was_moved(record, said or {}):
                        homes[os.path.dirname(place)] = None
        own = [path_of_printable(home) for home in homes]
        for home in own:
            if _within(folder, home) or _within(home, folder):
                raise UsageError(
                    f"{printable_path(folder)}: is inside of what is indexed ({printable_path(home)}), and would be "
                    "indexed again; name a folder elsewhere"
                )
        numbers, counts = np.unique(np.frombuffer(files, np.uint64), return_counts=True)
        self._shared = set(numbers[counts > 1].tolist())
        self._linked = set(_linked_below(own))

    def planned(self) -> Iterator[Relocated]:
        for document in self._removal.surplus():
            if document.kept:
                yield Relocated(document, None, document.kept)
                continue
            try:
                yield Relocated(document, self._act(document))
            except FileActError as error:
                yield Relocated(document, None, str(error))

    def done(self, acts: ActList) -> Iterator[Relocated]:
        for one in self.planned():
            if one.act is None:
                yield one
                continue
            try:
                self._do(one.act, one.document.record, acts)
            except FileActError as error:
                yield replace(one, kept=str(error))
                continue
            yield one

    def _do(self, act: FileAct, record: Record, acts: ActList) -> None:
        acts.begin(act)
        [known] = self.store.annotations([record.ref])
        said: dict[str, Any] = {ACTS: sorted({*_noted_acts(known or {}), act.digest})}
        if act.act == "move":
            said[MOVED] = printable_path(act.path)
        self.store.annotate([(record.ref, said)])
        do_act(act)
        if act.act == "move":
            _follow(self.store, record, act.target)

    def _act(self, document: RedundantDocument) -> FileAct:
        record = document.record
        [known] = self.store.annotations([record.ref])
        if known and _was_moved(record, known):
            raise FileActError("its file was moved before")
        path, data, status = self._whole_file(record)
        [beside] = self.store.get([document.repeats], sketches=False) if document.repeats.id else [None]
        kept = self._whole_file(beside, f"{beside.ref.id}, which is kept,")[:2] if beside else None
        if self._link:
            if kept is None or kept[1] != data:
                raise FileActError("its bytes differ from the kept file's; only identical files are linked")
            if os.path.samefile(path, kept[0]):
                raise FileActError("it and the kept file are one file")
        target = kept[0] if self._link and kept else target_of(path, self._folder, self._base)
        if not self._link:
            own = _number(status)
            if own in self._shared:
                raise FileActError("it is the file of another document too, by this name or another one")
            if own in self._linked:
                raise FileActError("a symbolic link among the documents leads to it, and would lead nowhere")
            if os.path.lexists(target) or target in self._taken:
                raise FileActError(f"there is something at {target} already, and nothing is overwritten")
            self._taken.add(target)
        return FileAct(
            self._link or "move", record.ref.id, path, target, digest_of(data), len(data), status.st_mode,
            status.st_mtime_ns,
        )  # fmt: skip

    def _whole_file(self, record: Record, called: str = "it") -> tuple[str, bytes, os.stat_result]:
        path = path_of_printable(record.source)
        if record.container or container_of(record.source):
            if why := self._no_mail_alone(record, path):
                raise FileActError(f"{called} {why}")
            return path, *checked_bytes(path)
        if not os.path.isabs(record.source):
            raise FileActError(f"{called} came from no file of this machine")
        data, status = checked_bytes(path)
        if gone := missing(record.extractor):
            raise FileActError(gone)
        if options_of(record, data, self.store.info, path) is None:
            raise FileActError(f"{record.ref.id} {_CHANGED}")
        return path, data, status

    def _no_mail_alone(self, record: Record, path: str) -> str:
        container = record.container or container_of(record.source)
        reader = reader_of_file(path)
        if container != record.source or (reader and not reader.is_document):
            return f"is a part of {container}"
        try:
            first, *others = islice(Sources([path], Selection(include=("*",), hidden=True)), 2)
        except (NotFoundError, ValueError):
            return "can't be read any more"
        if others:
            return "is a mail with attachments"
        if isinstance(first, Input) and reader:
            options = options_of(record, first.data, self.store.info, first.name, first.title, first.format)
            return "" if options else _CHANGED
        return _CHANGED


def undone(store: Store, acts: Iterable[FileAct], *, dry_run: bool = False) -> Iterator[tuple[FileAct, str | None]]:
    """Each act with the reason not to take it back: empty if it is, None if it was not done or is taken back already.

    The acts may be forged: only acts the store has noted of its document are taken back.
    """
    for act in acts:
        yield act, _taken_back(store, act, dry_run=dry_run)


def _taken_back(store: Store, act: FileAct, *, dry_run: bool) -> str | None:
    ref = Ref(act.id)
    [known] = store.described([ref])
    record, said = known or (None, {})
    is_moved = record is None or record.source != printable_path(act.path)
    noted = _noted_acts(said)
    if record is None or act.digest not in noted:
        return "the store has not done this to a document of this id" if is_moved else None
    if is_moved and (act.act != "move" or record.source != printable_path(act.target)):
        return f"the store knows this document's file elsewhere, at {record.source}"
    try:
        back = undo_act(act, dry_run=dry_run)
        if not dry_run:
            for whole in filter(None, store.get([ref]) if is_moved else ()):
                _follow(store, whole, act.path)
            noted.remove(act.digest)
            store.annotate([(ref, {ACTS: noted or None, **({MOVED: None} if act.act == "move" else {})})])
    except FileActError as error:
        return str(error)
    return "" if back or is_moved else None


def _follow(store: Store, record: Record, path: str) -> None:
    for result in store.put([replace(record, source=printable_path(path))]):
        if result.reason:
            raise FileActError(f"the store does not take its new place: {result.reason}")


def _noted_acts(annotations: Mapping[str, Any]) -> list[str]:
    return list(annotations.get(ACTS) or ())


def _number(status: os.stat_result) -> int:
    return hash((status.st_dev, status.st_ino)) % (1 << 64)


def _numbers(path: str) -> Iterator[int]:
    with suppress(OSError, ValueError):
        yield _number(os.stat(path))


def _linked_below(folders: Iterable[str]) -> Iterator[int]:
    met = set[int]()
    waiting = [(folder, -1) for folder in folders]
    while waiting:
        folder, disk = waiting.pop()
        with suppress(OSError):
            status = os.stat(folder)
            if _number(status) in met or disk not in (-1, status.st_dev):
                continue
            met.add(_number(status))
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_symlink():
                        yield from _numbers(entry.path)
                    elif entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, status.st_dev))


def _was_moved(record: Record, annotations: Mapping[str, Any]) -> bool:
    return bool(annotations.get(MOVED, record.source) != record.source)


@cache
def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split(os.sep) if part)


def _within(path: str, folder: str) -> bool:
    parts = _parts(folder)
    return _parts(path)[: len(parts)] == parts
