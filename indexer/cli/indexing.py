"""`neardup index` and `neardup failures`."""

from __future__ import annotations

import dataclasses
import os
import shlex
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, get_args

import click

from indexer import own_files
from indexer.cli.clusters import arrivals
from indexer.cli.files.path_lists import list_of_paths
from indexer.cli.options.clustering import Arriving, arrival_options
from indexer.cli.options.columns import NamedColumns, column_options
from indexer.cli.options.groups import Group, Related
from indexer.cli.options.paths import A_FILE, A_PATH
from indexer.cli.options.schemes import Fingerprinting, fingerprint_options
from indexer.cli.options.shared import (
    Extraction,
    Talk,
    begun,
    content_of,
    extraction_options,
    json_option,
    opened,
    refresh_option,
    store_folder,
    store_option,
    talk_options,
    tell_contended,
)
from indexer.cli.terminal.hints import with_store
from indexer.cli.terminal.interrupts import end_at_once
from indexer.cli.terminal.output import answer, answer_json, printable, say, shown_store, size
from indexer.errors import ExtractionError, NoStoreError, UsageError
from indexer.extract.base import Content
from indexer.ingest.indexing import Settings, Summary, store_info
from indexer.ingest.indexing import index as run_index
from indexer.ingest.sources import LEFT_OUT, IdFrom, Selection, Sources
from indexer.model.paths import store_file
from indexer.text.counts import counted

if TYPE_CHECKING:
    from pathlib import Path

    from indexer.clustering.arrivals import Arrived
    from indexer.ingest.dead_letters import DeadLetters
    from indexer.ingest.readers.named_columns import KnownColumns
    from indexer.stores import Store
    from indexer.stores.base import Refresh


@dataclass
class _Stopped:
    """The signal that ended the run, once one did."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class Walk:
    """The list of paths beside the command line, the files of a folder that are taken, and what names documents."""

    paths_from: str | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    hidden: bool
    follow_links: bool
    id_from: IdFrom
    columns: NamedColumns


walk_options = Group(
    Walk,
    click.option(
        "--paths-from",
        type=A_PATH,
        metavar="FILE",
        help="Read paths from FILE (-: standard input), separated by newline or NUL.",
    ),
    click.option("--include", multiple=True, metavar="GLOB", help="In folders, read only matching files, of any kind."),
    click.option("--exclude", multiple=True, metavar="GLOB", help="In folders, skip matching files and folders."),
    click.option("--hidden", is_flag=True, help="In folders, also read hidden files."),
    click.option(
        "--follow-links", is_flag=True, help="In folders, follow symbolic links to folders, each folder once."
    ),
    click.option(
        "--id-from",
        type=click.Choice(get_args(IdFrom)),
        default="path",
        show_default=True,
        help="The id of a file: its path relative to the store's folder (absolute if it is elsewhere), its "
        "absolute path, its path below the folder given, its file name, its file name without suffix, or a "
        "digest of its content. JSON lines have their own.",
    ),
    column_options,
)


@dataclass(frozen=True, slots=True)
class Loading:
    """The way documents are written, and what becomes of those that fail."""

    refresh: Refresh
    dead_letters: str | None
    bulk_load: bool
    retry_failed: bool
    no_create: bool
    strict: bool
    dry_run: bool


loading_options = Group(
    Loading,
    refresh_option,
    click.option(
        "--dead-letters",
        type=A_FILE,
        metavar="FILE",
        help="Append documents that the store refuses to FILE with the reason, as JSON lines that neardup index "
        "can read again.  [default: neardup-refused-TIME.jsonl, created when needed]",
    ),
    click.option(
        "--bulk-load",
        cls=Related,
        in_engine=True,
        is_flag=True,
        help="In a search engine: turn off the index's refreshes and replicas during the load, and restore its "
        "settings at the end.",
    ),
    click.option("--retry-failed", is_flag=True, help="Also try documents that failed before and have not changed."),
    click.option("--no-create", is_flag=True, help="End with exit code 3 if there is no store, instead of making it."),
    click.option("--strict", is_flag=True, help="End with exit code 6 if any document failed."),
    click.option("--dry-run", is_flag=True, help="List the ids and files that would be read, and change nothing."),
)


@click.command(
    short_help="Add documents to the store, or update them.",
    epilog="""
