"""What the tests of clusters share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from indexer.clustering.annotations import stored_clusters
from indexer.clustering.arrivals import Arrivals
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.clusters import ClusteringOutcome, cluster
from indexer.clustering.memory import ClusterSettings
from indexer.matching.rule import MatchRule, parse_rule
from indexer.model import SIMHASH_DOC, Fingerprint, Record, Ref
from indexer.schemes.keys.simhash64 import SIMHASH64_LAYOUT
from indexer.schemes.simhash import sketched
from indexer.stores import Store, StoreInfo

INFO = StoreInfo(
    scheme=SIMHASH_DOC, layout=SIMHASH64_LAYOUT, content="landmarks", extractor="1", unicode="16.0.0", version="0.1.0"
)


def record(name: str, value: int | None, **fields: Any) -> Record:
    """A record with the true keys of its value."""
    own = {} if value is None else sketched(Fingerprint(value, fields.pop("tokens", 500)))
    return Record(Ref(name), own | fields.pop("sketches", {}), **fields)


def partition(store: Store) -> dict[str, str]:
    """The members of each cluster, their ids in order and run together, and the canonical one's id."""
    return {"".join(sorted(ref.id for ref in each.members)): each.canonical.id for each in stored_clusters(store)}


def wide(values: Sequence[int], bound: int) -> bool:
    """Whether any two are farther apart than the bound."""
    return any((a ^ b).bit_count() > bound for a in values for b in values)


def bits(distance: int) -> MatchRule:
    """The rule of simhash-doc alone."""
    return parse_rule(f"simhash-doc@{distance}bits")


def cluster_store(
    store: Store, distance: int = 3, *, bound: int | None = None, canonical: CanonicalRule | None = None, **more: Any
) -> ClusteringOutcome:
    """Cluster by simhash-doc alone, `bound` in bits."""
    return cluster(store, bits(distance), bound=None if bound is None else bound / 64, canonical=canonical, **more)


def arrivals_of(store: Store, distance: int = 3, **more: Any) -> Arrivals:
    """What looks at documents as they come, by simhash-doc alone."""
    return Arrivals(store, ClusterSettings(bits(distance)), **more)
