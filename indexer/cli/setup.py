"""`neardup setup`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import click

from indexer.cli.options.answers import command
from indexer.cli.options.groups import Taking, typed
from indexer.cli.options.shared import JsonAsked, index_store
from indexer.cli.terminal.output import answer, answer_json, can_ask, say
from indexer.errors import UsageError
from indexer.library.engine_options import NewIndex, PipelineOptions
from indexer.model.declared import Option
from indexer.text.counts import counted


@dataclass(frozen=True, slots=True)
class Mode:
    """The mode of `neardup setup`: set-up, removal or repair, for real or as a rehearsal."""

    dry_run: Annotated[bool, Option("Print the exact requests, and send only requests without changes.")] = False
    remove: Annotated[bool, Option("Remove everything of neardup's.", typed=True)] = False
    yes: Annotated[bool, Option("With --remove: don't ask for confirmation.", goes_with=["remove"], typed=True)] = False
    repair: Annotated[bool, Option("Only restore the settings left behind by a killed `neardup index "
        "--bulk-load`.")] = False  # fmt: skip


@command(
    "outcomes:SetUp",
    name="setup",
    short_help="Set up an index in an engine, or remove neardup.",
    epilog="""
\b
Examples:
  neardup setup --store https://host:9200/articles --dry-run
  neardup setup --store https://host:9200/new-index --shards 3 --replicas 1
  neardup setup --store https://host:9200/articles --pipelines --field title --field body
  neardup setup --store https://host:9200/articles --search-templates
  neardup setup --store https://host:9200/articles --remove

Creates the index if it does not exist. To an existing index it adds fields below "neardup", and changes nothing else.
Running it again changes nothing.

--remove deletes an index if neardup created it and nobody else filled it, after you confirm. From any other index it
removes neardup's values, by a script for each document (if the engine allows no scripts, "neardup" stays as null),
and deletes documents with nothing else in them. The empty fields stay in the mapping until the next reindex, because
a mapping can't drop a field.

--pipelines adds neardup-keys-INDEX and neardup-simhash-INDEX, --search-templates neardup-similar-INDEX and
neardup-cluster-INDEX, --dashboards "Duplicate clusters", "Ingest health" and "Copied passages" in Kibana or
OpenSearch Dashboards. They replace earlier versions. With --remove, only these are removed. Credentials for the
dashboards come from the same settings as for the store.
""",
)
def setup_command(
    *, store: Annotated[str, index_store("The index.")],
    new: Annotated[NewIndex, Taking(not_with=["remove", "repair"])], pipelines: PipelineOptions,
    search_templates: Annotated[bool, Option("Also install search templates, for applications that look for similar "
        "documents by name.", not_with=["repair"])],
    dashboards: Annotated[str | None, Option("Also install dashboards in Kibana or OpenSearch Dashboards at this URL.",
        metavar="URL", not_with=["repair"])],
    space: Annotated[str, Option("The space or tenant for --dashboards.  [default: the product's default]",
        metavar="NAME", goes_with=["dashboards"])] = "",
    mode: Mode, json: JsonAsked,
) -> int:  # fmt: skip
    """Set up an index in a search engine for neardup; it can be repeated safely."""
    from indexer.library.setting_up import setup

    done = setup(
        store,
        new,
        # In a settings file they are for other runs.
        pipelines if pipelines.pipelines else PipelineOptions(),
        search_templates=search_templates,
        dashboards=dashboards,
        space=space,
        remove=mode.remove,
        repair=mode.repair,
        dry_run=mode.dry_run,
        # So are these for the indices that are new.
        for_new=[name for name in ("shards", "replicas") if not typed(name)],
        confirm=None if mode.yes else _confirm,
        told=say,
    )
    if json:
        answer_json(done)
        return 0
    if mode.dry_run:
        for step in done.steps:
            for line in (f"# {step.why}", *step.text.splitlines(), ""):
                answer(line)
    if not done.steps:
        say(_NOTHING["repair" if mode.repair else "remove" if mode.remove else "set up"])
    elif mode.dry_run:
        say("a dry run: nothing was changed")
    return 0


_NOTHING = {
    "repair": "nothing is left of a bulk load; nothing to do",
    "remove": "nothing of neardup's is there",
    "set up": "all is set up; nothing to do",
}


def _confirm(indices: Mapping[str, int]) -> None:
    for index, count in indices.items():
        say(f"the index {index} will be deleted with its {counted(count, 'document')}, which neardup made")
    if not can_ask():
        raise UsageError("--remove asks for confirmation on a terminal; give --yes to delete the index without it")
    click.confirm("Delete it?" if len(indices) == 1 else "Delete them?", abort=True, err=True)


COMMANDS = (setup_command,)
