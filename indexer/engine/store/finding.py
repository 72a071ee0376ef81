"""Find records by query, digest or name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from indexer.engine.client.errors import AnswerError
from indexer.engine.client.gets import place_of
from indexer.engine.index.bodies import DIGEST, both, is_record, packed_digest
from indexer.engine.index.mapping import Mappings
from indexer.engine.store.lookup import PAGE, RECORDS_PAGE, StorePart, is_unicode
from indexer.errors import UsageError
from indexer.model import Record, Ref, readings_of
from indexer.model.chunking import chunks
from indexer.model.refs import ref_order

# How engines write that a nested object is part of the document too.
_ON = (True, "true")
# Quoted words and regular expressions hold no names of fields.
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"|/(?:\\.|[^/\\])*/')
_NAME = re.compile(r"(?:^|[\s(+\-!])((?:\\.|[^\s:\"()\\])+):")
_EXISTS = re.compile(r"_exists_:\s*((?:\\.|[^\s:\"()\\])+)")


class FindPart(StorePart):
    def narrow(self, query: str) -> None:
        context = self.context
        context.require_open()
        asked = {"query_string": {"query": query}}
        try:
            answer = context.client.request(
                "POST", f"/{context.path}/_validate/query", {"query": asked}, explain="true", allow_no_indices="true"
            )
        except AnswerError as error:
            raise UsageError(f"the filter {query!r} can't be read: {error.reason}") from error
        if not answer.get("valid"):
            reasons = [why["error"] for why in answer.get("explanations", ()) if why.get("error")]
            reason = parser_reason(reasons[0], query) if reasons else "the engine does not say why"
            raise UsageError(f"the filter {query!r} can't be read: {reason}")
        if names := unreached(context.mappings, query):
            raise UsageError(
                f"the filter {query!r} can't be used: {', '.join(names)} lies in a nested object, out of reach of a "
                f"query string; filter by another field"
            )
        context.narrowing = asked

    def passes(self, ref: Ref) -> bool:
        context = self.context
        context.require_open()
        if not context.narrowing:
            return True
        context.settle()
        query = both({"ids": {"values": [ref.id]}}, context.narrowing)
        hits = self.lookup.search(query, size=PAGE, _source=False, stored_fields=["_routing"])["hits"]["hits"]
        return any(context.ref(hit) == ref for hit in hits)

    def find_digests(self, digests: Sequence[str]) -> Mapping[str, Record]:
        self.context.require_open()
        first_of: dict[str, Record] = {}
        wanted = [digest for digest in dict.fromkeys(digests) if digest and is_unicode(digest)]
        for page in chunks(wanted, RECORDS_PAGE):
            query = both({"terms": {DIGEST: list(map(packed_digest, page))}}, is_record())
            fields = self.context.bodies.record_fields(sketches=True)
            # Elasticsearch 8.8 to 8.14 fails where the field of the collapse is not among the doc values asked for.
            fields["docvalue_fields"] = [*fields["docvalue_fields"], DIGEST]
            collapsed = self.lookup.search(query, size=len(page), collapse={"field": DIGEST}, **fields)
            records = self.lookup.records(collapsed["hits"]["hits"], sketches=True)
            first_of.update((record.source_digest, record) for record in records)
        return first_of

    def find_each(self, names: Sequence[str]) -> list[list[Ref]]:
        context, lookup = self.context, self.lookup
        context.require_open()
        context.settle()
        places: dict[str, set[Ref]] = {}
        wanted = {reading.id for name in names for reading in readings_of(name) if is_unicode(reading.id)}
        for page in chunks(sorted(wanted), RECORDS_PAGE):
            query = both({"ids": {"values": page}}, is_record())
            body = {"_source": False, "stored_fields": ["_routing"]}
            answer = lookup.search(query, size=RECORDS_PAGE, track_total_hits=False, **body)
            hits = answer["hits"]["hits"]
            # Mostly one answer holds them all.
            pages = iter([hits]) if len(hits) < RECORDS_PAGE else lookup.pages({"query": query, **body}, PAGE)
            for hits in pages:
                for hit in hits:
                    places.setdefault(hit["_id"], set()).add(place_of(hit))
        if context.single:
            whole = [Ref(name) for name in names]
            for document in lookup.fetch(whole):
                if document:
                    place = place_of(document)
                    places.setdefault(place.id, set()).add(place)
        return [self._meant(name, places) for name in names]

    def _meant(self, name: str, places: Mapping[str, set[Ref]]) -> list[Ref]:
        refs: set[Ref] = set()
        for reading in readings_of(name):
            refs |= {
                place
                for place in places.get(reading.id, ())
                if reading.index in ("", place.index) and reading.routing in (None, place.routing or "")
            }
            if refs and self.context.single:
                break
        named = (Ref(ref.id, "" if self.context.single else ref.index, ref.routing) for ref in refs)
        return sorted(named, key=ref_order)


def parser_reason(text: str, query: str) -> str:
    _, marker, rest = text.partition(f"Cannot parse '{query}': ")
    return (rest if marker else text).partition("\n")[0].partition("; nested:")[0][:300].strip()


def unreached(mappings: Mappings, query: str) -> list[str]:
    plain = _QUOTED.sub('""', query)
    names = {re.sub(r"\\(.)", r"\1", found.lstrip("+-!")) for found in (*_NAME.findall(plain), *_EXISTS.findall(plain))}
    nested = {path for one in mappings.values() for path in _nested(one.raw)}
    return sorted(name for name in names if any(f"{name}.".startswith(f"{path}.") for path in nested))


def _nested(mapping: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, field in mapping.get("properties", {}).items():
        path = prefix + name
        if field.get("type") != "nested":
            yield from _nested(field, f"{path}.")
        # Their fields can be those of the document too.
        elif field.get("include_in_root") not in _ON and field.get("include_in_parent") not in _ON:
            yield path
