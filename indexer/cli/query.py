"""`neardup similar`, `neardup compare` and `neardup hash`."""

from __future__ import annotations

import os
import textwrap
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from indexer.cli import asked
from indexer.cli.asked import Asked
from indexer.cli.options import (
    content_of,
    extraction_options,
    filter_option,
    json_option,
    only_one,
    opened,
    store_file,
    store_folder,
    store_option,
)
from indexer.cli.output import answer, answer_json, fields, fingerprint_json, match_json, say, shown_store, table
from indexer.errors import ExtractionError, NeardupError, NotFoundError, UsageError
from indexer.model import DEFAULT_DISTANCE, Fingerprint, Match, Ref, label_of, name_of, parse_fingerprint
from indexer.pipeline import DEFAULT_MIN_TOKENS
from indexer.sources import STDIN, possible_ids, printable_path

if TYPE_CHECKING:
    from indexer.similar import Answer
    from indexer.stores import Store

_TITLE_WIDTH = 60


@click.command(
    short_help="Show what is similar to a document.",
    epilog="""
\b
Examples:
  neardup similar draft.pdf
  neardup similar --id docs/guide.html -k 6 --limit 50
  pbpaste | neardup similar --text -
  neardup similar --hash sd1-aaaaaaaaaaaae --json
  neardup similar draft.pdf --store https://host:9200/news-* --filter 'lang:en AND date:[2024 TO *]'

A match is "close" when at most 1 of the 64 bits differs, and "loose" up to 6. -k 3 finds every stored document within
3 bits, so it does not hold all loose matches: ask with -k 6 for those. Above 3, neighbouring keys are asked for too,
and nothing within the distance is missed, up to 7.

With --json one object: query, distance, total (before --limit), and matches, the nearest first, each with distance,
similarity, label, and the stored document as in "neardup show --json".
""",
)
@click.argument("file", required=False, type=click.Path())
@store_option
@click.option("--id", "identity", metavar="ID", help="Ask about a stored document; in a cluster also INDEX/ID.")
@click.option("--text", metavar="TEXT", help="Ask about this text; - reads it from standard input.")
@click.option("--hash", "hash_", metavar="HASH", help="Ask about a fingerprint: base32 as printed, or 16 hex digits.")
@click.option(
    "-k",
    "--distance",
    type=click.IntRange(0, 7),
    metavar="BITS",
    default=DEFAULT_DISTANCE,
    show_default=True,
    help="How many of the 64 bits may differ, 0 to 7.",
)
@click.option(
    "--limit", type=click.IntRange(1), metavar="N", default=20, show_default=True, help="Show the nearest N only."
)
@click.option(
    "--include-short", is_flag=True, help="Show documents with too few words for a meaningful fingerprint too."
)
@filter_option
@click.option(
    "--verify-in-cluster",
    is_flag=True,
    help="Let the cluster itself leave out what lies too far (a Painless script); the answer is the same.",
)
@extraction_options
@json_option
def similar(file: str | None, store: str, distance: int, limit: int, json: bool, **given: Any) -> None:
    """Show the stored documents that are similar to FILE, the nearest first; FILE may be - for standard input."""
    only_one(**{"FILE": file, "--id": given["identity"], "--text": given["text"], "--hash": given["hash_"]})
    from indexer.similar import similar as find

    with opened(store, read_only=True) as source:
        if given["filter"] is not None:
            source.narrow(given["filter"])
        query = _query(source, file, given)
        own = query.ref or (_own_ref(source, store, file) if file and file != STDIN else None)
        _warn(query)
        result = find(
            source,
            query.fingerprint,
            distance=distance,
            limit=limit,
            include_short=given["include_short"],
            exclude=own,
            inside=given["verify_in_cluster"],
        )
        _show(query, result, as_json=json)


def _warn(query: Asked) -> None:
    if query.fingerprint is None:
        say(f"{query.name} has no words, so it has no fingerprint and matches nothing")
    elif 0 < query.fingerprint.tokens < DEFAULT_MIN_TOKENS:
        say(
            f"{query.name} has only {query.fingerprint.tokens} words: too few for a meaningful fingerprint, "
            "so it may match by chance, and may miss its near-duplicates"
        )


def _query(source: Store, file: str | None, given: dict[str, Any]) -> Asked:
    if file is not None:
        return asked.from_file(file, *asked.reading(given, content_of(source)))
    if given["identity"] is not None:
        return asked.stored(source, given["identity"])
    if given["text"] is not None:
        return asked.from_text(given["text"])
    return Asked(given["hash_"], parse_fingerprint(given["hash_"]))


def _own_ref(source: Store, store: str, file: str) -> Ref | None:
    """The identity under which the file itself is stored, so that it is no answer to itself."""
    path = printable_path(os.path.abspath(file))
    records = source.get([Ref(identity) for identity in possible_ids(file, store_folder(store))])
    return next((record.ref for record in records if record and record.source == path), None)


