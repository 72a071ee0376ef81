"""`neardup schemes` and `neardup corpus`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import click

from indexer.cli.options.answers import command
from indexer.cli.options.groups import A_PATH
from indexer.cli.options.shared import JsonAsked, StoreAsked, opened_collection
from indexer.cli.terminal.output import answer, answer_json, fields, say, shown_store, size, table
from indexer.library.options import Extraction, JobsAsked, NamedFields
from indexer.model.declared import Option
from indexer.text.counts import counted


@command(
    "outcomes:SchemeList",
    name="schemes",
    short_help="List all schemes, and those of a store.",
    epilog="""
\b
Examples:
  neardup schemes
  neardup schemes --store pages.neardup
  neardup schemes --store pages.neardup --remove minhash

A scheme turns a text into a sketch, and a sketch into keys. A new store keeps sketches of simhash-doc and minhash;
neardup index --scheme NAME adds others. "bytes" is the size of the payload of a document of 500 words, "keys" the
number of keys that are looked up and stored; "near from" is the threshold of a rule that names only the scheme.
""",
)
def schemes_command(
    *,
    store: Annotated[str | None, lambda name: click.Option(["--store", name], type=A_PATH, metavar="FILE|URL",
        envvar="NEARDUP_STORE", help="Also list the schemes of this store.")],
    remove: Annotated[str | None, Option("With --store: remove a secondary scheme and its sketches.", metavar="NAME",
        goes_with=["store"], typed=True)],
    json: Annotated[bool, Option("Answer in JSON.", not_with=["remove"])],
) -> None:  # fmt: skip
    """List all schemes: what each measures, its parameters, its costs; with --store also those of the store."""
    from indexer.library.scheme_figures import list_schemes

    if remove is not None and store is not None:
        with opened_collection(store) as collection:
            collection.remove_scheme(remove)
        say(f"{remove} and its sketches are removed from {shown_store(store)}")
        return
    listed = list_schemes()
    if store is not None:
        with opened_collection(store, read_only=True) as collection:
            listed = replace(listed, stored=collection.schemes())
    if json:
        answer_json(listed)
        return
    for each in listed.broken:
        say(f"{each.name} can't be used: {each.reason}", level="warning")
    columns = ("name", "near from", "bytes", "keys", "measure")
    rows = [(one.name, one.near_from, str(one.bytes), str(one.keys), one.measure) for one in listed.schemes]
    table(columns, rows, right=columns[1:4])
    for one in listed.schemes:
        answer("")
        written = ",".join(f"{name}={value}" for name, value in one.parameters.items())
        answer(f"{one.name}  {one.summary}")
        answer(f"    {written or 'no parameters'}" + ("; needs neardup corpus first" if one.corpus else ""))
    if store is not None:
        answer("")
        answer(f"{shown_store(store)} has:")
        held = [(own.name, f"{own.documents:,}", own.id) for own in listed.stored or ()]
        table(("name", "documents", "id"), held, right=("documents",))


@command(
    "outcomes:GatheredStatistics",
    short_help="Gather statistics for some schemes.",
    epilog="""
\b
Examples:
  neardup corpus --scheme i-match docs/
  neardup corpus --scheme simhash:weights=tfidf --from-store
  neardup index docs/ --scheme i-match

Some schemes weight or choose words by how many documents contain them, and need these counts first. The store keeps
the counts. Their digest is part of the scheme's id, so only fingerprints of the same counts are compared.

PATHs are read as by neardup index. --from-store reads the stored documents again: their files, their lines of JSON
lines files, or the fields of an annotated index named by --field. Unreadable documents are counted.
""",
)
@click.argument("paths", nargs=-1, metavar="[PATH|DIR|GLOB|-]...")
def corpus(
    *, paths: tuple[str, ...], store: StoreAsked,
    scheme: Annotated[tuple[str, ...], Option("The scheme in need of the statistics, as given to neardup index.",
        metavar="NAME[:PARAM=VALUE,...]", required=True)],
    from_store: Annotated[bool, Option("Count the documents of the store, read again from their sources.")],
    named_fields: NamedFields, jobs: JobsAsked, extraction: Extraction, json: JsonAsked,
) -> None:  # fmt: skip
    """Count in how many documents each word occurs, and keep the counts in the store, for schemes that need them."""
    from indexer.library.statistics import gather

    made = gather(
        store, scheme, paths, from_store=from_store, fields=named_fields, jobs=jobs, extraction=extraction, tell=say
    )
    if json:
        answer_json(made)
        return
    why = f": {made.reasons}" if made.reasons else ""
    fields([("documents", f"{made.documents:,}"), ("failed", f"{made.failed:,}{why}")])
    for kept in made.corpora:
        fields([("corpus", f"{kept.name}, {counted(kept.terms, 'term')}, {size(kept.bytes)}")])


COMMANDS = (schemes_command, corpus)
