"""The records all packages share: documents, fingerprints, sketches, identities, clusters; plain, frozen, slotted."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, unquote

from indexer.errors import UsageError
from indexer.model.mails import mail_head, may_be_one_mail
from indexer.model.times import in_order

SIMHASH_DOC = "simhash-doc"
SHORT_IDS: Mapping[str, str] = MappingProxyType({SIMHASH_DOC: "sd1"})
SCHEMES_BY_SHORT_ID: Mapping[str, str] = MappingProxyType({short: scheme for scheme, short in SHORT_IDS.items()})

# In JSON lines: why a store refused the document. It is no metadata of the document's.
REASON_KEY = "neardup_reason"
# In metadata: what a page declares its canonical URL to be, as it is written there.
CANONICAL_URL = "canonical_url"
# The same: what a document says of its own version, as `indexer.extract.declared` finds it.
DECLARED = "declared"

# As in the engines' own requests, so that it can be pasted into one.
_ROUTING = "?routing="

CLOSE_DISTANCE = 1
LOOSE_DISTANCE = 6
DEFAULT_MIN_TOKENS = 20
"""Documents of fewer words are short, unless a store is made with another number."""
DEFAULT_DISTANCE = 3


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """The identity of a stored document: its id, its index, and its routing value.

    An embedded store has one unnamed index and no routing.
    """

    id: str
    index: str = ""
    routing: str | None = None


def name_of(ref: Ref) -> str:
    """An identity as users write it: the id, or INDEX/ID, with ?routing=VALUE (percent-encoded) if it has one."""
    name = f"{ref.index}/{ref.id}" if ref.index else ref.id
    return name if ref.routing is None else name + _ROUTING + quote(ref.routing, safe="")


def naming(name: str, ref: Ref, other: Ref) -> dict[str, str]:
    """The fields in which the annotation `cluster` of `ref` names another document; `name` begins their names."""
    fields = {name: other.id} | ({f"{name}_index": other.index} if other.index != ref.index else {})
    return fields if other.routing is None else {**fields, f"{name}_routing": other.routing}


def named_ref(name: str, ref: Ref, fields: Mapping[str, Any]) -> Ref | None:
    """The document that such fields name."""
    if not isinstance(id_ := fields.get(name), str):
        return None
    return Ref(id_, fields.get(f"{name}_index", ref.index), fields.get(f"{name}_routing"))


def readings_of(name: str) -> list[Ref]:
    """The identities a name may mean, first the one with the whole name as its id.

    Index "" and routing None stand for any; routing "" stands for none.
    """
    front, mark, routing = name.rpartition(_ROUTING)
    readings = []
    for form, value in ((name, None), *([(front, unquote(routing))] if mark else [])):
        index, slash, rest = form.partition("/")
        readings += [Ref(form, "", value)] + ([Ref(rest, index, value)] if slash and index and rest else [])
    return readings


@dataclass(frozen=True, slots=True)
class Document:
    r"""The text of one document and its source.

    In `text`, "\n" ends a block (a heading, a paragraph, a list item, a row), "\t" a cell, and "\f" a page. `format` is
    one of `neardup.extract.formats.Format` or of a plug-in; `extractor` names the extractor and its version; `content`
    is the content mode used ("landmarks", "full" or "main"); `size` is the number of input bytes; `notes` are remarks
    of the extractor for the user; `pages` are the first characters of a PDF's pages in the text; `left_out` are parts
    read but not in the text, each with its kind, such as "footer"; `declared` is the document's own account of its
    version, see `neardup.extract.declared`.
    """

    text: str
    title: str = ""
    format: str = "text"
    extractor: str = ""
    content: str = "landmarks"
    size: int = 0
    notes: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()
    declared: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A 64-bit simhash and the number of tokens it was made from.

    `value` is unsigned, bit 1 the most significant. `str()` gives the scheme's short id, a hyphen and the 13 characters
    of the base32 form (RFC 4648 section 6, lower case, no padding) of the eight bytes, big-endian.
    """

    value: int
    tokens: int
    scheme: str = SIMHASH_DOC

    def __post_init__(self) -> None:
        if not 0 <= self.value < 1 << 64:
            raise UsageError(f"fingerprint value {self.value!r} is not an unsigned 64-bit integer")

    def __str__(self) -> str:
        return f"{SHORT_IDS[self.scheme]}-{self.base32}"

    @property
    def base32(self) -> str:
        """The 13 characters of the base32 form, without the scheme's short id."""
        return base64.b32encode(self.value.to_bytes(8, "big")).decode("ascii").rstrip("=").lower()

    @property
    def bits(self) -> int:
        """The same 64 bits as a signed (two's complement) integer, as search engines and SQLite store a long."""
        return to_signed(self.value)

    def sketches(self, keys: Sequence[int]) -> dict[str, Sketch]:
        """The fingerprint as a record holds it: the sketch with these packed keys, by the scheme's name."""
        return {SIMHASH_DOC: Sketch(self.scheme, self.value.to_bytes(8, "big"), tuple(keys), self.tokens)}

    def distance(self, other: Fingerprint) -> int:
        """The Hamming distance to `other`, 0 to 64. Raises UsageError if the schemes differ."""
        if self.scheme != other.scheme:
            raise UsageError(f"fingerprints of {self.scheme} and {other.scheme} can't be compared")
        return (self.value ^ other.value).bit_count()


