"""Carry out files of decisions, and remember them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from indexer.clustering.annotations import cluster_of, repeated_by, similarity_of
from indexer.clustering.memory import require_remembered
from indexer.clustering.removal import RedundantDocument, Removal
from indexer.clustering.verdicts import Reason
from indexer.model import Record, Ref, name_of
from indexer.model.decisions import DecidedDocument, Decision
from indexer.stores.base import Store, Versioned

_UNKNOWN = "no document of that id in the store"
_CHANGED = "changed since the decision"
_CONTRADICTED = "contradicting decisions"
_LAST = "the file keeps no copy"
_ELSEWHERE = "in no cluster with a document that stays"
_LAST_SAYS = "the file names no document of its group to keep; --last-copies drops it all the same"

# Of a chain of documents and decisions so many are named.
_MOST_NAMED = 24

# A document of a decision: what is said of it holds for this text alone.
NamedText = tuple[str, str]
# A document, or the place of a decision.
_Node = NamedText | int


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Decisions that can't all hold: a description, and their places among those examined."""

    sentence: str
    places: frozenset[int]


def contradictions(decisions: Sequence[Decision]) -> list[Contradiction]:
    same, found = _Sameness(decisions), list[Contradiction]()
    for place, decision in enumerate(decisions):
        together = decision.together
        # Of each document that is apart, one that it is not the same as.
        anchors = {same.root(_named(one)): _named(one) for one in together[:1]}
        for one in map(_named, decision.chosen("apart")):
            other = anchors.get(same.root(one)) if together else anchors.setdefault(same.root(one), one)
            if other not in (None, one):
                said = f"{same.chain(other, one)}, but not {other[0]} the same as {one[0]}" if other else ""
                found.append(Contradiction(said, frozenset((*same.new_places(other, one), place))))
    return [*found, *_unlike_choices(decisions)]


def _unlike_choices(decisions: Sequence[Decision]) -> Iterator[Contradiction]:
    chosen: dict[NamedText, tuple[str, int]] = {}
    for place, decision in enumerate(decisions):
        for one in decision.together:
            choice, before = chosen.setdefault(_named(one), (one.choice, place))
            if choice != one.choice:
                yield Contradiction(f"{one.id} is to be kept, and to be dropped", frozenset((before, place)))


class _Sameness:
    def __init__(self, decisions: Sequence[Decision]) -> None:
        self._above: dict[_Node, _Node] = {}
        self._root: dict[_Node, _Node] = {}
        self._depth: dict[_Node, int] = {}
        # The highest node to which all the way has been given already.
        self._given: dict[_Node, _Node] = {}
        members = [list(map(_named, decision.together)) for decision in decisions]
        of: dict[NamedText, list[int]] = {}
        for place, documents in enumerate(members):
            for one in documents:
                of.setdefault(one, []).append(place)
        for first in of:
            if first in self._root:
                continue
            self._root[first], self._depth[first] = first, 0
            waiting = deque[_Node]([first])
            while waiting:
                node = waiting.popleft()
                beside: Sequence[_Node] = members[node] if isinstance(node, int) else of[node]
                for other in beside:
                    if other not in self._root:
                        self._above[other], self._root[other] = node, first
                        self._depth[other] = self._depth[node] + 1
                        waiting.append(other)

    def root(self, name: NamedText) -> _Node:
        return self._root.get(name, name)

    def chain(self, first: NamedText, last: NamedText) -> str:
        left, right = list[_Node]([first]), list[_Node]([last])
        while left[-1] != right[-1] and len(left) + len(right) < _MOST_NAMED:
            lower = left if self._depth[left[-1]] >= self._depth[right[-1]] else right
            lower.append(self._above[lower[-1]])
        ends = [left, right[::-1]] if left[-1] != right[-1] else [left[:-1] + right[::-1]]
        said = ([node[0] for node in nodes if not isinstance(node, int)] for nodes in ends)
        return ", …, ".join(
            ", ".join(f"{a} is the same as {b}" for a, b in pairwise(names)) or names[0] for names in said
        )

    def new_places(self, first: NamedText, last: NamedText) -> set[int]:
        left, right = self._top(first), self._top(last)
        passed = set[_Node]()
        while left != right:
            if self._depth[left] < self._depth[right]:
                left, right = right, left
            passed.add(left)
            self._given[left] = self._above[left]
            left = self._top(left)
        return {node for node in (*passed, left) if isinstance(node, int)}

    def _top(self, node: _Node) -> _Node:
        passed = []
        while node in self._given:
            passed.append(node)
            node = self._given[node]
        for each in passed:
            self._given[each] = node
        return node


