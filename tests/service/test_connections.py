"""Connections that say nothing, too much or nonsense: they end, the others are answered, and the log stays short."""

from __future__ import annotations

import json
import socket
import time
import urllib.request
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import pytest

import indexer
from tests.service.process import serving

SHORT = "import indexer.service.connections as c; c.HEAD, c.BODY, c.ANSWER = 0.6, 0.6, 0.6"
FEW_FILES = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80)); {SHORT}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("connections")
    with indexer.open(folder / "texts.neardup") as collection:
        collection.add_many([("tea", "Pour hot water on the leaves, and take them out before the tea is bitter.")])
    return folder


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    said: list[str] = []
    with serving(folder, "--timeout", "20", "--max-request", "100kB", first=SHORT, said=said) as url:
        yield url
    # Nothing that a stranger sends leaves a trace.
    assert said == []


def connected(url: str) -> socket.socket:
    host, _, port = url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=30)


def answered(url: str, parts: Sequence[bytes], pause: float = 0.0) -> tuple[int, bytes]:
    """The status and the body of the first answer to what is sent, part by part; status 0 for none."""
    host = url.removeprefix("http://").encode()
    with closing(connected(url)) as connection:
        got = b""
        with suppress(OSError):
            for part in parts:
                connection.sendall(part.replace(b"HOST", b"Host: " + host))
                time.sleep(pause)
        with suppress(OSError):
            while not got.endswith(b"}") and (more := connection.recv(65536)):
                got += more
    head, _, body = got.partition(b"\r\n\r\n")
    assert not head or b"content-type: application/json" in head.lower()
    return int(head[9:12] or 0), body


def is_well(url: str) -> bool:
    with urllib.request.urlopen(f"{url}/healthz", timeout=30) as answer:
        return bool(json.load(answer) == {"status": "ok"})


def test_connections_that_say_nothing_leave_room_for_others(folder: Path) -> None:
    said: list[str] = []
    with serving(
        folder, env={"NEARDUP_SERVE_TOKEN": "correct horse battery staple"}, first=FEW_FILES, said=said
    ) as url:
        held = [connected(url) for _ in range(90)]
        # Those that were too many are closed at once, the others when they have said nothing for some time.
        assert all(each.recv(1) == b"" for each in held if not _is_reset(each))
        assert is_well(url)
        for each in held:
            each.close()
    assert said == ["neardup: 40 connections are open, and further ones are closed at once"]


def _is_reset(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) != b""
    except ConnectionResetError:
        return True


def test_a_request_that_takes_too_long_to_come_is_ended(url: str) -> None:
    head = [b"GET / HTTP/1.1\r\nHOST\r\n", *[b"X: y\r\n"] * 40]
    assert answered(url, head, pause=0.05) == (408, b'{"error": "the request took too long to come"}')
    body = [b"POST /seen HTTP/1.1\r\nHOST\r\nContent-Length: 1000\r\n\r\n", *[b" "] * 40]
    assert answered(url, body, pause=0.05)[0] == 408
    # A connection that is kept has no more time than a new one.
    again = [b"GET /healthz HTTP/1.1\r\nHOST\r\n\r\n", *[b"G"] * 40]
    assert answered(url, again, pause=0.05)[0] == 200
    assert is_well(url)


def test_an_answer_that_nobody_takes_is_given_up(folder: Path) -> None:
    with serving(folder, "--timeout", "0.5", first=SHORT) as url, closing(connected(url)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(0.2)
        host = url.removeprefix("http://").encode()
        # More requests than anything buffers: those that nobody has read make the end a reset, which comes at once.
        with suppress(OSError):
            while True:
                connection.sendall((b"GET /openapi.json HTTP/1.1\r\nHost: " + host + b"\r\n\r\n") * 1000)
        connection.settimeout(20)
        time.sleep(3)
        with pytest.raises(ConnectionResetError):
            deque(iter(lambda: connection.recv(1 << 20), b""), maxlen=0)
        assert is_well(url)


@pytest.mark.parametrize(
    "sent",
    [
        b"GARBAGE\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 500,
        b"POST /seen HTTP/1.1\r\nHOST\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST /seen HTTP/1.1\r\nHOST\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"POST /seen HTTP/1.1\r\nHOST\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST /seen HTTP/1.1\r\nHOST\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nxx\r\n",
        b"POST /nothing HTTP/1.1\r\nHOST\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\n",
        b"GET / HTTP/1.1\r\nHOST\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\nHOST\r\n" + b"X: y\r\n" * 60_000 + b"\r\n",
    ],
)
def test_what_is_no_http_is_refused_in_the_form_of_errors(url: str, sent: bytes) -> None:
    status, body = answered(url, [sent])
    assert (status, list(json.loads(body))) == (400, ["error"])
    assert is_well(url)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        b"FROBNICATE / HTTP/1.1\r\nHOST\r\n\r\n",
        b"POST /seen/ HTTP/1.1\r\nHOST\r\nContent-Length: 0\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHOST\r\n\r\n",
        b"POST /nothing HTTP/1.1\r\nHOST\r\nContent-Length: 90000\r\n\r\nand no more",
        b"GET / HTTP/1.1\r\nHOST\r\n\r\n" * 300,
        b"GET / HTTP/1.1\r\nHOST\r\n\r\nGARBAGE\r\n\r\n",
    ],
)
def test_odd_requests_have_a_described_status(url: str, sent: bytes) -> None:
    with urllib.request.urlopen(f"{url}/openapi.json", timeout=30) as answer:
        described = json.load(answer)["paths"]["/seen"]["post"]["responses"]
    status, body = answered(url, [sent])
    assert str(status) in described
    assert status == 200 or list(json.loads(body)) == ["error"]
    assert is_well(url)
