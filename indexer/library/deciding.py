"""Decisions of people that a store remembers: read from a file, listed, forgotten."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from indexer.clustering.deciding import KeptDecisions, keep_decisions
from indexer.clustering.decision_file import read_decisions
from indexer.errors import NotFoundError
from indexer.library.rows import Rows, Shown
from indexer.stores import Store


@dataclass(frozen=True, slots=True)
class Remembrance:
    """A decision that a store remembers.

    Attributes:
        id: The id of the decision, to forget it by
        together: The documents that belong together
        apart: The documents that are not the same as those, or where there are none, as one another
    """

    table: ClassVar[tuple[str, ...]] = ("id", "together", "apart")

    id: str
    together: tuple[str, ...]
    apart: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RefusedDecision:
    """A document of which a decision was not taken.

    Attributes:
        id: The document, as the file names it
        reason: Why the decision does not hold of it
    """

    table: ClassVar[tuple[str, ...]] = ("id", "reason")

    id: str
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class Decisions(Shown):
    """The decisions of people that a store remembers, and what became of those in a file.

    Attributes:
        kept: How many of the file are new
        known: How many of the file the store remembered already
        forgotten: How many were forgotten
        refused: Documents of the file of which a decision does not hold
        contradictions: The contradictions, each in a sentence; decisions that are part of one are not kept
        held: All decisions that the store remembers now
    """

    kept: int = 0
    known: int = 0
    forgotten: int = 0
    refused: Rows[RefusedDecision] = field(default_factory=lambda: Rows(RefusedDecision), repr=False)
    contradictions: tuple[str, ...] = ()
    held: Rows[Remembrance] = field(default_factory=lambda: Rows(Remembrance), repr=False)


def decide(
    store: Store, decisions: str | os.PathLike[str] | None, forget: Sequence[str], *, dry_run: bool = False
) -> Decisions:
    """Forget decisions, then remember those of a file; see `indexer.library.clusters.Clusters.decide`."""
    wanted = read_decisions(decisions) if decisions is not None else []
    known = {decision.id for decision in store.decisions()} if forget else set()
    if unknown := [name for name in forget if name not in known]:
        raise NotFoundError(f"{unknown[0]}: no decision of this id is remembered; neardup decisions lists them")
    forgotten = 0 if dry_run or not forget else store.delete_decisions(list(forget))
    done = keep_decisions(store, wanted, dry_run=dry_run) if wanted else KeptDecisions()
    held = (
        Remembrance(one.id, tuple(each.id for each in one.together), tuple(each.id for each in one.chosen("apart")))
        for one in store.decisions()
    )
    return Decisions(
        done.kept, done.known, forgotten, Rows(RefusedDecision, (RefusedDecision(*one) for one in done.refused)),
        tuple(done.contradictions), Rows(Remembrance, held),
    )  # fmt: skip
