"""The clusters of a collection: made, read, acted upon, reported."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from indexer.errors import UsageError
from indexer.library.forms import relation_members, stored_members, unread_of
from indexer.library.records import Cluster, Clustering, SharedKey, Written
from indexer.library.resting import resting_rows
from indexer.library.rows import Rows
from indexer.library.rules import AnyRule
from indexer.library.stores import OpenStore
from indexer.library.surplus import Pruned, Surplus
from indexer.model import name_of

if TYPE_CHECKING:
    from indexer.clustering.canonical import CanonicalRule
    from indexer.clustering.removal import Removal
    from indexer.library.evaluating import Evaluated, Named
    from indexer.library.histories import History
    from indexer.library.options import Extraction, NamedFields
    from indexer.library.reports import Report


class SurplusStream(Iterator[Surplus]):
    """An iterator over the documents that repeat a kept one; its `tally` counts those that have come.

    They were near by `rule`.
    """

    def __init__(self, pruning: Removal, surplus: Iterator[Any]) -> None:
        from indexer.clustering.removal import Tally

        self.rule, self.tally, self._pruning, self._surplus = pruning.rule, Tally(), pruning, surplus

    @property
    def remark(self) -> str:
        """A sentence where texts had to be compared and none could be read, known at the end; else empty."""
        return self._pruning.remark()

    def __next__(self) -> Surplus:
        one = next(self._surplus)
        self.tally.add(one)
        return Surplus(
            **stored_members(one.record), cluster=one.cluster, repeats=name_of(one.repeats), similarity=one.similarity,
            identical=one.identical, kept=one.kept, differs=one.differs, **relation_members(one.relation),
            lost=one.relation.removed if one.relation else 0,
        )  # fmt: skip


class Clusters(OpenStore):
    """The clusters of a collection."""

    def cluster(
        self,
        *,
        match: AnyRule = None,
        bound: float | None = None,
        canonical: str | CanonicalRule | None = None,
        prefer: Sequence[str] = (),
        relation: bool = False,
        dry_run: bool = False,
        threads: int | None = None,
        explain: bool = False,
    ) -> Clustering:
        """Assign every document to its cluster, as `neardup cluster` does, and write the changes.

        `bound` (0 to 1) is how far apart two documents of a cluster may be; `canonical` chooses the canonical one:
        "earliest", "longest", "declared", "newest", "oldest", "field:NAME", "field:NAME:desc", or "source", by the
        patterns in `prefer`. With `relation` texts are read again, and it is noted how each document that could be
        removed stands to the one that it repeats; else only of those that are identical.
        What is not given is as in the last clustering; a UserWarning says what is not as it was. With `dry_run` nothing
        is written; `explain` tells what the rule looks up.
        """
        from indexer.clustering.canonical import canonical_asked
        from indexer.clustering.clusters import cluster
        from indexer.clustering.memory import obeyed
        from indexer.clustering.resting import largest_resting
        from indexer.matching.measures.reading import reader_of

        chosen = canonical_asked(canonical, prefer)
        with self._lock, self.store.turn(wanted=not dry_run):
            before = self.store.contended.count
            rule, bound, chosen, changed = obeyed(self.store, self.rule_asked(match), bound, chosen)
            if changed:
                self.tell(changed, level="warning")
            self.tell_size(rule)
            if explain:
                self.tell_plan(rule)
            reader = reader_of(self.store, rule)
            made = cluster(
                self.store, rule, bound=bound, canonical=chosen, relation=relation, dry_run=dry_run, threads=threads,
                reader=reader,
            )  # fmt: skip
            contended = self.tell_contended(before)
            resting = () if dry_run else resting_rows(largest_resting(self.store))
        costliest = (
            SharedKey(name_of(each.example), each.scheme, each.documents, each.comparisons) for each in made.costliest
        )
        written = Written(made.changes.documents, made.changes.clusters, made.changes.removed)
        return Clustering(
            str(rule), made.documents, made.compared, made.lacking, made.clusters, made.clustered, made.largest,
            made.split, made.changes.versions, made.changes.unordered, dict(made.changes.relations.most_common()),
            made.comparisons, tuple(costliest),
            unread_of(reader.unread if reader else {}), written, contended, changed, tuple(resting), dry_run,
        )  # fmt: skip

    def history(self, id: str, *, changes: bool = True) -> History:  # noqa: A002
        """The versions of a document in its cluster, in their order in time, and what each changed.

        `changes` reads the texts again. Raises UsageError and NotFoundError.
        """
        from indexer.library.histories import history_of

        with self._lock:
            return history_of(self.store, id, changes=changes)

    def clusters(self, *, least: int = 2) -> Rows[Cluster]:
        """The stored clusters of at least `least` documents, the largest first."""
        from indexer.clustering.stored import stored_clusters

        with self._lock:
            rows = [
                Cluster(
                    one.id, len(one.members), name_of(one.canonical), tuple(map(name_of, one.members)), one.similarities
                )
                for one in stored_clusters(self.store, least=least)
            ]
        return Rows(Cluster, sorted(rows, key=lambda one: (-one.size, one.id)))

    def prune(  # noqa: PLR0913 - they are options of the command
        self,
        *,
        delete: bool = False,
        dry_run: bool = False,
        identical: bool = False,
        verify: Literal["sketch", "text"] | None = None,
        unverified: bool = False,
        forms: bool = False,
        edited: bool = False,
        with_documents: bool = False,
        ignore_field: Sequence[str] = (),
        parts: bool = False,
    ) -> Pruned:
        """Mark the documents that repeat a kept one, or delete them, as `neardup prune` does.

        Texts are read again and aligned; those stay in which facts differ, unless `forms`, and those of which more than
        2% of the words, or a number, name or replaced word, stand in no kept one, unless `edited`. `identical` selects
        only documents with the same text as the one that they repeat. With verify="sketch" the stored sketches have to
        agree instead, with `unverified` nothing has to. `dry_run` lists the documents and changes nothing.
        `with_documents` deletes an owner's documents as a whole: identical ones, unless `verify` is given, without
        another field that differs, except for those in `ignore_field`. `parts` names instead what stands whole in a
        longer document that stays, whether or not there are clusters. Raises UsageError where documents can't be
        deleted so.
        """
        if (with_documents or parts) and not (delete or dry_run):
            raise UsageError(f"{'parts' if parts else 'with_documents'} goes with delete or dry_run")
        with self._lock, self.store.turn(wanted=not dry_run):
            before = self.store.contended.count
            pruning = self._removal(identical, verify, unverified, forms, edited, with_documents, ignore_field, parts)
            if dry_run:
                rows = list(SurplusStream(pruning, pruning.surplus()))
                return Pruned(Rows(Surplus, rows, pruning.remark()))
            if delete:
                held = len(self.store.stripped)
                deleted = pruning.delete()
                self._tell_unread(pruning)
                stripped = len(self.store.stripped) - held
                contended = self.tell_contended(before)
                return Pruned(deleted=deleted - stripped, stripped=stripped, contended=contended)
            done = pruning.mark()
            self._tell_unread(pruning)
            return Pruned(marked=done.documents, unmarked=done.removed, contended=self.tell_contended(before))

    def surplus(  # noqa: PLR0913 - those of prune
        self,
        *,
        delete: bool = False,
        identical: bool = False,
        verify: Literal["sketch", "text"] | None = None,
        unverified: bool = False,
        forms: bool = False,
        edited: bool = False,
        with_documents: bool = False,
        ignore_field: Sequence[str] = (),
        parts: bool = False,
    ) -> SurplusStream:
        """The documents that `prune` would mark, one by one as they are compared, or would delete with `delete`.

        Raises UsageError as `prune` does.
        """
        with self._lock:
            pruning = self._removal(identical, verify, unverified, forms, edited, with_documents, ignore_field, parts)
            if delete:
                pruning.require_verified()
        return SurplusStream(pruning, self._turns(pruning.surplus))

    def _removal(
        self,
        identical: bool,
        verify: str | None,
        unverified: bool,
        forms: bool,
        edited: bool,
        with_documents: bool,
        ignored: Sequence[str],
        parts: bool,
    ) -> Removal:
        from indexer.clustering.parts import PartPruning
        from indexer.clustering.prune import Pruning, sketch_verification
        from indexer.clustering.relations import Permitted

        if ignored and not with_documents:
            raise UsageError("ignore_field goes with with_documents")
        if isinstance(ignored, str):
            raise UsageError(f"ignore_field {ignored!r}: give a list of names")
        if parts:
            if identical or verify or unverified or forms or edited:
                raise UsageError("parts stand whole in another text: nothing else is demanded of them, or permitted")
            return PartPruning(self.store, with_documents=with_documents, ignored=ignored)
        # Documents of an owner go as a whole, so that it takes a word to remove more than what is identical.
        by_text = not (identical or unverified or verify == "sketch" or (with_documents and verify is None))
        if (forms or edited) and not by_text:
            raise UsageError("forms and edited are for documents whose texts are compared")
        return Pruning(
            self.store, verify=sketch_verification(self.store) if verify == "sketch" else None, unverified=unverified,
            identical=identical, with_documents=with_documents, ignored=ignored,
            permitted=Permitted(forms, edited) if by_text else None,
        )  # fmt: skip

    def _tell_unread(self, pruning: Removal) -> None:
        if remark := pruning.remark():
            self.tell(remark, level="warning")

    def evaluate(  # noqa: PLR0913 - they are options of the command
        self,
        rules: Sequence[str] = (),
        *,
        truth: Named | str | os.PathLike[str] | None = None,
        sample: int = 2000,
        alike: float = 0.8,
        right: float = 0.5,
        parts: bool = False,
        fields: NamedFields | None = None,
        jobs: int | None = None,
        extraction: Extraction | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Evaluated:
        """Measure match rules on a `sample` of the documents; see `indexer.library.evaluating.evaluate`."""
        from indexer.library.evaluating import evaluate

        with self._lock:
            return evaluate(
                rules, truth=truth, sample=sample, alike=alike, right=right, parts=parts, fields=fields, jobs=jobs,
                extraction=extraction, store=self.store, progress=progress,
            )  # fmt: skip

    def report(
        self, *, clusters: int = 1000, members: int = 10, pairs: int = 25, passages: int = 0, time_field: str = ""
    ) -> Report:
        """A report on what is duplicated, as figures or a page; with `passages` all documents are read again for these.

        Raises UsageError if there was no clustering yet.
        """
        from indexer.library.reports import Report
        from indexer.report.contents import ReportLimits, build_report

        with self._lock:
            return Report(
                build_report(self.store, self.name, ReportLimits(clusters, members, pairs, time_field, passages))
            )
