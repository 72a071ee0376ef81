"""Sketch, cluster and filter files in one go."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from indexer.batch.clusters.clustering import ClusteringOptions, cluster
from indexer.batch.copying import Output
from indexer.batch.filtering import Filtered, keep, parts_to_write, write_parts
from indexer.batch.form import Form, Making
from indexer.batch.reading import rule_of
from indexer.batch.sketches.sketching import Summary, sketch
from indexer.clustering.canonical import CanonicalRule, canonical_asked
from indexer.errors import UsageError
from indexer.extract.base import Limits
from indexer.ingest.indexing import default_jobs
from indexer.ingest.sources import Sources
from indexer.matching.kept import schemes_of_new
from indexer.text.counts import counted


@dataclass(frozen=True, slots=True)
class Deduplicated:
    """The outcome of deduplication: the result, files and seconds of each step."""

    batch: str
    sketched: Summary
    clustered: dict[str, Any]
    filtered: Filtered
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Steps:
    """The functions for each step: in this process, or in tasks of Spark (`indexer.batch.spark.deduping.steps`)."""

    sketch: Callable[..., Summary] = sketch
    cluster: Callable[..., dict[str, Any]] = cluster
    write: Callable[..., None] = write_parts


def batch_folder(out: str) -> str:
    return os.path.normpath(out) + ".batch"


def dedupe(  # noqa: PLR0913 - they are options of the command
    paths: Sequence[str],
    out: str,
    *,
    match: str | None = None,
    canonical: str | CanonicalRule | None = None,
    time_field: str = "",
    tag: bool = False,
    texts: bool = False,
    min_origins: int = 1,
    singletons: bool = True,
    sources: Sources | None = None,
    making: Making | None = None,
    wanted: dict[str, Any] | None = None,
    unverified: bool = False,
    steps: Steps | None = None,
) -> Deduplicated:
    """Write the documents to keep, of files and folders, to the folder `out`, as `indexer.batch.filtering.keep`.

    Sketches and clusters go to `batch_folder(out)`; another run continues with them. `match` and `canonical` are as for
    `neardup batch cluster`, `time_field` names the time a document was first there; `tag`, `texts`, `min_origins` and
    `singletons` are as in `indexer.batch.copying.Output`. `sources` has further options for reading the paths, `making`
    for sketches, and `wanted` fields of `indexer.batch.clusters.clustering.Wanted`. `steps` does the work, this process
    by default.

    Impossible output is refused before anything is read. Raises UsageError, StoreError and IncompatibleStoreError.
    """
    folder, steps = batch_folder(out), steps or Steps()
    if making is None:
        form = Form(tuple(scheme.id for scheme in schemes_of_new(None)), time_field=time_field)
        making = Making(form, Limits(), default_jobs())
    form, more = making.form, wanted or {}
    output = Output(out, tag, texts, min_origins, singletons, making.jobs)
    rule = rule_of(form, match)
    preferred = canonical_asked(canonical) or CanonicalRule()
    asked = ClusteringOptions(rule, preferred, **more)
    if rule.by_hash_alone and asked.permitted is None and not unverified:
        raise UsageError(
            f"{rule}: alone also calls documents near that share nothing but their language; verify by their texts, "
            "take a verified rule, or say --unverified"
        )
    given = sources or Sources(list(paths))
    parts = parts_to_write(given, (*paths, *((more["against"],) if more.get("against") else ())), output)
    if not parts:
        raise UsageError(
            f"{', '.join(paths)}: no file to read; {counted(given.passed_over.total, 'file')} left out by name"
        )
    seconds, begin = {}, time.monotonic()

    def took(step: str) -> None:
        nonlocal begin
        seconds[step], begin = round(time.monotonic() - begin, 3), time.monotonic()

    sketched = steps.sketch(given, parts, folder, making)
    took("sketch")
    clustered = steps.cluster(folder, folder, asked)
    took("cluster")
    against = [asked.against] if asked.against else []
    filtered = keep(paths, folder, output, against=against, unverified=unverified, parts=parts, write=steps.write)
    took("filter")
    return Deduplicated(folder, sketched, clustered, filtered, seconds)
