"""`neardup follow`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import click

from indexer.cli.options.answers import command
from indexer.cli.options.groups import A_PATH, Taking, refuse_typed
from indexer.cli.options.shared import RefreshAsked, index_store
from indexer.cli.terminal.interrupts import stoppable
from indexer.cli.terminal.output import say, shown_store
from indexer.library.engine_options import Alerting, Annotating, Watching
from indexer.library.options import Extraction, Fingerprinting, Walk, WorkerLimits
from indexer.model.declared import Option

if TYPE_CHECKING:
    from indexer.library.followed import Followed

_OF_INDICES = (
    *("field", "format", "source_field", "title_field", "to", "allow_version_change", "docs_per_second", "slices"),
    "lease",
)
_OF_FOLDERS = ("include", "exclude", "hidden", "follow_links", "id_from")
# Seconds after a signal in which it ends whatever it is doing: nothing is lost by a kill.
_WITHIN = 0.8


@command(
    name="follow",
    short_help="Keep an index or a file up to date.",
    epilog="""
\b
Examples:
  neardup follow --store https://host:9200/articles --field body
  neardup follow --store https://host:9200/articles --status-port 8601
  neardup --log-format json follow --store https://host:9200/archive --to archive-neardup
  neardup follow --store https://host:9200/articles --on-copy https://chat.example.org/hooks/copies
  neardup follow --store https://host:9200/articles --once
  neardup follow ~/papers --store ~/papers.neardup

Takes up new, changed and deleted documents within seconds, as `neardup annotate --cluster` does, and groups
everything anew in quiet times. A quiet index gets no writes, and one request an interval. Failed documents are tried
again when they change, unreadable files also every ten minutes. Alerts start after the first clustering.

If two processes follow one index, one works, and the other takes over when it ends. SIGTERM and Ctrl-C end the
command within a second; the next run does the rest. It needs the privilege `monitor`.

With FOLDERs it keeps a file up to date, as `neardup index --cluster` does, and removes documents whose files are
gone. With the extra watch the system reports changes. Without it, and for folders on other machines, it looks through
them every interval, or less often if that takes long.
""",
)
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, type=A_PATH)
def follow_command(  # noqa: PLR0913 - they are options of the command
    *, folders: tuple[str, ...],
    store: Annotated[str, index_store("The index, alias or data stream; with folders, the store file.")],
    annotating: Annotated[Annotating, Taking("Of an index, which fields are read",
        without=["fields_changed", "cluster", "all", "again", "dry_run"])],
    walk: Annotated[Walk, Taking("In folders, which files are read", without=["paths_from", "columns"])],
    making: Fingerprinting,
    worker: WorkerLimits, watching: Watching, alerting: Alerting, refresh: RefreshAsked = "wait",
    once: Annotated[bool, Option("End when everything is up to date.")],
    status_port: Annotated[int | None, Option("Answer GET /healthz and /metrics at this port (0: any free one).",
        least=0, most=65535)],
    status_host: Annotated[str, Option("The address for --status-port. It shows counts and the index's name, and asks "
        "for no token.", metavar="ADDRESS")] = "127.0.0.1",
) -> None:  # fmt: skip
    """Keep fingerprints and clusters up to date as documents come and go, in an index, or in a file for folders."""
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
        from indexer.library.followed import FollowedIndex

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


COMMANDS = (follow_command,)
