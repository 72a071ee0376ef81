"""Finding in a cluster: what a query lets through, records by ref and digest, identities by the names users write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from indexer.errors import UsageError
from indexer.model import Record, Ref, readings_of
from indexer.refs import ref_order
from indexer.stores.connection import AnswerError
from indexer.stores.search_bodies import DIGEST, both, is_record

if TYPE_CHECKING:
    from indexer.stores.search import SearchStore

T = TypeVar("T")

# The engines' own default for the most hits of one answer.
PAGE = 10_000
RECORDS_PAGE = 1000
VALUES_CHUNK = 10_000
# Of records that were chosen by name so many are read at a time.
_CHOSEN = 200


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
            answer = store.client.request(
                "POST", f"/{store.path}/_validate/query", {"query": asked}, explain="true", allow_no_indices="true"
            )
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

    # Records

    def chosen(self, refs: Iterable[Ref]) -> Iterator[Record]:
        """The records of identities, in this order; what is not there any more is left out."""
        for some in chunks(refs, _CHOSEN):
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
            # Elasticsearch 8.8 to 8.14 fails where the field of the collapse is not among the doc values asked for.
            fields["docvalue_fields"] = [*fields["docvalue_fields"], DIGEST]
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
