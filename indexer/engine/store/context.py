"""The state shared by the parts of a store, and what they all look up."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.bulk import in_flight, item_at, multi_get, place_of
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import is_stream, path_of, reading_path
from indexer.engine.client.snapshots import Page, pages
from indexer.engine.index.bodies import ROOT, Bodies, own_part
from indexer.engine.index.keys_beside import KeysBeside
from indexer.engine.index.mapping import IndexMapping, Mappings, named, new_index, read_mappings
from indexer.engine.index.side_index import (
    SideIndex,
    failure_id,
    kept_index,
    notes_index,
    require_sides,
    resources_index,
)
from indexer.engine.setup import bulk_load
from indexer.engine.setup.removal import Stripper
from indexer.errors import NoStoreError, StoreError
from indexer.model import Record, Ref
from indexer.model.chunking import chunks
from indexer.model.times import Refresh
from indexer.schemes.keys.layout import SchemeInfo
from indexer.stores.base import Contended, Store, StoreInfo
from indexer.stores.kept import CLUSTERS, DECISIONS, FAILURES
from indexer.stores.sketches import is_new

# The engines' own default for the most hits of one answer.
PAGE = 10_000
RECORDS_PAGE = 1000
_REMEMBERED = 10_000


class Landings:
    """Behind an alias or in a data stream: the indices of documents created since the last refresh; thread-safe.

    A search finds a document's earlier copy; within its own index the engine itself finds it. In another index, after a
    rollover, it is found only after a refresh.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ticks: dict[str, int] = {}
        self._tick = 0

    def indices(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._ticks)

    def note(self, indices: Iterable[str]) -> None:
        with self._lock:
            self._tick += 1
            self._ticks.update(dict.fromkeys(indices, self._tick))

    def refreshed(self, refresh: Callable[[], object]) -> None:
        with self._lock:
            before = self._tick
        refresh()
        with self._lock:
            self._ticks = {index: tick for index, tick in self._ticks.items() if tick > before}


