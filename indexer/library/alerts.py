"""Alerts about new copies and clusters, to commands and addresses."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Annotated, Any
from urllib.parse import urlsplit

from indexer.engine.client.access import Access
from indexer.engine.client.errors import CertificateError, UnreachableError
from indexer.engine.client.plain_http import ask
from indexer.errors import UsageError
from indexer.library.engine_options import Alerting
from indexer.library.opening import Tell
from indexer.library.tokens import is_loopback, read_token
from indexer.model import ClusterRecord, Ref, name_of
from indexer.model.declared import as_json
from indexer.stores.base import ClusterWatcher
from indexer.text.hiding import shown_name

TOKEN_VARIABLE = "NEARDUP_ALERT_TOKEN"  # noqa: S105 the name of a variable
# So many go at once; beyond so many that wait, further ones are lost.
_AT_ONCE, _MOST_WAITING = 100, 10_000
# Tries are ever further apart: all of them take two and a half minutes.
_ATTEMPTS, _LATER = 6, 5.0
_MINUTE = 60.0
_ACCEPTED = range(200, 300)


@dataclass(frozen=True, slots=True)
class CopyAlert:
    """An alert about a new copy: a document repeats another one."""

    id: Annotated[str, "The id of the document, with its index if a store has several"]
    repeats: Annotated[str, "The document it repeats"]
    similarity: Annotated[float, "Their similarity, 0 to 1"]
    cluster: Annotated[str, "The id of their cluster"]


@dataclass(frozen=True, slots=True)
class NewClusterAlert:
    """An alert about a cluster with a new id."""

    id: Annotated[str, "The id of the cluster"]
    canonical: Annotated[str, "The document representing it"]
    title: Annotated[str, "Its title"]
    size: Annotated[int, "The number of its documents"]
    origins: Annotated[tuple[str, ...], "Their hosts or folders, the first by name"]


@dataclass(slots=True)
class AlertCounts:
    """The numbers of alerts delivered to a receiver, given up, and waiting."""

    alerts_delivered: Annotated[int, "Alerts taken by a receiver."] = 0
    alerts_lost: Annotated[int, "Alerts given up."] = 0
    alerts_waiting: Annotated[int, "Alerts waiting for their receiver."] = 0


class _Command:
    """A command: a fixed list of arguments, run without a shell, with alerts on its standard input."""

    def __init__(self, words: str) -> None:
        try:
            self._arguments = shlex.split(words)
        except ValueError as error:
            raise UsageError(f"the command for alerts can't be read: {error}") from None
        if not self._arguments:
            raise UsageError("name a command, or an address that begins with https://")
        self.name = self._arguments[0]

    def deliver(self, body: bytes, timeout: float) -> str:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NEARDUP_")}
        quiet = subprocess.DEVNULL
        try:
            process = subprocess.Popen(  # noqa: S603 the words are the user's own, and hold nothing of a document
                self._arguments, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, env=environment,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            return f"can't be run: {error.strerror or error}"
        try:
            process.communicate(body, timeout)
        except subprocess.TimeoutExpired:
            _end(process)
            return f"took more than {timeout:g} seconds"
        return f"ended with code {process.returncode}" if process.returncode else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdin:
        with suppress(OSError):
            process.stdin.close()
    process.wait()


class _Address:
    """An address for posting alerts; redirects are not followed, and proxies are ignored."""

    def __init__(self, url: str, token: str) -> None:
        try:
            place = urlsplit(url)
            _ = place.port
        except ValueError:
            raise UsageError("the URL for alerts has no valid host and port") from None
        # Whoever knows the path of a chat's hook can write there.
        self.name = shown_name(f"{place.scheme}://{place.netloc}")
        if place.username or place.password or not place.hostname:
            raise UsageError(f"{self.name}: name a host, and give a token in {TOKEN_VARIABLE} or --alert-token-file")
        if token and place.scheme != "https" and not is_loopback(place.hostname):
            raise UsageError(f"{self.name}: a token is sent over https:// only")
        self._url, self._access = url, Access(bearer_token=token)
        self._asked: Future[str] | None = None

    def deliver(self, body: bytes, timeout: float) -> str:
        if self._asked and not self._asked.done():
            return "still answers the request before"
        asked = self._asked = Future[str]()
        threading.Thread(target=lambda: asked.set_result(self._post(body, timeout)), name="post", daemon=True).start()
        try:
            return asked.result(timeout)
        except TimeoutError:
            return f"took more than {timeout:g} seconds"

    def _post(self, body: bytes, timeout: float) -> str:
        headers = {"Content-Type": "application/json"}
        try:
            answer = ask(self._url, self._access, timeout, method="POST", body=body, headers=headers)
        except (UnreachableError, CertificateError) as error:
            return str(error)
        except Exception as error:
            return _failed(error)
        return "" if answer.status in _ACCEPTED else f"answered {answer.status}"


def _failed(error: Exception) -> str:
    # The words of an unforeseen error may hold the address.
    return f"failed ({type(error).__name__})"


@dataclass(slots=True)
class _Outbox:
    """The alerts of one kind waiting for their receiver; the next delivery is not before `due`."""

    event: str
    receiver: _Command | _Address
    waiting: deque[Any] = field(default_factory=deque)
    due: float = 0.0
    failed: int = 0
    trouble: str = ""


class Alerts(ClusterWatcher):
    """Hands alerts to receivers from a thread of its own, one delivery at a time; nobody waits for it.

    Alerts arriving meanwhile go together, at most 100 in a delivery, and so many deliveries a minute as the options
    say. A failed delivery is tried six times, ever later. Alerts given up, beyond 10,000 waiting, or still waiting at
    the end are lost; `counts` says how many. Raises UsageError for an invalid receiver.
    """

    def __init__(self, shown: str, alerting: Alerting, counts: AlertCounts, tell: Tell) -> None:
        self._shown, self._how, self._counts, self._tell = shown, alerting, counts, tell
        token = read_token(alerting.alert_token_file, "--alert-token-file", TOKEN_VARIABLE)
        named = {"copy": alerting.on_copy, "new-cluster": alerting.on_new_cluster}
        self._boxes = {event: _Outbox(event, _receiver(words, token)) for event, words in named.items() if words}
        self._begun: deque[float] = deque(maxlen=alerting.alerts_a_minute)
        self._changed, self._ending = threading.Condition(), False
        if self._boxes:
            threading.Thread(target=self._work, name="alerts", daemon=True).start()

    def copied(self, ref: Ref, other: Ref, cluster: Mapping[str, Any]) -> None:
        """Take note of a new copy, with its annotation `cluster`."""
        similarity = float(cluster.get("repeats_similarity", 0.0))
        self._put("copy", CopyAlert(name_of(ref), name_of(other), similarity, str(cluster["id"])))

    def formed(self, cluster: ClusterRecord) -> None:
        """Take note of a new cluster."""
        canonical = name_of(cluster.canonical)
        self._put("new-cluster", NewClusterAlert(cluster.id, canonical, cluster.title, cluster.size, cluster.origins))

    def close(self, wait: float = 0.0) -> None:
        """Deliver waiting alerts for so many seconds at most; the rest is lost."""
        with self._changed:
            self._changed.wait_for(lambda: not self._counts.alerts_waiting, wait)
            self._ending = True
            self._counts.alerts_lost += self._counts.alerts_waiting
            self._counts.alerts_waiting = 0
            self._changed.notify_all()

    def _put(self, event: str, alert: CopyAlert | NewClusterAlert) -> None:
        if event not in self._boxes:
            return
        with self._changed:
            if self._ending or self._counts.alerts_waiting >= _MOST_WAITING:
                self._counts.alerts_lost += 1
                return
            self._boxes[event].waiting.append(alert)
            self._counts.alerts_waiting += 1
            self._changed.notify_all()

    def _work(self) -> None:
        while box := self._next():
            self._deliver(box)

    def _next(self) -> _Outbox | None:
        with self._changed:
            while not self._ending:
                is_full = len(self._begun) == self._begun.maxlen
                allowed = self._begun[0] + _MINUTE if is_full else 0.0
                waiting = [box for box in self._boxes.values() if box.waiting]
                first = min(waiting, key=lambda box: box.due, default=None)
                pause = max(first.due, allowed) - time.monotonic() if first else None
                if first and pause is not None and pause <= 0:
                    return first
                self._changed.wait(pause)
        return None

    def _deliver(self, box: _Outbox) -> None:
        with self._changed:
            some = list(islice(box.waiting, _AT_ONCE))
        body = {"event": box.event, "store": self._shown, "alerts": as_json(some)}
        self._begun.append(time.monotonic())
        try:
            trouble = box.receiver.deliver(json.dumps(body).encode("ascii"), self._how.alert_timeout)
        except Exception as error:
            trouble = _failed(error)
        with self._changed:
            if self._ending:
                return
            box.failed = box.failed + 1 if trouble else 0
            # In turn with the others, and later each time.
            box.due = time.monotonic() + (_LATER * 2 ** (box.failed - 1) if trouble else 0.0)
            if not trouble or box.failed == _ATTEMPTS:
                for _ in some:
                    box.waiting.popleft()
                self._counts.alerts_waiting -= len(some)
                self._counts.alerts_delivered += 0 if trouble else len(some)
                self._counts.alerts_lost += len(some) if trouble else 0
                box.failed = 0
                self._changed.notify_all()
        if trouble and trouble != box.trouble:
            self._tell(f"{box.receiver.name}: {trouble}; alerts are not delivered", level="warning")
        box.trouble = trouble


def _receiver(words: str, token: str) -> _Command | _Address:
    words = words.strip()
    return _Address(words, token) if words.lower().startswith(("http://", "https://")) else _Command(words)
