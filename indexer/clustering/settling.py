"""Keep the words a clustering has counted, and renew relations."""

from __future__ import annotations

from collections.abc import Sequence

from indexer.clustering.assign import READ_AT_ONCE, Assigner, cluster_of, repeated_by
from indexer.clustering.noted import recounted
from indexer.matching.lexicons import keep_lexicon
from indexer.model import Record, Ref
from indexer.model.chunking import chunks
from indexer.relations.lexicon import Lexicon
from indexer.relations.relation import verdict_of


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
    changed, of_cluster = [], dict[str, list[tuple[Record, str, str]]]()
    for (record, noted, _), word in zip(pairs, words, strict=True):
        before = noted["cluster"].get("relation", "")
        if not word or word == before:
            continue
        cluster = {**noted["cluster"], "relation": word}
        if verdict_of(word) != "could go":
            cluster.pop("relation_to", None)
        changed.append((record.ref, {"cluster": cluster}))
        told.subtract([before])
        told[word] += 1
        if name := cluster_of(noted):
            of_cluster.setdefault(name, []).append((record, before, word))
    assigner.changes.relations = +told
    if changed:
        store.annotate(changed)
    clusters = store.get_clusters(list(of_cluster))
    store.put_clusters([recounted(cluster, of_cluster[cluster.id]) for cluster in clusters if cluster])
