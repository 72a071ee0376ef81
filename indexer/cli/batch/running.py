"""Where a batch runs: in this process, or in tasks of Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import click

from indexer.cli.options.groups import Group, Related
from indexer.cli.options.shared import Size


@dataclass(frozen=True, slots=True)
class Running:
    """Where a batch runs; `master` is a URL of Spark, None for what spark-submit or its configuration says."""

    run_on: Literal["local", "spark"]
    master: str | None

    @property
    def on_spark(self) -> bool:
        """Whether tasks of Spark do the work."""
        return self.run_on == "spark"


@dataclass(frozen=True, slots=True)
class Spread:
    """How clusters are made in parts: by what this process may take, or by what Spark is to shuffle."""

    running: Running
    memory: int
    partitions: int | None
    most_joined: int | None
    most_grouped: int | None

    @property
    def on_spark(self) -> bool:
        """Whether tasks of Spark do the work."""
        return self.running.on_spark


running_options = Group(
    Running,
    click.option(
        "--run-on",
        type=click.Choice(("local", "spark")),
        default="local",
        show_default=True,
        help="Do the work in this process, or in tasks of Spark, over folders that all its machines share; the files "
        "are the same. Needs the extra spark.",
    ),
    click.option(
        "--master",
        cls=Related,
        goes_with=["run_on=spark"],
        metavar="URL",
        help="Where Spark runs, as in spark://host:7077 or local[4]; otherwise as spark-submit or its settings say.",
    ),
)

spread_options = Group(
    Spread,
    running_options,
    click.option(
        "--memory",
        cls=Related,
        goes_with=["run_on=local"],
        type=Size(),
        metavar="SIZE",
        default="2GiB",
        show_default=True,
        help="What sketches may take at once with --run-on local; more of them are spilled to OUT, and compared part "
        "by part.",
    ),
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
        help="How many documents that share keys with others one task of Spark may put into components, in 100 bytes "
        "of memory each; more of them take several rounds of all tasks.  [default: 50,000,000]",
    ),
    click.option(
        "--most-grouped",
        cls=Related,
        goes_with=["run_on=spark"],
        type=click.IntRange(1),
        metavar="N",
        help="How many documents that may be near each other one task of Spark may compare, in four times the size of "
        "their sketches; what more of them have in common is compared key by key first.  [default: 1,000,000]",
    ),
)
