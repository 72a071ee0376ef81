"""The order in time of versions, as far as known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from indexer.core.components import NamedComponents
from indexer.relations.versions.numbers import Number
from indexer.relations.versions.signs import TRUST, Channel, Signs
from indexer.text.counts import counted
from indexer.text.dates import Day

OrderWord = Literal["newer", "older", "unknown"]
"""The place of one document in time beside another one."""

SURE = 0.75
"""The least confidence with which documents are called versions of each other."""

_DATES = ("captured", "modified", "published", "dated")
# A text contains another one if it adds so many words, and has no more than such a share of them less.
_PASSAGE, _REWORDED, _CONTAINING = 50, 0.05, 0.55
# What other signs that disagree or agree with the first one add to the confidence.
_DISAGREEING_NUMBERS, _DISAGREEING, _AGREEING, _MOST = -0.1, -0.2, 0.02, 0.99


class Order(NamedTuple):
    """The place of a document in time against another one, its confidence (0 to 1, 0 if unknown), and the reason."""

    word: OrderWord = "unknown"
    confidence: float = 0.0
    evidence: str = ""

    @property
    def reversed(self) -> Order:
        words: Mapping[OrderWord, OrderWord] = {"newer": "older", "older": "newer", "unknown": "unknown"}
        return self._replace(word=words[self.word])


@dataclass(frozen=True, slots=True)
class Lineage:
    """Versions of one work: `steps` from the oldest on, each the places of documents of the same version.

    `evidence[i]` is the reason for step i + 1 after step i, `confidence` (0 to 1) that of the order. `latest` are the
    newest.
    """

    steps: tuple[tuple[int, ...], ...]
    evidence: tuple[str, ...]
    confidence: float
    latest: frozenset[int]


def lineages(documents: Sequence[Signs], *, least: float = SURE) -> list[Lineage]:
    found = [_ordered(places, [documents[place] for place in places]) for places in _works(documents)]
    return [each for each in found if each and each.confidence >= least]


def compared(one: Signs, other: Signs) -> Order:
    for lineage in lineages([one, other], least=0):
        word: OrderWord = "newer" if lineage.steps[-1] == (0,) else "older"
        return Order(word, lineage.confidence, lineage.evidence[0])
    if {*one.updates} & {*other.names}:
        return Order("newer", TRUST["replaces"], _said_of_names("updates", one.updates, other.names))
    if {*other.updates} & {*one.names}:
        return Order("older", TRUST["replaces"], _said_of_names("updates", other.updates, one.names))
    days = [frame for frame in one.frames if frame[0] == "day"]
    for channel in (*days, ("modified",), ("published",), ("dated",)):
        ordered = _by_channel([one, other], channel)
        if len(ordered) == 2:
            evidence = _said(channel, [one, other], ordered[0][0], ordered[1][0])
            return Order("newer" if ordered[1] == [0] else "older", TRUST["day"], evidence)
    return Order()


def by_contents(only_here: int, only_there: int) -> Order:
    """The place in time of a text against a near one, by the words and facts found in one of them only.

    The text that contains the other and adds a passage is likelier newer: texts grow more often than they are cut. It
    is wrong for abridgements and quotations, so it is the weakest sign, used only without any other.
    """
    added, gone = max(only_here, only_there), min(only_here, only_there)
    if added < _PASSAGE or gone > _REWORDED * added:
        return Order()
    if only_here > only_there:
        return Order("newer", _CONTAINING, f"contains the other text and adds {counted(added, 'word')}")
    return Order("older", _CONTAINING, f"is contained in the other text, which adds {counted(added, 'word')}")


def _works(documents: Sequence[Signs]) -> list[list[int]]:
    joined = _by_frames(documents)
    shared: dict[Channel, list[int]] = defaultdict(list)
    for place, signs in enumerate(documents):
        joined.add(place)
        for work in signs.works:
            shared[work].append(place)
    for work, places in shared.items():
        # Two pages of one release with one title: it is no name of a page.
        if work[0] != "title" or len({documents[place].points[work].value for place in places}) == len(places):
            for place in places[1:]:
                joined.join(places[0], place)
    for place, others in _replaced(documents).items():
        for other in others:
            joined.join(place, other)
    works: dict[object, list[int]] = defaultdict(list)
    for place in range(len(documents)):
        works[joined.root(place)].append(place)
    return [places for places in works.values() if len(places) > 1]


def _by_frames(documents: Sequence[Signs]) -> NamedComponents:
    joined = NamedComponents()
    apart = set(range(len(documents)))
    # By the outermost number that differs; a document that has found its versions so is none of the others'.
    for depth in range(max((len(each.frames) for each in documents), default=0)):
        by_frame: dict[Channel, list[int]] = defaultdict(list)
        for place in sorted(apart):
            frame = documents[place].frames[depth : depth + 1]
            # Each report of a day has its own date in its name, and none replaces another.
            if frame and frame[0][0] != "day":
                by_frame[frame[0]].append(place)
        for places in by_frame.values():
            if len({documents[place].points[documents[place].frames[depth]].value for place in places}) > 1:
                apart -= {*places}
                for place in places[1:]:
                    joined.join(places[0], place)
    return joined


def _ordered(places: list[int], documents: list[Signs]) -> Lineage | None:
    channels: dict[Channel, list[list[int]]] = {}
    for channel in dict.fromkeys(channel for signs in documents for channel in signs.points):
        if len(groups := _by_channel(documents, channel)) > 1:
            channels[channel] = groups
    replaced = _by_names(documents)
    if replaced is None:
        # Each replaces the other: what they say is not to be believed.
        return None
    if replaced:
        channels["replaces",] = replaced
    if not channels:
        return None
    covered = {channel: sum(map(len, groups)) for channel, groups in channels.items()}
    best = max(channels, key=lambda channel: (covered[channel] * TRUST[channel[0]], TRUST[channel[0]], channel))
    groups = channels[best]
    newest = {*groups[-1]}
    if best[0] == "replaces":
        # Two lines of what replaced one document may have different lengths.
        newest = {place for group in groups for place in group} - _replaced(documents).keys()
    evidence = [_said(best, documents, earlier[0], later[0]) for earlier, later in pairwise(groups)]
    return Lineage(
        tuple(tuple(places[at] for at in group) for group in groups),
        tuple(evidence),
        _confidence(best, groups, channels),
        frozenset(places[at] for at in newest),
    )


def _by_channel(documents: Sequence[Signs], channel: Channel) -> list[list[int]]:
    said = {place: signs.points[channel].value for place, signs in enumerate(documents) if channel in signs.points}
    # Of dates what all of them have counts.
    exact = min((sum(map(bool, value)) for value in said.values() if isinstance(value, Day)), default=3)
    groups: dict[Any, list[int]] = defaultdict(list)
    for place, value in said.items():
        groups[_key(value, exact)].append(place)
    return [groups[key] for key in sorted(groups)]


def _key(value: Number | Day, exact: int) -> tuple[Any, ...]:
    return tuple(value[:exact]) if isinstance(value, Day) else (value,)


def _by_names(documents: Sequence[Signs]) -> list[list[int]] | None:
    later = _replaced(documents)
    waits = dict.fromkeys({*later, *(place for after in later.values() for place in after)}, 0)
    for place in (place for after in later.values() for place in after):
        waits[place] += 1
    levels: list[list[int]] = []
    ready = sorted(place for place, count in waits.items() if not count)
    done = 0
    while ready:
        levels.append(ready)
        done += len(ready)
        coming = []
        for place in ready:
            for after in later.get(place, ()):
                waits[after] -= 1
                if not waits[after]:
                    coming.append(after)
        ready = sorted(coming)
    return levels if done == len(waits) else None


def _replaced(documents: Sequence[Signs]) -> dict[int, set[int]]:
    of: dict[str, list[int]] = defaultdict(list)
    for place, signs in enumerate(documents):
        for name in signs.names:
            of[name].append(place)
    later: dict[int, set[int]] = defaultdict(set)
    for place, signs in enumerate(documents):
        for name in signs.replaces:
            for older in of.get(name, ()):
                later[older].add(place)
        for name in signs.replaced_by:
            if others := of.get(name):
                later[place].update(others)
    return later


def _confidence(best: Channel, groups: list[list[int]], channels: Mapping[Channel, list[list[int]]]) -> float:
    confidence = TRUST[best[0]]
    for channel, others in channels.items():
        if channel == best or TRUST[channel[0]] < SURE:
            continue
        rank = {place: number for number, group in enumerate(others) for place in group}
        ranks = [[rank[place] for place in group if place in rank] for group in groups]
        ranks = [group for group in ranks if group]
        if len(ranks) < 2:
            continue
        if any(max(earlier) > min(later) for earlier, later in pairwise(ranks)):
            # A release of an old line comes after one of a new line; two dates can't be right both.
            confidence += _DISAGREEING if _is_date(best) else _DISAGREEING_NUMBERS
        else:
            confidence += _AGREEING
    return round(max(0.0, min(_MOST, confidence)), 2)


def _is_date(channel: Channel) -> bool:
    return channel[0] in (*_DATES, "stamp", "day")


def _said(channel: Channel, documents: Sequence[Signs], older: int, newer: int) -> str:
    if channel[0] == "replaces":
        one, other = documents[newer], documents[older]
        if {*one.replaces} & {*other.names}:
            return _said_of_names("replaces", one.replaces, other.names)
        return _said_of_names("is replaced by", other.replaced_by, one.names)
    left, right = documents[older].points[channel], documents[newer].points[channel]
    noun = channel[0] if channel[0] in _DATES else "dated" if _is_date(channel) else "version"
    return f"{noun} {left.shown} < {right.shown} {right.place}"


def _said_of_names(verb: str, named: Sequence[str], names: Sequence[str]) -> str:
    return f"{verb} {next(iter({*named} & {*names}), 'it')}"
