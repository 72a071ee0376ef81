"""Things kept by name beside documents, each as JSON: failures, clusters and decisions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, Literal, TypeVar

from indexer.model import ClusterRecord, Failure, Ref
from indexer.model.decisions import Decision, decision_json, decision_of

T = TypeVar("T")
_REFS = ("ref", "canonical")


@dataclass(frozen=True, slots=True)
class KeptKind(Generic[T]):
    """A kind of things: its name, the names of things, and their JSON in ASCII.

    `read` raises KeyError, TypeError or ValueError for the JSON of anything else. `moved` makes a thing with other
    paths, by a function of a path.
    """

    name: Literal["failures", "clusters", "decisions"]
    name_of: Callable[[T], str]
    written: Callable[[T], str]
    read: Callable[[str], T]
    moved: Callable[[T, Callable[[str], str]], T]


def written(thing: Any) -> str:
    """A dataclass of JSON types, tuples and identities as a JSON list of its values."""
    values = [getattr(thing, field.name) for field in fields(thing)]
    return json.dumps([(one.id, one.index, one.routing) if isinstance(one, Ref) else one for one in values])


def reading(made: type[T]) -> Callable[[str], T]:
    """The function that reads what written() makes of such a dataclass. It raises TypeError and ValueError."""
    names = [field.name for field in fields(made)]  # type: ignore[arg-type] # a dataclass

    def read(exact: str) -> T:
        values = dict(zip(names, map(_tupled, json.loads(exact)), strict=True))
        return made(**values | {name: Ref(*values[name]) for name in _REFS if isinstance(values.get(name), tuple)})

    return read


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


def _moved_cluster(cluster: ClusterRecord, moved: Callable[[str], str]) -> ClusterRecord:
    origins, repeated = (tuple(map(moved, some)) for some in (cluster.origins, cluster.repeated_origins))
    return replace(cluster, origins=origins, repeated_origins=repeated)


FAILURES: KeptKind[Failure] = KeptKind(
    "failures",
    lambda failure: failure.ref.id,
    written,
    reading(Failure),
    lambda failure, moved: replace(failure, source=moved(failure.source)),
)
CLUSTERS: KeptKind[ClusterRecord] = KeptKind(
    "clusters", lambda cluster: cluster.id, written, reading(ClusterRecord), _moved_cluster
)
DECISIONS: KeptKind[Decision] = KeptKind(
    "decisions", lambda decision: decision.id, decision_json, decision_of, lambda decision, _: decision
)
