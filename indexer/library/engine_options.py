"""Options of indices of an engine, and of following."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from indexer.extract.base import Content
from indexer.extract.fields import FieldFormat
from indexer.library.options import USUAL_CONTENT, KindAsked, SchemesAsked
from indexer.model.declared import Option


@dataclass(frozen=True, slots=True)
class NewIndex:
    """The options of a new index; None for the defaults of the engine, or of a new store."""

    heading = "A new index"

    shards: Annotated[int | None, Option("Shards of a new index.  [default: the engine's]", least=1)] = None
    replicas: Annotated[int | None, Option("Replicas of a new index.  [default: the engine's]", least=0)] = None
    content: Annotated[Content, Option("What counts as the text of HTML, the same for all documents of a "
        "store.")] = USUAL_CONTENT  # fmt: skip
    schemes: SchemesAsked = None
    kind: KindAsked = None


@dataclass(frozen=True, slots=True)
class PipelineOptions:
    """The ingest pipelines, the fields with their text, and the ones the index uses by itself."""

    heading = "Ingest pipelines"

    pipelines: Annotated[bool, Option("Also install the ingest pipelines, for documents from elsewhere.",
        not_with=["repair"])] = False  # fmt: skip
    field: Annotated[tuple[str, ...], Option("A field with the text, for --pipelines.  [default: the index's fields, "
        "else body]", metavar="NAME", goes_with=["pipelines"], not_with=["remove", "repair"])] = ()  # fmt: skip
    default_pipeline: Annotated[Literal["keys", "simhash"] | None, Option("Make this the index's default pipeline. An "
        "existing one is never replaced.", goes_with=["pipelines"], not_with=["remove", "repair"])] = None  # fmt: skip
    final_pipeline: Annotated[Literal["keys", "simhash"] | None, Option("Make this the index's final pipeline. An "
        "existing one is never replaced.", goes_with=["pipelines"], not_with=["remove", "repair"])] = None  # fmt: skip


@dataclass(frozen=True, slots=True)
class Annotating:
    """The fields of texts, the place of fingerprints, the selection of documents, and the speed."""

    field: Annotated[tuple[str, ...], Option("A field with the text. Several are joined in the order given.  [default: "
        "the fields of the index's last run]", metavar="NAME")] = ()  # fmt: skip
    format: Annotated[FieldFormat, Option("The format of the fields. auto: HTML where a value is certainly HTML, else "
        "text.", goes_with=["field"])] = "text"  # fmt: skip
    source_field: Annotated[str, Option("The field with a document's origin (a URL, a path or a name). Reports count "
        "by it.", metavar="NAME")] = ""  # fmt: skip
    title_field: Annotated[str, Option("The field with the title, for answers and reports.", metavar="NAME")] = ""
    content: Annotated[Content | None, Option("What counts as the text of HTML.  [default: the index's own; landmarks "
        "if it has no fingerprints]")] = None  # fmt: skip
    to: Annotated[str | None, Option("Write the fingerprints to INDEX in the same engine, and only read the annotated "
        "index.", metavar="INDEX")] = None  # fmt: skip
    allow_version_change: Annotated[bool, Option("Annotate documents even if their owner assigns versions "
        "(version_type external). The version increases by one.", not_with=["to"])] = False  # fmt: skip
    docs_per_second: Annotated[float | None, Option("Annotate at most N documents a second.", least=0.01,
        most=1_000_000, metavar="N")] = None  # fmt: skip
    slices: Annotated[int, Option("How many parts of the index to read in parallel.", least=1, most=64)] = 4
    fields_changed: Annotated[bool, Option("With --field: compute all fingerprints again, from other fields than "
        "before.", goes_with=["field"])] = False  # fmt: skip
    cluster: Annotated[bool, Option("Assign the documents to clusters as they come.")] = False
    all: Annotated[bool, Option("Look at every document, not only at those written since the last run, and try failed "
        "ones again.")] = False  # fmt: skip
    again: Annotated[bool, Option("Compute all fingerprints again, also for unchanged texts.")] = False
    dry_run: Annotated[bool, Option("Count what would be done, and change nothing.")] = False


@dataclass(frozen=True, slots=True)
class Watching:
    """The way to follow an index or folders; times are in seconds."""

    heading = "How it follows"

    interval: Annotated[float, Option("The time between two looks at a quiet index. Each look is one request.",
        kind="seconds")] = 2.0  # fmt: skip
    quiet_for: Annotated[float, Option("Group everything anew after so much time without changes.",
        kind="seconds")] = 60.0  # fmt: skip
    share: Annotated[float, Option("The share of the time for grouping everything anew.", least=0.0001, most=1,
        metavar="S")] = 0.05  # fmt: skip
    most_lost: Annotated[float, Option("Remove nothing if more than this share of the documents is gone at once.",
        least=0, most=1, metavar="S")] = 0.2  # fmt: skip
    confirm_loss: Annotated[bool, Option("Remove all missing documents, however many, and look at every document at "
        "the start.")] = False  # fmt: skip
    lease: Annotated[float, Option("Take over from another process after so much silence.", kind="seconds")] = 30.0


@dataclass(frozen=True, slots=True)
class Alerting:
    """The receivers of alerts about new clusters and copies: commands, or addresses beginning with https:// or http://."""

    heading = "Alerts"

    on_new_cluster: Annotated[str, Option("Tell of each new cluster: run a command, without a shell and with JSON on "
        "its standard input, or post to a URL.", metavar="COMMAND|URL", typed=True)] = ""  # fmt: skip
    on_copy: Annotated[str, Option("Tell of each document that repeats another one, in the same way.",
        metavar="COMMAND|URL", typed=True)] = ""  # fmt: skip
    alert_timeout: Annotated[float, Option("Time limit for each command or request.", kind="seconds")] = 10.0
    alerts_a_minute: Annotated[int, Option("At most N commands and requests a minute. Further news is sent together, "
        "up to 100 in each.", least=1, most=600)] = 12  # fmt: skip
    alert_token_file: Annotated[str | None, Option("A file with the bearer token for URLs.  [default: the one in "
        "NEARDUP_ALERT_TOKEN]", kind="path", metavar="FILE")] = None  # fmt: skip
