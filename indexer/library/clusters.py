"""The clusters of a collection: made, read, acted upon, reported."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from indexer.errors import UsageError
from indexer.library.options import RemovalRequest
from indexer.library.records import Cluster, Clustering, SharedKey, Written, resting_rows
from indexer.library.results import unread_of
from indexer.library.rows import Rows
from indexer.library.stores import OpenStore
from indexer.matching.shorthand import AnyRule
from indexer.model import name_of
from indexer.stores.texts import OUTDATED
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.clustering.canonical import CanonicalRule
    from indexer.clustering.removal import Removal
    from indexer.library.evaluating import Evaluated, Named
    from indexer.library.histories import History
    from indexer.library.judgments import Decisions, JudgedRule
    from indexer.library.options import Extraction, NamedFields
    from indexer.library.removals import Pruned, Relocations, SurplusStream
    from indexer.library.reports import Report
    from indexer.matching.relating import Relating
    from indexer.stores.base import Store


class Clusters(OpenStore):
    """The clusters of a collection."""

    def cluster(  # noqa: PLR0913 - they are options of the command
        self,
        *,
        match: AnyRule = None,
        bound: float | None = None,
        canonical: str | CanonicalRule | None = None,
        prefer: Sequence[str] = (),
        time_field: str | None = None,
        relation: Relating | None = None,
        apart: Literal["form", "none"] | None = None,
        dry_run: bool = False,
        threads: int | None = None,
        explain: bool = False,
    ) -> Clustering:
        """Assign every document to its cluster, as `neardup cluster` does, and write the changes.

        `bound` (0 to 1) is the greatest distance of two documents in a cluster. `canonical` chooses the canonical one:
        "earliest", "longest", "declared", "newest", "oldest", "field:NAME", "field:NAME:desc", or "source", by the
        patterns in `prefer`. `time_field` names the field with the date for the earliest, also an owner's, as "field"
        does; by default it is the time neardup met a document. The relation of each removable document to the one it
        repeats is determined once, by texts read again: in fields of an index and in files of at most 2 MB; all texts
        if `relation` is true, including those unreadable before; none if it is false, also for later documents, so only
        identical documents can go. With `apart` "form" a document with other facts than its neighbours is in a cluster
        of its own, with its copies; then all texts of clusters are read. Options not given are as in the last
        clustering; a UserWarning reports changed ones. With `dry_run` nothing is written; `explain` reports the rule's
        lookups.
        """
        from indexer.clustering.canonical import canonical_asked, require_fields
        from indexer.clustering.clusters import cluster
        from indexer.clustering.common_passages import largest_resting
        from indexer.clustering.forms_kept_apart import apart_asked
        from indexer.clustering.memory import obeyed, timed
        from indexer.matching.measures.reading import reader_of

        asked = canonical_asked(canonical, prefer)
        with self._lock, self.store.turn(wanted=not dry_run):
            before = self.store.contended.count
            asked = timed(self.store, asked, time_field)
            if asked:
                require_fields(asked, self.store)
            by = obeyed(self.store, self.rule_asked(match), bound, asked, apart_asked(apart))
            if by.changed:
                self.tell(by.changed, level="warning")
            self.tell_size(by.rule)
            if explain:
                self.tell_plan(by.rule)
            reader = reader_of(self.store, by.rule)
            made = cluster(
                self.store, by.rule, bound=by.bound, canonical=by.canonical, relation=relation, apart=by.apart,
                dry_run=dry_run, threads=threads, reader=reader,
            )  # fmt: skip
            contended = self.tell_contended(before)
            self._tell_order(by.canonical, made.clustered, made.changes.without_field)
            resting = () if dry_run else resting_rows(largest_resting(self.store))
        costliest = (
            SharedKey(name_of(each.example), each.scheme, each.documents, each.comparisons) for each in made.costliest
        )
        written = Written(made.changes.documents, made.changes.clusters, made.changes.removed)
        changes = made.changes
        return Clustering.of(
            made, rule=str(by.rule), not_comparable=made.lacking, versions=changes.versions,
            unordered=changes.unordered, apart=changes.apart, relations=dict(changes.relations.most_common()),
            costliest=tuple(costliest), unread=unread_of(reader.unread if reader else {}), written=written,
            contended=contended, changed=by.changed, resting=tuple(resting), dry_run=dry_run,
        )  # fmt: skip

    def _tell_order(self, rule: CanonicalRule, clustered: int, without: int) -> None:
        if without:
            names = " or ".join(rule.fields)
            self.tell(f"of {counted(clustered, 'document')} in clusters {without:,} without {names}, which come last")
        dates = None if rule.time or rule.kind == "field" or not clustered else self.store.date_fields()
        if dates is not None:
            named = f"; --time-field goes by a date of yours: {', '.join(dates[:5])}" if dates else ""
            self.tell(f"the earliest document of a cluster is the first that annotate met{named}")

    def history(self, id: str, *, changes: bool = True, time_field: str | None = None) -> History:  # noqa: A002
        """The versions of a document in its cluster, in their order in time, with the changes between them.

        `changes` reads the texts again. `time_field` names the field with the dates of documents; without it that of
        the last clustering counts. Raises UsageError and NotFoundError.
        """
        from indexer.library.histories import history_of

        with self._lock:
            return history_of(self.store, id, changes=changes, time_field=time_field)

    def clusters(self, *, least: int = 2) -> Rows[Cluster]:
        """The stored clusters of at least `least` documents, the largest first."""
        from indexer.clustering.annotations import stored_clusters

        with self._lock:
            rows = [
                Cluster(
                    one.id, len(one.members), name_of(one.canonical), tuple(map(name_of, one.members)), one.similarities
                )
                for one in stored_clusters(self.store, least=least)
            ]
        return Rows(Cluster, sorted(rows, key=lambda one: (-one.size, one.id)))

    def prune(self, asked: RemovalRequest = RemovalRequest(), *, delete: bool = False, dry_run: bool = False) -> Pruned:
        """Mark the documents that repeat a kept one, or delete them, as `neardup prune` does.

        `asked` selects them; `dry_run` only lists them. Raises UsageError if they can't be deleted this way.
        """
        for name in ("with_documents", "parts", "last_copies", "older_versions"):
            if getattr(asked, name) and not (delete or dry_run):
                raise UsageError(f"{name} goes with delete or dry_run")
        from indexer.library.removals import Pruned, Surplus, SurplusStream

        with self._lock, self.store.turn(wanted=not dry_run):
            before = self.store.contended.count
            removal = _removal_of(asked, self.store)
            if dry_run:
                rows = list(SurplusStream(removal, removal.surplus()))
                return Pruned(Rows(Surplus, rows, removal.remark()))
            if delete:
                held = len(self.store.stripped)
                deleted = removal.delete()
                stripped = len(self.store.stripped) - held
                done = Pruned(deleted=deleted - stripped, stripped=stripped)
            else:
                marked = removal.mark()
                done = Pruned(marked=marked.documents, unmarked=marked.removed)
            self._tell_kept(removal)
            return replace(done, contended=self.tell_contended(before), outdated=removal.outdated)

    def surplus(self, asked: RemovalRequest = RemovalRequest(), *, delete: bool = False) -> SurplusStream:
        """The documents `prune` would mark, one by one as they are compared, or would delete with `delete`.

        Raises UsageError as `prune` does.
        """
        from indexer.library.removals import SurplusStream

        with self._lock:
            removal = _removal_of(asked, self.store)
            if delete:
                removal.require_verified()
        return SurplusStream(removal, self._turns(removal.surplus))

    def relocate(
        self,
        asked: RemovalRequest = RemovalRequest(),
        *,
        move_to: str | os.PathLike[str] | None = None,
        link: Literal["hard", "symbolic"] | None = None,
        list_file: str | os.PathLike[str] | None = None,
        dry_run: bool = False,
    ) -> Relocations:
        """Move the files `prune` would select to a folder, or replace them by links to the kept files.

        Only whole-document files with the indexed bytes are touched, and only if the kept file is unchanged too; for a
        link both have to be equal. Nothing is overwritten, and no symbolic link is followed. Each act is in the list, a
        new file, and noted in the store before it is done, and `undo` takes it back. The store follows a move. Raises
        UsageError for a folder inside of the indexed ones, and for a store in a search engine.
        """
        from indexer.library.removals import relocate

        if asked.with_documents or asked.parts or (asked.older_versions and link):
            raise UsageError("with_documents and parts are for documents of a store, and links for equal files")
        with self._lock, self.store.turn(wanted=not dry_run):
            removal = _removal_of(asked, self.store)
            removal.require_verified()
            return relocate(removal, move_to=move_to, link=link, list_file=list_file, dry_run=dry_run)

    def undo(self, list_file: str | os.PathLike[str], *, dry_run: bool = False) -> Relocations:
        """Put back the files in a list of `relocate`, the last first, and let the store follow.

        Only acts noted by the store are taken back, and only for unchanged files, so a forged list can do nothing.
        Raises UsageError for other files.
        """
        from indexer.library.removals import undo

        with self._lock, self.store.turn(wanted=not dry_run):
            return undo(self.store, list_file, dry_run=dry_run)

    def decide(
        self, decisions: str | os.PathLike[str] | None = None, *, forget: Sequence[str] = (), dry_run: bool = False
    ) -> Decisions:
        """Remember the decisions of a file, forget some by their ids, and list the remembered ones.

        Documents called the same stay in one cluster from then on, others stay apart, as long as the texts are
        unchanged. Raises UsageError for another file, and NotFoundError for an unknown id.
        """
        from indexer.library.judgments import decide

        with self._lock, self.store.turn(wanted=not dry_run and bool(decisions or forget)):
            return decide(self.store, decisions, forget, dry_run=dry_run)

    def _tell_kept(self, removal: Removal) -> None:
        if remark := removal.remark():
            self.tell(remark, level="warning")
        if removal.outdated:
            stays = counted(removal.outdated, "document stays", "documents stay")
            self.tell(f"{stays}: the document itself, or the document it repeats, {OUTDATED}", level="warning")

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
        """Measure match rules on a `sample` of the documents; see `neardup.library.evaluating.evaluate`."""
        from indexer.library.evaluating import evaluate

        with self._lock:
            return evaluate(
                rules, truth=truth, sample=sample, alike=alike, right=right, parts=parts, fields=fields, jobs=jobs,
                extraction=extraction, store=self.store, progress=progress,
            )  # fmt: skip

    def judge(self, judgments: str | os.PathLike[str], *, precision: float = 0.95) -> JudgedRule:
        """The precision of the clusters' rule, by the judgments of a random sample saved from a report.

        The sample is drawn again by its seed, and only its documents count, with the texts as judged. `precision` is
        the wanted one for a threshold. Raises UsageError for another file, and StoreError without clusters.
        """
        from indexer.library.judgments import judged_rule

        with self._lock:
            return judged_rule(self.store, judgments, precision=precision)

    def report(
        self, *, clusters: int = 1000, members: int = 10, pairs: int = 25, passages: int = 0, time_field: str = "",
        sample: int = 60, link: str = "",
    ) -> Report:  # fmt: skip
        """A report on the duplicates, as figures or a page; with `passages` all documents are read again.

        A page offers a random `sample` of documents that repeat others, to be judged, and with `link` links to the
        documents, as `neardup report --link` does. Raises UsageError without a clustering.
        """
        from indexer.library.reports import Report
        from indexer.report.contents import build_report
        from indexer.report.limits import ReportLimits

        with self._lock:
            limits = ReportLimits(clusters, members, pairs, passages, sample, time_field, link)
            return Report(build_report(self.store, self.name, limits))


def _removal_of(asked: RemovalRequest, store: Store) -> Removal:
    removal = _removal_by(asked, store)
    return removal.with_documents(asked.ignore_field) if asked.with_documents else removal


def _removal_by(asked: RemovalRequest, store: Store) -> Removal:
    from indexer.clustering.decision_acts import DecidedPruning
    from indexer.clustering.decision_file import read_decisions
    from indexer.clustering.parts import PartPruning
    from indexer.clustering.prune import VersionPruning

    if asked.ignore_field and not asked.with_documents:
        raise UsageError("ignore_field goes with with_documents")
    if isinstance(asked.ignore_field, str):
        raise UsageError(f"ignore_field {asked.ignore_field!r}: give a tuple of names")
    if asked.last_copies and asked.decisions is None:
        raise UsageError("last_copies goes with decisions")
    instead = [name for name in ("decisions", "parts", "older_versions") if getattr(asked, name)]
    if len(instead) > 1 or (instead and (asked.remove is not None or asked.verify or asked.unverified)):
        raise UsageError(f"{instead[0]} says what goes: nothing else is demanded, or permitted")
    if asked.decisions is not None:
        return DecidedPruning(store, read_decisions(asked.decisions), last_copies=asked.last_copies)
    if asked.parts or asked.older_versions:
        return PartPruning(store) if asked.parts else VersionPruning(store)
    return _pruning(asked, store)


def _pruning(asked: RemovalRequest, store: Store) -> Removal:
    from indexer.clustering.prune import Pruning, sketch_verification
    from indexer.clustering.verdicts import Permitted
    from indexer.relations.relation import COPIES

    by_sketch = asked.unverified or asked.verify == "sketch"
    if by_sketch and asked.remove is not None:
        raise UsageError('remove names relations, which texts tell: leave out unverified and verify="sketch"')
    # Documents of an owner go as a whole, so that it takes a word to remove more than what is identical.
    whole = asked.with_documents and asked.verify is None
    usual = ("identical",) if whole else COPIES
    return Pruning(
        store, verify=sketch_verification(store) if asked.verify == "sketch" else None, unverified=asked.unverified,
        permitted=None if by_sketch and not whole else Permitted.named(asked.remove, usual),
    )  # fmt: skip
