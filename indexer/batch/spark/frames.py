"""Cluster DataFrames: keys to blocks, blocks to components, components to groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from indexer.batch.clusters.blocking import finder_key_blocks, verified_by
from indexer.batch.clusters.grouping import EQUAL_COLUMNS, columns_of, found_by
from indexer.batch.spark import tasks
from indexer.batch.spark.session import functions, mapped, sql
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.grouping import radius_of
from indexer.matching.rule import MatchRule

# Blocks for each partition, so that partitions of blocks are about even.
BLOCKS = 4


def keep(kept: ExitStack, frame: Any) -> Any:
    """A DataFrame computed once, and kept, on disk if memory is short, until `kept` is closed."""
    kept.callback(frame.unpersist)
    return frame.persist()


def labelled(pairs: Any, count: int, most_joined: int, kept: ExitStack) -> Any:
    found = keep(kept, pairs)
    pairs, (number, now), before = found, _figures(found), None
    while number > most_joined and now != before:
        pairs, before = _cut_off(_stars(pairs, count)), now
        number, now = _figures(pairs)
    if number <= most_joined:
        labels = mapped(pairs.repartition(1), tasks.unite, tasks.LABELS)
    else:
        owners = _both_ways(pairs, count).withColumnRenamed("one", "owner").groupBy("owner")
        labels = owners.agg(functions.least("owner", functions.min("other")).alias("label"))
    labels = keep(kept, labels)
    labels.count()
    found.unpersist()
    return labels


def _stars(pairs: Any, count: int) -> Any:
    """A round: a document's pairs with larger ones become pairs of these with its smallest known document, and then its
    pairs with smaller ones pairs of itself and of these with the smallest. There are never more pairs than before. See
    Kiveris, Lattanzi, Mirrokni, Rastogi and Vassilvitskii, "Connected Components in MapReduce and Beyond", SoCC 2014.
    """
    least = functions.min("other").over(sql.Window.partitionBy("one"))
    large = _both_ways(pairs, count).withColumn("least", functions.least("one", least)).where("other > one")
    large = large.select(functions.col("other").alias("one"), functions.col("least").alias("other")).distinct()
    ends = functions.explode(functions.array("one", "other"))
    small = large.withColumn("least", least).select(ends.alias("one"), functions.col("least").alias("other"))
    return small.where("one != other").distinct()


def _both_ways(pairs: Any, count: int) -> Any:
    return pairs.union(pairs.select("other", "one")).repartition(count, "one")


def _cut_off(frame: Any) -> Any:
    """The rows of a frame, computed, without their plan: Spark's plan of a round would hold all earlier ones, twice
    each.
    """
    context = getattr(frame.sparkSession, "sparkContext", None)
    return frame.checkpoint() if context and context.getCheckpointDir() else frame.localCheckpoint()


def sorted_blocks(rows: Any, count: int, *names: str) -> Any:
    return rows.repartition(count, *names, "block").sortWithinPartitions(*names, "block")


def _figures(pairs: Any) -> tuple[int, int | None]:
    """The number of pairs, and a number that changes if some of them do."""
    told = pairs.agg(
        functions.count("one").alias("count"), functions.expr("bit_xor(xxhash64(one, other))").alias("sum")
    )
    row = told.head()
    return row["count"], row["sum"]


MOST_JOINED = 50_000_000
MOST_GROUPED = 1_000_000


@dataclass(frozen=True)
class Run:
    """The options of clustering: see `indexer.clustering.clusters.cluster`.

    Shuffles have so many `partitions`. Up to `most_joined` documents with shared keys are put into components by one
    task, at 100 bytes each; more take several rounds. Components of more than `most_grouped` documents are verified
    before grouping: see `indexer.batch.clusters.blocking`. `by_arrival` says that owners are in the order of arrival.
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


@dataclass(frozen=True)
class Documents:
    """Ways to read columns of all documents for a step, and of documents with a `label` by their `owner`."""

    mapped: Callable[..., Any]
    labelled: Callable[[Any, Sequence[str]], Any]


def found(documents: Documents, run: Run, kept: ExitStack) -> Any:
    count = run.partitions
    blocked = documents.mapped(found_by(run.rule), tasks.block_values, tasks.BLOCKED, run.rule, count * BLOCKS)
    pairs = mapped(sorted_blocks(blocked, count, "finder"), tasks.connect, tasks.PAIRS, run.rule)
    labels = labelled(pairs, count, run.most_joined, kept)
    too_large = labels.groupBy("label").count().where(functions.col("count") > run.most_grouped).select("label")
    too_large = keep(kept, too_large)
    equal = _grouped(documents, _equal(documents), run, equal=True)
    if not too_large.head(1):
        return _grouped(documents, labels, run).unionByName(equal)
    near = keep(kept, _verified(documents, labels.join(too_large, "label", "left_semi"), run))
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
