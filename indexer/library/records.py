"""The results of all actions, each declared once: for programs, for the terminal, in JSON and in Arrow tables.

To add a field, write it below, and its meaning in the docstring: a short phrase with a capital and without a final full
stop. `as_json` gives the object printed by --json; `Rows` of a class are a table (of the columns in its `table` for
people), arrays, Arrow and frames. A command with `cls=Answering, answers="Clustering"` lists the members in its help,
and `python docs/site/json_reference.py` writes its section of docs/reference/json.md. A field is always in the answer:
null, 0 or empty if there is nothing to say. The id of a document is its name for every command and every method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from indexer.errors import NeardupError
from indexer.library.resting import RestingCluster
from indexer.library.rows import Rows, Shown
from indexer.text.excerpts import Excerpt


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored document.

    Attributes:
        id: The name of the document: its id; in a store of several indices INDEX/ID, with ?routing=VALUE if it has one
        index: In a store of several indices its index, else empty
        routing: Its routing value in the engine; null for none
        hash: Its simhash in base32; null if it has no words
        hex: The simhash as 16 hexadecimal digits; null if it has no words
        tokens: The number of its words
        short: True if it has too few words to be compared and is left out of answers
        source: Its path or URL
        container: The file with many documents it was read from, if `source` is an address of its own
        title: Its title
        format: Its format
        extractor: The extractor of the text
        bytes: Its size
        source_digest: A digest of the fingerprint's input
        text_digest: A digest of the text, equal for texts with other case and white space
        read_digest: The same of everything read, also of the title, page margins, form values and navigation
        indexed_at: The time of its record; ISO 8601 in UTC
        first_indexed_at: The time the document first came; ISO 8601 in UTC
        metadata: The other fields of its row or line
    """

    table: ClassVar[tuple[str, ...]] = ("id", "title", "source", "format", "tokens", "bytes", "indexed_at", "metadata")

    id: str
    index: str
    routing: str | None
    hash: str | None
    hex: str | None
    tokens: int
    short: bool
    source: str
    container: str
    title: str
    format: str
    extractor: str
    bytes: int
    source_digest: str
    text_digest: str
    read_digest: str
    indexed_at: str
    first_indexed_at: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Membership:
    """A document's place in a cluster.

    Attributes:
        id: The id of the cluster
        is_canonical: True for the document representing the cluster
        similarity: The similarity (0 to 1) to the canonical document
        size_class: The class of the cluster's size, empty for a single document
        repeats: For a removable document, the kept one it repeats; else null
        repeats_similarity: The similarity (0 to 1) to the kept one; else null
        relation: The relation of its text to the kept one's: "identical", "reflowed", "noise", "rendition", "form",
            "reworded", "edited", "contains" or "part", "unverified" if a text could not be read; also "identical" if it
            differs from the kept one and equals another kept one; null if unknown
    """

    id: str
    is_canonical: bool
    similarity: float
    size_class: str
    repeats: str | None
    repeats_similarity: float | None
    relation: str | None


@dataclass(frozen=True, slots=True)
class OmittedPart:
    """A part of a document beside its text.

    Attributes:
        kind: The kind of part, such as "footer" or "page margin"
        why: The reason why it is not in the text
        text: Its words
    """

    kind: str
    why: str
    text: str


