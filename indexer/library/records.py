"""The results of all actions, each declared once: for programs, for the terminal, in JSON and in Arrow tables.

To add a field, write it below, and its meaning in the docstring: a short phrase that begins with a capital and has no
final full stop. Nothing else declares it. `as_json` gives the object that --json prints; `Rows` of a class are a table
(of the columns in its `table` where people read it), arrays, Arrow and frames. A command with
`cls=Answering, answers="Clustering"` lists the members in its help, and `python docs/site/json_reference.py` writes its
section of docs/reference/json.md, which a test compares. A field is always in the answer: null, 0 or empty where there
is nothing to say. The id of a document is its name for every command and every method.
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
        index: In a store of several indices the one that it is in, else empty
        routing: Its routing value in the engine; null for none
        hash: Its simhash in base32; null if it has no words
        hex: The simhash as 16 hexadecimal digits; null if it has no words
        tokens: The number of its words
        short: True if it has too few words to be compared, so that it is left out of answers
        source: The path or URL that it came from
        container: The file with many documents that it was read from, where `source` is an address of its own
        title: Its title
        format: Its format
        extractor: The extractor that gave the text
        bytes: Its size
        source_digest: A digest of what the fingerprint was made from
        text_digest: A digest of the text, equal for texts that differ only in case and white space
        read_digest: The same of all that was read, also of the title, page margins, form values and navigation
        indexed_at: When its record was made; ISO 8601 in UTC
        first_indexed_at: When the document first came; ISO 8601 in UTC
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
        is_canonical: True for the document that represents the cluster
        similarity: The similarity (0 to 1) to the canonical document
        size_class: The class of the cluster's size, empty for a document that is alone
        repeats: For a document that could be removed, the kept one that it repeats; else null
        repeats_similarity: The similarity (0 to 1) to that one; else null
        relation: How its text stands to that one: "identical", "reflowed", "noise", "form", "reworded", "edited",
            "contains" or "part", "unverified" if a text could not be read; "identical" too if it differs from that one
            and equals another one that stays; null if it is not known
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
        why: Why it is not in the text
        text: Its words
    """

    kind: str
    why: str
    text: str


@dataclass(frozen=True, slots=True)
class Described(Stored):
    """A stored document, as `show` prints it; other commands include what comes before `cluster`.

    Attributes:
        cluster: Its place in a cluster; null if none is noted, as of a document that is alone in a file's store
        duplicate_of: The kept document that it repeats, if prune has marked it; else empty
        ordinal: Its place among the versions of the same work, from 1, the oldest; null if there are none, or their
            order is unknown
        is_latest: True if no newer version of it is known
        left_out: The parts that were left out of its text; empty unless `show` or get(left_out=True) reads it again
        notes: Remarks of the extractor, read again in the same way
        unread: Why the document could not be read again; else empty
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
    """A document that is asked about.

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
    """A fact in which two texts differ.

    Attributes:
        kind: "number", "date", "time", "amount", "code", "name", "negation", "sign", "word", "passage",
            "order of numbers" or "order of words"
        left: What the first text says; empty for nothing
        right: What the other one says; empty for nothing
    """

    kind: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Match(Stored):
    """A document that is near a query.

    Attributes:
        similarity: The similarity (0 to 1) by the measure of the rule
        near: True if it is near by the rule; false for what only --at-least lets in
        identical: True if the texts are known to be equal except for case and white space
        bits: How many of the 64 bits of the simhash differ; null if unknown
        label: "identical", "near", "close" or "loose"; by a rule of parts "contains", "contained in" or "shares"
        of_query: By a rule of parts or with --passages, how much of the query is in it (0 to 1); else null
        of_match: By a rule of parts or with --passages, how much of it is in the query (0 to 1); else null
        longest: Where the texts were aligned, the number of words of the longest passage in both; else null
        passages_total: With --passages, in how many passages the two texts agree; else null, or if it can't be read
        passages: With --passages, the longest 100 of these, in the order of the query; else empty
        relation: How the query's text stands to that of a near document: "identical", "reflowed", "noise", "form",
            "reworded", "edited", "contains" or "part"; empty where the texts were not compared
        evidence: What differs, in one line, or why the texts were not compared
        facts: Of a form, the facts that differ
        order: How the query stands in time to a near document: "newer", "older" or "unknown"
        order_confidence: How sure that is, 0 to 1; 0 if unknown
        order_evidence: Why; empty if unknown
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
        probes: How many keys are looked up at most; null for all keys of the text
        agreeing: In how many tables a key has to agree
        recall: The share (0 to 1) that is expected to be found of documents exactly as similar
        guaranteed: True if every document that is so similar is found, however common its keys are
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
        finders: What each of its finders looks up
        verifier: The part of the rule that verifies; null for none
    """

    rule: str
    finders: tuple[FinderPlan, ...]
    verifier: str | None


