"""Failures, clusters, decisions and notes beside the documents."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote

from indexer.engine.client.base import Client
from indexer.engine.client.bulk import Action, send
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.lines import encoded
from indexer.engine.client.names import side_name
from indexer.engine.index.copied_beside import replace_copied
from indexer.engine.index.side_index import SideIndex, failure_id
from indexer.engine.store.context import Context
from indexer.engine.store.lookup import Lookup, StorePart
from indexer.errors import StoreError, UsageError
from indexer.model import ClusteringNote, ClusterRecord, Failure
from indexer.model.copied import CopiedRow
from indexer.model.decisions import Decision

# No id of a cluster: those are base32.
_ID = "clustering-note"
_PREFIX, _, _SUFFIX = side_name("*", "clusters").partition("*")


class SidePart(StorePart):
    def __init__(self, context: Context, lookup: Lookup) -> None:
        super().__init__(context, lookup)
        self._notes = ClusteringNotes(context.client, context.clusters)

    def failures(self) -> Iterator[Failure]:
        self.context.require_open()
        return self.context.failures.pages(self.lookup.pages, "id", "index", "routing")

    def put_failures(self, failures: Iterable[Failure]) -> None:
        self.context.require_writable()
        self.context.failures.put((failure_id(failure.ref), failure) for failure in failures)
        self.context.wrote()

    def clusters(self) -> Iterator[ClusterRecord]:
        self.context.require_open()
        return self.context.clusters.pages(self.lookup.pages, "id")

    def get_clusters(self, ids: Sequence[str]) -> list[ClusterRecord | None]:
        self.context.require_open()
        return self.context.clusters.get(ids)

    def put_clusters(self, clusters: Iterable[ClusterRecord]) -> None:
        self.context.require_writable()
        self.context.require_mapped()
        self.context.clusters.put((cluster.id, cluster) for cluster in clusters)
        self.context.wrote()

    def delete_clusters(self, ids: Sequence[str]) -> int:
        self.context.require_writable()
        return self.context.clusters.delete(ids)

    def clustering_notes(self) -> Mapping[str, ClusteringNote]:
        self.context.require_open()
        return self._notes.read()

    def put_clustering_note(self, note: ClusteringNote | None) -> None:
        self.context.require_writable()
        self._notes.write(note)

    def decisions(self) -> Iterator[Decision]:
        self.context.require_open()
        return self.context.decisions.pages(self.lookup.pages, "id")

    def put_decisions(self, decisions: Iterable[Decision]) -> None:
        self.context.require_writable()
        self.context.decisions.put((decision.id, decision) for decision in decisions)
        self.context.wrote()

    def delete_decisions(self, ids: Sequence[str]) -> int:
        self.context.require_writable()
        return self.context.decisions.delete(ids)

    def keeper_of_copied(self) -> Callable[[Iterable[CopiedRow]], int]:
        self.context.require_writable()
        if self.context.narrowing is not None:
            raise UsageError("dashboards are of the whole collection; leave out the filter, or don't write")
        return lambda rows: replace_copied(self.client, rows, self.lookup.pages)


class ClusteringNotes:
    def __init__(self, client: Client, beside: SideIndex[ClusterRecord]) -> None:
        self._client, self._beside = client, beside
        self._name = client.target.name

    def read(self) -> Mapping[str, ClusteringNote]:
        path = f"/{quote(side_name(self._name, 'clusters'), safe='*,-')}"
        query = {"query": {"ids": {"values": [_ID]}}, "size": 10_000}
        try:
            # Writing a note makes it visible.
            answer = self._client.request("POST", f"{path}/_search", query, ignore_unavailable="true")
        except AnswerError as error:
            if error.status == 404:
                return {}
            raise
        notes = {hit["_index"]: ClusteringNote(**json.loads(hit["_source"]["note"])) for hit in answer["hits"]["hits"]}
        return {name.removeprefix(_PREFIX).removesuffix(_SUFFIX): notes[name] for name in sorted(notes)}

    def write(self, note: ClusteringNote | None) -> None:
        if note is None:
            if not self._beside.exists():
                return
            action = Action("delete", self._beside.name, _ID)
        else:
            self._beside.make()
            document = encoded({"note": json.dumps(dataclasses.asdict(note))})
            action = Action("index", self._beside.name, _ID, None, document)
        [outcome] = send(self._client, [action], refresh="true")
        if not outcome.ok and outcome.status != 404:
            raise StoreError(f"{self._client.target.shown}: {self._beside.name} can't be written: {outcome.reason}")