@dataclass(frozen=True, slots=True)
class Described(Stored):
    """A stored document, as `show` prints it; other commands include the members before `cluster`.

    Attributes:
        cluster: Its place in a cluster; null if none is noted, as for a single document in a file's store
        duplicate_of: The kept document it repeats, if prune has marked it; else empty
        ordinal: Its place among the versions of the same work, from 1, the oldest; null if there are none, or their
            order is unknown
        is_latest: True if no newer version of it is known
        left_out: The parts left out of its text; empty unless `show` or get(left_out=True) reads it again
        notes: Remarks of the extractor, read again in the same way
        unread: The reason why the document could not be read again; else empty
    """

    cluster: Membership | None
    duplicate_of: str
    ordinal: int | None
    is_latest: bool
    left_out: tuple[OmittedPart, ...] = ()
    notes: tuple[str, ...] = ()
    unread: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """A document asked about.

    Attributes:
        name: Its path or id; a text without an id is called "the text"
        title: Its title
        hash: Its simhash in base32; null if it has no words
        hex: The simhash as 16 hexadecimal digits; null if it has no words
        tokens: The number of its words
    """

    name: str
    title: str
    hash: str | None
    hex: str | None
    tokens: int


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that differs in two texts.

    Attributes:
        kind: "number", "date", "time", "amount", "code", "name", "negation", "sign", "word", "passage", "order of
            numbers" or "order of words"
        left: The fact in the first text; empty for nothing
        right: The fact in the other one; empty for nothing
    """

    kind: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Match(Stored):
    """A document near a query.

    Attributes:
        similarity: The similarity (0 to 1) by the measure of the rule
        near: True if it is near by the rule; false if only --at-least lets it in
        identical: True if the texts are known to be equal except for case and white space
        bits: The number of differing bits of the simhash's 64; null if unknown
        label: "identical", "near", "close" or "loose"; by a rule of parts "contains", "contained in" or "shares"
        of_query: By a rule of parts or with --passages, the share of the query in it (0 to 1); else null
        of_match: By a rule of parts or with --passages, its share in the query (0 to 1); else null
        longest: After an alignment, the number of words of the longest passage in both; else null
        passages_total: With --passages, the number of common passages of the two texts; else null, or if it can't be
            read
        passages: With --passages, the longest 100 of these, in the order of the query; else empty
        relation: The relation of the query's text to that of a near document: "identical", "reflowed", "noise",
            "rendition", "form", "reworded", "edited", "contains" or "part"; empty if the texts were not compared
        evidence: The difference, in one line, or the reason why the texts were not compared
        facts: Of a form, the differing facts
        order: The query's place in time: "newer" or "older" than a near document, or "unknown"
        order_confidence: The confidence in the order, 0 to 1; 0 if unknown
        order_evidence: The reason; empty if unknown
    """

    table: ClassVar[tuple[str, ...]] = (
        *("id", "similarity", "of_query", "of_match", "bits", "label", "relation", "order", "title", "source"),
        "metadata",
    )

    similarity: float
    near: bool
    identical: bool
    bits: int | None
    label: str
    of_query: float | None
    of_match: float | None
    longest: int | None
    passages_total: int | None
    passages: tuple[Excerpt, ...]
    relation: str
    evidence: str
    facts: tuple[Fact, ...]
    order: str
    order_confidence: float
    order_evidence: str


@dataclass(frozen=True, slots=True)
class FinderPlan:
    """The lookup of one finder of a rule.

    Attributes:
        scheme: The scheme with its parameters
        measure: The measure of its similarities
        similarity: The least similarity (0 to 1)
        probes: The most keys to look up; null for all keys of the text
        agreeing: The number of tables with an equal key needed
        recall: The expected share found (0 to 1) of documents exactly as similar
        guaranteed: True if every document so similar is found, however common its keys are
        explanation: The same in words
    """

    scheme: str
    measure: str
    similarity: float
    probes: int | None
    agreeing: int
    recall: float
    guaranteed: bool
    explanation: str


@dataclass(frozen=True, slots=True)
class RulePlan:
    """The lookups of a rule.

    Attributes:
        rule: The match rule with all parameters
        finders: The lookup of each of its finders
        verifier: The verifying part of the rule; null for none
    """

    rule: str
    finders: tuple[FinderPlan, ...]
    verifier: str | None


@dataclass(frozen=True, slots=True)
class Unread:
    """A document that could not be read again to verify it.

    Attributes:
        id: The name of the document
        reason: The reason
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Similar:
    """The answer about one document asked about.

    Attributes:
        query: The document asked about
        rule: The match rule
        plan: The lookups of the rule; null unless asked for with --explain
        total: The number of near documents, before --limit
        not_comparable: The number of documents without a sketch for the rule
        unread: The documents that could not be read again: left out for lack of verification, or without passages
        matches: The near documents, the most similar first
        part: If nothing is near, a document with a part of it, or a part of it; null for none, or if not asked
        part_rule: The rule of parts for it; null for none
        set_aside: The number of the query's keys set aside because very many documents have them
        outdated: The number of near documents left out because their texts changed after the fingerprint
        error: The reason why it could not be asked about; null if it could
    """

    query: Query
    rule: str
    plan: RulePlan | None
    total: int
    not_comparable: int
    unread: tuple[Unread, ...]
    matches: Rows[Match]
    part: Match | None = None
    part_rule: str | None = None
    set_aside: int = 0
    outdated: int = 0
    error: NeardupError | None = None

    @property
    def name(self) -> str:
        """The name of the document asked about."""
        return self.query.name


@dataclass(frozen=True, slots=True)
class Hashed(Query):
    """The fingerprint of a document.

    Attributes:
        format: Its format; empty for a text
        scheme: With --scheme, the scheme with its parameters; else null
        sketch: With --scheme, its sketch, in the form for interchange if it has one; null if it has no features
        features: With --scheme, the number of features in the sketch; else null
    """

    format: str
    scheme: str | None
    sketch: str | None
    features: int | None


