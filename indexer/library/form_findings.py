"""Find out if a store's near documents are mostly forms."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from indexer.ingest.rereading import StoredTexts
from indexer.matching.relating import AT_HAND, stored_texts
from indexer.model import Record, Ref, name_of
from indexer.model.findings import Finding
from indexer.model.refs import ref_order
from indexer.relations.relation import Relation
from indexer.stores.base import Store
from indexer.text.counts import counted

# Of so many clusters two documents each are read; fewer that could be compared say nothing.
_CLUSTERS, _FEWEST = 40, 5
_ADVICE = (
    "prune keeps forms; neardup report shows in what they differ, and neardup pairs --relation lists it; a rule that "
    "asks for more (--similarity 0.9) puts fewer of them into clusters"
)


def forms_found(store: Store) -> Iterator[Finding]:
    """The finding, if there are clusters: of up to forty, in the order of their ids, two documents each are read again.

    Files of more than 2 MB are not.
    """
    chosen = heapq.nsmallest(_CLUSTERS, store.clusters(), key=lambda cluster: cluster.id[::-1])
    if not chosen:
        return
    members: dict[str, list[Ref]] = {cluster.id: [] for cluster in chosen}
    for name, ref in store.cluster_members(list(members)):
        members[name].append(ref)
    pairs = []
    for cluster in chosen:
        others = sorted(set(members[cluster.id]) - {cluster.canonical}, key=ref_order)
        records = store.get([others[len(others) // 2], cluster.canonical], sketches=False) if others else ()
        pairs += [tuple(record for record in records if record)]
    yield _finding(store, [(pair[0], pair[1]) for pair in pairs if len(pair) > 1])


def _finding(store: Store, pairs: list[tuple[Record, Record]]) -> Finding:
    texts = stored_texts(store, StoredTexts(store, AT_HAND))
    texts.prepare([pair for pair in pairs if not texts.known(*pair)])
    made = [(pair, texts.between(*pair)) for pair in pairs]
    read = [(pair, relation) for pair, relation in made if isinstance(relation, Relation)]
    forms = [(pair, relation) for pair, relation in read if relation.word == "form"]
    if len(read) < _FEWEST:
        said = f"not known: it takes {_FEWEST} clusters with texts that can be read, and there are {len(read)}"
        return Finding("forms", "ok", said)
    says = f"in {len(forms):,} of {counted(len(read), 'cluster')} looked at, a document is a form of the canonical one"
    if 2 * len(forms) <= len(read):
        return Finding("forms", "ok", says)
    (one, other), relation = forms[0]
    said = f"{says}, with other facts; {name_of(one.ref)} beside {name_of(other.ref)}: {relation.evidence}"
    return Finding("forms", "warning", said, _ADVICE)
