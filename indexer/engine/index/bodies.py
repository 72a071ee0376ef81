"""Documents and queries as an engine has them."""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from indexer.engine.client.base import InexactRecordError, encoded
from indexer.engine.index.sketches import (
    BESIDE,
    FEATURES,
    KEYS,
    PAYLOAD,
    KeyFields,
    SimhashFields,
    has_doc_values,
    sketch_fields,
    sketch_of,
)
from indexer.model import (
    SIMHASH_DOC,
    Fingerprint,
    Record,
    Ref,
    Sketch,
    first_arrival,
    named_ref,
    own_cluster_id,
    to_signed,
    to_unsigned,
)
from indexer.model.origins import UNKNOWN, origin_of
from indexer.relations.relation import SAME_WORK, verdict_of
from indexer.schemes.keys.layout import KeyLayout
from indexer.stores.base import StoreInfo
from indexer.stores.sketches import refusal

ROOT = "neardup"
MAPPING_VERSION = 11
# The most bytes that sketches may bring the part below `neardup` to, in a document of an owner's.
OWNERS_ROOM = 2048
SHORT = f"{ROOT}.short"
# Every record has it, also one without a fingerprint: what distinguishes a record from an owner's other documents.
TOKENS = f"{ROOT}.tokens"
DIGEST = f"{ROOT}.source_digest"
TEXT_DIGEST = f"{ROOT}.text_digest"
FORMAT = f"{ROOT}.format"
INDEXED_AT = f"{ROOT}.indexed_at"
CLUSTER_ID = f"{ROOT}.cluster.id"
REPEATS, RELATION = f"{ROOT}.cluster.repeats", f"{ROOT}.cluster.relation"
# A document in no cluster has ids of its own, so collapsing on them swallows none.
SINGLE = f"{ROOT}.cluster.single"
SIZE_CLASS = f"{ROOT}.cluster.size_class"
# With the types that an annotation may have there.
CLUSTER_FIELDS: Mapping[str, tuple[type, ...]] = {
    "id": (str,),
    "is_canonical": (bool,),
    **dict.fromkeys(("similarity", "repeats_similarity"), (float, int)),
    "distance": (int,),
    **dict.fromkeys(("size_class", "relation", "repeats_origin"), (str,)),
    **{name + part: (str,) for name in ("repeats", "relation_to", "work") for part in ("", "_index", "_routing")},
}
# What follows from the others.
_DERIVED = ("verdict", "copies_id", "work_id")
VERSION_FIELDS: Mapping[str, type] = {"ordinal": int, "is_latest": bool}
# Of a document without versions, or whose order is unknown.
_OWN_LATEST: Mapping[str, Any] = {"ordinal": None, "is_latest": True}
# The annotation that prune marks with: its owner finds what is marked.
DUPLICATE_OF = "duplicate_of"
# Where annotations stand: the cluster, the version and the mark in fields of their own, the rest as JSON.
ANNOTATIONS = ("cluster", "version", DUPLICATE_OF, "annotations")
# Elasticsearch's own limit: bytes of an id.
MAX_ID_BYTES = 512
# Of a thousand million such ids two are equal once in ten thousand times.
_DRAWN_BYTES = 9
_MAX_LONG = (1 << 63) - 1
_MAX_INTEGER = (1 << 31) - 1
OWNERS_FIELD = f"its field {ROOT!r} is its owner's and is left as it is"
_DIGESTS = ("source_digest", "text_digest", "read_digest", "beside_digest")
# The texts of a record, which stand in a document by the same names; what is empty is left out.
_TEXTS = ("format", "source", "title", "extractor", "indexed_at", "first_indexed_at", *_DIGESTS, "container")
_HEXADECIMAL, _PACKED_DIGEST = re.compile("[0-9a-f]{32}"), re.compile("[A-Za-z0-9_-]{21}[AQgw]")
# The field's name stands in the text and what is asked for in the parameters, so that it is compiled once.
_NEAR = "doc['{field}'].size() > 0 && Long.bitCount(doc['{field}'].value ^ params.value) <= params.distance"


Hit = dict[str, Any]


