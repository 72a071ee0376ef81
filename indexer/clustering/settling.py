"""Keep the words a clustering has counted, and renew relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from indexer.clustering.assign import READ_AT_ONCE, Assigner, cluster_of, repeated_by
from indexer.clustering.noted import could_go
from indexer.matching.lexicons import keep_lexicon
from indexer.model import Record, Ref
from indexer.model.chunking import chunks
from indexer.relations.lexicon import Lexicon


def settle(assigner: Assigner) -> None:
    lexicon = assigner.relations.learned()
    if lexicon is None or assigner.dry_run:
        return
    for refs in chunks(assigner.relations.depending(lexicon), READ_AT_ONCE):
        _tell_again(assigner, lexicon, refs)
    keep_lexicon(assigner.store, lexicon)


def _tell_again(assigner: Assigner, lexicon: Lexicon, refs: Sequence[Ref]) -> None:
    store = assigner.store
    there = [(*known, other) for ref, known in zip(refs, store.described(refs), strict=True) if known
             and (other := repeated_by(ref, known[1]))]  # fmt: skip
    others = store.get([other for _, _, other in there], sketches=False)
    pairs = [(record, noted, other) for (record, noted, _), other in zip(there, others, strict=True) if other]
    words = assigner.relations.settled(lexicon, [(record, other) for record, _, other in pairs])
    told = assigner.changes.relations
    changed, more = [], dict[str, list[tuple[Record, int]]]()
    for (record, noted, _), word in zip(pairs, words, strict=True):
        before = noted["cluster"].get("relation", "")
        if not word or word == before:
            continue
        changed.append((record.ref, {"cluster": {**noted["cluster"], "relation": word}}))
        told.subtract([before])
        told[word] += 1
        if (name := cluster_of(noted)) and could_go(word) != could_go(before):
            more.setdefault(name, []).append((record, 1 if could_go(word) else -1))
    assigner.changes.relations = +told
    if changed:
        store.annotate(changed)
    store.put_clusters([
        replace(
            cluster,
            redundant=cluster.redundant + sum(sign for _, sign in more[cluster.id]),
            redundant_bytes=cluster.redundant_bytes + sum(sign * record.size for record, sign in more[cluster.id]),
        )
        for cluster in store.get_clusters(list(more)) if cluster
    ])  # fmt: skip
