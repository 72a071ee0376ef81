"""Options that several commands share, and the values they take."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from indexer.cli.output import say, shown_store
from indexer.config import DEFAULT_STORE
from indexer.errors import UsageError
from indexer.extract.base import Content, Limits
from indexer.pipeline import DEFAULT_MIN_TOKENS

if TYPE_CHECKING:
    from indexer.stores import Store, StoreInfo
    from indexer.stores.base import Refresh

    _OctetsType = click.ParamType[int]
    _SecondsType = click.ParamType[float]
else:
    _OctetsType = _SecondsType = click.ParamType

Command = TypeVar("Command", bound=Callable[..., Any])

_DAY = 86_400
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


class Size(_OctetsType):
    """A number of octets: 500000, 200MB (powers of 1000), 2GiB (powers of 1024)."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of octets."""
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", str(value).lower())
        if not found:
            self.fail(f"{value!r} is no size; write for example 500000, 200MB or 2GiB", param, ctx)
        return int(float(found[1]) * _UNITS[found[2] or ""])


class Seconds(_SecondsType):
    """A time in seconds, above 0 and up to a day."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number of seconds."""
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0.0
        # Written so that NaN is refused too.
        if not 0 < seconds <= _DAY:
            self.fail(f"{value!r} is no number of seconds above 0 and up to {_DAY}", param, ctx)
        return seconds


timeout_option = click.option(
    "--timeout",
    type=Seconds(),
    metavar="SECONDS",
    default=Limits().seconds,
    show_default=True,
    help="Time for one document.",
)
memory_option = click.option(
    "--memory", type=Size(), metavar="SIZE", default="2GiB", show_default=True, help="Memory for one document."
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Worker processes.  [default: one for each processor]"
)


class _StoreOption(click.Option):
    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        # The default may come from a settings file.
        extra = super().get_help_extra(ctx)
        if "default" in extra:
            extra["default"] = shown_store(extra["default"])
        return extra


store_option = click.option(
    "--store",
    cls=_StoreOption,
    type=click.Path(),
    metavar="FILE",
    default=DEFAULT_STORE,
    envvar="NEARDUP_STORE",
    show_default=True,
    show_envvar=True,
    help="The store.",
)

refresh_option = click.option(
    "--refresh",
    type=click.Choice(["wait", "none", "true"]),
    default="wait",
    show_default=True,
    help="In a cluster: when what was written is found: when the command has ended (wait), after each batch too "
    "(true), or when the index refreshes itself (none).",
)

filter_option = click.option(
    "--filter",
    metavar="QUERY",
    help="Only documents that match a query of the cluster's own (query string syntax), as 'lang:en AND year:2024'.",
)

min_tokens_option = click.option(
    "--min-tokens",
    type=click.IntRange(0),
    metavar="N",
    default=DEFAULT_MIN_TOKENS,
    show_default=True,
    help="Documents with fewer words are marked short, and left out of answers unless asked for.",
)

quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress.")

json_option = click.option("--json", is_flag=True, help="Answer in JSON.")


def extraction_options(command: Command) -> Command:
    """Add what decides how documents are read."""
    options = (
        click.option(
            "--content",
            type=click.Choice(["landmarks", "full", "main"]),
            help="What counts as the text of HTML: without navigation, banners and footers where HTML says so "
            "(landmarks), everything (full), or the main block only (main, needs the extra main-content).  "
            "[default: the store's own; landmarks for a new store or without one]",
        ),
        click.option(
            "--engine",
            type=click.Choice(["auto", "fast", "reference"]),
            default="auto",
            show_default=True,
            help="Which extractor reads: the fast one, the reference, or (auto) the fast one first and the "
            "reference where it fails or finds no text.",
        ),
        click.option(
            "--format",
            type=click.Choice(["html", "pdf", "xml", "text"]),
            help="The kind of the documents.  [default: found from the content, then from the name]",
        ),
        timeout_option,
        memory_option,
        click.option(
            "--max-size",
            type=Size(),
            metavar="SIZE",
            default="200MB",
            show_default=True,
            help="The largest document that is read, and the longest line of JSON lines.",
        ),
    )
    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


def opened(store: str, *, create: StoreInfo | None = None, read_only: bool = False, refresh: Refresh = "wait") -> Store:
    """Open the store; one that is not there is made only where `create` says with what."""
    from indexer.stores import open_store

    found = open_store(store, create=create, read_only=read_only)
    found.refresh = refresh
    for notice in found.notices() if read_only else ():
        say(notice)
    return found


def tell_contended(store: Store) -> int:
    """Say which documents a command left as they are, because others change them all the time; how many."""
    if told := store.contended.told():
        say(told)
    return store.contended.count


def content_of(store: Store) -> Content:
    """The content mode that a store's fingerprints were made in."""
    return cast(Content, store.info.content)


def store_folder(store: str) -> str:
    """The folder of an embedded store's file, empty for a store that is no file."""
    path = store_file(store)
    return os.path.dirname(path) if path else ""


def store_file(store: str) -> str:
    """The absolute path of an embedded store's file, empty for a store that is no file."""
    scheme, colon, rest = store.partition("://")
    if colon and scheme == "sqlite":
        return os.path.abspath(rest.removeprefix("/"))
    return "" if colon else os.path.abspath(store)


def only_one(**given: object) -> None:
    """Raise UsageError unless exactly one of the named ways of asking was used."""
    used = [name for name, value in given.items() if value is not None]
    if len(used) != 1:
        names = ", ".join(given)
        raise UsageError(f"give one of {names}" + (f"; you gave {' and '.join(used)}" if used else ""))
