"""`neardup setup`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import click

from indexer.cli.options.groups import Group, Related, typed
from indexer.cli.options.schemes import schemes_of_new_option
from indexer.cli.options.shared import CONTENTS, index_option, json_option
from indexer.cli.terminal.output import answer, answer_json, can_ask, say, shown_store
from indexer.errors import UsageError
from indexer.model.paths import store_file
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.engine.client.base import Client
    from indexer.engine.setup.dashboards import DashboardRequest, Dashboards
    from indexer.engine.setup.provision import Provision, SetupStep
    from indexer.extract.base import Content


Kind = Literal["keys", "simhash"]
_KINDS = click.Choice(get_args(Kind))


@dataclass(frozen=True, slots=True)
class NewIndex:
    """The options of an index that is made where there is none; None where nothing was asked."""

    shards: int | None
    replicas: int | None
    content: Content
    schemes: str | None


new_index_options = Group(
    NewIndex,
    click.option(
        "--shards",
        cls=Related,
        not_with=["remove", "repair"],
        type=click.IntRange(1),
        metavar="N",
        help="Shards of a new index.  [default: the engine's]",
    ),
    click.option(
        "--replicas",
        cls=Related,
        not_with=["remove", "repair"],
        type=click.IntRange(0),
        metavar="N",
        help="Replicas of a new index.  [default: the engine's]",
    ),
    click.option(
        "--content",
        cls=Related,
        not_with=["remove", "repair"],
        type=CONTENTS,
        default="landmarks",
        show_default=True,
        help="What counts as the text of HTML; the same for all documents of a store.",
    ),
    schemes_of_new_option(not_with=["remove", "repair"]),
)


@dataclass(frozen=True, slots=True)
class PipelineChoice:
    """The ingest pipelines, the fields with their text, and which of them the index is to have by itself."""

    pipelines: bool
    field: tuple[str, ...]
    default_pipeline: Kind | None
    final_pipeline: Kind | None


pipeline_options = Group(
    PipelineChoice,
    click.option(
        "--pipelines",
        cls=Related,
        not_with=["repair"],
        is_flag=True,
        help="Also install the ingest pipelines, which fingerprint documents that others send.",
    ),
    click.option(
        "--field",
        cls=Related,
        goes_with=["pipelines"],
        not_with=["remove", "repair"],
        multiple=True,
        metavar="NAME",
        help="A field with the text, for --pipelines.  [default: those that the index remembers, else body]",
    ),
    click.option(
        "--default-pipeline",
        cls=Related,
        goes_with=["pipelines"],
        not_with=["remove", "repair"],
        type=_KINDS,
        help="Make this the index's default pipeline; an existing one is never replaced.",
    ),
    click.option(
        "--final-pipeline",
        cls=Related,
        goes_with=["pipelines"],
        not_with=["remove", "repair"],
        type=_KINDS,
        help="Make this the index's final pipeline; an existing one is never replaced.",
    ),
)


@dataclass(frozen=True, slots=True)
class Mode:
    """The mode of `neardup setup`: setting up, its removal or a repair, in earnest or as a rehearsal."""

    dry_run: bool
    remove: bool
    yes: bool
    repair: bool


mode_options = Group(
    Mode,
    click.option("--dry-run", is_flag=True, help="Print the exact requests, and send none that change anything."),
    click.option("--remove", is_flag=True, help="Remove what neardup added."),
    click.option(
        "--yes",
        cls=Related,
        goes_with=["remove"],
        is_flag=True,
        allow_from_autoenv=False,
        help="With --remove: don't ask for confirmation.",
    ),
    click.option(
        "--repair",
        is_flag=True,
        help="Only restore the settings that a killed `neardup index --bulk-load` left behind.",
    ),
)


@click.command(
    name="setup",
    short_help="Set up an index in an engine, or remove neardup.",
    epilog="""
\b
Examples:
  neardup setup --store https://host:9200/articles --dry-run
  neardup setup --store https://host:9200/new-index --shards 3 --replicas 1
  neardup setup --store https://host:9200/articles --pipelines --field title --field body
  neardup setup --store https://host:9200/articles --remove

Creates the index if it does not exist; to an existing index it adds fields below "neardup", and changes nothing else.
Running it again changes nothing. --remove deletes an index that neardup created and nobody else filled, after you
confirm; from any other index it removes neardup's values, by a script for each document (if the engine allows no
scripts, "neardup" stays as null), and deletes documents that hold nothing else. The empty fields stay in the mapping
until the next reindex, because a mapping can't drop a field. --pipelines adds neardup-keys-INDEX and
neardup-simhash-INDEX; with --remove, only these are removed.

