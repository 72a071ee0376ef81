"""The option that names the relations by which documents go."""

from __future__ import annotations

from typing import Any

import click

from indexer.cli.options.groups import Decorator, Related
from indexer.library.options import COPIES, REMOVABLE


def remove_option(verb: str, **related: Any) -> Decorator:
    """`--remove`, whose help begins with `verb`; `related` are the attributes of `Related`."""
    return click.option(
        "--remove",
        cls=Related,
        metavar="RELATION,...",
        allow_from_autoenv=False,
        help=f"{verb} the documents whose text stands to that of a document that stays in one of these relations: "
        f"{', '.join(REMOVABLE)}; edited only if it says less.  [default: {','.join(COPIES)}]",
        **related,
    )
