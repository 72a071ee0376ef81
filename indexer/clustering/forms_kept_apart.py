"""Keep documents with different facts in different groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.clustering.choosing import Choice
from indexer.clustering.held_decisions import HeldDecisions
from indexer.clustering.relation_notes import NotedRelations
from indexer.clustering.verdicts import Permitted, Reason, Relations, whole_pages
from indexer.core.components import Components
from indexer.errors import UsageError, shown
from indexer.model import Record, Ref
from indexer.relations.relation import COPIES, Relation
from indexer.schemes.base import SLACK, Positions

FORM = "form"
"""The relation that can be kept apart: that of documents in which facts differ."""

# The records and annotations of documents by their positions, None of those that are gone.
Describe = Callable[[Positions], Sequence[tuple[Record, Mapping[str, Any]] | None]]
# The similarities (float64) of pairs of documents, by their positions.
MeasureSimilarity = Callable[[Positions, Positions], npt.NDArray[np.float64]]


class _SameFacts(Permitted):
    def reason_to_keep(self, relation: Relation, repeats: str) -> Reason | None:
        return Reason(FORM, f"{relation}, beside {repeats}") if relation.word == FORM else None

    def lets_go(self, relation: Relation) -> bool:
        """True if two documents belong together that are both apart from a third one, or neither is near it.

        Two fillings of one form may differ mostly elsewhere, which hides the facts.
        """
        return relation.word in self.relations


@dataclass(frozen=True, eq=False)
class GroupedDocuments:
    """The documents of some groups: `documents` are their positions, `ranks` and `choice` have a place for each.

    `describe` reads them, and `similar` compares them by the measure of the rule.
    """

    documents: Positions
    ranks: Positions
    choice: Choice
    describe: Describe
    similar: MeasureSimilarity

    def places(self, positions: Positions) -> Positions:
        return self._order[np.searchsorted(self._ordered, positions)]

    @cached_property
    def _order(self) -> Positions:
        return np.argsort(self.documents)

    @cached_property
    def _ordered(self) -> Positions:
        return self.documents[self._order]


_SAME_FACTS = _SameFacts(frozenset((*COPIES, "rendition", "edited")))


class FormsApart:
    """Cuts groups so that each document with other facts is in a group of its own, together with its copies.

    Each document of a group is compared by its text with the kept one it repeats, or with the first of the group. With
    other facts it is apart, unless it is a copy of another one apart for the same reason; it is compared with a few
    with the same words missing in the first. Unreadable documents stay in place, and so do documents joined by
    `decisions`. A repeat has at least the similarity `least`.

    `words` has the relations found in the last cut, of documents to those they repeat, and `count` is the number apart
    in all. Memory: that of `indexer.clustering.verdicts.Relations`, and 200 bytes a document of the groups of one cut.
    Raises UsageError if no texts are read, because facts are in texts.
    """

    def __init__(self, noted: NotedRelations, decisions: HeldDecisions, least: float) -> None:
        if noted.texts is None:
            raise UsageError("texts have to be read to keep forms apart: leave out --no-relation, or say --apart none")
        self._noted, self._decisions, self._least = noted, decisions, least
        self.words: dict[Ref, str] = {}
        self.count = 0

    def cut(self, groups: Sequence[Positions], grouped: GroupedDocuments) -> list[Positions]:
        self.words = {}
        inside = [grouped.places(group) for group in groups]
        labels = Components(grouped.documents.size)
        pairs = [_pairs(number, some, grouped) for number, some in enumerate(inside) if some.size > 1]
        if pairs and (joined := self._joined(np.concatenate(pairs), grouped)):
            labels.join(*np.array(joined, dtype=np.int64).T)
        return [part for some in inside for part in _parts(grouped.documents, some, labels)]

    def differing(self, records: Sequence[Record], other: Record) -> list[bool]:
        relations = self._relations()
        relations.prepare(("", record, other) for record in records)
        found = [relations.texts.between(record, other) for record in records]
        return [isinstance(relation, Relation) and relation.word == FORM for relation in found]

    def _relations(self) -> Relations[Record]:
        # New for each cut, because the groups of each have the same numbers, and with the words counted last.
        assert self._noted.texts is not None  # noqa: S101 - they are not taken away
        return Relations(_SAME_FACTS, self._noted.texts)

    def _joined(self, pairs: Positions, grouped: GroupedDocuments) -> list[tuple[int, int]]:
        relations, joined = self._relations(), list[tuple[int, int]]()
        place_of: dict[Ref, int] = {}
        # By the number of a decision the first document that it calls the same as others.
        first: dict[int, int] = {}
        for page in whole_pages(np.arange(len(pairs)), pairs[:, 2]):
            wanted = np.unique(pairs[page, :2])
            described = zip(wanted.tolist(), grouped.describe(grouped.documents[wanted]), strict=True)
            records = {place: found[0] for place, found in described if found}
            place_of |= {record.ref: place for place, record in records.items()}
            there = [row for row in pairs[page].tolist() if row[0] in records and row[1] in records]
            relations.prepare((str(group), records[one], records[other]) for one, other, group in there)
            for one, other, group in there:
                if isinstance(relations.between(records[one], records[other]), str):
                    # What can't be read stays where it is.
                    joined.append((one, other))
                    continue
                verdict = relations.judge(str(group), records[one], records[other], lambda _: True)
                repeats = grouped.choice.of[one] == grouped.documents[other]
                if verdict.reason is not None and verdict.reason.kind == FORM:
                    self.count += 1
                    _set_repeated(grouped, one, one)
                    continue
                if not repeats and verdict.relation and not _SAME_FACTS.lets_go(verdict.relation):
                    continue
                beside = place_of[verdict.repeats.ref]
                joined.append((one, beside))
                if beside != other:
                    repeats = self._repeat(grouped, one, beside)
                if repeats and verdict.relation:
                    self.words[records[one].ref] = verdict.relation.word
            joined += self._called_the_same(records, first)
        return joined

    def _repeat(self, grouped: GroupedDocuments, one: int, beside: int) -> bool:
        documents = grouped.documents
        [value] = grouped.similar(documents[[beside]], documents[[one]])
        if value >= self._least - SLACK and grouped.choice.of[beside] == documents[beside]:
            _set_repeated(grouped, one, beside, float(value))
            return True
        _set_repeated(grouped, one, one)
        return False

    def _called_the_same(self, records: Mapping[int, Record], first: dict[int, int]) -> Iterator[tuple[int, int]]:
        sides = self._decisions.sides(one.ref for one in records.values()) if self._decisions else ()
        for place, decided in zip(records, sides, strict=False):
            yield from ((first.setdefault(number, place), place) for number, apart in decided.items() if not apart)


def _set_repeated(grouped: GroupedDocuments, one: int, other: int, similarity: float = 1.0) -> None:
    grouped.choice.of[one], grouped.choice.similarity[one] = grouped.documents[other], similarity


def _pairs(number: int, places: Positions, grouped: GroupedDocuments) -> Positions:
    """The documents of a group except the first, with the one each is compared with, and the number of the group: shape
    (n, 3).
    """
    places = places[np.argsort(grouped.ranks[places])]
    repeated = grouped.choice.of[places]
    repeats = (repeated != grouped.documents[places]) & np.isin(repeated, grouped.documents[places])
    beside = np.full(places.size, places[0])
    beside[repeats] = grouped.places(repeated[repeats])
    # What others repeat comes before these.
    later = np.concatenate((np.flatnonzero(~repeats)[1:], np.flatnonzero(repeats)))
    return np.stack((places[later], beside[later], np.full(later.size, number)), axis=1)


def apart_asked(apart: str | None) -> str | None:
    """The relation to keep apart, as a note has it; None by default.

    Raises UsageError for any but forms.
    """
    if apart not in (None, FORM, "none"):
        raise UsageError(f"apart={shown(apart)}: is {FORM} or none")
    return "" if apart == "none" else apart


def _parts(documents: Positions, inside: Positions, labels: Components) -> list[Positions]:
    if inside.size < 2:
        return [documents[inside]]
    roots = labels.roots(inside)
    order = np.argsort(roots, kind="stable")
    return np.split(documents[inside[order]], np.flatnonzero(np.diff(roots[order])) + 1)
