"""What stores keep by name beside documents: failures, clusters and decisions, each as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Generic, Literal, TypeVar

from indexer.model import ClusterRecord, Failure, Ref
from indexer.model.decisions import Decision, decision_json, decision_of

T = TypeVar("T")
_CLUSTER = tuple(field.name for field in fields(ClusterRecord))


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A kind of things: its name, the name of each thing, and its JSON in ASCII.

    `read` raises KeyError, TypeError or ValueError for the JSON of anything else. `moved` is the thing with another
    text in the place of each of its paths.
    """

    name: Literal["failures", "clusters", "decisions"]
    name_of: Callable[[T], str]
    written: Callable[[T], str]
    read: Callable[[str], T]
    moved: Callable[[T, Callable[[str], str]], T]


def _written_failure(failure: Failure) -> str:
    ref = failure.ref
    texts = (failure.source, failure.reason, failure.detail, failure.failed_at, failure.source_digest)
    return json.dumps([ref.id, ref.index, ref.routing, *texts])


def _failure(written: str) -> Failure:
    name, index, routing, *texts = json.loads(written)
    return Failure(Ref(name, index, routing), *texts)


def _written_cluster(cluster: ClusterRecord) -> str:
    ref = cluster.canonical
    values = {name: getattr(cluster, name) for name in _CLUSTER}
    return json.dumps([*(values | {"canonical": (ref.id, ref.index, ref.routing)}).values()])


def _cluster(written: str) -> ClusterRecord:
    values = dict(zip(_CLUSTER, json.loads(written), strict=True))
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    own = {"canonical": Ref(*values["canonical"]), "relations": tuple(map(tuple, values["relations"]))}
    return ClusterRecord(**values | lists | own)


def _moved_cluster(cluster: ClusterRecord, moved: Callable[[str], str]) -> ClusterRecord:
    origins, repeated = (tuple(map(moved, some)) for some in (cluster.origins, cluster.repeated_origins))
    return replace(cluster, origins=origins, repeated_origins=repeated)


FAILURES: Kind[Failure] = Kind(
    "failures",
    lambda failure: failure.ref.id,
    _written_failure,
    _failure,
    lambda failure, moved: replace(failure, source=moved(failure.source)),
)
CLUSTERS: Kind[ClusterRecord] = Kind("clusters", lambda cluster: cluster.id, _written_cluster, _cluster, _moved_cluster)
DECISIONS: Kind[Decision] = Kind(
    "decisions", lambda decision: decision.id, decision_json, decision_of, lambda decision, _: decision
)
