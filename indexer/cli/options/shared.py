"""Options shared by several commands, and the values they take."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

import click

from indexer.cli.config import DEFAULT_STORE
from indexer.cli.options.commands import A_PATH, KINDS, Related, of_dataclass, refuse_typed, typed
from indexer.cli.terminal.output import answer_json, name_store, say, shown_store, told_each_minute
from indexer.errors import NotFoundError, UsageError
from indexer.library.asking import is_id
from indexer.library.options import AUTO, Extraction, Format, NamedColumns, RuleRequest, require_format
from indexer.model.declared import Option
from indexer.model.paths import printable_path, store_file
from indexer.model.times import Refresh
from indexer.text.remarks import in_json, note

if TYPE_CHECKING:
    from indexer.library.collection import Collection
    from indexer.library.opening import Follow
    from indexer.library.stores import MatchRule
    from indexer.model.counts import Failing

    _FormatType = click.Choice[str]
else:
    _FormatType = click.Choice


class FormatChoice(_FormatType):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self.choices:
            return str(value)
        try:
            require_format(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)
        return str(value)


StrictAsked = Annotated[bool, Option("End with exit code 6 if any document failed.")]
JsonAsked = Annotated[bool, Option("Answer in JSON.")]
RefreshAsked = Annotated[Refresh, Option("In a search engine, when written documents can be found: when the command "
    "ends (wait), also after each batch (true), or when the index refreshes itself (none).",
    in_engine=True)]  # fmt: skip
FilterAsked = Annotated[str | None, Option("Only documents for this query in the engine's query string syntax, as "
    "'lang:en AND year:2024'.", metavar="QUERY")]  # fmt: skip

KINDS["format"] = FormatChoice((AUTO, *get_args(Format)))


def _noted(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    name_store(value)
    note(store=shown_store(value))
    return value


class _StoreOption(Related):
    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        # The default may come from a settings file.
        extra = super().get_help_extra(ctx)
        if "default" in extra:
            extra["default"] = shown_store(extra["default"])
        return extra


def store_unless(*others: str) -> Callable[[str], click.Option]:
    return lambda name: _StoreOption(
        ["--store", name], not_with=others, type=A_PATH, metavar="FILE|URL", default=DEFAULT_STORE,
        envvar="NEARDUP_STORE", show_default=True, show_envvar=True, callback=_noted,
        help="The store: a file, or an index as https://host:9200/INDEX.",
    )  # fmt: skip


def index_store(says: str) -> Callable[[str], click.Option]:
    return lambda name: click.Option(
        ["--store", name], metavar="URL", envvar="NEARDUP_STORE", required=True, show_envvar=True, callback=_noted,
        help=says,
    )  # fmt: skip


StoreAsked = Annotated[str, store_unless()]
_Summary = TypeVar("_Summary", bound="Failing")


@dataclass(frozen=True, slots=True)
class Matching(RuleRequest):
    """The options of the match rule; `explain` asks for it in words."""

    heading = "What counts as near"

    explain: Annotated[bool, Option("Explain the lookup: its keys, its guarantees, and how much it may miss.")] = False


def show_rule(rule: MatchRule) -> None:
    from indexer.library.stores import explained

    for line in explained(rule):
        say(line)


@dataclass(frozen=True, slots=True)
class RunOutput:
    """The output of a long run: its progress and its summary in words, only failures if it is `quiet`.

    `json` is its summary as JSON, quiet or not.
    """

    quiet: Annotated[bool, Option("Print no progress and no summary, only failures.", names=["-q", "--quiet"])] = False
    json: JsonAsked = False

    @property
    def progress(self) -> bool:
        return sys.stderr.isatty() and not self.quiet and not in_json()

    def following(self, doing: str, find_total: Callable[[], int | None] | None = None) -> Follow:
        if self.quiet:
            return nullcontext
        if not self.progress:
            return lambda counts: told_each_minute(counts, doing)
        from indexer.cli.terminal.progress import Following

        return lambda counts: Following(counts, doing, find_total)

    def tell(
        self, summary: _Summary, show: Callable[[_Summary], None], lists: str = "neardup failures lists them"
    ) -> None:
        if self.json:
            answer_json(summary)
        elif not self.quiet:
            show(summary)
        elif summary.failures:
            text = f"{summary.failures:,} failed ({summary.reasons}); {lists}"
            say(text, level="warning", failed=dict(summary.failed))


def opened_collection(
    store: str, *, filter: str | None = None, read_only: bool = False, refresh: Refresh = "wait"  # noqa: A002
) -> Collection:  # fmt: skip
    from indexer.library.collection import open as open_collection

    return open_collection(
        store, filter=filter, read_only=read_only, create=False, turns=False, refresh=refresh, tell=say
    )  # fmt: skip


def only_one(**given: object) -> None:
    used = [name for name, value in given.items() if value is not None]
    if len(used) != 1:
        names = ", ".join(given)
        raise UsageError(f"give one of {names}" + (f"; you gave {' and '.join(used)}" if used else ""))


@contextmanager
def stored_or_files(names: Sequence[str], store: str) -> Iterator[Collection | None]:
    """The store if one of two names is the id of a stored document, None if both are files."""
    if typed("store") and not any(map(is_id, names)):
        shown = [printable_path(name) for name in names]
        raise UsageError(
            f"--store does nothing with files alone, such as {' and '.join(shown)}; id:{shown[0]} is the "
            "stored document of that id"
        )
    require_some_file(names)
    with opened_collection(store, read_only=True) if any_stored(names, store) else nullcontext() as collection:
        yield collection


def require_some_file(names: Sequence[str], is_none: Callable[[str], bool] = is_id) -> None:
    if names and all(map(is_none, names)):
        asked = [str(each.name) for kind in (Extraction, NamedColumns) for each in of_dataclass(kind).parameters]
        shown = ", ".join(map(printable_path, names))
        refuse_typed(asked, f"says how files are read, and there is no file of this name: {shown}")


def any_stored(names: Sequence[str], store: str) -> bool:
    named = next(filter(is_id, names), None)
    if named is not None and store_file(store) and not os.path.exists(store_file(store)):
        raise NotFoundError(
            f"{printable_path(named)}: no such file, and no store at {shown_store(store)} to look for an id in"
        )
    return named is not None


def from_stdin(text: str) -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace") if text == "-" else text
