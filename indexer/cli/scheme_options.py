"""Options about schemes that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from indexer.cli.output import say

if TYPE_CHECKING:
    from indexer.planning import Choice

schemes_option = click.option(
    "--scheme",
    "schemes",
    multiple=True,
    metavar="NAME[:PARAM=VALUE,...]",
    help="Keep a sketch of each document by this scheme too; give it several times for several. The store remembers "
    "its schemes, and later runs keep to them. neardup schemes lists them.",
)
scheme_option = click.option(
    "--scheme", metavar="NAME", help="Compare by this scheme of the store (see neardup schemes --store)."
)
similarity_option = click.option(
    "--similarity",
    type=click.FloatRange(0, 1),
    metavar="S",
    help="How similar documents have to be, 0 to 1, in place of -k. Without --scheme the store's scheme that misses "
    "least is chosen.  [default: the scheme's own]",
)
explain_option = click.option(
    "--explain", is_flag=True, help="Say what is looked up, what that guarantees, and what it is expected to miss."
)


def show_plan(choice: Choice) -> None:
    """Print what is looked up, as a remark."""
    from indexer.planning import explained

    for line in explained(choice):
        say(line)


def plan_json(choice: Choice) -> dict[str, Any]:
    """The same for --json."""
    plan = choice.plan
    return {
        "scheme": choice.scheme.id if choice.scheme else choice.name,
        "measure": choice.measure,
        "similarity": plan.similarity,
        "probes": plan.probes,
        "agreeing": plan.agreeing,
        "recall": plan.recall,
        "guaranteed": plan.guaranteed,
        "explanation": plan.explanation,
    }
