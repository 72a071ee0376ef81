"""`neardup batch`: sketches and clusters as files, without a store."""

from __future__ import annotations

import os

from indexer.cli.batch import clusters, documents
from indexer.cli.options.commands import command
from indexer.cli.terminal.grouped import HelpedGroup


@command(cls=HelpedGroup, short_help="Cluster a collection in files, without a store.")
def batch() -> None:
    """Sketch and cluster a collection in files of Parquet, on one machine or in many tasks, without a store.

    Examples:
      neardup batch dedupe crawl/ --out kept
      neardup batch sketch crawl/*.parquet --out batch
      neardup batch cluster batch --out batch
      neardup batch filter crawl/*.parquet --clusters batch --out kept
      neardup batch passages kept/ --out cut
      neardup batch load batch --store all.neardup

    Sketches and clusters are files of Parquet, for pandas, DuckDB and Spark too. The clusters are the same as from
    neardup index and neardup cluster. These commands need the extra parquet.
    """
    # Arrow's own allocator keeps some 50 MB of what it has freed, at the same time of processors.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


for inner in (*clusters.COMMANDS, *documents.COMMANDS):
    batch.add_command(inner)

COMMANDS = (batch,)
