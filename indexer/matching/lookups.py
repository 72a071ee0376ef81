"""Look up the stored documents near a question."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.errors import UsageError
from indexer.matching.measures.reading import Reader, reader_of
from indexer.matching.question import Question, are_identical, with_frame
from indexer.matching.rule import Finder, MatchRule
from indexer.model import CLOSE_DISTANCE, LOOSE_DISTANCE, Record, Ref, Sketch
from indexer.model.ragged import Ragged
from indexer.model.refs import ref_order
from indexer.relations.relation import Relation
from indexer.schemes.base import SLACK, Plan, Similarities
from indexer.schemes.simhash import SimhashDoc
from indexer.stores.base import Store
from indexer.stores.schemes import scheme_of
from indexer.stores.sketches import Check, Found, Probe
from indexer.text.excerpts import Excerpt

# A part shares less than all with its whole: the windows at its ends reach beyond it there.
WHOLE = 0.8


@dataclass(frozen=True, slots=True)
class NearDocument:
    """A near stored document; `neardup.library.records.Match` explains most fields.

    `bits` is None if unknown; `rule` formats it. `near` is false if only `at_least` asked for it. `shares`, of a rule
    of parts, are the share of the question in the document, and the other way round. On request
    (`neardup.matching.excerpts`), `passages` is the number of passages, and `excerpts` the longest of them. `relation`
    is that of the question's text to the document's (`neardup.matching.relating`), or the reason for none.
    """

    record: Record
    similarity: float
    bits: int | None
    rule: MatchRule
    near: bool = True
    identical: bool = False
    shares: tuple[float, float] | None = None
    longest: int | None = None
    passages: int | None = None
    excerpts: tuple[Excerpt, ...] = ()
    relation: Relation | str | None = None

    @property
    def label(self) -> str:
        """The word for it: "identical"; "close" and "loose" by a simhash, "near" by another measure, else empty.

        By a rule of parts "contains" for a holder of the question, "contained in" for a part of it, "shares" for less.
        """
        if self.identical:
            return "identical"
        if self.shares and self.near:
            return part_label(*self.shares)
        if self.rule.unit == "share":
            return "near" if self.near else ""
        return label_of(self.similarity)

    @property
    def differing(self) -> int | None:
        """The differing bits: of the rule's measure if it counts bits, else of simhash-doc."""
        return self.rule.bits(self.similarity) if self.rule.unit == "bits" else self.bits


def label_of(similarity: float) -> str:
    """The name of a simhash's similarity: "close" within 1 of 64 bits, "loose" within 6, else empty."""
    distance = 64 * (1 - similarity) - SLACK
    return "close" if distance <= CLOSE_DISTANCE else "loose" if distance <= LOOSE_DISTANCE else ""


def part_label(of_question: float, of_document: float) -> str:
    """The word for two documents by their shares of each other: "near" for nearly all of both."""
    whole = of_question >= WHOLE, of_document >= WHOLE
    return {(True, True): "near", (True, False): "contains", (False, True): "contained in"}.get(whole, "shares")


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a lookup: `matches`, the most similar first, then by ref; `total` in all, even if fewer are listed.

    `keys` were asked for, `candidates` documents had enough of them, and at least `lacking` documents of the store have
    no sketch for the rule. `set_aside` counts keys too common to ask for, or only for the first documents with them
    (see `Probe`). `outdated` documents changed after the fingerprint and are left out. `unread` names documents
    unreadable for verification, with the reason.
    """

    rule: MatchRule
    matches: Sequence[NearDocument] = ()
    total: int = 0
    keys: int = 0
    candidates: int = 0
    lacking: int = 0
    set_aside: int = 0
    outdated: int = 0
    unread: dict[Ref, str] = field(default_factory=dict)


@lru_cache(maxsize=64)
def plans(rule: MatchRule) -> tuple[tuple[Finder, Plan], ...]:
    """The finders of a rule, each with its plan. Raises UsageError if one can't serve its threshold."""
    return tuple((finder, finder.scheme.plan(finder.similarity)) for finder in rule.finders)


