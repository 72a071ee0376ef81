"""The results of all actions, each declared once: for programs, for the terminal, in JSON and in Arrow tables.

To add a field, write it below, with its meaning beside its type: a short phrase with a capital and without a final full
stop. `as_json` gives the object printed by --json; `Rows` of a class are a table (of the columns in its `table` for
people), arrays, Arrow and frames. A command with `cls=Answering, answers="Clustering"` lists the members in its help,
and `python docs/site/json_reference.py` writes its section of docs/reference/json.md. A field is always in the answer:
null, 0 or empty if there is nothing to say. The id of a document is its name for every command and every method.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from indexer.errors import NeardupError
from indexer.library.rows import Rows, Shown
from indexer.model.counts import ClusterCounts
from indexer.text.excerpts import Excerpt

if TYPE_CHECKING:
    from indexer.clustering.common_passages import ClusterOnPassages


WORDS = '"identical", "reflowed", "noise", "rendition", "form", "reworded", "edited", "contains" or "part"'
"""The relations of texts."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored document."""

    table: ClassVar[tuple[str, ...]] = ("id", "title", "source", "format", "tokens", "bytes", "indexed_at", "metadata")

    id: Annotated[str, "The name of the document: its id; in a store of several indices INDEX/ID, with ?routing=VALUE "
        "if it has one"]  # fmt: skip
    index: Annotated[str, "In a store of several indices its index, else empty"]
    routing: Annotated[str | None, "Its routing value in the engine; null for none"]
    hash: Annotated[str | None, "Its simhash in base32; null if it has no words"]
    hex: Annotated[str | None, "The simhash as 16 hexadecimal digits; null if it has no words"]
    tokens: Annotated[int, "The number of its words"]
    short: Annotated[bool, "True if it has too few words to be compared and is left out of answers"]
    source: Annotated[str, "Its path or URL"]
    container: Annotated[str, "The file with many documents it was read from, if `source` is an address of its own"]
    title: Annotated[str, "Its title"]
    format: Annotated[str, "Its format"]
    extractor: Annotated[str, "The extractor of the text"]
    bytes: Annotated[int, "Its size"]
    source_digest: Annotated[str, "A digest of the fingerprint's input"]
    text_digest: Annotated[str, "A digest of the text, equal for texts with other case and white space"]
    read_digest: Annotated[str, "The same of everything read, also of the title, page margins, form values and "
        "navigation"]  # fmt: skip
    indexed_at: Annotated[str, "The time of its record; ISO 8601 in UTC"]
    first_indexed_at: Annotated[str, "The time the document first came; ISO 8601 in UTC"]
    metadata: Annotated[Mapping[str, Any], "The other fields of its row or line"]


