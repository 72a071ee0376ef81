"""Connections with limits in number and time."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
import sys
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from indexer.text.counts import counted

# Seconds in which the head of a request must have come, the whole of it, and in which its answer must have been taken.
HEAD, BODY, ANSWER = 10.0, 60.0, 60.0
_MOST = 4096
_LACKING = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
# Words about trouble with connections come once in so many seconds.
_SILENCE = 60.0


def most_connections() -> int:
    if sys.platform == "win32":
        return _MOST
    import resource

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST if files == resource.RLIM_INFINITY else min(_MOST, max(1, files // 2))


class Seldom:
    """True once in some seconds, so that a flood of requests makes no flood in the log."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._silent_until = seconds, 0.0

    def __call__(self, *_: object) -> bool:
        if time.monotonic() < self._silent_until:
            return False
        self._silent_until = time.monotonic() + self._seconds
        return True


class Listener(socket.socket):
    """A listening socket that closes excess connections, so that files are left for the store."""

    def __init__(self, family: int, kind: int, protocol: int, most: int, tell: Callable[[str], None]) -> None:
        super().__init__(family, kind, protocol)
        self._most, self._tell, self._seldom = most, tell, Seldom(_SILENCE)
        self._open = set[socket.socket]()

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection. Raises BlockingIOError if none can be kept."""
        try:
            made, address = super().accept()
        except OSError as error:
            if error.errno not in _LACKING:
                raise
            self._note(f"no connection can be accepted: {error.strerror}")
            # What waits makes the event loop ask again at once.
            time.sleep(0.05)
            raise BlockingIOError from None
        if len(self._open) >= self._most:
            self._open = {each for each in self._open if each.fileno() >= 0}
        if len(self._open) >= self._most:
            made.close()
            self._note(
                f"{counted(self._most, 'connection is', 'connections are')} open, and further ones are closed at once"
            )
            raise BlockingIOError
        self._open.add(made)
        return made, address

    def _note(self, trouble: str) -> None:
        if self._seldom():
            self._tell(trouble)


class BoundedConnection(H11Protocol):
    """A connection of uvicorn's that ends if a request, or the taking of its answer, takes too long.

    `answer_seconds` are for the making of an answer. Anything but HTTP is refused in the service's form of errors.
    """

    def __init__(self, answer_seconds: float, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._answer_seconds = answer_seconds
        self._timer: asyncio.TimerHandle | None = None
        self._watched: tuple[object, bool] = (None, False)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._end_in(HEAD)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        self._end_in(HEAD)
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer:
            self._timer.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 another library's words
        self._refuse(400, "the request is not whole, is no HTTP/1.1, or its head has more than 16,384 bytes")

    def _watch(self) -> None:
        cycle = self.cycle
        if cycle is None or cycle.response_complete or self._watched == (cycle, cycle.more_body):
            return
        self._watched = cycle, cycle.more_body
        self._end_in(BODY if cycle.more_body else self._answer_seconds + ANSWER)

    def _end_in(self, seconds: float) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self._end)

    def _end(self) -> None:
        is_asking = bool(self.conn.trailing_data[0]) or self.conn.their_state is h11.SEND_BODY
        if is_asking and not self.transport.is_closing():
            self._refuse(408, "the request took too long to come")
        else:
            self.transport.abort()

    def _refuse(self, status: int, reason: str) -> None:
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        if self.cycle:
            # Nobody hears what the application may still say.
            self.cycle.disconnected = True
        body = json.dumps({"error": reason}).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body))), ("Connection", "close")]
        head = h11.Response(status_code=status, headers=headers, reason=HTTPStatus(status).phrase.encode())
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._end_in(HEAD)
