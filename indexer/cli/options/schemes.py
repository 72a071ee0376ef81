"""Options that say how documents are fingerprinted, and which sketches a store keeps of them."""

from __future__ import annotations

from dataclasses import dataclass

import click

from indexer.cli.options.groups import Group
from indexer.cli.options.shared import jobs_option
from indexer.ingest.indexing import DEFAULT_MIN_TOKENS, default_jobs

only_new_option = click.option(
    "--schemes",
    metavar="NAME,...",
    help="Make a new store with exactly these schemes; simhash-doc alone is the lean form.  [default: "
    "simhash-doc,minhash]",
)


@dataclass(frozen=True, slots=True)
class Fingerprinting:
    """How documents are fingerprinted.

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
        help="Documents with fewer words are marked short, and left out of answers unless asked for.",
    ),
    click.option(
        "--scheme",
        multiple=True,
        metavar="NAME[:PARAM=VALUE,...]",
        help="Keep a sketch of each document by this scheme too; give it several times for several. The store "
        "remembers its schemes, and later runs keep to them. neardup schemes lists them.",
    ),
    only_new_option,
)
