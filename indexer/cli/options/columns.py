"""--text-field, --id-field and --title-field of commands that read files with many documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from indexer.cli.options.groups import Group, Related

if TYPE_CHECKING:
    from indexer.cli.options.shared import Extraction
    from indexer.ingest.readers import Columns


@dataclass(frozen=True, slots=True)
class NamedColumns:
    """The names of the fields of JSON lines and columns of tables; None for the usual ones."""

    text_field: str | None
    id_field: str | None
    title_field: str | None

    def columns(self, extraction: Extraction) -> Columns:
        """The same for a reader; the text is HTML where that is the kind of the documents."""
        from indexer.ingest.readers import Columns

        is_html = extraction.format == "html"
        return Columns(self.text_field or "", self.id_field or "", self.title_field or "", html=is_html)


column_options = Group(
    NamedColumns,
    click.option(
        "--text-field",
        cls=Related,
        goes_with=["files"],
        metavar="NAME",
        help="The field of JSON lines or column of a table with the text, or with HTML if --format html is given; "
        "a dot selects a field of an object, as in article.body.  [default: text, or html]",
    ),
    click.option(
        "--id-field",
        cls=Related,
        goes_with=["files"],
        metavar="NAME",
        help="The field or column with the id.  [default: id; without one, the number of the line or row]",
    ),
    click.option(
        "--title-field",
        cls=Related,
        goes_with=["files"],
        metavar="NAME",
        help="The field or column with the title.  [default: title]",
    ),
)
