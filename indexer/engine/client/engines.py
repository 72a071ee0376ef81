"""Elasticsearch and OpenSearch: where their requests differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from indexer.engine.client.access import Access
from indexer.engine.client.base import BY_INDEX, Client
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.client.urls import Target
from indexer.errors import StoreError


class ElasticsearchClient(Client):
    engine = "elasticsearch"
    product = "Elasticsearch"
    oldest = (8, 0)
    snapshots, snapshot_id = "/_pit", "id"

    def form(self, kind: str) -> str:
        return kind.replace("application/", "application/vnd.elasticsearch+") + "; compatible-with=8"

    def require_product(self, headers: Mapping[str, str]) -> None:
        if headers.get("x-elastic-product") != "Elasticsearch":
            raise StoreError(f"{self.target.shown}: is not Elasticsearch; for OpenSearch write opensearch+https://")


class OpenSearchClient(Client):
    engine = "opensearch"
    product = "OpenSearch"
    oldest = (2, 4)
    snapshots, snapshot_id = "/_search/point_in_time", "pit_id"
    opening = {"allow_partial_pit_creation": "false"}  # noqa: RUF012
    # Documents of several indices have equal numbers there, and of two equal ones the second is lost between two pages.
    hit_order = ({"_shard_doc": "asc"}, BY_INDEX)

    def __init__(self, target: Target, access: Access, retry: RetryPolicy) -> None:
        if access.region and len(target.hosts) > 1:
            raise StoreError(f"{target.shown}: requests to Amazon are signed for one host; name one")
        super().__init__(target, access, retry)
        self._credentials = self._amazons() if access.region else None

    def signed(self, method: str, target: str, body: bytes | None) -> dict[str, str]:
        if not self._credentials:
            return super().signed(method, target, body)
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        signer = SigV4Auth(self._credentials.get_frozen_credentials(), self.access.service, self.access.region)
        request = AWSRequest(method, self.target.hosts[0] + target, data=body)
        request.headers["X-Amz-Content-SHA256"] = signer.payload(request)
        signer.add_auth(request)
        return dict(request.headers.items())

    def _amazons(self) -> Any:
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
        return credentials
