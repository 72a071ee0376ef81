"""Secrets of odd shapes, the ways on which they come to a command, and where they must not come out again."""

from __future__ import annotations

import base64
import contextlib
import functools
import http.server
import json
import logging
import os
import tempfile
import threading
import traceback
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.cli import main
from indexer.engine.client.access import SETTINGS

# In every secret, and in nothing else.
MARK = "QZXJKV"
TEXT = "one text of some words " * 20
SHAPES = {
    "plain": f"a-{MARK}-long-secret",
    "line-break": f"{MARK}-and-more\n",
    "carriage-return": f"one-{MARK}\r\nX-Other: header",
    "nul": f"zero\0{MARK}",
    "escape": f"{MARK}\x1b[31m-red",
    "slash": f"pa/{MARK}/ss",
    "at": f"pa@{MARK}@ss",
    "hash": f"pa#{MARK}#ss",
    "question": f"pa?{MARK}?ss",
    "colon": f"pa:{MARK}:ss",
    "percent": f"pa%2F{MARK}%40%zz",
    "encoded": f"pa%2f{urllib.parse.quote(MARK)}%0a",
    "space": f"pa {MARK} ss",
    "quotes": f"pa'{MARK}\"\\ss",
    "bracket": f"[{MARK}]ss",
    "not-ascii": f"pä☃{MARK}😀",
    "wide-at": f"pa＠{MARK}℀",
    "no-text": f"pa\udcff{MARK}",
    "long": MARK * 800,
    "too-long": MARK * 15_000,
}
# Where a secret may stand in what is given for a store; {secret} as it is, {quoted} percent-encoded.
URLS = {
    "password": "http://elastic:{secret}@{place}/docs",
    "password-quoted": "http://elastic:{quoted}@{place}/docs",
    "opensearch": "opensearch+http://elastic:{quoted}@{place}/docs",
    "token": "http://{quoted}@{place}/docs",
    "no-user": "http://:{quoted}@{place}/docs",
    "no-host": "http://elastic:{quoted}/docs",
    "host-quoted": "http://elastic:{quoted}%40{place}/docs",
    "wrong-scheme": "htps://u:{secret}@{place}/docs",
    "no-scheme": "elastic:{secret}@{place}",
    "no-scheme-path": "elastic:{secret}@{place}/docs",
    "half-a-scheme": "http:/u:{secret}@{place}/docs",
    "relative": "//u:{secret}@{place}/docs",
    "behind": "http://{place}/u:{secret}@docs",
    "query": "http://{place}/docs?key={secret}",
    "file": "sqlite:///u:{secret}@{place}",
    "no-index": "http://u:{secret}@{place}",
}
# The least of a command that comes to its store. What has none is still run, with a store in the environment.
COMMANDS: dict[str, list[str]] = {
    "annotate": ["--field", "body", "--jobs", "1"],
    "batch": ["load", "batch", "--stale", "keep"],
    "cluster": [],
    "compare": ["id:a", "id:b"],
    "completion": ["bash"],
    "corpus": ["--scheme", "i-match", "--from-store", "--jobs", "1"],
    "decisions": ["--json"],
    "delete": ["a"],
    "diff": ["id:a", "id:b"],
    "doctor": ["--texts"],
    "evaluate": ["--jobs", "1"],
    "failures": ["--json"],
    "follow": ["--once"],
    "hash": ["--text", "some words"],
    "history": ["a"],
    "index": ["one.txt", "--jobs", "1", "--json"],
    "ocr": [],
    "pairs": [],
    "passages": [],
    "mcp": [],
    "serve": ["--port", "0"],
    "prune": [],
    "report": [],
    "schemes": [],
    "setup": [],
    "show": ["a"],
    "similar": ["--id", "a"],
    "undo": ["acts.jsonl", "--json"],
    "stats": ["--json"],
}
STORELESS = {"completion", "hash", "ocr"}


def url_of(way: str, secret: str, place: str) -> str:
    return URLS[way].format(secret=secret, quoted=urllib.parse.quote(secret, safe="", errors="replace"), place=place)


