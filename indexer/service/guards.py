"""The checks before every request: whom the service answers, and how large a request may be."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from indexer.text.counts import counted

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """True for a name or address that only this machine reaches."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses what doesn't name one of `hosts`, comes from a page of another origin, or lacks the `token` where one is.

    A page in a browser on this machine can send requests here, also by a name of its own that leads to this machine
    (DNS rebinding): therefore Host and Origin are checked. A body has at most `most_bytes`.
    """

    app: ASGIApp
    hosts: frozenset[str]
    token: str
    most_bytes: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(headers, open_to_all=scope["path"] == "/healthz")
        if refusal:
            await refusal(scope, receive, send)
            return
        await self.app(scope, _Limited(receive, self.most_bytes), send)

    def _refusal(self, headers: Headers, *, open_to_all: bool) -> JSONResponse | None:
        if _name_in(f"//{headers.get('host', '')}") not in self.hosts:
            return refused(421, "this service has another name: see --allow-host")
        origin = headers.get("origin")
        if origin is not None and _name_in(origin) not in self.hosts:
            return refused(403, "pages of other origins are not answered")
        if self.token and not open_to_all and not self._has_token(headers.get("authorization", "")):
            return refused(401, "send the header Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"})
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdigit() and int(length) > self.most_bytes:
            return refused(413, _too_large(self.most_bytes))
        return None

    def _has_token(self, given: str) -> bool:
        kind, _, token = given.partition(" ")
        # As bytes: compared in constant time, also what is no ASCII.
        return hmac.compare_digest(token.strip().encode(), self.token.encode()) and kind.lower() == "bearer"


class RefusedError(Exception):
    """A request gets no answer: the reason, its HTTP status, and headers that go with that."""

    def __init__(self, status: int, reason: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status, self.headers = status, headers


class _Limited:
    """Receives the body of a request as far as the limit."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._most, self._left = receive, most, most

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise RefusedError(413, _too_large(self._most))
        return message


def _too_large(most: int) -> str:
    return f"a request has at most {counted(most, 'byte')}: see --max-request"


def refused(status: int, error: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """The answer that says why there is none."""
    return JSONResponse({"error": error}, status, headers)


def _name_in(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def names_of(host: str, more: Iterable[str]) -> frozenset[str]:
    """The names by which a service that listens on a host may be called."""
    own = LOCAL_NAMES if is_loopback(host) else frozenset({host})
    return frozenset(name.lower().strip("[]") for name in (*own, *more))
