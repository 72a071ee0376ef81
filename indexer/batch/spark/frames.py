"""Cluster DataFrames: keys to blocks, blocks to components, components to groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from indexer.batch.clusters.blocking import finder_key_blocks
from indexer.batch.clusters.grouping import EQUAL_COLUMNS, columns_of, found_by
from indexer.batch.clusters.verifying import verified_by
from indexer.batch.spark import tasks
from indexer.batch.spark.components import BLOCKS, Kept, labelled, sorted_blocks
from indexer.batch.spark.session import functions, mapped, sql
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.grouping import radius_of
from indexer.matching.rule import MatchRule

MOST_JOINED = 50_000_000
MOST_GROUPED = 1_000_000


@dataclass(frozen=True)
class Run:
    """The options of clustering: see `indexer.clustering.clusters.cluster`.

    Shuffles have so many `partitions`. Up to `most_joined` documents with shared keys are put into components by one
    task, at 100 bytes each; more take several rounds. Components of more than `most_grouped` documents are verified
    before grouping: see `indexer.batch.clusters.verifying`. `by_arrival` says that owners are in the order of arrival.
    """

    rule: MatchRule
    canonical: CanonicalRule
    bound: float | None
    partitions: int
    most_joined: int = MOST_JOINED
    most_grouped: int = MOST_GROUPED
    against: bool = False
    by_arrival: bool = False

    @property
    def columns(self) -> list[str]:
        return columns_of(self.rule, against=self.against)


class Documents(ABC):
    @abstractmethod
    def mapped(self, columns: Sequence[str], step: Callable[..., Iterator[Any]], schema: Any, *given: Any) -> Any: ...

    @abstractmethod
    def labelled(self, labels: Any, columns: Sequence[str]) -> Any: ...


def found(documents: Documents, run: Run, kept: Kept) -> Any:
    count = run.partitions
    blocked = documents.mapped(found_by(run.rule), tasks.block_values, tasks.BLOCKED, run.rule, count * BLOCKS)
    pairs = mapped(sorted_blocks(blocked, count, "finder"), tasks.connect, tasks.PAIRS, run.rule)
    labels = labelled(pairs, count, run.most_joined, kept)
    too_large = labels.groupBy("label").count().where(functions.col("count") > run.most_grouped).select("label")
    too_large = kept.keep(too_large)
    equal = _grouped(documents, _equal(documents), run, equal=True)
    if not too_large.head(1):
        return _grouped(documents, labels, run).unionByName(equal)
    near = kept.keep(_verified(documents, labels.join(too_large, "label", "left_semi"), run))
    within = labelled(near.where("figures is null").drop("figures"), count, run.most_joined, kept)
    made = _grouped(documents, labels.join(too_large, "label", "left_anti").unionByName(within), run)
    said = near.where("figures is not null").select("figures")
    return made.unionByName(equal).unionByName(said, allowMissingColumns=True)


def _equal(documents: Documents) -> Any:
    keys = documents.mapped(EQUAL_COLUMNS, tasks.equal_documents, tasks.EQUAL)
    same = sql.Window.partitionBy("key")
    counted = keys.withColumns(
        {"count": functions.count("owner").over(same), "label": functions.min("owner").over(same)}
    )
    return counted.where("count > 1").select("label", "owner")


def _verified(documents: Documents, labels: Any, run: Run) -> Any:
    count, columns = run.partitions, verified_by(run.rule)
    own = documents.labelled(labels, columns)
    blocked = mapped(own, tasks.block_values, tasks.BLOCKED, run.rule, count * BLOCKS, finder_key_blocks)
    shared = mapped(sorted_blocks(blocked, count, "finder"), tasks.share, tasks.LABELS)
    return mapped(_by_label(documents.labelled(shared, columns), count), tasks.verify, tasks.VERIFIED, run.rule)


def _grouped(documents: Documents, labels: Any, run: Run, *, equal: bool = False) -> Any:
    dealt = _by_label(documents.labelled(labels, run.columns), run.partitions)
    radius = radius_of(run.bound)
    return mapped(
        dealt, tasks.group, tasks.FOUND, run.rule, run.canonical, radius, by_arrival=run.by_arrival, equal=equal
    )


def _by_label(rows: Any, count: int) -> Any:
    return rows.repartition(count, "label").sortWithinPartitions("label", "owner")