class Leaks:
    """Runs commands in this process and in this folder, and searches what comes out."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str], logs: pytest.LogCaptureFixture) -> None:
        self._folder, self._capture, self._logs = folder, capture, logs
        self._given: set[Path] = set()
        # Beyond that the clients log whole answers, where a program wants that.
        logs.set_level(logging.INFO)

    def give(self, path: Path, content: str) -> None:
        """Write a file that may hold the secret."""
        self._given.add(path)
        path.write_text(content)
        path.chmod(0o600)

    def run(self, *words: str) -> tuple[int, str]:
        """Exit code and output of a command; fails where the mark is in it, in a log or in a file."""
        self._logs.clear()
        self._capture.readouterr()
        code = main(list(words))
        out, err = self._capture.readouterr()
        outputs = {"output": out, "errors": err, "logs": "\n".join(map(_logged, self._logs.records))}
        for name, text in outputs.items():
            self.search(text, f"{name} of {words}")
        for path in self._folder.rglob("*"):
            assert MARK not in path.name
            if path.is_file() and path not in self._given:
                self.search(path.read_bytes().decode("latin-1"), str(path))
        return code, out + err

    @staticmethod
    def search(text: str, where: str) -> None:
        """Fail where a text has the mark, also behind base64 or percent-encoding."""
        forms = [text, urllib.parse.unquote(text)]
        for shift in range(3):
            # Six bits make a character: those that are the mark's alone, wherever it begins.
            first, last = -(-8 * shift // 6), 8 * (shift + len(MARK)) // 6
            inner = base64.b64encode(b"\0" * shift + MARK.encode())[first:last].decode()
            assert inner not in text, f"base64 in {where}: {text[:2000]}"
        for form in forms:
            assert MARK.lower() not in form.lower(), f"{where}: {form[:2000]}"


def _logged(entry: logging.LogRecord) -> str:
    trace = "".join(traceback.format_exception(*entry.exc_info)) if entry.exc_info else ""
    return entry.getMessage() + trace


@functools.cache
def _batch() -> tuple[tuple[str, bytes], ...]:
    """The files of a batch of one text, which as many tests load as there are shapes and ways."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "one.txt").write_text(TEXT)
        out = folder / "batch"
        assert main(["batch", "sketch", str(folder / "one.txt"), "--out", str(out), "--jobs", "1"]) == 0
        return tuple((str(path.relative_to(folder)), path.read_bytes()) for path in out.rglob("*") if path.is_file())


@pytest.fixture
def leaks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> Leaks:
    for name in list(os.environ):
        if name.startswith("NEARDUP"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.txt").write_text(TEXT)
    for name, content in _batch():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return Leaks(tmp_path, capfd, caplog)


class _Talkative(http.server.BaseHTTPRequestHandler):
    """Sends back what it was sent, as some servers and proxies do with headers that they don't like."""

    protocol_version = "HTTP/1.1"

    def _handle(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        sent = f"{self.requestline}\n{self.headers}"
        _, _, value = self.headers.get("Authorization", "").partition(" ")
        sent += urllib.parse.quote(value)
        with contextlib.suppress(ValueError):
            sent += base64.b64decode(value).decode("utf-8", "replace")
        # The client has to be recognised first; then everything is an error.
        status = 200 if self.path == "/" else self.server.status  # type: ignore[attr-defined]
        body = sent.encode()
        if self.server.as_json:  # type: ignore[attr-defined]
            body = json.dumps({"error": {"type": "bad", "reason": sent}}).encode()
        self.send_response(status, "Odd")
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Type", "application/json" if self.server.as_json else "text/plain")  # type: ignore[attr-defined]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _handle  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def talkative() -> Iterator[http.server.ThreadingHTTPServer]:
    """A server that answers with `status`, and with what it was sent."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Talkative)
    server.status, server.as_json = 400, True  # type: ignore[attr-defined]
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


# Ways beside the URL: settings for the environment, or for the file of credentials.
SECRET_SETTINGS = {
    "password": lambda secret: {"username": "elastic", "password": secret},
    "api_key": lambda secret: {"api_key": secret},
    "bearer_token": lambda secret: {"bearer_token": secret},
    "client_key": lambda secret: {"client_key": secret},
    "tls_verify": lambda secret: {"tls_verify": secret},
}
assert all(set(each("")) <= set(SETTINGS) for each in SECRET_SETTINGS.values())
