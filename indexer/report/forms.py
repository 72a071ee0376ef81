"""The section of a report on forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from indexer.clustering.annotations import StoredCluster
from indexer.matching.relating import RelatedTexts, stored_texts
from indexer.model import Record, Ref, name_of
from indexer.model.chunking import chunks
from indexer.relations.slots import FormSlot, slots_of
from indexer.relations.wording import Wording
from indexer.stores.base import Store

# So many documents of a cluster are read again, and the clusters of so many at once.
READ = 12
_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class ShownForm:
    """A cluster of forms: `canonical` is its frame; `forms` of `read` other documents have different facts."""

    cluster: str
    size: int
    canonical: str
    read: int
    forms: int
    slots: tuple[FormSlot, ...]


def largest_forms(store: Store, largest: Sequence[StoredCluster]) -> tuple[ShownForm, ...]:
    texts = stored_texts(store, brief=True)
    return tuple(form for some in chunks(largest, _AT_ONCE) for form in _of_some(store, texts, some))


def _of_some(store: Store, texts: RelatedTexts[Record], clusters: Sequence[StoredCluster]) -> Iterator[ShownForm]:
    refs = list(dict.fromkeys(ref for cluster in clusters for ref in _sample(cluster)))
    records = [record for record in store.get(refs, sketches=False) if record]
    texts.prepare([records])
    wordings = {record.ref: made for record in records if (made := texts.wording(record)) is not None}
    named: dict[Ref, Record] = {record.ref: record for record in records}
    for cluster in clusters:
        if form := _form(cluster, wordings, named, texts):
            yield form


def _sample(cluster: StoredCluster) -> list[Ref]:
    others = cluster.members[1:]
    step = max(1, len(others) / (READ - 1))
    return [cluster.members[0], *(others[int(at * step)] for at in range(min(len(others), READ - 1)))]


def _form(
    cluster: StoredCluster,
    wordings: Mapping[Ref, Wording],
    records: Mapping[Ref, Record],
    texts: RelatedTexts[Record],
) -> ShownForm | None:
    canonical, *sample = _sample(cluster)
    frame = wordings.get(canonical)
    others = [wordings[ref] for ref in sample if ref in wordings]
    if frame is None or not others:
        return None
    forms = [other for other in others if texts.related(other, frame).word == "form"]
    if 2 * len(forms) <= len(others):
        return None
    name = records[canonical].source or name_of(canonical)
    slots = tuple(slots_of(frame, forms))
    return ShownForm(cluster.id, len(cluster.members), name, len(others), len(forms), slots)
