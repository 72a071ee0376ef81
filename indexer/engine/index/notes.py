"""The note on how the clusters of an index were made: one document among them, in the index beside it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from urllib.parse import quote

from indexer.engine.client.base import Client
from indexer.engine.client.bulk import Action, send
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.lines import encoded
from indexer.engine.index.side_index import SideIndex, side_name
from indexer.errors import StoreError
from indexer.model import ClusteringNote, ClusterRecord

# No id of a cluster: those are base32.
_ID = "clustering-note"
_SUFFIX = side_name("*", "clusters").removeprefix("*")


class ClusteringNotes:
    """The notes of the index, alias or data stream that a client names; of several indices each has its own."""

    def __init__(self, client: Client, beside: SideIndex[ClusterRecord]) -> None:
        self._client, self._beside = client, beside
        self._name = client.target.name

    def read(self) -> Mapping[str, ClusteringNote]:
        """See Store.clustering_notes; what stands there now."""
        path = f"/{quote(side_name(self._name, 'clusters'), safe='*,-')}"
        query = {"query": {"ids": {"values": [_ID]}}, "size": 10_000}
        try:
            # Writing a note makes it visible.
            answer = self._client.request("POST", f"{path}/_search", query, ignore_unavailable="true")
        except AnswerError as error:
            if error.status == 404:
                return {}
            raise
        return {
            hit["_index"].removesuffix(_SUFFIX): ClusteringNote(**json.loads(hit["_source"]["note"]))
            for hit in sorted(answer["hits"]["hits"], key=lambda hit: str(hit["_index"]))
        }

    def write(self, note: ClusteringNote | None) -> None:
        """See Store.put_clustering_note."""
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
