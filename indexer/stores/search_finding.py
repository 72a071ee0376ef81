"""Finding in a cluster: candidates by their keys, records by value and digest, identities by the names users write."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from indexer.errors import UsageError
from indexer.model import Record, Ref, readings_of, to_unsigned
from indexer.refs import ref_order
from indexer.stores.base import Candidate
from indexer.stores.connection import AnswerError
from indexer.stores.search_bodies import DIGEST, MAX_TERMS, VALUES_PAGE, both, is_record

if TYPE_CHECKING:
    from indexer.stores.search import SearchStore

T = TypeVar("T")

# The engines' own default for the most hits of one answer.
PAGE = 10_000
RECORDS_PAGE = 1000
VALUES_CHUNK = 10_000
# So many records are read by the first answer; where there are more, only names are, and then the records chosen.
_FEW = 200


class Finder:
    """The finding half of a SearchStore."""

    def __init__(self, store: SearchStore) -> None:
        self._store = store
        self.narrowing: dict[str, Any] | None = None

    def narrow(self, query: str) -> None:
        """See Store.narrow."""
        store = self._store
        asked = {"query_string": {"query": query}}
        try:
            answer = store.client.request("POST", f"/{store.path}/_validate/query", {"query": asked}, explain="true")
        except AnswerError as error:
            raise UsageError(f"the filter {query!r} can't be read: {error.reason}") from error
        if not answer.get("valid"):
            reasons = [each["error"] for each in answer.get("explanations", ()) if each.get("error")]
            reason = parser_reason(reasons[0], query) if reasons else "the engine does not say why"
            raise UsageError(f"the filter {query!r} can't be read: {reason}")
        self.narrowing = asked

    def passes(self, ref: Ref) -> bool:
        """See Store.passes."""
        if not self.narrowing:
            return True
        store = self._store
        store.writer.settle()
        query = both({"ids": {"values": [ref.id]}}, self.narrowing)
        hits = store.search(query, size=PAGE, _source=False, stored_fields=["_routing"])["hits"]["hits"]
        return any(store.ref(hit) == ref for hit in hits)

    # Candidates and records

    def _asked(self, query: Mapping[str, Any], include_short: bool, *more: Mapping[str, Any]) -> dict[str, Any]:
        return both(query, self.narrowing, *more, include_short=include_short)

    def candidates(self, keys: Sequence[int], include_short: bool, *more: Mapping[str, Any]) -> Iterator[Candidate]:
        """The distinct values with one of these keys that match the other queries too."""
        store = self._store
        store.check_open()
        store.writer.settle()
        seen: set[int] = set()
        parts = list(chunks(list(dict.fromkeys(keys)), MAX_TERMS))
        for some in parts:
            query = self._asked(store.bodies.having_keys(some), include_short, *more)
            for bucket in self._values(query):
                value = to_unsigned(bucket["key"]["bits"])
                if value not in seen:
                    if len(parts) > 1:
                        seen.add(value)
                    yield Candidate(value, bucket["doc_count"])

    def few_with_keys(self, keys: Sequence[int], include_short: bool) -> list[Record] | None:
        """See Store.few_with_keys."""
        store = self._store
        store.check_open()
        store.writer.settle()
        wanted = list(dict.fromkeys(keys))
        if len(wanted) > MAX_TERMS:
            return None
        return self._few(self._asked(store.bodies.having_keys(wanted), include_short))

    def _few(self, query: Mapping[str, Any]) -> list[Record] | None:
        """All records of a query in one answer, None where there are more than a few."""
        store = self._store
        answer = store.search(query, size=_FEW, track_total_hits=_FEW + 1, **store.record_fields())
        return None if answer["hits"]["total"]["value"] > _FEW else list(store.records(answer["hits"]["hits"]))

    def candidates_within(
        self, keys: Sequence[int], value: int, distance: int, include_short: bool
    ) -> Iterator[Candidate]:
        """See Store.candidates_within."""
        store = self._store
        try:
            yield from self.candidates(keys, include_short, store.bodies.near(value, distance))
        except AnswerError as error:
            if "painless" in error.reason or "script" in error.reason:
                raise UsageError(
                    f"{store.shown}: this {store.client.product} can't verify in the cluster, because it does not run "
                    f"Painless scripts ({error.reason}); ask without it, the answer is the same"
                ) from error
            raise

    def _values(self, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        # The pages go on after the last value of the page before: none is lost or told twice, whatever is written.
        store = self._store
        after = None
        while True:
            answer = store.search(query, size=0, track_total_hits=False, aggs=store.bodies.per_value(after))
            found = answer["aggregations"]["values"]
            yield from found["buckets"]
            after = found.get("after_key")
            # A page that is not full is the last one; the engines name a key to go on after all the same.
            if after is None or len(found["buckets"]) < VALUES_PAGE:
                return

    def with_value(self, values: Sequence[int], include_short: bool, limit: int | None) -> Iterator[Record]:
        """See Store.with_value."""
        store = self._store
        store.check_open()
        store.writer.settle()
        if not values or limit == 0:
            return
        queries = [
            self._asked(store.bodies.having_values(some), include_short) for some in chunks(values, VALUES_CHUNK)
        ]
        few = self._few(queries[0]) if len(queries) == 1 else None
        if few is not None:
            yield from sorted(few, key=lambda record: ref_order(record.ref))[:limit]
            return
        refs = (
            store.ref(hit)
            for query in queries
            for hits in store.pages({"query": query, "_source": False}, PAGE)
            for hit in hits
        )
        chosen = sorted(refs, key=ref_order) if limit is None else heapq.nsmallest(limit, refs, key=ref_order)
        yield from self.chosen(chosen)

    def chosen(self, refs: Iterable[Ref]) -> Iterator[Record]:
        """The records of identities, in this order; what is not there any more is left out."""
        for some in chunks(refs, _FEW):
            yield from self._chosen(some)

    def _chosen(self, refs: Sequence[Ref]) -> Iterator[Record]:
        store = self._store
        query = both({"ids": {"values": list({ref.id for ref in refs})}}, is_record())
        found = {
            record.ref: record
            for hits in store.pages({"query": query, **store.record_fields()}, RECORDS_PAGE)
            for record in store.records(hits)
        }
        yield from (found[ref] for ref in refs if ref in found)

    def digests(self, digests: Sequence[str]) -> Mapping[str, Record]:
        """See Store.find_digests."""
        store = self._store
        store.check_open()
        found: dict[str, Record] = {}
        wanted = [digest for digest in dict.fromkeys(digests) if digest and is_unicode(digest)]
        for some in chunks(wanted, RECORDS_PAGE):
            query = both({"terms": {DIGEST: some}}, is_record())
            fields = store.record_fields(sketches=True)
            collapsed = store.search(query, size=len(some), collapse={"field": DIGEST}, **fields)
            found.update((record.source_digest, record) for record in store.records(collapsed["hits"]["hits"]))
        return found

    # Identities

    def find_each(self, names: Sequence[str]) -> list[list[Ref]]:
        """See Store.find_each; what stands here is as of the last refresh, and in one index as it is now too."""
        store = self._store
        store.check_open()
        store.writer.settle()
        places: dict[str, set[Ref]] = {}
        wanted = {reading.id for name in names for reading in readings_of(name) if is_unicode(reading.id)}
        for some in chunks(sorted(wanted), RECORDS_PAGE):
            query = both({"ids": {"values": some}}, is_record())
            body = {"_source": False, "stored_fields": ["_routing"]}
            answer = store.search(query, size=RECORDS_PAGE, track_total_hits=False, **body)
            hits = answer["hits"]["hits"]
            # Mostly one answer holds them all.
            pages = iter([hits]) if len(hits) < RECORDS_PAGE else store.pages({"query": query, **body}, PAGE)
            for hits in pages:
                for hit in hits:
                    places.setdefault(hit["_id"], set()).add(Ref(hit["_id"], hit["_index"], hit.get("_routing")))
        if store.single:
            whole = [Ref(name) for name in names]
            for document in store.fetch(whole):
                if document:
                    place = Ref(document["_id"], document["_index"], document.get("_routing"))
                    places.setdefault(place.id, set()).add(place)
        return [self._meant(name, places) for name in names]

    def _meant(self, name: str, places: Mapping[str, set[Ref]]) -> list[Ref]:
        """What a name means among the places of its id; in one index an id that is all of the name comes first."""
        found: set[Ref] = set()
        for reading in readings_of(name):
            found |= {
                place
                for place in places.get(reading.id, ())
                if reading.index in ("", place.index) and reading.routing in (None, place.routing or "")
            }
            if found and self._store.single:
                break
        named = (Ref(ref.id, "" if self._store.single else ref.index, ref.routing) for ref in found)
        return sorted(named, key=ref_order)


def parser_reason(text: str, query: str) -> str:
    """What the engines' parser has against a query, without the names of classes and all that it would have liked."""
    _, found, rest = text.partition(f"Cannot parse '{query}': ")
    return (rest if found else text).partition("\n")[0].partition("; nested:")[0][:300].strip()


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Items in lists of `size`."""
    iterator = iter(items)
    while some := list(islice(iterator, size)):
        yield some


def is_unicode(text: str) -> bool:
    """Whether there is a text that UTF-8 can say."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return bool(text)
