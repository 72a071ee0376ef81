"""Lookups shared by readers and writers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from indexer.engine.client.bulk import in_flight
from indexer.engine.client.gets import item_at, multi_get, place_of
from indexer.engine.client.snapshots import Snapshot
from indexer.engine.index.bodies import ROOT, own_part
from indexer.engine.store.context import Context
from indexer.model import Record, Ref
from indexer.model.chunking import chunks

# The engines' own default for the most hits of one answer.
PAGE = 10_000
RECORDS_PAGE = 1000
_REMEMBERED = 10_000


class Lookup:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._remembered: dict[Ref, dict[str, Any]] = {}

    # By identity

    def fetch(self, refs: Sequence[Ref], *, whole: bool = False, sketches: bool = False) -> list[dict[str, Any] | None]:
        # One name: the engines take several times as long for the fields below it.
        source: dict[str, Any] = {} if whole else {"_source_includes": ROOT}
        excluded = self._context.bodies.sketches
        if excluded and not whole and not sketches:
            source["_source_excludes"] = ",".join(excluded)

        def fetched(page: list[Ref]) -> list[dict[str, Any] | None]:
            return self._fetch(page, source, sketches=sketches)

        if len(refs) <= RECORDS_PAGE:
            return fetched(list(refs))
        return list(in_flight(fetched, chunks(refs, RECORDS_PAGE), lambda ref: ref))

    def _fetch(self, refs: Sequence[Ref], source: Mapping[str, Any], *, sketches: bool) -> list[dict[str, Any] | None]:
        places = self._places(refs)
        asked = [place for place in places if place]
        answers = multi_get(self._context.client, list(map(item_at, asked)), **source)
        if sketches:
            self._context.beside.fill(answers)
        hits = {
            place: hit
            for place, hit in zip(asked, answers, strict=True)
            if hit.get("found") and hit.get("_routing") == place.routing and own_part(hit.get("_source")) is not None
        }
        return [hits.get(place) if place else None for place in places]

    def _places(self, refs: Sequence[Ref]) -> list[Ref | None]:
        if self._context.single:
            named = [Ref(ref.id, ref.index or self._context.name, ref.routing) for ref in refs]
            return [place if is_unicode(place.id) else None for place in named]
        known: dict[str, list[Ref]] = {}
        if unplaced := [ref.id for ref in refs if not ref.index]:
            self._context.settle()
            known = self.locate(unplaced)
        places: list[Ref | None] = []
        for ref in refs:
            if ref.index:
                places.append(ref if is_unicode(ref.id) else None)
            else:
                lie = [place for place in known.get(ref.id, ()) if ref.routing in (None, place.routing)]
                places.append(lie[0] if len(lie) == 1 else None)
        return places

    def locate(self, names: Iterable[str]) -> dict[str, list[Ref]]:
        places: dict[str, list[Ref]] = {}
        wanted = [name for name in dict.fromkeys(names) if is_unicode(name)]
        for page in chunks(wanted, RECORDS_PAGE):
            for hits in self.pages({"query": {"ids": {"values": page}}, "_source": False}, PAGE):
                for hit in hits:
                    places.setdefault(hit["_id"], []).append(place_of(hit))
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

    def forget(self) -> None:
        self._remembered = {}

    # By query

    def search(self, query: Mapping[str, Any], **body: Any) -> Any:
        return self._context.client.search(self._context.path, {"query": query, **body})

    def pages(self, body: Mapping[str, Any], size: int, *, path: str = "") -> Iterator[list[dict[str, Any]]]:
        after: Sequence[Any] | None = None
        with Snapshot(self._context.client, path or self._context.path) as snapshot:
            while True:
                hits, more = snapshot.page(body, size, after)
                if not more:
                    snapshot.close()
                    if hits:
                        yield hits
                    return
                snapshot.keep()
                yield hits
                after = hits[-1]["sort"]

    def records(self, hits: Sequence[dict[str, Any]], *, sketches: bool = False) -> Iterator[Record]:
        for hit in self._context.beside.fill(hits) if sketches else hits:
            record = self._context.bodies.record(hit, self._context.ref(hit), sketches=sketches)
            if record:
                yield record


class StorePart:
    def __init__(self, context: Context, lookup: Lookup) -> None:
        self.context, self.lookup, self.client = context, lookup, context.client


def is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return bool(text)
