"""The clusters of a collection: made, read, acted upon, reported."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from indexer.errors import UsageError
from indexer.library import asking
from indexer.library.forms import unread_of
from indexer.library.held import Held
from indexer.library.records import Cluster, Clustering, Pruned, SharedKey, Surplus, Written
from indexer.library.rows import Rows
from indexer.matching.rule import MatchRule
from indexer.model import name_of

if TYPE_CHECKING:
    from indexer.clustering.canonical import CanonicalRule
    from indexer.library.reports import Report


class Clusters(Held):
    """The clusters of a collection."""

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
        from indexer.matching.measures.reading import reader_of

        chosen = canonical_asked(canonical)
        with self._lock, self.store.turn(wanted=not dry_run):
            before = self.store.contended.count
            asked = None if match is None else self._rule(match)
            rule, bound, chosen, changed = obeyed(self.store, asked, bound, chosen)
            if changed:
                warnings.warn(f"{self.name}: {changed}", stacklevel=2)
            reader = reader_of(self.store, rule)
            made = cluster(
                self.store, rule, bound=bound, canonical=chosen, dry_run=dry_run, threads=threads, reader=reader
            )
        costliest = (
            SharedKey(name_of(each.example), each.scheme, each.documents, each.comparisons) for each in made.costliest
        )
        written = Written(made.changes.documents, made.changes.clusters, made.changes.removed)
        return Clustering(
            str(rule), made.documents, made.compared, made.lacking, made.clusters, made.clustered, made.largest,
            made.split, made.comparisons, tuple(costliest), unread_of(reader.unread if reader else {}), written,
            self.store.contended.count - before, changed, dry_run,
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