--dashboards installs "Duplicate clusters" and "Ingest health" in Kibana or OpenSearch Dashboards and replaces earlier
versions of them; with --remove, only these are removed. Credentials come from the same settings as for the store.
""",
)
@index_option("The index.")
@new_index_options
@pipeline_options
@click.option(
    "--dashboards",
    cls=Related,
    not_with=["repair"],
    metavar="URL",
    help="Also install dashboards in Kibana or OpenSearch Dashboards at this URL.",
)
@click.option(
    "--space",
    cls=Related,
    goes_with=["dashboards"],
    default="",
    metavar="NAME",
    help="The space or tenant for --dashboards.  [default: the product's default]",
)
@mode_options
@json_option
def setup_command(
    store: str, new: NewIndex, pipelines: PipelineChoice, dashboards: str | None, space: str, mode: Mode, json: bool
) -> int:
    """Set up an index in a search engine for neardup; it can be repeated safely."""
    from indexer.engine.client.connection import connect
    from indexer.engine.setup.provision import Provision

    if mode.repair and mode.remove:
        raise UsageError("--repair and --remove can't be combined")
    if store_file(store):
        raise UsageError(
            f"{shown_store(store)}: an embedded store needs no set-up; name an index, like https://host:9200/INDEX"
        )
    client = connect(store)
    try:
        provision = Provision(client)
        boards = _dashboards(provision.name, dashboards, space)
        steps = _repairs(client) if mode.repair or (mode.remove and not pipelines.pipelines) else []
        if not mode.repair:
            steps += (
                _removal(provision, pipelines, dashboards)
                if mode.remove
                else _set_up(provision, new, pipelines, dashboards)
            )
        more = [] if boards is None else boards.removal() if mode.remove else boards.set_up()
        everything: list[SetupStep | DashboardRequest] = [*steps, *more]
        if mode.dry_run and not json:
            for step in everything:
                for line in (f"# {step.why}", *step.request().splitlines(), ""):
                    answer(line)
        if not mode.dry_run and not mode.yes:
            _confirm(provision, [step.deletes for step in steps if step.deletes])
        done = [] if mode.dry_run else [_say_step(sentence) for sentence in provision.carry_out(steps)]
        if boards and not mode.dry_run:
            done += [_say_step(sentence) for sentence in boards.carry_out(more)]
    finally:
        client.close()
    if json:
        planned = [
            {"why": step.why, "method": step.method, "path": step.path, "body": step.body} for step in everything
        ]
        answer_json({"store": client.target.shown, "dry_run": mode.dry_run, "steps": planned, "done": done})
    elif not everything:
        say(_NOTHING["repair" if mode.repair else "remove" if mode.remove else "set up"])
    elif mode.dry_run:
        say("a dry run: nothing was changed")
    return 0


_NOTHING = {
    "repair": "nothing is left of a bulk load; nothing to do",
    "remove": "nothing of neardup's is there",
    "set up": "all is set up; nothing to do",
}


def _dashboards(name: str, url: str | None, space: str) -> Dashboards | None:
    from indexer.engine.setup.dashboards import Dashboards

    if url:
        return Dashboards(url, name, space=space)
    return None


def _side_indices(client: Client) -> list[SetupStep]:
    """The steps that make the indices for dashboards beside the store's own, before there is anything in them."""
    from indexer.engine.index.side_index import clusters_index, failures_index
    from indexer.engine.setup.provision import SetupStep

    sides = [(side.name, side.making()) for side in (clusters_index(client), failures_index(client))]
    return [
        SetupStep(f"make the index {name}, or add to its fields", "PUT", *wanted) for name, wanted in sides if wanted
    ]


def _set_up(provision: Provision, new: NewIndex, pipelines: PipelineChoice, dashboards: str | None) -> list[SetupStep]:
    from indexer.engine.setup.pipelines import Pipelines
    from indexer.ingest.indexing import store_info
    from indexer.matching.kept import schemes_of_new
    from indexer.stores.schemes import require_exactly

    default, final = (pipelines.default_pipeline, pipelines.final_pipeline) if pipelines.pipelines else (None, None)
    wanted = schemes_of_new(new.schemes)
    info = store_info(new.content, wanted)
    if new.schemes is not None and (there := provision.schemes()) is not None:
        require_exactly(wanted, there, ())
    # What a settings file says is for the indices that are new.
    shards, replicas = (
        getattr(new, name) if typed(name) or not provision.exists else None for name in ("shards", "replicas")
    )
    steps = provision.set_up(info, shards=shards, replicas=replicas)
    if pipelines.pipelines:
        steps += Pipelines(provision.client).set_up(info, pipelines.field, default=default, final=final)
    if dashboards:
        steps += _side_indices(provision.client)
    return steps


def _repairs(client: Client) -> list[SetupStep]:
    from indexer.engine.index.relaxed import repairs
    from indexer.engine.setup.provision import SetupStep

    return [SetupStep(*repair) for repair in repairs(client)]


def _removal(provision: Provision, pipelines: PipelineChoice, dashboards: str | None) -> list[SetupStep]:
    from indexer.engine.setup.pipelines import Pipelines

    if dashboards and not pipelines.pipelines:
        return []
    steps = Pipelines(provision.client).removal(asked=pipelines.pipelines)
    return steps if pipelines.pipelines else steps + provision.removal()


def _confirm(provision: Provision, indices: Sequence[str]) -> None:
    """Ask before indices are deleted as a whole."""
    for index in indices:
        count = provision.documents(index)
        say(f"the index {index} will be deleted with its {counted(count, 'document')}, which neardup made")
    if indices:
        if not can_ask():
            raise UsageError("--remove asks for confirmation on a terminal; give --yes to delete the index without it")
        click.confirm("Delete it?" if len(indices) == 1 else "Delete them?", abort=True, err=True)


def _say_step(sentence: str) -> str:
    say(sentence)
    return sentence


COMMANDS = (setup_command,)
