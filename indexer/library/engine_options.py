"""Options of indices of an engine, and of following."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from indexer.engine.documents.options import Annotating
from indexer.extract.base import Content
from indexer.library.options import USUAL_CONTENT, KindAsked, SchemesAsked
from indexer.model.declared import Option

__all__ = ["Alerting", "Annotating", "NewIndex", "PipelineOptions", "Watching"]


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
