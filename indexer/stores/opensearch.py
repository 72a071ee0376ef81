"""OpenSearch's own client: its calls, and nothing else."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

from indexer.errors import StoreError
from indexer.stores.access import Access
from indexer.stores.connection import (
    AnswerError,
    Client,
    Patience,
    Target,
    UnreachableError,
    retry_after,
    trouble,
)

try:
    import opensearchpy
    from opensearchpy.connection import Urllib3HttpConnection
except ImportError as missing:
    raise StoreError(
        "this store is an OpenSearch, and its client is not installed: pip install 'neardup[opensearch]'"
    ) from missing

# What it would print of each failed try, this package says in one sentence at the end.
logging.getLogger("opensearch").addHandler(logging.NullHandler())


class _Connection(Urllib3HttpConnection):
    """Raises AnswerError for an error, with the header Retry-After, which the client's own exceptions lose."""

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
        except ValueError:
            parsed = data
        raise AnswerError.from_body(status, parsed, retry_after(received.get("retry-after")))


class OpenSearchClient(Client):
    """OpenSearch 3."""

    engine = "opensearch"
    product = "OpenSearch"

    def __init__(self, target: Target, access: Access, patience: Patience) -> None:
        super().__init__(target, access, patience)
        hosts = [urlsplit(host) for host in target.hosts]
        secure = hosts[0].scheme == "https"
        self._client = opensearchpy.OpenSearch(
            [{"host": host.hostname, "port": host.port, "url_prefix": host.path, "use_ssl": secure} for host in hosts],
            headers=access.headers(),
            http_auth=self._signer(),
            max_retries=0,
            connection_class=_Connection,
            ssl_context=access.ssl_context() if secure else None,
        )

    def _signer(self) -> Any:
        """The client's own signer of SigV4, with the credentials that Amazon's library finds."""
        if not self.access.region:
            return None
        try:
            import botocore.session
        except ImportError:
            raise StoreError(
                f"{self.target.shown}: signing for Amazon needs its library: pip install botocore"
            ) from None
        credentials = botocore.session.get_session().get_credentials()
        if credentials is None:
            raise StoreError(f"{self.target.shown}: there are no credentials of Amazon's to sign with")
        return opensearchpy.Urllib3AWSV4SignerAuth(credentials, self.access.region, self.access.service)

    def perform(
        self, method: str, path: str, params: Mapping[str, str], body: object, content_type: str, timeout: float
    ) -> Any:
        """See Client.perform."""
        try:
            return self._client.transport.perform_request(
                method, path, params=dict(params), headers={"content-type": content_type}, body=body, timeout=timeout
            )
        except opensearchpy.exceptions.ConnectionError as error:
            raise trouble(str(error.error)) from error
        except opensearchpy.exceptions.SerializationError as error:
            raise UnreachableError(f"the answer is no JSON: {error}") from error

    def open_snapshot(self, name: str, keep_alive: str) -> str:
        """See Client.open_snapshot."""
        path = f"/{name}/_search/point_in_time"
        return str(self.request("POST", path, keep_alive=keep_alive, ignore_unavailable="true")["pit_id"])

    def close_snapshot(self, snapshot: str) -> None:
        """See Client.close_snapshot."""
        self.request("DELETE", "/_search/point_in_time", {"pit_id": [snapshot]})

    def close(self) -> None:
        """See Client.close."""
        super().close()
        self._client.close()
