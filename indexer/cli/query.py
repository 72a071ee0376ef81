"""`neardup compare` and `neardup hash`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from indexer.cli.options import arguments
from indexer.cli.options.matching import Matching, match_options, show_rule
from indexer.cli.options.paths import A_PATH
from indexer.cli.options.shared import extraction_options, json_option, opened, store_option
from indexer.cli.terminal.output import about, answer, answer_json, fields, fingerprint_json, say
from indexer.errors import ExtractionError, NeardupError, UsageError
from indexer.library.options import Extraction, content_of
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.matching.comparing import Compared
    from indexer.matching.question import Question
    from indexer.schemes.base import Scheme


@click.command(
    short_help="Show what two documents share.",
    epilog="""
\b
Examples:
  neardup compare old.html new.pdf
  neardup compare draft.html docs/guide.html --json
  neardup compare id:17 id:18 --store pages.neardup
  neardup compare old.html new.html --match simhash-doc@3bits

A and B are files, or ids of stored documents; "id:ID" is always an id. - is standard input.

With --json one object: rule, near, identical (null if unknown), similarity (by the rule), shares (of 5-word shingles;
null if unknown), estimated (whether by sketches), bits (of the simhash), and a and b, each with name, hash, hex and
tokens.
""",
)
@click.argument("a", type=A_PATH)
@click.argument("b", type=A_PATH)
@store_option
@match_options
@extraction_options
@json_option
def compare(a: str, b: str, store: str, matching: Matching, extraction: Extraction, json: bool) -> None:
    """Show how similar two documents are: shared shingles, differing bits of the simhash, and whether they are near."""
    from indexer.matching.comparing import compare as compared
    from indexer.matching.shorthand import rule_of

    arguments.require_some_stored((a, b))
    arguments.require_some_file((a, b))
    with opened(store, read_only=True) if arguments.any_stored((a, b), store) else nullcontext() as source:
        rule = rule_of(matching.wanted, source)
        reading = extraction.reading(content_of(source) if source else None)
        one, two = (
            arguments.stored_or_file(source, name)
            if source and arguments.is_id(name)
            else arguments.from_file(name, *reading)
            for name in (a, b)
        )
        if matching.explain:
            show_rule(rule)
        comparison = compared(rule, one, two, source)
    if json:
        sides = {
            key: {"name": document.name, **fingerprint_json(document.simhash)}
            for key, document in (("a", one), ("b", two))
        }
        names = ("near", "identical", "similarity", "shares", "estimated", "bits")
        answer_json({"rule": str(rule), **{name: getattr(comparison, name) for name in names}, **sides})
        return
    fields(
        [
            ("near", f"{'yes' if comparison.near else 'no'}, by {rule.in_words}"),
            *([("identical", "yes, but for case and white space")] if comparison.identical else []),
            ("shares", _shares(comparison)),
            (
                "simhash",
                f"{comparison.bits} of 64 bits differ: 0 to 3 in close copies, 18 on average in unrelated English",
            ),
            *((side, _side(document)) for side, document in (("A", one), ("B", two))),
        ]
    )


def _shares(comparison: Compared) -> str:
    from indexer.matching.rule import share_shown

    if comparison.shares is None:
        return ""
    how = "estimated from sketches" if comparison.estimated else "counted in the texts"
    return f"{share_shown(comparison.shares)} of all 5-word shingles are in both ({how})"


def _side(question: Question) -> str:
    fingerprint = question.simhash
    return f"{fingerprint}  {counted(fingerprint.tokens if fingerprint else 0, 'word')}  {question.name}"


@click.command(
    name="hash",
    short_help="Print fingerprints of files.",
    epilog="""
\b
Examples:
  neardup hash a.html b.pdf
  neardup hash --text "the words of a text"
  curl -s https://example.org/ | neardup hash --format html -
  neardup hash a.html --scheme minhash

Prints one line per document: fingerprint, number of words, name. A document without words has no fingerprint, shown
as "-". With --scheme, the line has the scheme's sketch and the number of its features instead: minhash in the form for
interchange (mh2-...), others in hexadecimal digits.
With --json one object per line: name, hash, hex, tokens, title, format; with --scheme also scheme, sketch, features.
Ends with exit code 6 if a document gave no text.
""",
)
@click.argument("files", nargs=-1, type=A_PATH)
@click.option("--text", metavar="TEXT", help="Fingerprint this text; - reads it from standard input.")
@click.option("--scheme", metavar="NAME", help="Print the sketch of this scheme instead: NAME[:parameter=value,...].")
@extraction_options
@json_option
def hash_(files: tuple[str, ...], text: str | None, scheme: str | None, extraction: Extraction, json: bool) -> int:
    """Print the fingerprint of each FILE; - is standard input. No store is needed."""
    if not files and text is None:
        raise UsageError("name at least one file, - for standard input, or give --text")
    by = None
    if scheme:
        from indexer.schemes import registry

        by = registry.scheme(scheme)
    reading = extraction.reading(None)
    code = 0
    if text is not None:
        code = _print_hash(arguments.from_text(text), by, as_json=json)
    for file in files:
        try:
            code = _print_hash(arguments.from_file(file, *reading), by, as_json=json) or code
        except NeardupError as error:
            say(str(error), level="error", **about(error))
            code = error.exit_code
    return code


def _print_hash(document: Question, by: Scheme | None, *, as_json: bool) -> int:
    """Print it; the exit code, which says where a document gave no text."""
    fingerprint = document.simhash
    shown, features = (str(fingerprint), fingerprint.tokens) if fingerprint else (None, 0)
    about: dict[str, Any] = {"title": document.title, "format": document.format}
    if by is not None:
        from indexer.schemes.interchange import form

        sketch = by.sketch(document.text or "")
        shown, features = (form(by, sketch), sketch.features) if sketch else (None, 0)
        about |= {"scheme": by.id, "sketch": shown, "features": features}
    if as_json:
        answer_json({"name": document.name, **fingerprint_json(fingerprint), **about})
    else:
        answer(f"{shown or '-':<17}  {features:>7}  {document.name}")
    return 0 if fingerprint else ExtractionError.exit_code


COMMANDS = (compare, hash_)
