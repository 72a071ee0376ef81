"""Options of commands that read texts again: --field and --html for an index, others for files with many documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from indexer.cli.options.columns import NamedColumns, column_options
from indexer.cli.options.groups import Group, Related
from indexer.errors import UsageError

if TYPE_CHECKING:
    from indexer.engine.index.texts import TextFields


@dataclass(frozen=True, slots=True)
class NamedFields:
    """The fields that the command line names for the texts of an index, and those of files that hold many documents."""

    field: tuple[str, ...]
    html: bool
    columns: NamedColumns

    def fields(self, *, stored: bool) -> TextFields | None:
        """The fields that were named; UsageError where documents of no store are read (`stored` False)."""
        if not self.field:
            return None
        if not stored:
            raise UsageError("--field names fields of the store's documents; other documents have none")
        from indexer.engine.index.texts import TextFields

        return TextFields(self.field, self.html)


field_options = Group(
    NamedFields,
    click.option(
        "--field",
        multiple=True,
        metavar="NAME",
        help="For an annotated index: a field with the text, as for neardup annotate, in the same order. "
        "[default: the fields that the index remembers]",
    ),
    click.option(
        "--html", cls=Related, goes_with=["field"], is_flag=True, help="The fields hold HTML, whose text is extracted."
    ),
    column_options,
)


def explained(reason: str) -> str:
    """A reason of failure, with what to do where that is to be said."""
    from indexer.ingest.from_store import REASONS

    return f"{reason}: {REASONS[reason]}" if reason in REASONS else reason
