"""--text-field, --id-field and --title-field of commands that read files with many documents."""

from __future__ import annotations

import click

from indexer.cli.options.groups import Group, Related
from indexer.library.options import NamedColumns

column_options = Group(
    NamedColumns,
    click.option(
        "--text-field",
        cls=Related,
        goes_with=["files"],
        metavar="NAME",
        help="The field of JSON lines, or column of a table, with the text (HTML with --format html). A dot selects "
        "a field of an object, as in article.body.  [default: text, or html]",
    ),
    click.option(
        "--id-field",
        cls=Related,
        goes_with=["files"],
        metavar="NAME",
        help="The field or column with the id.  [default: id, or else the number of the line or row]",
    ),
    click.option(
        "--title-field",
        cls=Related,
        goes_with=["files"],
        metavar="NAME",
        help="The field or column with the title.  [default: title]",
    ),
    title="Fields of lines and rows",
)