@dataclass(frozen=True, slots=True)
class Membership:
    """A document's place in a cluster."""

    id: Annotated[str, "The id of the cluster"]
    is_canonical: Annotated[bool, "True for the document representing the cluster"]
    similarity: Annotated[float, "The similarity (0 to 1) to the canonical document"]
    size_class: Annotated[str, "The class of the cluster's size, empty for a single document"]
    repeats: Annotated[str | None, "For a removable document, the kept one it repeats; else null"]
    repeats_similarity: Annotated[float | None, "The similarity (0 to 1) to the kept one; else null"]
    relation: Annotated[str | None, f'The relation of its text to the kept one\'s: {WORDS}, "unverified" if a text '
        'could not be read; also "identical" if it differs from the kept one and equals another kept one; null if '
        'unknown']  # fmt: skip
    relation_to: Annotated[str | None, "The document of this relation, if it is not the repeated or canonical one; "
        "else null"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class OmittedPart:
    """A part of a document beside its text."""

    kind: Annotated[str, 'The kind of part, such as "footer" or "page margin"']
    why: Annotated[str, "The reason why it is not in the text"]
    text: Annotated[str, "Its words"]


@dataclass(frozen=True, slots=True)
class Described(Stored):
    """A stored document, as `show` prints it; other commands include the members before `cluster`."""

    cluster: Annotated[Membership | None, "Its place in a cluster; null if none is noted, as for a single document in "
        "a file's store"]  # fmt: skip
    duplicate_of: Annotated[str, "The kept document it repeats, if prune has marked it; else empty"]
    ordinal: Annotated[int | None, "Its place among the versions of the same work, from 1, the oldest; null if there "
        "are none, or their order is unknown"]  # fmt: skip
    is_latest: Annotated[bool, "True if no newer version of it is known"]
    left_out: Annotated[tuple[OmittedPart, ...], "The parts left out of its text; empty unless `show` or "
        "get(left_out=True) reads it again"] = ()  # fmt: skip
    notes: Annotated[tuple[str, ...], "Remarks of the extractor, read again in the same way"] = ()
    unread: Annotated[str, "The reason why the document could not be read again; else empty"] = ""


@dataclass(frozen=True, slots=True)
class Query:
    """A document asked about."""

    name: Annotated[str, 'Its path or id; a text without an id is called "the text"']
    title: Annotated[str, "Its title"]
    hash: Annotated[str | None, "Its simhash in base32; null if it has no words"]
    hex: Annotated[str | None, "The simhash as 16 hexadecimal digits; null if it has no words"]
    tokens: Annotated[int, "The number of its words"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that differs in two texts."""

    kind: Annotated[str, '"number", "date", "time", "amount", "code", "name", "negation", "sign", "word", "passage", '
        '"order of numbers" or "order of words"']  # fmt: skip
    left: Annotated[str, "The fact in the first text; empty for nothing"]
    right: Annotated[str, "The fact in the other one; empty for nothing"]


@dataclass(frozen=True)
class RelatedTo:
    """The relation of a text to another one, and their order in time."""

    __slots__ = ()

    relation: Annotated[str, f"The relation of the first text, or of the query's, to the other one: {WORDS}; empty if "
        "it was not asked for, or is unknown"] = ""  # fmt: skip
    evidence: Annotated[str, "The difference, in one line, or the reason why there is no relation"] = ""
    facts: Annotated[tuple[Fact, ...], "Of a form, the differing facts"] = ()
    order: Annotated[str, 'The place in time of the first text, or of the query: "newer" or "older" than the other, '
        'or "unknown"; empty if it was not looked for'] = ""  # fmt: skip
    order_confidence: Annotated[float, "The confidence in the order, 0 to 1; 0 if unknown"] = 0.0
    order_evidence: Annotated[str, "The reason; empty if unknown"] = ""


@dataclass(frozen=True, slots=True)
class NearStored(Stored):
    """A stored document near another one."""

    similarity: Annotated[float, "The similarity (0 to 1) by the measure of the rule"]
    near: Annotated[bool, "True if it is near by the rule; false if only --at-least lets it in"]
    identical: Annotated[bool, "True if the texts are known to be equal except for case and white space"]
    bits: Annotated[int | None, "The number of differing bits of the simhash's 64; null if unknown"]
    label: Annotated[str, '"identical", "near", "close" or "loose"; by a rule of parts "contains", "contained in" or '
        '"shares"']  # fmt: skip
    of_query: Annotated[float | None, "By a rule of parts or with --passages, the share of the query in it (0 to 1); "
        "else null"]  # fmt: skip
    of_match: Annotated[float | None, "By a rule of parts or with --passages, its share in the query (0 to 1); else "
        "null"]  # fmt: skip
    longest: Annotated[int | None, "After an alignment, the number of words of the longest passage in both; else null"]
    passages_total: Annotated[int | None, "With --passages, the number of common passages of the two texts; else null, "
        "or if it can't be read"]  # fmt: skip
    passages: Annotated[tuple[Excerpt, ...], "With --passages, the longest 100 of these, in the order of the query; "
        "else empty"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Match(RelatedTo, NearStored):
    """A document near a query."""

    table: ClassVar[tuple[str, ...]] = (
        *("id", "similarity", "of_query", "of_match", "bits", "label", "relation", "order", "title", "source"),
        "metadata",
    )


@dataclass(frozen=True, slots=True)
class FinderPlan:
    """The lookup of one finder of a rule."""

    scheme: Annotated[str, "The scheme with its parameters"]
    measure: Annotated[str, "The measure of its similarities"]
    similarity: Annotated[float, "The least similarity (0 to 1)"]
    probes: Annotated[int | None, "The most keys to look up; null for all keys of the text"]
    agreeing: Annotated[int, "The number of tables with an equal key needed"]
    recall: Annotated[float, "The expected share found (0 to 1) of documents exactly as similar"]
    guaranteed: Annotated[bool, "True if every document so similar is found, however common its keys are"]
    explanation: Annotated[str, "The same in words"]


@dataclass(frozen=True, slots=True)
class RulePlan:
    """The lookups of a rule."""

    rule: Annotated[str, "The match rule with all parameters"]
    finders: Annotated[tuple[FinderPlan, ...], "The lookup of each of its finders"]
    verifier: Annotated[str | None, "The verifying part of the rule; null for none"]


@dataclass(frozen=True, slots=True)
class Unread:
    """A document that could not be read again to verify it."""

    id: Annotated[str, "The name of the document"]
    reason: Annotated[str, "The reason"]


@dataclass(frozen=True, slots=True)
class Similar:
    """The answer about one document asked about."""

    query: Annotated[Query, "The document asked about"]
    rule: Annotated[str, "The match rule"]
    plan: Annotated[RulePlan | None, "The lookups of the rule; null unless asked for with --explain"]
    total: Annotated[int, "The number of near documents, before --limit"]
    not_comparable: Annotated[int, "The number of documents without a sketch for the rule"]
    unread: Annotated[tuple[Unread, ...], "The documents that could not be read again: left out for lack of "
        "verification, or without passages"]  # fmt: skip
    matches: Annotated[Rows[Match], "The near documents, the most similar first"]
    part: Annotated[Match | None, "If nothing is near, a document with a part of it, or a part of it; null for none, "
        "or if not asked"] = None  # fmt: skip
    part_rule: Annotated[str | None, "The rule of parts for it; null for none"] = None
    set_aside: Annotated[int, "The number of the query's keys set aside because very many documents have them"] = 0
    outdated: Annotated[int, "The number of near documents left out because their texts changed after the "
        "fingerprint"] = 0  # fmt: skip
    error: Annotated[NeardupError | None, "The reason why it could not be asked about; null if it could"] = None

    @property
    def name(self) -> str:
        """The name of the document asked about."""
        return self.query.name


@dataclass(frozen=True, slots=True)
class Hashed(Query):
    """The fingerprint of a document."""

    format: Annotated[str, "Its format; empty for a text"]
    scheme: Annotated[str | None, "With --scheme, the scheme with its parameters; else null"]
    sketch: Annotated[str | None, "With --scheme, its sketch, in the form for interchange if it has one; null if it "
        "has no features"]  # fmt: skip
    features: Annotated[int | None, "With --scheme, the number of features in the sketch; else null"]


@dataclass(frozen=True, slots=True)
class Uncompared:
    """The documents of a store a rule does not compare."""

    empty: Annotated[int, "Documents without text"]
    short: Annotated[int, "Documents with too few words to be compared"]
    refused: Annotated[int, "Documents that could not be indexed"]
    not_comparable: Annotated[int, "Documents without a sketch for the rule"]


@dataclass(frozen=True, slots=True)
class PairNamed:
    """Two documents and their similarity."""

    left: Annotated[str, "The name of the one"]
    right: Annotated[str, "The name of the other"]
    similarity: Annotated[float, "The similarity (0 to 1) by the measure of the rule"]
    bits: Annotated[int | None, "By a rule that counts bits, the number of differing bits of the simhash; else "
        "null"] = None  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair(RelatedTo, PairNamed):
    """Two near documents; their relation and order are empty unless asked for with --relation."""

    table: ClassVar[tuple[str, ...]] = ("left", "right", "similarity", "bits", "relation", "evidence", "order")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Documents that belong together."""

    id: Annotated[str, "The id of the cluster"]
    size: Annotated[int, "The number of its documents"]
    canonical: Annotated[str, "The document representing it"]
    members: Annotated[tuple[str, ...], "Its documents, the canonical one first"]
    similarities: Annotated[tuple[float, ...], "The similarities (0 to 1) of the members to the canonical one"]


@dataclass(frozen=True, slots=True)
class FailedDocument:
    """A document that could not be indexed."""

    id: Annotated[str, "The name of the document"]
    source: Annotated[str, "Its path or URL"]
    reason: Annotated[str, "The reason, a short fixed word"]
    detail: Annotated[str, "The problem"]
    failed_at: Annotated[str, "The time of the failure; ISO 8601 in UTC"]


@dataclass(frozen=True, slots=True)
class SharedKey:
    """A key so many documents have in common that comparing them is costly."""

    id: Annotated[str, "One of the documents"]
    scheme: Annotated[str, "The scheme of the key"]
    documents: Annotated[int, "The number of different documents with it"]
    comparisons: Annotated[int, "The number of comparisons for it"]


@dataclass(frozen=True, slots=True)
class Written:
    """The changes written by a clustering, or to be written after a dry run."""

    documents: Annotated[int, "Documents in another place"]
    clusters: Annotated[int, "New or changed clusters"]
    removed: Annotated[int, "Removed clusters"]


@dataclass(repr=False, kw_only=True)
class OfRule(Shown):
    """A result of a match rule."""

    rule: Annotated[str, "The match rule"]


@dataclass(repr=False, kw_only=True)
class Clustering(ClusterCounts, OfRule):
    """The result of a clustering."""

    documents: Annotated[int, "The documents of the store"]
    compared: Annotated[int, "The documents compared"]
    not_comparable: Annotated[int, "The documents without a sketch for the rule"]
    versions: Annotated[int, "The documents with other versions in a known order"]
    apart: Annotated[int, "With the relation form kept apart, the documents in clusters of their own for their "
        "different facts"]  # fmt: skip
    relations: Annotated[Mapping[str, int], f'The removable documents, counted by their relation to the repeated one: '
        f'{WORDS}, "unverified", or empty if unknown']  # fmt: skip
    reading_seconds: Annotated[float | None, "The time to read their texts again and to align them; null if there was "
        "none"] = field(repr=False)  # fmt: skip
    costliest: Annotated[tuple[SharedKey, ...], "The keys with most comparisons"] = field(repr=False)
    unread: Annotated[tuple[Unread, ...], "The documents that could not be read again for "
        "verification"] = field(repr=False)  # fmt: skip
    written: Annotated[Written, "The changes written, or to be written after a dry run"] = field(repr=False)
    contended: Annotated[int, "Documents left as they are because others change them constantly"]
    changed: Annotated[str, "The differences from the last clustering in rule, bound, canonical rule and relation kept "
        "apart, in words"]  # fmt: skip
    resting: Annotated[tuple[RestingCluster, ...], "Those of the five largest clusters held together by passages; not "
        "looked for in a dry run"] = field(repr=False)  # fmt: skip
    dry_run: Annotated[bool, "True if nothing was written"]


@dataclass(frozen=True, slots=True)
class RestingCluster:
    """A cluster of documents near for passages of many documents, such as a menu or a licence."""

    table: ClassVar[tuple[str, ...]] = ("documents", "share", "words", "held_by", "cluster", "text")

    cluster: Annotated[str, "The id of the cluster"]
    documents: Annotated[int, "The number of its documents"]
    share: Annotated[float, "The share of a document's words (0.5 to 0.95) in passages common to half of them, and ten "
        "documents"]  # fmt: skip
    words: Annotated[int, "The words of the longest of these passages"]
    held_by: Annotated[int, "The number of documents read with the longest one"]
    text: Annotated[str, "The text of the longest one"]


def resting_rows(found: Iterable[ClusterOnPassages]) -> list[RestingCluster]:
    """The clusters as results, the largest first."""
    made = [
        RestingCluster(
            one.id, one.size, round(one.share, 6), one.passage.words, one.passage.documents, one.passage.text
        )
        for one in found
    ]
    return sorted(made, key=lambda row: (-row.documents, row.cluster))
