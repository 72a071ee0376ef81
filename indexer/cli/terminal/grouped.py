"""The list of commands in the help, in groups by what one wants to do."""

from __future__ import annotations

import click

GROUPS = {
    "Start here": ("index", "similar", "cluster", "report", "completion"),
    "Ask": ("compare", "diff", "pairs", "show", "hash", "stats", "failures", "doctor"),
    "Act": ("prune", "delete"),
    "Without a store": ("batch",),
    "Engines": ("setup", "annotate"),
    "Measure": ("evaluate", "schemes", "corpus"),
}


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