def lookup(
    store: Store,
    rule: MatchRule,
    question: Question,
    *,
    limit: int | None = 10,
    exclude: Ref | None = None,
    include_short: bool = False,
    at_least: float | None = None,
    inside: bool = False,
) -> Answer:
    """The stored documents the rule calls near the question.

    `limit` is the number of matches listed, None for all; memory grows with it, not with the candidates. Short
    documents stay out unless asked for, except those with the text of a short question; `exclude` leaves one document
    out. `at_least` asks for this similarity by the rule's measure: below the rule's own, every sketch of the store is
    compared (see `scan`), so 0 gives the nearest documents, however distant. `inside` lets the engine leave out distant
    documents, for a rule of simhash-doc alone; the answer is the same. Raises UsageError if a plan can't serve a
    threshold, or the question lacks data for the rule.
    """
    require_limit(limit)
    [question] = with_frame(store, [question])
    asking = Asking(store, rule, question, exclude, at_least)
    if asking.scans:
        scan(store, rule, [asking], limit, include_short=include_short)
        return asking.answer((), limit, include_short=include_short)
    check = check_of(rule, question) if inside and asking.probes else None
    found = asking.found(include_short=include_short, check=check)
    return asking.answer(found, limit, include_short=include_short)


def scan(
    store: Store, rule: MatchRule, askings: Sequence[Asking], limit: int | None, *, include_short: bool = False
) -> None:
    """Compare every sketch of the store with each of some questions, in one reading of the store.

    The result equals a comparison with every stored document by the rule's measure, without keys. Memory: a block of
    sketches, and the matches listed.
    """
    lacking = rule.lacking(store.lacking(list(rule.schemes)))
    excluded = {asking.exclude for asking in askings if asking.exclude}
    for asking in askings:
        asking.lacking = lacking
    for batch in store.scan_sketches([rule.measure.name], include_short=include_short):
        # A store makes identities as they are asked for, which takes longer than all else.
        own = {ref: place for place, ref in enumerate(batch.refs) if ref in excluded} if excluded else {}
        for asking in askings:
            asking.take(batch, limit, own.get(asking.exclude) if asking.exclude else None)


def nearest_part(store: Store, question: Question, *, exclude: Ref | None = None) -> NearDocument | None:
    """The stored document with most of the question in it, or most in it, by a scheme of parts of the store.

    None without a scheme of parts, or if nothing reaches half of its default similarity, as a text that quotes another.
    """
    for known in store.info.schemes:
        scheme = scheme_of(store, known.name)
        has_sketch = question.text is not None or (question.record and question.record.sketches.get(known.name))
        if scheme.of_parts and has_sketch:
            for similarity in (scheme.default_similarity, scheme.default_similarity / 2):
                rule = MatchRule((Finder(scheme, similarity),))
                for match in lookup(store, rule, question, limit=1, exclude=exclude).matches:
                    return match
    return None


def scans(rule: MatchRule, at_least: float) -> bool:
    """True if so similar documents can only be found by comparing every document: keys find near ones.

    Texts are never read for it: a rule verified by them goes by its keys.
    """
    return isinstance(rule.measure, Finder) and at_least < rule.measure.similarity


def require_limit(limit: int | None) -> None:
    """Raise UsageError for an impossible number of matches."""
    if limit is not None and limit < 0:
        raise UsageError(f"limit {limit}: the number of matches can't be negative")


class Entry(NamedTuple):
    """A document of an answer, with its record if the store sent it."""

    similarity: float
    ref: Ref
    record: Record | None
    near: bool
    shares: tuple[float, float] | None
    longest: int | None


def _by_ref(record: Record) -> tuple[str, str, str]:
    return ref_order(record.ref)


def _nearest(entry: Entry) -> tuple[float, tuple[str, str, str]]:
    return -entry.similarity, ref_order(entry.ref)


