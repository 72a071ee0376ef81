"""Options that say how documents are fingerprinted, and which sketches a store keeps of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from indexer.cli.options.groups import Decorator, Group, Related
from indexer.cli.options.shared import jobs_option
from indexer.ingest.indexing import DEFAULT_MIN_TOKENS, default_jobs


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


@dataclass(frozen=True, slots=True)
class Fingerprinting:
    """The options of fingerprinting documents.

    `jobs` is None for a worker process on each processor, `scheme` names schemes that are to be added to the store, and
    `schemes` is a list of those that a new one is made with, None where nothing was asked.
    """

    jobs: int | None
    min_tokens: int
    scheme: tuple[str, ...]
    schemes: str | None

    @property
    def processes(self) -> int:
        """The number of worker processes."""
        return self.jobs or default_jobs()


fingerprint_options = Group(
    Fingerprinting,
    jobs_option,
    click.option(
        "--min-tokens",
        type=click.IntRange(0),
        metavar="N",
        default=DEFAULT_MIN_TOKENS,
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
)