class EnginePart(Store):
    """The state of a store, which its parts share: of a client's index, alias, data stream or pattern.

    With `create` a missing index is made, unless the store is only read. Raises StoreError if there is no store,
    IncompatibleStoreError if it can't be compared with `create`.
    """

    embedded = False
    bodies: Bodies

    def __init__(self, client: Client, create: StoreInfo | None = None, *, read_only: bool = False) -> None:
        self.client, self.read_only = client, read_only
        self.name, self.shown = client.target.name, client.target.shown
        # The path that searches are sent to.
        self.path = reading_path(self.name)
        self.refresh: Refresh = "wait"
        self.contended = Contended()
        self.stripped: list[Ref] = []
        # The query that lookups and scans of sketches are narrowed by.
        self.narrowing: Mapping[str, Any] | None = None
        # Counts what was written here, so that others can tell whether they know the latest.
        self.changes = 0
        # True if documents were written that no search shows yet.
        self.unseen = False
        self._put_back = False
        # Documents that were read to be changed next.
        self._remembered: dict[Ref, dict[str, Any]] = {}
        self.mappings = self.read_mappings()
        self.created = not self.mappings and create is not None and not read_only
        if create is not None and self.created:
            self._make(create)
            self.mappings = self.read_mappings()
        self.describe(self._read_info())
        if create is not None:
            self.info.require_comparable(create, self.shown)
        self.single = list(self.mappings) == [self.name]
        self.data_stream = not self.single and is_stream(self.mappings)
        self.sides: dict[str, SideIndex[Any]] = {
            kind.name: kept_index(client, kind) for kind in (FAILURES, CLUSTERS, DECISIONS)
        }
        self.beside = KeysBeside(client, lambda: list(self.mappings), lambda: self.bodies)
        self._resources, self._notes = resources_index(client), notes_index(client)
        # Of each scheme how many documents lack it, and until when that is taken for true.
        self._counts: dict[str, tuple[int, float]] = {}
        self._counted_at: object = None
        self._stripper = Stripper(client, lambda index: self.mapping_of(index).own_names)
        # The indices that were seen to keep all of a document in its source.
        self._losses: dict[str, str] = {}
        # What was written just before may lie in an index behind the alias that no refresh has shown yet.
        self._settled_once = self.single
        self._landings = Landings()

    # What the mappings say

    def read_mappings(self) -> Mappings:
        return read_mappings(self.client, self.path)

    def mapping_of(self, index: str) -> IndexMapping:
        return self.mappings.get(index) or self.read_mappings().get(index) or IndexMapping(index, {})

    def mappings_of(self, index: str) -> Mappings:
        """Those of this store if it has the index, else of another index."""
        return self.mappings if index in self.mappings else read_mappings(self.client, path_of(index)[1:])

    def read_again(self) -> None:
        self.mappings = self.read_mappings()
        self.describe(self._read_info())

    def describe(self, info: StoreInfo) -> None:
        self.info = info
        self.bodies = Bodies(info, [mapping.fields for mapping in self.mappings.values()])

    def _make(self, info: StoreInfo) -> None:
        if "*" in self.name or "," in self.name:
            raise StoreError(f"{self.shown}: there is no store, and a pattern can't make one; name one index")
        require_sides(self.client)
        try:
            self.client.request("PUT", f"/{self.path}", new_index(info))
        except AnswerError as error:
            # Another process may have made it in this moment.
            if error.kind != "resource_already_exists_exception":
                raise StoreError(f"{self.shown}: can't make the index: {error.reason}") from error

    def _read_info(self) -> StoreInfo:
        if not self.mappings:
            raise NoStoreError(
                f"{self.shown}: there is no store; index some documents first, or `neardup setup --store {self.shown}` "
                "makes one"
            )
        known = self.mappings.infos(self.shown)
        if not known:
            raise StoreError(
                f"{self.shown}: there is no store; the index is there without neardup's fields: "
                f"`neardup setup --store {self.shown}` adds them"
            )
        first = next(iter(known.values()))
        for index, info in known.items():
            self.mappings[index].require_current(self.shown)
            first.require_comparable(info, f"{self.shown} ({index})")
        schemes: list[SchemeInfo] = []
        for index, info in known.items():
            schemes += [one for one in info.schemes if is_new(schemes, one, f"{self.shown} ({index})")]
        return dataclasses.replace(first, schemes=tuple(schemes))

    def ref(self, hit: Mapping[str, Any]) -> Ref:
        return Ref(hit["_id"], "" if self.single else hit["_index"], hit.get("_routing"))

    # What may be done

    def require_writable(self) -> None:
        if self.read_only:
            raise StoreError(f"{self.shown}: the store was opened read-only")
        if "*" in self.name or "," in self.name:
            raise StoreError(f"{self.shown}: is a pattern and can only be read; write to one index, alias or stream")
        self.put_back()

    def require_mapped(self, schemes: Sequence[SchemeInfo] = (), *, anew: bool = False) -> None:
        """Raise StoreError if an index behind the name lacks neardup's fields: a write would guess their types."""
        if anew and not self.single:
            names = self.client.request("GET", f"/{self.path}/_settings/index.creation_date")
            if not names.keys() <= self.mappings.keys():
                self.mappings = self.read_mappings()
                self.describe(self.info)
        bare = self.mappings.lacking(self.shown, schemes)
        if bare:
            raise StoreError(
                f"{self.shown}: {named(bare)} without neardup's fields, so nothing is written through this "
                f"name; `neardup setup --store {self.shown}` adds them"
            )

    def put_back(self) -> None:
        if not self._put_back:
            self._put_back = True
            bulk_load.restore_left(self.client, self.mappings)

    # What searches show

    def wrote(self) -> None:
        self.changes += 1
        if self.refresh == "true":
            self.settle()

    def settle(self) -> None:
        self.client.require_open()
        if self.unseen:
            # What another thread writes meanwhile has to be refreshed again.
            self.unseen = False
            try:
                self.show()
            except BaseException:
                self.unseen = True
                raise
        for kept in self.sides.values():
            kept.settle()
        self.beside.settle()

    def show(self) -> None:
        self.client.request("POST", f"/{self.path}/_refresh")

    def forget_failures(self, refs: Sequence[Ref]) -> None:
        if refs:
            self.sides["failures"].delete(list(map(failure_id, refs)))

    # Documents by identity

    def fetch(self, refs: Sequence[Ref], *, whole: bool = False, sketches: bool = False) -> list[dict[str, Any] | None]:
        # One name: the engines take several times as long for the fields below it.
        source: dict[str, Any] = {} if whole else {"_source_includes": ROOT}
        excluded = self.bodies.sketches
        if excluded and not whole and not sketches:
            source["_source_excludes"] = ",".join(excluded)

        def fetched(page: list[Ref]) -> list[dict[str, Any] | None]:
            places = self._places(page)
            asked = [place for place in places if place]
            answers = multi_get(self.client, list(map(item_at, asked)), **source)
            if sketches:
                self.beside.fill(answers)
            hits = {
                place: hit
                for place, hit in zip(asked, answers, strict=True)
                if hit.get("found")
                and hit.get("_routing") == place.routing
                and own_part(hit.get("_source")) is not None
            }
            return [hits.get(place) if place else None for place in places]

        if len(refs) <= RECORDS_PAGE:
            return fetched(list(refs))
        return list(in_flight(fetched, chunks(refs, RECORDS_PAGE), lambda ref: ref))

    def _places(self, refs: Sequence[Ref]) -> list[Ref | None]:
        if self.single:
            named = [Ref(ref.id, ref.index or self.name, ref.routing) for ref in refs]
            return [place if is_unicode(place.id) else None for place in named]
        known: dict[str, list[Ref]] = {}
        if unplaced := [ref.id for ref in refs if not ref.index]:
            self.settle()
            known = located(self.client, self.path, unplaced)
        places: list[Ref | None] = []
        for ref in refs:
            if ref.index:
                places.append(ref if is_unicode(ref.id) else None)
            else:
                lie = [place for place in known.get(ref.id, ()) if ref.routing in (None, place.routing)]
                places.append(lie[0] if len(lie) == 1 else None)
        return places

    # By identity, to be changed next

    def remember(self, refs: Sequence[Ref], hits: Sequence[dict[str, Any] | None]) -> None:
        read = zip(refs, hits, strict=True)
        self._remembered = {ref: hit for ref, hit in read if hit} if len(refs) <= _REMEMBERED else {}

    def remembered(self, refs: Sequence[Ref]) -> dict[Ref, dict[str, Any] | None]:
        known: dict[Ref, dict[str, Any] | None] = {ref: self._remembered.pop(ref, None) for ref in refs}
        left = [ref for ref, hit in known.items() if hit is None]
        if left:
            known.update(zip(left, self.fetch(left), strict=True))
        return known

    def forget_read(self) -> None:
        self._remembered = {}

    # By query

    def search(self, query: Mapping[str, Any], **body: Any) -> Any:
        self.settle()
        return self.client.search(self.path, {"query": query, **body})

    def pages(self, body: Mapping[str, Any], size: int) -> Iterator[Page]:
        self.settle()
        return pages(self.client, self.path, body, size)

    def records(self, hits: Sequence[dict[str, Any]], *, sketches: bool = False) -> Iterator[Record]:
        for hit in self.beside.fill(hits) if sketches else hits:
            record = self.bodies.record(hit, self.ref(hit), sketches=sketches)
            if record:
                yield record


def located(client: Client, path: str, names: Iterable[str]) -> dict[str, list[Ref]]:
    places: dict[str, list[Ref]] = {}
    wanted = [name for name in dict.fromkeys(names) if is_unicode(name)]
    for page in chunks(wanted, RECORDS_PAGE):
        for hits in pages(client, path, {"query": {"ids": {"values": page}}, "_source": False}, PAGE):
            for hit in hits:
                places.setdefault(hit["_id"], []).append(place_of(hit))
    return places


def is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return bool(text)