def _show(query: Asked, result: Answer, *, as_json: bool) -> None:
    matches, total, distance = result.matches, result.total, result.distance
    if as_json:
        about = {"name": query.name, "title": query.title, **fingerprint_json(query.fingerprint)}
        answer_json({"query": about, "distance": distance, "total": total, "matches": [match_json(m) for m in matches]})
        return
    if matches:
        columns, rows = ["id", "bits", "similarity", "label", "title", "path"], [_row(match) for match in matches]
        # Mostly an id is the path as seen from here.
        if all(row[0] == row[-1] for row in rows):
            columns, rows = columns[:-1], [row[:-1] for row in rows]
        table(columns, rows, right=("bits", "similarity"))
        if total > len(matches):
            say(f"the nearest {len(matches)} of {total}; --limit shows more")
    elif query.fingerprint:
        say(f"nothing else within {distance} bits" + ("; -k 6 looks further" if distance < 6 else ""))


def _row(match: Match) -> tuple[str, ...]:
    record = match.record
    label = (match.label + " short" * record.short).strip()
    title = textwrap.shorten(record.title, _TITLE_WIDTH, placeholder="…")
    # Below the current folder a path is shown as the user would type it.
    path = record.source.removeprefix(os.path.join(os.getcwd(), ""))
    return (name_of(record.ref), str(match.distance), f"{match.similarity:.3f}", label, title, path)


@click.command(
    short_help="Show how far apart two documents are.",
    epilog="""
\b
Examples:
  neardup compare old.html new.pdf
  neardup compare draft.html docs/guide.html --json
  neardup compare id:17 id:18 --store pages.neardup

A and B are files, or else ids of stored documents; "id:ID" is always an id. - is standard input.
""",
)
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path())
@store_option
@extraction_options
@json_option
def compare(a: str, b: str, store: str, json: bool, **given: Any) -> None:
    """Show how far apart two documents are: the bits that differ, the similarity, the label."""
    in_store = any(_is_id(each) for each in (a, b))
    if in_store and store_file(store) and not os.path.exists(store_file(store)):
        missing = next(each for each in (a, b) if _is_id(each))
        raise NotFoundError(
            f"{printable_path(missing)}: no such file, and no store at {shown_store(store)} to look for an id in"
        )
    with opened(store, read_only=True) if in_store else nullcontext() as source:
        reading = asked.reading(given, content_of(source) if source else None)
        one, two = (
            asked.stored(source, name.removeprefix("id:"))
            if source and _is_id(name)
            else asked.from_file(name, *reading)
            for name in (a, b)
        )
    left, right = _comparable(one), _comparable(two)
    distance = left.distance(right)
    similarity, label = 1 - distance / 64, label_of(distance)
    if json:
        sides = {
            key: {"name": each.name, **fingerprint_json(each.fingerprint)} for key, each in (("a", one), ("b", two))
        }
        answer_json({"distance": distance, "similarity": similarity, "label": label, **sides})
        return
    fields(
        [
            ("distance", f"{distance} of 64 bits"),
            ("similarity", f"{similarity:.3f}"),
            ("label", label or "none (more than 6 bits)"),
            ("A", f"{left}  {left.tokens:,} words  {one.name}"),
            ("B", f"{right}  {right.tokens:,} words  {two.name}"),
        ]
    )


def _comparable(document: Asked) -> Fingerprint:
    if document.fingerprint is None:
        raise ExtractionError("empty", f"{document.name} has no words, so there is no fingerprint to compare")
    return document.fingerprint


def _is_id(name: str) -> bool:
    return name.startswith("id:") or (name != STDIN and not os.path.lexists(name))


@click.command(
    name="hash",
    short_help="Print fingerprints of files.",
    epilog="""
\b
Examples:
  neardup hash a.html b.pdf
  neardup hash --text "the words of a text"
  curl -s https://example.org/ | neardup hash --format html -

One line for each document: fingerprint, number of words, name; a document without words has no fingerprint, shown
as "-".
With --json one object a line: name, hash, hex, tokens, title, format. Ends with exit code 6 if a document gave no text.
""",
)
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--text", metavar="TEXT", help="Fingerprint this text; - reads it from standard input.")
@extraction_options
@json_option
def hash_(files: tuple[str, ...], text: str | None, json: bool, **given: Any) -> int:
    """Print the fingerprint of each FILE; - is standard input. Needs no store."""
    if not files and text is None:
        raise UsageError("name at least one file, - for standard input, or give --text")
    reading = asked.reading(given, None)
    code = 0
    if text is not None:
        _print_hash(asked.from_text(text), as_json=json)
    for file in files:
        try:
            _print_hash(asked.from_file(file, *reading), as_json=json)
        except NeardupError as error:
            say(str(error))
            code = error.exit_code
    return code


def _print_hash(document: Asked, *, as_json: bool) -> None:
    fingerprint = document.fingerprint
    if as_json:
        about = {"title": document.title, "format": document.format}
        answer_json({"name": document.name, **fingerprint_json(fingerprint), **about})
    else:
        tokens = fingerprint.tokens if fingerprint else 0
        answer(f"{fingerprint or '-'!s:<17}  {tokens:>7}  {document.name}")


COMMANDS = (similar, compare, hash_)
