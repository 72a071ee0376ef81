"""`neardup show`, `neardup delete`, `neardup stats` and `neardup doctor`."""

from __future__ import annotations

import dataclasses
import json as json_module
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from indexer.cli.options.answers import Answering
from indexer.cli.options.groups import Group, Related
from indexer.cli.options.shared import (
    Gone,
    json_option,
    opened,
    opened_collection,
    refresh_option,
    store_option,
    tell_contended,
)
from indexer.cli.terminal.hints import with_store
from indexer.cli.terminal.output import about, answer, answer_json, can_ask, fields, record_json, say, shown_store, size
from indexer.errors import NeardupError, NotFoundError, StoreError, UsageError
from indexer.library.asking import only
from indexer.library.options import list_of_paths
from indexer.model import Ref, name_of
from indexer.model.declared import as_json
from indexer.model.paths import printable_path
from indexer.model.times import to_the_second
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.clustering.copies import Copies, StoredCopy
    from indexer.matching.rule import MatchRule
    from indexer.matching.shorthand import RuleRequest
    from indexer.model.times import Refresh
    from indexer.stores import Store
    from indexer.stores.findings import Finding

_DELETED_AT_ONCE = 1000
# What `neardup doctor` ends with where there is something to do.
UNHEALTHY = 7


@click.command(
    cls=Answering,
    answers="Described",
    short_help="Show the stored record of a document.",
    epilog="""
\b
Examples:
  neardup show docs/guide.html
  neardup show 17 --json
  neardup show news-2024/17 --store https://host:9200/news-*
""",
)
@click.argument("identity", metavar="ID")
@store_option
@json_option
def show(identity: str, store: str, json: bool) -> None:
    """Show the stored record of document ID; in a search engine also INDEX/ID, and ?routing=VALUE after either."""
    with opened_collection(store, read_only=True) as collection:
        record = collection.get(identity)
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
        ]
    )


