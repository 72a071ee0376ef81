"""Read, list and forget decisions of people."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from indexer.clustering.decision_acts import KeptDecisions, keep_decisions
from indexer.clustering.decision_file import read_decisions
from indexer.errors import NotFoundError
from indexer.library.rows import Rows, Shown
from indexer.stores import Store


@dataclass(frozen=True, slots=True)
class Remembrance:
    """A decision remembered by a store."""

    table: ClassVar[tuple[str, ...]] = ("id", "together", "apart")

    id: Annotated[str, "The id of the decision, for forgetting it"]
    together: Annotated[tuple[str, ...], "The documents that belong together"]
    apart: Annotated[tuple[str, ...], "The documents different from those, or without any, from one another"]


@dataclass(frozen=True, slots=True)
class RefusedDecision:
    """A document with a refused decision."""

    table: ClassVar[tuple[str, ...]] = ("id", "reason")

    id: Annotated[str, "The document, as the file names it"]
    reason: Annotated[str, "The reason for refusing it"]


@dataclass(frozen=True, slots=True, repr=False)
class Decisions(Shown):
    """The decisions of people remembered by a store, and the result of reading a file."""

    kept: Annotated[int, "The number of new ones in the file"] = 0
    known: Annotated[int, "The number of already remembered ones in the file"] = 0
    forgotten: Annotated[int, "The number of forgotten ones"] = 0
    refused: Annotated[Rows[RefusedDecision], "Documents of the file with refused "
        "decisions"] = field(default_factory=lambda: Rows(RefusedDecision), repr=False)  # fmt: skip
    contradictions: Annotated[tuple[str, ...], "The contradictions, each in a sentence; their decisions are not "
        "kept"] = ()  # fmt: skip
    held: Annotated[Rows[Remembrance], "All decisions of the store "
        "now"] = field(default_factory=lambda: Rows(Remembrance), repr=False)  # fmt: skip


def decide(
    store: Store, decisions: str | os.PathLike[str] | None, forget: Sequence[str], *, dry_run: bool = False
) -> Decisions:
    """Forget decisions, then remember those of a file; see `neardup.library.clusters.Clusters.decide`."""
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
