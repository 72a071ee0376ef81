"""What a user of a search engine would try without neardup: like texts, a script over all values, vectors of bits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

from indexer.engine.client.base import Client, encoded
from indexer.engine.client.bulk import Action, batches, in_flight, send
from indexer.engine.client.errors import AnswerError
from indexer.model import to_signed
from tests.benchmarks.engines_data import VECTORS, WITH, Collection, name_of

BITS = "neardup.simhash-doc.bits"
_SCRIPT = "64 - Long.bitCount(doc[params.field].value ^ params.value)"


class Rival(ABC):
    """One way to ask for the ten documents most like a text."""

    name: str
    index: str
    questions = 200

    @abstractmethod
    def prepare(self, client: Client, collection: Collection) -> str:
        """Make what it needs; the reason where this engine can't, else nothing."""

    @abstractmethod
    def request(self, text: str, value: int) -> dict[str, Any]:
        """The body of a search."""


class MoreLikeThis(Rival):
    """Documents that share the words of the text that are rare in the index."""

    name = "more_like_this on the text"
    index = WITH

    def prepare(self, client: Client, collection: Collection) -> str:
        """See Rival.prepare."""
        return ""

    def request(self, text: str, value: int) -> dict[str, Any]:
        """See Rival.request."""
        like = {"fields": ["body"], "like": text, "min_term_freq": 1, "min_doc_freq": 1}
        return {"query": {"more_like_this": like}, "size": 10, "_source": False}


class Script(Rival):
    """Every stored value compared by a script."""

    name = "script_score over all"
    index = WITH
    questions = 50

    def prepare(self, client: Client, collection: Collection) -> str:
        """See Rival.prepare."""
        try:
            client.request("POST", f"/{WITH}/_search", self.request("", 0))
        except AnswerError as error:
            return f"this build runs no Painless ({error.reason[:80]})"
        return ""

    def request(self, text: str, value: int) -> dict[str, Any]:
        """See Rival.request."""
        script = {"source": _SCRIPT, "params": {"field": BITS, "value": to_signed(value)}}
        scored = {"query": {"exists": {"field": BITS}}, "script": script, "min_score": 61}
        return {"query": {"script_score": scored}, "size": 10, "_source": False}


class Vectors(Rival):
    """The bits as a vector, in the engine's graph of neighbours."""

    name = "vectors of bits, kNN"
    index = VECTORS

    def prepare(self, client: Client, collection: Collection) -> str:
        """See Rival.prepare."""
        self._elastic = client.engine == "elasticsearch"
        settings: dict[str, Any] = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": -1}
        field: dict[str, Any]
        if self._elastic:
            field = {"type": "dense_vector", "element_type": "bit", "dims": 64, "index": True, "similarity": "l2_norm"}
        else:
            method = {"name": "hnsw", "engine": "lucene"}
            field = {"type": "knn_vector", "data_type": "binary", "dimension": 64, "space_type": "hamming"}
            settings, field = settings | {"knn": True}, field | {"method": method}
        mappings = {"properties": {"value": field}}
        try:
            client.request("PUT", f"/{VECTORS}", {"settings": settings, "mappings": mappings})
        except AnswerError as error:
            return f"this version has no such field ({error.reason[:80]})"
        values = enumerate(collection.values.tolist())
        actions = (
            Action("create", VECTORS, name_of(number), document=encoded({"value": self._vector(value)}))
            for number, value in values
        )
        parts = batches(actions, lambda action: len(action.document))
        for outcome in in_flight(partial(send, client), parts, lambda action: action.id):
            if not outcome.ok:
                return f"a vector was refused: {outcome.reason}"
        client.request("POST", f"/{VECTORS}/_refresh")
        client.request("POST", f"/{VECTORS}/_forcemerge", max_num_segments="1")
        client.request("POST", f"/{VECTORS}/_refresh")
        return ""

    def request(self, text: str, value: int) -> dict[str, Any]:
        """See Rival.request."""
        vector = self._vector(value)
        if self._elastic:
            knn: dict[str, Any] = {"field": "value", "query_vector": vector, "k": 10, "num_candidates": 100}
            return {"knn": knn, "_source": False}
        knn = {"value": {"vector": vector, "k": 10, "method_parameters": {"ef_search": 100}}}
        return {"query": {"knn": knn}, "size": 10, "_source": False}

    def _vector(self, value: int) -> str | list[int]:
        """The bits as the engine takes them: in hexadecimal digits, or as signed bytes."""
        packed = value.to_bytes(8)
        return packed.hex() if self._elastic else [one - 256 if one > 127 else one for one in packed]


RIVALS: tuple[Rival, ...] = (MoreLikeThis(), Script(), Vectors())
