"""Options that have been given a better name: their former one still works, everywhere, and is shown nowhere."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from indexer.cli.options.groups import Related


class Renamed(Related):
    """An option with a former name, without its hyphens, by which command lines, settings and variables know it too."""

    def __init__(self, declarations: Sequence[str], *, former: str, **attributes: Any) -> None:
        super().__init__(declarations, **attributes)
        self.former = former

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser take both names."""
        super().add_to_parser(parser, ctx)
        formerly = copy.copy(self)
        formerly.opts = [f"--{self.former}"]
        click.Option.add_to_parser(formerly, parser, ctx)

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """The value of the variable, or of the one with the former name."""
        value = super().resolve_envvar_value(ctx)
        if value is None and ctx.auto_envvar_prefix:
            value = os.environ.get(f"{ctx.auto_envvar_prefix}_{self.former.upper().replace('-', '_')}") or None
        return value


def with_present_names(settings: Mapping[str, Any], group: click.Group) -> dict[str, Any]:
    """Settings in which the former names of options are replaced; a value under the present name wins."""
    present = {
        option.former: max(option.opts, key=len).lstrip("-")
        for command in _commands(group)
        for option in command.params
        if isinstance(option, Renamed)
    }

    def replaced(table: Mapping[str, Any]) -> dict[str, Any]:
        inner = {key: replaced(value) if isinstance(value, Mapping) else value for key, value in table.items()}
        former = {present[key]: value for key, value in inner.items() if key in present}
        return former | {key: value for key, value in inner.items() if key not in present}

    return replaced(settings)


def _commands(group: click.Group) -> Iterator[click.Command]:
    """Every command of a command, and theirs."""
    for command in group.commands.values():
        yield command
        if isinstance(command, click.Group):
            yield from _commands(command)