def _named(one: DecidedDocument) -> NamedText:
    return one.id, one.digest


@dataclass(frozen=True, slots=True)
class DecidedNow:
    """A document of a decision as the store has it; `reason` is set if the decision does not hold of it."""

    decided: DecidedDocument
    ref: Ref
    stored: Versioned | None = None
    reason: Reason | None = None

    @property
    def record(self) -> Record:
        return self.stored.record if self.stored and self.stored.record else Record(self.ref)


def seen_documents(store: Store, decisions: Sequence[Decision]) -> Iterator[list[DecidedNow]]:
    for decision in decisions:
        named = [
            refs[0] if len(refs) == 1 else None for refs in store.find_each([one.id for one in decision.documents])
        ]
        stored = iter(store.versioned([ref for ref in named if ref]))
        yield [
            _seen(one, ref, next(stored) if ref else None)
            for one, ref in zip(decision.documents, named, strict=True)
        ]  # fmt: skip


def _seen(decided: DecidedDocument, ref: Ref | None, stored: Versioned | None) -> DecidedNow:
    if ref is None or stored is None or stored.record is None:
        return DecidedNow(
            decided, ref or Ref(decided.id), None, Reason(_UNKNOWN, "the store has no document of this id")
        )
    if stored.record.seen_digest != decided.digest:
        digest = "it has changed since" if stored.record.text_digest else "its text has no digest; index it again"
        return DecidedNow(decided, ref, stored, Reason(_CHANGED, digest))
    return DecidedNow(decided, ref, stored)


class DecidedPruning(Removal):
    """The documents a file of decisions drops.

    A document goes only if its text, and that of a kept one of its decision, are the ones decided about, and both are
    in one cluster of the store; with `last_copies` also if the decision keeps none. Every other dropped one stays, with
    the reason; a kept one is named if the decision does not hold of it. Decisions contradicting others, of the file or
    of the store, drop nothing. Raises StoreError if the store does not remember how its clusters were made.
    """

    def __init__(self, store: Store, decisions: Sequence[Decision], *, last_copies: bool = False) -> None:
        super().__init__(store)
        self.rule = require_remembered(store).rule
        self._decisions, self._last_copies = decisions, last_copies

    def _found(self) -> Iterator[RedundantDocument]:
        wrong, kept, decisions = dict[int, str](), set[Ref](), list[Decision]()
        for seen in seen_documents(self.store, self._decisions):
            decisions.append(_as_seen(seen))
            kept |= {one.ref for one in seen if one.decided.choice == "keep" and one.stored}
        for each in [*contradictions(decisions), *contradictions(_lasting(decisions, self.store))]:
            for place in each.places:
                wrong.setdefault(place, each.sentence)
        for place, seen in enumerate(seen_documents(self.store, self._decisions)):
            yield from self._decided(seen, wrong.get(place, ""), kept)

    def _decided(self, seen: Sequence[DecidedNow], wrong: str, kept: set[Ref]) -> Iterator[RedundantDocument]:
        stays = _StayingDocuments([one for one in seen if one.decided.choice == "keep" and not one.reason])
        for one in seen:
            if one.decided.choice != "drop":
                if one.reason:
                    yield _document(one, None, one.reason)
                continue
            reason, beside = one.reason, None
            if reason is None and wrong:
                reason = Reason(_CONTRADICTED, f"contradicted: {wrong}")
            if reason is None and one.ref in kept:
                reason = Reason(_CONTRADICTED, "contradicted: another id of the file keeps it")
            if reason is None:
                beside = stays.beside(one)
                if beside is None and not self._last_copies:
                    reason = stays.elsewhere or Reason(_LAST, _LAST_SAYS)
            yield _document(one, beside, reason)


