"""The removal of documents that another one can stand for: named, counted, deleted, or left alone with a reason."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from indexer.clustering.assign import READ_AT_ONCE, Changes, alone, cluster_of
from indexer.clustering.latest import Deletion
from indexer.matching.rule import MatchRule
from indexer.model import Record, Ref, name_of
from indexer.model.chunking import chunks
from indexer.model.refs import RefSet, RefTable
from indexer.relations.relation import Relation
from indexer.stores.base import Store
from indexer.stores.texts import OUTDATED
from indexer.text.counts import counted

# The annotation of a marked document: the id of the document that stands for it.
MARK = "duplicate_of"
# The kind of reason of a document that would go by the digest of a text that is no longer there.
_OUTDATED = "which were changed after they were fingerprinted, or repeat such a document (neardup annotate mends that)"
# Of the fields in which two documents differ.
_MOST_NAMED = 10
_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class RedundantDocument:
    """A document that `repeats` a kept one; `kept` says why it is kept all the same, empty where it is not.

    `similarity` (0 to 1) is that to the one that it repeats, found anew; below 0 where it is unknown. `identical` is
    whether their texts are known to be equal but for case and white space. `version` is the document's at that moment,
    and `kind` says what is kept for a like reason. `differs` names the fields of their owner's in which they differ,
    where documents would go as a whole. `relation` is that to the one that it repeats, None where texts were not
    compared.
    """

    record: Record
    cluster: str
    repeats: Ref
    similarity: float
    kept: str = ""
    identical: bool = False
    version: Hashable = None
    kind: str = ""
    differs: tuple[str, ...] = ()
    relation: Relation | None = None


@dataclass(slots=True)
class Tally:
    """Counts of surplus documents: `named` would go, of them `identical` ones, `total_bytes` in all; others are `kept`.

    `least` is the smallest similarity (0 to 1) of those that would go, `relations` counts them by their relation to
    what they repeat, `lost` the words of edited ones that stand in no kept document. `kinds` counts the reasons for
    which others are kept, with a few `examples` of each, and `differing` the fields of their owner's among them.
    """

    named: int = 0
    identical: int = 0
    total_bytes: int = 0
    kept: int = 0
    least: float = 1.0
    lost: int = 0
    relations: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    differing: Counter[str] = field(default_factory=Counter)

    def add(self, surplus: RedundantDocument) -> None:
        """Count one more."""
        if surplus.kept:
            self.kept += 1
            self.kinds[surplus.kind] += 1
            self.differing.update(surplus.differs)
            if self.kinds[surplus.kind] <= _EXAMPLES:
                self.examples.setdefault(surplus.kind, []).append(f"{surplus.record.ref.id}: {surplus.kept}")
            return
        self.named += 1
        self.total_bytes += surplus.record.size
        self.identical += surplus.identical
        # Texts that are equal are wholly similar, whatever their sketches say.
        self.least = min(self.least, 1.0 if surplus.identical else surplus.similarity)
        if surplus.relation:
            self.relations[surplus.relation.word] += 1
            self.lost += surplus.relation.removed

    def losses(self) -> str:
        """The relations of those that would go, with what they lose, in a line; empty where these are unknown."""
        said = ", ".join(f"{count:,} {word}" for word, count in self.relations.most_common())
        lost = f"; {counted(self.lost, 'word')} of edited ones stand in no kept document" if self.lost else ""
        return f"would go: {said}{lost}" if said else ""

    def reasons(self) -> Iterator[str]:
        """The reasons why documents are kept, in a few lines."""
        for kind, count in self.kinds.most_common():
            yield f"kept: {counted(count, 'document')} {kind}" + ", such as" * (count > _EXAMPLES)
            yield from (f"  {example}" for example in self.examples[kind])
        if self.differing:
            named = [f"{name} ({count:,})" for name, count in self.differing.most_common(2 * _MOST_NAMED)]
            more = f" and {counted(len(self.differing) - len(named), 'other')}" * (len(self.differing) > len(named))
            yield f"fields that differ: {', '.join(named)}{more}"


class Removal(ABC):
    """Documents of a store that another one, which stays, can stand for.

    `with_documents` deletes documents of their owner's as a whole, of which none is named that differs from the one
    that stands for it in another field than those `ignored`. `outdated` counts the documents that stay, since their
    text, or that of what they repeat, was changed after it was fingerprinted. Raises UsageError where the store has no
    such documents, StoreError where it does not show all of their fields.
    """

    def __init__(self, store: Store, *, with_documents: bool = False, ignored: Sequence[str] = ()) -> None:
        if with_documents:
            store.differing(())
        self.store, self.with_documents, self._ignored = store, with_documents, tuple(ignored)
        self.outdated = 0

    @property
    @abstractmethod
    def rule(self) -> MatchRule:
        """The rule by which the documents were found."""

    @abstractmethod
    def _checked(self) -> Iterator[list[RedundantDocument]]:
        """The documents in batches, each compared with what stands for it as both are at that moment."""

    @abstractmethod
    def remark(self) -> str:
        """A sentence where texts were to be compared and none could be read; empty else, and before they were."""

    @abstractmethod
    def require_verified(self) -> None:
        """Raise UsageError where documents would be deleted that nothing verifies."""

    def mark(self, *, dry_run: bool = False) -> Changes:
        """Give each surplus document the annotation `duplicate_of`, the id of what it repeats; take old marks away.

        Only what changed is written, and only to documents that are as they were checked. The counts are of documents
        marked (`documents`) and unmarked (`removed`).
        """
        store, changes, marked = self.store, Changes(), RefTable()
        surplus = (document for document in self.surplus() if not document.kept)
        for page in chunks(surplus, READ_AT_ONCE):
            refs = [document.record.ref for document in page]
            marked.extend(refs)
            annotations = store.annotations(refs)
            changed = [
                (document.record.ref, {MARK: document.repeats.id})
                for document, old in zip(page, annotations, strict=True)
                if old is not None and old.get(MARK) != document.repeats.id
            ]
            changes.documents += len(changed)
            if changed and not dry_run:
                before = store.contended.count
                store.annotate(changed, versions={document.record.ref: document.version for document in page})
                changes.documents -= store.contended.count - before
        right = RefSet(marked, np.arange(len(marked)))
        having = (ref for ref, annotations in store.scan_annotations() if MARK in annotations)
        for refs in chunks(having, READ_AT_ONCE):
            stale = [(ref, {MARK: None}) for ref, known in zip(refs, right.contains(refs), strict=True) if not known]
            changes.removed += len(stale)
            if stale and not dry_run:
                before = store.contended.count
                store.annotate(stale)
                changes.removed -= store.contended.count - before
        return changes

    def surplus(self) -> Iterator[RedundantDocument]:
        """The documents that another one stands for."""
        for page in self._checked():
            yield from page

    def delete(self) -> int:
        """Delete each surplus document that is still as it was checked; how many were.

        A document that is left alone in its cluster is then in none. Raises UsageError where that needs a verification;
        see `require_verified`.
        """
        self.require_verified()
        store, count = self.store, 0
        # A store whose marks can't be written keeps its documents.
        store.annotate(())
        deletion, touched = Deletion(store), set[str]()
        for page in self._checked():
            named = {document.record.ref: document for document in page if not document.kept}
            versions = {ref: document.version for ref, document in named.items()}
            count += deletion.delete(list(named), versions=versions, owners=self.with_documents)
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
        """Forget those of some clusters that have lost all members but one."""
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
        """The same documents, of which those are kept that their owner has changed, or that differ in another field."""
        surplus = self._without_outdated(surplus)
        if not self.with_documents:
            return surplus
        named = [place for place, document in enumerate(surplus) if not document.kept]
        found = self.store.differing([(surplus[place].record.ref, surplus[place].repeats) for place in named])
        for place, fields in zip(named, found, strict=True):
            document = surplus[place]
            if differs := tuple(field for field in fields if not self._is_ignored(field)):
                more = f" and {counted(len(differs) - _MOST_NAMED, 'other')}" * (len(differs) > _MOST_NAMED)
                says = f"it differs from {document.repeats.id} in {', '.join(differs[:_MOST_NAMED])}{more}"
                surplus[place] = replace(document, kept=says, kind="with other fields that differ", differs=differs)
        return surplus

    def _without_outdated(self, surplus: list[RedundantDocument]) -> list[RedundantDocument]:
        named = [document for document in surplus if not document.kept]
        if self.store.capabilities.embedded or not named:
            return surplus
        stand_ins = self.store.get(list({document.repeats for document in named}), sketches=False)
        known = {record.ref: record for record in (*(document.record for document in named), *stand_ins) if record}
        outdated = self.store.outdated(list(known.values()))

        def checked(document: RedundantDocument) -> RedundantDocument:
            changed = next((ref for ref in (document.record.ref, document.repeats) if ref in outdated), None)
            if document.kept or changed is None:
                return document
            self.outdated += 1
            return replace(document, kept=f"the text of {name_of(changed)} {OUTDATED}", kind=_OUTDATED)

        return list(map(checked, surplus))

    def _is_ignored(self, field: str) -> bool:
        return any(field == name or field.startswith(f"{name}.") for name in self._ignored)