def to_signed(value: int) -> int:
    """An unsigned 64-bit integer as the signed one with the same bits."""
    return value - (1 << 64) if value >> 63 else value


def to_unsigned(bits: int) -> int:
    """A signed 64-bit integer as the unsigned one with the same bits."""
    return bits & 0xFFFF_FFFF_FFFF_FFFF


def parse_fingerprint(text: str, tokens: int = 0) -> Fingerprint:
    """Read a fingerprint from its text: base32 with or without the scheme's short id, or 16 hexadecimal digits.

    Case does not matter. Raises UsageError for anything else, and for a base32 form with a pad bit other than zero (RFC
    4648 section 3.5).
    """
    plain = text.strip().lower()
    scheme = SIMHASH_DOC
    short, hyphen, rest = plain.partition("-")
    if hyphen:
        if short not in SCHEMES_BY_SHORT_ID:
            raise UsageError(
                f"{text!r}: {short!r} is not the short id of a scheme; known: {', '.join(SCHEMES_BY_SHORT_ID)}"
            )
        scheme, plain = SCHEMES_BY_SHORT_ID[short], rest
    if len(plain) == 16 and not hyphen and all(c in "0123456789abcdef" for c in plain):
        return Fingerprint(int(plain, 16), tokens, scheme)
    if len(plain) != 13:
        raise UsageError(f"{text!r}: a hash is 13 base32 characters (a-z, 2-7) or 16 hexadecimal digits")
    try:
        data = base64.b32decode(plain.upper() + "===")
    except (binascii.Error, ValueError):
        raise UsageError(f"{text!r}: a hash in base32 has only the characters a-z and 2-7") from None
    fingerprint = Fingerprint(int.from_bytes(data, "big"), tokens, scheme)
    if fingerprint.base32 != plain:
        raise UsageError(f"{text!r}: the last character carries a pad bit that must be zero; the hash is damaged")
    return fingerprint


