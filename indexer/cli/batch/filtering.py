"""`neardup batch filter`."""

from __future__ import annotations

import click

from indexer.cli.options.paths import A_PATH
from indexer.cli.options.shared import json_option
from indexer.cli.terminal.output import answer_json, fields, shown_store


@click.command(
    name="filter",
    short_help="Write the documents to keep.",
    epilog="""
\b
Examples:
  neardup batch filter crawl/ --clusters batch --out kept
  neardup batch filter dump.jsonl.gz --clusters batch --out kept --json

No two documents that are kept are near, and each one that is removed is near one that is kept. OUT has the files of
the input, in their own format: Parquet, JSON lines, compressed or not, and single files. What was removed is listed
beside it, in OUT.removed.parquet: source, row, id, duplicate_of (the kept document that it repeats), similarity to that
one (null where a later document has the same id), and cluster. The input stays as it is.

What stands for a removed document has to be among what is written, or in a batch that --against names; otherwise
nothing is written, and the file that has it is named.

With --json one object: out, removed_list, files, kept, removed.
""",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH|DIR|GLOB...")
@click.option(
    "--clusters", required=True, type=A_PATH, metavar="DIR", help="The folder that neardup batch cluster wrote."
)
@click.option("--out", required=True, type=A_PATH, metavar="OUT", help="The folder to write to.")
@click.option(
    "--against",
    type=A_PATH,
    multiple=True,
    metavar="OLD",
    help="A folder with sketches whose documents are kept elsewhere, as the older ones that neardup batch cluster was "
    "told of; may be given several times.",
)
@click.option("--unverified", is_flag=True, help="Filter also by clusters that were made by a simhash alone.")
@json_option
def filter_command(
    paths: tuple[str, ...], clusters: str, out: str, against: tuple[str, ...], unverified: bool, json: bool
) -> None:
    """Write the documents to keep of files that were clustered, each file in its own format."""
    from indexer.batch.filtering import keep, removed_file

    done = keep(paths, clusters, out, against=against, unverified=unverified)
    if json:
        counts = {name: getattr(done, name) for name in ("files", "kept", "removed")}
        answer_json({"out": shown_store(out), "removed_list": shown_store(removed_file(out)), **counts})
        return
    fields(
        [
            ("files", f"{done.files:,}"),
            ("kept", f"{done.kept:,}"),
            ("removed", f"{done.removed:,}, listed in {removed_file(out)}"),
        ]
    )


COMMANDS = (filter_command,)
