"""The results of a collection: small records of plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from indexer.errors import NeardupError
from indexer.library.rows import Rows, Shown


@dataclass(frozen=True, slots=True)
class Stored:
    """A document of a collection.

    `tokens` is the number of tokens of the fingerprint (`short` if they are too few, so that it is left out of
    answers), `size` is in bytes, `indexed_at` ISO 8601 in UTC. `cluster` is the id of its cluster, and `duplicate_of`
    the canonical document if `Collection.prune` has marked it.
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

    `bits` is how many bits of simhash-doc differ, None if unknown. `label` is "identical", "near", "close" or "loose",
    or empty for a document that only `at_least` lets in; by a rule of parts "contains", "contained in" or "shares".
    `shares` are then how much of the question is in the document, and of the document in the question.
    """

    id: str
    similarity: float
    bits: int | None
    label: str
    title: str
    source: str
    metadata: Mapping[str, Any]
    shares: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Similar:
    """The `matches` of one of many documents, or the `error` why it could not be asked about.

    `name` is its id or path; a text without an id is called "the text".
    """

    name: str
    matches: Rows[Match]
    error: NeardupError | None = None


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
    """A document that `repeats` a kept one; `kept` says why it is kept, and is empty if it is not.

    `similarity` (0 to 1) is computed again, and below 0 if unknown; `identical` texts differ at most in case and white
    space. `differs` names the other fields of its owner's for which it is kept.
    """

    id: str
    repeats: str
    similarity: float
    identical: bool
    kept: str
    title: str
    source: str
    cluster: str
    differs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Indexed(Shown):
    """The outcome of adding documents to a collection; each is counted in exactly one of the first six.

    `failed` counts by reason, `failed_before` were not tried because they failed before and have not changed, and
    `duplicates` were left out on request. Of the stored documents, `short` have too few tokens and `empty` none; `new`
    had no near-duplicate on arrival and `near` had one, if that was looked up.
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
        """The number of documents processed."""
        counted = self.indexed + self.replaced + self.unchanged + self.failed_before + self.duplicates
        return counted + sum(self.failed.values())


@dataclass(frozen=True, slots=True, repr=False)
class Clustering(Shown):
    """The result of a clustering by `rule`: of `documents`, `compared` were compared, and `lacking` could not be.

    There are `clusters` clusters of two or more documents, `clustered` documents in all, `largest` in the largest;
    `split` chains were split. `written` documents changed, or would change in a dry run. `changed` says what of the
    rule, the bound and the canonical rule is not as in the last clustering.
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
    changed: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Pruned(Shown):
    """The result of `Collection.prune`: how many documents were `marked`, `unmarked` and `deleted`.

    `stripped` documents belong to an owner: they stay and only lose neardup's fields. `surplus` is filled only in a
    dry run.
    """

    surplus: Rows[Surplus] = field(repr=False)
    marked: int = 0
    unmarked: int = 0
    deleted: int = 0
    stripped: int = 0


@dataclass(frozen=True, slots=True)
class Copy:
    """A document that was named, or a copy of the one in `copy_of`: `similarity` (0 to 1), or `identical` in text.

    `outcome` is "deleted", "stripped" (an owner's, which stays and loses neardup's fields), "changed" (so that it was
    left) or, in a dry run, "listed". `left` is the file or document that still holds the text, empty if none is known.
    """

    id: str
    copy_of: str
    similarity: float
    identical: bool
    outcome: str
    left: str
    title: str
    source: str


@dataclass(frozen=True, slots=True, repr=False)
class Erased(Shown):
    """The result of `Collection.delete_copies`: counts of `documents` by what became of them.

    Copies may be among the `not_compared` documents, which are stored without text or sketch, and among the `failures`,
    which could not be stored or were left out.
    """

    documents: Rows[Copy] = field(repr=False)
    deleted: int
    stripped: int
    changed: int
    not_compared: int
    failures: int
