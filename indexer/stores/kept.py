"""Things kept by name beside documents, each as JSON: failures, clusters and decisions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from indexer.errors import shown
from indexer.model import ClusterRecord, Failure, Ref
from indexer.model.decisions import Decision, decision_json, decision_of

T = TypeVar("T")
_LARGEST = 1 << 63


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
    """The function that reads what written() makes of such a dataclass; it raises TypeError and ValueError.

    Others can write into a file and into an engine, so each value must be of its type, and no number negative.
    """
    types = get_type_hints(made)
    takes = [_taking(types[field.name]) for field in fields(made)]  # type: ignore[arg-type] # a dataclass

    def read(exact: str) -> T:
        return made(*(take(value) for take, value in zip(takes, _listed(json.loads(exact)), strict=True)))

    return read


def _taking(kind: Any) -> Callable[[Any], Any]:
    args = get_args(kind)
    if kind is Ref:
        parts = _taking(tuple[str, str, str | None])
        return lambda value: Ref(*parts(value))
    if get_origin(kind) is tuple and args[-1] is Ellipsis:
        each = _taking(args[0])
        return lambda value: tuple(map(each, _listed(value)))
    if get_origin(kind) is tuple:
        takes = [_taking(one) for one in args]
        return lambda value: tuple(take(one) for take, one in zip(takes, _listed(value), strict=True))
    types = (int, float) if kind is float else args or (kind,)

    def take(value: Any) -> Any:
        if type(value) not in types or (isinstance(value, int | float) and not 0 <= value < _LARGEST):
            raise TypeError(f"{shown(value)} where {getattr(kind, '__name__', kind)} belongs")
        return value

    return take


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{shown(value)} where a list belongs")
    return value


def _moved_failure(failure: Failure, moved: Callable[[str], str]) -> Failure:
    source = moved(failure.source)
    return failure if source == failure.source else replace(failure, source=source)


def _moved_cluster(cluster: ClusterRecord, moved: Callable[[str], str]) -> ClusterRecord:
    there = cluster.origins, cluster.repeated_origins
    origins, repeated = now = tuple(map(moved, there[0])), tuple(map(moved, there[1]))
    return cluster if now == there else replace(cluster, origins=origins, repeated_origins=repeated)


FAILURES: KeptKind[Failure] = KeptKind(
    "failures", lambda failure: failure.ref.id, written, reading(Failure), _moved_failure
)
CLUSTERS: KeptKind[ClusterRecord] = KeptKind(
    "clusters", lambda cluster: cluster.id, written, reading(ClusterRecord), _moved_cluster
)
DECISIONS: KeptKind[Decision] = KeptKind(
    "decisions", lambda decision: decision.id, decision_json, decision_of, lambda decision, _: decision
)
