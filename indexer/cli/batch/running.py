"""The place where a batch runs: this process, or tasks of Spark."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from indexer.cli.options.groups import Group, Related

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indexer.batch.deduping import Steps


@dataclass(frozen=True, slots=True)
class Running:
    """The place of a batch's run; `master` is a URL of Spark, None for what spark-submit or its configuration says."""

    run_on: Literal["local", "spark"]
    master: str | None

    @property
    def on_spark(self) -> bool:
        """True if tasks of Spark do the work."""
        return self.run_on == "spark"


@dataclass(frozen=True, slots=True)
class Spread:
    """The place where clusters are made, and on Spark the number of parts."""

    running: Running
    partitions: int | None
    most_joined: int | None
    most_grouped: int | None


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


@contextmanager
def steps_of(running: Running, most_joined: int | None = None) -> Iterator[Steps]:
    """The steps of a batch where it runs; `most_joined` is for Spark."""
    from indexer.batch.deduping import Steps

    if not running.on_spark:
        yield Steps()
        return
    from indexer.batch.spark.deduping import steps
    from indexer.batch.spark.frames import MOST_JOINED
    from indexer.batch.spark.session import running as running_spark

    with running_spark(running.master) as spark:
        yield steps(spark, most_joined=most_joined or MOST_JOINED)
