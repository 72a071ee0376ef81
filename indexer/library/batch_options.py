"""Options of the actions on batches; nothing else is loaded here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from indexer.errors import UsageError

if TYPE_CHECKING:
    from indexer.clustering.relations import Permitted


@dataclass(frozen=True, slots=True)
class BatchRun:
    """The place of a batch's run; `master` is a URL of Spark, None for the configuration of spark-submit."""

    run_on: Literal["local", "spark"] = "local"
    master: str | None = None

    @property
    def on_spark(self) -> bool:
        """True if Spark does the work."""
        return self.run_on == "spark"


@dataclass(frozen=True, slots=True)
class BatchSpread:
    """The place for clusters, and on Spark the number of parts; None for the defaults."""

    running: BatchRun = BatchRun()
    partitions: int | None = None
    most_joined: int | None = None
    most_grouped: int | None = None


@dataclass(frozen=True, slots=True)
class BatchJudging:
    """The verification of near documents, by their texts if None, and the relations to remove."""

    verify: Literal["text", "sketch"] | None = None
    remove: str | tuple[str, ...] | None = None

    def permitted(self, *, unverified: bool = False) -> Permitted | None:
        """The documents that may go by their texts, None if sketches alone decide. Raises UsageError."""
        from indexer.clustering.relations import Permitted

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

    memory: int = 2 << 30
    against: str | None = None
    stale: Literal["refuse", "forget", "keep"] = "refuse"
    latest: bool = False
    judging: BatchJudging = BatchJudging()


@dataclass(frozen=True, slots=True)
class BatchOutput:
    """The place and form of written documents, and the least number of origins of their clusters."""

    out: str
    tag: bool = False
    texts: bool = False
    min_origins: int | None = None
    singletons: Literal["keep", "drop"] = "keep"


@dataclass(frozen=True, slots=True)
class BatchPassages:
    """The passages to cut, of `words` words or more, and the fields of rows and lines, None for the usual ones.

    A cut document with fewer than `least_left` words left is dropped.
    """

    words: int = 50
    least_left: int = 1
    text_field: str | None = None
    id_field: str | None = None
    time_field: str | None = None


@dataclass(frozen=True, slots=True)
class BatchLoading:
    """The clusters to load too, the places of documents, and the permitted changes."""

    clusters: str | None = None
    index_column: str = ""
    routing_column: str = ""
    no_create: bool = False
    create_missing: bool = False
    allow_version_change: bool = False
    dry_run: bool = False
    stale: Literal["refuse", "keep"] = "refuse"
