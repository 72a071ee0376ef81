"""The removal of versions that are not the latest."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from indexer.clustering.assign import READ_AT_ONCE, cluster_of
from indexer.clustering.canonical import loses_mail
from indexer.clustering.decided import HeldDecisions
from indexer.clustering.history import signs_among
from indexer.clustering.memory import require_remembered
from indexer.clustering.relations import APART, Reason, mail_reason
from indexer.clustering.removal import RedundantDocument, Removal
from indexer.clustering.stored import StoredCluster, stored_clusters
from indexer.model import Record
from indexer.model.chunking import chunks
from indexer.relations.versions.order import Lineage, lineages
from indexer.stores.base import Store


class VersionPruning(Removal):
    """The versions of documents that are not the latest; each would go for the latest one of its cluster.

    Numbers and dates that the documents give, or the field of the clustering's time, put versions in order. What has an
    unknown order stays. Memory: the records of a cluster. Raises StoreError without clusters.
    """

    not_marked = "an older version"

    def __init__(self, store: Store, *, with_documents: bool = False, ignored: Sequence[str] = ()) -> None:
        super().__init__(store, with_documents=with_documents, ignored=ignored)
        remembered = require_remembered(store)
        self.rule, self._time = remembered.rule, remembered.canonical.time
        self._held = HeldDecisions(store)

    def _checked(self) -> Iterator[list[RedundantDocument]]:
        found = (each for cluster in stored_clusters(self.store, least=2) for each in self._of_cluster(cluster))
        for page in chunks(found, READ_AT_ONCE):
            yield self._confirmed(page)

    def _of_cluster(self, cluster: StoredCluster) -> Iterator[RedundantDocument]:
        read: list[tuple[Record, Hashable]] = []
        for some in chunks(cluster.members, READ_AT_ONCE):
            read += [
                (one.record, one.version)
                for one in self.store.versioned(some)
                if one and one.record and cluster_of(one.annotations) == cluster.id
            ]
        records = [record for record, _ in read]
        for lineage in lineages(signs_among(self.store, records, self._time)):
            # Members are by their similarity to the canonical document.
            latest = records[min(lineage.latest)]
            for place, why in _before_the_latest(lineage):
                record = records[place]
                reason = self._reason_to_keep(record, latest)
                yield RedundantDocument(record, cluster.id, latest.ref, -1.0, reason, version=read[place][1], older=why)

    def _reason_to_keep(self, record: Record, latest: Record) -> Reason | None:
        if self._held.are_apart(record.ref, latest.ref):
            return APART
        return mail_reason(latest.ref.id) if loses_mail(record.source, latest.source) else None


def _before_the_latest(lineage: Lineage) -> Iterator[tuple[int, str]]:
    """The places of older versions, each with the reason why the next one comes after it."""
    for step, why in zip(lineage.steps, lineage.evidence, strict=False):
        yield from ((place, why) for place in step if place not in lineage.latest)
