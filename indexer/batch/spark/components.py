"""Components of pairs: in one task, or in rounds of stars."""

from __future__ import annotations

from typing import Any

from indexer.batch.spark import tasks
from indexer.batch.spark.session import functions, mapped

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
    number, changed = _figures(found)
    pairs, changed = found, 1
    while number > most_joined and changed:
        stars = mapped(_by_block(pairs, count), tasks.large_star, tasks.DEALT, count * BLOCKS)
        pairs = _cut_off(mapped(sorted_blocks(stars, count), tasks.small_star, tasks.PAIRS))
        number, changed = _figures(pairs)
    if number <= most_joined:
        labels = mapped(pairs.repartition(1), tasks.unite, tasks.LABELS)
    else:
        labels = mapped(_by_block(pairs, count), tasks.label, tasks.LABELS)
    labels = kept.keep(labels)
    labels.count()
    kept.drop(found)
    return labels


def _cut_off(frame: Any) -> Any:
    """The rows of a frame, computed, without their plan: Spark's plan of a round would hold all earlier ones, twice
    each.
    """
    context = getattr(frame.sparkSession, "sparkContext", None)
    return frame.checkpoint() if context and context.getCheckpointDir() else frame.localCheckpoint()


def _by_block(pairs: Any, count: int) -> Any:
    return sorted_blocks(mapped(pairs, tasks.deal, tasks.DEALT, count * BLOCKS), count)


def sorted_blocks(rows: Any, count: int, *names: str) -> Any:
    return rows.repartition(count, *names, "block").sortWithinPartitions(*names, "block")


def _figures(pairs: Any) -> tuple[int, int]:
    packed = functions.sum(functions.length("one"))
    row = pairs.agg(packed.alias("bytes"), functions.sum("changed").alias("changed")).head()
    return (row["bytes"] or 0) // 8, row["changed"] or 0
