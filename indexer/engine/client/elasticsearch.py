"""Elasticsearch's own client: its calls, and nothing else."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Mapping
from typing import Any

import elastic_transport
import elasticsearch

from indexer.engine.client.access import Access
from indexer.engine.client.base import JSON, Client, WrittenFloat
from indexer.engine.client.errors import AnswerError, UnreachableError, retry_after, trouble
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.client.urls import Target
from indexer.errors import StoreError

# The owner's deprecations and the licence's remarks are no errors of a command.
warnings.filterwarnings("ignore", category=elasticsearch.ElasticsearchWarning)

# The library would print each failed try; this package reports them in one sentence at the end.
logging.getLogger("elastic_transport").addHandler(logging.NullHandler())


class _ElasticNumbers(elasticsearch.JsonSerializer):
    def json_loads(self, data: bytes) -> Any:
        return json.loads(data, parse_float=WrittenFloat)


class ElasticsearchClient(Client):
    engine = "elasticsearch"
    product = "Elasticsearch"
    oldest = (8, 0)

    def __init__(self, target: Target, access: Access, retry: RetryPolicy) -> None:
        super().__init__(target, access, retry)
        secure: dict[str, Any] = {}
        if target.hosts[0].startswith("https:"):
            secure = {"ssl_context": access.ssl_context(), "ssl_show_warn": False, "verify_certs": access.verify}
        self._client = elasticsearch.Elasticsearch(
            list(target.hosts),
            headers=access.headers(),
            max_retries=0,
            retry_on_timeout=False,
            serializers={kind: _ElasticNumbers() for kind in (JSON, _form(JSON).partition(";")[0])},
            **secure,
        )
        # options() makes a client with all its parts, which takes longer than a request's own work here.
        self._with_timeout: dict[float, elasticsearch.Elasticsearch] = {}

    def perform(
        self, method: str, path: str, params: Mapping[str, str], body: object, content_type: str, timeout: float
    ) -> Any:
        headers = {"Accept": _form(JSON), **self.access.headers()}
        if body:
            headers["Content-Type"] = _form(content_type)
        try:
            client = self._with_timeout.get(timeout)
            if client is None:
                client = self._with_timeout[timeout] = self._client.options(request_timeout=timeout)
            return client.perform_request(method, path, params=params, headers=headers, body=body).body
        except elastic_transport.SerializationError:
            # The library's message holds the answer.
            raise UnreachableError("the answer is not whole, or not JSON") from None
        except elastic_transport.TransportError as error:
            # The library's own errors are not chained: --debug would print what they say of what was sent.
            explanation = " ".join(map(str, (error.message, *error.errors, error.__cause__ or "")))
            secure = isinstance(error, elastic_transport.TlsError)
            raise trouble(self.access.hidden(explanation), secure=secure) from None
        except elasticsearch.UnsupportedProductError:
            raise StoreError(
                f"{self.target.shown}: is not Elasticsearch; for OpenSearch write opensearch+https:// and "
                "pip install 'neardup[opensearch]'"
            ) from None
        except elasticsearch.ApiError as error:
            raise self._answer(error) from None

    def _answer(self, error: elasticsearch.ApiError) -> StoreError:
        answer = AnswerError.from_body(
            error.status_code,
            error.body,
            retry_after(error.meta.headers.get("retry-after")),
            hidden=self.access.hidden,
        )
        if answer.kind == "media_type_header_exception":
            return StoreError(
                f"{self.target.shown}: the server refuses the form of Elasticsearch 8, which neardup uses for "
                f"versions 8 and 9: {answer.reason}"
            )
        return answer

    def open_snapshot(self, name: str, keep_alive: str, preference: str = "") -> str:
        asked: Any = {"preference": preference} if preference else {}
        answer = self.request("POST", f"/{name}/_pit", keep_alive=keep_alive, ignore_unavailable="true", **asked)
        return str(answer["id"])

    def _closing(self, snapshot: str) -> tuple[str, object]:
        return "/_pit", {"id": snapshot}

    def close(self) -> None:
        super().close()
        self._client.close()


def _form(kind: str) -> str:
    return kind.replace("application/", "application/vnd.elasticsearch+") + "; compatible-with=8"
