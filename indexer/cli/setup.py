"""`neardup setup`."""

from __future__ import annotations

import click

from indexer.cli.options import json_option
from indexer.cli.output import answer, answer_json, say, shown_store
from indexer.errors import UsageError


@click.command(
    short_help="Set up an index in a cluster, or take that away.",
    epilog="""
\b
Examples:
  neardup setup --store https://host:9200/articles --dry-run
  neardup setup --store https://host:9200/new-index --shards 3 --replicas 1
  neardup setup --store https://host:9200/articles --remove

Makes the index where there is none; to one that is there it adds fields below "neardup", and changes nothing else.
Doing it again changes nothing. --remove deletes an index that neardup made and nobody else filled; from any other it
strips neardup's values. The names of the fields stay in its mapping until the next reindex: no mapping can give up a
field.
""",
)
@click.option("--store", metavar="URL", envvar="NEARDUP_STORE", required=True, show_envvar=True, help="The index.")
@click.option("--shards", type=click.IntRange(1), metavar="N", help="Shards of a new index.  [default: the cluster's]")
@click.option(
    "--replicas", type=click.IntRange(0), metavar="N", help="Replicas of a new index.  [default: the cluster's]"
)
@click.option(
    "--content",
    type=click.Choice(["landmarks", "full", "main"]),
    default="landmarks",
    show_default=True,
    help="What counts as the text of HTML; all documents of a store are read in the same way.",
)
@click.option("--dry-run", is_flag=True, help="Print the exact requests, and send none that changes anything.")
@click.option("--remove", is_flag=True, help="Take away what neardup added.")
@json_option
def setup(
    store: str, shards: int | None, replicas: int | None, content: str, dry_run: bool, remove: bool, json: bool
) -> int:
    """Set up an index in a cluster for neardup; do it again as often as you like."""
    from indexer.pipeline import store_info
    from indexer.provision import Provision
    from indexer.stores.connection import connect

    if "://" not in store or store.startswith("sqlite:"):
        raise UsageError(
            f"{shown_store(store)}: an embedded store needs no setting up; name one like https://host:9200/INDEX"
        )
    client = connect(store)
    try:
        provision = Provision(client)
        info = store_info(content)  # type: ignore[arg-type]
        steps = provision.removal() if remove else provision.set_up(info, shards=shards, replicas=replicas)
        if dry_run and not json:
            for step in steps:
                for line in (f"# {step.why}", *step.request().splitlines(), ""):
                    answer(line)
        done = [] if dry_run else [_told(sentence) for sentence in provision.carry_out(steps)]
    finally:
        client.close()
    if json:
        planned = [{"why": step.why, "method": step.method, "path": step.path, "body": step.body} for step in steps]
        answer_json({"store": client.target.shown, "dry_run": dry_run, "steps": planned, "done": done})
    elif not steps:
        say("nothing of neardup's is there" if remove else "all is set up; nothing to do")
    elif dry_run:
        say("a dry run: nothing was changed")
    return 0


def _told(sentence: str) -> str:
    say(sentence)
    return sentence


COMMANDS = (setup,)
