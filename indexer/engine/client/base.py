"""The client of an engine: passing trouble retried, errors as sentences."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlencode

import elastic_transport
import elasticsearch

from indexer.engine.client.access import Access
from indexer.engine.client.errors import (
    CLOSED,
    RETRIED,
    AnswerError,
    CertificateError,
    UnreachableError,
    explain_answer,
    explain_certificate,
    given_up,
    is_broken_off,
    require_whole,
    retry_after,
    trouble,
)
from indexer.engine.client.retries import FIRST_CONTACT, RetryPolicy, Waiting
from indexer.engine.client.urls import Target
from indexer.errors import StoreError

# The library would print each failed try; this package reports them in one sentence at the end.
logging.getLogger("elastic_transport").addHandler(logging.NullHandler())

JSON = "application/json"
NDJSON = "application/x-ndjson"
# An index without a mapping has no `_index` to sort by.
BY_INDEX = {"_index": {"order": "asc", "unmapped_type": "keyword"}}
# Seconds for a request that nothing depends on.
_BRIEFLY = 10.0
MAX_RECORD_BYTES = 16 << 20


class _Numbers(elasticsearch.JsonSerializer):
    def json_loads(self, data: bytes) -> Any:
        return json.loads(data, parse_float=WrittenFloat)


class Client:
    """An engine at its hosts; its subclasses say where the requests of the two engines differ."""

    engine: str
    product: str
    # The first version with all that neardup asks for.
    oldest: tuple[int, int]
    # The path of points in time, the member with the id of one, and what else is said to open one.
    snapshots: str
    snapshot_id: str
    opening: Mapping[str, str] = {}
    # The order of the hits of a point in time, in which no two are equal; see Snapshot.page.
    hit_order: tuple[Mapping[str, Any], ...] = ({"_shard_doc": "asc"},)

    def __init__(self, target: Target, access: Access, retry: RetryPolicy) -> None:
        self.target, self.access, self.retry = target, access, retry
        secure: dict[str, Any] = {}
        if target.hosts[0].startswith("https:"):
            secure = {"ssl_context": access.ssl_context(), "ssl_show_warn": False, "verify_certs": access.verify}
        # Its transport sends to both engines; the client above it refuses OpenSearch.
        self._transport = elasticsearch.Elasticsearch(
            list(target.hosts),
            serializers={kind.partition(";")[0]: _Numbers() for kind in (JSON, self.form(JSON), self.form(NDJSON))},
            meta_header=False,
            **secure,
        ).transport
        self._answered = False
        # The changes that this client made, by the index that it made them in.
        self.written: Counter[str] = Counter()
        self._counting = threading.Lock()
        self._closed = threading.Event()

    def perform(
        self, method: str, path: str, params: Mapping[str, str], body: object, content_type: str, timeout: float
    ) -> Any:
        """One request, tried once: the answer's JSON.

        Raises AnswerError, UnreachableError and CertificateError.
        """
        headers = {"Accept": self.form(JSON)} | ({"Content-Type": self.form(content_type)} if body else {})
        data = self._transport.serializers.dumps(body, content_type) if body else None
        target = f"{path}?{urlencode(params, quote_via=quote)}" if params else path
        headers |= self.signed(method, target, data)
        try:
            meta, answer = self._transport.perform_request(
                method, target, body=data, headers=headers, max_retries=0, request_timeout=timeout
            )
        except elastic_transport.SerializationError:
            # The library's message holds the answer.
            raise UnreachableError("the answer is not whole, or not JSON") from None
        except elastic_transport.TransportError as error:
            # The library's own errors are not chained: --debug would print what they say of what was sent.
            explanation = " ".join(map(str, (error.message, *error.errors, error.__cause__ or "")))
            secure = isinstance(error, elastic_transport.TlsError)
            raise trouble(self.access.hidden(explanation), secure=secure) from None
        if not 200 <= meta.status < 300:
            wait = retry_after(meta.headers.get("retry-after"))
            raise AnswerError.from_body(meta.status, answer, wait, hidden=self.access.hidden)
        self.require_product(meta.headers)
        return answer

    def form(self, kind: str) -> str:
        """The media type of a request or an answer, as the engine calls it."""
        return kind

    def signed(self, method: str, target: str, body: bytes | None) -> dict[str, str]:  # noqa: ARG002
        """The headers that prove who asks."""
        return self.access.headers()

    def require_product(self, headers: Mapping[str, str]) -> None:
        """Raise StoreError if another product answers."""

    def too_old(self, version: str) -> str:
        numbers = tuple(map(int, re.findall(r"[0-9]+", version)[:2]))
        if not numbers or numbers >= self.oldest:
            return ""
        least = ".".join(map(str, self.oldest))
        return f"{self.product} {version} is too old, neardup needs {least} or later: upgrade the search cluster"

    def note_written(self, indices: Iterable[str]) -> None:
        with self._counting:
            self.written.update(indices)

    def open_snapshot(self, name: str, keep_alive: str, preference: str = "") -> str:
        """Open a point in time over an index, alias or pattern, or the preferred shards; returns its id."""
        asked: dict[str, Any] = {"keep_alive": keep_alive, "ignore_unavailable": "true", **self.opening}
        asked |= {"preference": preference} if preference else {}
        return str(self.request("POST", f"/{name}{self.snapshots}", **asked)[self.snapshot_id])

    def close(self) -> None:
        self._closed.set()
        self._transport.close()

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def pause(self, seconds: float) -> None:
        """Wait before a retry. Raises StoreError if the client is closed meanwhile."""
        self._closed.wait(seconds)
        self.require_open()

    def require_open(self) -> None:
        if self._closed.is_set():
            raise StoreError(f"{self.target.shown}: the connection is closed")

    def waiting(self) -> Waiting:
        return Waiting(self.target.shown, self.pause)

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = JSON,
        deadline: float | None = None,
        on_try: Callable[[], None] | None = None,
        **params: str,
    ) -> Any:
        """One request, retried while the trouble may pass. Raises StoreError for trouble that stays.

        An answer about the request itself is an AnswerError of status 400, 404, 405 or 409, for the caller.
        """
        start = time.monotonic()
        deadline = deadline or start + self.retry.limit
        waiting = self.waiting()
        attempt = 0
        while True:
            self.require_open()
            if on_try:
                on_try()
            try:
                answer = self.perform(method, path, params, body, content_type, self.retry.timeout)
                self._answered = True
                return answer
            except (AnswerError, UnreachableError, CertificateError) as error:
                self._answered |= isinstance(error, AnswerError)
                asked = self._passing(error)
                wait = self.retry.wait(attempt, asked)
                if time.monotonic() + wait > (deadline if self._answered else min(deadline, start + FIRST_CONTACT)):
                    wish = f"; it asks to wait for {asked:.0f} seconds" if asked else ""
                    raise given_up(self.target.shown, attempt + 1, f"{error}{wish}") from error
                why = f"the cluster answers {error}" if isinstance(error, AnswerError) else f"no answer ({error})"
            except StoreError:
                raise
            except Exception as error:
                # A library's message about a value that it can't send holds the value.
                kind = type(error).__name__
                raise StoreError(f"{self.target.shown}: a request can't be sent ({kind})") from None
            waiting(wait, why)
            attempt += 1

    def found(self, path: str, **params: str) -> Any:
        try:
            return self.request("GET", path, **params)  # type: ignore[arg-type]
        except AnswerError as error:
            if error.status == 404:
                return None
            raise

    def perform_once(self, method: str, path: str, body: object = None) -> Any:
        return self.perform(method, path, {}, body, JSON, min(self.retry.timeout, _BRIEFLY))

    def search(self, name: str, body: Mapping[str, Any], **params: Any) -> Any:
        """The answer to a search in an index, alias or pattern, or at the body's point in time.

        Raises StoreError as request().
        """
        path = f"/{name}/_search" if name else "/_search"
        answer = self.request("POST", path, body, allow_partial_search_results="false", **params)
        require_whole(answer, self.target.shown)
        return answer

    def count(self, name: str, query: Mapping[str, Any]) -> int:
        answer = self.request("POST", f"/{name}/_count", {"query": query})
        require_whole(answer, self.target.shown)
        return int(answer["count"])

    def close_snapshot(self, snapshot: str) -> None:
        """Let go of a point in time; it runs out by itself if this fails."""
        with suppress(Exception):
            self.perform_once("DELETE", self.snapshots, {self.snapshot_id: snapshot})

    def _passing(self, error: AnswerError | UnreachableError | CertificateError) -> float | None:
        if isinstance(error, CertificateError) and not (self._answered and is_broken_off(str(error))):
            raise StoreError(explain_certificate(str(error), self.target.shown)) from error
        if not isinstance(error, AnswerError):
            return None
        if error.kind == "media_type_header_exception":
            raise StoreError(
                f"{self.target.shown}: the server refuses the form of Elasticsearch 8, which neardup uses for "
                f"versions 8 and 9: {error.reason}"
            ) from error
        if error.status in RETRIED:
            return error.retry_after
        if error.status in (400, 404, 405, 409) and error.kind != CLOSED:
            raise error
        raise StoreError(explain_answer(error, self.target.shown, self.access)) from error


class WrittenFloat(float):
    """A number of an answer; `written` are its digits, possibly more than a float holds."""

    def __init__(self, written: str) -> None:
        self.written = written


class InexactRecordError(Exception):
    """A record can't be stored exactly; the text is the reason."""


def encoded(body: Mapping[str, Any]) -> bytes:
    """A document's line. Raises InexactRecordError for text outside UTF-8 and for too large documents."""
    try:
        line = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        raise InexactRecordError(
            "its id, source or title is not valid Unicode (a file name in another encoding?); rename the file"
        ) from None
    if len(line) > MAX_RECORD_BYTES:
        raise InexactRecordError(f"id, titles and metadata take {len(line)} bytes, more than {MAX_RECORD_BYTES}")
    return line
