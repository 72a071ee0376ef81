"""A day in an hour: three writers on an index that is followed, through kills, a restart and a rollover.

    python -m tests.engines.soak --minutes 60 --documents 300000 --engine opensearch
    python -m tests.engines.soak --url http://localhost:9200 --state soak.json

The second goes on where it ended. At the end clusters are those of a fresh `neardup cluster`, what dashboards draw
agrees, and nothing of the owner's has changed. Prints a line a minute, and what it all took.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from http.client import HTTPException
from pathlib import Path
from statistics import median
from typing import Any

from indexer import open_store
from indexer.engine.client.connection import connect
from tests.cli.written import changed, prose
from tests.engines.fleet import ENGINES, running
from tests.engines.follow.followers import numbers
from tests.engines.proxy import Proxy
from tests.engines.reclustered import SETTINGS, partition, require_as_cluster
from tests.engines.servers import Server, free_port

ALIAS = "soak"
WRITERS = 3
# How fast they write, one after the other for a twentieth of the time each.
RATES = (1.0, 0.2, 2.5, 1.0, 0.0, 1.3)
_BULK = 40
_SAMPLE = 0.5
# Seconds that an engine may take until it answers again.
_RECOVERY = 600.0
# How long it is watched when nothing comes any more.
_QUIET = 30.0

# The index of a document, and its text: the number of the prose, and the place of a word that was added, -1 for none.
Place = tuple[str, int, int]


class RunningEngine(Server):
    """An engine that somebody else started, at a URL."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    @property
    def url(self) -> str:
        """See Server.url."""
        return self._url

    def _command(self) -> Any:
        raise NotImplementedError


@dataclass
class Progress:
    """How far a soak is, kept in a file: documents written and begun, seconds gone, what was done and what there is."""

    written: int = 0
    begun: int = 0
    seconds: float = 0.0
    copies: int = 0
    edits: int = 0
    deletions: int = 0
    done: list[str] = field(default_factory=list)
    index: str = f"{ALIAS}-000001"
    documents: dict[str, Place] = field(default_factory=dict)

    def keep(self, path: str) -> None:
        """Write it to a file, whole or not at all."""
        if path:
            Path(path + ".part").write_text(json.dumps(asdict(self)))
            os.replace(path + ".part", path)


@dataclass
class Measured:
    """The worst that was seen of the process, and the sums of all of them."""

    behind: int = 0
    # Seconds from the answer to a write until the document has its fingerprint.
    waits: list[float] = field(default_factory=list)
    # Resident memory of the first process after a minute, of the last at the end, and at most.
    first: float = 0.0
    last: float = 0.0
    megabytes: float = 0.0
    requests: int = 0
    quiet: int = 0
    errors: int = 0
    annotated: int = 0
    regroupings: int = 0


def text_of(number: int, place: int) -> str:
    """A document's text."""
    return prose(number) if place < 0 else changed(prose(number), place)


@dataclass
class Batch:
    """The lines of a bulk request, and the documents that there are after it; None for those that went."""

    lines: list[Any] = field(default_factory=list)
    came: dict[str, Place | None] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    newest: str = ""

    def draw(self, chance: random.Random, index: str, new: str, number: int, old: str, place: Place | None) -> None:
        """Delete or edit an old document, or write a new one, which may be a copy of the old one."""
        drawn = chance.random()
        if drawn < 0.1 and place and old not in self.came:
            self.came[old] = None
            self.counts["deletions"] += 1
            self.lines.append({"delete": {"_index": place[0], "_id": old}})
        elif drawn < 0.2 and place and old not in self.came:
            self.came[old] = edited = place[0], place[1], chance.randrange(100)
            self.counts["edits"] += 1
            self.lines.append({"update": {"_index": place[0], "_id": old, "retry_on_conflict": 50}})
            self.lines.append({"doc": {"body": text_of(*edited[1:])}})
        else:
            is_copy = drawn < 0.3 and place is not None
            self.counts["copies"] += is_copy
            made = index, place[1] if place and is_copy else number, chance.choice([-1, chance.randrange(100)])
            self.came[new], self.newest = made, new
            self.lines.append({"index": {"_index": index, "_id": new}})
            self.lines.append({"body": text_of(*made[1:]), "lang": "en", "at": number})


