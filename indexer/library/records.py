"""What a collection answers: small records, each of plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from indexer.library.rows import Rows, Shown


@dataclass(frozen=True, slots=True)
class Stored:
    """A document of a collection.

    `tokens` it was fingerprinted from (`short`: too few to mean much, so that it stays out of answers), `size` in
    bytes, `indexed_at` ISO 8601 in UTC; `cluster` is the id of its cluster, and `duplicate_of` the document that stands
    for it where `Collection.prune` has marked it.
    """

    id: str
    title: str
    source: str
    format: str
    tokens: int
    short: bool
    size: int
    indexed_at: str
    cluster: str
    duplicate_of: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Match:
    """A document that is near a question: `similarity` (0 to 1) is by the rule's measure.

    `bits` of simhash-doc differ (None where that is not known); `label` is "identical", "near", "close" or "loose", and
    empty for what was asked for by `at_least` only.
    """

    id: str
    similarity: float
    bits: int | None
    label: str
    title: str
    source: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two documents that are near, and their similarity (0 to 1)."""

    left: str
    right: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """Documents that belong together: the `canonical` one is the first of the `members`.

    `similarities` (0 to 1) are those of the members to the canonical one.
    """

    id: str
    size: int
    canonical: str
    members: tuple[str, ...]
    similarities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that could not be indexed, by id, and the reason: a short fixed word, and what was wrong."""

    id: str
    reason: str
    detail: str
    source: str
    failed_at: str


@dataclass(frozen=True, slots=True)
class Surplus:
    """A document that another one, `canonical`, stands for; `kept` says why it is kept all the same, else empty.

    `similarity` (0 to 1) is found anew, below 0 where it is unknown; `identical` texts differ in case and white
    space at most.
    """

    id: str
    canonical: str
    similarity: float
    identical: bool
    kept: str
    title: str
    source: str
    cluster: str


@dataclass(frozen=True, slots=True, repr=False)
class Indexed(Shown):
    """What became of documents that were given to a collection; each is in one of the first six.

    `failed` counts by reason, `failed_before` were left alone because they failed before and have not changed,
    `duplicates` were left out as asked for. Of what was stored `short` have too few tokens and `empty` none; `new` had
    nothing near when they came and `near` had, where that was looked at.
    """

    indexed: int
    replaced: int
    unchanged: int
    failed: Mapping[str, int]
    failed_before: int
    duplicates: int
    short: int
    empty: int
    new: int
    near: int
    seconds: float

    @property
    def done(self) -> int:
        """How many documents were dealt with."""
        counted = self.indexed + self.replaced + self.unchanged + self.failed_before + self.duplicates
        return counted + sum(self.failed.values())


@dataclass(frozen=True, slots=True, repr=False)
class Clustering(Shown):
    """What a clustering by `rule` found: of `documents` this many were `compared`, and `lacking` could not be.

    `clusters` have two members or more, `clustered` documents together, the `largest` with that many; `split` chains
    were cut. `written` documents changed, or would.
    """

    rule: str
    documents: int
    compared: int
    lacking: int
    clusters: int
    clustered: int
    largest: int
    split: int
    written: int


@dataclass(frozen=True, slots=True, repr=False)
class Pruned(Shown):
    """What `Collection.prune` found, and did: how many documents were `marked`, `unmarked` and `deleted`.

    `stripped` are those of an owner, which stay and only lose what neardup knew of them. `surplus` is listed in a dry
    run only.
    """

    surplus: Rows[Surplus] = field(repr=False)
    marked: int = 0
    unmarked: int = 0
    deleted: int = 0
    stripped: int = 0
