"""Subcommands imported on demand, with grouped help."""

from __future__ import annotations

import re
from collections import UserDict
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

import click

# A hyphen at which no line is broken, for as long as lines are broken.
_JOINING = "\N{NON-BREAKING HYPHEN}"


class UnbrokenFormatter(click.HelpFormatter):
    """Writes lines that end between words: `simhash-doc` and `--run-on` stay whole."""

    def write_text(self, text: str) -> None:
        super().write_text(_joined(text))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(_joined(term), _joined(about)) for term, about in rows], col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(_JOINING, "-")


def _joined(text: str) -> str:
    return re.sub(r"(?<=\S)-(?=\S)", _JOINING, text)


class HelpContext(click.Context):
    formatter_class = UnbrokenFormatter


class HelpedGroup(click.Group):
    context_class = HelpContext


class CommandsOnDemand(UserDict[str, Any]):
    """Commands by name, given as the modules with them in COMMANDS.

    A module is imported on demand: a run needs one of them, and all of them take a while.
    """

    def __getitem__(self, name: str) -> click.Command:
        if isinstance(self.data[name], str):
            for command in import_module(self.data[name]).COMMANDS:
                self.data[command.name] = command
        found: click.Command = self.data[name]
        return found


class Grouped(HelpedGroup):
    def __init__(self, *args: Any, groups: Mapping[str, Mapping[str, str]], **given: Any) -> None:
        super().__init__(*args, **given)
        self.groups = groups
        self.commands = CommandsOnDemand({name: module for group in groups.values() for name, module in group.items()})

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        limit = formatter.width - 6 - max(map(len, self.commands))
        for title, names in self.groups.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(limit)) for name in names])
