"""--field and --html of commands that read the texts of an index again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from indexer.errors import UsageError

if TYPE_CHECKING:
    from indexer.stored_inputs import Fields

F = TypeVar("F", bound=Callable[..., Any])


def field_options(command: F) -> F:
    """--field and --html, which say where `neardup annotate` found the texts of an index."""
    command = click.option("--html", is_flag=True, help="The fields hold HTML, whose text is extracted.")(command)
    return click.option(
        "--field",
        multiple=True,
        metavar="NAME",
        help="A field with the text of the store's documents, where they are of an annotated index; the same as for "
        "neardup annotate, in the same order.",
    )(command)


def fields_of(given: dict[str, Any], *, stored: bool) -> Fields | None:
    """The fields that were named; UsageError where documents of no store are read (`stored` False)."""
    if not given["field"]:
        if given["html"]:
            raise UsageError("--html says what the fields hold; name them with --field")
        return None
    if not stored:
        raise UsageError("--field names fields of the store's documents; other documents have none")
    from indexer.stored_inputs import Fields

    return Fields(given["field"], given["html"])


def explained(reason: str) -> str:
    """A reason of failure, with what to do where that is to be said."""
    from indexer.stored_inputs import REASONS

    return f"{reason}: {REASONS[reason]}" if reason in REASONS else reason