class Soak:
    """One soak on one engine."""

    def __init__(self, server: Server, minutes: float, documents: int, state: str = "", *, may_restart: bool) -> None:
        self._server, self._seconds, self._documents, self._state = server, minutes * 60, documents, state
        self._may_restart, self._at = may_restart, Progress()
        if state and Path(state).exists():
            self._at = Progress(**json.loads(Path(state).read_text()))
            self._at.documents = {name: (at[0], at[1], at[2]) for name, at in self._at.documents.items()}
        self._between = Proxy(server.url)
        self._counted, self._lock, self._paused = 0, threading.Lock(), threading.Event()
        self._between.on_request = self._count
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._last: dict[str, float] = {}
        self._began = time.monotonic()
        # A document that was written, and when.
        self._awaited: tuple[str, str, float] | None = None
        self.seen = Measured()
        self.trouble: list[str] = []

    def run(self) -> None:
        """Let it soak, and hold what comes out."""
        if not self._at.written:
            made = {**SETTINGS, "aliases": {ALIAS: {"is_write_index": True}}}
            assert "error" not in self._server.request("PUT", f"/{self._at.index}", made)
        else:
            self._reconcile()
        try:
            self._start()
            self._soak()
            self._settle()
            self._rest()
        finally:
            self._end(signal.SIGKILL)
            self._between.close()
        self._require_right()

    # The writers

    def _soak(self) -> None:
        ended = threading.Event()
        writers = [threading.Thread(target=self._write, args=(number, ended)) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        events = {
            "rollover": (0.35, self._roll_over),
            "kill": (0.25, self._kill),
            "restart": (0.45, self._restart),
            "second kill": (0.7, self._kill),
        }
        told = last = time.monotonic()
        try:
            while self._at.seconds < self._seconds and any(writer.is_alive() for writer in writers):
                time.sleep(_SAMPLE)
                moment = time.monotonic()
                self._at.seconds, last = self._at.seconds + moment - last, moment
                self._sample()
                for name, (share, act) in events.items():
                    if name not in self._at.done and self._at.seconds >= share * self._seconds:
                        act()
                        self._at.done.append(name)
                        print(f"{self._at.seconds / 60:6.1f} min: {name}", flush=True)
                if moment - told >= 60:
                    told = moment
                    self._tell()
                    with self._lock:
                        self._at.keep(self._state)
        finally:
            ended.set()
            for writer in writers:
                writer.join()
        assert not self.trouble, self.trouble

    def _write(self, writer: int, ended: threading.Event) -> None:
        chance = random.Random(f"{writer} {self._at.written}")
        own: list[str] = [name for name in list(self._at.documents) if name.startswith(f"w{writer}-")]
        pace = WRITERS * self._seconds / self._documents * _BULK
        while not ended.is_set():
            rate = RATES[int(self._at.seconds / self._seconds * 20) % len(RATES)]
            if self._paused.is_set() or not rate:
                time.sleep(0.1)
                continue
            begin = time.monotonic()
            try:
                self._write_some(writer, chance, own)
            except Exception as error:
                self.trouble.append(f"writer {writer}: {error!r}")
                return
            time.sleep(max(0.0, pace / rate - (time.monotonic() - begin)))

    def _write_some(self, writer: int, chance: random.Random, own: list[str]) -> None:
        with self._lock:
            index, number = self._at.index, self._at.begun
            self._at.begun += _BULK
        batch = Batch()
        for step in range(_BULK):
            name = chance.choice(own) if own else ""
            batch.draw(chance, index, f"w{writer}-{number + step}", number + step, name, self._at.documents.get(name))
        came = batch.came
        for item in self._sent(batch.lines):
            [(verb, each)] = item.items()
            wrong = each["status"] >= 300 and not (verb == "delete" and each["status"] == 404)
            if wrong and each["status"] not in (429, 503):
                raise AssertionError(each)
            if wrong:
                came.pop(each["_id"], None)
        with self._lock:
            for name, document in came.items():
                if document is None:
                    self._at.documents.pop(name, None)
                else:
                    self._at.documents[name] = document
            own[:] = [name for name in [*own, *came] if name in self._at.documents][-5000:]
            if batch.newest in came and not self._awaited:
                self._awaited = index, batch.newest, time.monotonic()
            self._at.written += sum(document is not None for document in came.values())
            for kind, count in batch.counts.items():
                setattr(self._at, kind, getattr(self._at, kind) + count)

    def _sent(self, lines: list[Any]) -> list[dict[str, Any]]:
        """The answers to a bulk request, which is sent again while the engine starts, as a writer would."""
        limit = time.monotonic() + 300
        while True:
            with suppress(OSError, ValueError, HTTPException):
                answer = self._server.request("POST", "/_bulk", lines=lines)
                if "items" in answer:
                    items: list[dict[str, Any]] = answer["items"]
                    return items
            assert time.monotonic() < limit, "the engine does not come back"
            time.sleep(0.5)

    def _reconcile(self) -> None:
        """Make the index what the file says: what was written after that is not known."""
        client, missing, lines = connect(f"{self._server.url}/{ALIAS}"), dict(self._at.documents), list[Any]()
        for hit in _hits(client):
            if missing.pop(hit["_id"], None) is None:
                lines.append({"delete": {"_index": hit["_index"], "_id": hit["_id"]}})
            else:
                place = self._at.documents[hit["_id"]]
                if hit["_source"].get("body") != text_of(*place[1:]):
                    missing[hit["_id"]] = place
        client.close()
        for name, (index, *text) in missing.items():
            document = {"body": text_of(*text), "lang": "en", "at": 0}
            lines += [{"index": {"_index": index, "_id": name}}, document]
        if lines:
            self._sent(lines)

    # What happens to them

    def _kill(self) -> None:
        self._end(signal.SIGKILL)
        self._start()

    def _roll_over(self) -> None:
        answer = self._server.request("POST", f"/{ALIAS}/_rollover", SETTINGS)
        with self._lock:
            self._at.index = str(answer["new_index"])

    def _restart(self) -> None:
        if not self._may_restart:
            return
        self._paused.set()
        self._server.kill()
        self._server.launch()
        # It was killed, and first reads again what it had not written out, beside all who ask for it.
        self._server.ready(_RECOVERY)
        self._paused.clear()

    # The process

    def _start(self) -> None:
        url = f"{self._between.url}/{ALIAS}"
        own = ["--field", "body", "--jobs", "1", "--interval", "1", "--quiet-for", "20", "--share", "1", "--lease", "5"]
        own += ["--most-lost", "1", "--status-port", str(self._port)]
        self._last = {}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "indexer", "follow", "--store", url, *own], stderr=subprocess.DEVNULL
        )

    def _end(self, number: int) -> None:
        if self._process:
            self._process.send_signal(number)
            self._process.wait(30)
            self._process = None

    def _count(self, _method: str, _path: str) -> None:
        self._counted += 1
        self._between.requests.clear()
        self._between.headers.clear()

    def _sample(self) -> None:
        process = self._process
        assert process
        assert process.poll() is None, "follow has ended"
        with suppress(OSError):
            status = Path(f"/proc/{process.pid}/status").read_text()
            used = {name: int(kilobytes) / 1024 for name, kilobytes in re.findall(r"(\w+):\s*(\d+) kB", status)}
            self.seen.megabytes = max(self.seen.megabytes, used.get("VmHWM", 0.0))
            self.seen.last = used.get("VmRSS", 0.0)
            if time.monotonic() - self._began >= 60:
                self.seen.first = self.seen.first or self.seen.last
        with suppress(OSError):
            answer = urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=2).read().decode()
            now = {
                name: float(value)
                for name, value in re.findall(r"^neardup_follow_(\w+)\{[^}]*\} (\S+)$", answer, re.MULTILINE)
            }
            self.seen.behind = max(self.seen.behind, int(now["behind"]))
            for name in ("errors", "annotated", "regroupings"):
                setattr(self.seen, name, getattr(self.seen, name) + int(now[name] - self._last.get(name, 0)))
            self._last = now
        self.seen.requests = self._counted
        if self._awaited:
            index, name, since = self._awaited
            with suppress(OSError, ValueError, HTTPException):
                answer = self._server.request("GET", f"/{index}/_doc/{name}?_source_includes=neardup.tokens")
                if answer.get("_source"):
                    self.seen.waits.append(time.monotonic() - since)
                if answer.get("_source") or answer.get("found") is False:
                    self._awaited = None

    def _tell(self) -> None:
        at, seen = self._at, self.seen
        behind, annotated = int(self._last.get("behind", -1)), seen.annotated
        print(
            f"{at.seconds / 60:6.1f} min: {at.written:,} written, {annotated:,} annotated, {behind:,} behind, "
            f"{seen.megabytes:.0f} MB, {seen.requests:,} requests, {seen.errors} errors",
            flush=True,
        )

    # What has to be right

    def _settle(self) -> None:
        """Wait until nothing is behind and everything was grouped in a quiet time."""
        self._sample()
        before, limit = self.seen.regroupings, time.monotonic() + max(300.0, self._seconds / 4)
        while self._last.get("behind", 1) or self.seen.regroupings == before:
            assert time.monotonic() < limit, f"not settled: {self._last}"
            time.sleep(_SAMPLE)
            self._sample()

    def _rest(self) -> None:
        """Nothing is written where nothing comes, and it is only asked whether anything came."""
        before, written = self._counted, self._numbers()
        time.sleep(_QUIET)
        self.seen.quiet = round((self._counted - before) * 3600 / _QUIET)
        assert self._numbers() == written
        self._sample()
        self._end(signal.SIGTERM)

    def _numbers(self) -> dict[str, list[int]]:
        """The last change of each shard."""
        return {name: numbers(self._server, name) for name in self._server.request("GET", f"/{ALIAS}/_alias")}

    def _require_right(self) -> None:
        url = f"{self._server.url}/{ALIAS}"
        require_as_cluster(url)
        self._server.request("POST", f"/{ALIAS}/_refresh")
        client = connect(url)
        with open_store(url, read_only=True) as store:
            clustered = {name: len(members) for name, members in partition(url).items()}
            assert {each.id: each.size for each in store.clusters()} == clustered
        # As a dashboard counts them.
        drawn = self._server.request(
            "POST", f"/{ALIAS}/_search",
            {"size": 0, "track_total_hits": True, "query": {"exists": {"field": "neardup.cluster.size_class"}}},
        )  # fmt: skip
        assert drawn["hits"]["total"]["value"] == sum(clustered.values())
        wanted = dict(self._at.documents)
        for hit in _hits(client):
            index, number, place = wanted.pop(hit["_id"])
            assert hit["_index"] == index
            assert hit["_source"]["body"] == text_of(number, place), hit["_id"]
            assert hit["_source"].keys() == {"body", "lang", "at", "neardup"}
        client.close()
        assert not wanted, f"the index lacks {len(wanted)} that were written: {list(wanted.items())[:5]}"
        count = len(self._at.documents)
        assert count == self._server.request("GET", f"/{ALIAS}/_count")["count"]
        at, seen = self._at, self.seen
        told = (
            f"{self._server.name}: {at.written:,} written by {WRITERS} writers in {at.seconds / 60:.1f} minutes",
            f"of these {at.copies:,} copies and {at.edits:,} edits; {at.deletions:,} deleted; {', '.join(at.done)}",
            f"at the end {count:,} documents in {len(clustered):,} clusters, as a fresh clustering makes them",
            f"behind at most {seen.behind:,}, a fingerprint {median(seen.waits):.1f} seconds after the document "
            f"(median of {len(seen.waits)}; {max(seen.waits):.0f} at most)",
            f"{seen.first:.0f} MB after a minute, {seen.last:.0f} at the end, {seen.megabytes:.0f} at most",
            f"{seen.requests:,} requests, {seen.quiet:,} an hour where nothing comes",
            f"{seen.errors} looks that failed, {seen.regroupings} groupings of everything",
        )
        print("; ".join(told), flush=True)


def _hits(client: Any) -> Any:
    from indexer.engine.client.snapshots import Search, Slices

    body = {"query": {"match_all": {}}, "_source": True}
    with Slices(client, [Search(ALIAS, body)], 500) as pages:
        for page in pages:
            yield from page


def main() -> None:
    """Soak as the command line says."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--minutes", type=float, default=60)
    asked.add_argument("--documents", type=int, default=300_000)
    asked.add_argument("--engine", choices=ENGINES, default="elasticsearch")
    asked.add_argument("--url", default="", help="an engine that runs, and is not started again")
    asked.add_argument("--state", default="", help="a file; with it a soak against --url goes on where it ended")
    given = asked.parse_args()
    if given.url:
        Soak(RunningEngine(given.url), given.minutes, given.documents, given.state, may_restart=False).run()
        return
    with running(ENGINES[given.engine]) as server:
        Soak(server, given.minutes, given.documents, may_restart=True).run()


if __name__ == "__main__":
    main()
