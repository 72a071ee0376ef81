"""Search templates: requests an application sends by name, without neardup."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.names import path_of
from indexer.engine.index.mapping import load
from indexer.engine.setup.provision import SetupStep, put_new, seen
from indexer.errors import UsageError

KINDS = ("similar", "cluster")
# The word in the files that stands for the name of the index.
_INDEX = "INDEX"


class SearchTemplates:
    """Plans the set-up and the removal of the search templates of a client's index, alias or data stream.

    `neardup-similar-NAME` finds the documents sharing keys with a document, `neardup-cluster-NAME` its cluster; both
    take its `id`, and if asked for its `index` and a `size`.
    """

    def __init__(self, client: Client) -> None:
        self.client, self.name, self.shown = client, client.target.name, client.target.shown

    def id_of(self, kind: str) -> str:
        return f"neardup-{kind}-{self.name}"

    def set_up(self) -> list[SetupStep]:
        steps = []
        for kind in KINDS:
            wanted, there = self.template(kind), self._there(kind)
            if there is not None and not _is_own(kind, there):
                raise UsageError(
                    f"{self.shown}: the engine has a stored script {self.id_of(kind)!r} that belongs to the owner; "
                    "rename it"
                )
            if there is None or json.loads(there) != wanted["script"]["source"]:
                what = f"the search template {self.id_of(kind)}"
                steps.append(put_new(what, self._path(kind), wanted, new=there is None))
        return steps

    def removal(self, *, asked: bool) -> list[SetupStep]:
        return [
            SetupStep(f"delete the search template {self.id_of(kind)}", "DELETE", self._path(kind))
            for kind, there in seen(KINDS, self._there, asked=asked)
            if _is_own(kind, there)
        ]

    def template(self, kind: str) -> dict[str, Any]:
        body: dict[str, Any] = _named(load(f"search-templates/neardup-{kind}"), self.name)
        return body

    def _path(self, kind: str) -> str:
        return f"/_scripts{path_of(self.id_of(kind))}"

    def _there(self, kind: str) -> str | None:
        answer = self.client.found(self._path(kind))
        return None if answer is None else str(answer.get("script", {}).get("source", ""))


def _named(part: Any, name: str) -> Any:
    if isinstance(part, Mapping):
        return {key: _named(value, name) for key, value in part.items()}
    if isinstance(part, list):
        return [_named(value, name) for value in part]
    return part.replace(_INDEX, name) if isinstance(part, str) else part


def _is_own(kind: str, source: str) -> bool:
    try:
        query = json.loads(source)["query"]["bool"]
        return bool(query["_name"] == f"neardup-{kind}")
    except (ValueError, KeyError, TypeError):
        return False
