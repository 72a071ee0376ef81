"""The documents of a collection: added, read, deleted, counted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

from indexer.errors import NeardupError, NotFoundError, UsageError
from indexer.extract.base import Extractor, Limits
from indexer.extract.fields import field_format, field_format_asked
from indexer.ingest.sources import IdFrom
from indexer.library import asking
from indexer.library.options import Arriving, ClusterOptions, Extraction, Fingerprinting, Walk, WorkerLimits, content_of
from indexer.library.program_documents import columns_of, document, documents
from indexer.library.records import Described, FailedDocument
from indexer.library.results import stored_members
from indexer.library.rows import Rows
from indexer.library.stores import AT_ONCE, OpenStore, Progress
from indexer.matching.shorthand import AnyRule
from indexer.model import Ref, name_of
from indexer.model.chunking import chunks
from indexer.model.own_files import AnyPath
from indexer.stores import Store
from indexer.stores.texts import TextFields

if TYPE_CHECKING:
    from indexer.clustering.copies import Copies
    from indexer.clustering.removal import RedundantDocument
    from indexer.library.bulk_requests import FingerprintedRequest
    from indexer.library.indexing import Indexing
    from indexer.library.outcomes import Indexed, KeptScheme, StoreStats
    from indexer.library.removals import Copy, Deleted, Erased


Unknown = Callable[[NeardupError], object]
"""Called with the error for an id that no document has, or that several have."""


class Contents(OpenStore):
    """The documents of a collection."""

    def add(
        self, id: str, text: str, *, title: str = "", source: str = "", **metadata: Any  # noqa: A002
    ) -> Literal["indexed", "replaced", "unchanged"]:  # fmt: skip
        """Add one text, with any metadata; it replaces a document with the same id.

        `add_many` is much faster for many documents. Raises UsageError if the store refuses the document.
        """
        if not isinstance(id, str) or not id or not isinstance(text, str):
            raise UsageError("add() takes an id, which is a non-empty string, and a text")
        given = document(id, text, title=title, source=source, metadata=metadata)
        summary = self._index(self._indexing(Fingerprinting(0, scheme=self._added), given=(given,)), Arriving())
        for reason in summary.failed:
            failed = next((failure for failure in self.failures() if failure.id == id), None)
            raise UsageError(f"{id}: {reason}" + (f": {failed.detail}" if failed else ""))
        return "indexed" if summary.indexed else "replaced" if summary.replaced else "unchanged"

    def add_many(
        self,
        documents_: Any,
        *,
        fields: Mapping[str, str] | None = None,
        min_tokens: int | None = None,
        cluster: bool = False,
        skip_duplicates: bool | Literal["sketch"] = False,
        on: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Indexed:
        """Add many documents: texts, bytes of files, pairs of id and text, dicts, or tables.

        Tables are DataFrames of pandas and Polars, lazy ones too, relations of DuckDB, and Arrow tables, batches,
        readers, data sets, and anything with its stream interface and named columns. A dict or row has `text` (or
        `html`) and optionally `id`, `title`, and `source` or `url`; `fields` maps other names, as in {"text": "body"},
        with dots for fields of objects. All other fields are metadata. A document without an id is named by its
        content, so equal ones become one document. Unreadable documents are counted as failed and listed by `failures`.
        With `cluster` each is put into its cluster. With `skip_duplicates` documents are left out if their text says
        the same as a stored one, found in files or in the index, or with "sketch" if they are near by their sketches.
        `on` chooses by relation, as in ["identical=skip", "rendition,form=mark"]: store, skip, mark or refuse.
        Documents of fewer than `min_tokens` words are left out of answers, by default as the store's kind says. Raises
        UsageError if nothing given is a document.
        """
        total = len(documents_) if hasattr(documents_, "__len__") else None
        given = documents(documents_, columns_of(fields))
        run = self._indexing(Fingerprinting(None, min_tokens, self._added), given=given)
        return self._index(run, _arriving(skip_duplicates, on, cluster=cluster), progress, total)

    def index(  # noqa: PLR0913 - they are options of the command
        self,
        paths: AnyPath | Iterable[AnyPath] = (),
        *,
        paths_from: AnyPath | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        hidden: bool = False,
        follow_links: bool = False,
        id_from: IdFrom = "path",
        fields: Mapping[str, str] | None = None,
        format: str | None = None,  # noqa: A002
        extractor: Extractor = "auto",
        ocr: str | None = None,
        timeout: float = Limits().seconds,
        memory: int = Limits().memory,
        max_size: int = Limits().input_bytes,
        jobs: int | None = None,
        min_tokens: int | None = None,
        cluster: bool = False,
        skip_duplicates: bool | Literal["sketch"] = False,
        skip: str | Sequence[str] | None = None,
        on: Sequence[str] = (),
        match: str | None = None,
        bound: float | None = None,
        canonical: str | None = None,
        prefer: Sequence[str] = (),
        on_new: Callable[[str], None] | None = None,
        retry_failed: bool = False,
        bulk_load: bool = False,
        dead_letters: AnyPath | None = None,
        progress: Progress | None = None,
    ) -> Indexed:
        """Add files, folders, patterns, or files with many documents, with the options of `neardup index`.

        `fields`, `cluster`, `skip_duplicates` and `on` are as for `add_many`; `skip` names other relations for which a
        document is left out. With one of these, `match` and the options of clusters are those of `cluster`, and
        `on_new` is called with the id of each document without a near-duplicate on arrival. `jobs` is the number of
        worker processes, one per processor if None. Documents refused by the store are kept in the file `dead_letters`,
        if it is named. Raises NotFoundError for a missing path.
        """
        named = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        walk = Walk(
            os.fspath(paths_from) if paths_from is not None else None, tuple(include), tuple(exclude), hidden,
            follow_links, id_from,
        )  # fmt: skip
        reading = Extraction(None, extractor, format, ocr, WorkerLimits(timeout, memory), max_size)
        columns = columns_of(fields)
        run = self._indexing(
            Fingerprinting(jobs, min_tokens, self._added), [os.fspath(path) for path in named], walk, reading,
            columns=replace(columns, format=field_format(format) if columns.format == "text" else columns.format),
            dead_letters=None if dead_letters is None else os.fspath(dead_letters),
        )  # fmt: skip
        arriving = replace(
            _arriving(skip_duplicates, on, cluster=cluster),
            skip=skip if skip is None or isinstance(skip, str) else tuple(skip), match=match,
            clustering=ClusterOptions(bound, canonical, tuple(prefer)),
        )  # fmt: skip
        total = run.count() if progress else None
        return self._index(
            run, arriving, progress, total, retry_failed=retry_failed, bulk_load=bulk_load, on_new=on_new
        )

    def fingerprint_lines(
        self,
        body: bytes,
        *,
        fields: Sequence[str] = (),
        format: str = "text",  # noqa: A002
        skip: bool = False,
        on: Sequence[str] = (),
        match: AnyRule = None,
    ) -> FingerprintedRequest:
        """The lines of a bulk request to the index, with the fingerprint fields of its documents.

        `fields` hold the text, of this `format`; by default the index's remembered fields. With `skip` documents of
        index and create are left out if they say the same as a stored document, by the rule `match` and the texts. `on`
        chooses other relations, as in ["edited=skip", "noise=store"]. A document with a stored id replaces the stored
        one and is never left out, and documents of one request are not compared with each other. Documents without
        text, or with fingerprints, and updates and deletions pass unchanged to the byte. Nothing is written. Raises
        UsageError, naming a wrong line, and for a store without an index.
        """
        from indexer.ingest.indexing import default_jobs
        from indexer.library.bulk_requests import BulkRequests
        from indexer.matching.asking import ReadingSettings

        with self._lock:
            how = ReadingSettings(default_jobs(), *Extraction().reading(content_of(self.store)), self.workers)
            texts = TextFields(tuple(fields), field_format_asked(format))
            given = texts if fields else None
            return BulkRequests(self.store, self.rule(match), how, given, skip=skip, on=on).fingerprinted(body)

    def get(self, id: str, *, left_out: bool = False) -> Described | None:  # noqa: A002
        """The document with this id, or None. Raises UsageError if several indices have one.

        With `left_out` the document is read again, and the answer has the parts missing in its text.
        """
        from indexer.library.results import with_left_out

        with self._lock:
            refs = self._refs([id])
            found = self._stored(refs)[0] if refs else None
            [record] = self.store.get(refs) if found and left_out else [None]
            return with_left_out(found, record, self.store) if found and record else found

    def delete(self, ids: str | Iterable[str], *, dry_run: bool = False, unknown: Unknown | None = None) -> Deleted:
        """Delete documents, and the records of failed ones; in a dry run list them.

        In an engine, an owner's documents only lose neardup's part. `unknown` is called with the error for each unknown
        id; without it, UsageError is raised for an ambiguous id.
        """
        from indexer.clustering.versions import Deletion
        from indexer.library.removals import Deleted

        listed: list[str] = []
        deleted = missing = 0
        with self._lock, self.store.turn(wanted=not dry_run):
            before, contended = len(self.store.stripped), self.store.contended.count
            deletion = Deletion(self.store)
            for names in chunks(ids if isinstance(ids, Iterable) and not isinstance(ids, str) else [ids], 1000):
                refs = self._known(asking.names_of(names), unknown, failed=True)
                missing += len(names) - len(refs)
                if dry_run:
                    listed += map(name_of, refs)
                else:
                    deleted += deletion.delete(refs)
                    deletion.renew()
            stripped = len(self.store.stripped) - before
            return Deleted(deleted - stripped, stripped, missing, self.tell_contended(contended), tuple(listed))

    def delete_copies(
        self,
        ids: str | Iterable[str],
        *,
        match: AnyRule = None,
        verify: Literal["text", "sketch"] | None = None,
        remove: str | Iterable[str] | None = None,
        dry_run: bool = False,
        unknown: Unknown | None = None,
        confirm: Callable[[Rows[Copy]], object] | None = None,
    ) -> Erased:
        """Delete documents and their copies with the same text, with `match` also near ones; or list them.

        A near document goes if `remove` names the relation of its text, read again, to a named document; by default if
        it says the same. With verify="sketch" all near ones go. As `neardup delete --copies-of`. `confirm` is called
        with the documents to delete, and raises to stop; `unknown` is as for `delete`. Raises UsageError for a text
        without a digest if there is no rule.
        """
        from indexer.clustering.copies import Copies
        from indexer.clustering.verdicts import Permitted

        if verify == "sketch" and remove is not None:
            raise UsageError("remove names relations, which texts tell; leave out --verify sketch")
        with self._lock, self.store.turn(wanted=not dry_run):
            contended, names = self.store.contended.count, asking.names_of(ids)
            refs = self._known(names, unknown)
            permitted = None if verify == "sketch" else Permitted.named(remove)
            copies = Copies(self.store, refs, self.rule_asked(match), permitted=permitted)
            outcomes = {"listed": copies.found}
            if confirm and copies.found and not dry_run:
                confirm(_rows(outcomes))
            if not dry_run:
                outcomes = copies.delete()
            return _erased(copies, outcomes, len(names) - len(refs), self.tell_contended(contended))

    def _known(self, names: Sequence[str], unknown: Unknown | None, *, failed: bool = False) -> list[Ref]:
        found = asking.found_each(self.store, names)
        recorded: frozenset[Ref] = frozenset()
        if failed and not all(found):
            recorded = frozenset(failure.ref for failure in self.store.failures())
        return list(_each_known(names, found, recorded, unknown))

    def failures(self, *, reason: str | None = None) -> Rows[FailedDocument]:
        """The documents that could not be indexed, with the reason; with `reason` only these."""
        return Rows(FailedDocument, self.iter_failures(reason=reason))

    def iter_failures(self, *, reason: str | None = None) -> Iterator[FailedDocument]:
        """Yield the failures one by one; see `failures`."""
        return self._turns(lambda: failure_rows(self.store, reason))

    def stats(self) -> StoreStats:
        """Counts of the store, and the versions behind its fingerprints."""
        from indexer.clustering.memory import last_clustering
        from indexer.ingest.remembered import files_passed_over
        from indexer.library.outcomes import StoreStats

        with self._lock:
            counts, info, clustering = self.store.stats(), self.store.info, last_clustering(self.store)
            passed = files_passed_over(self.store)
        return StoreStats.of(
            counts, store=self.name,
            clustered_at=clustering.at, clustering_finished=clustering.finished, made_with=asdict(info),
            passed_over=passed,
        )  # fmt: skip

    def schemes(self) -> Rows[KeptScheme]:
        """The schemes of the documents' sketches, the store's first scheme first."""
        from indexer.library.outcomes import KeptScheme

        with self._lock:
            info, counts = self.store.info, self.store.sketch_counts()
            first = KeptScheme(info.scheme, info.scheme, self.store.stats().fingerprinted)
        others = (KeptScheme(each.name, each.id, counts.get(each.name, 0)) for each in info.schemes)
        return Rows(KeptScheme, (first, *others))

    def remove_scheme(self, name: str) -> None:
        """Remove a scheme and its sketches. Raises UsageError for the store's first one, and an unknown one."""
        with self._lock, self.store.turn():
            if name == self.store.info.scheme:
                raise UsageError(f"{name} is the store's first scheme and can't be removed")
            if all(known.name != name for known in self.store.info.schemes):
                raise UsageError(f"{self.name}: has no scheme {name!r}")
            self.store.remove_scheme(name)

    def metrics(self) -> str:
        """The counts of the store as metrics in Prometheus's text format."""
        from indexer.report.metrics import exposition, metrics_of

        with self._lock:
            return exposition(metrics_of(self.store, self.name))

    def __bool__(self) -> bool:
        return True

    def __contains__(self, id: object) -> bool:  # noqa: A002
        return isinstance(id, str) and self.get(id) is not None

    def __getitem__(self, id: str) -> Described:  # noqa: A002
        record = self.get(id)
        if record is None:
            raise KeyError(id)
        return record

    def __iter__(self) -> Iterator[Described]:
        scan = self._turns(lambda: (record.ref for record in self.store.scan(sketches=False)))
        for refs in chunks(scan, AT_ONCE):
            with self._lock:
                stored = self._stored(refs)
            yield from stored

    def _indexing(
        self, making: Fingerprinting, paths: Sequence[str] = (), walk: Walk = Walk(),
        reading: Extraction = Extraction(), **more: Any,
    ) -> Indexing:  # fmt: skip
        # What extracts and writes is loaded by those who add documents, not by each question.
        from indexer.library.indexing import Indexing

        return Indexing(self.name, paths, walk, making, reading, tell=self.tell, into=self.store, **more)

    def _index(
        self, run: Indexing, arriving: Arriving, progress: Progress | None = None, total: int | None = None,
        **options: Any,
    ) -> Indexed:  # fmt: skip
        def told(count: int) -> None:
            if progress:
                progress(count, total)

        with self._lock, self.store.turn(wanted=bool(arriving)), run:
            done = run.run(arriving, progress=told, **options)
        told(run.summary.done)
        return done


