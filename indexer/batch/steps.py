"""The steps of batches as functions: in this process, or in tasks of Spark (`indexer.batch.spark.runner.steps`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from indexer.batch.clusters.clustering import cluster
from indexer.batch.cutting import WordsRead, read_words, write_cut
from indexer.batch.filtering import write_parts
from indexer.batch.sketches.sketching import sketch
from indexer.model.counts import SketchingCounts


@dataclass(frozen=True, slots=True)
class Steps:
    """The functions for each step."""

    sketch: Callable[..., SketchingCounts] = sketch
    cluster: Callable[..., dict[str, Any]] = cluster
    write: Callable[..., None] = write_parts
    read_words: Callable[..., Iterator[WordsRead]] = read_words
    write_cut: Callable[..., Iterator[Any]] = write_cut
