"""The contract of every store; `tests/stores/contract.py` is its test suite."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Any, Self, TypeVar

from indexer.errors import IncompatibleStoreError, UsageError
from indexer.model import SIMHASH_DOC, ClusteringNote, ClusterRecord, Failure, Record, Ref, name_of
from indexer.model.copied import CopiedRow
from indexer.model.counts import Stats
from indexer.model.decisions import Decision
from indexer.model.findings import Finding
from indexer.model.kinds import DOCUMENTS
from indexer.model.paths import MovableFolder
from indexer.model.times import Refresh
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo
from indexer.stores.kept import CLUSTERS, DECISIONS, FAILURES, KeptKind
from indexer.stores.sketches import SketchStore
from indexer.stores.texts import DocumentForm, StoredText, TextFields
from indexer.text.counts import counted

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """The settings behind the fingerprints of a store.

    `scheme` is the scheme's id with its parameters, the same as in `Fingerprint.scheme`; `content` the content mode of
    extraction; `extractor` the version of the extraction rules; `unicode` the pinned Unicode version; `version` the
    neardup version that made the store. Fingerprints can't be mixed or compared if any of these except `version`
    differs. `schemes` are the secondary ones; Store.add_scheme makes them, not opening a store. `kind` is the kind of
    texts in the store (`neardup.model.kinds`); it decides how they are compared.
    """

    scheme: str
    layout: KeyLayout
    content: str
    extractor: str
    unicode: str
    version: str
    schemes: tuple[SchemeInfo, ...] = ()
    kind: str = DOCUMENTS

    @property
    def every_scheme(self) -> tuple[SchemeInfo, ...]:
        """All schemes, the first one first."""
        return (SchemeInfo(SIMHASH_DOC, self.scheme, self.layout), *self.schemes)

    def require_comparable(self, wanted: StoreInfo, store: str) -> None:
        """Raise IncompatibleStoreError, naming each difference, unless `wanted` can be compared with this info."""
        differences = [
            f"{label} {ours} in the store, {theirs} asked for"
            for label, ours, theirs in (
                ("scheme", self.scheme, wanted.scheme),
                ("key layout", self.layout.describe(), wanted.layout.describe()),
                ("content mode", self.content, wanted.content),
                ("extraction rules", self.extractor, wanted.extractor),
                ("Unicode version", self.unicode, wanted.unicode),
                ("kind of texts", self.kind, wanted.kind),
            )
            if ours != theirs
        ]
        if differences:
            raise IncompatibleStoreError(
                f"{store}: its fingerprints can't be compared with the ones asked for: {'; '.join(differences)}. "
                f"Use the store's own settings (it was made by neardup {self.version}), or index into a new store"
            )

    def require_same_schemes(self, there: Iterable[SchemeInfo], shown: str) -> None:
        """Raise IncompatibleStoreError unless a store has, beside simhash-doc, exactly these schemes."""
        own, wanted = {scheme.name: scheme for scheme in there}, {scheme.name: scheme for scheme in self.schemes}
        if own == wanted:
            return
        said = (", ".join(sorted(scheme.id for scheme in each.values())) or "none" for each in (own, wanted))
        raise IncompatibleStoreError(
            f"{shown}: keeps sketches of {next(said)} beside simhash-doc, and what is loaded has those of {next(said)}"
            ": sketch again with the store's (neardup batch sketch --schemes), into a new folder, or use a new store"
        )


class PutStatus(Enum):
    """The outcome of storing one record."""

    CREATED = "created"
    REPLACED = "replaced"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PutResult:
    """The result of put() for one record; `reason` is set if it failed, `passing` if the same may succeed later."""

    ref: Ref
    status: PutStatus
    reason: str = ""
    passing: bool = False


def results_of(batch: Iterable[Any], done: Mapping[Ref, PutResult]) -> list[PutResult]:
    """A result for each entry of a batch, a record or the result of a refused one.

    Of records with one ref only the last is written, in place of the others.
    """
    results: list[PutResult] = []
    seen: set[Ref] = set()
    for entry in batch:
        result = entry if isinstance(entry, PutResult) else done[entry.ref]
        if not isinstance(entry, PutResult) and entry.ref in seen and result.status is PutStatus.CREATED:
            result = PutResult(entry.ref, PutStatus.REPLACED)
        results.append(result)
        seen.add(result.ref)
    return results


@dataclass(slots=True)
class Contended:
    """Documents left as they are, because others change them all the time: their number, and the first few."""

    count: int = 0
    first_few: list[Ref] = field(default_factory=list)

    def add(self, refs: Sequence[Ref]) -> None:
        """Count more of them."""
        self.count += len(refs)
        self.first_few += refs[: max(0, 3 - len(self.first_few))]

    def sentence(self) -> str:
        """A sentence about them; empty if there are none."""
        if not self.count:
            return ""
        named = ", ".join(map(name_of, self.first_few)) + (", ..." if self.count > len(self.first_few) else "")
        return (
            f"others keep changing {counted(self.count, 'document')} ({named}), so nothing was written there; run the "
            "same command again"
        )


@dataclass(frozen=True, slots=True)
class Versioned:
    """A document as it was read: its record, its annotations, and a version that changes with them.

    `record` is None for a document without a record. Only delete() of the same store takes `version`.
    """

    record: Record | None
    annotations: Mapping[str, Any]
    version: Hashable


class ClusterWatcher:
    """Receives new clusters and copies when they are written; this one ignores them."""

    def copied(self, ref: Ref, other: Ref, cluster: Mapping[str, Any]) -> None:
        """Take note of a new copy, with its annotation `cluster`."""

    def formed(self, cluster: ClusterRecord) -> None:
        """Take note of a new cluster."""


class Store(SketchStore, ABC):
    """Keeps records, finds candidates by their keys; never hashes. A context manager; close() may be called twice.

    Every method raises StoreError if the store can't be read or written, or is closed. A store object belongs to the
    thread and process that opened it, unless it was opened for any thread, one at a time; others open their own.
    """

    embedded: bool
    """True for a file of this machine without a server: it has no routing, no query language, and no checks inside."""
    info: StoreInfo
    folder: MovableFolder = MovableFolder()
    """The folder that can be moved together with the store; of an engine's none."""
    created: bool = False
    """True if opening it has made it."""
    refresh: Refresh = "wait"
    """The moment from which others find what was written, where that is not at once.

    "wait": when close() has come back; "true": also when each put(), annotate() and delete() has; "none": when the
    engine gets to it. This object's own searches always see what it wrote.
    """
    contended: Contended = Contended()
    """The documents that annotate() and delete() of this object gave up, where the store has other writers."""
    watcher: ClusterWatcher = ClusterWatcher()
    """The one that is told of the clusters that are written."""
    stripped: Sequence[Ref] = ()
    """Those that delete() of this object counts and are their owner's: they stay, without the record."""

    @abstractmethod
    def put(self, records: Iterable[Record]) -> Iterator[PutResult]:
        """Store records in the order given, replacing those with the same ref; one result each.

        Records are consumed lazily and kept in batches. The results of a batch come when even a killed process has
        stored it. Nothing is stored until the results are iterated, and all of it when they are exhausted. A refused
        record is a FAILED result, never an exception. Storing a document clears its recorded failure. A replaced record
        keeps its first time (`Record.arrived_at`, the earlier one of both). Its annotations, made for the old text, are
        dropped unless the new text is identical.
        """

    def begin_put(self, records: Sequence[Record]) -> Callable[[], list[PutResult]]:
        """Begin to put() records; the returned function waits for the results, or raises the errors of put().

        Until then this object may read the store, as before or after, but writing waits. A store without concurrency is
        done when this returns.
        """
        results = list(self.put(records))
        return lambda: results

    @abstractmethod
    def get(self, refs: Sequence[Ref], *, sketches: bool = True) -> list[Record | None]:
        """The records of these identities, in this order; None for a missing one.

        Without `sketches` they are those of Record.without_sketches(), quicker to read.
        """

    def find_each(self, names: Sequence[str]) -> list[list[Ref]]:
        """The possible identities of each name as users write it: none, one, or several if ambiguous.

        A name is an id; in a store with routing also INDEX/ID, and either with ?routing=VALUE (percent-encoded, empty
        for a document without).
        """
        refs = [Ref(name) for name in names]
        return [[ref] if record else [] for ref, record in zip(refs, self.get(refs), strict=True)]

    def narrow(self, query: str) -> None:
        """Restrict lookups and scan_sketches() to documents matching a query of the engine's own language.

        Raises UsageError if the engine can't read it, or if the store has no query language.
        """
        raise UsageError(f"the filter {query!r} can't be used: this store is a file and has no query language")

    def passes(self, ref: Ref) -> bool:  # noqa: ARG002 nothing is narrowed here
        """True if narrow() leaves this document in."""
        return True

    def texts(self, records: Sequence[Record], fields: TextFields | None = None) -> list[StoredText | None]:
        """The current texts of these records' documents, in this order; None for one from elsewhere.

        They are read from the named `fields`, else from those the store remembers. Raises UsageError for missing
        fields, also if a store has none at all.
        """
        if fields:
            raise UsageError("only a store in a search engine has fields; leave out --field")
        return [None] * len(records)

    def outdated(self, records: Sequence[Record]) -> AbstractSet[Ref]:  # noqa: ARG002 nobody else has the texts
        """The documents of these records with a text changed or removed since the fingerprint.

        An owner's document without a readable text counts too. Records of anything else are never outdated.
        """
        return frozenset()

    def owners_values(
        self,
        records: Sequence[Record],
        names: Sequence[str],  # noqa: ARG002 documents have no owner here
    ) -> list[Mapping[str, Any]]:
        """The first value of each of these fields in the owner's documents of these records, if present.

        A dot leads into an object, also within a list.
        """
        return [{} for _ in records]

    def date_fields(self) -> list[str] | None:
        """The date fields in the documents of an owner; None if the index has no owner."""
        return None

    def document_form(self, fields: TextFields | None = None) -> DocumentForm:  # noqa: ARG002 there is none here
        """The form of documents sent to the store by others, with their text in `fields` or the remembered ones.

        Raises UsageError if documents are not sent there, or no fields are known, and StoreError if neardup's are not
        mapped.
        """
        raise UsageError("a file is sent no documents: name an index, as https://host:9200/articles")

    def examine(self) -> Iterator[Finding]:
        """Examine the place of the store for present and coming problems, without changing anything."""
        return iter(())

    @abstractmethod
    def scan(self, *, sketches: bool = True) -> Iterator[Record]:
        """Every record, in bounded memory and the store's own order; a snapshot as of the first one.

        The order stays the same until something is written. Without `sketches` the records are those of
        Record.without_sketches().
        """

    @abstractmethod
    def annotate(
        self, annotations: Iterable[tuple[Ref, Mapping[str, Any]]], *, versions: Mapping[Ref, Hashable] | None = None
    ) -> int:
        """Merge fields into the stored annotations of documents; returns how many of these exist and were changed.

        The annotation `cluster` describes a document's cluster: `{"id", "is_canonical", "similarity" (0 to 1, to the
        canonical document), "size_class"}`. For a removable document it also has the id of the kept document it
        `repeats`, their similarity `repeats_similarity`, and, if known, their `relation`, or that to another document
        of the cluster, `relation_to`, and the first document of the `work` of both, if it is a third one. All three
        have `_index` behind their names for another index, and `_routing` if there is one. A document without it is in
        no cluster. Stores that group documents by cluster id then keep one of its own, new at each put().

        Values are JSON types (UsageError otherwise), None removes a field, a field is replaced as a whole. Kept in
        batches like put(). With `versions` from versioned(), a changed document is left as it is.
        """

    @abstractmethod
    def annotations(self, refs: Sequence[Ref]) -> list[Mapping[str, Any] | None]:
        """The annotations of these documents, in this order; None for a missing document."""

    @abstractmethod
    def scan_annotations(self, *, clustered: bool = False) -> Iterator[tuple[Ref, Mapping[str, Any]]]:
        """Identity and annotations of every document, also without any; otherwise like scan().

        With `clustered` of those with a cluster id; others may come too, but all members do.
        """

    @abstractmethod
    def cluster_members(self, ids: Sequence[str]) -> Iterator[tuple[str, Ref]]:
        """Cluster id and identity of every document annotated with one of these: `{"cluster": {"id": ...}}`."""

    def cluster_sizes(self) -> Iterator[tuple[str, int]]:
        """The number of documents annotated with each cluster of several, sorted by its id."""
        said = (
            fields["cluster"]
            for _, fields in self.scan_annotations(clustered=True)
            if isinstance(fields.get("cluster"), Mapping)
        )
        yield from sorted(Counter(str(one["id"]) for one in said if one.get("size_class")).items())

    @abstractmethod
    def keep(self, kind: KeptKind[T], items: Iterable[T]) -> None:
        """Keep things of a kind, replacing those with the same name. Kept in batches like put()."""

    @abstractmethod
    def kept(self, kind: KeptKind[T], names: Sequence[str]) -> list[T | None]:
        """The things with these names, in this order; None for a missing one."""

    @abstractmethod
    def every_kept(self, kind: KeptKind[T]) -> Iterator[T]:
        """Everything of a kind, by name; a snapshot as of the first one."""

    @abstractmethod
    def forget(self, kind: KeptKind[T], names: Sequence[str]) -> int:
        """Forget things; returns how many there were."""

    def put_clusters(self, clusters: Iterable[ClusterRecord]) -> None:
        """Keep the records of clusters, replacing those with the same id. Kept in batches like put()."""
        self.keep(CLUSTERS, clusters)

    def get_clusters(self, ids: Sequence[str]) -> list[ClusterRecord | None]:
        """The clusters with these ids, in this order; None for a missing one."""
        return self.kept(CLUSTERS, ids)

    def clusters(self) -> Iterator[ClusterRecord]:
        """Every cluster, by id; a snapshot as of the first one."""
        return self.every_kept(CLUSTERS)

    def delete_clusters(self, ids: Sequence[str]) -> int:
        """Forget clusters, not their documents; returns how many there were."""
        return self.forget(CLUSTERS, ids)

    @abstractmethod
    def clustering_notes(self) -> Mapping[str, ClusteringNote]:
        """The notes on how the present clusters were made, by index ("" in an embedded store).

        An index without a note is left out.
        """

    @abstractmethod
    def put_clustering_note(self, note: ClusteringNote | None) -> None:
        """Replace the note on how clusters are made; None forgets it."""

    def decisions(self) -> Iterator[Decision]:
        """Every remembered decision, by its id."""
        return self.every_kept(DECISIONS)

    def put_decisions(self, decisions: Iterable[Decision]) -> None:
        """Remember decisions, each once. Kept in batches like put()."""
        self.keep(DECISIONS, decisions)

    def delete_decisions(self, ids: Sequence[str]) -> int:
        """Forget decisions; returns how many there were."""
        return self.forget(DECISIONS, ids)

    def keeper_of_copied(self) -> Callable[[Iterable[CopiedRow]], int]:
        """The function that replaces the rows for dashboards and returns their number.

        Raises UsageError for a store without dashboards, and for a narrowed one.
        """
        raise UsageError("a file has no dashboards to write for: name an index, as https://host:9200/articles")

    @abstractmethod
    def find_digests(self, digests: Sequence[str]) -> Mapping[str, Record]:
        """One record for each source digest in the store."""

    def described(self, refs: Sequence[Ref]) -> list[tuple[Record, Mapping[str, Any]] | None]:
        """The records of these documents, without sketches, and their annotations, in this order; None for none."""
        read = zip(self.get(refs, sketches=False), self.annotations(refs), strict=True)
        return [None if record is None or known is None else (record, known) for record, known in read]

    def versioned(self, refs: Sequence[Ref]) -> list[Versioned | None]:
        """These documents with their versions, in this order; None for a missing one."""
        read = zip(self.get(refs), self.annotations(refs), strict=True)
        return [None if known is None else Versioned(record, known, _digest(record, known)) for record, known in read]

    @abstractmethod
    def delete(
        self, refs: Sequence[Ref], *, versions: Mapping[Ref, Hashable] | None = None, owners: bool = False
    ) -> int:
        """Delete documents and their recorded failures; returns how many documents were deleted.

        With `versions` from versioned(), a changed document is kept together with its failure, also one without a
        version there. A document of an owner loses only its record, unless `owners` is set.
        """

    def differing(self, pairs: Sequence[tuple[Ref, Ref]]) -> list[list[str]]:  # noqa: ARG002 what others compare
        """For each two documents the names of the owner's fields that differ, sorted.

        In fields of the text, case and white space don't count. A missing document differs from all others. Raises
        UsageError for a store without an owner's documents, StoreError if it does not show all of their fields.
        """
        raise UsageError("this store keeps no documents of others, whose fields could be compared")

    def put_failures(self, failures: Iterable[Failure]) -> None:
        """Record failures, replacing the earlier one of the same ref."""
        self.keep(FAILURES, failures)

    def failures(self) -> Iterator[Failure]:
        """Every recorded failure, by ref."""
        return self.every_kept(FAILURES)

    def notices(self) -> list[str]:
        """Remarks on the state of the store for its readers, a sentence each."""
        return []

    @abstractmethod
    def count(self) -> int:
        """The number of documents, counted without reading each."""

    @abstractmethod
    def stats(self) -> Stats:
        """Counts of the store."""

    def take_turns(self) -> None:
        """Let others write too, in a store with one writer at a time: this object is the writer only for a batch or a
        turn().

        Otherwise it is the writer from its first write to close().
        """

    def turn(self, *, wanted: bool = True) -> AbstractContextManager[None]:  # noqa: ARG002
        """A time as the writer, if the store has one at a time and it is `wanted`."""
        return nullcontext()

    def bulk_load(self) -> AbstractContextManager[None]:
        """A load of very many documents. Meanwhile a store may do less for readers; it recovers at the end."""
        return nullcontext()

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _digest(record: Record | None, annotations: Mapping[str, Any]) -> bytes:
    return hashlib.sha256(repr((record, annotations)).encode("utf-8", "surrogatepass")).digest()
