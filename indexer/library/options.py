"""Options of actions that belong together, as commands and programs give them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

from indexer.errors import IncompatibleStoreError, NotFoundError, UsageError
from indexer.extract.base import Content, Extractor, Format, Limits, Options
from indexer.ingest.readers import ColumnNames
from indexer.ingest.readers.named_columns import KnownColumns
from indexer.ingest.sources import LEFT_OUT, STDIN, IdFrom, Selection
from indexer.model import DEFAULT_MIN_TOKENS, own_files
from indexer.model.paths import printable_path
from indexer.model.times import Refresh

if TYPE_CHECKING:
    from indexer.clustering.canonical import CanonicalRule
    from indexer.clustering.relations import Permitted
    from indexer.stores.base import Store
    from indexer.stores.texts import TextFields

__all__ = [
    "DEFAULT_MIN_TOKENS",
    "LEFT_OUT",
    "Content",
    "Extractor",
    "Format",
    "IdFrom",
    "Limits",
    "Options",
    "Refresh",
    "ReportFormat",
    "list_of_paths",
]

ReportFormat = Literal["html", "json", "csv", "md"]

USUAL_CONTENT: Content = "landmarks"


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """The limits of one document: `timeout` in seconds, `memory` in bytes."""

    timeout: float = Limits().seconds
    memory: int = Limits().memory

    @property
    def limits(self) -> Limits:
        """These, and the usual size of a document."""
        return Limits(seconds=self.timeout, memory=self.memory)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The options of reading; `content` and `format` are None where nothing was asked, `max_size` is in bytes."""

    content: Content | None = None
    extractor: Extractor = "auto"
    format: Format | None = None
    worker: WorkerLimits = field(default_factory=WorkerLimits)
    max_size: int = Limits().input_bytes

    def options(self, content: Content) -> Options:
        """The options of the extraction, in a content mode."""
        return Options(content=content, extractor=self.extractor, format=self.format)

    @property
    def limits(self) -> Limits:
        """The limits of one document."""
        return Limits(seconds=self.worker.timeout, memory=self.worker.memory, input_bytes=self.max_size)

    def reading(self, content: Content | None) -> tuple[Options, Limits]:
        """Options and limits in the content mode of a store, if there is one; IncompatibleStoreError for another."""
        if self.content and content and self.content != content:
            raise IncompatibleStoreError(
                f"--content {self.content}: this store holds fingerprints of content {content}, which can't be compared"
            )
        return self.options(content or self.content or USUAL_CONTENT), self.limits


@dataclass(frozen=True, slots=True)
class NamedColumns:
    """The names of the fields of JSON lines and columns of tables; None for the usual ones."""

    text_field: str | None = None
    id_field: str | None = None
    title_field: str | None = None

    def columns(self, extraction: Extraction) -> ColumnNames:
        """The same for a reader; the text is HTML where that is the kind of the documents."""
        is_html = extraction.format == "html"
        return ColumnNames(self.text_field or "", self.id_field or "", self.title_field or "", html=is_html)


@dataclass(frozen=True, slots=True)
class NamedFields:
    """The fields that are named for the texts of an index, and those of files that hold many documents."""

    field: tuple[str, ...] = ()
    html: bool = False
    columns: NamedColumns = NamedColumns()

    def fields(self, *, stored: bool) -> TextFields | None:
        """The fields that were named; UsageError where documents of no store are read (`stored` False)."""
        if not self.field:
            return None
        if not stored:
            raise UsageError("--field names fields of the store's documents; other documents have none")
        from indexer.stores.texts import TextFields

        return TextFields(self.field, self.html)


