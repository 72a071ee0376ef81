"""The checks before every request: its origin and size."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from indexer.service.limits import LOCAL_NAMES
from indexer.text.counts import counted
from indexer.text.hiding import PLACE

_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses requests without one of `hosts`, from a page of another origin, or without the `token` if there is one.

    A page in a browser on this machine can send requests here, also by a name of its own for this machine (DNS
    rebinding), so Host and Origin are checked. A body has at most `most_bytes`.
    """

    app: ASGIApp
    hosts: frozenset[str]
    token: str
    most_bytes: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope, Headers(scope=scope))
        if refusal:
            await refusal(scope, receive, send)
            return
        await self.app(scope, _Limited(receive, self.most_bytes), send)

    def _refusal(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        host = headers.get("host", "")
        if _place(host, "")[0] not in self.hosts:
            return refused(421, "this service has another name: see --allow-host")
        if not all(self._is_own_page(origin, host, scope["scheme"]) for origin in headers.getlist("origin")):
            return refused(403, "pages of other origins are not answered")
        if self.token and scope["path"] != "/healthz" and not self._has_token(headers.get("authorization", "")):
            return refused(401, "send the header Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"})
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdigit() and int(length) > self.most_bytes:
            return refused(413, _too_large(self.most_bytes))
        return None

    def _is_own_page(self, origin: str, host: str, scheme: str) -> bool:
        spoken, _, place = origin.partition("://")
        port = _PORTS.get(spoken, "")
        here = _place(host, port)
        # Under another name a proxy may speak TLS for the service.
        is_spoken = spoken == scheme or (spoken == "https" and here[0] not in LOCAL_NAMES)
        return is_spoken and _place(place, port) == here

    def _has_token(self, given: str) -> bool:
        kind, _, token = given.partition(" ")
        # As bytes: compared in constant time, also what is no ASCII.
        return hmac.compare_digest(token.strip().encode(), self.token.encode()) and kind.lower() == "bearer"


class RefusedError(Exception):
    """A request gets no answer: the reason, its HTTP status, and headers."""

    def __init__(self, status: int, reason: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status, self.headers = status, headers


class _Limited:
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
    return JSONResponse({"error": error}, status, headers)


def _place(host: str, port: str) -> tuple[str, str]:
    matched = PLACE.match(host)
    if matched is None:
        return "", ""
    name = host.rpartition(":")[0] if matched[1] else host
    return name.lower().strip("[]").rstrip("."), matched[1] or port
