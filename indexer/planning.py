"""Which of a store's schemes serves a similarity that a user asks for, and what that finds and misses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from indexer.errors import UsageError
from indexer.keys import MAX_DISTANCE, probes
from indexer.schemes.base import Plan, Scheme
from indexer.store_schemes import scheme_of
from indexer.stores.base import Store

# Families whose similarity is what most people mean by it, the share of passages in common: taken before others.
PREFERRED = ("minhash",)
SIMHASH_MEASURE = "share of equal bits of the simhash (0.5 for unrelated documents)"


@dataclass(frozen=True, slots=True)
class Choice:
    """How a similarity is served: by `scheme`, or where that is None by the store's first, within `distance` bits.

    `considered` says in a sentence each what the other schemes of the store would do.
    """

    scheme: Scheme | None
    distance: int
    plan: Plan
    measure: str
    considered: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The scheme's family."""
        return self.scheme.family if self.scheme else "simhash-doc"


def choose(store: Store, similarity: float | None, *, name: str = "", farthest: int = MAX_DISTANCE) -> Choice:
    """The scheme for a similarity: the one named, else a preferred one, else the one that misses least.

    Without a similarity the one named serves its own default. `farthest` is the largest distance that the store's first
    scheme serves. Raises UsageError where none serves it, saying what each would.
    """
    choices: list[Choice] = []
    refused: list[str] = []
    names = [name] if name else [scheme.name for scheme in store.info.schemes]
    for each in names:
        try:
            choices.append(
                _of_first(similarity, farthest) if each == store.info.scheme else _of(store, each, similarity)
            )
        except UsageError as error:
            refused.append(str(error))
    if not name:
        try:
            choices.append(_of_first(similarity, farthest))
        except UsageError as error:
            refused.append(str(error))
    if not choices:
        raise UsageError("; ".join(refused))
    best = min(choices, key=lambda each: (each.name not in PREFERRED, each.scheme is None, -each.plan.recall))
    others = [f"{each.name}: {each.plan.explanation}" for each in choices if each is not best]
    return Choice(best.scheme, best.distance, best.plan, best.measure, (*others, *refused))


def within(distance: int) -> Choice:
    """The store's first scheme within so many bits."""
    count = len(probes(0, distance)) if distance <= MAX_DISTANCE else 0
    asks = f"asks for {count} keys" if count else "compares fingerprints"
    said = f"{asks}; misses no document within {distance} bits, of which some may differ much in their passages."
    return Choice(None, distance, Plan(1 - distance / 64, count, 1, 1.0, True, said), SIMHASH_MEASURE)


def _of(store: Store, name: str, similarity: float | None) -> Choice:
    scheme = scheme_of(store, name)
    return Choice(
        scheme, 0, scheme.plan(scheme.default_similarity if similarity is None else similarity), scheme.measure
    )


def _of_first(similarity: float | None, farthest: int) -> Choice:
    if similarity is None:
        raise UsageError("give a similarity or a scheme")
    lowest = 1 - farthest / 64
    if not lowest - 1e-9 <= similarity <= 1:
        raise UsageError(
            f"similarity {similarity}: simhash-doc serves {lowest:.3f} ({farthest} bits) to 1; for less, index with "
            "--scheme minhash"
        )
    return within(math.floor(64 * (1 - similarity) + 1e-9))


def explained(choice: Choice) -> list[str]:
    """What is looked up, what that guarantees or is expected to miss, and what the other schemes would do."""
    plan = choice.plan
    written = choice.scheme.id if choice.scheme else f"simhash-doc within {choice.distance} bits"
    recall = "finds every one" if plan.guaranteed else f"expected to find {plan.recall:.1%} of those exactly as similar"
    lines = [
        f"scheme: {written}",
        f"similarity: {plan.similarity:g} or more, measured as {choice.measure}",
        f"lookup: at most {plan.probes:,} keys, at least {plan.agreeing} of the tables have to agree; {recall}",
        f"plan: {plan.explanation}",
    ]
    return lines + [f"not used: {each}" for each in choice.considered]
