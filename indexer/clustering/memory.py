"""The remembered rule of a store's clusters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from indexer.clustering.canonical import CanonicalRule, read_canonical
from indexer.errors import IncompatibleStoreError, StoreError, UsageError
from indexer.matching.rule import MatchRule, default_rule, parse_rule
from indexer.model import ClusteringNote
from indexer.model.times import now
from indexer.stores.base import Store

AGAIN = "run neardup cluster again"
_RUNS = 50


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """The settings of clusters: their match rule, bound (0 to 1; None for the rule's own) and canonical rule.

    `at`, `arrived` and `apart` are those of the note of a finished clustering. `refused` is the reason not to put
    arriving documents into clusters, and `changed` says how the settings differ from the last ones.
    """

    rule: MatchRule
    bound: float | None = None
    canonical: CanonicalRule = field(default_factory=CanonicalRule)
    apart: str = ""
    at: str = ""
    arrived: tuple[str, ...] = ()
    refused: str = ""
    changed: str = ""

    @classmethod
    def noted(cls, note: ClusteringNote, store: Store) -> Self:
        """The settings in a note. Raises StoreError with the reason if the store can't serve them now."""
        try:
            bound = float(note.bound) if note.bound else None
            rule, canonical = parse_rule(note.rule, store), read_canonical(note.canonical)
        except (UsageError, IncompatibleStoreError, ValueError) as error:
            raise StoreError(
                f"the clusters were made by {note.rule}, which this store can't serve now ({error})"
            ) from error
        return cls(rule, bound, canonical, note.apart, note.at, note.arrived)

    def asked(
        self, rule: MatchRule | None, bound: float | None, canonical: CanonicalRule | None, apart: str | None = None
    ) -> ClusterSettings:
        """The requested settings, and these for what is None."""
        return ClusterSettings(
            rule or self.rule,
            self.bound if bound is None else bound,
            canonical or self.canonical,
            self.apart if apart is None else apart,
        )

    def note(self, *, reads: bool = True) -> ClusteringNote:
        """The note of a clustering by these settings, begun now."""
        written = "" if self.bound is None else f"{self.bound:.12g}"
        rule = self.rule.written(whole=True)
        return ClusteringNote(rule, written, str(self.canonical), at=now(), reads=reads, apart=self.apart)

    def has_seen(self, indexed_at: str) -> bool:
        return indexed_at <= self.at or any(
            begin <= indexed_at <= end for begin, _, end in (run.partition("/") for run in self.arrived)
        )


def arriving(store: Store, note: ClusteringNote, *, since: str = "") -> ClusteringNote:
    notes = store.clustering_notes().values()
    # Those that stand there already, and were never looked at, are not seen by what comes.
    at = min((one.at for one in notes), default="")
    # The parts of one run are noted as one.
    runs = [run for one in notes for run in one.arrived if not since or not run.startswith(f"{since}/")]
    runs += [f"{since}/{now()}"] * bool(since)
    return replace(note, finished=bool(since), at=at, arrived=tuple(dict.fromkeys(runs))[-_RUNS:])


def remembered(store: Store) -> ClusterSettings | None:
    """The clustering remembered by a store; None without clusters.

    Raises StoreError, with advice, after an interrupted run, for clusters without a remembered rule, and for different
    rules in the indices behind a name.
    """
    notes = store.clustering_notes()
    if not notes:
        if next(store.clusters(), None) is None:
            return None
        raise StoreError(f"the clusters that are stored don't say by which rule they were made: {AGAIN}")
    note = agreed(notes)
    try:
        return ClusterSettings.noted(note, store)
    except StoreError as error:
        raise StoreError(f"{error}: {AGAIN}") from error


def obeyed(
    store: Store, rule: MatchRule | None, bound: float | None, canonical: CanonicalRule | None, apart: str | None = None
) -> ClusterSettings:
    """The settings for new clusters: the requested ones, else the store's remembered ones, else its defaults.

    An interrupted run is remembered too.
    """
    notes = list(store.clustering_notes().values())
    new = ClusterSettings(rule or default_rule(store)).asked(rule, bound, canonical, apart)
    if len({_kind_of(note) for note in notes}) != 1:
        # None, or indices that were clustered by different rules: there is nothing to go on with.
        return new
    note = notes[0]
    try:
        before = ClusterSettings.noted(note, store)
    except StoreError as error:
        return replace(new, changed=str(error))
    new = before.asked(rule, bound, canonical, apart)
    noted = new.note()
    changes = [
        f"the {name} was {was} and is {now_} now"
        for name, same, was, now_ in (
            ("rule", note.rule == noted.rule, before.rule.name, new.rule.name),
            ("bound", note.bound == noted.bound, note.bound or "that of the rule", noted.bound),
            ("canonical rule", note.canonical == noted.canonical, note.canonical, noted.canonical),
            ("relation kept apart", note.apart == noted.apart, note.apart or "none", noted.apart or "none"),
        )
        if not same
    ]
    return replace(new, changed="; ".join(changes))


def noted_canonical(store: Store) -> CanonicalRule:
    for note in store.clustering_notes().values():
        with suppress(UsageError):
            return read_canonical(note.canonical)
    return CanonicalRule()


def timed(store: Store, asked: CanonicalRule | None, time: str | None) -> CanonicalRule | None:
    if time is None and asked is None:
        return None
    before = noted_canonical(store)
    return replace(asked or before, time=before.time if time is None else time)


def _kind_of(note: ClusteringNote) -> tuple[str, ...]:
    return note.rule, note.bound, note.canonical, note.apart


def agreed(notes: Mapping[str, ClusteringNote]) -> ClusteringNote:
    """The common note of all indices behind a name, with the earliest time.

    Raises StoreError after an interrupted run, and if they differ.
    """
    broken = sorted(index for index, note in notes.items() if not note.finished)
    if broken:
        where = f" of {', '.join(broken)}" if any(broken) else ""
        raise StoreError(f"the last clustering{where} was not finished ({notes[broken[0]].rule}): {AGAIN}")
    if len({_kind_of(note) for note in notes.values()}) > 1:
        listed = "; ".join(f"{index}: {note.rule}" for index, note in sorted(notes.items()))
        raise StoreError(f"the clusters were made by different rules ({listed}): {AGAIN} over all of them")
    return min(notes.values(), key=lambda note: note.at)


def require_remembered(store: Store) -> ClusterSettings:
    clustering = remembered(store)
    if clustering is None:
        raise StoreError("no clusters are stored; run neardup cluster first")
    return clustering


class LastClustering(NamedTuple):
    """The last clustering of all documents: its time, empty for never, and whether it was finished, None for never.

    `reads` is false if it was told to read no texts again.
    """

    at: str = ""
    finished: bool | None = None
    reads: bool = True


def last_clustering(store: Store) -> LastClustering:
    notes = store.clustering_notes().values()
    if not notes:
        return LastClustering()
    finished, reads = all(note.finished for note in notes), all(note.reads for note in notes)
    return LastClustering(min(note.at for note in notes), finished, reads)