def _arriving(skip_duplicates: bool | Literal["sketch"], on: Sequence[str], *, cluster: bool) -> Arriving:
    if isinstance(on, str) or (on and skip_duplicates == "sketch"):
        raise UsageError('on: give a list, as ["rendition=mark"], and not with skip_duplicates="sketch"')
    verify: Literal["sketch"] | None = "sketch" if skip_duplicates == "sketch" else None
    return Arriving(cluster, bool(skip_duplicates), verify=verify, on=tuple(on))


def failure_rows(store: Store, reason: str | None = None) -> Iterator[FailedDocument]:
    """The recorded failures, all or only for one reason."""
    for failure in store.failures():
        if not reason or failure.reason == reason:
            yield FailedDocument(
                name_of(failure.ref), failure.source, failure.reason, failure.detail, failure.failed_at
            )


def _each_known(
    names: Sequence[str], found: Sequence[Sequence[Ref]], recorded: frozenset[Ref], unknown: Unknown | None
) -> Iterator[Ref]:
    for name, refs in zip(names, found, strict=True):
        try:
            yield asking.only(name, refs or [Ref(name)] * (Ref(name) in recorded))
        except NotFoundError as error:
            if unknown:
                unknown(error)
        except UsageError as error:
            if unknown is None:
                raise
            unknown(error)


def _erased(
    copies: Copies, outcomes: Mapping[str, Sequence[RedundantDocument]], missing: int, contended: int
) -> Erased:
    from indexer.library.removals import Erased

    deleted, stripped, changed = (len(outcomes.get(name, ())) for name in ("deleted", "stripped", "changed"))
    unseen, tally = copies.uncompared, copies.tally
    examples = tuple(some[0] for some in tally.examples.values())
    return Erased(
        _rows(outcomes), deleted, stripped, changed, dict(tally.kinds), examples, missing,
        contended, unseen.documents, unseen.failures,
    )  # fmt: skip


def _rows(outcomes: Mapping[str, Sequence[RedundantDocument]]) -> Rows[Copy]:
    from indexer.ingest.from_store import origin_of_text
    from indexer.library.removals import Copy

    return Rows(
        Copy,
        (
            Copy(
                **stored_members(one.record), copy_of=name_of(one.repeats), similarity=one.similarity,
                identical=one.identical, relation=one.relation.word if one.relation else "",
                evidence=one.relation.evidence if one.relation else "", outcome=outcome,
                left=origin_of_text(one.record),
            )
            for outcome, some in outcomes.items()
            for one in some
        ),
    )  # fmt: skip
