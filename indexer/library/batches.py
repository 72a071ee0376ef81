"""Batches: cluster and filter collections in files, without a store."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from indexer.batch.clusters.clustering import ClusteringOptions
from indexer.batch.copying import Output
from indexer.batch.cutting import Cutting, cut_file
from indexer.batch.cutting import cut_passages as run_cutting
from indexer.batch.filtering import keep, parts_to_write, removed_file
from indexer.batch.form import Form, Making
from indexer.batch.loading import Batch, Loaded, Places
from indexer.batch.loading import load as run_load
from indexer.batch.reading import figures, form_in, rule_of
from indexer.batch.sketches.parts import parts_of
from indexer.batch.steps import Steps
from indexer.clustering.canonical import CanonicalRule
from indexer.errors import NoStoreError, UsageError
from indexer.ingest.readers import ColumnNames
from indexer.ingest.sources import STDIN, Rejected, Sources
from indexer.library import batch_outcomes as outcomes
from indexer.library.batch_options import (
    BatchComparison,
    BatchJudging,
    BatchLoading,
    BatchOutput,
    BatchPassages,
    BatchRun,
    BatchSpread,
)
from indexer.library.opening import Follow, Tell, open_store, tell_contended, tell_made, warned
from indexer.library.options import USUAL_CONTENT, ClusterOptions, Extraction, Fingerprinting, Walk
from indexer.library.records import Written
from indexer.matching.store_schemes import schemes_of_new
from indexer.model.counts import SketchingCounts
from indexer.model.kinds import DOCUMENTS
from indexer.model.paths import store_file
from indexer.model.times import Refresh
from indexer.stores import StoreInfo
from indexer.stores.loading import LoadedStore, RecordDestination
from indexer.text.counts import counted
from indexer.text.hiding import shown_name

if TYPE_CHECKING:
    from indexer.matching.rule import MatchRule


def sketch(
    paths: Sequence[str],
    out: str,
    walk: Walk = Walk(),
    making: Fingerprinting = Fingerprinting(),
    extraction: Extraction = Extraction(),
    *,
    time_field: str | None = None,
    task: tuple[int, int] = (1, 1),
    running: BatchRun = BatchRun(),
) -> outcomes.BatchSketched:
    """Write the sketches of the documents of files and folders to the folder `out`, as `neardup batch sketch`.

    Existing sketches stay if their input has not changed. `time_field` names the field with the time a document was
    first there. `task` is (number from 1 on, count) of tasks sharing the work. Raises UsageError, NotFoundError,
    StoreError, and IncompatibleStoreError if `out` has sketches of another form.
    """
    _require_files(paths, walk)
    if running.on_spark and task != (1, 1):
        raise UsageError("--task shares the work by hand; --run-on spark has tasks of its own")
    sources = _sources(paths, out, walk, extraction, list(walk.listed()))
    rejected: list[Rejected] = []
    parts = parts_of(sources, rejected.append)
    begin, summary = time.monotonic(), SketchingCounts()
    summary.failed.update(each.reason for each in rejected)
    made = Making(_form(making, extraction, time_field), extraction.limits, making.processes)
    share = {} if running.on_spark else {"task": task}
    with _steps(running) as steps:
        steps.sketch(sources, parts, out, made, summary=summary, **share)
    return outcomes.BatchSketched.of(
        summary,
        out=shown_name(out),
        unreadable=tuple(f"{each.source}: {each.reason}: {each.detail}" for each in rejected),
        seconds=round(time.monotonic() - begin, 3),
    )


def rule_for(folder: str, match: str | None = None) -> MatchRule:
    """The rule for clustering the sketches of a folder: `match`, or the usual one. Raises UsageError."""
    return rule_of(form_in(folder), match)


def cluster(
    folder: str,
    out: str,
    *,
    match: str | None = None,
    clustering: ClusterOptions = ClusterOptions(),
    comparison: BatchComparison = BatchComparison(),
    spread: BatchSpread = BatchSpread(),
) -> outcomes.BatchClustered:
    """Put the documents of a folder's sketches into clusters, written to `out`/clusters, as `neardup batch cluster`.

    Their texts, read again from the files, decide on removal, as `comparison` says. Raises StoreError, and UsageError,
    also for different texts with one id and for stale inputs.
    """
    wanted = _wanted(
        rule_for(folder, match), clustering, spread, memory=comparison.memory, against=comparison.against,
        stale=comparison.stale, latest=comparison.latest, permitted=comparison.judging.permitted(),
    )  # fmt: skip
    begin = time.monotonic()
    with _steps(spread.running, spread.most_joined) as steps:
        found = steps.cluster(folder, out, wanted)
    return outcomes.BatchClustered(**{**_clustered(found), "seconds": round(time.monotonic() - begin, 3)})


def report(folder: str) -> outcomes.BatchFigures:
    """The figures of the clusters of a folder. Raises StoreError if they are unfinished, or can't be read."""
    found = figures(folder)
    largest = tuple(outcomes.BatchCluster(**each) for each in found["largest_clusters"])
    return outcomes.BatchFigures(**{**_clustered(found), "largest_clusters": largest})


