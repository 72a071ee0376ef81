"""Alerts reach commands and addresses, in batches, and what does not is counted; nobody waits for a receiver."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import indexer
from indexer.errors import UsageError
from indexer.library import alerts
from indexer.library.alerts import TOKEN_VARIABLE, AlertCounts, Alerts
from indexer.library.engine_options import Alerting
from indexer.model import ClusterRecord, Ref
from tests.cli.written import changed, prose

pytestmark = pytest.mark.quick


class Receiver(BaseHTTPRequestHandler):
    """Keeps what is posted to it, and answers as its server says."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, dict(self.headers), json.loads(body)))  # type: ignore[attr-defined]
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    do_GET = do_POST  # noqa: N815 the base class's names

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def receiving(status: int = 204, port: int = 0) -> Iterator[Any]:
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    server.got, server.status = [], status  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def runs(process: str) -> bool:
    """Whether a process is there, and not only waits to be noticed by the one that adopted it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def started(counts: AlertCounts, told: list[str], **options: Any) -> Alerts:
    return Alerts("texts", Alerting(**options), counts, lambda text, **_: told.append(text))


def copies(alerting: Alerts, number: int) -> None:
    for name in range(number):
        alerting.copied(Ref(f"copy {name}"), Ref("kept"), {"id": "c", "repeats_similarity": 0.75})


def test_a_url_gets_alerts_in_batches_with_the_token_and_redirects_are_not_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "word-of-alerts")
    # The credentials of the store are none of a receiver's.
    monkeypatch.setenv("NEARDUP_API_KEY", "of-the-store")
    monkeypatch.setattr(alerts, "_LATER", 0.01)
    counts, told = AlertCounts(), list[str]()
    with receiving() as server:
        url = f"http://127.0.0.1:{server.server_port}/hook"
        alerting = started(counts, told, on_copy=url)
        copies(alerting, 250)
        alerting.close(20)
        assert (counts.alerts_delivered, counts.alerts_lost, counts.alerts_waiting) == (250, 0, 0)
        assert all(
            path == "/hook" and headers["Authorization"] == "Bearer word-of-alerts" for path, headers, _ in server.got
        )
        assert max(len(body["alerts"]) for *_, body in server.got) <= 100
        names = [alert["id"] for *_, body in server.got for alert in body["alerts"]]
        assert names == [f"copy {name}" for name in range(250)]
        first = server.got[0][2]
        assert (first["event"], first["store"]) == ("copy", "texts")
        assert first["alerts"][0] == {"id": "copy 0", "repeats": "kept", "similarity": 0.75, "cluster": "c"}
    with receiving(307) as server:
        alerting = started(counts, told, on_copy=f"http://127.0.0.1:{server.server_port}/hook")
        copies(alerting, 1)
        alerting.close(20)
        # As often as others, and never elsewhere.
        assert [path for path, *_ in server.got] == ["/hook"] * alerts._ATTEMPTS
    assert (counts.alerts_delivered, counts.alerts_lost) == (250, 1)
    assert any("answered 307" in text for text in told)
    assert "word-of-alerts" not in " ".join(told)


def test_alerts_reach_a_receiver_that_was_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "_LATER", 0.05)
    counts, told = AlertCounts(), list[str]()
    with receiving() as server:
        port = server.server_port
    alerting = started(counts, told, on_copy=f"http://127.0.0.1:{port}/services/secret-of-the-hook")
    copies(alerting, 2)
    while not told:
        time.sleep(0.01)
    with receiving(port=port) as server:
        alerting.close(20)
        assert [alert["id"] for *_, body in server.got for alert in body["alerts"]] == ["copy 0", "copy 1"]
    assert (counts.alerts_delivered, counts.alerts_lost) == (2, 0)
    assert f"http://127.0.0.1:{port}: " in told[0]
    assert "Connection refused" in told[0]
    assert "secret" not in " ".join(told)


def test_any_error_of_a_delivery_ends_that_try_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "_LATER", 0.01)
    counts, told, asked = AlertCounts(), list[str](), []

    def ask(url: str, *_: object, **__: object) -> None:
        asked.append(url)
        raise RuntimeError(url)

    monkeypatch.setattr(alerts, "ask", ask)
    alerting = started(counts, told, on_copy=" https://chat.example.org/secret")
    copies(alerting, 1)
    alerting.close(20)
    assert len(asked) == alerts._ATTEMPTS
    assert (counts.alerts_lost, told) == (
        1, ["https://chat.example.org: failed (RuntimeError); alerts are not delivered"]
    )  # fmt: skip


def test_a_command_gets_json_without_a_shell_and_without_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARDUP_API_KEY", "of-the-store")
    script, out = tmp_path / "receive.py", tmp_path / "got; touch hacked"
    script.write_text(
        "import json, os, sys\n"
        "given = {'argv': sys.argv[1:], 'input': json.load(sys.stdin), 'env': dict(os.environ)}\n"
        "open(sys.argv[1], 'a').write(json.dumps(given) + '\\n')\n"
    )
    counts = AlertCounts()
    alerting = started(counts, [], on_copy=f"{sys.executable} {script} '{out}' '$HOME'")
    alerting.copied(Ref("$(touch hacked)"), Ref("kept"), {"id": "c"})
    alerting.close(20)
    assert counts.alerts_delivered == 1
    [got] = [json.loads(line) for line in out.read_text().splitlines()]
    assert got["argv"] == [str(out), "$HOME"]
    assert got["input"]["alerts"][0]["id"] == "$(touch hacked)"
    assert not any(name.startswith("NEARDUP_") for name in got["env"])
    assert not (tmp_path / "hacked").exists()


def test_a_receiver_that_hangs_or_fails_is_ended_counted_and_waited_for_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts, "_LATER", 0.01)
    counts, told, pid = AlertCounts(), list[str](), tmp_path / "pid"
    hangs = f"""sh -c 'sleep 1000 & echo $! >> {pid}; wait'"""
    alerting = started(counts, told, on_copy=hangs, alert_timeout=0.2)
    copies(alerting, 3)
    assert counts.alerts_waiting == 3
    alerting.close(20)
    assert (counts.alerts_delivered, counts.alerts_lost, counts.alerts_waiting) == (0, 3, 0)
    assert any("took more than 0.2 seconds" in text for text in told)
    # It was ended each time, with what it had started.
    for _ in range(1000):
        if not any(map(runs, pid.read_text().split())):
            break
        time.sleep(0.01)
    assert not any(map(runs, pid.read_text().split()))
    alerting = started(counts, told, on_copy="/no/such/command")
    copies(alerting, 1)
    alerting.close(20)
    assert counts.alerts_lost == 4
    # What waits at the end is lost too, and nothing waits for it.
    alerting = started(counts, told, on_copy="sleep 1000")
    copies(alerting, 2)
    alerting.close()
    copies(alerting, 1)
    assert (counts.alerts_lost, counts.alerts_waiting) == (7, 0)


def test_deliveries_a_minute_are_limited_and_what_is_too_much_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "_MOST_WAITING", 150)
    counts = AlertCounts()
    with receiving() as server:
        alerting = started(counts, [], on_copy=f"http://127.0.0.1:{server.server_port}/", alerts_a_minute=1)
        copies(alerting, 1)
        while counts.alerts_delivered < 1:
            time.sleep(0.01)
        copies(alerting, 200)
        time.sleep(0.2)
        assert len(server.got) == 1
        assert (counts.alerts_waiting, counts.alerts_lost) == (150, 50)
        alerting.close()
    assert counts.alerts_lost == 200


def test_what_is_no_receiver_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in ("'open word", " ", "https://user:word@host/", "https:///hook", "https://[word", "https://host:word/"):
        with pytest.raises(UsageError) as raised:
            started(AlertCounts(), [], on_copy=words)
        assert "word" not in str(raised.value)
    monkeypatch.setenv(TOKEN_VARIABLE, "secret")
    with pytest.raises(UsageError, match="over https"):
        started(AlertCounts(), [], on_copy="http://example.org/hook")
    monkeypatch.setenv(TOKEN_VARIABLE, "two\nlines")
    with pytest.raises(UsageError) as raised:
        started(AlertCounts(), [], on_copy="https://example.org/hook")
    assert "lines" not in str(raised.value)
    (tmp_path / "token").write_text("\n")
    with pytest.raises(UsageError, match="empty"):
        started(AlertCounts(), [], on_copy="https://example.org/", alert_token_file=str(tmp_path / "token"))


class Noted(alerts.ClusterWatcher):
    def __init__(self) -> None:
        self.copies: list[str] = []
        self.clusters: list[tuple[str, int]] = []

    def copied(self, ref: Ref, other: Ref, cluster: Any) -> None:
        assert cluster["repeats"] == other.id
        self.copies.append(f"{ref.id} of {other.id}")

    def formed(self, cluster: ClusterRecord) -> None:
        self.clusters.append((cluster.canonical.id, cluster.size))

    def taken(self) -> tuple[list[str], list[tuple[str, int]]]:
        """What came since the last time."""
        taken = sorted(self.copies), sorted(self.clusters)
        self.copies, self.clusters = [], []
        return taken


def test_a_watcher_is_told_once_of_each_copy_and_cluster(tmp_path: Path) -> None:
    with indexer.open(tmp_path / "watched.neardup") as collection:
        watcher = collection.store.watcher = Noted()
        collection.add_many([("a", prose(1)), ("b", prose(2))], cluster=True)
        assert watcher.taken() == ([], [])
        collection.add_many([("c", changed(prose(1)))], cluster=True)
        assert watcher.taken() == (["c of a"], [("a", 2)])
        # A cluster that grows is not new, nor is a copy that stays one.
        collection.add_many([("d", prose(1)), ("e", prose(3))], cluster=True)
        assert watcher.taken() == (["d of a"], [])
        collection.cluster()
        assert watcher.taken() == ([], [])
        # What is another text now is a copy of another document.
        collection.add_many([("d", prose(2))], cluster=True)
        assert watcher.taken() == (["d of b"], [("b", 2)])
