"""A random sample of the repeats, drawn by strata."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter, defaultdict
from dataclasses import dataclass
from heapq import nlargest

from indexer.clustering.annotations import StoredCluster
from indexer.clustering.memory import ClusterSettings
from indexer.matching.rule import MatchRule
from indexer.model import Ref, name_of
from indexer.relations.relation import COPIES

_STEPS = 4


@dataclass(frozen=True, slots=True)
class Sampled:
    """A document of a sample, and the one it repeats."""

    document: Ref
    repeats: Ref


@dataclass(frozen=True, slots=True)
class Stratum:
    """Documents with the same known facts: of `documents`, those in `sampled` were drawn.

    Their similarity to the repeated one is `least` (0 to 1) or more, and less than the next stratum; `copies` says that
    their relation loses nothing if they go.
    """

    copies: bool
    least: float
    documents: int
    sampled: tuple[Sampled, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of the repeats, by strata; it is the same for the same documents, seed and size."""

    seed: str
    size: int
    strata: tuple[Stratum, ...]

    @property
    def documents(self) -> int:
        return sum(stratum.documents for stratum in self.strata)

    def in_turn(self) -> list[Sampled]:
        places = [
            ((place + 0.5) / len(stratum.sampled), number, one)
            for number, stratum in enumerate(self.strata)
            for place, one in enumerate(stratum.sampled)
        ]
        return [one for _, _, one in sorted(places, key=lambda each: each[:2])]


def sample_seed(made: ClusterSettings) -> str:
    return hashlib.blake2b(f"{made.rule.written(whole=True)}\n{made.at}".encode(), digest_size=16).hexdigest()


def thresholds(rule: MatchRule) -> tuple[float, ...]:
    least = rule.measure.similarity
    if rule.width:
        bits = rule.bits(least)
        return tuple(1 - count / rule.width for count in sorted({bits * step // _STEPS for step in range(_STEPS + 1)}))
    steps = {round(least + (1 - least) * step / _STEPS, 3) for step in range(_STEPS + 1)}
    return tuple(sorted(steps, reverse=True))


class Sampler:
    """Draws a sample of `size` documents, or all if there are fewer, while clusters pass by.

    The strata are of similarity, and of copies or others. Each gets a share of the sample growing with the root of its
    size (a power allocation: Bankier, The American Statistician 42, 1988), and at least one. Within one the documents
    are ranked by a keyed hash of their names, independent of the others.
    """

    def __init__(self, rule: MatchRule, seed: str, size: int) -> None:
        self.seed, self.size, self._steps = seed, size, thresholds(rule)
        self._counts: Counter[tuple[bool, float]] = Counter()
        self._first: dict[tuple[bool, float], list[tuple[int, Sampled]]] = defaultdict(list)

    def add(self, cluster: StoredCluster) -> None:
        rows = zip(cluster.members, cluster.repeats, cluster.shares, cluster.relations, strict=True)
        for ref, other, share, relation in rows:
            if other is None:
                continue
            # A store keeps four places.
            begin = next((each for each in self._steps if share >= round(each, 4)), self._steps[-1])
            stratum = relation in COPIES, begin
            self._counts[stratum] += 1
            first = self._first[stratum]
            # The largest rank of those that are kept stands first.
            entry = -self._rank(ref), Sampled(ref, other)
            if len(first) < self.size:
                heapq.heappush(first, entry)
            elif entry[0] > first[0][0]:
                heapq.heapreplace(first, entry)

    def _rank(self, ref: Ref) -> int:
        name = name_of(ref).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(name, digest_size=8, key=bytes.fromhex(self.seed)).digest(), "big")

    def drawn(self) -> Sample:
        strata = sorted(self._counts, reverse=True)
        shares = _allocated([self._counts[stratum] for stratum in strata], self.size)
        drawn = (
            Stratum(*stratum, self._counts[stratum], tuple(one for _, one in nlargest(share, self._first[stratum])))
            for stratum, share in zip(strata, shares, strict=True)
        )
        return Sample(self.seed, self.size, tuple(drawn))


def _allocated(counts: list[int], size: int) -> list[int]:
    shares = [1] * len(counts)
    for _ in range(min(size, sum(counts)) - len(counts)):
        # As seats are given to parties, so that each further one goes where it is missed most.
        open_strata = [place for place, count in enumerate(counts) if shares[place] < count]
        shares[max(open_strata, key=lambda place: counts[place] ** 0.5 / (shares[place] + 0.5))] += 1
    return shares
