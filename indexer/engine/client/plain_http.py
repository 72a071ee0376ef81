"""Requests without an engine's client, tried once, without redirects."""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from indexer.engine.client.access import Access
from indexer.engine.client.errors import (
    RETRIED,
    CertificateError,
    UnknownHostError,
    UnreachableError,
    explain_certificate,
    trouble,
)
from indexer.engine.client.retries import FIRST_CONTACT, RetryPolicy, Waiting
from indexer.errors import StoreError
from indexer.text.hiding import shown_name

_MOST_ANSWER = 16 << 20
_REDIRECTS = range(300, 400)


@dataclass(frozen=True, slots=True)
class Response:
    """A server's answer, whatever the status; the names of `headers` are in lower case, `body` is cut after 16 MiB."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The value of the body; None if it is no JSON."""
        with suppress(ValueError):
            return json.loads(self.body)

    @property
    def leads_away(self) -> bool:
        return self.status in _REDIRECTS

    @property
    def where(self) -> str:
        matched = re.match(r"https?://[^/?#\s]+", self.headers.get("location", ""), re.IGNORECASE)
        return shown_name(matched[0])[:300] if matched else ""


def ask(
    url: str,
    access: Access,
    timeout: float,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The answer to one request, also an error's; proxies of the environment are ignored.

    Raises UnreachableError and CertificateError, without any sent text.
    """
    request = urllib.request.Request(  # noqa: S310 the callers check the scheme
        url, body, {**access.headers(), **(headers or {})}, method=method
    )
    context = access.ssl_context() if url.lower().startswith("https:") else None
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context), _Stay()
    )
    try:
        try:
            with opener.open(request, timeout=timeout) as answer:
                return Response(answer.status, _lower(answer.headers), answer.read(_MOST_ANSWER))
        except urllib.error.HTTPError as error:
            with error:
                return Response(error.code, _lower(error.headers), error.read(_MOST_ANSWER))
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _trouble(getattr(error, "reason", error), access) from None


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _trouble(reason: object, access: Access) -> CertificateError | UnreachableError:
    if isinstance(reason, ssl.SSLError):
        return trouble(str(reason), secure=True)
    if isinstance(reason, socket.gaierror):
        return UnknownHostError(str(reason.strerror))
    # A library's message about a value holds the value.
    explanation = access.hidden(str(reason)) if isinstance(reason, OSError) else f"no HTTP ({type(reason).__name__})"
    return trouble(explanation, secure=False)


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def patiently(
    ask: Callable[[int], Response], shown: str, retry: RetryPolicy, is_answer: Callable[[Response], object]
) -> Response:
    """The first answer of an attempt that is one, or says of no passing trouble. Raises StoreError."""
    start, waiting, attempt = time.monotonic(), Waiting(shown, time.sleep), 0
    while True:
        try:
            answer = ask(attempt)
        except CertificateError as error:
            raise StoreError(explain_certificate(str(error), shown)) from error
        except UnreachableError as error:
            why, limit = str(error), min(retry.limit, FIRST_CONTACT)
        else:
            if is_answer(answer) or answer.status not in RETRIED:
                return answer
            why, limit = f"status {answer.status}", retry.limit
        wait = retry.wait(attempt, None)
        if time.monotonic() + wait > start + limit:
            raise StoreError(f"{shown}: no answer after {attempt + 1} tries: {why}; is the URL right?")
        waiting(wait, f"no usable answer ({why})")
        attempt += 1
