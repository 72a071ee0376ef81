"""Commands with options declared in their signature, that list the members of their answer in the help."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from indexer.cli.options.groups import with_options
from indexer.model import declared


def command(answers: str = "", **attributes: Any) -> Callable[[Callable[..., object]], Answering]:
    """A decorator that makes a command; the attributes are those of `Answering`, and of click's commands."""
    return lambda function: click.command(cls=Answering, answers=answers, **attributes)(with_options(function))


class Answering(click.Command):
    """A command with the answer `answers`: a class of `indexer.library.records`, or MODULE:CLASS, empty for none.

    With `--json` it prints one object, or one a line if `many`; `others` are the classes of its other answers by their
    headings. `heading` is for an answer in another form than JSON.
    """

    def __init__(
        self, *arguments: Any, answers: str, many: bool = False, others: Mapping[str, str] | None = None,
        heading: str = "", **attributes: Any,
    ) -> None:  # fmt: skip
        super().__init__(*arguments, **attributes)
        usual = "With --json " + ("one object per line" if many else "one object")
        self._forms = {heading or usual: answers, **(others or {})} if answers else {}

    def results(self) -> list[tuple[str, type]]:
        return [(heading, _class(name)) for heading, name in self._forms.items()]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        titled: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)):
                titled.setdefault(vars(parameter).get("heading") or "Options", []).append(record)
        for title, records in titled.items():
            with formatter.section(title):
                formatter.write_dl(records)

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
