"""Options that say how clusters are made; what they mean is decided in `indexer.clustering`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from indexer.cli.options.groups import Group
from indexer.cli.options.matching import distance_option, match_option

if TYPE_CHECKING:
    from indexer.clustering.canonical import CanonicalRule


@dataclass(frozen=True, slots=True)
class Clustering:
    """How clusters are made, beside the match rule; None where nothing was asked."""

    bound: float | None
    canonical: str | None
    prefer: tuple[str, ...]

    @property
    def canonical_rule(self) -> CanonicalRule | None:
        """Which document is to stand for a cluster. Raises UsageError."""
        from indexer.clustering.canonical import canonical_asked

        return canonical_asked(self.canonical, self.prefer)


cluster_options = Group(
    Clustering,
    click.option(
        "--bound",
        type=click.FloatRange(0, 1),
        metavar="S",
        help="How far apart two documents of a cluster may be, as 1 - similarity; longer chains are split.  "
        "[default: twice what the rule allows]",
    ),
    click.option(
        "--canonical",
        metavar="RULE",
        help="Which document stands for a cluster: earliest (first indexed), longest (most words), field:NAME or "
        "field:NAME:desc (smallest or largest metadata field), source (by --prefer).  [default: earliest]",
    ),
    click.option(
        "--prefer",
        multiple=True,
        metavar="GLOB",
        help="With --canonical source: paths or URLs that come first; give it several times, the best first.",
    ),
)


@dataclass(frozen=True, slots=True)
class Arriving:
    """What `neardup index` does about near-duplicates, and by which rule."""

    cluster: bool
    skip_duplicates: bool
    new_to: str | None
    match: str | None
    distance: int | None
    clustering: Clustering


arrival_options = Group(
    Arriving,
    click.option("--cluster", is_flag=True, help="Put each document into its cluster as it comes."),
    click.option(
        "--skip-duplicates",
        is_flag=True,
        help="Leave new documents out that are near-duplicates of stored ones; they are listed by "
        "neardup failures --reason duplicate.",
    ),
    click.option(
        "--new-to",
        metavar="FILE",
        type=click.Path(),
        help="With either: write the ids of documents that were near nothing when they came to FILE (-: standard "
        "output), one a line.",
    ),
    match_option,
    distance_option,
    cluster_options,
)
