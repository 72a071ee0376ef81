"""The place of a batch's run: this process, or tasks of Spark."""

from __future__ import annotations

from indexer.cli.options.groups import Group
from indexer.library.batch_options import BatchRun, BatchSpread

running_options = Group(BatchRun, title="Where the work is done")

spread_options = Group(BatchSpread, running_options, title="Where the work is done")