class Bodies:
    """Documents and queries for the schemes and key layouts of a store.

    `fields` are the fields each of its indices maps under `neardup`.
    """

    def __init__(self, info: StoreInfo, fields: Collection[Mapping[str, Any]] = ()) -> None:
        self.info = info
        self.layout: KeyLayout = info.layout
        self.scheme = info.scheme.partition(" ")[0]
        self.bits = f"{ROOT}.{self.scheme}.bits"
        self.doc_values = [self.bits, TOKENS, SHORT]
        self.schemes = {scheme.name: scheme for scheme in info.schemes}
        self.sketches = [f"{ROOT}.{name}" for name in self.schemes]
        self.key_fields = {name: KeyFields.of(scheme) for name, scheme in self.schemes.items()}
        self.keyed: dict[str, KeyFields | SimhashFields] = {SIMHASH_DOC: SimhashFields(info.layout), **self.key_fields}
        # The schemes whose payloads one of the indices has in `_source` only, be it as keys.
        self._sourced = {
            name
            for name in self.schemes
            if self.key_fields[name].holder
            or not all(has_doc_values(inside.get(name, {}).get("properties", {})) for inside in fields)
        }

    # Documents

    def fields(self, record: Record) -> dict[str, Any]:
        self._check(record)
        body: dict[str, Any] = {"tokens": record.tokens, "short": record.short}
        if fingerprint := record.fingerprint:
            hashed = {"hash": fingerprint.base32, "bits": fingerprint.bits}
            body[self.scheme] = hashed | self._keys(record.sketches[SIMHASH_DOC].keys)
        others = ((name, sketch) for name, sketch in record.sketches.items() if name != SIMHASH_DOC)
        body |= {name: sketch_fields(sketch, self.key_fields[name]) for name, sketch in others}
        if record.size:
            body["bytes"] = record.size
        for name in _TEXTS:
            if value := getattr(record, name):
                body[name] = packed_digest(value) if name in _DIGESTS else value
        body["origin"] = origin_of(record.source)
        if record.metadata:
            body["metadata"] = pack_json(record.metadata, "metadata")
        body |= {"cluster": alone(), "version": {"is_latest": True}}
        return body

    def within(self, body: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Mapping[str, Any]]]:
        """The fields cut to OWNERS_ROOM bytes of `_source`, and by scheme those for the index beside.

        These are of sketches that grow with the text; BESIDE takes their place.
        """
        fields, beside = dict(body), {}
        for name, keys in self.key_fields.items():
            if keys.holder and name in fields and len(encoded(fields)) > OWNERS_ROOM:
                beside[name] = fields[name]
                fields[name] = {BESIDE: fields[name][FEATURES]}
        return fields, beside

    def replacing(self, body: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
        empty = dict.fromkeys(["bytes", *_TEXTS, "metadata", *ANNOTATIONS, self.scheme, *self.schemes])
        own = {
            name: dict.fromkeys((PAYLOAD, FEATURES, BESIDE, KEYS)) | body[name] for name in self.schemes if name in body
        }
        fields = empty | dict(body) | own | {"cluster": dict.fromkeys(CLUSTER_FIELDS) | body["cluster"]}
        fields["version"] = dict(_OWN_LATEST)
        times = (source.get(name) or "" for source in (body, before) for name in ("first_indexed_at", "indexed_at"))
        fields["first_indexed_at"] = first_arrival(body.get("indexed_at", ""), *times) or None
        if body.get("text_digest") and before.get("text_digest") == body["text_digest"] and before.get("cluster"):
            fields = {name: value for name, value in fields.items() if name not in ANNOTATIONS}
        return fields

    def _keys(self, keys: Sequence[int]) -> dict[str, Any]:
        return {name: terms[0] if len(terms) == 1 else terms for name, terms in self.layout.terms(keys).items()}

    def _check(self, record: Record) -> None:
        if reason := refusal(self.info.every_scheme, record.sketches):
            raise InexactRecordError(reason)
        if not 0 <= record.size <= _MAX_LONG or not 0 <= record.tokens <= _MAX_INTEGER:
            raise InexactRecordError(f"size {record.size} or tokens {record.tokens} is out of range")

    # Records

    def record(self, hit: Mapping[str, Any], ref: Ref, *, sketches: bool = False) -> Record | None:
        source = own_part(hit.get("_source"))
        if source is None:
            return None
        values = {name: listed[0] for name, listed in hit.get("fields", {}).items()}
        tokens = values.get(TOKENS, source.get("tokens"))
        if tokens is None:
            return None
        hashed = source.get(self.scheme) or {}
        bits = values.get(self.bits, hashed.get("bits"))
        keys = self.layout.packed(hashed) if sketches else ()
        first = {} if bits is None else self._fingerprint(int(bits), int(tokens)).sketches(keys)
        metadata = source.get("metadata")
        texts: dict[str, Any] = {name: source.get(name) or "" for name in _TEXTS}
        texts |= {name: unpacked_digest(texts[name]) for name in _DIGESTS}
        return Record(
            ref=ref,
            short=values.get(SHORT, source.get("short")) in (True, "true"),
            size=source.get("bytes") or 0,
            metadata=json.loads(metadata) if metadata else {},
            sketches=first | self._sketches(source) if sketches else first,
            **texts,
        )

    def _fingerprint(self, bits: int, tokens: int) -> Fingerprint:
        return Fingerprint(to_unsigned(bits), tokens, self.info.scheme)

    def _sketches(self, source: Mapping[str, Any]) -> dict[str, Sketch]:
        sketches = {
            name: sketch_of(scheme, source.get(name) or {}, self.key_fields[name])
            for name, scheme in self.schemes.items()
        }
        return {name: sketch for name, sketch in sketches.items() if sketch}

    def payload(self, scheme: str) -> str:
        return self.bits if scheme == self.scheme else f"{ROOT}.{scheme}.{PAYLOAD}"

    def in_doc_values(self, schemes: Iterable[str]) -> list[str]:
        return [self.payload(name) for name in schemes if name not in self._sourced]

    def in_source(self, schemes: Iterable[str]) -> list[str]:
        sourced = [name for name in schemes if name in self._sourced]
        return (
            [self.payload(name) for name in sourced]
            + [f"{ROOT}.{name}.{field}" for name in sourced if self.key_fields[name].holder for field in (KEYS, BESIDE)]
            + [TEXT_DIGEST] * bool(self.holders(sourced))
        )

    def placed(self, hits: Sequence[Hit], schemes: Iterable[str]) -> Sequence[Hit]:
        sourced = [(name, self.payload(name)) for name in schemes if name in self._sourced]
        for hit in hits if sourced else ():
            own = own if isinstance(own := hit["_source"].get(ROOT), Mapping) else {}
            values = hit.setdefault("fields", {})
            for name, path in sourced:
                if payload := self.key_fields[name].payload(own.get(name) or {}):
                    values[path] = [payload]
        return hits

    def sketched(self, scheme: str) -> dict[str, Any]:
        if scheme in self._sourced:
            return self.has(scheme)
        return {"exists": {"field": self.payload(scheme)}}

    def has(self, scheme: str) -> dict[str, Any]:
        return either([{"exists": {"field": f"{ROOT}.{scheme}.{field}"}} for field in (FEATURES, BESIDE)])

    def holders(self, schemes: Iterable[str]) -> list[str]:
        return [name for name in schemes if name in self.key_fields and self.key_fields[name].holder]

    def record_fields(self, payloads: Collection[str] = (), *, sketches: bool = False) -> dict[str, Any]:
        kept = {name for name in payloads if name in self._sourced}
        excluded = [] if sketches else [f"{ROOT}.{name}" for name in self.schemes if name not in kept]
        values = list(dict.fromkeys([*self.doc_values, *self.in_doc_values(payloads)]))
        return {"_source": source_of([ROOT], excluded), "docvalue_fields": values}

    # Queries

    def near(self, value: int, distance: int) -> dict[str, Any]:
        """Documents at most `distance` bits from an unsigned value, by a Painless script over the doc values."""
        params = {"value": to_signed(value), "distance": distance}
        script = {"lang": "painless", "source": _NEAR.format(field=self.bits), "params": params}
        return {"script": {"script": script}}

    def fingerprinted(self) -> dict[str, Any]:
        return {"exists": {"field": self.bits}}


def source_of(included: Sequence[str], excluded: Sequence[str]) -> dict[str, Any]:
    lists = {"includes": list(included), "excludes": list(excluded)}
    return {name: names for name, names in lists.items() if names}


def packed_digest(digest: str) -> str:
    """A digest of 32 hexadecimal digits in 22 characters of base64; others as they are.

    Raises InexactRecordError for an ambiguous one.
    """
    if _PACKED_DIGEST.fullmatch(digest):
        raise InexactRecordError(f"{digest} would be read as another digest: write digests in hexadecimal digits")
    if not _HEXADECIMAL.fullmatch(digest):
        return digest
    return base64.urlsafe_b64encode(bytes.fromhex(digest)).rstrip(b"=").decode("ascii")


def unpacked_digest(text: str) -> str:
    return base64.urlsafe_b64decode(f"{text}==").hex() if _PACKED_DIGEST.fullmatch(text) else text


def own_part(source: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """neardup's part of a document with this `_source`: a record, or a pipeline's mark.

    None without one, and if the value under `neardup` is the owner's.
    """
    part = (source or {}).get(ROOT)
    if not isinstance(part, Mapping):
        return None
    # A boolean is an integer to Python.
    return part if type(part.get("tokens")) is int or isinstance(part.get("pending"), str) else None


def is_owners(source: Mapping[str, Any] | None) -> bool:
    return (source or {}).get(ROOT) is not None and own_part(source) is None


def is_record() -> dict[str, Any]:
    return {"exists": {"field": TOKENS}}


def both(*queries: Mapping[str, Any] | None, include_short: bool = True) -> dict[str, Any]:
    query: dict[str, Any] = {"filter": [query_part for query_part in queries if query_part]}
    if not include_short:
        query["must_not"] = [{"term": {SHORT: True}}]
    return {"bool": query}


def either(queries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return queries[0] if len(queries) == 1 else {"bool": {"should": list(queries), "minimum_should_match": 1}}


def merged(old: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in {**old, **added}.items() if value is not None}


def alone() -> dict[str, Any]:
    """The cluster fields of a document in no cluster.

    Its ids are random: made of the document's name they could be those of a cluster it once founded.
    """
    drawn = secrets.token_urlsafe(_DRAWN_BYTES)
    return {"id": drawn, "copies_id": drawn, "work_id": drawn, "single": True, "verdict": verdict_of(None)}


def annotations_of(source: Mapping[str, Any]) -> dict[str, Any]:
    annotations: dict[str, Any] = json.loads(source["annotations"]) if source.get("annotations") else {}
    if source.get(DUPLICATE_OF) is not None:
        annotations[DUPLICATE_OF] = source[DUPLICATE_OF]
    if (version := source.get("version") or {}).get("ordinal") is not None:
        annotations["version"] = dict(version)
    there = source.get("cluster") or {}
    # Dashboards filter by a relation that nobody knows.
    cluster = {name: value for name, value in there.items() if value is not None and name not in _DERIVED}
    if cluster.get("relation") == UNKNOWN:
        del cluster["relation"]
    return annotations | ({"cluster": cluster} if cluster and not cluster.pop("single", False) else {})


def annotation_fields(ref: Ref, annotations: Mapping[str, Any], there: Mapping[str, Any] | None) -> dict[str, Any]:
    cluster = annotations.get("cluster")
    rest = dict(annotations)
    fields = {**dict.fromkeys(CLUSTER_FIELDS), **(there if there and there.get("single") else alone())}
    if isinstance(cluster, Mapping) and _fits(cluster):
        relation = cluster.get("relation", UNKNOWN) if "repeats" in cluster else None
        empty = dict.fromkeys((*CLUSTER_FIELDS, "single"))
        fields = {**empty, "relation": relation, **cluster, **_derived(ref, cluster, relation)}
        del rest["cluster"]
    version = rest.get("version")
    kinds = {name: type(value) for name, value in version.items()} if isinstance(version, Mapping) else {}
    is_kept = version and kinds == VERSION_FIELDS and 0 < version["ordinal"] <= _MAX_INTEGER
    version = dict(rest.pop("version")) if is_kept else dict(_OWN_LATEST)
    mark = rest.get(DUPLICATE_OF)
    # The field has no place for a mark that is longer than an id.
    mark = rest.pop(DUPLICATE_OF) if isinstance(mark, str) and len(mark) <= MAX_ID_BYTES else None
    packed = pack_json(rest, "annotation") if rest else None
    return {"cluster": fields, "version": version, DUPLICATE_OF: mark, "annotations": packed}


def _derived(ref: Ref, cluster: Mapping[str, Any], relation: str | None) -> dict[str, str]:
    verdict = verdict_of(relation)
    other = named_ref("relation_to", ref, cluster) or named_ref("repeats", ref, cluster) or ref
    copies = other if verdict == "could go" else ref
    work = named_ref("work", ref, cluster) or (other if relation in SAME_WORK else copies)
    return {"verdict": verdict, "copies_id": own_cluster_id(copies), "work_id": own_cluster_id(work)}


def _fits(cluster: Mapping[str, Any]) -> bool:
    return (
        isinstance(cluster.get("id"), str)
        and len(cluster["id"]) <= MAX_ID_BYTES
        and all(_is_of(CLUSTER_FIELDS.get(name, ()), value) for name, value in cluster.items())
        and all(0 <= cluster.get(name, 0) <= 1 for name in ("similarity", "repeats_similarity"))
        and 0 <= cluster.get("distance", 0) <= 64
        and all(len(cluster.get(name, "")) <= MAX_ID_BYTES for name in ("size_class", "repeats", "relation"))
    )


def _is_of(types: tuple[type, ...], value: object) -> bool:
    # A number of an answer is a WrittenFloat, and a boolean is an integer to Python.
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def pack_json(value: Mapping[str, Any], name: str) -> str:
    """Exact JSON of an object. Raises InexactRecordError, naming the field, for anything else."""
    try:
        text = json.dumps(dict(value), allow_nan=False, separators=(",", ":"))
        same = json.loads(text) == value
    except (TypeError, ValueError, RecursionError) as error:
        raise InexactRecordError(f"{name} is not made of JSON types: {error}") from error
    if not same:
        raise InexactRecordError(f"{name} is not made of JSON types: it would not read back as it is")
    return text


def check_id(name: str) -> None:
    size = len(name.encode("utf-8", "surrogatepass"))
    if not 0 < size <= MAX_ID_BYTES:
        raise InexactRecordError(f"the id takes {size} bytes; the engine takes 1 to {MAX_ID_BYTES}")
