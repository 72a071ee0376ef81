"""The command `neardup`; one module for each group of commands."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import click
from click.shell_completion import shell_complete

from indexer.cli.config import DEFAULT_STORE, ENVIRONMENT_PREFIX, KnownOptions, command_defaults, load_settings
from indexer.cli.terminal.grouped import Grouped
from indexer.cli.terminal.interrupts import second_ends
from indexer.cli.terminal.output import about, name_store, say
from indexer.errors import NeardupError
from indexer.model.release import VERSION
from indexer.text.hiding import without_credentials
from indexer.text.remarks import in_json, note, spoken

INTERRUPTED = 130
BROKEN_PIPE = 141

LOG_FORMATS = ("text", "json")

# Options that say what one run is about.
_NO_SETTINGS = frozenset({"id", "text", "hash", "from", "paths-from"})

GROUPS = {
    "Start here": {
        "index": "indexing",
        "similar": "similar",
        "cluster": "clusters",
        "report": "clusters",
    },
    "Ask": {
        "compare": "comparing",
        "diff": "comparing",
        "history": "comparing",
        "pairs": "clusters",
        "passages": "clusters",
        "show": "documents",
        "hash": "comparing",
        "stats": "documents",
        "failures": "indexing",
        "doctor": "documents",
    },
    "Act": {"prune": "pruning", "decisions": "pruning", "undo": "pruning", "delete": "documents"},
    "Without a store": {"batch": "batch"},
    "Engines": {"setup": "engines", "annotate": "engines", "follow": "engines"},
    "For programs": {"serve": "serving", "mcp": "serving"},
    "Measure": {"evaluate": "measuring", "schemes": "measuring", "corpus": "measuring"},
    "Scans": {"ocr": "machine"},
    "Shell": {"completion": "machine"},
}
"""The commands in groups by what one wants to do, and the modules that they are in."""

EPILOG = """
\b
Examples:
  neardup index docs/                  index a folder into ./collection.neardup
  neardup similar draft.pdf            what is similar to this document
  neardup compare old.html new.html    how far apart two documents are

\b
Settings: flags, then environment (NEARDUP_STORE, NEARDUP_INDEX_JOBS: the
command, then the option), then ./neardup.toml or the file of --config.

\b
Exit codes:
  0  done                        5  no such document or file
  1  any other error             6  a document gave no text or failed
  2  incorrect usage or settings    (--strict), or a file stayed
  3  the store can't be used   130  stopped by Ctrl-C (143: by SIGTERM)
  4  the store does not fit    141  the reader closed the output
  7  neardup doctor found something to do