@dataclass(frozen=True, slots=True)
class Walk:
    """The list of paths beside those named, the files of a folder that are taken, and what names documents."""

    paths_from: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hidden: bool = False
    follow_links: bool = False
    id_from: IdFrom = "path"
    columns: NamedColumns = NamedColumns()

    def selection(self, extraction: Extraction, base: str, known: KnownColumns | None = None) -> Selection:
        """The selection of documents; `base` is the folder that ids of files are seen from."""
        return Selection(
            include=self.include,
            exclude=self.exclude,
            hidden=self.hidden,
            follow_links=self.follow_links,
            id_from=self.id_from,
            base=base,
            line_limit=extraction.max_size,
            columns=self.columns.columns(extraction),
            known=known or KnownColumns(),
        )

    def listed(self) -> Iterable[str]:
        """The paths of the list. Raises NotFoundError where it can't be read."""
        return list_of_paths(self.paths_from) if self.paths_from else ()


@dataclass(frozen=True, slots=True)
class Fingerprinting:
    """The options of fingerprinting documents.

    `jobs` is None for a worker process on each processor, `scheme` names schemes that are to be added to the store, and
    `schemes` is a list of those that a new one is made with, None where nothing was asked.
    """

    jobs: int | None = None
    min_tokens: int = DEFAULT_MIN_TOKENS
    scheme: tuple[str, ...] = ()
    schemes: str | None = None

    @property
    def processes(self) -> int:
        """The number of worker processes."""
        from indexer.ingest.indexing import default_jobs

        return self.jobs or default_jobs()


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The options of clustering beside the match rule; None where nothing was asked."""

    bound: float | None = None
    canonical: str | None = None
    prefer: tuple[str, ...] = ()

    @property
    def canonical_rule(self) -> CanonicalRule | None:
        """The rule for the document that stands for a cluster, None where nothing was asked. Raises UsageError."""
        from indexer.clustering.canonical import canonical_asked

        return canonical_asked(self.canonical, self.prefer)


@dataclass(frozen=True, slots=True)
class Arriving:
    """The options of indexing about near-duplicates, and the rule for them; `new_to` names a file for ids of new ones.

    With `cluster` documents are put into clusters as they come, with `skip_duplicates` near-duplicates are left out:
    those that say what a stored one says, by their texts, also forms with `forms`; or by their sketches alone.
    """

    cluster: bool = False
    skip_duplicates: bool = False
    verify: Literal["text", "sketch"] | None = None
    forms: bool = False
    new_to: str | None = None
    match: str | None = None
    distance: int | None = None
    clustering: ClusterOptions = ClusterOptions()

    def __bool__(self) -> bool:
        return self.cluster or self.skip_duplicates


@dataclass(frozen=True, slots=True)
class NewIndex:
    """The options of an index that is made where there is none; None for what the engine, or a new store, has."""

    shards: int | None = None
    replicas: int | None = None
    content: Content = USUAL_CONTENT
    schemes: str | None = None


@dataclass(frozen=True, slots=True)
class PipelineOptions:
    """The ingest pipelines, the fields with their text, and which of them the index is to have by itself."""

    pipelines: bool = False
    field: tuple[str, ...] = ()
    default_pipeline: Literal["keys", "simhash"] | None = None
    final_pipeline: Literal["keys", "simhash"] | None = None


@dataclass(frozen=True, slots=True)
class Annotating:
    """The fields of texts and how they are read, the place of fingerprints, and which documents get one, how fast.

    `field` names the fields whose texts are joined in this order, empty for those that the index remembers; with
    `fields_changed` others than those replace them. `to` names an index of the same engine for the fingerprints, None
    for the documents themselves. With `all` documents whose text has not changed get one too. `content` is None for the
    index's own mode. `slices` parts of the index are read in parallel, at most `docs_per_second` documents a second.
    """

    field: tuple[str, ...] = ()
    html: bool = False
    fields_changed: bool = False
    source_field: str = ""
    title_field: str = ""
    content: Content | None = None
    to: str | None = None
    all: bool = False
    dry_run: bool = False
    allow_version_change: bool = False
    docs_per_second: float | None = None
    slices: int = 4


@dataclass(frozen=True, slots=True)
class BatchRun:
    """The place of a batch's run; `master` is a URL of Spark, None for what spark-submit or its configuration says."""

    run_on: Literal["local", "spark"] = "local"
    master: str | None = None

    @property
    def on_spark(self) -> bool:
        """True if tasks of Spark do the work."""
        return self.run_on == "spark"


