"""Names of indices, and the paths of requests."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal, get_args
from urllib.parse import quote

from indexer.engine.client.base import Client
from indexer.engine.client.errors import AnswerError
from indexer.errors import StoreError

SideKind = Literal["failures", "clusters", "decisions", "resources", "keys", "passages"]
"""The indices that lie beside a store's own."""


def side_name(store: str, kind: SideKind | Literal["*"]) -> str:
    return ",".join(f"neardup-{part}-{kind}" for part in store.split(",") if part)


_OWN = "".join(f",-{side_name('*', kind)}" for kind in get_args(SideKind))


def path_of(name: str) -> str:
    return "/" + quote(name, safe="-")


def reading_path(name: str) -> str:
    """The path of searches, without the slash; a pattern in it does not match the indices beside other stores."""
    return quote(name + (_OWN if "*" in name else ""), safe="*,-")


def is_stream(indices: Iterable[str]) -> bool:
    return all(index.startswith(".ds-") for index in indices)


def indices_of(client: Client) -> frozenset[str]:
    path = f"/{reading_path(client.target.name)}/_settings/index.uuid"
    return frozenset(client.found(path, expand_wildcards="all") or ())


def resolved(client: Client) -> str:
    """The name in a client's URL, or of an alias of one index the name of that index.

    An alias that is filtered or routed is not all of its index, and one with a write index is made to roll over.
    """
    name = client.target.name
    try:
        known = {} if "*" in name or "," in name else client.found(path_of(name), filter_path="*.aliases") or {}
    except StoreError as error:
        # Some users may not ask for aliases; what they may do the commands find out.
        if isinstance(error.__cause__, AnswerError) and error.__cause__.status == 403:
            return name
        raise
    if len(known) != 1:
        return name
    [(index, there)] = known.items()
    about = there.get("aliases", {}).get(name)
    return name if about is None or about.keys() - {"is_hidden"} else index


def matches(expression: str, name: str) -> bool:
    meant = False
    for part in expression.split(","):
        pattern = part.removeprefix("-")
        # The engines know no wildcard but the asterisk.
        if fnmatchcase(name, re.sub(r"[?[]", r"[\g<0>]", pattern)):
            meant = pattern == part
    return meant
