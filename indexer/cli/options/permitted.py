"""The options to remove more than plain copies."""

from __future__ import annotations

from typing import Any

import click

from indexer.cli.options.groups import Decorator, Related


def permitted_options(also: str, **related: Any) -> tuple[Decorator, Decorator]:
    """`--forms` and `--edited`; their help begins with `also`.

    `related` are the attributes of `Related` for them.
    """

    def flag(name: str, what: str) -> Decorator:
        named = f"{also} {what}"
        return click.option(name, cls=Related, is_flag=True, allow_from_autoenv=False, help=named, **related)

    return (
        flag("--forms", "forms: documents in which a number, a date, a name or another fact differs."),
        flag("--edited", "documents that say less: a document that stays has all their sentences in order, and more."),
    )
