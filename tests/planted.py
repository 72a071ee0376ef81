"""Collections with planted near-duplicates, and what a match rule says of them, found out slowly.

The oracle knows nothing of a scheme but `sketch` and `similarities`, and nothing of how pairs and clusters are found.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.matching.measures import exact
from indexer.matching.rule import Finder, MatchRule, TextVerification
from indexer.model import SIMHASH_DOC, Record, Ref, Sketch
from indexer.schemes.base import Scheme
from indexer.schemes.simhash import SimhashDoc
from indexer.stores import Store

SLACK = 1e-9

Edge = tuple[str, str]
Name = TypeVar("Name", str, int)


def collection(seed: int, count: int) -> list[str]:
    """Texts of which many are versions of others, and some are equal."""
    draw = random.Random(seed)
    texts: list[list[str]] = []
    for number in range(count):
        if texts and draw.random() < 0.6:
            words = list(draw.choice(texts))
            for _ in range(draw.choice([0, 1, 3, 10])):
                words[draw.randrange(len(words))] = f"changed{draw.randrange(1000)}"
        else:
            words = [f"word{number}x{draw.randrange(500)}" for _ in range(40)]
        texts.append(words)
    return [" ".join(words) for words in texts]


def drifting(families: int, size: int, seed: int = 1) -> list[str]:
    """Families of texts, each of 200 words of which 2% are other ones than in the text before."""
    draw = random.Random(seed)
    texts = []
    for family in range(families):
        words = [f"f{family}w{draw.randrange(10**6)}" for _ in range(200)]
        for _ in range(size):
            texts.append(" ".join(words))
            for place in draw.sample(range(200), 4):
                words[place] = f"f{family}w{draw.randrange(10**6)}"
    return texts


def record(name: str, text: str, schemes: Iterable[Scheme] = (), **fields: Any) -> Record:
    """A document with its simhash and the sketches of other schemes."""
    found = _sketch(SimhashDoc(), text)
    sketches = {each.family: _sketch(each, text) or Sketch.without_features(each.id) for each in schemes}
    sketches.pop(SIMHASH_DOC, None)
    return Record(Ref(name), ({SIMHASH_DOC: found} if found else {}) | sketches, **fields)


def empty(path: Path, schemes: Iterable[Scheme]) -> Store:
    """A new store that keeps sketches of schemes beside simhash-doc."""
    store = open_store(path, create=store_info("landmarks"))
    for each in schemes:
        if each.family != SIMHASH_DOC:
            store.add_scheme(each.info)
    return store


def put(store: Store, records: Iterable[Record]) -> None:
    """Store records, of which none may fail."""
    results = list(store.put(records))
    assert all(result.status.value != "failed" for result in results), results


def filled(path: Path, texts: Mapping[str, str], schemes: Sequence[Scheme], **fields: Any) -> Store:
    """A store of documents by their names."""
    store = empty(path, schemes)
    put(store, (record(name, text, schemes, **fields) for name, text in texts.items()))
    return store


def named(texts: Sequence[str]) -> dict[str, str]:
    """Texts by names that sort as they stand."""
    return {f"d{number:03d}": text for number, text in enumerate(texts)}


class Oracle:
    """What a rule says of documents, by comparing everything with everything.

    Those named in `older` have their simhash and no other sketch.
    """

    def __init__(self, rule: MatchRule, texts: Mapping[str, str], older: Collection[str] = ()) -> None:
        self.rule, self.texts = rule, dict(texts)
        self._sketches = {
            each.id: {
                name: None if name in older and each.family != SIMHASH_DOC else _sketch(each, text)
                for name, text in texts.items()
            }
            for each in rule.schemes.values()
        }

    def by(self, measure: Finder | TextVerification, one: str, other: str) -> float:
        """The similarity by one part of the rule, below 0 where it is unknown."""
        if isinstance(measure, TextVerification):
            sets = exact.shingle_sets([self.texts[one], self.texts[other]])
            return float((exact.jaccard if measure.kind == "text" else exact.containment)(sets, [0], [1])[0])
        left, right = (self._sketches[measure.scheme.id][name] for name in (one, other))
        if left is None or right is None:
            return -1.0
        return float(measure.scheme.similarities(left.payload, [right.payload])[0])

    def similarity(self, one: str, other: str) -> float:
        """The similarity that is shown: the verifier's, else the finder's."""
        return self.by(self.rule.verifier or self.rule.finders[0], one, other)

    def near(self, one: str, other: str) -> bool:
        """Whether one of the finders, and the verifier, call two documents near."""
        found = any(self.by(each, one, other) >= each.similarity - SLACK for each in self.rule.finders)
        verifier = self.rule.verifier
        return found and (verifier is None or self.by(verifier, one, other) >= verifier.similarity - SLACK)

    def certain(self, one: str, other: str) -> bool:
        """Whether two near documents have to be found: a finder guarantees it, or their sketches are equal."""
        return self.near(one, other) and any(
            self._equal(each, one, other) or _guaranteed(each) for each in self._finding(one, other)
        )

    def met(self, one: str, other: str) -> bool:
        """Whether two near documents are found: it is certain, or the keys that a finder asks for meet."""
        return self.certain(one, other) or (
            self.near(one, other) and any(self._meeting(each, one, other) for each in self._finding(one, other))
        )

    def _finding(self, one: str, other: str) -> list[Finder]:
        return [each for each in self.rule.finders if self.by(each, one, other) >= each.similarity - SLACK]

    def _equal(self, by: Finder, one: str, other: str) -> bool:
        sketches = self._sketches[by.scheme.id]
        return sketches[one] == sketches[other]

    def _meeting(self, by: Finder, one: str, other: str) -> bool:
        scheme, sketches = by.scheme, self._sketches[by.scheme.id]
        left, right = sketches[one], sketches[other]
        assert left
        assert right
        shared = set(scheme.probes(left, by.similarity)) & set(right.keys)
        return len({key >> scheme.layout.bits for key in shared}) >= scheme.plan(by.similarity).agreeing

    def edges(self) -> dict[Edge, float]:
        """Every pair that is near, with its similarity."""
        pairs = combinations(sorted(self.texts), 2)
        return {(one, other): self.similarity(one, other) for one, other in pairs if self.near(one, other)}


def greedy(order: Sequence[Name], edges: Mapping[tuple[Name, Name], float]) -> dict[Name, tuple[Name, float]]:
    """What stands for each of some in an order of preference, and how similar it is: itself for what is kept.

    The slow way, one after the other. `edges` are pairs that are near, in either direction or both.
    """
    near = {**{pair[::-1]: value for pair, value in edges.items()}, **edges}
    kept: list[Name] = []
    for one in order:
        if not any((one, other) in near for other in kept):
            kept.append(one)
    stands = {one: (one, 1.0) for one in kept}
    for one in order:
        if one not in stands:
            nearest = max((other for other in kept if (one, other) in near), key=lambda other: near[one, other])
            stands[one] = nearest, near[one, nearest]
    return stands


@lru_cache(maxsize=10_000)
def _sketch(scheme: Scheme, text: str) -> Sketch | None:
    return scheme.sketch(text)


def _guaranteed(by: Finder) -> bool:
    return by.scheme.exact_join or by.scheme.plan(by.similarity).guaranteed


def components(names: Iterable[str], edges: Iterable[Edge]) -> Iterator[frozenset[str]]:
    """The sets of names that edges connect, a lone name too."""
    beside: dict[str, set[str]] = {name: set() for name in names}
    for one, other in edges:
        beside[one].add(other)
        beside[other].add(one)
    while beside:
        inside: set[str] = set()
        front = {min(beside)}
        while front:
            inside |= front
            front = {each for name in front for each in beside[name]} - inside
        for name in inside:
            del beside[name]
        yield frozenset(inside)
