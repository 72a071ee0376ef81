"""Options that say how documents are fingerprinted, and which sketches a store keeps of them."""

from __future__ import annotations

from typing import Any

import click

from indexer.cli.options.groups import Decorator, Group, Related
from indexer.cli.options.shared import jobs_option
from indexer.library.options import Fingerprinting


def schemes_of_new_option(**related: Any) -> Decorator:
    """The option that says with which schemes a new store is made."""
    return click.option(
        "--schemes",
        cls=Related,
        metavar="NAME,...",
        help="Create a new store with exactly these schemes; simhash-doc alone is the lean form.  [default: "
        "simhash-doc,minhash]",
        **related,
    )


fingerprint_options = Group(
    Fingerprinting,
    jobs_option,
    click.option(
        "--min-tokens",
        type=click.IntRange(0),
        metavar="N",
        default=Fingerprinting().min_tokens,
        show_default=True,
        help="Mark documents with fewer words as short, and leave them out of answers by default.",
    ),
    click.option(
        "--scheme",
        multiple=True,
        metavar="NAME[:PARAM=VALUE,...]",
        help="Also keep a sketch of each document by this scheme; can be repeated. The store remembers its "
        "schemes for later runs. neardup schemes lists all schemes.",
    ),
    schemes_of_new_option(),
    title="Fingerprints",
)