def filter(  # noqa: A001 - as the command
    paths: Sequence[str],
    clusters: str,
    output: BatchOutput,
    *,
    against: Sequence[str] = (),
    unverified: bool = False,
    passages: Literal["cut", "report"] | None = None,
    cutting: BatchPassages = BatchPassages(),
    running: BatchRun = BatchRun(),
) -> outcomes.BatchFiltered:
    """Write the documents to keep of files clustered in a folder, as `neardup batch filter`.

    The kept neighbour of a removed document has to be among the output, or in a batch in `against`. `unverified` allows
    clusters decided by a simhash alone. `passages` counts the repeated passages of the documents to keep, or cuts them
    as `cut_passages` does. Raises UsageError and StoreError.
    """
    # What is kept, until it is there without the passages.
    begin, whole = time.monotonic(), f"{os.path.normpath(output.out)}.whole"
    if passages == "cut" and os.path.lexists(whole):
        raise UsageError(f"{whole}: is there, maybe left by a killed run, and would be written; remove it first")
    asked = replace(_output(output), as_texts=passages is not None)
    with _steps(running) as steps:
        done = keep(paths, clusters, asked, against=against, unverified=unverified, write=steps.write)
    repeated = None
    if passages == "report":
        repeated = cut_passages([output.out], cutting, running=running)
    elif passages == "cut":
        os.rename(output.out, whole)
        repeated = cut_passages([whole], cutting, output.out, running=running)
        shutil.rmtree(whole)
    return outcomes.BatchFiltered.of(
        done,
        out=shown_name(output.out),
        removed_list=shown_name(removed_file(output.out)),
        repeated=repeated,
        seconds=round(time.monotonic() - begin, 3),
    )


def cut_passages(
    paths: Sequence[str],
    cutting: BatchPassages = BatchPassages(),
    out: str | None = None,
    *,
    running: BatchRun = BatchRun(),
) -> outcomes.BatchPassagesCut:
    """Count repeated passages, and with `out` write the documents without them, as `neardup batch passages`.

    The paths are Parquet and JSON lines without near-duplicates. Each passage stays at its first place, by time and
    then by id. Raises UsageError and StoreError.
    """
    columns = ColumnNames(cutting.text_field or "", cutting.id_field or "")
    asked = Cutting(cutting.words, cutting.least_left, cutting.time_field or "", columns)
    with _steps(running) as steps:
        done = run_cutting(paths, asked, out, read=steps.read_words, write=steps.write_cut)
    return outcomes.BatchPassagesCut.of(
        done,
        out=out and shown_name(out),
        passages_list=out and shown_name(cut_file(out)),
        seconds=round(done.seconds, 3),
    )


