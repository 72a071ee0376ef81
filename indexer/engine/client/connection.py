"""Connect to a store's URL."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from indexer.engine.client.access import Access, load_access
from indexer.engine.client.base import Client
from indexer.engine.client.engines import ElasticsearchClient, OpenSearchClient
from indexer.engine.client.errors import (
    LEADS_AWAY,
    AnswerError,
    UnknownHostError,
    explain_answer,
)
from indexer.engine.client.names import resolved
from indexer.engine.client.plain_http import Response, ask, patiently
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.client.urls import Target, parse_url
from indexer.errors import StoreError


def connect(url: str, *, retry: RetryPolicy | None = None, access: Access | None = None) -> Client:
    """Open a cluster's URL; an alias of one index is that index."""
    target = parse_url(url)
    access = access or load_access(target.hosts[0], target.shown, target.user, target.password)
    retry = retry or RetryPolicy()
    # Only OpenSearch's requests are signed for Amazon, whose service would not answer an unsigned question.
    engine, told = target.engine or ("opensearch" if access.region else ""), None
    if not engine:
        engine, told = _recognise(target, access, retry)
    client = (ElasticsearchClient if engine == "elasticsearch" else OpenSearchClient)(target, access, retry)
    if told is None:
        with suppress(Exception):
            told = client.perform_once("GET", "/")
    version = (told.get("version") or {}).get("number", "") if isinstance(told, dict) else ""
    if wrong := client.too_old(str(version)):
        client.close()
        raise StoreError(f"{target.shown}: {wrong}; nothing was written")
    client.target = replace(target, name=resolved(client))
    return client


def _recognise(target: Target, access: Access, retry: RetryPolicy) -> tuple[str, Any]:
    def asked(attempt: int) -> Response:
        try:
            return ask(target.hosts[attempt % len(target.hosts)] + "/", access, retry.timeout)
        except UnknownHostError as error:
            if len(target.hosts) > 1:
                raise
            raise StoreError(f"{target.shown}: unknown host name ({error})") from error

    answer = patiently(asked, target.shown, retry, _engine_of)
    if engine := _engine_of(answer):
        return engine, answer.json() or {}
    if answer.status == 401:
        raise StoreError(explain_answer(AnswerError(401, "", ""), target.shown, access))
    if answer.leads_away:
        named = f" {answer.where}".rstrip()
        raise StoreError(f"{target.shown}: {LEADS_AWAY.format(status=f'{answer.status}{named}')}")
    raise StoreError(
        f"{target.shown}: neither Elasticsearch nor OpenSearch answers there (status {answer.status}); if "
        "one does behind a proxy, say which: elasticsearch+https://... or opensearch+https://..."
    )


def _engine_of(answer: Response) -> str:
    if "elasticsearch" in answer.headers.get("x-elastic-product", "").lower():
        return "elasticsearch"
    if b"opensearch" in answer.body.lower() or "opensearch" in answer.headers.get("www-authenticate", "").lower():
        return "opensearch"
    # OpenSearch's security plugin, to a user who may not ask for the version.
    return "opensearch" if b"no permissions for [cluster:monitor/main]" in answer.body else ""
