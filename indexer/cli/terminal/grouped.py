"""The help: its list of commands, in groups by what one wants to do, and its lines, which break no word."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

GROUPS = {
    "Start here": ("index", "similar", "cluster", "report"),
    "Ask": ("compare", "diff", "history", "pairs", "passages", "show", "hash", "stats", "failures", "doctor"),
    "Act": ("prune", "delete"),
    "Without a store": ("batch",),
    "Engines": ("setup", "annotate"),
    "For programs": ("serve",),
    "Measure": ("evaluate", "schemes", "corpus"),
    "Shell": ("completion",),
}


# A hyphen at which no line is broken, for as long as lines are broken.
_JOINING = "\N{NON-BREAKING HYPHEN}"


class UnbrokenFormatter(click.HelpFormatter):
    """Writes lines that end between words: `simhash-doc` and `--run-on` stay whole."""

    def write_text(self, text: str) -> None:
        """See click."""
        super().write_text(_joined(text))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """See click."""
        super().write_dl([(_joined(term), _joined(about)) for term, about in rows], col_max, col_spacing)

    def getvalue(self) -> str:
        """The text that was written, with plain hyphens again."""
        return super().getvalue().replace(_JOINING, "-")


def _joined(text: str) -> str:
    return re.sub(r"(?<=\S)-(?=\S)", _JOINING, text)


class HelpContext(click.Context):
    """The context of a command whose help breaks no word."""

    formatter_class = UnbrokenFormatter


def let_help_break_no_word(command: click.Command) -> None:
    """Let the help of a command, and of those in it, be written so."""
    command.context_class = HelpContext
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        let_help_break_no_word(inner)


class Grouped(click.Group):
    """A command of commands whose help lists them by GROUPS; one that is in no group is listed last."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands of each group with their short help."""
        grouped = {name for names in GROUPS.values() for name in names}
        others = {"Others": tuple(name for name in self.list_commands(ctx) if name not in grouped)}
        for title, names in {**GROUPS, **others}.items():
            limit = formatter.width - 6 - max(map(len, self.commands))
            rows = [(name, self.commands[name].get_short_help_str(limit)) for name in names if name in self.commands]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
