"""Options of commands that read texts again."""

from __future__ import annotations

import click

from indexer.cli.options.columns import column_options
from indexer.cli.options.groups import Group, Related
from indexer.library.options import NamedFields

field_options = Group(
    NamedFields,
    click.option(
        "--field",
        multiple=True,
        metavar="NAME",
        help="For an annotated index: a field with the text, as for neardup annotate, in the same order. [default: "
        "the index's fields]",
    ),
    click.option(
        "--html", cls=Related, goes_with=["field"], is_flag=True, help="The fields hold HTML; extract its text."
    ),
    column_options,
    title="Texts that are read again",
)