@dataclass(frozen=True, slots=True)
class Uncompared:
    """The documents of a store a rule does not compare.

    Attributes:
        empty: Documents without text
        short: Documents with too few words to be compared
        refused: Documents that could not be indexed
        not_comparable: Documents without a sketch for the rule
    """

    empty: int
    short: int
    refused: int
    not_comparable: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two near documents.

    Attributes:
        left: The name of the one
        right: The name of the other
        similarity: The similarity (0 to 1) by the measure of the rule
        bits: By a rule that counts bits, the number of differing bits of the simhash; else null
        relation: With --relation, the relation of the left text to the right: "identical", "reflowed", "noise",
            "rendition", "form", "reworded", "edited", "contains" or "part"; else empty
        evidence: With --relation, the difference, in one line, or the reason why the texts were not compared
        facts: With --relation, of a form, the differing facts
        order: With --relation, the left's place in time: "newer" or "older" than the right, or "unknown"; else empty
        order_confidence: The confidence in the order, 0 to 1; 0 if unknown
        order_evidence: The reason; empty if unknown
    """

    table: ClassVar[tuple[str, ...]] = ("left", "right", "similarity", "bits", "relation", "evidence", "order")

    left: str
    right: str
    similarity: float
    bits: int | None = None
    relation: str = ""
    evidence: str = ""
    facts: tuple[Fact, ...] = ()
    order: str = ""
    order_confidence: float = 0.0
    order_evidence: str = ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Documents that belong together.

    Attributes:
        id: The id of the cluster
        size: The number of its documents
        canonical: The document representing it
        members: Its documents, the canonical one first
        similarities: The similarities (0 to 1) of the members to the canonical one
    """

    id: str
    size: int
    canonical: str
    members: tuple[str, ...]
    similarities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FailedDocument:
    """A document that could not be indexed.

    Attributes:
        id: The name of the document
        reason: The reason, a short fixed word
        detail: The problem
        source: Its path or URL
        failed_at: The time of the failure; ISO 8601 in UTC
    """

    id: str
    source: str
    reason: str
    detail: str
    failed_at: str


@dataclass(frozen=True, slots=True)
class SharedKey:
    """A key so many documents have in common that comparing them is costly.

    Attributes:
        id: One of the documents
        scheme: The scheme of the key
        documents: The number of different documents with it
        comparisons: The number of comparisons for it
    """

    id: str
    scheme: str
    documents: int
    comparisons: int


@dataclass(frozen=True, slots=True)
class Written:
    """The changes written by a clustering, or to be written after a dry run.

    Attributes:
        documents: Documents in another place
        clusters: New or changed clusters
        removed: Removed clusters
    """

    documents: int
    clusters: int
    removed: int


@dataclass(frozen=True, slots=True, repr=False)
class Clustering(Shown):
    """The result of a clustering.

    Attributes:
        rule: The match rule
        documents: The documents of the store
        compared: The documents compared
        not_comparable: The documents without a sketch for the rule
        clusters: The clusters of two or more documents
        clustered: The documents in them
        largest: The documents in the largest
        split: The chains of near documents too wide and therefore split
        versions: The documents with other versions in a known order
        unordered: With the canonical rule newest or oldest, clusters of unknown order, with the earliest document as
            the canonical one
        apart: With the relation form kept apart, the documents in clusters of their own for their different facts
        relations: The removable documents, counted by their relation to the repeated one: "identical", "reflowed",
            "noise", "rendition", "form", "reworded", "edited", "contains", "part", "unverified", or empty if unknown
        reading_seconds: The time to read their texts again and to align them; null if there was none
        comparisons: The comparisons made
        costliest: The keys with most comparisons
        unread: The documents that could not be read again for verification
        written: The changes written, or to be written after a dry run
        contended: Documents left as they are because others change them constantly
        changed: The differences from the last clustering in rule, bound, canonical rule and relation kept apart, in
            words
        resting: Those of the five largest clusters held together by passages; not looked for in a dry run
        dry_run: True if nothing was written
    """

    rule: str
    documents: int
    compared: int
    not_comparable: int
    clusters: int
    clustered: int
    largest: int
    split: int
    versions: int
    unordered: int
    apart: int
    relations: Mapping[str, int]
    reading_seconds: float | None = field(repr=False)
    comparisons: int = field(repr=False)
    costliest: tuple[SharedKey, ...] = field(repr=False)
    unread: tuple[Unread, ...] = field(repr=False)
    written: Written = field(repr=False)
    contended: int
    changed: str
    resting: tuple[RestingCluster, ...] = field(repr=False)
    dry_run: bool