"""


@click.group(
    cls=Grouped,
    groups={
        title: {name: f"indexer.cli.{module}" for name, module in group.items()} for title, group in GROUPS.items()
    },
    epilog=EPILOG,
    context_settings={
        "auto_envvar_prefix": ENVIRONMENT_PREFIX,
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
    },
)
@click.option(
    "--config",
    type=click.Path(path_type=Path, readable=False),
    metavar="FILE",
    show_envvar=True,
    help="The settings file.  [default: ./neardup.toml, if it exists]",
)
@click.option("--debug", is_flag=True, show_envvar=True, expose_value=False, help="Show the traceback of any error.")
@click.option(
    "--log-format",
    type=click.Choice(LOG_FORMATS),
    default=LOG_FORMATS[0],
    show_default=True,
    show_envvar=True,
    expose_value=False,
    help="Remarks on standard error as sentences, or each as one JSON object: time, level, message and more.",
)
@click.version_option(VERSION, "--version", prog_name="neardup", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, config: Path | None) -> None:
    """Find near-duplicate documents: index them, then ask what is similar.

    Reads HTML, PDF, XML, EPUB, DOCX, ODT, ODP, ODS, subtitles, manual pages and text. An extra adds RTF, DOC, PPT,
    PPTX, XLS, XLSX and MSG; OCR adds images and scanned pages. Documents may lie in folders, ZIP and TAR archives,
    mails, mailboxes, JSON lines, CSV, Parquet, web archives (WARC, WET, WACZ) and feeds (RSS, Atom). The store is a
    file, or an index in Elasticsearch or OpenSearch.
    """
    note(command=ctx.invoked_subcommand)
    settings, path = load_settings(config)
    ctx.obj = path
    # To know the settings of all commands takes all of these.
    ctx.default_map = command_defaults(settings, _known(cli), path) if settings else {}


def _known(group: click.Group) -> KnownOptions:
    return {
        name: _known(command) if isinstance(command, click.Group) else _settings_of(command)
        for name, command in group.commands.items()
    }


def _settings_of(command: click.Command) -> dict[str, bool | None]:
    options = {
        max(parameter.opts, key=len).lstrip("-"): parameter
        for parameter in command.params
        if isinstance(parameter, click.Option)
    }
    # So is what decides on a deletion.
    return {
        name: None if name in _NO_SETTINGS or not option.allow_from_autoenv else option.multiple
        for name, option in options.items()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else list(arguments)
    name_store(DEFAULT_STORE)
    _open_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a character gets its escape, and the command goes on.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    debug = "--debug" in words or bool(os.environ.get("NEARDUP_DEBUG"))
    try:
        with spoken(as_json=_log_format(words) == "json"):
            return _answered(words, debug=debug)
    except BrokenPipeError:
        return _reader_gone()


def _log_format(words: Sequence[str]) -> str:
    given = os.environ.get("NEARDUP_LOG_FORMAT", "")
    for word, following in pairwise((*words, "")):
        name, equals, value = word.partition("=")
        if name == "--log-format":
            given = value if equals else following
    return given


def _answered(words: Sequence[str], *, debug: bool) -> int:
    try:
        with second_ends():
            # click takes away what it has read.
            return _run(list(words))
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        trace = without_credentials(traceback.format_exc(), _parts(words)) if debug else ""
        if trace and not in_json():
            sys.stderr.write(trace)
        return _explain(error, trace, words)


def _run(arguments: list[str]) -> int:
    if asked := os.environ.get("_NEARDUP_COMPLETE"):
        return shell_complete(cli, {}, "neardup", "_NEARDUP_COMPLETE", asked)
    # Not by cli.main(), which has its own way with a pipe that nobody reads.
    try:
        with cli.make_context("neardup", arguments) as ctx:
            result = cli.invoke(ctx)
    except click.exceptions.Exit as done:
        result = done.exit_code
    sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _open_standard_streams() -> None:
    # A caller may have closed them; Python then has None in their place.
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _explain(error: BaseException, trace: str, words: Sequence[str]) -> int:
    more = {**about(error), **({"traceback": trace} if trace else {})}
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        return _explain_usage(error, words)
    if isinstance(error, NeardupError):
        _complain(str(error), words, exit_code=error.exit_code, **more)
        return error.exit_code
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG):
        _complain(f"the output can't be written: {error.strerror}", exit_code=1, **more)
        # What Python still holds for standard output would fail again at exit.
        _discard_output()
        return 1
    where = "" if trace else "; --debug shows where"
    _complain(f"unexpected {type(error).__name__}: {error}{where}", words, exit_code=1, **more)
    return 1


def _explain_usage(error: click.ClickException, words: Sequence[str]) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not in_json():
        error.show()
        return error.exit_code
    more: dict[str, object] = {"exit_code": error.exit_code, "error": type(error).__name__}
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    message = error.format_message()
    if ctx:
        name = error.param.name if isinstance(error, click.BadParameter) and error.param else None
        if name and ctx.get_parameter_source(name) is click.core.ParameterSource.DEFAULT_MAP:
            message = f"{ctx.find_root().obj}: {message}"
        if in_json():
            more["usage"] = without_credentials(ctx.get_usage(), _parts(words))
        else:
            click.echo(ctx.get_usage(), err=True)
        message += f" (see {ctx.command_path} --help)"
    _complain(message, words, **more)
    return error.exit_code


def _complain(message: str, words: Sequence[str] = (), /, **fields: object) -> None:
    say(without_credentials(message, _parts(words)), level="error", **fields)


def _parts(words: Sequence[str]) -> list[str]:
    return [part for word in words for part in (word.removeprefix("id:"), word.partition("=")[2])]


def _reader_gone() -> int:
    _discard_output()
    return BROKEN_PIPE


def _discard_output() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    _open_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
