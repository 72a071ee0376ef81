"""Options of indices of an engine, and of following."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from indexer.extract.base import Content
from indexer.library.options import USUAL_CONTENT
from indexer.model.kinds import KindName


@dataclass(frozen=True, slots=True)
class NewIndex:
    """The options of a new index; None for the defaults of the engine, or of a new store."""

    shards: int | None = None
    replicas: int | None = None
    content: Content = USUAL_CONTENT
    schemes: str | None = None
    kind: KindName | None = None


@dataclass(frozen=True, slots=True)
class PipelineOptions:
    """The ingest pipelines, the fields with their text, and the ones the index uses by itself."""

    pipelines: bool = False
    field: tuple[str, ...] = ()
    default_pipeline: Literal["keys", "simhash"] | None = None
    final_pipeline: Literal["keys", "simhash"] | None = None


@dataclass(frozen=True, slots=True)
class Annotating:
    """The fields of texts, the place of fingerprints, the selection of documents, and the speed.

    `field` names the fields to join in this order, empty for those the index remembers; with `fields_changed` others
    replace them. `to` names an index of the same engine for the fingerprints, None for the documents themselves. Only
    documents written since the last run are read; with `all` every one, and with `again` unchanged ones are
    fingerprinted too. With `cluster` documents are put into clusters as they come. `content` is None for the index's
    own mode. `slices` parts of the index are read in parallel, at most `docs_per_second` documents a second.
    """

    field: tuple[str, ...] = ()
    html: bool = False
    fields_changed: bool = False
    source_field: str = ""
    title_field: str = ""
    content: Content | None = None
    to: str | None = None
    cluster: bool = False
    all: bool = False
    again: bool = False
    dry_run: bool = False
    allow_version_change: bool = False
    docs_per_second: float | None = None
    slices: int = 4


@dataclass(frozen=True, slots=True)
class Watching:
    """The way to follow an index: a look each `interval` seconds, a full run after `quiet_for` seconds of quiet.

    Full runs take at most about the `share` of the time. If more than the share `most_lost` of the documents is gone at
    once, nothing is removed until `confirm_loss`. Another process takes over after `lease` seconds of silence.
    """

    interval: float = 2.0
    quiet_for: float = 60.0
    share: float = 0.05
    most_lost: float = 0.2
    confirm_loss: bool = False
    lease: float = 30.0


@dataclass(frozen=True, slots=True)
class Alerting:
    """The receivers of alerts about new clusters and copies: commands, or addresses beginning with https:// or http://.

    Each delivery has `alert_timeout` seconds, and there are at most `alerts_a_minute`. Addresses get the token in
    `alert_token_file`, else in NEARDUP_ALERT_TOKEN.
    """

    on_new_cluster: str = ""
    on_copy: str = ""
    alert_timeout: float = 10.0
    alerts_a_minute: int = 12
    alert_token_file: str | None = None
