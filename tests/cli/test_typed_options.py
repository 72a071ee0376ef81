"""The values of options are what the signatures of the commands say."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, Literal, get_type_hints

import click
import pytest
from click.testing import CliRunner

from indexer.batch.sketches.parts import Stale
from indexer.cli import cli
from indexer.cli.batch.clusters import Task
from indexer.cli.options.commands import Seconds, Size, Taking, command
from indexer.cli.options.shared import FormatChoice
from indexer.extract.base import Content
from indexer.library.options import ClusterOptions
from indexer.library.rows import RowFormat
from indexer.matching.request import Way
from indexer.model.declared import Option
from indexer.stores.base import Refresh
from tests.cli.command import leaves

# What the commands import for mypy alone.
NAMES = {
    "ClusterOptions": ClusterOptions, "Content": Content, "Stale": Stale, "Refresh": Refresh, "RowFormat": RowFormat,
    "Way": Way,
}  # fmt: skip


def values_of(kind: Callable[..., Any], left: Collection[str] = ()) -> Iterator[tuple[str, Any]]:
    """The names and types of all that a command or a group of options takes, with those of the groups inside."""
    for name, hint in get_type_hints(kind, localns=NAMES).items():
        if name in left:
            continue
        if is_dataclass(hint):
            yield from values_of(hint, left)
        elif name != "return" and hint is not click.Context:
            # In Python a list of relations may also be a tuple.
            yield name, str | None if hint == str | tuple[str, ...] | None else hint


def given_by(parameter: click.Parameter) -> Any:
    """The type of the values that click gives for an option or argument."""
    kind: Any = str
    # Another package's formats are names that no list of ours has.
    if isinstance(parameter.type, click.Choice) and not isinstance(parameter.type, FormatChoice):
        kind = Literal[tuple(parameter.type.choices)]
    elif isinstance(parameter.type, click.types.BoolParamType):
        kind = bool
    elif isinstance(parameter.type, click.IntRange | Size):
        kind = int
    elif isinstance(parameter.type, click.FloatRange | Seconds):
        kind = float
    elif isinstance(parameter.type, Task):
        kind = tuple[int, int]
    if parameter.multiple or parameter.nargs == -1:
        return tuple[kind, ...]
    absent = parameter.to_info_dict()["default"] is None
    return kind | None if absent and not parameter.required else kind


COMMANDS = dict(leaves(cli))

# Fields without an option: follow chooses by itself, and mcp has no requests over HTTP.
LEFT = {
    "follow": {"again", "all", "cluster", "dry_run", "fields_changed", "paths_from", "columns"},
    "mcp": {"max_request"},
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_takes_what_its_options_give(name: str) -> None:
    command = COMMANDS[name]
    assert command.callback is not None
    given = {str(each.name): given_by(each) for each in command.params}
    taken = list(values_of(inspect.unwrap(command.callback), LEFT.get(name, ())))
    assert dict(taken) == given
    assert len(taken) == len(given), "two groups of a command have an option of the same name"


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_takes_whatever_comes(name: str) -> None:
    callback = COMMANDS[name].callback
    assert callback is not None
    kinds = {each.kind for each in inspect.signature(callback).parameters.values()}
    assert kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


def of_click(name: str) -> click.Option:
    return click.Option([f"--{name}"], is_flag=True)


@dataclass(frozen=True)
class Inner:
    size: Annotated[int, Option("How large.", least=0)] = 3


@dataclass(frozen=True)
class Outer:
    heading = "What it is"

    name: Annotated[str | None, Option("What it is called.")] = None
    inner: Inner = Inner()
    loud: Annotated[bool, of_click] = False


def test_a_dataclass_inside_another_fills_its_field_and_keeps_its_place() -> None:
    @command()
    @click.argument("first", required=False)
    def shown(
        *, first: str | None, it: Outer, last: Annotated[str | None, Option("What comes last.")], unlisted: int = 1
    ) -> None:
        click.echo(repr((first, it, last, unlisted)))

    assert [each.name for each in shown.params] == ["first", "name", "size", "loud", "last"]
    told = CliRunner().invoke(shown, ["--size", "7", "--last", "x", "--loud"])
    assert told.output == f"{(None, Outer(None, Inner(7), True), 'x', 1)!r}\n"
    assert CliRunner().invoke(shown, []).output == f"{(None, Outer(None, Inner(3), False), None, 1)!r}\n"
    assert "What it is:\n  --name" in CliRunner().invoke(shown, ["--help"]).output


def test_a_command_may_leave_fields_out_and_change_the_others() -> None:
    @command()
    def shown(*, it: Annotated[Outer, Taking("Of it", without=("inner",), not_with=("quiet",))],
              quiet: Annotated[bool, Option("Say nothing.")]) -> None:  # fmt: skip
        click.echo(f"{it.inner.size} {quiet}")

    assert [each.name for each in shown.params] == ["name", "loud", "quiet"]
    assert "Of it:\n  --name" in CliRunner().invoke(shown, ["--help"]).output
    assert CliRunner().invoke(shown, ["--quiet"]).output == "3 True\n"
    assert "--name does nothing with --quiet" in CliRunner().invoke(shown, ["--quiet", "--name", "x"]).output


def test_two_commands_share_a_dataclass() -> None:
    def shown(*, it: Inner) -> None:
        click.echo(it.size)

    one, other = (command()(shown) for _ in range(2))
    assert [CliRunner().invoke(each, ["--size", "4"]).output for each in (one, other, one)] == ["4\n"] * 3


def test_a_setting_reaches_an_option_in_a_dataclass() -> None:
    defaults: Mapping[str, Any] = {"size": 5}

    @command(context_settings={"default_map": defaults})
    def shown(*, it: Inner) -> None:
        click.echo(it.size)

    assert CliRunner().invoke(shown, []).output == "5\n"
