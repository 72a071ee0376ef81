"""Clusters of the documents of DataFrames: keys to blocks, blocks to components, components to groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from indexer.batch.clusters.grouping import columns_of
from indexer.batch.spark import tasks
from indexer.batch.spark.session import mapped
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.grouping import radius_of
from indexer.matching.rule import MatchRule

MOST_JOINED = 50_000_000
# Blocks for each partition, so that partitions of blocks are about even.
_BLOCKS = 4


@dataclass(frozen=True)
class Run:
    """How clusters are made: see `indexer.clustering.clusters.cluster`.

    What is shuffled has so many `partitions`. At most `most_joined` documents may share keys with others, whose
    numbers one task holds, in 100 bytes each.
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


def found(documents: Documents, run: Run) -> Any:
    """The clusters of two documents or more, in FOUND, for any partitions, order, and tasks that run again."""
    count = run.partitions
    scattered = documents.mapped(tasks.scatter, tasks.SCATTERED, run.rule, count * _BLOCKS)
    blocks = scattered.repartition(count, "finder", "block").sortWithinPartitions("finder", "block")
    pairs = mapped(blocks, tasks.connect, tasks.PAIRS, run.rule)
    labels = mapped(pairs.repartition(1), tasks.unite, tasks.LABELS, run.most_joined)
    dealt = documents.labelled(labels).repartition(count, "label").sortWithinPartitions("label", "owner")
    radius = radius_of(run.bound)
    return mapped(dealt, tasks.group, tasks.FOUND, run.rule, run.canonical, radius, against=run.against)
