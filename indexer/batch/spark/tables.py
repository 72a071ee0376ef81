"""Sketches and clusters of DataFrames, for programs and notebooks."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, Literal

from indexer.batch.arrow import arrow
from indexer.batch.clusters.describing import TOLD_BY
from indexer.batch.clusters.judging import near_schema
from indexer.batch.form import (
    OLDER_CLUSTER,
    OLDER_KEEP,
    Form,
    Making,
    cluster_schema,
    column_name,
    form_of,
    sketch_schema,
)
from indexer.batch.reading import Sketched, rule_of
from indexer.batch.sketches.parts import SKETCHES, Stale, inputs_for
from indexer.batch.spark import tasks
from indexer.batch.spark.clustering import by_component, judged, with_texts
from indexer.batch.spark.frames import MOST_GROUPED, MOST_JOINED, Documents, Run, found, keep
from indexer.batch.spark.session import functions, mapped, partitions_of, plain_errors, sql
from indexer.clustering.canonical import CanonicalRule, canonical_asked
from indexer.clustering.verdicts import Permitted
from indexer.errors import UsageError, shown
from indexer.extract.base import Limits
from indexer.matching.store_schemes import schemes_of_new
from indexer.model import DEFAULT_MIN_TOKENS

_FORM = "form"
_NOTE = "neardup"
_REPLACED = "neardup_replaced"


def sketches(  # noqa: PLR0913 - they are columns, and options of the command
    documents: Any,
    *,
    id: str = "id",  # noqa: A002 - as the column is called
    text: str = "text",
    title: str | None = None,
    source: str | None = None,
    time: str | None = None,
    metadata: Sequence[str] = (),
    schemes: str | None = None,
    min_tokens: int = DEFAULT_MIN_TOKENS,
) -> Any:
    """The sketches of plain texts: a DataFrame with a row for each of `documents`, in the columns of files of sketches.

    `id`, `text`, `title`, `source` (its URL or path) and `time` (a document's first time, for canonical="earliest")
    name columns; the columns `metadata` are kept as a JSON object. With canonical="newest" or "oldest" versions are
    told by source, title, metadata, and declarations in texts. `schemes` as --schemes of `neardup batch sketch`. A
    column `form` records the sketches' settings in its metadata. A null text has no words; a null id raises UsageError
    in its task.
    """
    form = Form(tuple(scheme.id for scheme in schemes_of_new(schemes)), min_tokens, kind="text", time_field=time or "")
    column, literal = functions.col, functions.lit
    nothing = literal(None).cast("string")
    given = documents.select(
        column(id).cast("string").alias("id"),
        literal(0).cast("bigint").alias("row"),
        functions.coalesce(column(text).cast("string"), literal("")).alias("text"),
        *(
            functions.coalesce(column(name).cast("string") if name else literal(""), literal("")).alias(of)
            for of, name in (("title", title), ("source", source))
        ),
        (column(time).cast("string") if time else nothing).alias("time"),
        (functions.to_json(functions.struct(*metadata)) if metadata else nothing).alias("metadata"),
    )
    written, digest = _written(form)
    schema = tasks.spark_schema(sketch_schema(form)).append(arrow.field(_FORM, arrow.string()))
    made = mapped(given, tasks.sketch, schema, Making(form, Limits()), digest)
    return made.withMetadata(_FORM, {_NOTE: written})


def read(spark: Any, folder: str, *, stale: Stale = "refuse") -> Any:
    """The sketches written to a folder by `neardup batch sketch`; Spark reads it under this name too.

    Raises UsageError for a missing or changed input, unless `stale` is "keep", or "forget", which removes its sketches.
    """
    inputs_for(folder, stale=stale)
    written, digest = _written(Sketched.of(folder).form)
    frame = spark.read.parquet(os.path.join(folder, SKETCHES))
    return frame.withColumn(_FORM, functions.lit(digest)).withMetadata(_FORM, {_NOTE: written})


def _written(form: Form) -> tuple[str, str]:
    written = json.dumps(asdict(form), sort_keys=True)
    return written, hashlib.blake2b(written.encode(), digest_size=8).hexdigest()


def clusters(  # noqa: PLR0913 - they are options of the command
    sketches: Any,
    *,
    match: str | None = None,
    canonical: str | None = None,
    bound: float | None = None,
    latest: str | None = None,
    against: Any = None,
    partitions: int | None = None,
    most_joined: int = MOST_JOINED,
    most_grouped: int = MOST_GROUPED,
    texts: Any = None,
    verify: Literal["text", "sketch"] = "text",
    remove: str | Iterable[str] | None = None,
) -> Any:
    """The clusters of documents with `sketches`: a DataFrame with a row for each, whatever its partitions and order.

    Its columns are those of files of clusters without row. The clusters equal those of `neardup batch cluster`; of
    equally preferred documents the first by id comes first. `match`, `canonical` and `bound` are its options. Several
    documents of one id are an error, unless `latest` names a column: the one with its largest value counts, and the
    cluster of the others is null. `against` are sketches of older documents with a column `cluster`, and `keep` if not
    all of them were kept. They are compared too, their clusters keep their ids, and columns `older`, `repeats` and
    `repeats_similarity` are added.

    `keep` is decided by the texts, the columns id and text of `texts` as they were sketched: documents go if `remove`
    names their relation to a kept one. With verify="sketch" sketches alone decide, also on forms.

    Shuffles have so many `partitions`, as configured by default. One task puts up to `most_joined` documents with
    shared keys into components, and compares up to `most_grouped` possibly near ones. The sketches are read twice: save
    them, or cache them, if making them takes long. Raises UsageError and IncompatibleStoreError, some of them when the
    result is computed.
    """
    known = _form_in(sketches)
    rule = rule_of(known, match)
    run = Run(
        rule, canonical_asked(canonical) or CanonicalRule(), bound,
        partitions_of(sketches.sparkSession, partitions), most_joined, most_grouped, against=against is not None,
    )  # fmt: skip
    wanted = (
        [name for name in run.columns if name not in (OLDER_CLUSTER, OLDER_KEEP)] + [_FORM] + [latest] * bool(latest)
    )
    every = sketches.select(*dict.fromkeys([*wanted, "format"]))
    if against is not None:
        every = _with_older(every, against)
    every = every.withColumn("owner", functions.xxhash64("id"))
    if latest:
        newest = sql.Window.partitionBy("owner", "id").orderBy(functions.col(latest).desc_nulls_last())
        every = every.withColumn(_REPLACED, functions.rank().over(newest) > 1)
    else:
        every = every.withColumn(_REPLACED, functions.lit(False))
    permitted, kept = _permitted(verify, remove), ExitStack()
    with plain_errors():
        counting = every.where(f"not {_REPLACED}")
        clustered = found(_documents(counting, _written(known)[1]), run, kept)
        if permitted is None:
            return _with_clusters(every, clustered, run, None)
        clustered = keep(kept, clustered)
        near = by_component(_near(counting, clustered, texts, run), run.partitions)
        return _with_clusters(every, clustered, run, judged(keep(kept, near), rule, permitted, run.partitions))


def _form_in(sketches: Any) -> Form:
    note = sketches.schema[_FORM].metadata.get(_NOTE) if _FORM in sketches.columns else None
    if note is None:
        raise UsageError(
            "these are no sketches as sketches() or read() gives them: a column form, and its metadata, say what they "
            "are made with; keep it, as Parquet and tables of Spark do"
        )
    return form_of({"form": json.loads(note)})


def _with_older(new: Any, older: Any) -> Any:
    kept = older.join(new.select("id"), "id", "left_anti")
    stayed = functions.col("keep") if "keep" in older.columns else functions.lit(True)
    with_clusters = kept.select(*new.columns, functions.col("cluster").alias(OLDER_CLUSTER), stayed.alias(OLDER_KEEP))
    nothing = functions.lit(None)
    fresh = new.withColumn(OLDER_CLUSTER, nothing.cast("string")).withColumn(OLDER_KEEP, nothing.cast("boolean"))
    return with_clusters.unionByName(fresh)


def _documents(frame: Any, digest: str) -> Documents:
    def checked(columns: Sequence[str], step: tasks.Step, schema: Any, *given: Any) -> Any:
        return mapped(frame.select("owner", *columns, _FORM), tasks.checked, schema, digest, step, *given)

    return Documents(checked, lambda labels, columns: frame.select("owner", *columns).join(labels, "owner"))


def _permitted(verify: str, remove: str | Iterable[str] | None) -> Permitted | None:
    if verify not in ("text", "sketch"):
        raise UsageError(f"verify={shown(verify)}: is text or sketch")
    if verify == "sketch" and remove is not None:
        raise UsageError('remove names relations, which texts tell; leave out verify="sketch"')
    return Permitted.named(remove) if verify == "text" else None


def _near(every: Any, clustered: Any, texts: Any, run: Run) -> Any:
    column, sketches = functions.col, [*TOLD_BY, *map(column_name, run.rule.schemes)]
    sketched = every.select("owner", "id", *sketches, *[OLDER_CLUSTER] * run.against)
    near = clustered.where("is_read is not null").join(sketched, ["owner", "id"])
    if texts is not None:
        given = texts.select(*(column(name).cast("string").alias(name) for name in ("id", "text")))
        near = near.join(given, "id", "left")
    else:
        near = near.withColumn("text", functions.lit(None).cast("string"))
    more = {
        "similarity": functions.coalesce("near_similarity", functions.lit(0.0)),
        "stays": column(OLDER_CLUSTER).isNotNull() if run.against else functions.lit(False),
    }
    wanted = ["owner", "id", "component", "rank", "stand_in", *more, *sketches, "is_read", "text"]
    return mapped(near.withColumns(more).select(*wanted), with_texts, near_schema(run.rule), run.rule)


def _with_clusters(every: Any, clustered: Any, run: Run, verdicts: Any) -> Any:
    column, count = functions.col, functions.count(functions.lit(1))
    own = sql.Window.partitionBy("owner", "id", _REPLACED)
    message = functions.concat(
        functions.lit("several documents have the id "), column("id"),
        functions.lit(": ids tell documents apart; drop all but one, or name with latest= the column that decides"),
    )  # fmt: skip
    several = (count.over(own) > 1) & ~column(_REPLACED)
    counts = functions.when(several, functions.raise_error(message).cast("boolean")).when(~column(_REPLACED), True)
    older = [column(OLDER_CLUSTER).isNotNull().alias("older"), column(OLDER_KEEP)] if run.against else []
    rows = every.select("owner", "id", counts.alias("counts"), *older)
    for beside in (clustered.where("figures is null"), *([] if verdicts is None else [verdicts])):
        rows = rows.join(beside, ["owner", "id"], "left")
    [*fields] = cluster_schema(against=run.against)
    if run.against:
        fields.insert(-2, arrow.field("older", arrow.bool_()))
    schema = arrow.schema([field for field in fields if field.name != "row"])
    return mapped(rows, tasks.rows_of_clusters, schema, schema, by_sketch=verdicts is None)
