"""Commands that list the members of their answer in the help."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import click

from indexer.cli.options.groups import Titled
from indexer.model import declared


class Answering(Titled):
    """A command with the answer `answers`: a class of `indexer.library.records`, or MODULE:CLASS.

    With `--json` it prints one object, or one a line if `many`; `others` are the classes of its other answers by their
    headings. `heading` is for an answer in another form than JSON.
    """

    def __init__(
        self, *arguments: Any, answers: str, many: bool = False, others: Mapping[str, str] | None = None,
        heading: str = "", **attributes: Any,
    ) -> None:  # fmt: skip
        super().__init__(*arguments, **attributes)
        usual = "With --json " + ("one object per line" if many else "one object")
        self._forms = {heading or usual: answers, **(others or {})}

    def results(self) -> list[tuple[str, type]]:
        return [(heading, _class(name)) for heading, name in self._forms.items()]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        for heading, kind in self.results():
            with formatter.section(heading):
                formatter.write_dl(list(_lines(kind)))


def _class(name: str) -> type:
    module, _, own = name.rpartition(":")
    place = module if module.startswith("indexer.") else f"indexer.library.{module or 'records'}"
    kind: type = getattr(importlib.import_module(place), own)
    return kind


def _lines(kind: type) -> Iterator[tuple[str, str]]:
    from indexer.library.records import Described, Stored

    # The one that the others refer to lists them all.
    included = issubclass(kind, Stored) and kind is not Described
    for member in declared.members(kind):
        if member.of is not Stored or not included:
            inner = (
                [each.name for each in declared.members(member.kind) if each.of is not Stored] if member.kind else []
            )
            if member.kind and issubclass(member.kind, Stored):
                inner.append("and those of neardup show --json before cluster")
            yield member.name, member.meaning + f" ({'each ' * member.many}{', '.join(inner)})" * bool(inner)
    if included:
        yield "id, ...", "The stored document, as in neardup show --json"
