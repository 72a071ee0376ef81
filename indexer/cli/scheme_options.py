"""Options about schemes that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import click

from indexer.cli.output import say
from indexer.errors import UsageError
from indexer.model import SIMHASH_DOC, name_of

if TYPE_CHECKING:
    from indexer.planning import Choice
    from indexer.stores import Store
    from indexer.verifying import Verifier, Way

Command = TypeVar("Command", bound=Callable[..., Any])

# So many documents are named that could not be verified.
_SHOWN = 5

schemes_option = click.option(
    "--scheme",
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


def verify_options(command: Command) -> Command:
    """Add how what was found is verified in another way too."""
    options = (
        click.option(
            "--verify",
            type=click.Choice(["hamming", "sketch", "text"]),
            help="Verify what was found in another way too: by the bits of the simhash (within -k), by stored sketches "
            "(needs the scheme minhash), or exactly by the texts, which are read again.  [default: sketch where "
            "--min-jaccard or --min-containment is given]",
        ),
        click.option(
            "--min-jaccard",
            type=click.FloatRange(0, 1),
            metavar="J",
            help="With --verify sketch or text: how much of all 5-word passages of two documents has to be in both.  "
            "[default: 0.5, unless --min-containment is given]",
        ),
        click.option(
            "--min-containment",
            type=click.FloatRange(0, 1),
            metavar="C",
            help="With --verify sketch or text: how much of the smaller document's 5-word passages has to be in the "
            "other one.",
        ),
    )
    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


def chosen(store: Store, given: Mapping[str, Any], farthest: int) -> Choice:
    """The scheme and plan that a command's --scheme, --similarity and -k ask for; said, if --explain is given.

    UsageError where -k is given beside a similarity or another scheme, without a verification that it is for.
    """
    from indexer.planning import choose, within

    name, similarity, distance = given["scheme"] or "", given["similarity"], given["distance"]
    if not name and similarity is None:
        choice = within(distance)
    else:
        if _was_given("distance") and given["verify"] != "hamming" and (similarity is not None or name != SIMHASH_DOC):
            raise UsageError("-k counts bits of the simhash; give --similarity in its place, or --verify hamming too")
        if name == SIMHASH_DOC and similarity is None:
            choice = within(distance)
        else:
            choice = choose(store, similarity, name=name, farthest=farthest)
    if given["explain"]:
        show_plan(choice)
    return choice


def _was_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source in (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.ENVIRONMENT)


def checked(store: Store, given: Mapping[str, Any]) -> Verifier | None:
    """What verifies pairs, as a command's options ask; None where they don't."""
    jaccard, containment = given["min_jaccard"], given["min_containment"]
    way: Way | None = given["verify"]
    if way is None and jaccard is None and containment is None:
        return None
    from indexer.verifying import verifier

    return verifier(store, way or "sketch", jaccard=jaccard, containment=containment, distance=given["distance"])


def tell_unread(check: Verifier | None) -> None:
    """Say which documents could not be verified, so that what they match was left out."""
    if check is None or not check.unread:
        return
    shown = "; ".join(f"{name_of(ref)} ({why})" for ref, why in islice(check.unread.items(), _SHOWN))
    more = f"; and {len(check.unread) - _SHOWN:,} more" if len(check.unread) > _SHOWN else ""
    say(f"{len(check.unread):,} documents could not be verified, and are left out: {shown}{more}")
