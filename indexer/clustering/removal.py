"""The removal of documents with a stand-in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from indexer.clustering.annotations import MARK, READ_AT_ONCE, alone, annotate, cluster_of
from indexer.clustering.assign import Changes
from indexer.clustering.verdicts import Reason
from indexer.clustering.versions import Deletion
from indexer.errors import UsageError
from indexer.matching.rule import MatchRule
from indexer.model import Record, Ref, name_of
from indexer.model.chunking import chunks
from indexer.model.refs import RefSet, RefTable
from indexer.relations.relation import Relation
from indexer.stores.base import Store
from indexer.stores.texts import OUTDATED
from indexer.text.counts import counted

# The kind of reason of a document that would go by the digest of a text that is no longer there.
_OUTDATED = "changed since the fingerprint, or repeating a changed document (neardup annotate mends that)"
# Of the fields in which two documents differ.
_MOST_NAMED = 10
_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class RedundantDocument:
    """A document that `repeats` a kept one, or itself if somebody named it; with a `reason` it is kept all the same.

    `similarity` (0 to 1) is computed anew; below 0 if unknown. `identical` says that their texts are known to be equal
    except for case and white space. `version` is the document's at that moment. `differs` names the owner's fields that
    differ. `relation` is None if texts were not compared. `older` says why the document is an older version of the kept
    one.
    """

    record: Record
    cluster: str
    repeats: Ref
    similarity: float
    reason: Reason | None = None
    identical: bool = False
    version: Hashable = None
    differs: tuple[str, ...] = ()
    relation: Relation | None = None
    older: str = ""

    @property
    def kept(self) -> str:
        """The reason to keep it, in a sentence; empty without one."""
        return self.reason.sentence if self.reason else ""


@dataclass(slots=True)
class Tally:
    """Counts of surplus documents: `named` would go, of them `identical` ones, `total_bytes` in all; others are `kept`.

    `least` is the smallest similarity (0 to 1) of those to go, `longer` go for a text that says more, `lost` counts the
    their words found in no kept document. `kinds` counts the reasons to keep others, with a few `examples` of
    each, and `differing` the owner's fields among them.
    """

    named: int = 0
    identical: int = 0
    total_bytes: int = 0
    kept: int = 0
    least: float = 1.0
    longer: int = 0
    lost: int = 0
    relations: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    differing: Counter[str] = field(default_factory=Counter)

    def add(self, surplus: RedundantDocument) -> None:
        if surplus.reason:
            kind, says = surplus.reason
            self.kept += 1
            self.kinds[kind] += 1
            self.differing.update(surplus.differs)
            if self.kinds[kind] <= _EXAMPLES:
                self.examples.setdefault(kind, []).append(f"{surplus.record.ref.id}: {says}")
            return
        self.named += 1
        self.total_bytes += surplus.record.size
        self.identical += surplus.identical
        # Texts that are equal are wholly similar, whatever their sketches say.
        self.least = min(self.least, 1.0 if surplus.identical else surplus.similarity)
        if surplus.relation:
            self.relations[surplus.relation.word] += 1
            self.longer += surplus.relation.added > 0
            self.lost += surplus.relation.lost

    def losses(self) -> str:
        said = ", ".join(f"{count:,} {word}" for word, count in self.relations.most_common())
        longer = f"; {self.longer:,} for a longer text" if self.longer else ""
        lost = f"; {counted(self.lost, 'word')} of theirs stand in no kept document" if self.lost else ""
        return f"would go: {said}{longer}{lost}" if said else ""

    def reasons(self) -> Iterator[str]:
        for kind, count in self.kinds.most_common():
            yield f"kept: {counted(count, 'document')}: {kind}" + ", such as" * (count > _EXAMPLES)
            yield from (f"  {example}" for example in self.examples[kind])
        if self.differing:
            named = [f"{name} ({count:,})" for name, count in self.differing.most_common(2 * _MOST_NAMED)]
            more = f" and {counted(len(self.differing) - len(named), 'other')}" * (len(self.differing) > len(named))
            yield f"fields that differ: {', '.join(named)}{more}"


class Removal(ABC):
    """Documents of a store with a kept stand-in.

    `outdated` counts documents kept because their text, or the repeated one's, changed after the fingerprint.
    """

    rule: MatchRule
    """The rule that found the documents."""
    not_marked = ""
    """A name for documents that repeat no other one."""

    def __init__(self, store: Store) -> None:
        self.store, self.outdated = store, 0
        self._ignored: tuple[str, ...] | None = None

    def with_documents(self, ignored: Sequence[str]) -> Self:
        """Delete documents of their owner's as a whole, if no field except those `ignored` differs from the stand-in's.

        Raises UsageError if the store has no documents of an owner, StoreError if it does not show all of their fields.
        """
        self.store.differing(())
        self._ignored = tuple(ignored)
        return self

    @abstractmethod
    def _found(self) -> Iterator[RedundantDocument]:
        """The documents with a stand-in, each with the verdict on it, cluster by cluster."""

    def remark(self) -> str:
        """A sentence if texts were to be compared and none could be read; empty else, and before."""
        return ""

    def require_verified(self) -> None:  # noqa: B027 - most are
        """Raise UsageError if unverified documents would be deleted."""

    def mark(self, *, dry_run: bool = False) -> Changes:
        """Give each surplus document the annotation `duplicate_of`, the id of the one it repeats; take old marks
        away. Raises UsageError for what is `not_marked`.
        """
        if self.not_marked:
            raise UsageError(
                f"{self.not_marked} is not a duplicate and can't be marked: list it (dry_run), or delete it"
            )
        store, changes, marked = self.store, Changes(), RefTable()
        surplus = (document for document in self.surplus() if not document.kept)
        for page in chunks(surplus, READ_AT_ONCE):
            refs = [document.record.ref for document in page]
            marked.extend(refs)
            changed = [
                (document.record.ref, {MARK: document.repeats.id})
                for document, old in zip(page, store.annotations(refs), strict=True)
                if old is not None and old.get(MARK) != document.repeats.id
            ]
            versions = {document.record.ref: document.version for document in page}
            changes.documents += len(changed) if dry_run else annotate(store, changed, versions)
        right = RefSet(marked, np.arange(len(marked)))
        having = (ref for ref, annotations in store.scan_annotations() if MARK in annotations)
        for refs in chunks(having, READ_AT_ONCE):
            stale = [(ref, {MARK: None}) for ref, known in zip(refs, right.contains(refs), strict=True) if not known]
            changes.removed += len(stale) if dry_run else annotate(store, stale)
        return changes

    def surplus(self) -> Iterator[RedundantDocument]:
        for page in chunks(self._found(), READ_AT_ONCE):
            yield from self._confirmed(page)

    def delete(self) -> int:
        """Delete each surplus document that is still as checked; returns how many.

        Raises UsageError if it needs a verification; see `require_verified`.
        """
        self.require_verified()
        store, count = self.store, 0
        # A store whose marks can't be written keeps its documents.
        store.annotate(())
        deletion, touched = Deletion(store), set[str]()
        for page in chunks(self.surplus(), READ_AT_ONCE):
            named = {document.record.ref: document for document in page if not document.kept}
            versions = {ref: document.version for ref, document in named.items()}
            count += deletion.delete(list(named), versions=versions, owners=self._ignored is not None)
            touched |= {document.cluster for document in named.values() if document.cluster}
            # The members of one cluster mostly come one after the other.
            going_on = touched & {document.cluster for document in page[-1:]}
            deletion.renew(going_on=going_on)
            self._leave(touched - going_on)
            touched = going_on
        deletion.renew()
        self._leave(touched)
        return count

    def _leave(self, clusters: Collection[str]) -> None:
        store = self.store
        left: dict[str, list[Ref]] = {name: [] for name in clusters}
        for page in chunks(store.cluster_members(sorted(clusters)), READ_AT_ONCE):
            # An engine may still find what was deleted just now.
            for (name, ref), said in zip(page, store.annotations([ref for _, ref in page]), strict=True):
                if said and cluster_of(said) == name:
                    left[name].append(ref)
        store.annotate([(refs[0], {"cluster": alone(refs[0])}) for refs in left.values() if len(refs) == 1])
        store.delete_clusters([name for name, refs in left.items() if len(refs) < 2])

    def _confirmed(self, surplus: list[RedundantDocument]) -> list[RedundantDocument]:
        surplus = self._without_outdated(surplus)
        if (ignored := self._ignored) is None:
            return surplus
        named = [place for place, document in enumerate(surplus) if not document.kept]
        found = self.store.differing([(surplus[place].record.ref, surplus[place].repeats) for place in named])
        for place, fields in zip(named, found, strict=True):
            document = surplus[place]
            differs = tuple(
                field for field in fields if not any(field == name or field.startswith(f"{name}.") for name in ignored)
            )
            if differs:
                more = f" and {counted(len(differs) - _MOST_NAMED, 'other')}" * (len(differs) > _MOST_NAMED)
                says = f"it differs from {document.repeats.id} in {', '.join(differs[:_MOST_NAMED])}{more}"
                surplus[place] = replace(document, reason=Reason("other fields differ", says), differs=differs)
        return surplus

    def _without_outdated(self, surplus: list[RedundantDocument]) -> list[RedundantDocument]:
        named = [document for document in surplus if not document.kept]
        if self.store.embedded or not named:
            return surplus
        stand_ins = self.store.get(list({document.repeats for document in named}), sketches=False)
        known = {record.ref: record for record in (*(document.record for document in named), *stand_ins) if record}
        outdated = self.store.outdated(list(known.values()))

        def checked(document: RedundantDocument) -> RedundantDocument:
            changed = next((ref for ref in (document.record.ref, document.repeats) if ref in outdated), None)
            if document.kept or changed is None:
                return document
            self.outdated += 1
            return replace(document, reason=Reason(_OUTDATED, f"the text of {name_of(changed)} {OUTDATED}"))

        return list(map(checked, surplus))