@dataclass(frozen=True, slots=True)
class Sketch:
    """A document's sketch by a scheme.

    `scheme` is the scheme's id with all parameters. `payload` is compared for similarity, in the scheme's own
    serialised form. `keys` are the packed keys (see `neardup.schemes.keys.layout`): at least one, several of one table
    if the scheme says so, and empty in a record read without sketches. `features` counts the features it was made from.
    A document without features has a sketch without payload and keys (`without_features`). It matches nothing, but
    shows that the scheme was applied.
    """

    scheme: str
    payload: bytes
    keys: tuple[int, ...]
    features: int

    @classmethod
    def without_features(cls, scheme: str) -> Sketch:
        """The sketch of a document without features for a scheme."""
        return cls(scheme, b"", (), 0)


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one document in a store.

    `sketches` has the sketches by scheme name. A document without words has none of simhash-doc; schemes added to the
    store later may be missing. `short` marks documents with too few tokens for a meaningful simhash. `source` is the
    path or URL. `source_digest` reveals a stale fingerprint: a digest of the input bytes (or fields), the scheme and
    the extractor's version. `text_digest` is equal for texts identical except for case and white space
    (`neardup.core.text.text_digest` in hexadecimal, empty if unknown). `read_digest` is equal if everything read is
    (`neardup.text.digests.read_digest`). `beside_digest` is equal if what stands beside the texts tells the same
    (`neardup.relations.beside.beside_digest`), and empty if unknown. `indexed_at` is the time of this record, ISO 8601
    in UTC; `first_indexed_at` the time of the document's first one, empty if the same. `metadata` is the user's own,
    JSON types only. `container` is the URL of the file with many documents it was read from, unless `source` says so.
    """

    ref: Ref
    sketches: Mapping[str, Sketch] = field(default_factory=dict)
    short: bool = False
    source: str = ""
    title: str = ""
    format: str = ""
    extractor: str = ""
    size: int = 0
    source_digest: str = ""
    text_digest: str = ""
    indexed_at: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    container: str = ""
    first_indexed_at: str = ""
    read_digest: str = ""
    beside_digest: str = ""

    @property
    def fingerprint(self) -> Fingerprint | None:
        """The sketch of simhash-doc as it is shown; None without one, as for a document without words."""
        sketch = self.sketches.get(SIMHASH_DOC)
        if sketch is None:
            return None
        return Fingerprint(int.from_bytes(sketch.payload, "big"), sketch.features, sketch.scheme)

    @property
    def has_words(self) -> bool:
        """True if it has a fingerprint; without one it is compared with nothing."""
        return SIMHASH_DOC in self.sketches

    @property
    def tokens(self) -> int:
        """The number of tokens behind the fingerprint, 0 without one."""
        sketch = self.sketches.get(SIMHASH_DOC)
        return sketch.features if sketch else 0

    def without_sketches(self) -> Record:
        """The record as a store returns it without sketches: with its fingerprint alone, and without keys."""
        sketch = self.sketches.get(SIMHASH_DOC)
        return replace(self, sketches={SIMHASH_DOC: replace(sketch, keys=())} if sketch else {})

    @property
    def arrived_at(self) -> str:
        """The time of the document's first record, however often it was remade; empty if unknown."""
        return self.first_indexed_at or self.indexed_at

    def since(self, *times: str) -> Record:
        """The record of a document already there at these times; empty times say nothing."""
        first = first_arrival(self.indexed_at, self.first_indexed_at, *times)
        return self if first == self.first_indexed_at else replace(self, first_indexed_at=first)

    @property
    def seen_digest(self) -> str:
        """The digest of all that was read, so of the text too; of the text alone if nothing else is known."""
        return self.read_digest or self.text_digest

    def is_identical(self, other: Record) -> bool:
        """True if everything read of both is known to be equal except for case and white space."""
        known = bool(self.text_digest) and self.text_digest == other.text_digest
        return known and self.read_digest == other.read_digest and self.may_be_same_mail(other)

    def may_be_same_mail(self, other: Record) -> bool:
        """False for two mails with different Message-IDs that also differ in sender, recipients, date or subject."""
        return may_be_one_mail(self.mail_head, other.mail_head)

    @property
    def mail_head(self) -> Mapping[str, str]:
        """The subject, Message-ID, sender, recipients and date of a mail; empty for other documents."""
        return mail_head(self.source, self.title, self.metadata)