def _in_words(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json_module.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Copying:
    """Of which documents the copies are deleted too, what counts as a copy, and what is asked before."""

    copies_of: tuple[str, ...]
    similarity: float | None
    match: str | None
    dry_run: bool
    yes: bool

    @property
    def wanted(self) -> RuleRequest:
        """The rule that the options ask for."""
        from indexer.matching.shorthand import RuleRequest

        return RuleRequest(match=self.match, similarity=self.similarity)


# What decides what is deleted stands on the command line alone.
copy_options = Group(
    Copying,
    click.option(
        "--copies-of",
        multiple=True,
        allow_from_autoenv=False,
        metavar="ID",
        help="Delete document ID and its copies: documents with the same text, except for case and white space. "
        "Can be repeated.",
    ),
    click.option(
        "--similarity",
        cls=Related,
        goes_with=["copies_of"],
        type=click.FloatRange(0, 1),
        allow_from_autoenv=False,
        metavar="S",
        help="With --copies-of: also what is at least this similar, 0 to 1.",
    ),
    click.option(
        "--match",
        cls=Related,
        goes_with=["copies_of"],
        metavar="RULE",
        allow_from_autoenv=False,
        help="With --copies-of: also what is near by this rule, as in neardup similar.",
    ),
    click.option("--dry-run", is_flag=True, help="List what would be deleted, and delete nothing."),
    click.option(
        "--yes",
        cls=Related,
        goes_with=["copies_of"],
        is_flag=True,
        allow_from_autoenv=False,
        help="With --copies-of: don't ask for confirmation.",
    ),
)


@click.command(
    short_help="Delete documents from the store.",
    epilog="""
\b
Examples:
  neardup delete docs/old.html docs/older.html
  neardup failures --json | jq -r .id | neardup delete --from -
  neardup delete --copies-of letters/17.txt --dry-run   what has the same text
  neardup delete --copies-of letters/17.txt --similarity 0.7

The files themselves stay. In a search engine, a document with fields other than neardup's belongs to its owner: it
stays, and only loses neardup's.

--copies-of lists each copy with its difference, and what is not deleted: owner's documents, files that are still
there, and how many documents could not be compared. Run it with --dry-run first; without, it asks for confirmation. A
text that is only quoted in a longer document is no copy of it.

Ends with exit code 5 if an id was not found, or several documents have it; the others are deleted. With --json one
object: deleted, stripped (an owner's documents, which stayed), missing, contended (others change them constantly), and
in a dry run listed, the ids; with --copies-of also not_compared, failures (documents that could not be stored), and
documents, each with copy_of, similarity, identical, left (the file or document that still holds the text), outcome
(deleted, stripped or changed; in a dry run listed), and the document as in "neardup show --json".
""",
)
@click.argument("identities", nargs=-1, metavar="[ID]...")
@click.option(
    "--from", "listed", metavar="FILE", help="Read ids from FILE (-: standard input), one per line or separated by NUL."
)
@store_option
@copy_options
@refresh_option
@json_option
def delete(
    identities: tuple[str, ...], listed: str | None, store: str, copying: Copying, refresh: Refresh, json: bool
) -> int:
    """Delete documents from the store, and their recorded failures; or documents with all their copies."""
    if copying.copies_of:
        if identities or listed:
            raise UsageError("--copies-of names the documents itself: leave out other ids and --from")
        return _delete_copies(store, copying, refresh, as_json=json)
    if not identities and not listed:
        raise UsageError("name at least one id, or give --from or --copies-of")
    missing, deleted = 0, 0
    listed_ids: list[str] = []
    with opened(store, read_only=copying.dry_run, refresh=refresh) as target:
        for batch in _batches((*identities, *(map(printable_path, list_of_paths(listed)) if listed else ()))):
            chosen, lost = _chosen(target, batch)
            missing += lost
            if copying.dry_run:
                listed_ids += map(name_of, chosen)
            else:
                deleted += target.delete(chosen)
        contended, gone = tell_contended(target), Gone.of(target, deleted)
    if json:
        would = {"listed": listed_ids} if copying.dry_run else {}
        answer_json({**dataclasses.asdict(gone), "missing": missing, "contended": contended, **would})
    elif copying.dry_run:
        for name in listed_ids:
            answer(name)
        say(f"a dry run: {counted(len(listed_ids), 'document')}; nothing was deleted")
    else:
        gone.show()
    return NotFoundError.exit_code if missing else 0


def _chosen(target: Store, identities: Sequence[str], *, stored: bool = False) -> tuple[list[Ref], int]:
    """The documents that ids mean, or those that failed unless they have to be `stored`; and how many mean none."""
    found_refs = target.find_each(identities)
    failed: frozenset[Ref] = frozenset()
    if not stored and not all(found_refs):
        failed = frozenset(failure.ref for failure in target.failures())
    chosen, missing = [], 0
    for identity, refs in zip(identities, found_refs, strict=True):
        recorded = [Ref(identity)] if Ref(identity) in failed else []
        try:
            chosen.append(only(identity, refs or recorded))
        except NeardupError as error:
            missing += 1
            say(str(error), level="error", **about(error))
    return chosen, missing


def _delete_copies(store: str, copying: Copying, refresh: Refresh, *, as_json: bool) -> int:
    from indexer.clustering.copies import Copies
    from indexer.matching.shorthand import rule_asked

    with opened(store, read_only=copying.dry_run, refresh=refresh) as target:
        chosen, missing = _chosen(target, copying.copies_of, stored=True)
        rule = rule_asked(copying.wanted, target)
        copies = Copies(target, chosen, rule)
        outcomes: dict[str, Sequence[StoredCopy]] = {"listed": copies.found}
        if not copying.dry_run:
            if copies.found and not copying.yes:
                for one in copies.found:
                    say(_told(one, rule))
                _confirm_copies(copies, shown_store(store))
            outcomes = copies.delete().by_outcome
        contended = tell_contended(target)
    if as_json:
        documents = [_copy_json(one, outcome) for outcome, some in outcomes.items() for one in some]
        counts = {name: len(outcomes.get(name, ())) for name in ("deleted", "stripped")}
        more = {"not_compared": copies.uncompared.documents, "failures": copies.uncompared.failures}
        answer_json({**counts, "missing": missing, "contended": contended, **more, "documents": documents})
    else:
        for outcome, some in outcomes.items():
            for one in some:
                answer(f"{outcome}: " * (not copying.dry_run) + _told(one, rule))
        _tell_left(outcomes, copies)
    return NotFoundError.exit_code if missing else 0


def _confirm_copies(copies: Copies, shown: str) -> None:
    count = len(copies.found)
    if not can_ask():
        raise UsageError(
            f"--copies-of asks before deleting {counted(count, 'document')}; list them with --dry-run, then give --yes"
        )
    click.confirm(f"Delete {counted(count, 'document')} from {shown}?", abort=True, err=True)


def _told(one: StoredCopy, rule: MatchRule | None) -> str:
    """A copy with its difference, in words."""
    name = name_of(one.record.ref)
    if one.asked:
        return f"{name}  as named"
    if one.identical:
        return f"{name}  is identical with {name_of(one.of)}"
    assert rule  # noqa: S101 - without one only identical documents are found
    return f"{name}  {rule.said(one.similarity, name_of(one.of))}"


def _copy_json(one: StoredCopy, outcome: str) -> dict[str, Any]:
    about_it = {"copy_of": name_of(one.of), "similarity": one.similarity, "identical": one.identical}
    return {**about_it, "left": one.left, "outcome": outcome, **record_json(one.record)}


def _tell_left(outcomes: Mapping[str, Sequence[StoredCopy]], copies: Copies) -> None:
    """Say what was not deleted, and where texts still stand."""
    for name in ("deleted", "stripped"):
        if outcomes.get(name):
            say(f"{name}: {counted(len(outcomes[name]), 'document')}")
    if stripped := outcomes.get("stripped"):
        say(
            f"{counted(len(stripped), 'document')} are their owner's: they keep their text, and lose neardup's fields",
            level="warning",
        )
    if changed := outcomes.get("changed"):
        say(f"{counted(len(changed), 'document')} have changed since they were compared, and stay", level="warning")
    for left in sorted({one.left for some in outcomes.values() for one in some if one.left}):
        say(f"not deleted, and still holds the text: {left}")
    if sentence := copies.uncompared.sentence():
        say(sentence, level="warning")
    if "listed" in outcomes:
        say(f"a dry run: {counted(len(outcomes['listed']), 'document')}; nothing was deleted")


def _batches(identities: Iterable[str]) -> Iterable[list[str]]:
    batch: list[str] = []
    for identity in identities:
        batch.append(identity)
        if len(batch) == _DELETED_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


@click.command(
    short_help="Show statistics of the store.",
    epilog="""
\b
Examples:
  neardup stats
  neardup stats --store pages.neardup --json
  neardup stats --format prometheus > /var/lib/node_exporter/neardup.prom

With --json, or --format json, one object: store, documents, fingerprinted, distinct, short, empty, failures and formats
(objects with counts), bytes_on_disk, last_indexed_at, clustered_at, clustering_finished, made_with. With --format
prometheus the same as metrics in Prometheus's text format, for its textfile collector.
""",
)
@store_option
@click.option(
    "--format",
    cls=Related,
    not_with=["json"],
    setting="form",
    type=click.Choice(["text", "json", "prometheus"]),
    default="text",
    show_default=True,
    help="How to answer.",
)
@click.option("--json", cls=Related, setting="form", is_flag=True, help="Answer in JSON.")
def stats(store: str, format: Literal["text", "json", "prometheus"], json: bool) -> None:  # noqa: A002
    """Show statistics of the store, and what its fingerprints were made with."""
    from indexer.clustering.memory import last_clustering

    with opened(store, read_only=True) as source:
        if format == "prometheus" and not json:
            from indexer.report.metrics import exposition, metrics_of

            # Where a terminal can't show a character, an escape of it would be no escape of this format.
            click.echo(exposition(metrics_of(source, shown_store(store))).encode("utf-8", "replace"), nl=False)
            return
        counts, info, clustering = source.stats(), source.info, last_clustering(source)
    if json or format == "json":
        plain = {
            field.name: dict(value) if isinstance(value := getattr(counts, field.name), Mapping) else value
            for field in dataclasses.fields(counts)
        }
        clustered = {"clustered_at": clustering.at, "clustering_finished": clustering.finished}
        answer_json({"store": shown_store(store), **plain, **clustered, "made_with": dataclasses.asdict(info)})
        return
    about_ = "about " * bool(counts.extra.get("distinct_is_an_estimate"))
    fields(
        [
            ("store", shown_store(store)),
            ("documents", f"{counts.documents:,}"),
            ("fingerprinted", f"{counts.fingerprinted:,}, of them {about_}{counts.distinct:,} distinct"),
            ("short", f"{counts.short:,}"),
            ("empty", f"{counts.empty:,}"),
            ("formats", _counted(counts.formats)),
            (
                "failures",
                f"{sum(counts.failures.values()):,}" + (f" ({_counted(counts.failures)})" if counts.failures else ""),
            ),
            ("on disk", size(counts.bytes_on_disk)),
            ("last indexed", to_the_second(counts.last_indexed_at)),
            (
                "clustered",
                to_the_second(clustering.at) + (", and not finished since" if clustering.finished is False else ""),
            ),
            (
                "made with",
                f"{info.scheme}, content {info.content}, extraction rules {info.extractor}, Unicode {info.unicode}",
            ),
        ]
    )


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(
        f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


@click.command(
    short_help="Find what is wrong with a store, and what to do.",
    epilog="""
\b
Examples:
  neardup doctor
  neardup doctor --store https://host:9200/articles --json
  neardup doctor --texts

Looks at versions, privileges, mappings, fingerprints, sketches, clusters, and what a killed run has left behind; a line
each, which begins with ok, warning or error, and says what to do. With --texts every document is read again, to find
those that have changed. Ends with exit code 7 if there is a warning or an error, 3 or 4 if the store can't be opened.
""",
)
@store_option
@click.option("--texts", is_flag=True, help="Also read every document again, and find those that have changed.")
@json_option
def doctor(store: str, texts: bool, json: bool) -> int:
    """Find what is wrong with a store, or soon will be; nothing is changed.

    With --json one object: store, healthy, findings (each check, level, says, advice).
    """
    from indexer.doctor.examination import examine

    findings: list[Finding] = []
    failed: StoreError | None = None
    try:
        for finding in examine(store, texts=texts):
            findings.append(finding)
            if not json:
                advice = f"; {finding.advice}" if finding.advice else ""
                answer(f"{finding.level:<8} {finding.check:<13} {with_store(finding.says + advice)}")
    except StoreError as error:
        failed = error
    healthy = not failed and all(finding.level == "ok" for finding in findings)
    if json:
        listed = [{**dataclasses.asdict(finding), "advice": with_store(finding.advice)} for finding in findings]
        answer_json({"store": shown_store(store), "healthy": healthy, "findings": listed})
    if failed:
        raise failed
    return 0 if healthy else UNHEALTHY


COMMANDS = (show, delete, stats, doctor)
