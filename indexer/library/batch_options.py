"""Options of the actions on batches; nothing else is loaded here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from indexer.errors import UsageError
from indexer.library.options import RemoveAsked
from indexer.model import MOST_ORIGINS
from indexer.model.declared import Option

if TYPE_CHECKING:
    from indexer.clustering.verdicts import Permitted

WordsAsked = Annotated[int, Option("The least length of a passage.", least=1)]
LatestAsked = Annotated[bool, Option("If documents have one id and different texts, the last one counts. Otherwise "
    "they are refused.")]  # fmt: skip
TimeFieldAsked = Annotated[str | None, Option("The field or column with the time of a document, for --canonical "
    "earliest.", metavar="NAME")]  # fmt: skip


@dataclass(frozen=True, slots=True)
class BatchRun:
    """The place of a batch's run; `master` is a URL of Spark, None for the configuration of spark-submit."""

    heading = "Where the work is done"

    run_on: Annotated[Literal["local", "spark"], Option("Do the work in this process, or in tasks of Spark, over "
        "folders shared by all its machines. The files are the same. Needs the extra spark.")] = "local"  # fmt: skip
    master: Annotated[str | None, Option("The address of Spark, as spark://host:7077 or local[4].  [default: Spark's "
        "own settings]", metavar="URL", goes_with=["run_on=spark"])] = None  # fmt: skip

    @property
    def on_spark(self) -> bool:
        """True if Spark does the work."""
        return self.run_on == "spark"


@dataclass(frozen=True, slots=True)
class BatchSpread:
    """The place for clusters, and on Spark the number of parts; None for the defaults."""

    heading = "Where the work is done"

    running: BatchRun = BatchRun()
    partitions: Annotated[int | None, Option("How many partitions Spark shuffles into.  [default: one for each 64 MiB "
        "of sketches]", least=1, goes_with=["run_on=spark"])] = None  # fmt: skip
    most_joined: Annotated[int | None, Option("How many documents with common keys one task of Spark may join, in 100 "
        "bytes of memory each. More take several rounds of all tasks.  [default: 50,000,000]", least=1,
        goes_with=["run_on=spark"])] = None  # fmt: skip
    most_grouped: Annotated[int | None, Option("How many possibly near documents one task of Spark may compare, in "
        "four times the size of their sketches. More are compared key by key first.  [default: 1,000,000]", least=1,
        goes_with=["run_on=spark"])] = None  # fmt: skip


@dataclass(frozen=True, slots=True)
class BatchJudging:
    """The verification of near documents, by their texts if None, and the relations to remove."""

    heading = "What is removed"

    verify: Annotated[Literal["text", "sketch"] | None, Option("Decide what to remove by the texts, read again and "
        "aligned (the default), or by the sketches alone; this also removes forms.", typed=True)] = None  # fmt: skip
    remove: RemoveAsked = None

    def permitted(self, *, unverified: bool = False) -> Permitted | None:
        """The documents that may go by their texts, None if sketches alone decide. Raises UsageError."""
        from indexer.clustering.verdicts import Permitted

        by_sketch = unverified or self.verify == "sketch"
        if by_sketch and self.remove is not None:
            raise UsageError("remove names relations, which texts tell; leave out --verify sketch")
        if unverified and self.verify:
            raise UsageError("--unverified goes by sketches alone; leave out --verify")
        return None if by_sketch else Permitted.named(self.remove)


@dataclass(frozen=True, slots=True)
class BatchComparison:
    """The older documents to compare with, the memory, the handling of stale inputs and repeated ids, and the
    verification.
    """

    memory: Annotated[int, Option("The memory for sketches with --run-on local. More of them are spilled to OUT, and "
        "compared part by part.", kind="size", goes_with=["run_on=local"])] = 2 << 30  # fmt: skip
    against: Annotated[str | None, Option("A folder with the sketches and clusters of older documents. These are "
        "compared too, clusters keep their ids, and each new document names the older one it repeats.", kind="path",
        metavar="OLD")] = None  # fmt: skip
    stale: Annotated[Literal["refuse", "forget", "keep"], Option("Sketches of missing or changed inputs: refuse with "
        "the list, remove them, or keep counting them.")] = "refuse"  # fmt: skip
    latest: LatestAsked = False
    judging: BatchJudging = BatchJudging()


@dataclass(frozen=True, slots=True)
class BatchOutput:
    """The place and form of written documents, and the least number of origins of their clusters."""

    heading = "What is written"

    out: Annotated[str, Option("The folder to write to, a new one.", kind="path", metavar="OUT", required=True)]
    tag: Annotated[bool, Option("Write all documents, with neardup_keep, neardup_duplicate_of and neardup_cluster as "
        "columns or members.")] = False  # fmt: skip
    texts: Annotated[bool, Option("Write the texts of single files too, in Parquet, and no copies; so does --tag.",
        not_with=["tag"])] = False  # fmt: skip
    min_origins: Annotated[int | None, Option("Leave out clusters from fewer than N hosts or folders.", least=2,
        most=MOST_ORIGINS)] = None  # fmt: skip
    singletons: Annotated[Literal["keep", "drop"], Option("With --min-origins, whether documents of no cluster stay.",
        goes_with=["min_origins"])] = "keep"  # fmt: skip


@dataclass(frozen=True, slots=True)
class BatchPassages:
    """The passages to cut, of `words` words or more, and the fields of rows and lines, None for the usual ones.

    A cut document with fewer than `least_left` words left is dropped.
    """

    words: WordsAsked = 50
    least_left: Annotated[int, Option("Drop documents with a lost passage and fewer than N words left.", least=1)] = 1
    text_field: Annotated[str | None, Option("The field or column with the text.  [default: text]",
        metavar="NAME")] = None  # fmt: skip
    id_field: Annotated[str | None, Option("The field or column with the id.  [default: id; without one, file and "
        "row]", metavar="NAME")] = None  # fmt: skip
    time_field: Annotated[str | None, Option("The field or column with the time of a document. At the same time the "
        "lower id is first.", metavar="NAME")] = None  # fmt: skip


@dataclass(frozen=True, slots=True)
class BatchLoading:
    """The clusters to load too, the places of documents, and the permitted changes."""

    clusters: Annotated[str | None, Option("The folder that neardup batch cluster wrote.  [default: DIR, if it has "
        "clusters]", kind="path", metavar="OUT")] = None  # fmt: skip
    index_column: Annotated[str, Option("The column of the input with the document's index, behind an alias or data "
        "stream.", metavar="NAME", in_engine=True)] = ""  # fmt: skip
    routing_column: Annotated[str, Option("The column of the input with the routing value.", metavar="NAME",
        in_engine=True)] = ""  # fmt: skip
    no_create: Annotated[bool, Option("End with exit code 3 instead of making a new store.")] = False
    create_missing: Annotated[bool, Option("In somebody else's index: also create missing documents.",
        in_engine=True)] = False  # fmt: skip
    allow_version_change: Annotated[bool, Option("In somebody else's index: change documents even if their owner "
        "assigns versions (version_type external).", in_engine=True)] = False  # fmt: skip
    dry_run: Annotated[bool, Option("Count what would be done, and change nothing.")] = False
    stale: Annotated[Literal["refuse", "keep"], Option("Load the sketches of missing or changed inputs, or "
        "refuse.")] = "refuse"  # fmt: skip
