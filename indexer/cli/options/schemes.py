"""Options for fingerprints, and for the sketches a store keeps."""

from __future__ import annotations

from typing import Any

import click

from indexer.cli.options.groups import Decorator, Group, Related
from indexer.cli.options.shared import jobs_option
from indexer.library.options import Fingerprinting
from indexer.model.kinds import KIND_NAMES, KINDS


def schemes_of_new_option(**related: Any) -> Decorator:
    return click.option(
        "--schemes",
        cls=Related,
        metavar="NAME,...",
        help="For a new store or a batch: exactly these schemes. simhash-doc alone is the lean form.  [default: "
        "simhash-doc and the schemes of --kind]",
        **related,
    )


def kind_option(**related: Any) -> Decorator:
    kinds = "; ".join(f"{kind.name}: {kind.about}" for kind in KINDS.values())
    return click.option(
        "--kind",
        cls=Related,
        type=click.Choice(KIND_NAMES),
        help=f"For a new store or a batch: the kind of its texts ({kinds}), which decides on the schemes, "
        "the rule, and the number of words that are too few.  [default: documents]",
        **related,
    )


_USUAL, *_OTHERS = KINDS.values()
_FEWER = [f"{kind.min_tokens} for --kind {kind.name}" for kind in _OTHERS if kind.min_tokens != _USUAL.min_tokens]

fingerprint_options = Group(
    Fingerprinting,
    jobs_option,
    click.option(
        "--min-tokens",
        type=click.IntRange(0),
        metavar="N",
        help="Mark documents with fewer words as short, and leave them out of answers by default.  [default: "
        f"{_USUAL.min_tokens}; {', '.join(_FEWER)}]",
    ),
    click.option(
        "--scheme",
        multiple=True,
        metavar="NAME[:PARAM=VALUE,...]",
        help="Also keep a sketch of each document by this scheme. Can be repeated. The store remembers its schemes. "
        "neardup schemes lists all.",
    ),
    schemes_of_new_option(),
    kind_option(),
    title="Fingerprints",
)
