"""`neardup setup`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from indexer.cli.options import json_option
from indexer.cli.output import answer, answer_json, say, shown_store
from indexer.cli.scheme_options import only_new_option, schemes_of_new
from indexer.errors import UsageError

if TYPE_CHECKING:
    from indexer.dashboards import Dashboards, Request
    from indexer.provision import Provision, Step
    from indexer.stores.connection import Client


@click.command(
    short_help="Set up an index in a cluster, or take that away.",
    epilog="""
\b
Examples:
  neardup setup --store https://host:9200/articles --dry-run
  neardup setup --store https://host:9200/new-index --shards 3 --replicas 1
  neardup setup --store https://host:9200/articles --pipelines --field title --field body
  neardup setup --store https://host:9200/articles --remove

Makes the index where there is none; to one that is there it adds fields below "neardup", and changes nothing else.
Doing it again changes nothing. --remove deletes an index that neardup made and nobody else filled, once you have said
yes; from any other it strips neardup's values, by a script for each document (where the cluster allows no scripts,
"neardup" stays as null), and deletes documents that hold nothing else. The names of the fields stay in its mapping
until the next reindex: no mapping can give up a field. --pipelines adds neardup-keys-INDEX and neardup-simhash-INDEX;
with --remove only they are taken away.

--dashboards puts "Duplicate clusters" and "Ingest health" into Kibana or OpenSearch Dashboards, in place of those of an
earlier time; with --remove only they are taken away. Who asks is said by the same settings as for the store.
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
@only_new_option
@click.option("--pipelines", is_flag=True, help="Also the ingest pipelines, which fingerprint what others send.")
@click.option("--field", multiple=True, metavar="NAME", help="A field with the text, for --pipelines.  [default: body]")
@click.option(
    "--default-pipeline",
    type=click.Choice(["keys", "simhash"]),
    help="The pipeline to be the index's default one; never in place of another.",
)
@click.option(
    "--final-pipeline",
    type=click.Choice(["keys", "simhash"]),
    help="The pipeline to be the index's final one; never in place of another.",
)
@click.option("--dashboards", metavar="URL", help="Also dashboards, into the Kibana or OpenSearch Dashboards there.")
@click.option("--space", default="", metavar="NAME", help="The space, or tenant, for --dashboards.  [default: its own]")
@click.option("--dry-run", is_flag=True, help="Print the exact requests, and send none that changes anything.")
@click.option("--remove", is_flag=True, help="Take away what neardup added.")
@click.option("--yes", is_flag=True, allow_from_autoenv=False, help="With --remove: do not ask.")
@click.option(
    "--repair",
    is_flag=True,
    help="Only put back the settings that a killed `neardup index --bulk-load` left behind.",
)
@json_option
def setup(store: str, dry_run: bool, remove: bool, repair: bool, json: bool, **given: Any) -> int:
    """Set up an index in a cluster for neardup; do it again as often as you like."""
    from indexer.provision import Provision, Step
    from indexer.stores.connection import connect
    from indexer.stores.relaxed import repairs

    if repair and remove:
        raise UsageError("--repair and --remove are two things; give one of them")
    if "://" not in store or store.startswith("sqlite:"):
        raise UsageError(
            f"{shown_store(store)}: an embedded store needs no setting up; name one like https://host:9200/INDEX"
        )
    client = connect(store)
    try:
        provision = Provision(client)
        boards = _dashboards(provision.name, given)
        steps = [Step(*each) for each in repairs(client)] if repair or (remove and not given["pipelines"]) else []
        if not repair:
            steps += _removal(provision, given) if remove else _set_up(provision, given)
        more = [] if boards is None else boards.removal() if remove else boards.set_up()
        everything: list[Step | Request] = [*steps, *more]
        if dry_run and not json:
            for step in everything:
                for line in (f"# {step.why}", *step.request().splitlines(), ""):
                    answer(line)
        if not dry_run and not given["yes"]:
            _confirm(provision, [step.deletes for step in steps if step.deletes])
        done = [] if dry_run else [_told(sentence) for sentence in provision.carry_out(steps)]
        if boards and not dry_run:
            done += [_told(sentence) for sentence in boards.carry_out(more)]
    finally:
        client.close()
    if json:
        planned = [
            {"why": step.why, "method": step.method, "path": step.path, "body": step.body} for step in everything
        ]
        answer_json({"store": client.target.shown, "dry_run": dry_run, "steps": planned, "done": done})
    elif not everything:
        say(_NOTHING["repair" if repair else "remove" if remove else "set up"])
    elif dry_run:
        say("a dry run: nothing was changed")
    return 0


_NOTHING = {
    "repair": "nothing is left of a bulk load; nothing to do",
    "remove": "nothing of neardup's is there",
    "set up": "all is set up; nothing to do",
}


def _dashboards(name: str, given: dict[str, Any]) -> Dashboards | None:
    from indexer.dashboards import Dashboards

    if given["dashboards"]:
        return Dashboards(given["dashboards"], name, space=given["space"])
    if given["space"]:
        raise UsageError("--space is about dashboards: add --dashboards")
    return None


def _side_indices(client: Client) -> list[Step]:
    """What makes the indices beside the store's own that dashboards look at, before there is anything in them."""
    from indexer.provision import Step
    from indexer.stores.side_index import clusters_index, failures_index

    sides = [(side.name, side.making()) for side in (clusters_index(client), failures_index(client))]
    return [Step(f"make the index {name}, or add to its fields", "PUT", *wanted) for name, wanted in sides if wanted]


def _set_up(provision: Provision, given: dict[str, Any]) -> list[Step]:
    from indexer.pipeline import store_info
    from indexer.pipelines import Pipelines
    from indexer.store_schemes import require_exactly

    asked = {name: given[f"{name}_pipeline"] for name in ("default", "final")}
    if not given["pipelines"] and (given["field"] or any(asked.values())):
        raise UsageError("--field, --default-pipeline and --final-pipeline are about pipelines: add --pipelines")
    wanted = schemes_of_new(given)
    info = store_info(given["content"], wanted)
    if given["schemes"] is not None and (there := provision.schemes()) is not None:
        require_exactly(wanted, there, ())
    steps = provision.set_up(info, shards=given["shards"], replicas=given["replicas"])
    if given["pipelines"]:
        steps += Pipelines(provision.client).set_up(info, given["field"], **asked)
    if given["dashboards"]:
        steps += _side_indices(provision.client)
    return steps


def _removal(provision: Provision, given: dict[str, Any]) -> list[Step]:
    from indexer.pipelines import Pipelines

    if given["dashboards"] and not given["pipelines"]:
        return []
    steps = Pipelines(provision.client).removal(asked=given["pipelines"])
    return steps if given["pipelines"] else steps + provision.removal()


def _confirm(provision: Provision, indices: Sequence[str]) -> None:
    """Ask before indices are deleted as a whole."""
    for index in indices:
        count = provision.documents(index)
        say(f"the index {index} is to be deleted with its {count:,} documents, which are neardup's own")
    if indices:
        if not sys.stdin.isatty():
            raise UsageError("--remove asks on a terminal only; give --yes to delete the index without being asked")
        click.confirm("Delete it?" if len(indices) == 1 else "Delete them?", abort=True, err=True)


def _told(sentence: str) -> str:
    say(sentence)
    return sentence


COMMANDS = (setup,)