@dataclass(frozen=True, slots=True)
class Unread:
    """A document that could not be read again to verify it.

    Attributes:
        id: The name of the document
        reason: Why it could not be read
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Similar:
    """The answer about one of the documents that were asked about.

    Attributes:
        query: The document that was asked about
        rule: The match rule
        plan: What the rule looks up; null unless asked for with --explain
        total: How many documents are near, before --limit
        not_comparable: How many documents lack the sketch that the rule compares
        unread: The documents that could not be read again: to verify them, and so were left out, or for --passages
        matches: The documents that are near, the most similar first
        part: If nothing is near, a document that holds a part of it, or is a part of it; null for none, or if not asked
        part_rule: The rule of parts by which that was found; null for none
        set_aside: How many keys of the query were set aside, since very many documents hold them
        outdated: How many near documents were left out, since their texts were changed after they were fingerprinted
        error: Why it could not be asked about; null if it could
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
        """The name of the document that was asked about."""
        return self.query.name


@dataclass(frozen=True, slots=True)
class Hashed(Query):
    """The fingerprint of a document.

    Attributes:
        format: Its format; empty for a text
        scheme: With --scheme, the scheme with its parameters; else null
        sketch: With --scheme, its sketch, in the form for interchange if it has one; null if it has no features
        features: With --scheme, how many features the sketch was made from; else null
    """

    format: str
    scheme: str | None
    sketch: str | None
    features: int | None


@dataclass(frozen=True, slots=True)
class Uncompared:
    """The documents of a store that a rule does not compare.

    Attributes:
        empty: Documents without text
        short: Documents with too few words to be compared
        refused: Documents that could not be indexed
        not_comparable: Documents that lack the sketch that the rule compares
    """

    empty: int
    short: int
    refused: int
    not_comparable: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two documents that are near.

    Attributes:
        left: The name of the one
        right: The name of the other
        similarity: The similarity (0 to 1) by the measure of the rule
        bits: By a rule that counts bits, how many of the simhash differ; else null
        relation: With --relation, how the left text stands to the right: "identical", "reflowed", "noise", "form",
            "reworded", "edited", "contains" or "part"; else empty
        evidence: With --relation, what differs, in one line, or why the texts were not compared
        facts: With --relation, of a form, the facts that differ
        order: With --relation, how the left stands in time to the right: "newer", "older" or "unknown"; else empty
        order_confidence: How sure that is, 0 to 1; 0 if unknown
        order_evidence: Why; empty if unknown
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
        canonical: The document that represents it
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
        detail: What was wrong
        source: The path or URL that it came from
        failed_at: When it failed; ISO 8601 in UTC
    """

    id: str
    source: str
    reason: str
    detail: str
    failed_at: str


@dataclass(frozen=True, slots=True)
class SharedKey:
    """A key that so many documents have in common that comparing them is costly.

    Attributes:
        id: One of the documents
        scheme: The scheme of the key
        documents: How many different documents have it
        comparisons: How many comparisons they took
    """

    id: str
    scheme: str
    documents: int
    comparisons: int


@dataclass(frozen=True, slots=True)
class Written:
    """The changes that a clustering wrote, or would write in a dry run.

    Attributes:
        documents: Documents whose place changed
        clusters: Clusters that are new or changed
        removed: Clusters that were removed
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
        compared: Those that were compared
        not_comparable: Those that lack the sketch that the rule compares
        clusters: The clusters of two or more documents
        clustered: The documents in them
        largest: The documents in the largest
        split: The chains of near documents that were too wide and were split
        versions: The documents of which other versions are known, and in which order
        unordered: With the canonical rule newest or oldest, the clusters where the order is unknown, and the earliest
            document is the canonical one
        apart: With the relation form kept apart, the documents in clusters of their own since facts differ from those
            near them
        relations: The documents that could be removed, counted by how they stand to what they repeat: "identical",
            "reflowed", "noise", "form", "reworded", "edited", "contains", "part", "unverified", or
            empty where it is not known
        reading_seconds: How long it took to read their texts again and to align them; null where none had to be
        comparisons: The comparisons that were made
        costliest: The keys that cost most comparisons
        unread: The documents that could not be read again to verify them
        written: What was written, or would be in a dry run
        contended: Documents that others change constantly, left as they are
        changed: What of the rule, the bound, the canonical rule and the relation that is kept apart is not as in the
            last clustering, in words
        resting: Those of the five largest clusters that rest on passages; not looked for in a dry run
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
