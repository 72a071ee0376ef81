"""Finding by the keys of sketches in a cluster, whatever the scheme: lookups, scans, holders, and what is lacking."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from indexer.errors import UsageError
from indexer.model import SIMHASH_DOC, Record, Ref, Sketch
from indexer.ragged import Ragged
from indexer.refs import ref_order
from indexer.stores.connection import NDJSON, AnswerError
from indexer.stores.search_bodies import ROOT, SHORT, TOKENS, both, encoded
from indexer.stores.search_finding import PAGE, chunks, require_whole
from indexer.stores.sketch_fields import FEATURES, PAYLOAD, packed_keys, unpacked_payload
from indexer.stores.sketches import Check, Few, Found, Probe, require_schemes, scheme_named

if TYPE_CHECKING:
    from indexer.stores.search import SearchStore

Hit = Mapping[str, Any]

# So many records are read by the first answer; where there are more, a snapshot is opened, and names alone are read.
FEW = 200
# Payloads, and keys even more, are larger than values.
_PAYLOADS_PAGE = 5000
_KEYS_PAGE = 2000
_QUESTIONS = 50
# Of an engine's limit of 1,024 clauses, and of 65,536 terms in one of them.
_CLAUSES = 900
_TERMS = 65_536


class Prober:
    """The part of a SearchStore that finds sketches."""

    def __init__(self, store: SearchStore) -> None:
        self._store = store

    def probe(
        self, probes: Sequence[Probe], schemes: Sequence[str], check: Check | None, include_short: bool
    ) -> Iterator[Found]:
        """See Store.probe."""
        names, query = self._asked(probes, schemes, include_short, check)
        lacking = self.lacking([*names, *(each.scheme for each in probes)])
        if query is None:
            yield self._found([], names, lacking)
            return
        try:
            answer = self._store.client.request("POST", f"/{self._store.path}/_search", self._body(query, names))
        except AnswerError as error:
            if check is not None and ("painless" in error.reason or "script" in error.reason):
                raise UsageError(
                    f"{self._store.shown}: this {self._store.client.product} can't verify in the cluster, because it "
                    f"does not run Painless scripts ({error.reason}); ask without it, the answer is the same"
                ) from error
            raise
        yield from self._answered(answer, query, names, lacking)

    def probe_many(
        self, questions: Sequence[Sequence[Probe]], schemes: Sequence[str], include_short: bool
    ) -> Iterator[Iterable[Found]]:
        """See Store.probe_many."""
        for some in chunks(questions, _QUESTIONS):
            asked = [self._asked(probes, schemes, include_short) for probes in some]
            concerned = {each.scheme for probes in some for each in probes}
            lacking = self.lacking([*dict.fromkeys(schemes), *concerned])
            queries = [query for _, query in asked if query is not None]
            answers = iter(self._search_many([self._body(query, asked[0][0]) for query in queries]))
            for probes, (names, query) in zip(some, asked, strict=True):
                told = {name: lacking[name] for name in (*names, *(each.scheme for each in probes))}
                if query is None:
                    yield [self._found([], names, told)]
                else:
                    yield self._answered(next(answers), query, names, told)

    def _search_many(self, bodies: Sequence[Mapping[str, Any]]) -> list[Any]:
        store = self._store
        if not bodies:
            return []
        lines = b"".join(b"{}\n" + encoded(body) + b"\n" for body in bodies)
        path = f"/{store.path}/_msearch"
        answers: list[Any] = store.client.request("POST", path, lines, content_type=NDJSON)["responses"]
        for answer in answers:
            if "error" in answer:
                raise AnswerError.from_body(int(answer.get("status", 0)), answer)
        return answers

    def _asked(
        self, probes: Sequence[Probe], schemes: Sequence[str], include_short: bool, check: Check | None = None
    ) -> tuple[tuple[str, ...], dict[str, Any] | None]:
        """The names of schemes, each once, and the query; None where nothing can be found."""
        store = self._ready((*schemes, *(each.scheme for each in probes)))
        clauses = [clause for each in probes if (clause := self._having(each))]
        names = tuple(dict.fromkeys(schemes))
        if not clauses:
            return names, None
        query = clauses[0] if len(clauses) == 1 else {"bool": {"should": clauses, "minimum_should_match": 1}}
        near = store.bodies.near(int.from_bytes(check.payload, "big"), check.distance) if check else None
        return names, both(query, store.finder.narrowing, near, include_short=include_short)

    def _ready(self, schemes: Iterable[str]) -> SearchStore:
        store = self._store
        store.check_open()
        require_schemes(store.info.schemes, schemes, store.shown)
        store.writer.settle()
        return store

    def _having(self, probe: Probe) -> dict[str, Any] | None:
        """Documents that satisfy a probe; None where none can."""
        store = self._store
        layout = store.info.layout
        if probe.scheme != SIMHASH_DOC:
            layout = scheme_named(store.info.schemes, probe.scheme, store.shown).layout
        terms = layout.terms(dict.fromkeys(probe.keys))
        if any(len(each) > _TERMS for each in terms.values()):
            raise UsageError(
                f"{store.shown}: a lookup of {len(probe.keys):,} keys is too large; ask for a higher similarity"
            )
        if len(terms) < probe.agreeing:
            return None
        clauses = [{"terms": {f"{ROOT}.{probe.scheme}.{field}": each}} for field, each in terms.items()]
        return {"bool": {"should": clauses, "minimum_should_match": probe.agreeing}}

    def _body(self, query: Mapping[str, Any], schemes: Sequence[str]) -> dict[str, Any]:
        """The search for the first few of a query, as whole records with payloads."""
        fields = self._store.record_fields()
        values = list(dict.fromkeys([*fields["docvalue_fields"], *map(self._payload, schemes)]))
        size = {"size": FEW, "track_total_hits": FEW + 1}
        return {"query": query, **size, **fields, "docvalue_fields": values}

    def _answered(
        self, answer: Mapping[str, Any], query: Mapping[str, Any], schemes: Sequence[str], lacking: Mapping[str, int]
    ) -> Iterator[Found]:
        """What a first answer holds, and the rest where it is not all."""
        store = self._store
        require_whole(answer, store.shown)
        if answer["hits"]["total"]["value"] <= FEW:
            yield self._found([hit for hit in answer["hits"]["hits"] if TOKENS in hit["fields"]], schemes, lacking)
            return
        told: Mapping[str, int] | None = lacking
        body = {"query": query, "_source": False, "docvalue_fields": list(map(self._payload, schemes))}
        for hits in store.pages(body, self._page(schemes)):
            yield Found(list(map(store.ref, hits)), self._payloads(hits, schemes), lacking=told)
            told = None

    def _found(self, hits: Sequence[Hit], schemes: Sequence[str], lacking: Mapping[str, int]) -> Found:
        """Few documents, whole."""
        store = self._store
        records = Few(hits, lambda hit: next(store.records([hit])))
        return Found(list(map(store.ref, hits)), self._payloads(hits, schemes), records=records, lacking=lacking)

    @staticmethod
    def _page(schemes: Iterable[str]) -> int:
        return PAGE if set(schemes) <= {SIMHASH_DOC} else _PAYLOADS_PAGE

    def _payload(self, scheme: str) -> str:
        return self._store.bodies.bits if scheme == SIMHASH_DOC else f"{ROOT}.{scheme}.{PAYLOAD}"

    def _payloads(self, hits: Sequence[Hit], schemes: Iterable[str]) -> dict[str, Ragged]:
        return {name: self._rows(hits, name) for name in schemes}

    def _rows(self, hits: Sequence[Hit], scheme: str) -> Ragged:
        field = self._payload(scheme)
        found = [hit.get("fields", {}).get(field) for hit in hits]
        if scheme != SIMHASH_DOC:
            return Ragged.of_bytes([unpacked_payload(each[0]) if each else b"" for each in found])
        values = np.array([each[0] for each in found if each], dtype=np.int64).astype(">i8").view(np.uint8)
        if values.size == 8 * len(found):
            return Ragged.of_matrix(values.reshape(-1, 8))
        sizes = np.array([8 if each else 0 for each in found], dtype=np.int64)
        return Ragged(values, np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes))))

    # Scanning and counting

    def scan(self, schemes: Sequence[str], keyed: Sequence[str], include_short: bool) -> Iterator[Found]:
        """See Store.scan_sketches."""
        store = self._ready((*schemes, *keyed))
        names = tuple(dict.fromkeys(schemes))
        having = [{"exists": {"field": self._payload(name)}} for name in names]
        query = both({"bool": {"should": having, "minimum_should_match": 1}}, store.finder.narrowing)
        if not include_short:
            query["bool"]["must_not"] = [{"term": {SHORT: True}}]
        body: dict[str, Any] = {"query": query, "docvalue_fields": list(map(self._payload, names))}
        body["_source"] = [f"{ROOT}.{name}.t*" for name in keyed] or False
        for hits in store.pages(body, _KEYS_PAGE if keyed else self._page(names)) if names else ():
            keys = {name: Ragged.of_integers([self._keys(hit, name) for hit in hits]) for name in keyed}
            yield Found(list(map(store.ref, hits)), self._payloads(hits, names), keys)

    def _keys(self, hit: Hit, scheme: str) -> Sequence[int]:
        store = self._store
        fields = (hit["_source"].get(ROOT) or {}).get(scheme) or {}
        if scheme == SIMHASH_DOC:
            return store.bodies.packed(fields)
        return packed_keys(scheme_named(store.info.schemes, scheme, store.shown), fields)

    def lacking(self, schemes: Sequence[str]) -> Mapping[str, int]:
        """See Store.lacking."""
        store = self._ready(schemes)
        missing = dict.fromkeys(schemes, 0)
        if not missing.keys() - {SIMHASH_DOC}:
            return missing
        aggregations = {
            name: {"filter": {"bool": {"must_not": [{"exists": {"field": f"{ROOT}.{name}.{FEATURES}"}}]}}}
            for name in missing
            if name != SIMHASH_DOC
        }
        query = both(store.bodies.fingerprinted(), store.finder.narrowing, include_short=False)
        answer = store.search(query, size=0, track_total_hits=False, aggs=aggregations)
        require_whole(answer, store.shown)
        return {name: int(answer["aggregations"].get(name, {"doc_count": 0})["doc_count"]) for name in missing}

    # Holders

    def holders(
        self, scheme: str, sketches: Sequence[Sketch], include_short: bool, limit: int | None
    ) -> Iterator[Record]:
        """See Store.holders."""
        store = self._ready([scheme])
        wanted = {each.payload: each for each in sketches if each.payload}
        if not wanted or limit == 0:
            return
        if scheme == SIMHASH_DOC:
            yield from store.finder.with_value([int.from_bytes(each, "big") for each in wanted], include_short, limit)
            return
        refs: list[Ref] = []
        few: list[Record] = []
        most = max(1, _CLAUSES // max(len(each.keys) for each in wanted.values()))
        parts = list(chunks(wanted.values(), most))
        for some in parts:
            query = both(self._with_all_keys(scheme, some), store.finder.narrowing, include_short=include_short)
            for found in self._answered(store.search(**self._body(query, [scheme])), query, [scheme], {}):
                rows = found.payloads[scheme]
                places = [place for place in range(len(found.refs)) if rows.bytes_of(place) in wanted]
                refs += [found.refs[place] for place in places]
                if len(parts) == 1 and found.records is not None:
                    few = [found.records[place] for place in places]
        if few:
            yield from sorted(few, key=lambda record: ref_order(record.ref))[:limit]
            return
        chosen = sorted(refs, key=ref_order) if limit is None else heapq.nsmallest(limit, refs, key=ref_order)
        yield from store.finder.chosen(chosen)

    def _with_all_keys(self, scheme: str, sketches: Iterable[Sketch]) -> dict[str, Any]:
        """Documents that have all keys of one of these sketches."""
        layout = scheme_named(self._store.info.schemes, scheme, self._store.shown).layout
        alternatives = []
        for each in sketches:
            terms = layout.terms(each.keys)
            clauses = [{"term": {f"{ROOT}.{scheme}.{field}": term}} for field, some in terms.items() for term in some]
            alternatives.append({"bool": {"filter": clauses}})
        return {"bool": {"should": alternatives, "minimum_should_match": 1}}
