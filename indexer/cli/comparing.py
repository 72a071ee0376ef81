"""`neardup compare`, `diff`, `history` and `hash`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import click

from indexer.cli.options.commands import A_PATH, command
from indexer.cli.options.shared import (
    JsonAsked,
    Matching,
    StoreAsked,
    from_stdin,
    opened_collection,
    show_rule,
    stored_or_files,
)
from indexer.cli.terminal.answers import order_shown, relation_shown, show_excerpts, shown_place
from indexer.cli.terminal.output import about, answer, answer_json, fields, printable, say
from indexer.errors import ExtractionError, NotFoundError, UsageError
from indexer.library.options import Extraction
from indexer.model.declared import Option
from indexer.text.counts import counted, share_shown

if TYPE_CHECKING:
    from indexer.library.comparisons import Comparison, TextDifference
    from indexer.library.histories import VersionChange
    from indexer.library.records import Hashed


@command("comparisons:Comparison", short_help="Show what two documents share.")
@click.argument("a", type=A_PATH)
@click.argument("b", type=A_PATH)
def compare(
    *, a: str, b: str, store: StoreAsked, matching: Matching,
    passages: Annotated[bool, Option("Show the passages in both: their places and words.")],
    extraction: Extraction, json: JsonAsked,
) -> None:  # fmt: skip
    """Show how similar two documents are: shingles and passages in both, differing bits, and whether they are near.

    Examples:
      neardup compare old.html new.pdf
      neardup compare draft.html docs/guide.html --json
      neardup compare id:17 id:18 --store pages.neardup
      neardup compare old.html new.html --match simhash-doc@3bits
      neardup compare chapter.html book.pdf --passages

    A and B are files, or ids of stored documents; "id:ID" is always an id. - is standard input.
    """
    from indexer.library import comparing
    from indexer.library.stores import rule_of

    with stored_or_files((a, b), store) as collection:
        rule = rule_of(matching) if collection is None else collection.rule(matching)
        asked = comparing if collection is None else collection
        made = asked.compare(a, b, match=rule, extraction=extraction)
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


@command("Hashed", many=True, name="hash", short_help="Print fingerprints of files.")
@click.argument("files", nargs=-1, type=A_PATH)
def hash_(
    *, files: tuple[str, ...],
    text: Annotated[str | None, Option("Fingerprint this text; - reads it from standard input.", metavar="TEXT")],
    scheme: Annotated[str | None, Option("Print the sketch of this scheme instead: NAME[:parameter=value,...].",
        metavar="NAME")],
    extraction: Extraction, json: JsonAsked,
) -> int:  # fmt: skip
    """Print the fingerprint of each FILE; - is standard input. No store is needed.

    Examples:
      neardup hash a.html b.pdf
      neardup hash --text "the words of a text"
      curl -s https://example.org/ | neardup hash --format html -
      neardup hash a.html --scheme minhash

    Prints one line per document: fingerprint, number of words, name. "-" stands for the fingerprint of a document
    without words. With --scheme, the line has this scheme's sketch and the number of its features instead: minhash and
    passages in their form for interchange (mh3-..., pa2-...), others in hexadecimal digits. Ends with exit code 6 if a
    document gave no text.
    """
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


_MOST_SENTENCES = 10
_REMOVED, _ADDED, _PLAIN = "\x1b[31;9m", "\x1b[32;4m", "\x1b[0m"


@command("comparisons:TextDifference", name="diff", short_help="Show which words differ between two documents.")
@click.argument("a", type=A_PATH)
@click.argument("b", type=A_PATH)
def diff(
    *, a: str, b: str, store: StoreAsked,
    context: Annotated[int, Option("Show this many unchanged words around each change.", least=0,
        metavar="WORDS")] = 12,
    max_words: Annotated[int, Option("Compare only the first N words of each. The time grows with the square of N.",
        least=1, most=1_000_000)] = 100_000,
    extraction: Extraction, json: JsonAsked,
) -> None:  # fmt: skip
    """Show which words of A were removed and which of B were added.

    Examples:
      neardup diff old.html new.pdf
      neardup diff draft.html id:docs/guide.html --context 30
      neardup diff a.html b.html --json | jq .removed

    A and B are files, or ids of stored documents, whose files are read again. "id:ID" is always an id; - is standard
    input. On a terminal, removed words are red and struck through, added ones green and underlined. In a pipe, or if
    NO_COLOR is set, they are marked [-removed-] and {+added+}. Long unchanged passages are left out. A chapter is
    compared with its place in the book.
    """
    from indexer.library import comparing

    if a == b == "-":
        raise click.UsageError("only one of A and B can be standard input")
    with stored_or_files((a, b), store) as collection:
        asked = comparing if collection is None else collection
        made = asked.diff(a, b, context=context, max_words=max_words, extraction=extraction)
    if json:
        answer_json(made)
    else:
        _show_difference(made)


def _show_difference(difference: TextDifference) -> None:
    removed, added, end = ("[-", "{+", ("-]", "+}"))
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        removed, added, end = _REMOVED, _ADDED, (_PLAIN, _PLAIN)
    line: list[str] = []
    if difference.removed or difference.added:
        for piece in difference.pieces:
            if piece.kind in ("skipped", "outside"):
                _show_line(line)
                left_out = "unchanged word" if piece.kind == "skipped" else "word beside the part"
                answer(f"... {counted(piece.words, left_out, left_out.replace('word', 'words'))} ...")
                line = []
            elif piece.kind == "same":
                line.append(printable(piece.left.strip()))
            else:
                # Made safe one by one, so that no document writes the colours.
                line += [f"{removed}{printable(piece.left.strip())}{end[0]}"] if piece.left else []
                line += [f"{added}{printable(piece.right.strip())}{end[1]}"] if piece.right else []
        _show_line(line)
    if difference.cut:
        say(f"only the first {counted(difference.limit, 'word')} of each text were compared; --max-words compares more")
    if difference.place:
        part, whole = ("A", "B") if difference.holder == "b" else ("B", "A")
        say(f"{part} stands in {whole}: {shown_place(difference.place)}; the rest of {whole} is not compared")
    say(f"words: {difference.same:,} the same, {difference.removed:,} removed, {difference.added:,} added")
    if difference.relation:
        say(f"A to B: {relation_shown(difference)}")
        _show_sentences("replaced", [" / ".join(pair) for pair in difference.replaced])
        _show_sentences("only in A", difference.only_a)
        _show_sentences("only in B", difference.only_b)
        _show_sentences("moved", difference.moved)
    if difference.order_evidence:
        say(order_shown(difference))


def _show_sentences(name: str, sentences: Sequence[str]) -> None:
    for sentence in sentences[:_MOST_SENTENCES]:
        say(f"  {name}: {printable(sentence)}")
    if (more := len(sentences) - _MOST_SENTENCES) > 0:
        say(f"  {name}: {counted(more, 'other')}")


def _show_line(words: list[str]) -> None:
    if words:
        click.echo(" ".join(words))


_OTHERS, _FACTS = 10, 3


@command("histories:History", short_help="List the versions of a document.")
@click.argument("identity", metavar="ID")
def history(
    *, identity: str, store: StoreAsked,
    no_changes: Annotated[bool, Option("Don't read the texts again to show the changes of each version.")],
    time_field: Annotated[str | None, Option("The field with the date of a document, in its metadata or in an index.  "
        "[default: as in the last clustering]", metavar="NAME")],
    json: JsonAsked,
) -> None:  # fmt: skip
    """List the versions of document ID, from the oldest, and what each changed of the one before it.

    Examples:
      neardup history docs/3.11/guide.html
      neardup history news-2024/17 --store https://host:9200/news-* --json

    Versions are documents of a cluster with the same name, URL or title except for a version number, other captures of
    the same URL, and documents that replace each other by name, as RFCs do. Version numbers and dates in names,
    metadata and texts give their order. Without them, or if they contradict each other, the order is unknown.
    """
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


COMMANDS = (compare, hash_, diff, history)
