"""Commands whose help ends with the members of their answer in JSON, as its class declares them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import click

from indexer.model import declared


class Answering(click.Command):
    """A command that answers with a result, named by `answers`: of `indexer.library.records`, or as "MODULE:CLASS".

    With `--json` it prints one object, or one a line if `many`.
    """

    def __init__(self, *arguments: Any, answers: str, many: bool = False, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.answers, self.many = answers, many

    @property
    def result(self) -> type:
        """The class of its answer."""
        module, _, name = self.answers.rpartition(":")
        kind: type = getattr(import_module(f"indexer.library.{module or 'records'}"), name)
        return kind

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the epilog, and the members of the answer."""
        super().format_epilog(ctx, formatter)
        with formatter.section("With --json " + ("one object per line" if self.many else "one object")):
            formatter.write_dl(list(_lines(self.result)))


def _lines(kind: type) -> Iterator[tuple[str, str]]:
    from indexer.library.records import Stored

    for member in declared.members(kind):
        if member.of is not Stored or kind.__base__ is not Stored:
            inner = (
                [each.name for each in declared.members(member.kind) if each.of is not Stored] if member.kind else []
            )
            yield member.name, member.meaning + f" ({'each ' * member.many}{', '.join(inner)})" * bool(inner)
    if kind.__base__ is Stored:
        yield "id, ...", "The stored document, as in neardup show --json"
