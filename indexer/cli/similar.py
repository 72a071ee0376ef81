"""`neardup similar`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import click

from indexer.cli.options.commands import A_PATH, command
from indexer.cli.options.shared import (
    FilterAsked,
    JsonAsked,
    Matching,
    StoreAsked,
    any_stored,
    from_stdin,
    only_one,
    opened_collection,
    require_some_file,
)
from indexer.cli.terminal.answers import Answers
from indexer.cli.terminal.output import shown_store
from indexer.library.asking import THE_TEXT, holds_many, is_stored
from indexer.library.options import Extraction, NamedColumns
from indexer.model.declared import Option
from indexer.model.paths import printable_path


@command("Similar", many=True, name="similar", short_help="Show what is similar to documents.")
@click.argument("files", metavar="[FILE|DIR|GLOB|ID|-]...", nargs=-1, type=A_PATH)
def similar_command(  # noqa: PLR0913 - they are options of the command
    *, files: tuple[str, ...], store: StoreAsked,
    identities: Annotated[tuple[str, ...], Option("Ask about a stored document, in a search engine also INDEX/ID. Can "
        "be repeated.", names=["--id"], metavar="ID")],
    text: Annotated[str | None, Option("Ask about this text; - reads it from standard input.", metavar="TEXT")],
    hash_: Annotated[str | None, Option("Ask about a fingerprint: base32 as printed, or 16 hex digits.",
        names=["--hash"], metavar="HASH")],
    matching: Matching,
    at_least: Annotated[float | None, Option("Show all documents at least this similar, whatever the rule says. Below "
        "the rule's threshold this reads every sketch of the store. 0 shows the nearest, however distant.", least=0,
        most=1, metavar="S")],
    limit: Annotated[int, Option("Show at most N documents for each question.", least=1)] = 20,
    include_short: Annotated[bool, Option("Also show documents with too few words for a meaningful fingerprint.")],
    passages: Annotated[bool, Option("Read the texts of matches again, and show the passages in both, with their "
        "places and words.", not_with=["hash_"])],
    relation: Annotated[bool | None, Option("Say how the text relates to each near one, and name the differences. "
        "Reads texts again. By default for a single document, without --json, for fields of an index and files of at "
        "most 2 MB.")],
    filter: FilterAsked,  # noqa: A002
    verify_in_engine: Annotated[bool, Option("With a rule of simhash-doc alone: let the engine check distances (by a "
        "Painless script). The answer is the same.")],
    extraction: Extraction, columns: NamedColumns, json: JsonAsked,
) -> int:  # fmt: skip
    """Show the stored documents that are similar to FILE, the most similar first.

    FILE is a file, a folder, a pattern, - for standard input, or the id of a stored document. There may be many.

    Examples:
      neardup similar draft.pdf
      neardup similar new/ 'inbox/*.html'        each document of a folder and a pattern
      neardup similar new.jsonl --json | jq -r 'select(.total > 0) | .query.name'
      neardup similar --id docs/guide.html -k 6 --limit 50
      pbpaste | neardup similar --text -
      neardup similar --hash sd1-aaaaaaaaaaaae --json
      neardup similar draft.pdf --similarity 0.8 --explain
      neardup similar draft.pdf --match simhash-doc@7bits+minhash@0.5
      neardup similar draft.pdf --match passages@0.5 --passages
      neardup similar draft.pdf --store https://host:9200/news-* --filter 'lang:en AND date:[2024 TO *]'

    By default a document is near if it shares at least 60% of its 5-word shingles. The answer shows this share, and how
    many of the 64 bits of the simhash differ. --match and its short forms use another rule: -k 3 finds every document
    within 3 bits of the simhash. This is quick and finds copies, but also documents with nothing in common but their
    language. It is the rule for --hash. --at-least 0 compares every stored sketch, and shows the nearest documents,
    however distant.

    Folders, patterns and files with many documents are read as by neardup index, with a question for each document, 50
    in one request. Unreadable documents, documents without words, and unknown ids are named with the reason, and the
    others answered. The exit code is then 6 or 5.
    """
    only_one(**{"FILE": files or None, "--id": identities or None, "--text": text, "--hash": hash_})
    require_some_file(files, is_stored)
    any_stored([name for name in files if is_stored(name)], store)
    with opened_collection(store, filter=filter, read_only=True) as collection:
        rule = collection.rule(matching, hashes=hash_ is not None)
        if matching.explain:
            collection.tell_plan(rule)
        shown = Answers(rule, at_least, as_json=json, sole=_sole(files, identities, text, hash_))
        answers = collection.similar_each(
            files or identities or [from_stdin(text) if text is not None else hash_],
            by="names" if files else "ids" if identities else "documents" if text is not None else "hashes",
            fields=columns,
            extraction=extraction,
            match=rule,
            limit=limit,
            at_least=at_least,
            include_short=include_short,
            verify_in_engine=verify_in_engine,
            explain=matching.explain,
            passages=passages,
            relation=_relating(relation, by_default=shown.is_sole and not json and not rule.of_parts),
            parts=shown.is_sole and not matching.given and at_least is None,
        )
        with shown.progress():
            for answered in answers:
                shown.show(answered)
        empty = not shown.found and next(iter(collection), None) is None
    return shown.end(f"{shown_store(store)} holds no document; neardup index brings some into it" if empty else "")


def _relating(asked: bool | None, *, by_default: bool) -> bool | Literal["at hand"]:
    return asked if asked is not None else "at hand" if by_default else False


def _sole(files: Sequence[str], ids: Sequence[str], text: str | None, fingerprint: str | None) -> str | None:
    if any(map(holds_many, files)):
        return None
    names = [*(printable_path(name.removeprefix("id:")) for name in files), *ids]
    names += [THE_TEXT] if text is not None else []
    names += [fingerprint] if fingerprint is not None else []
    return names[0] if len(names) == 1 else None


COMMANDS = (similar_command,)
