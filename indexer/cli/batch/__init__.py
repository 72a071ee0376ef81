"""`neardup batch`: sketches and clusters as files, without a store."""

from __future__ import annotations

import os

import click

from indexer.cli.batch import clusters, documents


@click.group(
    short_help="Cluster a collection in files, without a store.",
    epilog="""
\b
Examples:
  neardup batch dedupe crawl/ --out kept
  neardup batch sketch crawl/*.parquet --out batch
  neardup batch cluster batch --out batch
  neardup batch filter crawl/*.parquet --clusters batch --out kept
  neardup batch passages kept/ --out cut
  neardup batch load batch --store all.neardup

Sketches and clusters are files of Parquet, for pandas, DuckDB and Spark too. The clusters are the same as from
neardup index and neardup cluster. These commands need the extra parquet.
""",
)
def batch() -> None:
    """Sketch and cluster a collection in files of Parquet, on one machine or in many tasks, without a store."""
    # Arrow's own allocator keeps some 50 MB of what it has freed, at the same time of processors.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


for command in (*clusters.COMMANDS, *documents.COMMANDS):
    batch.add_command(command)

COMMANDS = (batch,)