def _as_seen(seen: Sequence[DecidedNow]) -> Decision:
    held = (one for one in seen if not one.reason)
    return Decision(tuple(DecidedDocument(name_of(one.ref), one.decided.digest, one.decided.choice) for one in held))


def _lasting(decisions: Sequence[Decision], store: Store) -> list[Decision]:
    return [*(decision.without_choices() for decision in decisions), *store.decisions()]


class _StayingDocuments:
    def __init__(self, documents: Sequence[DecidedNow]) -> None:
        self.elsewhere = (
            Reason(_ELSEWHERE, f"it is in no cluster with {documents[0].decided.id}") if documents else None
        )
        self._documents = documents
        self._places: dict[object, int] = {}
        for place, one in enumerate(documents):
            known = _annotations(one)
            # Clusters have strings as names, so that one table does for them and for documents.
            for name in (cluster_of(known), one.ref, ("repeated", repeated_by(one.ref, known))):
                self._places.setdefault(name, place)

    def beside(self, one: DecidedNow) -> DecidedNow | None:
        known = _annotations(one)
        names = (repeated_by(one.ref, known), ("repeated", one.ref), cluster_of(known))
        found = (self._places[name] for name in names if name is not None and name in self._places)
        return next((self._documents[place] for place in found), None)


def _annotations(one: DecidedNow) -> Mapping[str, Any]:
    return one.stored.annotations if one.stored else {}


def _document(one: DecidedNow, beside: DecidedNow | None, reason: Reason | None) -> RedundantDocument:
    annotations = _annotations(one)
    cluster, near = annotations.get("cluster") or {}, -1.0
    if beside and repeated_by(one.ref, annotations) == beside.ref:
        near = float(cluster.get("repeats_similarity", -1.0))
    elif beside and beside.stored and (beside.stored.annotations.get("cluster") or {}).get("is_canonical"):
        near = similarity_of(cluster)
    return RedundantDocument(
        one.record, cluster_of(annotations) or "", beside.ref if beside else Ref(""), near, reason,
        beside is not None and one.record.is_identical(beside.record), one.stored.version if one.stored else None,
    )  # fmt: skip


@dataclass(slots=True)
class KeptDecisions:
    """The outcome of remembering decisions: the numbers of new and known ones, and those left out with the reason."""

    kept: int = 0
    known: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)


def keep_decisions(store: Store, decisions: Sequence[Decision], *, dry_run: bool = False) -> KeptDecisions:
    done, seen_now, known = KeptDecisions(), list[Decision](), {decision.id for decision in store.decisions()}
    for seen in seen_documents(store, decisions):
        gone = (one for one in seen if one.reason and (one.stored or one.decided.choice != "drop"))
        done.refused += [(one.decided.id, one.reason.sentence) for one in gone if one.reason]
        seen_now.append(_as_seen(seen))
    lasting, wrong = _lasting(seen_now, store), set[int]()
    for each in [*contradictions(lasting), *_unlike_choices(seen_now)]:
        done.contradictions.append(each.sentence)
        wrong |= each.places
    wanted = {
        one.id: one
        for place, one in enumerate(lasting[: len(seen_now)])
        if place not in wrong and len(one.documents) > 1
    }
    new = [one for name, one in wanted.items() if name not in known]
    if not dry_run:
        store.put_decisions(new)
    done.kept, done.known = len(new), len(wanted) - len(new)
    return done