def dedupe(  # noqa: PLR0913 - they are options of the command
    paths: Sequence[str],
    output: BatchOutput,
    walk: Walk = Walk(),
    making: Fingerprinting = Fingerprinting(),
    extraction: Extraction = Extraction(),
    *,
    match: str | None = None,
    clustering: ClusterOptions = ClusterOptions(),
    time_field: str | None = None,
    against: str | None = None,
    latest: bool = False,
    judging: BatchJudging = BatchJudging(),
    unverified: bool = False,
    spread: BatchSpread = BatchSpread(),
) -> outcomes.BatchDeduped:
    """Write the documents of files and folders without their near-duplicates, as `neardup batch dedupe`.

    It combines `sketch`, `cluster` and `filter`, with their options. With `unverified` sketches alone decide, even a
    simhash. Raises UsageError, NotFoundError, StoreError and IncompatibleStoreError.
    """
    _require_files(paths, walk)
    # Looked at twice: where they lie, and what they hold.
    listed, batch = list(walk.listed()), batch_folder(output.out)
    named, older = [*paths, *listed], [against] if against else []
    made = Making(_form(making, extraction, time_field), extraction.limits, making.processes)
    rule, permitted = rule_of(made.form, match), judging.permitted(unverified=unverified)
    asked = _wanted(rule, clustering, spread, against=against, latest=latest, permitted=permitted)
    if rule.by_hash_alone and permitted is None and not unverified:
        raise UsageError(
            f"{rule}: alone also calls unrelated documents of one language near; verify by their texts, "
            "take a verified rule, or say --unverified"
        )
    sources, written = _sources(paths, batch, walk, extraction, listed), replace(_output(output), jobs=made.jobs)
    # What can't be written is refused before anything is read.
    parts = parts_to_write(sources, (*named, *older), written)
    if not parts:
        passed_over = counted(sources.passed_over.total, "file")
        raise UsageError(f"{', '.join(named)}: no file to read; {passed_over} left out by name")
    seconds, begin = {}, time.monotonic()

    def took(step: str) -> None:
        nonlocal begin
        seconds[step], begin = round(time.monotonic() - begin, 3), time.monotonic()

    with _steps(spread.running, spread.most_joined) as steps:
        sketched = steps.sketch(sources, parts, batch, made)
        took("sketch")
        found = steps.cluster(batch, batch, asked)
        took("cluster")
        done = keep(named, batch, written, against=older, unverified=unverified, parts=parts, write=steps.write)
        took("filter")
    return outcomes.BatchDeduped.of(
        done,
        out=shown_name(output.out),
        batch=shown_name(batch),
        removed_list=shown_name(removed_file(output.out)),
        rule=found["rule"],
        empty=sketched.empty,
        short=sketched.short,
        failed=dict(sketched.failed),
        first_failure=sketched.first_failure,
        **{name: found[name] for name in ("relations", "lost", "stays", "reading_seconds")},
        left_out=sketched.left_out,
        bytes=sketched.bytes,
        seconds=seconds,
    )


def batch_folder(out: str) -> str:
    """The folder of the sketches and clusters of documents written to `out` by `dedupe`."""
    return f"{os.path.normpath(out)}.batch"


def load(
    folder: str,
    store: str,
    loading: BatchLoading = BatchLoading(),
    *,
    of_owner: bool = True,
    refresh: Refresh = "wait",
    tell: Tell = warned,
    following: Follow = nullcontext,
) -> outcomes.BatchLoaded:
    """Put the documents of a batch into a store, with their sketches, their clusters and the rule.

    As `neardup batch load`; another run does the rest. Options for an owner's index are refused for a store of
    neardup's own, and need `of_owner`. `tell` gets sentences about requests that can't be met. `following` is called
    with the counts, kept up to date, and its result is entered as a context. Raises StoreError, UsageError and
    IncompatibleStoreError.
    """
    batch = Batch.of(folder, loading.clusters, stale=loading.stale)
    counts, begin, contended = Loaded(), time.monotonic(), 0
    owners = {"create-missing": loading.create_missing, "allow-version-change": loading.allow_version_change}
    # These are for documents that are there already.
    flag = next((name for name, given in owners.items() if given and of_owner), None)
    into_store = destination(
        store, batch.form.info, create=not (loading.no_create or flag), create_missing=loading.create_missing,
        dry_run=loading.dry_run, refresh=refresh, allow_version_change=loading.allow_version_change,
    )  # fmt: skip
    with into_store as target:
        if flag and not target.is_owners:
            raise UsageError(f"--{flag} is for somebody else's index; {shown_name(store)} is neardup's own")
        into = target.destination.store
        if into is not None:
            tell_made(into, store, tell)
        places = Places(loading.index_column, loading.routing_column, target.indices, target.scattered)
        with following(counts):
            run_load(batch, target.destination, places=places, dry_run=loading.dry_run, summary=counts)
        contended = tell_contended(into, tell) if into is not None else 0
    return outcomes.BatchLoaded.of(
        counts,
        store=shown_name(store),
        dry_run=loading.dry_run,
        documents=counts.total,
        rule=batch.rule,
        written=Written(counts.changes.documents, counts.changes.clusters, counts.changes.removed),
        contended=contended,
        seconds=round(time.monotonic() - begin, 3),
    )


@dataclass(frozen=True, slots=True)
class Opened:
    """A destination, the `indices` behind its name, and whether documents may be in an index with another name.

    `is_owners` says that the indices belong to an owner.
    """

    destination: RecordDestination
    indices: frozenset[str] = frozenset()
    scattered: bool = False
    is_owners: bool = False


