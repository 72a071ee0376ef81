"""Find documents by the keys of sketches."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from indexer.engine.client.base import NDJSON, encoded
from indexer.engine.client.errors import AnswerError, require_whole
from indexer.engine.index.bodies import ROOT, TOKENS, Bodies, Hit, both, either, own_part, source_of
from indexer.engine.index.keys_beside import Holders
from indexer.engine.index.sketches import KEYS, unpacked_payload
from indexer.engine.store.context import PAGE, EnginePart
from indexer.errors import UsageError
from indexer.model import SIMHASH_DOC
from indexer.model.chunking import chunks
from indexer.model.ragged import Ragged
from indexer.stores.sketches import BOUND, COUNTED, Check, Found, LazySequence, Probe, RareKeys, require_schemes

# This many records are read by the first answer; where there are more, a snapshot is opened, and names alone are read.
FEW = 200
# Payloads, and keys even more, are larger than values.
_PAYLOADS_PAGE = 5000
_KEYS_PAGE = 2000
# A book of a million words has 440,000 bytes of keys.
_LONG_PAGE = 500
_QUESTIONS = 50
# The most documents that one search for so many questions may find.
_TOGETHER = 2000
# So long a count of what lacks a scheme is not asked for again, which would take a third of a lookup's time.
_COUNTED_SECONDS = 10.0
# The engines' own limit for the terms of one clause.
_TERMS = 65_536
# Of a question's keys so many are counted together first, and so many searches count in one request.
_KEYS_TOGETHER, _COUNTS = 16, 500


@dataclass(frozen=True, slots=True)
class _ProbeSearch:
    """The search for some probes: its query, the schemes of its payloads, and its filter.

    It is not `whole` if a probe finds only some of very many documents with keys beside.
    """

    probes: Sequence[Probe]
    schemes: tuple[str, ...]
    query: dict[str, Any]
    narrowing: Sequence[Mapping[str, Any] | None]
    include_short: bool
    whole: bool = True

    @property
    def common(self) -> int:
        return min((probe.common for probe in self.probes if probe.common), default=0)


class ProbePart(EnginePart):
    def probe(
        self,
        probes: Sequence[Probe],
        schemes: Sequence[str] = (),
        *,
        check: Check | None = None,
        include_short: bool = False,
    ) -> Iterator[Found]:
        names = tuple(dict.fromkeys(schemes))
        concerned = [*names, *(one.scheme for one in probes)]
        try:
            [found] = self._apart([probes], names, concerned, include_short, check)
        except AnswerError as error:
            if check is not None and ("painless" in error.reason or "script" in error.reason):
                raise UsageError(
                    f"{self.shown}: this {self.client.product} can't verify candidates, because it does "
                    f"not run Painless scripts ({error.reason}); leave out --verify-in-engine, the answer is the same"
                ) from error
            raise
        yield from found

    def probe_many(
        self, questions: Sequence[Sequence[Probe]], schemes: Sequence[str] = (), *, include_short: bool = False
    ) -> Iterator[Iterable[Found]]:
        too_many = False
        for batch in chunks(questions, _QUESTIONS):
            names = tuple(dict.fromkeys(schemes))
            concerned = [*names, *(probe.scheme for probes in batch for probe in probes)]
            self._ready(concerned)
            together = None if too_many else self._together(batch, names, concerned, include_short)
            if together is not None:
                yield from ([found] for found in together)
                continue
            # Documents that share a key with very many cost less when each question is asked for its own.
            too_many = True
            yield from self._apart(batch, names, concerned, include_short)

    def _together(
        self, questions: Sequence[Sequence[Probe]], names: Sequence[str], concerned: Sequence[str], include_short: bool
    ) -> list[Found] | None:
        one = ProbeBatch(self.bodies, questions)
        if len(questions) < 2 or any(len(terms) > _TERMS for terms in one.terms.values()):
            return None
        bodies = []
        if one.terms:
            beside = self._beside(one.query(self.bodies.holders(concerned)), all_of_them=False)
            if not beside.whole:
                return None
            clauses = either([*one.query(), *beside.clauses()])
            query = both(clauses, self.narrowing, include_short=include_short)
            body = {"query": query, **self.bodies.record_fields(names)}
            size = {"size": _TOGETHER, "track_total_hits": _TOGETHER + 1}
            bodies = [{**body, **one.asking(names), **size}]
        answers, lacking = self._search(bodies, concerned)
        hits: list[list[Hit]] = [[] for _ in questions]
        if answers:
            require_whole(answers[0], self.shown)
            common = [probe.common for probes in questions for probe in probes if probe.common]
            if answers[0]["hits"]["total"]["value"] > min([_TOGETHER, *common]):
                return None
            for hit in self._own(answers[0]["hits"]["hits"], self.bodies.schemes):
                satisfied = one.answered(hit)
                if satisfied is None:
                    return None
                for number in satisfied:
                    hits[number].append(hit)
        return [
            self._found(found, names, {name: lacking[name] for name in (*names, *(probe.scheme for probe in probes))})
            for found, probes in zip(hits, questions, strict=True)
        ]

    def _apart(
        self,
        questions: Sequence[Sequence[Probe]],
        schemes: Sequence[str],
        concerned: Sequence[str],
        include_short: bool,
        check: Check | None = None,
    ) -> Iterator[Iterable[Found]]:
        asked = [self._asked(probes, schemes, include_short, check) for probes in questions]
        bodies = [self._body(one) for one in asked if one]
        results, lacking = self._search(bodies, concerned)
        answers = iter(results)
        for probes, one in zip(questions, asked, strict=True):
            lacking_here = {name: lacking[name] for name in (*schemes, *(probe.scheme for probe in probes))}
            if one is None:
                yield [self._found([], schemes, lacking_here)]
            else:
                yield self._answered(next(answers), one, lacking_here)

    def _search(
        self, bodies: Sequence[Mapping[str, Any]], schemes: Sequence[str]
    ) -> tuple[Sequence[Any], Mapping[str, int]]:
        counted = self._uncounted(schemes)
        asked = [*bodies, *map(self._counting, counted)]
        if len(asked) < 2:
            answers = [self.client.request("POST", f"/{self.path}/_search", body) for body in asked]
        else:
            answers = self._search_many(asked)
        for name, answer in zip(counted, answers[len(bodies) :], strict=True):
            require_whole(answer, self.shown)
            self._counts[name] = (int(answer["hits"]["total"]["value"]), time.monotonic() + _COUNTED_SECONDS)
        return answers, {name: self._counts[name][0] if name in self._counts else 0 for name in schemes}

    def _search_many(self, bodies: Sequence[Mapping[str, Any]], path: str = "") -> list[Any]:
        # What lies beside may go at any time.
        gone = b"true" if path else b"false"
        lines = b"".join(b'{"ignore_unavailable":%s}\n%s\n' % (gone, encoded(body)) for body in bodies)
        answers: list[Any] = self.client.request("POST", f"/{path or self.path}/_msearch", lines, content_type=NDJSON)[
            "responses"
        ]
        for answer in answers:
            if "error" in answer:
                raise AnswerError.from_body(int(answer.get("status", 0)), answer)
        return answers

    def _asked(
        self, probes: Sequence[Probe], schemes: Sequence[str], include_short: bool, check: Check | None
    ) -> _ProbeSearch | None:
        self._ready((*schemes, *(probe.scheme for probe in probes)))
        near = self.bodies.near(int.from_bytes(check.payload, "big"), check.distance) if check else None
        narrowing = (self.narrowing, near)
        all_of_them = not all(probe.common for probe in probes)
        query, whole = self._query(probes, narrowing, include_short=include_short, all_of_them=all_of_them)
        if query is None:
            return None
        return _ProbeSearch(probes, tuple(dict.fromkeys(schemes)), query, narrowing, include_short, whole)

    def _query(
        self,
        probes: Sequence[Probe],
        narrowing: Sequence[Mapping[str, Any] | None],
        *,
        include_short: bool,
        all_of_them: bool,
    ) -> tuple[dict[str, Any] | None, bool]:
        having = [(probe.scheme, clause) for probe in probes if (clause := self._having(probe))]
        clauses, holders = [clause for _, clause in having], self.bodies.holders(scheme for scheme, _ in having)
        beside = self._beside([clause for scheme, clause in having if scheme in holders], all_of_them=all_of_them)
        clauses += beside.clauses()
        return (both(either(clauses), *narrowing, include_short=include_short) if clauses else None), beside.whole

    def _beside(self, clauses: Sequence[Mapping[str, Any]], *, all_of_them: bool) -> Holders:
        return self.beside.holding(clauses, all_of_them=all_of_them)

    def _ready(self, schemes: Iterable[str]) -> None:
        require_schemes(self.info.schemes, schemes, self.shown)
        self.settle()

    def _having(self, probe: Probe) -> dict[str, Any] | None:
        tables = self._tables(probe.scheme, probe.keys)
        if len(tables) < probe.agreeing:
            return None
        return {"bool": {"should": list(map(_one_of, tables)), "minimum_should_match": probe.agreeing}}

    def _tables(self, scheme: str, keys: Iterable[int]) -> list[dict[str, list[str]]]:
        asked = self.bodies.keyed[scheme].asked(keys)
        return [{f"{ROOT}.{scheme}.{field}": terms} for field, terms in asked]

    def _body(self, asked: _ProbeSearch) -> dict[str, Any]:
        size = {"size": FEW, "track_total_hits": max(FEW, asked.common) + 1}
        return {"query": asked.query, **size, **self.bodies.record_fields(asked.schemes)}

    def _answered(self, answer: Mapping[str, Any], asked: _ProbeSearch, lacking: Mapping[str, int]) -> Iterator[Found]:
        require_whole(answer, self.shown)
        total = answer["hits"]["total"]["value"]
        # A key that very many hold finds as many, so that only then its documents have to be counted.
        many = 0 < asked.common < total or not asked.whole
        rare = RareKeys.of(asked.probes, self._held) if many else RareKeys(asked.probes, (), 0)
        if asked.whole and not rare.set_aside:
            yield from self._read(answer, asked, lacking)
            return
        query, _ = self._query(rare.whole, asked.narrowing, include_short=asked.include_short, all_of_them=True)
        if query and not rare.bounded:
            fewer = replace(asked, probes=rare.whole, query=query)
            answer = self.client.search(self.path, self._body(fewer))
            require_whole(answer, self.shown)
            yield from self._read(answer, fewer, lacking, rare.set_aside)
            return
        bounded, _ = self._query(rare.bounded, asked.narrowing, include_short=asked.include_short, all_of_them=False)
        yield from self._paged(asked, query, bounded, lacking, rare.set_aside)

    def _read(
        self, answer: Mapping[str, Any], asked: _ProbeSearch, lacking: Mapping[str, int], set_aside: int = 0
    ) -> Iterator[Found]:
        if answer["hits"]["total"]["value"] <= FEW:
            yield self._found(self._own(answer["hits"]["hits"], asked.schemes), asked.schemes, lacking, set_aside)
        else:
            yield from self._paged(asked, asked.query, None, lacking, set_aside)

    def _paged(
        self,
        asked: _ProbeSearch,
        whole: dict[str, Any] | None,
        bounded: dict[str, Any] | None,
        lacking: Mapping[str, int],
        set_aside: int,
    ) -> Iterator[Found]:
        bodies, schemes = self.bodies, asked.schemes
        fields = {"_source": bodies.in_source(schemes) or False, "docvalue_fields": bodies.in_doc_values(schemes)}
        others = bounded and {"bool": {"filter": [bounded], "must_not": [whole] if whole else []}}
        first: Mapping[str, int] | None = lacking
        for query, most in ((whole, None), (others, BOUND)):
            pages = self.pages({"query": query, **fields}, self._page(schemes)) if query else iter(())
            for page in first_of(pages, most):
                hits = self._placed(page, schemes)
                yield Found(
                    list(map(self.ref, hits)),
                    self._payloads(hits, schemes),
                    lacking=first,
                    set_aside=set_aside if first is not None else 0,
                )
                first = None
        if first is not None:
            yield self._found([], schemes, first, set_aside)

    def _held(self, probe: Probe, most: int) -> list[int]:
        keys, counts = list(probe.keys), dict[int, int]()
        if len(keys) > COUNTED:
            for some, count in self._counted(probe.scheme, list(chunks(keys, _KEYS_TOGETHER)), most):
                counts |= dict.fromkeys(some, count) if count < most else {}
        for [key], count in self._counted(probe.scheme, [[key] for key in keys if key not in counts], most):
            counts[key] = count
        return [counts[key] for key in keys]

    def _counted(self, scheme: str, groups: Sequence[list[int]], most: int) -> Iterator[tuple[list[int], int]]:
        for some in chunks(groups, _COUNTS):
            queries = [either(list(map(_one_of, self._tables(scheme, group)))) for group in some]
            asked = [{"query": query, "size": 0, "track_total_hits": most} for query in queries]
            beside = self.beside.paths() if self.bodies.holders([scheme]) else ()
            answers = [self._search_many(asked, path) for path in ("", *beside)]
            for group, *counted in zip(some, *answers, strict=True):
                for answer in counted:
                    require_whole(answer, self.shown)
                yield group, sum(int(answer["hits"]["total"]["value"]) for answer in counted)

    def _own(self, hits: Sequence[Hit], schemes: Iterable[str]) -> Sequence[Hit]:
        own = [hit for hit in hits if TOKENS in hit["fields"] and own_part(hit.get("_source"))]
        return self._placed(own, schemes)

    def _placed(self, hits: Sequence[Hit], schemes: Iterable[str]) -> Sequence[Hit]:
        return self.bodies.placed(self.beside.fill(hits), schemes)

    def _found(
        self, hits: Sequence[Hit], schemes: Sequence[str], lacking: Mapping[str, int], set_aside: int = 0
    ) -> Found:
        refs = list(map(self.ref, hits))
        for hit in hits:
            for name in self.bodies.schemes:
                # A record comes without sketches.
                hit["_source"][ROOT].pop(name, None)
        records = LazySequence(hits, lambda hit: next(self.records([hit])))
        return Found(refs, self._payloads(hits, schemes), records=records, lacking=lacking, set_aside=set_aside)

    def _page(self, schemes: Iterable[str], *, keys: bool = False) -> int:
        if any(name != SIMHASH_DOC and self.bodies.key_fields[name].holder for name in schemes):
            return _LONG_PAGE
        return _KEYS_PAGE if keys else PAGE if set(schemes) <= {SIMHASH_DOC} else _PAYLOADS_PAGE

    def _payloads(self, hits: Sequence[Hit], schemes: Iterable[str]) -> dict[str, Ragged]:
        return {name: self._rows(hits, name) for name in schemes}

    def _rows(self, hits: Sequence[Hit], scheme: str) -> Ragged:
        field = self.bodies.payload(scheme)
        values_of_hits = [hit.get("fields", {}).get(field) for hit in hits]
        if scheme != SIMHASH_DOC:
            return Ragged.of_bytes([_payload(value[0]) if value else b"" for value in values_of_hits])
        values = np.array([value[0] for value in values_of_hits if value], dtype=np.int64).astype(">i8").view(np.uint8)
        if values.size == 8 * len(values_of_hits):
            return Ragged.of_matrix(values.reshape(-1, 8))
        sizes = np.array([8 if value else 0 for value in values_of_hits], dtype=np.int64)
        return Ragged(values, np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes))))

    # Scanning and counting

    def scan_sketches(
        self, schemes: Sequence[str], *, keys: Sequence[str] = (), include_short: bool = False
    ) -> Iterator[Found]:
        self._ready((*schemes, *keys))
        names = tuple(dict.fromkeys(schemes))
        bodies = self.bodies
        query = both(either([*map(bodies.sketched, names)]), self.narrowing, include_short=include_short)
        read = [f"{ROOT}.{name}.{field}" for name in keys for field in ("t*", KEYS)]
        read += bodies.in_source(dict.fromkeys((*names, *bodies.holders(keys))))
        body = {"query": query, "docvalue_fields": bodies.in_doc_values(names), "_source": read or False}
        for page in self.pages(body, self._page((*names, *keys), keys=bool(keys))) if names else ():
            hits = [
                hit for hit in self._placed(page, names) if any(bodies.payload(name) in hit["fields"] for name in names)
            ]
            packed = {name: self._keys(hits, name) for name in keys}
            yield Found(list(map(self.ref, hits)), self._payloads(hits, names), packed)

    def _keys(self, hits: Sequence[Hit], scheme: str) -> Ragged:
        own = ((hit["_source"].get(ROOT) or {}).get(scheme) or {} for hit in hits)
        rows = [self.bodies.keyed[scheme].read(fields) for fields in own]
        return Ragged.joined([Ragged.of_matrix(row.reshape(1, -1)) for row in rows], np.int64)

    def lacking(self, schemes: Sequence[str]) -> Mapping[str, int]:
        self._ready(schemes)
        self._counts = {}
        return self._search([], schemes)[1]

    def _uncounted(self, schemes: Iterable[str]) -> list[str]:
        state = (self.changes, self.narrowing)
        now = time.monotonic()
        current = self._counts if state == self._counted_at else {}
        self._counts = {name: (count, until) for name, (count, until) in current.items() if until > now}
        self._counted_at = state
        return [scheme for scheme in dict.fromkeys(schemes) if scheme != SIMHASH_DOC and scheme not in self._counts]

    def _counting(self, scheme: str) -> dict[str, Any]:
        query = both(self.bodies.fingerprinted(), self.narrowing, include_short=False)
        query["bool"]["must_not"].append(self.bodies.has(scheme))
        return {"query": query, "size": 0, "track_total_hits": True}


def first_of(pages: Iterable[list[Hit]], most: int | None) -> Iterator[list[Hit]]:
    left = most
    for page in pages:
        yield page if left is None else page[:left]
        left = None if left is None else left - len(page)
        if left is not None and left <= 0:
            return


def _payload(value: str | bytes) -> bytes:
    return unpacked_payload(value) if isinstance(value, str) else value


def _one_of(terms: Mapping[str, list[str]]) -> dict[str, Any]:
    [(field, every)] = terms.items()
    return either([{"terms": {field: some}} for some in chunks(every, _TERMS)])


class ProbeBatch:
    """Some questions, each of several probes; `terms` are the terms of each field to search for.

    The search finds every document with one of the keys; `answered` then gives it to the satisfied questions.
    """

    def __init__(self, bodies: Bodies, questions: Sequence[Sequence[Probe]]) -> None:
        self._bodies = bodies
        self._questions = questions
        self.terms: dict[str, set[str]] = {}
        self._holders: dict[tuple[str, int], list[int]] = {}
        for number, probes in enumerate(questions):
            for scheme in {probe.scheme for probe in probes}:
                keys = {key for probe in probes if probe.scheme == scheme for key in probe.keys}
                for key in keys:
                    self._holders.setdefault((scheme, key), []).append(number)
        self._schemes = sorted({scheme for scheme, _ in self._holders})
        for scheme in self._schemes:
            every = [key for name, key in self._holders if name == scheme]
            for field, values in bodies.keyed[scheme].asked(every):
                self.terms.setdefault(f"{ROOT}.{scheme}.{field}", set()).update(values)

    def query(self, schemes: Collection[str] | None = None) -> list[dict[str, Any]]:
        return [
            {"terms": {field: sorted(terms)}}
            for field, terms in self.terms.items()
            if schemes is None or field.split(".")[1] in schemes
        ]

    def asking(self, payloads: Sequence[str]) -> dict[str, Any]:
        bodies = self._bodies
        concerned = list(dict.fromkeys([*self._schemes, *payloads]))
        fields = bodies.record_fields(concerned)
        # Keys are read from `_source`, where payloads may lie beside them.
        left_out = {*fields["_source"].get("excludes", ()), *bodies.in_doc_values(concerned)}
        left_out -= {f"{ROOT}.{name}" for name in self._schemes}
        return fields | {"_source": source_of([ROOT], sorted(left_out))}

    def answered(self, hit: Mapping[str, Any]) -> list[int] | None:
        source, shared = hit["_source"][ROOT], dict[tuple[int, str], set[int]]()
        for scheme in self._schemes:
            keys: list[int] = self._bodies.keyed[scheme].read(source.get(scheme) or {}).tolist()
            if not keys and self._bodies.payload(scheme) in hit["fields"]:
                return None
            for key in keys:
                for number in self._holders.get((scheme, key), ()):
                    shared.setdefault((number, scheme), set()).add(key)
        numbers = dict.fromkeys(number for number, _ in shared)
        return [number for number in numbers if self._satisfies(number, shared)]

    def _satisfies(self, number: int, shared: Mapping[tuple[int, str], set[int]]) -> bool:
        for probe in self._questions[number]:
            layout = self._bodies.keyed[probe.scheme].layout
            keys = shared.get((number, probe.scheme), set()).intersection(probe.keys)
            if len({layout.unpack(key)[0] for key in keys}) >= probe.agreeing:
                return True
        return False
