"""Components of pairs: in one task, or in rounds of stars."""

from __future__ import annotations

from typing import Any

from indexer.batch.spark import tasks
from indexer.batch.spark.session import functions, mapped, sql

# Blocks for each partition, so that partitions of blocks are about even.
BLOCKS = 4


class Kept:
    """DataFrames computed once, and kept, on disk if memory is short, until dropped or closed."""

    def __init__(self) -> None:
        self._frames: list[Any] = []

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_error: object) -> None:
        for frame in list(self._frames):
            self.drop(frame)

    def keep(self, frame: Any) -> Any:
        self._frames.append(frame.persist())
        return frame

    def drop(self, frame: Any) -> None:
        self._frames.remove(frame)
        frame.unpersist()


def labelled(pairs: Any, count: int, most_joined: int, kept: Kept) -> Any:
    found = kept.keep(pairs)
    pairs, (number, now), before = found, _figures(found), None
    while number > most_joined and now != before:
        pairs, before = _cut_off(_stars(pairs, count)), now
        number, now = _figures(pairs)
    if number <= most_joined:
        labels = mapped(pairs.repartition(1), tasks.unite, tasks.LABELS)
    else:
        owners = _both_ways(pairs, count).withColumnRenamed("one", "owner").groupBy("owner")
        labels = owners.agg(functions.least("owner", functions.min("other")).alias("label"))
    labels = kept.keep(labels)
    labels.count()
    kept.drop(found)
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
