"""Clusters of the documents of DataFrames: keys to blocks, blocks to components, components to groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from indexer.batch.clusters.grouping import columns_of
from indexer.batch.spark import tasks
from indexer.batch.spark.components import BLOCKS, Kept, labelled, sorted_blocks
from indexer.batch.spark.session import mapped
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.grouping import radius_of
from indexer.matching.rule import MatchRule

MOST_JOINED = 50_000_000


@dataclass(frozen=True)
class Run:
    """How clusters are made: see `indexer.clustering.clusters.cluster`.

    What is shuffled has so many `partitions`. Up to `most_joined` documents that share keys with others are put into
    components by one task, which holds 100 bytes for each; more of them take several rounds.
    """

    rule: MatchRule
    canonical: CanonicalRule
    bound: float | None
    partitions: int
    most_joined: int = MOST_JOINED
    against: bool = False

    @property
    def columns(self) -> list[str]:
        """The columns of sketches that clusters are made from."""
        return columns_of(self.rule, self.canonical, against=self.against)


class Documents(ABC):
    """Documents with their sketches, each with a number that no other has, its `owner`."""

    @abstractmethod
    def mapped(self, step: Callable[..., Iterator[Any]], schema: Any, *given: Any) -> Any:
        """What a step makes of their `owner` and the columns of sketches that a rule finds them by."""

    @abstractmethod
    def labelled(self, labels: Any) -> Any:
        """Those that are in LABELS, with the `label`, and the columns that clusters are made from."""


def found(documents: Documents, run: Run, kept: Kept) -> Any:
    """The clusters of two documents or more, in FOUND, for any partitions, order, and tasks that run again.

    Which documents may be near is computed at once, and kept; the rest when the result is.
    """
    count = run.partitions
    scattered = documents.mapped(tasks.scatter, tasks.SCATTERED, run.rule, count * BLOCKS)
    pairs = mapped(sorted_blocks(scattered, count, "finder"), tasks.connect, tasks.PAIRS, run.rule)
    labels = labelled(pairs, count, run.most_joined, kept)
    dealt = documents.labelled(labels).repartition(count, "label").sortWithinPartitions("label", "owner")
    radius = radius_of(run.bound)
    return mapped(dealt, tasks.group, tasks.FOUND, run.rule, run.canonical, radius, against=run.against)
