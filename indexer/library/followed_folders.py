"""Follow folders into a store in a file."""

from __future__ import annotations

import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from indexer.errors import StoreError, UsageError
from indexer.ingest.naming import container_of
from indexer.ingest.sources import Input, Rejected
from indexer.library.engine_options import Watching
from indexer.library.following import Followed, TakenUp
from indexer.library.indexing import Indexing, arrivals
from indexer.library.opening import Tell, open_store, opened, warned
from indexer.library.options import Arriving, Extraction, Fingerprinting, Walk
from indexer.model import Record, Ref
from indexer.model.chunking import chunks
from indexer.model.counts import IndexingSummary
from indexer.model.paths import path_of_printable, printable_path, store_file
from indexer.stores import Store
from indexer.text.hiding import shown_name

# Folders that are watched are looked through this often all the same, in seconds.
_RESCAN = 600.0
# Looking through them takes at most one of so many parts of the time.
_PARTS = 5
_AT_ONCE = 1000
# Failures that may pass without a change of the file, where its bytes were not read.
_PASSING = ("unreadable", "refused")
_CHANGES = frozenset({"created", "modified", "moved", "deleted"})
# Filesystems that tell nothing of what other machines change.
_REMOTE = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "gluster", "lustre", "fuse", "virtiofs", "vboxsf", "drvfs")


@dataclass(frozen=True, slots=True)
class _Losses:
    """The documents of a store from the folders: their number, and those with missing files.

    If only one of several files with an id is gone, the hashes of the others are `elsewhere`.
    """

    known: int = 0
    gone: Mapping[Ref, str] = field(default_factory=dict)
    elsewhere: frozenset[int] = frozenset()
    is_too_much: bool = False


