"""The values of options are what the signatures of the commands say."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, Literal, get_type_hints

import click
import pytest
from click.testing import CliRunner

from indexer.batch.sketches.inputs import Stale
from indexer.cli import cli
from indexer.cli.batch.sketching import Task
from indexer.cli.options.groups import Group, Seconds, Size
from indexer.cli.options.shared import FormatChoice
from indexer.extract.base import Content
from indexer.library.options import ClusterOptions
from indexer.library.writers import RowFormat
from indexer.matching.request import Way
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


@dataclass(frozen=True)
class Inner:
    size: int


@dataclass(frozen=True)
class Outer:
    name: str | None
    inner: Inner
    loud: bool


size = click.option("--size", type=click.IntRange(0), default=3)
inner_options = Group(Inner, size)
outer_options = Group(Outer, click.option("--name"), inner_options, click.option("--loud", is_flag=True))


def test_a_group_inside_another_fills_its_field_and_keeps_its_place() -> None:
    @click.command()
    @click.option("--first")
    @outer_options
    @click.option("--last")
    def command(first: str | None, it: Outer, last: str | None) -> None:
        click.echo(repr((first, it, last)))

    assert [each.name for each in command.params] == ["first", "name", "size", "loud", "last"]
    shown = CliRunner().invoke(command, ["--size", "7", "--last", "x", "--loud"])
    assert shown.output == f"{(None, Outer(None, Inner(7), True), 'x')!r}\n"
    assert CliRunner().invoke(command, []).output == f"{(None, Outer(None, Inner(3), False), None)!r}\n"


def test_two_commands_share_a_group() -> None:
    def command(it: Inner) -> None:
        click.echo(it.size)

    one, other = (click.command()(inner_options(command)) for _ in range(2))
    assert [CliRunner().invoke(each, ["--size", "4"]).output for each in (one, other, one)] == ["4\n"] * 3


@pytest.mark.parametrize(
    ("options", "named"),
    [((), "Inner"), ((size, click.option("--other")), "other"), ((click.option("--sise"),), "sise")],
)
def test_options_that_are_not_the_fields_are_refused(options: tuple[Any, ...], named: str) -> None:
    with pytest.raises(TypeError, match=named):
        Group(Inner, *options)


def test_a_command_without_a_parameter_for_the_group_is_refused() -> None:
    def command(size: int) -> None:
        """Take the value and not the object."""

    with pytest.raises(TypeError, match="command needs one parameter of Inner"):
        inner_options(command)


def test_a_setting_reaches_an_option_in_a_group() -> None:
    defaults: Mapping[str, Any] = {"size": 5}

    @click.command(context_settings={"default_map": defaults})
    @inner_options
    def command(it: Inner) -> None:
        click.echo(it.size)

    assert CliRunner().invoke(command, []).output == "5\n"
