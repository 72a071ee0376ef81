"""The documents of a collection: added, read, deleted, counted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from indexer.errors import UsageError
from indexer.extract.base import Options
from indexer.ingest.indexing import IndexingSummary, Settings, default_jobs
from indexer.ingest.indexing import index as run_index
from indexer.ingest.readers.named_columns import remembered
from indexer.ingest.sources import IdFrom, Input, Rejected, Selection, Sources
from indexer.library.forms import stored_members
from indexer.library.given import columns_of, document, documents
from indexer.library.held import AT_ONCE, Held, Progress
from indexer.library.indexing import arrivals, indexed, with_added
from indexer.library.options import Arriving, content_of
from indexer.library.outcomes import Indexed
from indexer.library.records import Copy, Described, Erased, FailedDocument
from indexer.library.rows import Rows
from indexer.matching.rule import MatchRule
from indexer.model import DEFAULT_MIN_TOKENS, Ref, name_of
from indexer.model.chunking import chunks
from indexer.stores import Stats, Store


class Contents(Held):
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

    def get(self, id: str) -> Described | None:  # noqa: A002
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
            return erased(self.store, refs, None if match is None else self.rule(match), dry_run=dry_run)

    def failures(self, *, reason: str | None = None) -> Rows[FailedDocument]:
        """The documents that could not be indexed, and why; with `reason` those that failed for it."""
        return Rows(FailedDocument, self.iter_failures(reason=reason))

    def iter_failures(self, *, reason: str | None = None) -> Iterator[FailedDocument]:
        """Yield the failures one by one; see `failures`."""
        return self._turns(lambda: failure_rows(self.store, reason))

    def stats(self) -> Stats:
        """Counts of the store."""
        with self._lock:
            return self.store.stats()

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
        summary = IndexingSummary()
        arriving = Arriving(cluster=cluster, skip_duplicates=skip)

        def read_items() -> Iterator[Input | Rejected]:
            for item in inputs:
                if progress:
                    progress(summary.done, total)
                yield item

        with self._lock, self.store.turn(wanted=bool(arriving)):
            schemes = with_added(self.store, self._added)
            made = replace(settings, options=Options(content=content_of(self.store)), schemes=schemes)
            has_read = inputs.has_read if isinstance(inputs, Sources) else None
            with arrivals(self.store, arriving, self.tell) as coming:
                run_index(read_items(), self.store, made, summary=summary, arrivals=coming, has_read=has_read)
        if progress:
            progress(summary.done, total)
        return indexed(self.name, summary, coming, left_out=inputs.left_out if isinstance(inputs, Sources) else 0)


def failure_rows(store: Store, reason: str | None = None) -> Iterator[FailedDocument]:
    """The recorded failures, all or those for one reason."""
    for failure in store.failures():
        if not reason or failure.reason == reason:
            yield FailedDocument(
                name_of(failure.ref), failure.source, failure.reason, failure.detail, failure.failed_at
            )


def erased(store: Store, refs: Sequence[Ref], rule: MatchRule | None, *, dry_run: bool) -> Erased:
    """Delete documents and their copies, or list them in a dry run. Raises UsageError."""
    from indexer.clustering.copies import Copies

    copies = Copies(store, refs, rule)
    outcomes = {"listed": copies.found} if dry_run else copies.delete().by_outcome
    rows = [
        Copy(
            **stored_members(one.record), copy_of=name_of(one.of), similarity=one.similarity, identical=one.identical,
            outcome=outcome, left=one.left,
        )
        for outcome, some in outcomes.items()
        for one in some
    ]  # fmt: skip
    deleted, stripped, changed = (len(outcomes.get(name, ())) for name in ("deleted", "stripped", "changed"))
    unseen = copies.uncompared
    return Erased(Rows(Copy, rows), deleted, stripped, changed, unseen.documents, unseen.failures)
