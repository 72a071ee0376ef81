"""A collection of documents in a store, which programs open, fill and query."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

from indexer.errors import NoStoreError, StoreError, UsageError
from indexer.extract.base import Content, Options
from indexer.ingest.indexing import DEFAULT_MIN_TOKENS, Settings, Summary, default_jobs, store_info
from indexer.ingest.indexing import index as run_index
from indexer.ingest.readers.named_columns import remembered
from indexer.ingest.sources import IdFrom, Input, Rejected, Selection, Sources
from indexer.library import asking
from indexer.library.given import columns_of, document, documents
from indexer.library.records import (
    Cluster,
    Clustering,
    Erased,
    Failure,
    Indexed,
    Match,
    Pair,
    Pruned,
    Similar,
    Stored,
    Surplus,
)
from indexer.library.rows import Rows, html_table
from indexer.matching.kept import schemes_of, schemes_of_new
from indexer.matching.rule import MatchRule, default_rule, parse_rule
from indexer.model import SIMHASH_DOC, Ref, name_of
from indexer.model.chunking import chunks
from indexer.opening import DEFAULT_WAIT, open_store
from indexer.stores import Stats, Store
from indexer.text.counts import counted
from indexer.text.hiding import shown_name

if TYPE_CHECKING:
    from indexer.clustering.canonical import CanonicalRule
    from indexer.library.reports import Report

T = TypeVar("T")
Progress = Callable[[int, int | None], None]
"""Told how many documents are done, and how many there are in all, None where that is not known."""

_AT_ONCE = 500


def open(  # noqa: A001 - as `shelve.open` and others
    store: str | os.PathLike[str],
    *,
    schemes: Sequence[str] | None = None,
    content: Content | None = None,
    filter: str | None = None,  # noqa: A002
    read_only: bool = False,
    wait: float = DEFAULT_WAIT,
) -> Collection:
    """Open the collection in a store, a file or the URL of an index in an engine; a new store is created.

    `schemes` are those by which documents get sketches besides simhash-doc (see `neardup schemes`); an existing store
    gets those that it lacks. `content` says what counts as the text of HTML, as in `neardup index`. `filter` limits
    the collection to documents that match a query in the engine's syntax. With `read_only` nothing is ever written. A
    file has one writer at a time: processes that share it take turns, one for each batch that is written, for a whole
    call where that compares or clusters, and wait up to `wait` seconds for theirs. Raises StoreError, NoStoreError if
    there is no store to read, and UsageError.
    """
    try:
        opened = open_store(store, read_only=read_only, wait=wait, any_thread=True)
    except NoStoreError:
        if read_only:
            raise
        made = schemes_of_new(None if schemes is None else ",".join((SIMHASH_DOC, *schemes)))
        info = store_info(content or "landmarks", made)
        opened = open_store(store, create=info, wait=wait, any_thread=True)
    try:
        if content is not None and content != opened.info.content:
            raise UsageError(f"content={content!r}: the store holds fingerprints of {opened.info.content!r}")
        if filter is not None:
            opened.narrow(filter)
        opened.take_turns()
        return Collection(opened, shown_name(os.fspath(store)), schemes or ())
    except BaseException:
        opened.close()
        raise


class Collection:
    """Documents in a store, as returned by `open`; a context manager that supports `len()`, `in`, `[id]` and iteration.

    Threads may share a collection, but their calls take turns; for parallel questions each thread opens its own with
    `read_only`. A forked process must open its own. Ids are strings; in an engine INDEX/ID is also an id. `match` is
    always a rule as in `parse_rule`, None for the store's default. Every method raises StoreError if the store can't
    be read or written.
    """

    def __init__(self, store: Store, name: str, schemes: Sequence[str] = ()) -> None:
        self.store, self.name = store, name
        self._added = tuple(schemes)
        self._lock = threading.RLock()

    # What is in it

    def add(
        self, id: str, text: str, *, title: str = "", source: str = "", **metadata: Any  # noqa: A002
    ) -> Literal["indexed", "replaced", "unchanged"]:  # fmt: skip
        """Add one text, with any metadata; it replaces a document with the same id.

        `add_many` is much faster for many documents. Raises UsageError if the store refuses the document.
        """
        if not isinstance(id, str) or not id or not isinstance(text, str):
            raise UsageError("add() takes an id, which is a non-empty string, and a text")
        given = document(id, text, title=title, source=source, metadata=metadata)
        summary = self._index((given,), Settings(jobs=0))
        for reason in summary.failed:
            failed = next((failure for failure in self.failures() if failure.id == id), None)
            raise UsageError(f"{id}: {reason}" + (f": {failed.detail}" if failed else ""))
        return "indexed" if summary.indexed else "replaced" if summary.replaced else "unchanged"

    def add_many(
        self,
        documents_: Any,
        *,
        fields: Mapping[str, str] | None = None,
        min_tokens: int = DEFAULT_MIN_TOKENS,
        cluster: bool = False,
        skip_duplicates: bool = False,
        progress: Progress | None = None,
    ) -> Indexed:
        """Add many documents: texts, pairs of id and text, dicts, a DataFrame, an Arrow table, a relation of DuckDB.

        DataFrames are those of pandas and Polars, lazy ones too; of Arrow also batches, readers, data sets, and what
        has its stream interface and named columns. A dict or row has `text` (or `html`) and optionally `id`, `title`,
        and `source` or `url`; `fields` maps other names, as in {"text": "body"}, in which dots select fields of
        objects. All other fields are metadata. A document without an id is named by its content, so that equal ones
        become one document. Documents that can't be read are counted as failed and listed by `failures`. With `cluster`
        each is put into its cluster; with `skip_duplicates` near-duplicates of stored documents are
        left out. Documents of fewer than `min_tokens` words are left out of answers. Raises UsageError if there are no
        documents in what is given.
        """
        total = len(documents_) if hasattr(documents_, "__len__") else None
        given = documents(documents_, columns_of(fields))
        settings = Settings(jobs=default_jobs(), min_tokens=min_tokens)
        return self._index(given, settings, cluster=cluster, skip=skip_duplicates, progress=progress, total=total)

    def index(  # noqa: PLR0913 - they are options of the command
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        id_from: IdFrom = "path",
        fields: Mapping[str, str] | None = None,
        jobs: int | None = None,
        cluster: bool = False,
        skip_duplicates: bool = False,
        progress: Progress | None = None,
    ) -> Indexed:
        """Add files, folders, patterns, or files with many documents, with the options of `neardup index`.

        `fields` are those of rows, as for `add_many`. `jobs` is the number of worker processes, one per processor if
        None. Raises NotFoundError for a path that does not exist.
        """
        named = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        columns = columns_of(fields)
        with self._lock, remembered(self.store) as known:
            taken = tuple(include), tuple(exclude)
            chosen = Selection(*taken, id_from=id_from, base=self._folder, columns=columns, known=known)

            def sources() -> Sources:
                return Sources([os.fspath(path) for path in named], chosen)

            total = sources().count() if progress else None
            how = Settings(jobs=jobs or default_jobs())
            return self._index(sources(), how, cluster=cluster, skip=skip_duplicates, progress=progress, total=total)

    def get(self, id: str) -> Stored | None:  # noqa: A002
        """The document with this id, or None. Raises UsageError if several indices have one."""
        with self._lock:
            refs = self._refs([id])
            return self._stored(refs)[0] if refs else None

    def delete(self, ids: str | Iterable[str]) -> int:
        """Delete documents; return how many. In an engine, an owner's documents only lose neardup's part."""
        with self._lock, self.store.turn():
            before = len(self.store.stripped)
            deleted = self.store.delete(self._refs(ids))
            return deleted - (len(self.store.stripped) - before)

    def delete_copies(
        self, ids: str | Iterable[str], *, match: str | MatchRule | None = None, dry_run: bool = False
    ) -> Erased:
        """Delete documents and what has the same text, with `match` also what is near by that rule; or list them.

        As `neardup delete --copies-of`. Raises UsageError for a text without a digest where there is no rule.
        """
        with self._lock, self.store.turn(wanted=not dry_run):
            refs = self._refs(ids)
            return asking.erased(self.store, refs, None if match is None else self._rule(match), dry_run=dry_run)

    def failures(self) -> Rows[Failure]:
        """The documents that could not be indexed, and why."""
        with self._lock:
            return Rows(Failure, asking.failure_rows(self.store))

    def stats(self) -> Stats:
        """Counts of the store."""
        with self._lock:
            return self.store.stats()

    def __len__(self) -> int:
        with self._lock:
            return self.store.count()

    def __bool__(self) -> bool:
        return True

    def __contains__(self, id: object) -> bool:  # noqa: A002
        return isinstance(id, str) and self.get(id) is not None

    def __getitem__(self, id: str) -> Stored:  # noqa: A002
        record = self.get(id)
        if record is None:
            raise KeyError(id)
        return record

    def __iter__(self) -> Iterator[Stored]:
        scan = self._turns(lambda: (record.ref for record in self.store.scan(sketches=False)))
        for refs in chunks(scan, _AT_ONCE):
            with self._lock:
                stored = self._stored(refs)
            yield from stored

    # What is near

    def similar(
        self,
        text: str | os.PathLike[str] | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        id: str | None = None,  # noqa: A002
        match: str | MatchRule | None = None,
        limit: int | None = 10,
        at_least: float | None = None,
        include_short: bool = False,
    ) -> Rows[Match]:
        """The documents near a text, a file (a Path, or `path`) or a stored document (`id`), the most similar first.

        `limit` is the maximum number, None for all. `at_least` (0 to 1) replaces the rule's thresholds; 0 returns the
        nearest candidates. Short documents are left out unless `include_short`. Raises UsageError, NotFoundError and
        ExtractionError.
        """
        from indexer.matching.asking import Answered
        from indexer.matching.lookups import lookup

        with self._lock:
            rule = self._rule(match)
            question = asking.question_of(self.store, text, path, id, self._folder)
            answer = lookup(
                self.store, rule, question, limit=limit, at_least=at_least, include_short=include_short,
                exclude=question.ref,
            )  # fmt: skip
        return asking.rows_of(Answered(question, answer))

    def similar_each(
        self,
        documents_: Any = None,
        *,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
        ids: Iterable[str] | None = None,
        fields: Mapping[str, str] | None = None,
        match: str | MatchRule | None = None,
        limit: int | None = 10,
        at_least: float | None = None,
        include_short: bool = False,
    ) -> Iterator[Similar]:
        """Yield what `similar` answers for each of many documents, in order; in an engine 50 are one request.

        Documents and `fields` are as for `add_many`, `paths` as for `index`; or they are stored ones, by `ids`. A
        document is no answer to itself: one with its id and source, or its path, is left out. One that can't be read,
        or is not stored, has an `error`. Memory: that of 50 documents. Raises UsageError.
        """

        with self._lock:
            asked = asking.questions(self.store, documents_, paths, ids, fields, self._folder)
            listing = asking.Listing(limit, at_least, include_short)
            found = asking.answers(self.store, self._rule(match), asked, listing)
        return self._turns(lambda: found, 1)

    def iter_pairs(
        self, *, match: str | MatchRule | None = None, collapse: bool = False, include_short: bool = False,
        threads: int | None = None,
    ) -> Iterator[Pair]:  # fmt: skip
        """Yield every pair of documents that the rule calls near, as it is found; see `pairs`."""
        from indexer.matching.pairing import pairs_of

        pairs = self._turns(
            lambda: pairs_of(
                self.store, self._rule(match), collapse=collapse, include_short=include_short, threads=threads
            )
        )
        return (Pair(name_of(pair.left), name_of(pair.right), pair.similarity) for pair in pairs)

    def pairs(
        self, *, match: str | MatchRule | None = None, collapse: bool = False, include_short: bool = False,
        threads: int | None = None,
    ) -> Rows[Pair]:  # fmt: skip
        """Every pair of documents that the rule calls near, the most similar first.

        With `collapse`, documents with equal sketches are paired only with the first of them. Short documents are left
        out unless `include_short`. Memory grows with the number of pairs; `iter_pairs` avoids that.
        """
        iterated = self.iter_pairs(match=match, collapse=collapse, include_short=include_short, threads=threads)
        return Rows(Pair, sorted(iterated, key=lambda pair: (-pair.similarity, pair.left, pair.right)))

    def cluster(
        self,
        *,
        match: str | MatchRule | None = None,
        bound: float | None = None,
        canonical: str | CanonicalRule | None = None,
        dry_run: bool = False,
        threads: int | None = None,
    ) -> Clustering:
        """Assign every document to its cluster, as `neardup cluster` does, and write the changes.

        `bound` (0 to 1) is how far apart two documents of a cluster may be; `canonical` chooses the canonical one:
        "earliest", "longest", "declared", "field:NAME" or "field:NAME:desc". What is not given is as in the last
        clustering; a UserWarning says what is not as it was. With `dry_run` nothing is written.
        """
        from indexer.clustering.canonical import canonical_asked
        from indexer.clustering.clusters import cluster
        from indexer.clustering.memory import obeyed

        chosen = canonical_asked(canonical)
        with self._lock, self.store.turn(wanted=not dry_run):
            asked = None if match is None else self._rule(match)
            rule, bound, chosen, changed = obeyed(self.store, asked, bound, chosen)
            if changed:
                warnings.warn(f"{self.name}: {changed}", stacklevel=2)
            made = cluster(self.store, rule, bound=bound, canonical=chosen, dry_run=dry_run, threads=threads)
        return Clustering(
            str(rule), made.documents, made.compared, made.lacking, made.clusters, made.clustered, made.largest,
            made.split, made.changes.documents, changed,
        )  # fmt: skip

    def clusters(self, *, least: int = 2) -> Rows[Cluster]:
        """The stored clusters of at least `least` documents, the largest first."""
        with self._lock:
            return Rows(Cluster, asking.cluster_rows(self.store, least))

    def prune(
        self,
        *,
        delete: bool = False,
        dry_run: bool = False,
        identical: bool = False,
        verify: Literal["sketch", "text"] | None = None,
        unverified: bool = False,
        with_documents: bool = False,
        ignore_field: Sequence[str] = (),
    ) -> Pruned:
        """Mark the documents that repeat a kept one, or delete them, as `neardup prune` does.

        `dry_run` lists them and changes nothing. `identical` selects only documents with the same text as the one that
        they repeat, `verify` requires a further verification, and `unverified` allows deleting by a simhash alone.
        `with_documents` deletes an owner's documents as a whole: identical ones, unless `verify` is given, without
        another field that differs, except for those in `ignore_field`. Raises UsageError if deleting requires a
        verification, and where documents can't be deleted so.
        """
        if (with_documents and not (delete or dry_run)) or (ignore_field and not with_documents):
            raise UsageError("with_documents goes with delete or dry_run, and ignore_field with with_documents")
        if isinstance(ignore_field, str):
            raise UsageError(f"ignore_field {ignore_field!r}: give a list of names")
        from indexer.clustering.prune import Pruning, verification

        with self._lock, self.store.turn(wanted=not dry_run):
            measure = verification(self.store, verify) if verify else None
            pruning = Pruning(
                self.store, verify=measure, unverified=unverified, identical=identical,
                with_documents=with_documents, ignored=ignore_field,
            )  # fmt: skip
            none: Rows[Surplus] = Rows(Surplus)
            if delete and not dry_run:
                before = len(self.store.stripped)
                deleted = pruning.delete()
                stripped = len(self.store.stripped) - before
                return Pruned(none, deleted=deleted - stripped, stripped=stripped)
            if not dry_run:
                done = pruning.mark()
                return Pruned(none, marked=done.documents, unmarked=done.removed)
            return Pruned(Rows(Surplus, asking.surplus_rows(pruning)))

    def report(self, *, clusters: int = 1000, members: int = 10, pairs: int = 25, time_field: str = "") -> Report:
        """A report on what is duplicated, as figures or a page. Raises UsageError if there was no clustering yet."""
        from indexer.library.reports import Report
        from indexer.report.contents import Asked, build_report

        with self._lock:
            return Report(build_report(self.store, self.name, Asked(clusters, members, pairs, time_field)))

    # Being open

    def close(self) -> None:
        """Close the store; it may be called twice."""
        with self._lock:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Collection({self.name!r}): {self._said()}"

    def _repr_html_(self) -> str:
        return html_table((), [("collection", self.name), ("documents", self._said())])

    def _said(self) -> str:
        try:
            return counted(len(self), "document")
        except StoreError:
            return "closed"

    def _index(
        self,
        inputs: Iterable[Input | Rejected],
        settings: Settings,
        *,
        cluster: bool = False,
        skip: bool = False,
        progress: Progress | None = None,
        total: int | None = None,
    ) -> Indexed:
        summary = Summary()

        def read_items() -> Iterator[Input | Rejected]:
            for item in inputs:
                if progress:
                    progress(summary.done, total)
                yield item

        with self._lock, self.store.turn(wanted=cluster or skip):
            schemes = schemes_of(self.store, self._added)
            for scheme in schemes:
                self.store.add_scheme(scheme.info)
            options = Options(content=cast(Content, self.store.info.content))
            made = replace(settings, options=options, schemes=schemes)
            coming = asking.arrivals(self.store, self.name, cluster=cluster, skip=skip) if cluster or skip else None
            has_read = inputs.has_read if isinstance(inputs, Sources) else None
            run_index(read_items(), self.store, made, summary=summary, arrivals=coming, has_read=has_read)
            if coming:
                coming.close()
        if progress:
            progress(summary.done, total)
        new, near = (coming.counts.new, coming.counts.near) if coming else (0, 0)
        return Indexed(
            summary.indexed, summary.replaced, summary.unchanged, dict(summary.failed), summary.failed_before,
            summary.duplicates, summary.short, summary.empty, new, near, summary.seconds,
        )  # fmt: skip

    def _rule(self, match: str | MatchRule | None) -> MatchRule:
        if match is None:
            return default_rule(self.store)
        return match if isinstance(match, MatchRule) else parse_rule(match, self.store)

    def _refs(self, given: str | Iterable[str]) -> list[Ref]:
        """The identities that names mean, without those that mean none. UsageError where one means several."""
        names = asking.names_of(given)
        found = zip(names, self.store.find_each(names), strict=True)
        return [asking.only(name, refs) for name, refs in found if refs]

    def _stored(self, refs: Sequence[Ref]) -> list[Stored]:
        return asking.stored_rows(self.store, refs)

    def _turns(self, make: Callable[[], Iterator[T]], at_once: int = _AT_ONCE) -> Iterator[T]:
        """The items of an iterator over the store, some at a time, so that other threads have their turn between."""
        with self._lock:
            items = make()
        while True:
            with self._lock:
                page = list(islice(items, at_once))
            if not page:
                return
            yield from page

    @property
    def _folder(self) -> str:
        """The folder that ids of files are seen from: that of an embedded store's file, empty for another."""
        path = getattr(self.store, "path", None)
        return os.path.dirname(os.path.abspath(path)) if isinstance(path, os.PathLike) else ""
