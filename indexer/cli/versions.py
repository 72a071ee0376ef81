"""`neardup history`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import click

from indexer.cli.options.answers import command
from indexer.cli.options.shared import JsonAsked, StoreAsked, opened_collection
from indexer.cli.terminal.output import answer, answer_json, say
from indexer.model.declared import Option
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.histories import VersionChange

_OTHERS, _FACTS = 10, 3


@command(
    "histories:History",
    short_help="List the versions of a document.",
    epilog="""
\b
Examples:
  neardup history docs/3.11/guide.html
  neardup history news-2024/17 --store https://host:9200/news-* --json

Versions are documents of a cluster with the same name, URL or title except for a version number, other captures of
the same URL, and documents that replace each other by name, as RFCs do. Version numbers and dates in names, metadata
and texts give their order. Without them, or if they contradict each other, the order is unknown.
""",
)
@click.argument("identity", metavar="ID")
def history(
    *, identity: str, store: StoreAsked,
    no_changes: Annotated[bool, Option("Don't read the texts again to show the changes of each version.")],
    time_field: Annotated[str | None, Option("The field with the date of a document, in its metadata or in an index.  "
        "[default: as in the last clustering]", metavar="NAME")],
    json: JsonAsked,
) -> None:  # fmt: skip
    """List the versions of document ID, from the oldest, and what each changed of the one before it."""
    with opened_collection(store, read_only=True) as collection:
        found = collection.history(identity, changes=not no_changes, time_field=time_field)
    if json:
        answer_json(found)
        return
    for one in found.versions:
        marks = " (the latest)" * one.is_latest + " <-" * (one.id == found.id)
        answer(f"{one.ordinal:>3}  {one.id}{marks}")
        if one.evidence:
            answer(f"     {one.evidence}")
        if one.change:
            answer(f"     {_in_words(one.change)}")
    if found.versions:
        say(f"{counted(len(found.versions), 'version')}, in this order with a confidence of {found.confidence:.2f}")
    else:
        say(f"{found.id} has no other versions, or their order is unknown" if found.cluster else f"{found.id} is alone")
    for other in found.others[:_OTHERS]:
        said = f" ({other.confidence:.2f}: {other.evidence})" if other.evidence else ""
        answer(f"  -  {other.id}: {other.order}{said}")
    if (more := len(found.others) - _OTHERS) > 0:
        say(f"{counted(more, 'other document')} of the cluster; --json lists all")


def _in_words(change: VersionChange) -> str:
    if change.unread:
        return f"not compared: {change.unread}"
    if not (change.removed or change.added or change.facts):
        return f"{change.relation} text"
    words = f"{counted(change.removed, 'word')} removed, {change.added:,} added"
    if not change.facts:
        return words
    facts = ", ".join(change.facts[:_FACTS]) + ", ..." * (len(change.facts) > _FACTS)
    return f"{words}; {counted(len(change.facts), 'fact differs', 'facts differ')}: {facts}"


COMMANDS = (history,)
