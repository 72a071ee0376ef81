"""Files of documents that repeat a kept one moved aside, or replaced by links; the store follows, and comes back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

from indexer.clustering.assign import READ_AT_ONCE
from indexer.clustering.removal import RedundantDocument, Removal
from indexer.errors import NotFoundError, UsageError
from indexer.extract.brought import missing
from indexer.ingest.digests import options_of
from indexer.ingest.naming import container_of
from indexer.ingest.readers import reader_of_file
from indexer.ingest.relocating import (
    Act,
    ActList,
    FileAct,
    FileActError,
    checked_bytes,
    digest_of,
    do_act,
    target_of,
    undo_act,
)
from indexer.ingest.sources import Input, Selection, Sources
from indexer.model import Record, Ref
from indexer.model.chunking import chunks
from indexer.model.paths import path_of_printable, printable_path
from indexer.stores.base import Store

# The annotation of a document whose file was moved: where it was.
MOVED = "moved_from"


@dataclass(frozen=True, slots=True)
class Relocated:
    """A document whose file is moved or linked, or would be; `kept` says why it is left, empty where it is not."""

    document: RedundantDocument
    act: FileAct | None
    kept: str = ""


class Relocation:
    """The files of documents that another one, which stays, can stand for, moved to `folder` or replaced by links.

    Raises UsageError for a store that is no file of this machine, and for a folder inside of what is indexed.
    """

    def __init__(self, removal: Removal, *, folder: str = "", link: Act | None = None) -> None:
        store = removal.store
        if not store.capabilities.embedded:
            raise UsageError("files are moved and linked for a store that is a file; this one is in a search engine")
        self.store, self._removal, self._link = store, removal, link
        path = getattr(store, "path", "")
        self._base = os.path.dirname(os.path.realpath(path)) if path else ""
        self._folder = os.path.realpath(folder) if folder else ""
        self._taken: set[str] = set()
        if self._folder:
            self._require_outside(self._folder)

    def _require_outside(self, folder: str) -> None:
        """UsageError where a folder holds documents of the store, or lies in a folder that does."""
        homes: dict[str, None] = {}
        for page in chunks(self.store.scan(sketches=False), READ_AT_ONCE):
            noted = self.store.annotations([record.ref for record in page])
            own = (one for one, said in zip(page, noted, strict=True) if not _was_moved(one, said or {}))
            there = (one for one in own if os.path.isabs(one.source))
            homes |= dict.fromkeys(os.path.dirname(container_of(one.source) or one.source) for one in there)
        for home in map(path_of_printable, homes):
            if _within(folder, home) or _within(home, folder):
                raise UsageError(
                    f"{printable_path(folder)}: is inside of what is indexed ({printable_path(home)}), and would be "
                    "indexed again; name a folder elsewhere"
                )

    def planned(self) -> Iterator[Relocated]:
        """Each document with what would be done to its file, looked at as it is now."""
        for document in self._removal.surplus():
            if document.kept:
                yield Relocated(document, None, document.kept)
                continue
            try:
                yield Relocated(document, self._act(document))
            except FileActError as error:
                yield Relocated(document, None, str(error))

    def done(self, acts: ActList) -> Iterator[Relocated]:
        """The same, done; each act is in the list before it is."""
        for one in self.planned():
            if one.act is None:
                yield one
                continue
            try:
                acts.begin(one.act)
                do_act(one.act)
            except FileActError as error:
                yield replace(one, kept=str(error))
                continue
            if one.act.act == "move":
                _follow(self.store, one.document.record, one.act.target, {MOVED: printable_path(one.act.path)})
            yield one

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
                raise FileActError("its bytes are not those of the file that is kept; only identical ones are linked")
            if os.path.samefile(path, kept[0]):
                raise FileActError("it is a link to the file that is kept already")
        target = kept[0] if self._link and kept else target_of(path, self._folder, self._base)
        if not self._link:
            if os.path.lexists(target) or target in self._taken:
                raise FileActError(f"there is something at {target} already, and nothing is overwritten")
            self._taken.add(target)
        return FileAct(
            self._link or "move", record.ref.id, path, target, digest_of(data), len(data), status.st_mode,
            status.st_mtime_ns,
        )  # fmt: skip

    def _whole_file(self, record: Record, called: str = "it") -> tuple[str, bytes, os.stat_result]:
        """Path, bytes and status of the file that is a document as a whole, as it was indexed."""
        path = path_of_printable(record.source)
        if record.container or container_of(record.source):
            if not self._is_mail_alone(record, path):
                raise FileActError(f"{called} is a part of a file, or a mail that has attachments or has changed")
            return path, *checked_bytes(path)
        if not os.path.isabs(record.source):
            raise FileActError(f"{called} came from no file of this machine")
        data, status = checked_bytes(path)
        if gone := missing(record.extractor):
            raise FileActError(gone)
        if options_of(record, data, self.store.info, path) is None:
            raise FileActError(f"{record.ref.id} has changed since it was indexed, or can't be told to be as it was")
        return path, data, status

    def _is_mail_alone(self, record: Record, path: str) -> bool:
        """True for a mail in a file of its own, without attachments, that is as it was indexed."""
        reader = reader_of_file(path)
        if not reader or not reader.is_document or record.container or container_of(record.source) != record.source:
            return False
        try:
            first, *others = islice(Sources([path], Selection(include=("*",), hidden=True)), 2)
        except (NotFoundError, ValueError):
            return False
        if others or not isinstance(first, Input):
            return False
        return options_of(record, first.data, self.store.info, first.name, first.title, first.format) is not None


def undone(store: Store, acts: Sequence[FileAct], *, dry_run: bool = False) -> Iterator[tuple[FileAct, str | None]]:
    """Each act of a list, the last first, with why it is not taken back: empty where it is, None where it was not done.

    A file is touched only if the store's document of that id is the one of the act.
    """
    for act in reversed(acts):
        ref = Ref(act.id)
        [known] = store.described([ref])
        places = {printable_path(one) for one in (act.path, act.target)[: 2 if act.act == "move" else 1]}
        if known is None or known[0].source not in places:
            yield act, "the store has no document of this id whose file that is"
            continue
        try:
            back = undo_act(act, dry_run=dry_run)
        except FileActError as error:
            yield act, str(error)
            continue
        if not dry_run and act.act == "move" and known[0].source != printable_path(act.path):
            [record] = store.get([ref])
            if record:
                _follow(store, record, act.path, {MOVED: None})
        yield act, "" if back else None


def _follow(store: Store, record: Record, path: str, annotations: dict[str, str | None]) -> None:
    """Let the store know where a document's file is now."""
    for result in store.put([replace(record, source=printable_path(path))]):
        if result.reason:
            raise FileActError(f"the store does not take its new place: {result.reason}")
    store.annotate([(record.ref, annotations)])


def _was_moved(record: Record, annotations: Mapping[str, Any]) -> bool:
    """True if a document's file is where it was moved to; not if it was indexed anew from where it had been."""
    return bool(annotations.get(MOVED, record.source) != record.source)


@cache
def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split(os.sep) if part)


def _within(path: str, folder: str) -> bool:
    """True if a path is a folder, or lies in it."""
    parts = _parts(folder)
    return _parts(path)[: len(parts)] == parts
