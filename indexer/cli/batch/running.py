"""The place of a batch's run: this process, or tasks of Spark."""

from __future__ import annotations

import click

from indexer.cli.options.groups import Group, Related
from indexer.library.batch_options import BatchRun, BatchSpread

running_options = Group(
    BatchRun,
    click.option(
        "--run-on",
        type=click.Choice(("local", "spark")),
        default="local",
        show_default=True,
        help="Do the work in this process, or in tasks of Spark, over folders shared by all its machines. The files "
        "are the same. Needs the extra spark.",
    ),
    click.option(
        "--master",
        cls=Related,
        goes_with=["run_on=spark"],
        metavar="URL",
        help="The address of Spark, as spark://host:7077 or local[4].  [default: Spark's own settings]",
    ),
    title="Where the work is done",
)

spread_options = Group(
    BatchSpread,
    running_options,
    click.option(
        "--partitions",
        cls=Related,
        goes_with=["run_on=spark"],
        type=click.IntRange(1),
        metavar="N",
        help="How many partitions Spark shuffles into.  [default: one for each 64 MiB of sketches]",
    ),
    click.option(
        "--most-joined",
        cls=Related,
        goes_with=["run_on=spark"],
        type=click.IntRange(1),
        metavar="N",
        help="How many documents with common keys one task of Spark may join, in 100 bytes of memory each. More "
        "take several rounds of all tasks.  [default: 50,000,000]",
    ),
    click.option(
        "--most-grouped",
        cls=Related,
        goes_with=["run_on=spark"],
        type=click.IntRange(1),
        metavar="N",
        help="How many possibly near documents one task of Spark may compare, in four times the size of their "
        "sketches. More are compared key by key first.  [default: 1,000,000]",
    ),
    title="Where the work is done",
)