\b
Examples:
  neardup index docs/ papers/*.pdf           folders and files
  neardup index 'site/**/*.html' --jobs 4    a pattern that neardup expands
  zcat dump.jsonl.gz | neardup index -       JSON lines from standard input
  find . -name '*.xml' -print0 | neardup index --paths-from -
  neardup index docs/ --exclude 'drafts/*' --store ~/all.neardup

Folders are searched recursively. Hidden files, links to folders, and files that are not documents by their name
(styles, scripts, images) are skipped; the summary counts them as left out. ZIP and TAR archives are treated as folders.
Files that end in .jsonl or .ndjson, and "-", hold JSON lines: {"id", "text" or "html", optionally "title", "url"; the
rest is kept as metadata}. Each row of .csv, .tsv and .parquet files, each response of .warc, .wet and .wacz, and each
item of .rss and .atom is a document. One without an id is named by its file and number. Files may be compressed,
and may be on s3:// or gs://.

Run the same command again to resume: stored documents that have not changed are not extracted again. A document that
fails is recorded with its reason and never stops the run; it is not tried again until it changes, unless --retry-failed
is given. The exit code is still 0, unless --strict is given.
""",
)
@click.argument("paths", nargs=-1, metavar="[PATH|DIR|GLOB|-]...")
@store_option
@walk_options
@fingerprint_options
@extraction_options
@arrival_options
@loading_options
@talk_options
def index(
    paths: tuple[str, ...],
    store: str,
    walk: Walk,
    making: Fingerprinting,
    extraction: Extraction,
    arriving: Arriving,
    loading: Loading,
    talk: Talk,
) -> int:
    """Add documents to the store, or update them: extract their text, fingerprint it, keep the fingerprint."""
    if not paths and not walk.paths_from:
        raise UsageError("name at least one file, folder or pattern, or - for JSON lines on standard input")
    if walk.paths_from == "-" and "-" in paths:
        raise UsageError("standard input can't be the list of paths and JSON lines at once")
    from indexer.cli.files.refused import Refused, letters_path

    letters_file = letters_path(loading.dead_letters, paths)
    _keep_out(store, letters_file)
    selection = _selection(store, walk, extraction)

    def sources() -> Sources:
        return Sources(paths, selection, paths_from=list_of_paths(walk.paths_from) if walk.paths_from else ())

    all_sources = sources()
    if loading.dry_run:
        return _list(all_sources, as_json=talk.json)
    from indexer.ingest.readers.named_columns import KnownColumns
    from indexer.matching.kept import schemes_of, schemes_of_new

    known_store = _there(store, create=not loading.no_create)
    content, known = known_store or ("landmarks", KnownColumns())
    content = extraction.content or content
    selection = dataclasses.replace(selection, known=known)
    all_sources = sources()
    settings = _settings(content, making, extraction, retry_failed=loading.retry_failed)
    inputs = all_sources if known_store else begun(all_sources)
    if inputs is None:
        say("no document was found, so no store was made")
        if not talk.is_enough(Summary()):
            _report(Summary(), all_sources.left_out, store, as_json=talk.json, stopped=_Stopped())
        return 0
    summary, near = Summary(), None
    letters = Refused(letters_file, settings.options, settings.limits)
    made = store_info(content, schemes_of_new(making.schemes, making.scheme, made=known_store is None))
    with opened(store, create=made, refresh=loading.refresh) as target, _stoppable() as (stop, stopped):
        try:
            settings = dataclasses.replace(settings, schemes=schemes_of(target, making.scheme, making.schemes))
            for scheme in settings.schemes:
                target.add_scheme(scheme.info)
            reduced = _bulk_load(target) if loading.bulk_load else nullcontext()
            bar = _bar(summary, sources) if talk.progress else nullcontext()
            with reduced, letters, arrivals(target, arriving) as coming, bar:
                near = coming.counts if coming else None
                run_index(
                    inputs, target, settings, summary=summary, stop=stop, arrivals=coming, refused=letters,
                    has_read=all_sources.has_read,
                )  # fmt: skip
            tell_contended(target)
        except KeyboardInterrupt:
            stopped.number = stopped.number or signal.SIGINT
        _remember(target, known)
    if not talk.is_enough(summary):
        _report(summary, all_sources.left_out, store, as_json=talk.json, stopped=stopped, near=near, letters=letters)
    if stopped.number:
        say("stopped; what was done is stored, run the same command again to resume")
        return 128 + stopped.number
    _tell_nothing(summary)
    return ExtractionError.exit_code if loading.strict and summary.failures + summary.failed_before else 0


def _tell_nothing(summary: Summary) -> None:
    if not summary.done:
        say("no document was found")
    elif summary.failures == summary.done:
        # Mostly all of them have one cause.
        say(f"nothing could be indexed; the first that failed: {summary.first_failure}")


def _remember(store: Store, known: KnownColumns) -> None:
    if not known.keep(store):
        say("the store can't remember the names of the columns; give them wherever these files are read again")


def _settings(content: Content, making: Fingerprinting, extraction: Extraction, *, retry_failed: bool) -> Settings:
    return Settings(
        options=extraction.options(content),
        limits=extraction.limits,
        jobs=making.processes,
        min_tokens=making.min_tokens,
        retry_failed=retry_failed,
    )


def _bar(summary: Summary, sources: Callable[[], Sources]) -> AbstractContextManager[object]:
    from indexer.cli.terminal.progress import Bar

    return Bar(summary, sources)


def _bulk_load(store: Store) -> AbstractContextManager[None]:
    from indexer.engine.store.store import SearchStore

    assert isinstance(store, SearchStore)  # noqa: S101 a store that is no file is one
    return store.bulk_load()


def _keep_out(store: str, letters: Path) -> None:
    """Let the store and the refused documents be no documents, in a dry run too, until the command ends."""
    command = click.get_current_context()
    command.with_resource(own_files.in_use(letters))
    if path := store_file(store):
        command.with_resource(own_files.in_use(path, store=True))


def _selection(store: str, walk: Walk, extraction: Extraction) -> Selection:
    from indexer.cli.files.refused import PATTERN

    return Selection(
        include=walk.include,
        exclude=(*walk.exclude, PATTERN),
        hidden=walk.hidden,
        follow_links=walk.follow_links,
        id_from=walk.id_from,
        base=store_folder(store),
        line_limit=extraction.max_size,
        columns=walk.columns.columns(extraction),
    )


def _there(store: str, *, create: bool) -> tuple[Content, KnownColumns] | None:
    """The content mode of a store that is there, and the columns that it remembers; None where it is to be made."""
    from indexer.ingest.readers.named_columns import KnownColumns
    from indexer.opening import open_store

    try:
        with open_store(store, read_only=True) as opened_store:
            return content_of(opened_store), KnownColumns(opened_store)
    except NoStoreError:
        if not create:
            raise
        return None


def _list(sources: Sources, *, as_json: bool) -> int:
    for item in sources:
        if as_json:
            answer_json({"id": item.id, "source": item.source})
        else:
            click.echo(f"{printable(item.id)}\t{printable(item.source)}")
    say(f"a dry run: nothing was read or stored; {counted(sources.left_out, 'file')} left out by name")
    return 0


@contextmanager
def _stoppable() -> Iterator[tuple[threading.Event, _Stopped]]:
    """Make the first Ctrl-C or SIGTERM end the run in order, and the second one at once."""
    stop, stopped = threading.Event(), _Stopped()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            end_at_once(number)
        stopped.number = number
        # The exception may be lost in some library's clean-up; the event is not.
        stop.set()
        raise KeyboardInterrupt

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop, stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _report(
    summary: Summary,
    left_out: int,
    store: str,
    *,
    as_json: bool,
    stopped: _Stopped,
    near: Arrived | None = None,
    letters: DeadLetters | None = None,
) -> None:
    if as_json:
        counts = {name: getattr(summary, name) for name in ("indexed", "replaced", "unchanged")}
        more = {name: getattr(summary, name) for name in ("failed_before", "reused", "empty", "short")}
        answer_json(
            {
                "store": shown_store(store),
                **counts,
                "failed": dict(summary.failed),
                **more,
                **({"duplicates": summary.duplicates, "new": near.new, "near": near.near} if near else {}),
                "dead_letters": os.fspath(letters.path) if letters and letters.count else None,
                "left_out": left_out,
                "bytes": summary.bytes_read,
                "seconds": round(summary.seconds, 3),
                "stopped": bool(stopped.number),
            }
        )
        return
    reasons = ", ".join(f"{reason} {count}" for reason, count in summary.failed.most_common())
    listed = with_store("neardup failures")
    lines = [
        ("indexed", summary.indexed, f"{size(summary.bytes_read)} read in {summary.seconds:.1f} s"),
        ("replaced", summary.replaced, ""),
        ("unchanged", summary.unchanged, ""),
        ("empty", summary.empty, "stored; no text, so they match nothing"),
        ("too short", summary.short, "stored; left out of answers unless asked for"),
        ("failed", summary.failures, f"{reasons}; listed by: {listed}"),
    ]
    if summary.reused:
        lines.insert(3, ("reused", summary.reused, "equal to a stored document, so not extracted again"))
    if near:
        lines.insert(2, ("near", near.near, "of these; something near was stored before them"))
        lines.insert(2, ("new", near.new, "of these; nothing near was stored before them"))
        lines.append(("duplicates", summary.duplicates, f"left out; listed by: {listed} --reason duplicate"))
    if letters and letters.count:
        again = with_store("neardup index") + f" {shlex.quote(os.fspath(letters.path))}"
        lines.append(("refused", letters.count, f"of these; kept with the reason, and tried again by: {again}"))
    if summary.failed_before:
        lines.append(("failed before", summary.failed_before, "not tried again; --retry-failed does"))
    if left_out:
        lines.append(("left out", left_out, LEFT_OUT))
    for name, count, remark in lines:
        shown = f"  {printable(remark)}" if remark and (count or name == "indexed") else ""
        click.echo(f"{name:<13} {count:>9,}{shown}")


@click.command(
    short_help="List documents that could not be indexed, and why.",
    epilog="""
\b
Examples:
  neardup failures
  neardup failures --reason timeout --json
  neardup failures --reason timeout --json | jq -r .source | neardup index --paths-from - --timeout 300 --retry-failed
""",
)
@store_option
@click.option("--reason", metavar="REASON", help="List only failures with this reason.")
@json_option
def failures(store: str, reason: str | None, json: bool) -> None:
    """List the documents that could not be indexed: reason, id, and what was wrong.

    What is stored since, or gone from a file or folder that was read again, is not listed.

    With --json one object per line: id, source, reason, detail, failed_at.
    """
    with opened(store, read_only=True) as source:
        for failure in source.failures():
            if reason and failure.reason != reason:
                continue
            if json:
                answer_json(
                    {
                        "id": failure.ref.id,
                        "source": failure.source,
                        "reason": failure.reason,
                        "detail": failure.detail,
                        "failed_at": failure.failed_at,
                    }
                )
            else:
                answer(f"{failure.reason:<13}  {failure.ref.id}" + (f": {failure.detail}" if failure.detail else ""))


COMMANDS = (index, failures)
