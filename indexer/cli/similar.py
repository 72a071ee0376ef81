"""`neardup similar`."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
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
    store_folder,
    store_option,
)
from indexer.cli.output import answer_json, fingerprint_json, match_json, say, table
from indexer.cli.scheme_options import (
    checked,
    chosen,
    explain_option,
    plan_json,
    scheme_option,
    similarity_option,
    tell_unread,
    verify_options,
)
from indexer.errors import UsageError
from indexer.model import DEFAULT_DISTANCE, Match, Ref, Sketch, name_of, parse_fingerprint
from indexer.pipeline import DEFAULT_MIN_TOKENS
from indexer.sources import STDIN, possible_ids, printable_path

if TYPE_CHECKING:
    from indexer.planning import Choice
    from indexer.scheme_similar import SketchMatch
    from indexer.schemes.base import Scheme
    from indexer.stores import Store
    from indexer.verifying import Verifier

    Matches = Sequence[Match | SketchMatch]

_TITLE_WIDTH = 60
# The largest distance at which a lookup finds everything.
_MAX_DISTANCE = 7


@click.command(
    short_help="Show what is similar to a document.",
    epilog="""
\b
Examples:
  neardup similar draft.pdf
  neardup similar --id docs/guide.html -k 6 --limit 50
  pbpaste | neardup similar --text -
  neardup similar --hash sd1-aaaaaaaaaaaae --json
  neardup similar draft.pdf --similarity 0.8 --explain
  neardup similar draft.pdf -k 7 --verify text --min-containment 0.9
  neardup similar draft.pdf --store https://host:9200/news-* --filter 'lang:en AND date:[2024 TO *]'

A match is "close" when at most 1 of the 64 bits differs, and "loose" up to 6. -k 3 finds every stored document within
3 bits, so it does not hold all loose matches: ask with -k 6 for those. Above 3, neighbouring keys are asked for too,
and nothing within the distance is missed, up to 7.

With --similarity or --scheme another scheme of the store is asked, if it has one: "neardup schemes --store" lists
them. Then "close" is a similarity of 0.98 or more, and "loose" 0.90. --verify throws out what was found by chance.

With --json one object: query, distance, total (before --limit), and matches, the nearest first, each with distance,
similarity, label, and the stored document as in "neardup show --json"; by another scheme also scheme and similarity
(as asked), and distance is the dissimilarity in 64ths; with --explain also plan.
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
@similarity_option
@scheme_option
@explain_option
@verify_options
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
def similar(file: str | None, store: str, json: bool, **given: Any) -> None:
    """Show the stored documents that are similar to FILE, the nearest first; FILE may be - for standard input."""
    only_one(**{"FILE": file, "--id": given["identity"], "--text": given["text"], "--hash": given["hash_"]})
    with opened(store, read_only=True) as source:
        if given["filter"] is not None:
            source.narrow(given["filter"])
        choice = chosen(source, given, _MAX_DISTANCE)
        check = checked(source, given)
        query = _query(source, file, given)
        own = query.ref or (_own_ref(source, store, file) if file and file != STDIN else None)
        _warn(query)
        matches, total = (_by_scheme if choice.scheme else _by_first)(source, query, choice, check, own, given)
        _show(query, choice, matches, total, as_json=json, explain=given["explain"])
        tell_unread(check)


def _by_first(
    source: Store, query: Asked, choice: Choice, check: Verifier | None, own: Ref | None, given: dict[str, Any]
) -> tuple[Matches, int]:
    from indexer.similar import similar as find

    found = find(
        source,
        query.fingerprint,
        distance=choice.distance,
        limit=None if check else given["limit"],
        include_short=given["include_short"],
        exclude=own,
        inside=given["verify_in_cluster"],
    )
    if check is None:
        return found.matches, found.total
    passed = check.against(_evidence(query, check))([match.record.ref for match in found.matches])
    kept = [match for match, fine in zip(found.matches, passed.tolist(), strict=True) if fine]
    return kept[: given["limit"]], len(kept)


def _by_scheme(
    source: Store, query: Asked, choice: Choice, check: Verifier | None, own: Ref | None, given: dict[str, Any]
) -> tuple[Matches, int]:
    from indexer.scheme_similar import similar_by

    scheme = choice.scheme
    assert scheme  # noqa: S101 - for the type checker
    if given["verify_in_cluster"]:
        raise UsageError(f"--verify-in-cluster counts bits of the simhash; {scheme.family} is verified here")
    found = similar_by(
        source,
        scheme,
        _sketch(query, scheme),
        choice.plan.similarity,
        limit=given["limit"],
        include_short=given["include_short"],
        exclude=own,
        passes=check.against(_evidence(query, check)) if check else None,
    )
    return found.matches, found.total


def _sketch(query: Asked, scheme: Scheme) -> Sketch | None:
    """The question's sketch: the stored one of a stored document, else one of the text."""
    if query.record:
        if scheme.family not in query.record.sketches:
            raise UsageError(
                f"{query.name} has no sketch of {scheme.family}: it was stored before the scheme; index it again"
            )
        return query.record.sketches[scheme.family]
    if query.text is None:
        raise UsageError(f"a hash is of simhash-doc, and can't be asked for by {scheme.family}; give a text or file")
    return scheme.sketch(query.text)


def _evidence(query: Asked, check: Verifier) -> Any:
    """What the question is verified by."""
    if query.record:
        return check.of_record(query.record)
    found = check.of_question(query.text, query.fingerprint)
    if found is None and query.text is None:
        raise UsageError("a hash has no text to verify by; give a text or file, or --verify hamming")
    return found


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


def _show(query: Asked, choice: Choice, matches: Matches, total: int, *, as_json: bool, explain: bool) -> None:
    if as_json:
        about = {"name": query.name, "title": query.title, **fingerprint_json(query.fingerprint)}
        by = {"scheme": choice.scheme.id, "similarity": choice.plan.similarity} if choice.scheme else {}
        asked_for = by or {"distance": choice.distance}
        plan = {"plan": plan_json(choice)} if explain else {}
        found = {"total": total, "matches": [match_json(match) for match in matches]}
        answer_json({"query": about, **asked_for, **plan, **found})
        return
    if matches:
        columns, rows = ["id", "bits", "similarity", "label", "title", "path"], [_row(match) for match in matches]
        # Mostly an id is the path as seen from here.
        if all(row[0] == row[-1] for row in rows):
            columns, rows = columns[:-1], [row[:-1] for row in rows]
        if choice.scheme:
            columns, rows = [columns[0], *columns[2:]], [(row[0], *row[2:]) for row in rows]
        table(columns, rows, right=("bits", "similarity"))
        if total > len(matches):
            say(f"the nearest {len(matches)} of {total}; --limit shows more")
    elif choice.scheme:
        say(f"nothing else by {choice.name} from a similarity of {choice.plan.similarity:g} on")
    elif query.fingerprint:
        say(f"nothing else within {choice.distance} bits" + ("; -k 6 looks further" if choice.distance < 6 else ""))


def _row(match: Match | SketchMatch) -> tuple[str, ...]:
    record = match.record
    label = (match.label + " short" * record.short).strip()
    title = textwrap.shorten(record.title, _TITLE_WIDTH, placeholder="…")
    # Below the current folder a path is shown as the user would type it.
    path = record.source.removeprefix(os.path.join(os.getcwd(), ""))
    return (name_of(record.ref), str(match.distance), f"{match.similarity:.3f}", label, title, path)


COMMANDS = (similar,)