@dataclass(frozen=True, slots=True)
class BatchSpread:
    """The place where clusters are made, and on Spark the number of parts; None for the usual numbers."""

    running: BatchRun = BatchRun()
    partitions: int | None = None
    most_joined: int | None = None
    most_grouped: int | None = None


@dataclass(frozen=True, slots=True)
class BatchJudging:
    """The way near documents are verified, by their texts where None, and what goes beside plain copies."""

    verify: Literal["text", "sketch"] | None = None
    forms: bool = False
    edited: bool = False

    def permitted(self, *, unverified: bool = False) -> Permitted | None:
        """The documents that may go by their texts, None where sketches alone decide. Raises UsageError."""
        from indexer.clustering.relations import Permitted

        by_sketch = unverified or self.verify == "sketch"
        if by_sketch and (self.forms or self.edited):
            raise UsageError("forms and edited documents are told by their texts; leave out --verify sketch")
        if unverified and self.verify:
            raise UsageError("--unverified goes by sketches alone; leave out --verify")
        return None if by_sketch else Permitted(self.forms, self.edited)


@dataclass(frozen=True, slots=True)
class BatchComparison:
    """The older documents that are compared too, the memory, what becomes of stale inputs and repeated ids, and what
    decides on near documents.
    """

    memory: int = 2 << 30
    against: str | None = None
    stale: Literal["refuse", "forget", "keep"] = "refuse"
    latest: bool = False
    judging: BatchJudging = BatchJudging()


@dataclass(frozen=True, slots=True)
class BatchOutput:
    """The place that documents go to, the way they are written, and how many origins their clusters must have."""

    out: str
    tag: bool = False
    texts: bool = False
    min_origins: int | None = None
    singletons: Literal["keep", "drop"] = "keep"


@dataclass(frozen=True, slots=True)
class BatchPassages:
    """The passages to cut, of `words` words or more, and the fields of rows and lines, None for the usual ones.

    A document that loses one and has fewer than `least_left` words left is dropped.
    """

    words: int = 50
    least_left: int = 1
    text_field: str | None = None
    id_field: str | None = None
    time_field: str | None = None


@dataclass(frozen=True, slots=True)
class BatchLoading:
    """The clusters that are loaded too, the places of documents, and what may be made and changed there."""

    clusters: str | None = None
    index_column: str = ""
    routing_column: str = ""
    no_create: bool = False
    create_missing: bool = False
    allow_version_change: bool = False
    dry_run: bool = False
    stale: Literal["refuse", "keep"] = "refuse"


def content_of(store: Store) -> Content:
    """The content mode that a store's fingerprints were made in."""
    return cast(Content, store.info.content)


def list_of_paths(name: str) -> Iterator[str]:
    """The paths in a file ("-": standard input), one a line, or ended by NUL where the first block holds one."""
    try:
        file = sys.stdin.buffer if name == STDIN else open(name, "rb", opener=own_files.reader)  # noqa: SIM115 - closed below
    except OSError as error:
        raise NotFoundError(f"{printable_path(name)}: the list of paths can't be read: {error.strerror}") from None
    with file:
        block = file.read(1 << 16)
        end = b"\0" if b"\0" in block else b"\n"
        rest = b""
        while block:
            *whole, rest = (rest + block).split(end)
            yield from (os.fsdecode(path) for path in whole if path)
            if len(rest) > 1 << 20:
                raise UsageError(f"{printable_path(name)}: a path of more than a million bytes; is it a list of paths?")
            block = file.read(1 << 16)
        if rest:
            yield os.fsdecode(rest)
