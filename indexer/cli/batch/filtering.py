"""`neardup batch filter`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import click

from indexer.cli.batch.cutting import cut_fields
from indexer.cli.options.answers import command
from indexer.cli.options.groups import Taking
from indexer.cli.options.shared import JsonAsked
from indexer.cli.terminal.output import answer_json, fields
from indexer.library.batch_options import BatchOutput, BatchPassages, BatchRun
from indexer.model.declared import Option
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.batch_outcomes import BatchDeduped, BatchFiltered


def left_out_fields(done: BatchFiltered | BatchDeduped, writing: BatchOutput) -> list[tuple[str, str]]:
    few = f"{done.few_origins:,} of clusters from fewer than {writing.min_origins} origins"
    alone = f", {done.singletons:,} of no cluster" if writing.singletons == "drop" else ""
    replaced = f"{done.replaced:,} by a later one of the same id" if done.replaced else ""
    return [("replaced", replaced), ("few origins", few + alone if writing.min_origins else "")]


@dataclass(frozen=True, slots=True)
class Keeping:
    """The other documents to keep, the clusters that count, and the handling of repeated passages."""

    against: Annotated[tuple[str, ...], Option("A folder with sketches of documents kept elsewhere, such as the older "
        "ones given to neardup batch cluster. Can be repeated.", kind="path", metavar="OLD")] = ()  # fmt: skip
    unverified: Annotated[bool, Option("Filter also by clusters of a simhash alone, not verified by texts.",
        typed=True)] = False  # fmt: skip
    passages: Annotated[Literal["report", "cut"] | None, Option("Count how much of the kept documents repeats passages "
        "of each other, or cut these too, as neardup batch passages does, from Parquet, JSON lines and --texts.",
        not_with=["tag"])] = None  # fmt: skip
    cutting: Annotated[BatchPassages, Taking(goes_with=["passages"])] = BatchPassages()


@command(
    "batch_outcomes:BatchFiltered",
    name="filter",
    short_help="Write the documents to keep.",
    epilog="""
\b
Examples:
  neardup batch filter crawl/ --clusters batch --out kept
  neardup batch filter dump.jsonl.gz --clusters batch --out kept --json
  neardup batch filter crawl/ --clusters batch --out kept --texts --passages cut --words 100
  neardup batch filter crawl/ --clusters batch --out kept --run-on spark --master spark://host:7077

The clusters say what is kept: see neardup batch cluster for --verify and --remove. OUT has the files of the input:
Parquet and JSON lines in their own format, compressed or not, and single files. The texts of everything else (WARC,
archives, CSV, feeds) go to Parquet: id, source, row, title, text, metadata (JSON), and failed, the reason if a
document gave no text. With --tag nothing is removed. The input stays as it is.

OUT.removed.parquet, beside OUT, lists the removed documents: source (its file; for mails their folder), row, id,
duplicate_of (the kept document), similarity to it (null if a later document has the same id), cluster, reason,
relation and evidence. The reason is repeats, replaced (a later document has the same id), few-origins or no-cluster.

--min-origins leaves out rare texts. The documents of a cluster count as one text. Its origins are the distinct hosts
of their URLs, or folders of their paths, up to 100. A document that stands for a removed one stays if its cluster has
enough origins.

The kept copy of each removed document must be written too, or be in a batch named by --against. Otherwise nothing is
written, and the file with the missing copy is named.
""",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH|DIR|GLOB...")
def filter_command(
    *, paths: tuple[str, ...],
    clusters: Annotated[str, Option("The folder that neardup batch cluster wrote.", kind="path", metavar="DIR",
        required=True)],
    writing: BatchOutput, keeping: Keeping, running: BatchRun, json: JsonAsked,
) -> None:  # fmt: skip
    """Write the documents to keep of files that were clustered, each file in its own format."""
    from indexer.library import batches

    done = batches.filter(
        paths, clusters, writing, against=keeping.against, unverified=keeping.unverified, passages=keeping.passages,
        cutting=keeping.cutting, running=running,
    )  # fmt: skip
    if json:
        answer_json(done)
        return
    fields(
        [
            ("files", f"{done.files:,}"),
            ("kept", f"{done.kept:,}"),
            ("removed", f"{done.removed:,}, listed in {done.removed_list}"),
            ("not compared", not_compared(done.short, done.empty)),
            *left_out_fields(done, writing),
            ("left out", f"{counted(done.left_out, 'file')} by name or kind of file" if done.left_out else ""),
            *(cut_fields(done.repeated) if done.repeated else ()),
            ("took", f"{done.seconds:.1f} s"),
        ]
    )


def not_compared(short: int, empty: int) -> str:
    said = [f"{short:,} too short"] * bool(short) + [f"{empty:,} without words"] * bool(empty)
    return f"{', '.join(said)}; of equal ones one is kept" if said else ""


COMMANDS = (filter_command,)
