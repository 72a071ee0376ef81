"""`neardup show`, `neardup delete`, `neardup stats` and `neardup doctor`."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from indexer.cli.options.commands import command
from indexer.cli.options.shared import JsonAsked, RefreshAsked, StoreAsked, opened_collection
from indexer.cli.terminal.answers import relations_shown
from indexer.cli.terminal.output import about, answer, answer_json, confirm, fields, say, shown_store, size, with_store
from indexer.errors import NeardupError, NotFoundError, UsageError
from indexer.library.options import RELATED, RuleRequest, list_of_paths
from indexer.model.declared import Option, as_json
from indexer.model.paths import printable_path
from indexer.model.times import to_the_second
from indexer.text.counts import counted
from indexer.text.visible import beginning

if TYPE_CHECKING:
    from indexer.library.records import OmittedPart
    from indexer.library.removals import Copy, Deleted, Erased, Pruned
    from indexer.library.stores import MatchRule
    from indexer.model.findings import Finding

# Of what stands beside a text, so much is shown; JSON has all.
_SHOWN_KINDS, _SHOWN_CHARACTERS = 20, 200
# What `neardup doctor` ends with where there is something to do.
UNHEALTHY = 7


@command("Described", short_help="Show the stored record of a document.")
@click.argument("identity", metavar="ID")
def show(*, identity: str, store: StoreAsked, json: JsonAsked) -> None:
    """Show the stored record of document ID; in a search engine also INDEX/ID, and ?routing=VALUE after either.

    The document is read again, to show which of its parts are not in the text that is compared, and why.

    Examples:
      neardup show docs/guide.html
      neardup show ./guide.html    the path of a file that was indexed
      neardup show 17 --json
      neardup show news-2024/17 --store https://host:9200/news-*
    """
    with opened_collection(store, read_only=True) as collection:
        record = collection.get(identity, left_out=True)
    if record is None:
        raise NotFoundError(f"{identity or repr(identity)}: no document with this id is stored")
    if json:
        answer_json(record)
        return
    first = "" if record.first_indexed_at == record.indexed_at else record.first_indexed_at
    fields(
        [
            ("id", record.id),
            ("index", record.index),
            ("hash", record.hash or "none: no words"),
            ("words", f"{record.tokens}" + (" (short: left out of answers unless asked for)" if record.short else "")),
            ("title", record.title),
            ("source" if "://" in record.source[:20] else "path", record.source),
            ("read from", record.container),
            ("format", record.format),
            ("size", size(record.bytes)),
            ("extractor", record.extractor),
            ("indexed at", to_the_second(record.indexed_at)),
            ("first indexed", to_the_second(first)),
            *((f"metadata {key}", _in_words(value)) for key, value in record.metadata.items()),
            *(
                (f"cluster {name}".replace("_", " "), _in_words(value))
                for name, value in (as_json(record.cluster) or {}).items()
            ),
            ("duplicate_of", record.duplicate_of),
            ("version", f"{record.ordinal}" + ", the latest" * record.is_latest if record.ordinal else ""),
            ("remarks", "; ".join(record.notes)),
            ("left out", f"unknown: {record.unread}" if record.unread else ""),
            *_left_out(record.left_out),
        ]
    )


def _left_out(parts: Sequence[OmittedPart]) -> Iterator[tuple[str, str]]:
    kinds: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        kinds.setdefault((part.kind, part.why), []).append(part.text)
    for (kind, why), texts in islice(kinds.items(), _SHOWN_KINDS):
        yield f"left out: {kind}", f"{beginning('; '.join(texts), _SHOWN_CHARACTERS)} ({why})"
    if (more := len(kinds) - _SHOWN_KINDS) > 0:
        yield "left out", f"{counted(more, 'more kind')} of parts; --json lists all"


def _in_words(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json_module.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Copying:
    """The documents to delete with their copies, the definition of a copy, and the question asked before."""

    copies_of: Annotated[tuple[str, ...], Option("Delete document ID and its copies: documents with the same text, "
        "except for case and white space. Can be repeated.", metavar="ID", typed=True)] = ()  # fmt: skip
    similarity: Annotated[float | None, Option("With --copies-of: also documents at least this similar, 0 to 1.",
        least=0, most=1, metavar="S", goes_with=["copies_of"], typed=True)] = None  # fmt: skip
    match: Annotated[str | None, Option("With --copies-of: also near documents by this rule, as in neardup similar.",
        metavar="RULE", goes_with=["copies_of"], typed=True)] = None  # fmt: skip
    verify: Annotated[Literal["text", "sketch"] | None, Option("Delete near documents that say the same by their "
        "texts, read again (the default), or all near ones by sketches alone.", goes_with=["similarity", "match"],
        typed=True)] = None  # fmt: skip
    remove: Annotated[str | None, Option(f"Delete near {RELATED}", metavar="RELATION,...",
        goes_with=["similarity", "match"], not_with=["verify=sketch"], typed=True)] = None  # fmt: skip
    dry_run: Annotated[bool, Option("List what would be deleted, and delete nothing.")] = False
    yes: Annotated[bool, Option("With --copies-of: don't ask for confirmation.", goes_with=["copies_of"],
        typed=True)] = False  # fmt: skip


@command(
    "removals:Deleted",
    others={"With --copies-of --json one object": "removals:Erased"},
    short_help="Delete documents from the store.",
)
@click.argument("identities", nargs=-1, metavar="[ID]...")
def delete(
    *, identities: tuple[str, ...],
    listed: Annotated[str | None, Option("Read ids from FILE (-: standard input), one per line or separated by NUL.",
        names=["--from"], metavar="FILE")],
    store: StoreAsked, copying: Copying, refresh: RefreshAsked = "wait", json: JsonAsked,
) -> int:  # fmt: skip
    """Delete documents from the store, and their recorded failures; or documents with all their copies.

    Examples:
      neardup delete docs/old.html docs/older.html
      neardup failures --json | jq -r .id | neardup delete --from -
      neardup delete --copies-of letters/17.txt --dry-run   what has the same text
      neardup delete --copies-of letters/17.txt --similarity 0.7

    The files themselves stay. In a search engine, a document with fields other than neardup's belongs to its owner: it
    stays, and only loses neardup's fields.

    --copies-of lists each copy with its difference. It also lists what it does not delete: owners' documents, files
    that still exist, near documents with other content such as forms, unreadable documents, and the number of documents
    that it could not compare. Run it with --dry-run first; without, it asks for confirmation. A text quoted in a longer
    document is not a copy of it.

    Ends with exit code 5 if an id was not found, or several documents have it. The others are deleted.
    """
    if copying.copies_of:
        if identities or listed:
            raise UsageError("--copies-of names the documents itself: leave out other ids and --from")
        return _delete_copies(store, copying, refresh, as_json=json)
    if not identities and not listed:
        raise UsageError("name at least one id, or give --from or --copies-of")
    ids = chain(identities, map(printable_path, list_of_paths(listed)) if listed else ())
    with opened_collection(store, read_only=copying.dry_run, refresh=refresh) as collection:
        done = collection.delete(ids, dry_run=copying.dry_run, unknown=_tell_unknown)
    if json:
        answer_json(done)
    elif copying.dry_run:
        for name in done.listed:
            answer(name)
        say(f"a dry run: {counted(len(done.listed), 'document')}; nothing was deleted")
    else:
        show_deleted(done)
    return NotFoundError.exit_code if done.missing else 0


def show_deleted(done: Deleted | Pruned) -> None:
    lines = [("deleted", f"{done.deleted:,}")]
    if done.stripped:
        stay = "they are their owner's and stay; neardup's fields are taken out of them"
        lines.append(("stripped", f"{done.stripped:,}  {stay}"))
    fields(lines)


def _tell_unknown(error: NeardupError) -> None:
    say(str(error), level="error", **about(error))


def _delete_copies(store: str, copying: Copying, refresh: RefreshAsked, *, as_json: bool) -> int:
    def ask(copies: Sequence[Copy]) -> None:
        for one in copies:
            say(_told(one, rule))
        count = counted(len(copies), "document")
        otherwise = f"--copies-of asks before deleting {count}; list them with --dry-run, then give --yes"
        confirm(f"Delete {count} from {shown_store(store)}?", otherwise)

    with opened_collection(store, read_only=copying.dry_run, refresh=refresh) as collection:
        rule = collection.rule_asked(RuleRequest(match=copying.match, similarity=copying.similarity))
        done = collection.delete_copies(
            copying.copies_of,
            match=rule,
            verify=copying.verify,
            remove=copying.remove,
            dry_run=copying.dry_run,
            unknown=_tell_unknown,
            confirm=None if copying.yes else ask,
        )
    if as_json:
        answer_json(done)
    else:
        for one in done.documents:
            answer(f"{one.outcome}: " * (not copying.dry_run) + _told(one, rule))
        _tell_left(done, dry_run=copying.dry_run)
    return NotFoundError.exit_code if done.missing else 0


def _told(one: Copy, rule: MatchRule | None) -> str:
    if one.id == one.copy_of:
        return f"{one.id}  as named"
    if one.identical:
        return f"{one.id}  is identical with {one.copy_of}"
    relation = f"; {one.relation}" * bool(one.relation) + f": {one.evidence}" * bool(one.evidence)
    # Without a rule only documents with the same text are found.
    said = rule.said(one.similarity, one.copy_of) if rule else f"has the text of {one.copy_of}"
    return f"{one.id}  {said}{relation}"


def _tell_left(done: Erased, *, dry_run: bool) -> None:
    for name, count in (("deleted", done.deleted), ("stripped", done.stripped)):
        if count:
            say(f"{name}: {counted(count, 'document')}")
    if done.stripped:
        say(
            f"{counted(done.stripped, 'document')} are their owner's: they keep their text, and lose neardup's fields",
            level="warning",
        )
    if done.changed:
        say(f"{counted(done.changed, 'document')} have changed since they were compared, and stay", level="warning")
    for why, count in done.stays.items():
        say(f"near, and not deleted: {counted(count, 'document')}: {why}", level="warning")
    for example in done.examples:
        say(f"  {example}")
    for left in sorted({one.left for one in done.documents if one.left}):
        say(f"not deleted, and still holds the text: {left}")
    if unseen := done.unseen():
        say(unseen, level="warning")
    if dry_run:
        say(f"a dry run: {counted(len(done.documents), 'document')}; nothing was deleted")


@command(
    "outcomes:StoreStats",
    heading="With --json, or --format json, one object",
    short_help="Show statistics of the store.",
)
def stats(
    *, store: StoreAsked,
    format: Annotated[Literal["text", "json", "prometheus"], Option("The form of the answer.", not_with=["json"],  # noqa: A002
        setting="form")] = "text",
    json: Annotated[bool, Option("Answer in JSON.", setting="form")],
) -> None:  # fmt: skip
    """Show statistics of the store, and what its fingerprints were made with.

    Examples:
      neardup stats
      neardup stats --store pages.neardup --json
      neardup stats --format prometheus > /var/lib/node_exporter/neardup.prom

    With --format prometheus the answer is metrics in Prometheus's text format, for its textfile collector.
    """
    with opened_collection(store, read_only=True) as collection:
        if format == "prometheus" and not json:
            # Where a terminal can't show a character, an escape of it would be no escape of this format.
            click.echo(collection.metrics().encode("utf-8", "replace"), nl=False)
            return
        counts = collection.stats()
    if json or format == "json":
        answer_json(counts)
        return
    about_ = "about " * bool(counts.extra.get("distinct_is_an_estimate"))
    fields(
        [
            ("store", counts.store),
            ("documents", f"{counts.documents:,}"),
            ("fingerprinted", f"{counts.fingerprinted:,}, of them {about_}{counts.distinct:,} distinct"),
            ("short", f"{counts.short:,}"),
            ("empty", f"{counts.empty:,}"),
            ("formats", _counted(counts.formats)),
            ("relations", relations_shown(counts.relations)),
            ("failures", _totalled(counts.failures)),
            ("passed over", _totalled(counts.passed_over) if counts.passed_over else ""),
            ("on disk", size(counts.bytes_on_disk)),
            ("last indexed", to_the_second(counts.last_indexed_at)),
            (
                "clustered",
                to_the_second(counts.clustered_at)
                + (", and not finished since" if counts.clustering_finished is False else ""),
            ),
            (
                "made with",
                "{}, for {kind}, content {content}, extraction rules {extractor}, Unicode {unicode}".format(
                    " and ".join([counts.made_with["scheme"], *(one["name"] for one in counts.made_with["schemes"])]),
                    **counts.made_with,
                ),
            ),
        ]
    )


def _totalled(counts: Mapping[str, int]) -> str:
    return f"{sum(counts.values()):,}" + (f" ({_counted(counts)})" if counts else "")


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(
        f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


@command("outcomes:Examination", short_help="Find what is wrong with a store, and what to do.")
def doctor(
    *, store: StoreAsked,
    texts: Annotated[bool, Option("Also read every document again, and name the changed ones.")],
    json: JsonAsked,
) -> int:  # fmt: skip
    """Find what is wrong with a store, or soon will be; nothing is changed.

    Examples:
      neardup doctor
      neardup doctor --store https://host:9200/articles --json
      neardup doctor --texts

    Looks at versions, privileges, mappings, fingerprints, sketches, the kind of texts, clusters, and leftovers of a
    killed run. Prints a line each: ok, warning or error, and what to do. --texts reads every document again, to find
    changed ones. Ends with exit code 7 for a warning or an error, 3 or 4 if the store can't be opened.
    """
    from indexer.library.examining import examine

    done = examine(store, texts=texts, told=None if json else _show_finding)
    if json:
        named = tuple(replace(finding, advice=with_store(finding.advice)) for finding in done.findings)
        answer_json(replace(done, findings=named))
    if done.error:
        raise done.error
    return 0 if done.healthy else UNHEALTHY


def _show_finding(finding: Finding) -> None:
    advice = f"; {finding.advice}" if finding.advice else ""
    answer(f"{finding.level:<8} {finding.check:<13} {with_store(finding.says + advice)}")


COMMANDS = (show, delete, stats, doctor)
