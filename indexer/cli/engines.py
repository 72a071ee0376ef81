"""`neardup setup`, `neardup annotate` and `neardup follow`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import click

from indexer.cli.options.commands import A_PATH, Taking, command, refuse_typed, typed
from indexer.cli.options.shared import JsonAsked, RefreshAsked, RunOutput, index_store
from indexer.cli.terminal.interrupts import stoppable
from indexer.cli.terminal.output import answer, answer_json, confirm, counts, html_line, say, shown_store
from indexer.library.engine_options import Alerting, Annotating, NewIndex, PipelineOptions, Watching
from indexer.library.options import Extraction, Fingerprinting, Walk, WorkerLimits
from indexer.model.declared import Option
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.following import Followed
    from indexer.library.outcomes import AnnotatedDocuments


@command("outcomes:SetUp", name="setup", short_help="Set up an index in an engine, or remove neardup.")
def setup_command(  # noqa: PLR0913 - they are options of the command
    *, store: Annotated[str, index_store("The index.")],
    new: Annotated[NewIndex, Taking(not_with=("remove", "repair"))], pipelines: PipelineOptions,
    search_templates: Annotated[bool, Option("Also install search templates, for applications that look for similar "
        "documents by name.", not_with=["repair"])],
    dashboards: Annotated[str | None, Option("Also install dashboards in Kibana or OpenSearch Dashboards at this URL.",
        metavar="URL", not_with=["repair"])],
    space: Annotated[str, Option("The space or tenant for --dashboards.  [default: the product's default]",
        metavar="NAME", goes_with=["dashboards"])] = "",
    dry_run: Annotated[bool, Option("Print the exact requests, and send only requests without changes.")],
    remove: Annotated[bool, Option("Remove everything of neardup's.", typed=True)],
    yes: Annotated[bool, Option("With --remove: don't ask for confirmation.", goes_with=["remove"], typed=True)],
    repair: Annotated[bool, Option("Only restore the settings left behind by a killed `neardup index --bulk-load`.")],
    json: JsonAsked,
) -> int:  # fmt: skip
    """Set up an index in a search engine for neardup; it can be repeated safely.

    Examples:
      neardup setup --store https://host:9200/articles --dry-run
      neardup setup --store https://host:9200/new-index --shards 3 --replicas 1
      neardup setup --store https://host:9200/articles --pipelines --field title --field body
      neardup setup --store https://host:9200/articles --search-templates
      neardup setup --store https://host:9200/articles --remove

    Creates the index if it does not exist. To an existing index it adds fields below "neardup", and changes nothing
    else. Running it again changes nothing.

    --remove deletes an index if neardup created it and nobody else filled it, after you confirm. From any other index
    it removes neardup's values, by a script for each document (if the engine allows no scripts, "neardup" stays as
    null), and deletes documents with nothing else in them. The empty fields stay in the mapping until the next reindex,
    because a mapping can't drop a field.

    --pipelines adds neardup-keys-INDEX and neardup-simhash-INDEX, --search-templates neardup-similar-INDEX and
    neardup-cluster-INDEX, --dashboards "Duplicate clusters", "Ingest health" and "Copied passages" in Kibana or
    OpenSearch Dashboards. They replace earlier versions. With --remove, only these are removed. Credentials for the
    dashboards come from the same settings as for the store.
    """
    from indexer.library.setting_up import setup

    done = setup(
        store,
        new,
        # In a settings file they are for other runs.
        pipelines if pipelines.pipelines else PipelineOptions(),
        search_templates=search_templates,
        dashboards=dashboards,
        space=space,
        remove=remove,
        repair=repair,
        dry_run=dry_run,
        # So are these for the indices that are new.
        for_new=[name for name in ("shards", "replicas") if not typed(name)],
        confirm=None if yes else _confirm_deletion,
        told=say,
    )
    if json:
        answer_json(done)
        return 0
    if dry_run:
        for step in done.steps:
            for line in (f"# {step.why}", *step.text.splitlines(), ""):
                answer(line)
    if not done.steps:
        say(_NOTHING["repair" if repair else "remove" if remove else "set up"])
    elif dry_run:
        say("a dry run: nothing was changed")
    return 0


_NOTHING = {
    "repair": "nothing is left of a bulk load; nothing to do",
    "remove": "nothing of neardup's is there",
    "set up": "all is set up; nothing to do",
}


def _confirm_deletion(indices: Mapping[str, int]) -> None:
    for index, count in indices.items():
        say(f"the index {index} will be deleted with its {counted(count, 'document')}, which neardup made")
    otherwise = "--remove asks for confirmation on a terminal; give --yes to delete the index without it"
    confirm("Delete it?" if len(indices) == 1 else "Delete them?", otherwise)


@command("outcomes:AnnotatedDocuments", name="annotate", short_help="Add fingerprints to the documents of an index.")
def annotate_command(
    *, store: Annotated[str, index_store("The index, alias or data stream.")], annotating: Annotating,
    making: Fingerprinting, worker: WorkerLimits, refresh: RefreshAsked = "wait",
    talk: RunOutput,
) -> int:  # fmt: skip
    """Fingerprint the documents of an index from their own fields.

    Examples:
      neardup annotate --store https://host:9200/articles --field body --dry-run
      neardup annotate --store https://host:9200/articles --field title --field body
      neardup annotate --store https://host:9200/articles --field body --source-field url --title-field title
      neardup annotate --store https://host:9200/pages --field html --format html --docs-per-second 200
      neardup annotate --store https://host:9200/archive --field body --to archive-neardup

    Adds fields below "neardup" to documents without them or with a changed text. Changes nothing else. The index
    remembers its text fields, for all later commands; annotate refuses others.

    The next run reads only documents written since, and counts the rest as trusted; --all reads all. If somebody
    changes a document at the same moment, it is never overwritten but processed again. After an interruption, run the
    same command again.

    An index is refused if it does not keep all of _source, is read-only, or has versions assigned by its owner. Use
    --to to write its fingerprints to another index.
    """
    from indexer.library.annotating import annotate

    done = annotate(
        store, annotating, making, worker, refresh=refresh, following=talk.following("annotating"), tell=say
    )
    talk.tell(done, _show_annotated)
    return 0


def _show_annotated(done: AnnotatedDocuments) -> None:
    store = shlex.quote(done.to or done.store)
    trusted = f"{done.trusted:,} of them not written since the last run, so not read; --all reads them too"
    renewed = f", {done.renewed:,} with the same text, and a new source, title or sketch" if done.renewed else ""
    done_as = "to annotate" if done.dry_run else "annotated"
    lines = [
        (done_as, done.annotated, f"{done.missing:,} new, {done.stale:,} with another text than before{renewed}"),
        ("unchanged", done.unchanged, trusted if done.trusted else ""),
        ("without", done.without or None, "have none of the fields"),
        ("empty", done.empty or None, "no words, so only equal ones match"),
        ("too short", done.short or None, "left out of answers unless asked for"),
        html_line(done.html_as_text, done.annotated),
        ("clusters", done.clusters, f"made or changed; shown by: neardup report --store {store}"),
        ("beside", done.beside or None, "too long for passages in the document itself; they lie in an index beside"),
        ("done again", done.changed or None, "somebody changed them at the same moment"),
        ("gone", done.gone or None, "deleted meanwhile"),
        ("removed", done.removed or None, "their documents are gone"),
        ("failed", done.failures, f"{done.reasons}; listed by: neardup failures --store {store}"),
    ]
    counts(lines)
    if done.reading_seconds is not None:
        say(f"{done.reading_seconds:.1f} s of this were for reading texts again, to compare copies")
    if done.forgotten:
        say(
            "the mapping of the index may not be changed here, so it does not remember the fields; name them with "
            "--field wherever texts are read again"
        )
    if done.dry_run:
        say("a dry run: nothing was changed")


_OF_INDICES = (
    *("field", "format", "source_field", "title_field", "to", "allow_version_change", "docs_per_second", "slices"),
    "lease",
)
_OF_FOLDERS = ("include", "exclude", "hidden", "follow_links", "id_from")
# Seconds after a signal in which it ends whatever it is doing: nothing is lost by a kill.
_WITHIN = 0.8


@command(name="follow", short_help="Keep an index or a file up to date.")
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, type=A_PATH)
def follow_command(  # noqa: PLR0913 - they are options of the command
    *, folders: tuple[str, ...],
    store: Annotated[str, index_store("The index, alias or data stream; with folders, the store file.")],
    annotating: Annotated[Annotating, Taking("Of an index, which fields are read",
        without=("fields_changed", "cluster", "all", "again", "dry_run"))],
    walk: Annotated[Walk, Taking("In folders, which files are read", without=("paths_from", "columns"))],
    making: Fingerprinting,
    worker: WorkerLimits, watching: Watching, alerting: Alerting, refresh: RefreshAsked = "wait",
    once: Annotated[bool, Option("End when everything is up to date.")],
    status_port: Annotated[int | None, Option("Answer GET /healthz and /metrics at this port (0: any free one).",
        least=0, most=65535)],
    status_host: Annotated[str, Option("The address for --status-port. It shows counts and the index's name, and asks "
        "for no token.", metavar="ADDRESS")] = "127.0.0.1",
) -> None:  # fmt: skip
    """Keep fingerprints and clusters up to date as documents come and go, in an index, or in a file for folders.

    Examples:
      neardup follow --store https://host:9200/articles --field body
      neardup follow --store https://host:9200/articles --status-port 8601
      neardup --log-format json follow --store https://host:9200/archive --to archive-neardup
      neardup follow --store https://host:9200/articles --on-copy https://chat.example.org/hooks/copies
      neardup follow --store https://host:9200/articles --once
      neardup follow ~/papers --store ~/papers.neardup

    Takes up new, changed and deleted documents within seconds, as `neardup annotate --cluster` does, and groups
    everything anew in quiet times. A quiet index gets no writes, and one request an interval. Failed documents are
    tried again when they change, unreadable files also every ten minutes. Alerts start after the first clustering.

    If two processes follow one index, one works, and the other takes over when it ends. SIGTERM and Ctrl-C end the
    command within a second; the next run does the rest. It needs the privilege `monitor`.

    With FOLDERs it keeps a file up to date, as `neardup index --cluster` does, and removes documents whose files are
    gone. With the extra watch the system reports changes. Without it, and for folders on other machines, it looks
    through them every interval, or less often if that takes long.
    """
    from indexer.library.following import Follower
    from indexer.service.status import status_served

    if folders:
        refuse_typed(_OF_INDICES, "is for an index, and not for folders")
    else:
        refuse_typed(_OF_FOLDERS, "goes with folders")
    followed: Followed
    if folders:
        from indexer.library.followed_folders import FollowedFolders

        reading = Extraction(content=annotating.content, worker=worker)
        followed = FollowedFolders(store, folders, walk, making, reading, watching, tell=say)
    else:
        from indexer.library.annotating import FollowedIndex

        followed = FollowedIndex(store, annotating, making, worker, watching, refresh=refresh, tell=say)
    follower, taken_up = Follower(followed, watching, alerting, tell=say), False
    shown = shown_store(store)
    served = (
        nullcontext()
        if status_port is None
        else status_served(follower.state, shown, status_host, status_port)
    )  # fmt: skip

    def ended() -> None:
        left = "all changes are taken up" if taken_up else "the next run takes up the rest"
        say(f"ended; {left}", **follower.state.as_dict())

    with stoppable(within=_WITHIN, last=ended) as (stop, _), served as port:
        say(f"follows {shown}" + (f", and tells its state at http://{status_host}:{port}/healthz" if port else ""))
        try:
            follower.run(stop, once=once)
            taken_up = not stop.is_set() and not follower.state.held
        except KeyboardInterrupt:
            if not stop.is_set():
                raise
    ended()


COMMANDS = (setup_command, annotate_command, follow_command)
