"""The versions of a stored document, in time order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from indexer.clustering.assign import READ_AT_ONCE, cluster_of, is_alone
from indexer.clustering.canonical import value_of
from indexer.model import Record
from indexer.model.chunking import chunks
from indexer.model.refs import ref_order
from indexer.relations.versions.order import Lineage, Order, compared, lineages
from indexer.relations.versions.signs import Signs, signs_of
from indexer.stores.base import Store


@dataclass(frozen=True, slots=True)
class VersionHistory:
    """The members of a document's `cluster` (None for a document alone), by their known order.

    `records` holds them, that of the document first. `lineage` orders its versions, None if there are none or their
    order is unknown; `others` are the remaining members, each by its place with its order in time against the document.
    """

    cluster: str | None
    records: tuple[Record, ...]
    lineage: Lineage | None
    others: tuple[tuple[int, Order], ...]


def version_history(store: Store, record: Record, time: str = "") -> VersionHistory:
    """The versions of a document among the members of its cluster, by their present declarations.

    `time` names the field with their date. Memory: the records of the cluster.
    """
    [annotations] = store.annotations([record.ref])
    cluster = None if annotations is None or is_alone(record.ref, annotations) else cluster_of(annotations)
    refs = {ref for _, ref in store.cluster_members([cluster])} if cluster else set()
    members = [record.without_sketches()]
    for some in chunks(sorted(refs - {record.ref}, key=ref_order), READ_AT_ONCE):
        members += [each for each in store.get(some, sketches=False) if each]
    signs = signs_among(store, members, time)
    found = next((each for each in lineages(signs) if any(0 in step for step in each.steps)), None)
    inside = {place for step in found.steps for place in step} if found else {0}
    others = [(place, compared(signs[place], signs[0])) for place in range(len(members)) if place not in inside]
    return VersionHistory(cluster, tuple(members), found, tuple(others))


def signs_among(store: Store, members: Sequence[Record], time: str) -> list[Signs]:
    """The signs of documents of a cluster; `time` names the field with their date, empty for none."""
    owners = store.owners_values(members, [time]) if time else [{}] * len(members)
    return [
        signs_of(each, value_of(each, values, time) if time else None)
        for each, values in zip(members, owners, strict=True)
    ]