class FollowedFolders(Followed):
    """Folders whose files come into a store, as with `neardup index --cluster`; missing ones are removed.

    Events of the system only prompt a look; the size, time and number (inode) of each file tell about changes, so lost
    events and network file systems delay anything by ten minutes at most. Raises UsageError unless the store is a file,
    and the folders are folders.
    """

    def __init__(
        self,
        store: str,
        folders: Sequence[str],
        walk: Walk = Walk(),
        making: Fingerprinting = Fingerprinting(),
        extraction: Extraction = Extraction(),
        watching: Watching = Watching(),
        *,
        tell: Tell = warned,
    ) -> None:
        self.shown, self.target = shown_name(store), store
        if not store_file(store):
            raise UsageError(
                f"{self.shown}: folders are followed into a file; an index of an engine is followed itself"
            )
        for folder in folders:
            if not os.path.isdir(folder):
                raise UsageError(f"{printable_path(folder)}: is no folder")
        self._folders, self._walk, self._making, self._extraction = tuple(folders), walk, making, extraction
        self._how, self._tell, self._confirmed = watching, tell, watching.confirm_loss
        # What is known of the files by the hash of their path, None before the first look.
        self._seen: dict[int, int] | None = None
        self._there: dict[int, int] = {}
        self._changed: set[int] = set()
        # The files that an id has come from, where they are several: the store knows one of them.
        self._sources: dict[Ref, set[int]] = {}
        # Files that could not be read, which may pass without a change of them.
        self._unread: set[int] = set()
        self._lost = self._is_held = False
        self._hint, self._watch = Event(), _no_watch
        self._is_watched = self._is_told = False
        self._due = self._not_before = self._retry_at = 0.0

    def look(self) -> int | None:
        """Look through the folders after an event, or after ten minutes."""
        moment = time.monotonic()
        if moment < self._not_before or (moment < self._due and not self._hint.is_set()):
            return None
        self._start_watching()
        self._hint.clear()
        for folder in self._folders:
            _require_there(folder)
        self._there, self._changed = {}, set()
        seen, is_first = self._seen or {}, self._seen is None
        again: Iterable[int] = ()
        if moment >= self._retry_at:
            again, self._retry_at = self._unread, moment + _RESCAN
        for path, signature in self._files():
            self._there[path] = signature
            if seen.get(path) != signature or path in again:
                self._changed.add(path)
        self._lost = not seen.keys() <= self._there.keys()
        took = time.monotonic() - moment
        self._not_before = moment + _PARTS * took
        self._due = moment + (_RESCAN if self._is_watched else self._how.interval)
        if not (is_first or self._changed or self._lost or self._is_held):
            return None
        return len(self._changed) + len(seen.keys() - self._there.keys())

    def _files(self) -> Iterator[tuple[int, int]]:
        with self._run() as run:
            for file in run.sources().files():
                if isinstance(file, Rejected):
                    continue
                with suppress(OSError):
                    about = os.stat(file.path)
                    way_in = about.st_mode, about.st_uid, about.st_gid
                    signature = hash((about.st_mtime_ns, about.st_size, about.st_ino, *way_in))
                    yield hash(os.path.abspath(file.path)), signature

    def take_up(self, begun: Callable[[Store], None], stop: Event) -> TakenUp:
        """Index new and changed files into clusters, and remove missing ones."""
        begin, path = time.monotonic(), store_file(self.target)
        losses, removed = _Losses(), 0
        if (self._seen is None or self._lost or self._is_held) and os.path.exists(path):
            # Before what is new: a file under another name is no copy of itself.
            losses, removed = self._remove(begun)
        self._changed |= losses.elsewhere
        summary = self._read(begun, stop)
        if losses.elsewhere:
            # What the other files have no longer.
            losses, more = self._remove(begun)
            removed += more
        self._seen, self._is_held, self._confirmed = self._there, losses.is_too_much, False
        came = summary.indexed + summary.replaced
        documents = losses.known - len(losses.gone)
        if not losses.is_too_much and os.path.exists(path):
            with open_store(self.target, read_only=True) as store:
                documents = store.count()
        return TakenUp(
            documents=documents,
            known=losses.known,
            annotated=came,
            failed=dict(summary.failed),
            removed=removed,
            held=losses.is_too_much,
            is_changed=bool(came or removed),
            seconds=time.monotonic() - begin,
        )

    def _read(self, begun: Callable[[Store], None], stop: Event) -> IndexingSummary:
        shared: dict[Ref, set[int]] = {}

        def note(ref: Ref, *documents: Record | Input) -> None:
            files = {hash(_file_of(each.container or each.source)) for each in documents}
            if len(files) > 1:
                shared.setdefault(ref, set()).update(files)

        with self._run() as indexing:
            if not self._changed:
                return indexing.summary
            indexing.only, indexing.on_open, indexing.shared = self._is_changed, begun, note
            done = indexing.run(Arriving(cluster=True), stop=stop)
        if done.stopped:
            raise KeyboardInterrupt
        if os.path.exists(store_file(self.target)):
            with open_store(self.target, read_only=True) as store:
                failures = [each for each in store.failures() if each.reason in _PASSING and not each.source_digest]
            self._unread = {hash(_file_of(each.source)) for each in failures}
        for ref, files in self._sources.items():
            if kept := files - (self._changed - self._unread):
                shared.setdefault(ref, set()).update(kept)
        self._sources = shared
        return indexing.summary

    def close(self) -> None:
        """Stop watching the folders; the next look goes through them."""
        self._watch()
        self._watch, self._is_watched, self._due = _no_watch, False, 0.0

    def _run(self) -> Indexing:
        return Indexing(self.target, self._folders, self._walk, self._making, self._extraction, tell=self._tell)

    def _is_changed(self, path: str) -> bool:
        return hash(os.path.abspath(path)) in self._changed

    # What is gone

    def _remove(self, begun: Callable[[Store], None]) -> tuple[_Losses, int]:
        from indexer.clustering.annotations import cluster_of, is_alone

        with opened(self.target, self._tell) as store:
            begun(store)
            losses = self._losses(store.scan(sketches=False))
            if not losses.gone or losses.is_too_much:
                return losses, 0
            removed = 0
            with arrivals(store, Arriving(cluster=True), self._tell) as coming:
                for refs in chunks(losses.gone, _AT_ONCE):
                    fields = zip(refs, store.annotations(refs), strict=True)
                    known = [(ref, each) for ref, each in fields if each and not is_alone(ref, each)]
                    if coming:
                        coming.leave({name for _, each in known if (name := cluster_of(each))})
                    removed += store.delete(refs)
        return losses, removed

    def _losses(self, records: Iterable[Record]) -> _Losses:
        roots = [os.path.join(printable_path(os.path.abspath(folder)), "") for folder in self._folders]
        known, gone, elsewhere = Counter[str](), dict[Ref, str](), set[int]()
        for record in records:
            place = record.container or record.source
            root = next((root for root in roots if place.startswith(root)), None)
            if root is None:
                continue
            known[root] += 1
            file = _file_of(place)
            if hash(file) not in self._there and _is_gone(file):
                others = self._sources.get(record.ref, set()) & self._there.keys()
                elsewhere |= others
                if not others:
                    gone[record.ref] = root
        lost = Counter(gone.values())
        is_empty = any(lost[root] == known[root] for root in lost)
        too_much = is_empty or len(gone) > self._how.most_lost * known.total()
        is_held = bool(gone) and too_much and not self._confirmed
        return _Losses(known.total(), gone, frozenset(elsewhere), is_too_much=is_held)

    # When to look

    def _start_watching(self) -> None:
        if self._is_watched:
            return
        self._is_watched, self._watch, reason = False, _no_watch, ""
        remote = next((folder for folder in self._folders if _is_remote(folder)), None)
        if remote is not None:
            reason = f"{printable_path(remote)} lies on another machine and reports no changes"
        else:
            try:
                self._watch = _watched(self._folders, store_file(self.target), self._hint)
                self._is_watched = True
            except ImportError:
                reason = "the extra watch is not installed"
            except OSError as error:
                reason = f"the system watches no more of them ({error.strerror})"
        if reason and not self._is_told:
            self._is_told = True
            self._tell(f"{reason}: the folders are looked through every {self._how.interval:g} seconds, or less often")


def _no_watch() -> None: ...


def _watched(folders: Sequence[str], store: str, hint: Event) -> Callable[[], None]:
    """Set an event whenever something changes in folders, except the store; returns the function to end it.

    Raises ImportError and OSError.
    """
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers import Observer

    own = os.path.realpath(store)

    class _FolderEvents(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            changed = os.fsdecode(event.src_path)
            if event.event_type in _CHANGES and not os.path.realpath(changed).startswith(own):
                hint.set()

    observer: Any = Observer()
    for folder in folders:
        observer.schedule(_FolderEvents(), folder, recursive=True)
    observer.start()

    def end() -> None:
        observer.stop()
        observer.join()

    return end


def _require_there(folder: str) -> None:
    try:
        with os.scandir(folder):
            pass
    except OSError as error:
        raise StoreError(f"{printable_path(folder)}: the folder can't be listed: {error.strerror}") from None


def _file_of(place: str) -> str:
    return path_of_printable(container_of(place) or place)


def _is_gone(path: str) -> bool:
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


def _is_remote(folder: str) -> bool:
    try:
        mounts = [line.split(" ")[1:3] for line in Path("/proc/self/mounts").read_text("utf-8", "replace").splitlines()]
    except OSError:
        return False
    whole = os.path.join(os.path.realpath(folder), "")
    over = [(len(place), kind) for place, kind in mounts if whole.startswith(os.path.join(place, ""))]
    return max(over, default=(0, ""))[1].startswith(_REMOTE)