class Asking:
    """One question by a rule: `probes` go to a store, none if the question matches nothing.

    If it `scans`, it has no probes, and is compared with every document of the store.
    """

    def __init__(
        self,
        store: Store,
        rule: MatchRule,
        question: Question,
        exclude: Ref | None = None,
        at_least: float | None = None,
    ) -> None:
        rule.require_served(store)
        self.store = store
        self.rule, self.question, self.exclude, self.at_least = rule, question, exclude, at_least
        self.total = self.candidates = self.lacking = self.set_aside = 0
        self.scans = False
        self._best: list[Entry] = []
        self.reader: Reader | None = reader_of(store, rule)
        self._read = self.reader.asked(question) if self.reader else None
        self.simhash = question.simhash
        served = plans(rule)
        self.probes: list[Probe] = []
        self.sketches: dict[str, Sketch] = {}
        for name, scheme in rule.schemes.items():
            sketch = question.sketch(scheme)
            if sketch is not None and sketch.payload:
                self.sketches[name] = sketch
        if isinstance(rule.verifier, Finder) and rule.verifier.name not in self.sketches:
            return
        if at_least is not None and scans(rule, at_least):
            self.scans = rule.measure.name in self.sketches
            return
        for finder, plan in served:
            if finder.name in self.sketches:
                keys = finder.scheme.probes(self.sketches[finder.name], finder.similarity)
                self.probes.append(Probe(finder.name, keys, plan.agreeing, finder.scheme.common))

    def found(self, *, include_short: bool = False, check: Check | None = None) -> Iterable[Found]:
        """The documents found by the store, with everything to compare."""
        if not self.probes:
            return ()
        return self.store.probe(self.probes, list(self.rule.schemes), check=check, include_short=include_short)

    def answer(self, batches: Iterable[Found], limit: int | None, *, include_short: bool = False) -> Answer:
        """The near documents among those found by the store, the nearest `limit` of them listed (None: all).

        Without short ones, the store is still asked for those with the text of the question.
        """
        for batch in batches:
            own = [place for place, ref in enumerate(batch.refs) if ref == self.exclude] if self.exclude else []
            self.take(batch, limit, *own)
        if self.reader:
            self.reader.require_read(self.exclude)
        best = sorted(self._best, key=_nearest)
        missing = [entry.ref for entry in best if entry.record is None]
        read = dict(zip(missing, self.store.get(missing, sketches=self.scans), strict=True)) if missing else {}
        same = self.question.digests if best else ("", "")
        matches = [
            NearDocument(
                record,
                entry.similarity,
                self.bits(record),
                self.rule,
                entry.near and (not self.scans or self._finds(record)),
                bool(are_identical(same, (record.text_digest, record.read_digest))),
                entry.shares,
                entry.longest,
            )
            for entry in best
            if (record := entry.record or read.get(entry.ref)) is not None
        ]
        if not include_short and self.question.is_short(self.rule.least_words):
            matches = [*self._equal(limit), *matches][:limit]
        keys = sum(len(probe.keys) for probe in self.probes)
        unread = self.reader.unread if self.reader else {}
        return Answer(
            self.rule, matches, self.total, keys, self.candidates, self.lacking, self.set_aside, unread=unread
        )  # fmt: skip

    def _equal(self, limit: int | None) -> list[NearDocument]:
        same = self.question.digests

        def equal() -> Iterator[Record]:
            asking = Asking(self.store, MatchRule((Finder(SimhashDoc(), 1.0),)), self.question)
            for batch in asking.found(include_short=True):
                records = batch.records or self.store.get(list(batch.refs), sketches=False)
                for record in records:
                    digests = (record.text_digest, record.read_digest) if record and record.short else ("", "")
                    if record and record.ref != self.exclude and are_identical(same, digests):
                        self.total += 1
                        yield record

        first = sorted(equal(), key=_by_ref) if limit is None else heapq.nsmallest(limit, equal(), key=_by_ref)
        shares = (1.0, 1.0) if self.rule.of_parts else None
        whole = self.store.get([record.ref for record in first])
        return [
            NearDocument(each, 1.0, self.bits(each), self.rule, identical=True, shares=shares) for each in whole if each
        ]

    def take(self, batch: Found, limit: int | None, own: int | None = None) -> None:
        """Judge some documents, and keep the nearest `limit` of all so far; `own` is the place of the one left out."""
        self.candidates += len(batch.refs)
        self.lacking = max(self.lacking, self.rule.lacking(batch.lacking or {}))
        self.set_aside += batch.set_aside
        values, near, shares = self._judged(batch)
        if own is not None:
            values[own] = -1.0
        places = (values >= 0).nonzero()[0]
        self.total += places.size
        if limit == 0:
            places = places[:0]
        elif limit is not None and len(self._best) + places.size > limit:
            # Of a million that are asked for, few are made entries.
            least = self._best[-1].similarity if limit <= len(self._best) else 0.0
            if limit < places.size:
                least = max(least, float(np.partition(values[places], -limit)[-limit]))
            places = places[values[places] >= least]
        for place in places.tolist():
            ref = batch.refs[place]
            record = batch.records[place] if batch.records is not None else None
            both = None if shares is None else (float(shares[place, 0]), float(shares[place, 1]))
            parts = self.reader.parts.get(ref) if self.reader else None
            longest = None
            if parts is not None:
                both, longest = (parts.of_question, parts.of_document), parts.longest
            self._best.append(Entry(float(values[place]), ref, record, bool(near[place]), both, longest))
        if limit is not None and places.size and len(self._best) >= limit:
            self._best = heapq.nsmallest(limit, self._best, key=_nearest)

    def near(self, batch: Found) -> Similarities:
        """The similarities of near documents by the measure, below 0 for the rest."""
        return self._judged(batch)[0]

    def _judged(self, batch: Found) -> tuple[Similarities, npt.NDArray[np.bool_], Similarities | None]:
        measure, least = self.rule.measure, self.at_least
        read = [name for name in self.sketches if name in batch.payloads]
        by_scheme = {name: self._similarities(name, batch.payloads[name]) for name in read}
        if least is None and self.rule.verifier is None and not (self.rule.of_parts or self.scans):
            # One threshold of one scheme, as in most lookups.
            values = by_scheme[measure.name]
            near = values >= measure.similarity - SLACK
            return np.where(near, values, -1.0), near, None
        # Of what is scanned for, the finders are asked when it is known which documents are listed.
        near = np.ones(len(batch.refs), dtype=np.bool_) if self.scans else self._reached(by_scheme, None)
        passed = near if least is None or self.reader is None else self._reached(by_scheme, least)
        shares = None
        if self.reader is not None:
            values = np.full(len(batch.refs), -1.0)
            places = np.flatnonzero(passed)
            values[places] = self.reader.to_asked(self._read, [batch.refs[place] for place in places.tolist()])
        else:
            values = by_scheme[measure.name]
            shares = self._shares(measure.name, batch.payloads[measure.name]) if self.rule.of_parts else None
        wanted = max((measure.similarity if least is None else least) - SLACK, 0.0)
        judged = np.where(passed & (values >= wanted), values, -1.0)
        return judged, judged >= 0 if least is None else near & (judged >= measure.similarity - SLACK), shares

    def _finds(self, record: Record) -> bool:
        rows = {name: Ragged.of_bytes([record.sketches[name].payload]) for name in record.sketches}
        there = {name: self._similarities(name, rows[name]) for name in self.sketches if name in rows}
        return bool(np.any(self._reached(there, None)))

    def _reached(self, by_scheme: dict[str, Similarities], at_least: float | None) -> npt.NDArray[np.bool_]:
        reached = [
            by_scheme[finder.name] >= (finder.similarity if at_least is None else at_least) - SLACK
            for finder in self.rule.finders
            if finder.name in by_scheme
        ]
        return reached[0] if len(reached) == 1 else np.logical_or.reduce(reached)

    def _similarities(self, name: str, rows: Ragged) -> Similarities:
        scheme, payload = self.rule.schemes[name], self.sketches[name].payload
        if name in self.rule.of_query:
            return np.where(rows.sizes > 0, self._shares(name, rows)[:, 0], -1.0)
        if rows.width > 0:
            return scheme.compare_one(payload, rows)
        there = np.flatnonzero(rows.sizes)
        similarities = np.full(len(rows), -1.0)
        if there.size:
            similarities[there] = scheme.compare_one(payload, rows.take(there))
        return similarities

    def _shares(self, name: str, rows: Ragged) -> Similarities:
        there = np.flatnonzero(rows.sizes)
        table = Ragged.joined([Ragged.of_bytes([self.sketches[name].payload]), rows.take(there)])
        shares = np.zeros((len(rows), 2))
        one, others = np.zeros(there.size, dtype=np.int64), np.arange(1, there.size + 1)
        shares[there] = self.rule.schemes[name].shares(table, one, others)
        return shares

    def bits(self, record: Record) -> int | None:
        """The number of differing bits of simhash-doc in a record."""
        if self.simhash is None or (found := record.fingerprint) is None:
            return None
        return self.simhash.distance(found)


def check_of(rule: MatchRule, question: Question) -> Check:
    """The check by which the engine itself verifies its finds."""
    finder = rule.finders[0]
    if len(rule.finders) > 1 or rule.verifier or finder.name != "simhash-doc":
        raise UsageError("the engine itself can verify simhash-doc alone, as in --match simhash-doc@3bits")
    sketch = question.sketch(finder.scheme)
    return Check(sketch.payload if sketch else b"", round(64 * (1 - finder.similarity)))
