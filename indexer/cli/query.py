"""`neardup compare` and `neardup hash`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import click

from indexer.cli.options import arguments
from indexer.cli.options.answers import command
from indexer.cli.options.arguments import from_stdin
from indexer.cli.options.groups import A_PATH
from indexer.cli.options.matching import Matching, show_rule
from indexer.cli.options.shared import JsonAsked, StoreAsked, opened_collection
from indexer.cli.terminal.answers import order_shown, relation_shown, show_excerpts
from indexer.cli.terminal.output import about, answer, answer_json, fields, say
from indexer.errors import ExtractionError, NotFoundError, UsageError
from indexer.library.options import Extraction
from indexer.model.declared import Option
from indexer.text.counts import counted, share_shown

if TYPE_CHECKING:
    from indexer.library.comparisons import Comparison
    from indexer.library.records import Hashed


@command(
    "comparisons:Comparison",
    short_help="Show what two documents share.",
    epilog="""
\b
Examples:
  neardup compare old.html new.pdf
  neardup compare draft.html docs/guide.html --json
  neardup compare id:17 id:18 --store pages.neardup
  neardup compare old.html new.html --match simhash-doc@3bits
  neardup compare chapter.html book.pdf --passages

A and B are files, or ids of stored documents; "id:ID" is always an id. - is standard input.
""",
)
@click.argument("a", type=A_PATH)
@click.argument("b", type=A_PATH)
def compare(
    *, a: str, b: str, store: StoreAsked, matching: Matching,
    passages: Annotated[bool, Option("Show the passages in both: their places and words.")],
    extraction: Extraction, json: JsonAsked,
) -> None:  # fmt: skip
    """Show how similar two documents are: shingles and passages in both, differing bits, and whether they are near."""
    from indexer.library import comparing
    from indexer.library.rules import rule_of

    arguments.require_some_stored((a, b))
    arguments.require_some_file((a, b))
    if arguments.any_stored((a, b), store):
        with opened_collection(store, read_only=True) as collection:
            rule = collection.rule(matching)
            made = collection.compare(a, b, match=rule, extraction=extraction)
    else:
        rule = rule_of(matching)
        made = comparing.compare(a, b, match=rule, extraction=extraction)
    if matching.explain:
        show_rule(rule)
    if json:
        answer_json(made)
        return
    bits = f"{made.bits} of 64 bits differ: 0 to 3 in close copies, 18 on average in unrelated English"
    fields(
        [
            ("near", f"{'yes' if made.near else 'no'}, by {rule.in_words}"),
            *([("identical", "yes, except for case and white space")] if made.identical else []),
            ("relation", relation_shown(made)),
            ("time", order_shown(made)),
            ("shares", _shares(made)),
            ("passages", _parts(made)),
            ("simhash", bits if made.bits is not None else ""),
            *(
                (side, f"{query.hash or '-'}  {counted(query.tokens, 'word')}  {query.name}")
                for side, query in (("A", made.a), ("B", made.b))
            ),
        ]
    )
    if passages and made.passages_total is None:
        say("the passages are not known: a text is not at hand, or can't be read again")
    elif passages:
        show_excerpts(made.passages, made.passages_total or 0, ("A", "B"))


_RELATIONS = {"contains": ": A contains B", "contained in": ": A is contained in B"}


def _parts(made: Comparison) -> str:
    if made.of_a is None or made.of_b is None or made.longest is None:
        return ""
    if not made.longest:
        return "no passage is in both"
    return (
        f"{share_shown(made.of_a)} of A stands in B, {share_shown(made.of_b)} of B in A"
        f"{_RELATIONS.get(made.label, '')}; the longest has {counted(made.longest, 'word')}"
    )


def _shares(made: Comparison) -> str:
    if made.shares is None:
        return ""
    how = "estimated from sketches" if made.estimated else "counted in the texts"
    return f"{share_shown(made.shares)} of all 5-word shingles are in both ({how})"


@command(
    "Hashed",
    many=True,
    name="hash",
    short_help="Print fingerprints of files.",
    epilog="""
\b
Examples:
  neardup hash a.html b.pdf
  neardup hash --text "the words of a text"
  curl -s https://example.org/ | neardup hash --format html -
  neardup hash a.html --scheme minhash

Prints one line per document: fingerprint, number of words, name. "-" stands for the fingerprint of a document without
words. With --scheme, the line has this scheme's sketch and the number of its features instead: minhash and passages
in their form for interchange (mh3-..., pa2-...), others in hexadecimal digits. Ends with exit code 6 if a document
gave no text.
""",
)
@click.argument("files", nargs=-1, type=A_PATH)
def hash_(
    *, files: tuple[str, ...],
    text: Annotated[str | None, Option("Fingerprint this text; - reads it from standard input.", metavar="TEXT")],
    scheme: Annotated[str | None, Option("Print the sketch of this scheme instead: NAME[:parameter=value,...].",
        metavar="NAME")],
    extraction: Extraction, json: JsonAsked,
) -> int:  # fmt: skip
    """Print the fingerprint of each FILE; - is standard input. No store is needed."""
    if not files and text is None:
        raise UsageError("name at least one file, - for standard input, or give --text")
    from indexer.library import comparing

    code = 0
    if text is not None:
        code = _print_hash(comparing.hash_text(from_stdin(text), scheme=scheme), as_json=json)
    for file in files:
        try:
            code = _print_hash(comparing.hash_file(file, scheme=scheme, extraction=extraction), as_json=json) or code
        except (NotFoundError, ExtractionError) as error:
            say(str(error), level="error", **about(error))
            code = error.exit_code
    return code


def _print_hash(made: Hashed, *, as_json: bool) -> int:
    shown, features = (made.hash, made.tokens) if made.scheme is None else (made.sketch, made.features)
    if as_json:
        answer_json(made)
    else:
        answer(f"{shown or '-':<17}  {features or 0:>7}  {made.name}")
    return 0 if made.hash else ExtractionError.exit_code


COMMANDS = (compare, hash_)