@contextmanager
def destination(
    name: str, info: StoreInfo, *, create: bool = True, dry_run: bool = False, refresh: Refresh = "wait",
    create_missing: bool = False, allow_version_change: bool = False,
) -> Iterator[Opened]:  # fmt: skip
    """The destination behind a store's name: a file or an index, made if missing.

    An index is an owner's if neardup has not made it, or others have fields in it. Raises StoreError, NoStoreError if
    none may be made, IncompatibleStoreError if its sketches have another form than `info`. `create_missing` also makes
    documents missing in an owner's index; for the rest see `Wanted`.
    """
    with ExitStack() as stack:
        indices, scattered = frozenset[str](), False
        if not store_file(name):
            from indexer.engine.client.connection import connect
            from indexer.engine.client.names import reading_path
            from indexer.engine.documents.owned_index import OwnedIndex
            from indexer.engine.index.mapping import read_mappings

            client = connect(name)
            stack.callback(client.close)
            mappings = read_mappings(client, reading_path(client.target.name))
            indices, scattered = frozenset(mappings), list(mappings) not in ([], [client.target.name])
            if not all(mapping.seems_made for mapping in mappings.values()):
                owned = OwnedIndex(
                    client, info, dry_run=dry_run, refresh=refresh, allow_version_change=allow_version_change,
                    create_missing=create_missing,
                )  # fmt: skip
                yield Opened(owned, indices, scattered, True)
                return
        if not create:
            open_store(name, read_only=True).close()
        store = None
        try:
            store = stack.enter_context(open_store(name, create=info, read_only=dry_run))
        except NoStoreError:
            if not dry_run:
                raise
        if store is not None:
            info.require_same_schemes(store.info.schemes, name)
            store.refresh = refresh
        yield Opened(LoadedStore(store, dry_run=dry_run), indices, scattered)


def _require_files(paths: Sequence[str], walk: Walk) -> None:
    if not paths and not walk.paths_from:
        raise UsageError("name at least one file, folder or pattern")
    if STDIN in paths:
        raise UsageError("a batch reads files, so that it can go on where it ended; neardup index reads standard input")


def _sources(paths: Sequence[str], out: str, walk: Walk, extraction: Extraction, listed: Sequence[str]) -> Sources:
    # As the folder of a store's file is: what lies beside the batch is named from there.
    selection = walk.selection(extraction, os.path.dirname(os.path.abspath(out)))
    return Sources(paths, selection, paths_from=listed)


def _form(making: Fingerprinting, extraction: Extraction, time_field: str | None) -> Form:
    return Form(
        tuple(scheme.id for scheme in schemes_of_new(making.schemes, making.scheme, kind=making.kind or DOCUMENTS)),
        making.least_words(making.kind or DOCUMENTS),
        extraction.content or USUAL_CONTENT,
        extraction.extractor,
        extraction.of_files or "",
        time_field or "",
        texts=making.kind or DOCUMENTS,
        ocr=extraction.ocr or "",
    )


def _wanted(rule: MatchRule, clustering: ClusterOptions, spread: BatchSpread, **more: Any) -> ClusteringOptions:
    return ClusteringOptions(
        rule, clustering.canonical_rule or CanonicalRule(), clustering.bound, parts=spread.partitions,
        most_grouped=spread.most_grouped, **more,
    )  # fmt: skip


def _output(output: BatchOutput) -> Output:
    least, singletons = output.min_origins or 1, output.singletons == "keep"
    return Output(output.out, output.tag, output.texts, least, singletons)


def _clustered(found: Mapping[str, Any]) -> dict[str, Any]:
    lists: dict[str, Any] = {name: tuple(found[name]) for name in ("unseen", "stale")}
    lists["shared_keys"] = tuple(outcomes.BatchSharedKey(**each) for each in found["shared_keys"])
    lists["chains"] = tuple(outcomes.BatchChain(**each) for each in found["chains"])
    return {"seconds": None, **found, **lists}


@contextmanager
def _steps(running: BatchRun, most_joined: int | None = None) -> Iterator[Steps]:
    if not running.on_spark:
        yield Steps()
        return
    from indexer.batch.spark.frames import MOST_JOINED
    from indexer.batch.spark.runner import steps
    from indexer.batch.spark.session import running as running_spark

    with running_spark(running.master) as spark:
        yield steps(spark, most_joined=most_joined or MOST_JOINED)