def first_arrival(indexed_at: str, *known: str) -> str:
    """The `first_indexed_at` of a record made at `indexed_at`, if the document was there at the times `known`.

    Times are ISO 8601 in UTC; an empty one says nothing. Empty if this record is the document's first.
    """
    first = min(filter(None, (indexed_at, *known)), key=in_order, default="")
    return "" if first == indexed_at else first


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed document: the reason, and the time (ISO 8601, UTC)."""

    ref: Ref
    source: str
    reason: str
    detail: str
    failed_at: str
    source_digest: str = ""


CLUSTER_ID_LENGTH = 26


def own_cluster_id(ref: Ref) -> str:
    """The cluster id of a document alone, or of the cluster it founded: 26 characters of base32.

    These are 128 bits of the BLAKE2b digest (RFC 7693) of index, routing and id, lower case, without padding. Documents
    have different ids, so a cluster named after a member has a name of its own.
    """
    # Imported here: processes that extract have documents, and no clusters.
    import hashlib

    parts = (ref.index, "" if ref.routing is None else "r" + ref.routing, ref.id)
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    plain = b"".join(len(part).to_bytes(8, "big") + part for part in encoded)
    digest = hashlib.blake2b(plain, digest_size=16).digest()
    return base64.b32encode(digest).decode("ascii").rstrip("=").lower()


# The class of a cluster's size, by its least member count. The last one has no end, so that a cluster that grows for
# ever is rewritten as a whole no more.
SIZE_CLASSES = ((101, "over 100"), (11, "11-100"), (6, "6-10"), (3, "3-5"), (2, "2"))


def size_class(size: int) -> str:
    """The class of a cluster's size, as people choose by it; empty for a single document."""
    return next((name for least, name in SIZE_CLASSES if size >= least), "")


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """The record of a cluster of two or more documents in a store.

    `title` is the canonical document's. `size` counts the members, `redundant` the repeats of a kept document, without
    known forms and parts; `total_bytes` and `redundant_bytes` sum their sizes. `least_similarity` (0 to 1) is the
    smallest similarity of a member to the canonical document. `first_seen` and `last_seen` are the earliest and latest
    `arrived_at` of the members. `formats` and `origins` (see `neardup.model.origins`) list the members' values, sorted,
    at most MOST_ORIGINS of them; a full list may be incomplete. `relations` counts the members that repeat another
    document by their noted relation to it, sorted; `repeated_origins` lists the origins of what they repeat, and
    `repeated_shares` their similarities to it in steps of 5 percent, both for dashboards and so not in a file.
    """

    id: str
    canonical: Ref
    title: str
    size: int
    total_bytes: int
    first_seen: str
    last_seen: str
    redundant_bytes: int = 0
    formats: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    least_similarity: float = 1.0
    redundant: int = 0
    relations: tuple[tuple[str, int], ...] = ()
    repeated_origins: tuple[str, ...] = ()
    repeated_shares: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusteringNote:
    """The note in a store of how its clusters were made.

    `rule` is the written match rule with all parameters. `bound` is the greatest distance between two documents of a
    cluster (a share of 0 to 1, or bits; empty for the rule's own). `canonical` is the written rule for the canonical
    document. `finished` is false from the first change to the last, and stays false after a killed run. `at` (ISO 8601
    in UTC) is the time of the last complete clustering, empty if never. `arrived` lists later runs that clustered new
    documents, each as "BEGIN/END". `reads` says whether texts are read again for relations. `apart` is "form" if
    documents with other facts are kept apart, else empty.
    """

    rule: str
    bound: str = ""
    canonical: str = "earliest"
    finished: bool = True
    at: str = ""
    arrived: tuple[str, ...] = ()
    reads: bool = True
    apart: str = ""

    def __post_init__(self) -> None:
        # JSON knows no tuples.
        object.__setattr__(self, "arrived", tuple(self.arrived))


# This many formats or origins of a cluster are kept: the first in order, so that adding one by one gives the same.
MOST_ORIGINS = 100


def first_of(*names: Iterable[str]) -> tuple[str, ...]:
    """The first MOST_ORIGINS names in order, each once, without the empty one."""
    return tuple(sorted({name for group in names for name in group if name})[:MOST_ORIGINS])


def with_declared(metadata: Mapping[str, Any], declared: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata of a document, with its own declarations if it makes any."""
    return {**metadata, DECLARED: dict(declared)} if declared else metadata
