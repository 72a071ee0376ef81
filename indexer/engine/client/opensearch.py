"""OpenSearch's own client: its calls, and nothing else."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

from indexer.engine.client.access import Access
from indexer.engine.client.base import BY_INDEX, Client, WrittenFloat
from indexer.engine.client.errors import AnswerError, UnreachableError, retry_after, trouble
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.client.urls import Target
from indexer.errors import StoreError

try:
    import opensearchpy
    import urllib3
    from opensearchpy.connection import Urllib3HttpConnection
except ImportError as missing:
    raise StoreError(
        "this store is in OpenSearch, whose client is not installed: pip install 'neardup[opensearch]'"
    ) from missing

# The library would print each failed try; this package reports them in one sentence at the end.
logging.getLogger("opensearch").addHandler(logging.NullHandler())


class _Connection(Urllib3HttpConnection):
    """Raises AnswerError with the header Retry-After, which the client's own exceptions lose.

    `hidden` takes secrets out of the server's text.
    """

    def __init__(self, *args: Any, hidden: Callable[[str], str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._hidden = hidden

    def _raise_warnings(self, warning_headers: Any) -> None: ...

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
        ignore: Collection[int] = (),  # noqa: ARG002 the caller's wish is our answer
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        answer = super().perform_request(method, url, params, body, timeout, range(300, 600), headers)
        status, received, data = answer
        if 200 <= status < 300:
            return answer
        try:
            parsed = json.loads(data)
        except ValueError as error:
            # A page of a proxy between says something; half of the engine's own answer says nothing.
            if data.lstrip().startswith("{"):
                raise opensearchpy.exceptions.SerializationError(data[:100], error) from None
            parsed = data
        raise AnswerError.from_body(status, parsed, retry_after(received.get("retry-after")), hidden=self._hidden)


class _OpenSearchNumbers(opensearchpy.serializer.JSONSerializer):
    def loads(self, s: str) -> Any:
        try:
            return json.loads(s, parse_float=WrittenFloat)
        except ValueError as error:
            raise opensearchpy.exceptions.SerializationError(s, error) from None


class OpenSearchClient(Client):
    engine = "opensearch"
    product = "OpenSearch"
    oldest = (2, 4)
    # Documents of several indices have equal numbers there, and of two equal ones the second is lost between two pages.
    hit_order = ({"_shard_doc": "asc"}, BY_INDEX)

    def __init__(self, target: Target, access: Access, retry: RetryPolicy) -> None:
        super().__init__(target, access, retry)
        hosts = [urlsplit(host) for host in target.hosts]
        secure = hosts[0].scheme == "https"
        if not access.verify:
            # The user was warned once, when verification was switched off.
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        self._client = opensearchpy.OpenSearch(
            [{"host": host.hostname, "port": host.port, "url_prefix": host.path, "use_ssl": secure} for host in hosts],
            headers=access.headers(),
            http_auth=self._signer(),
            max_retries=0,
            serializer=_OpenSearchNumbers(),
            connection_class=functools.partial(_Connection, hidden=access.hidden),
            ssl_context=access.ssl_context() if secure else None,
        )

    def _signer(self) -> Any:
        if not self.access.region:
            return None
        try:
            import botocore.session
        except ImportError:
            raise StoreError(
                f"{self.target.shown}: signing for Amazon needs its library: pip install botocore"
            ) from None
        try:
            credentials = botocore.session.get_session().get_credentials()
        except Exception as error:
            # The library's message about a setting may hold its value.
            raise StoreError(
                f"{self.target.shown}: Amazon's library can't read its own settings ({type(error).__name__})"
            ) from None
        if credentials is None:
            raise StoreError(f"{self.target.shown}: no Amazon credentials were found to sign requests with")
        return opensearchpy.Urllib3AWSV4SignerAuth(credentials, self.access.region, self.access.service)

    def perform(
        self, method: str, path: str, params: Mapping[str, str], body: object, content_type: str, timeout: float
    ) -> Any:
        try:
            return self._client.transport.perform_request(
                method, path, params=dict(params), headers={"content-type": content_type}, body=body, timeout=timeout
            )
        except opensearchpy.exceptions.ConnectionError as error:
            # The library's own errors are not chained: --debug would print what they say of what was sent.
            secure = isinstance(error, opensearchpy.exceptions.SSLError)
            raise trouble(self.access.hidden(str(error.error)), secure=secure) from None
        except opensearchpy.exceptions.SerializationError:
            raise UnreachableError("the answer is not whole, or not JSON") from None

    def open_snapshot(self, name: str, keep_alive: str, preference: str = "") -> str:
        path = f"/{name}/_search/point_in_time"
        asked: Any = {"preference": preference} if preference else {}
        answer = self.request(
            "POST", path, keep_alive=keep_alive, ignore_unavailable="true", allow_partial_pit_creation="false", **asked
        )
        return str(answer["pit_id"])

    def _closing(self, snapshot: str) -> tuple[str, object]:
        return "/_search/point_in_time", {"pit_id": [snapshot]}

    def close(self) -> None:
        super().close()
        self._client.close()
