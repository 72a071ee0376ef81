"""Commands that do their work on a real engine show no secret either, and leave none in files and indices."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.leaking import COMMANDS, SHAPES, STORELESS, Leaks, leaks
from tests.cli.written import changed, prose
from tests.engines.annotated import fill
from tests.engines.servers import Server

__all__ = ["leaks"]

WAYS = ("url", "environment", "file")
every = pytest.mark.skipif(not os.environ.get("NEARDUP_ALL"), reason="takes long; make test-all")
# Each command with what it needs to come to an end here, in an order in which it does something.
FLOW: list[list[str]] = [
    ["setup", "--dry-run"],
    ["setup"],
    ["index", "docs", "--jobs", "1", "--id-from", "name", "--json"],
    ["index", "docs", "--jobs", "1", "--id-from", "name", "--retry-failed", "--bulk-load"],
    ["corpus", "docs", "--scheme", "i-match", "--jobs", "1"],
    ["cluster", "--json"],
    ["decisions", "--json"],
    ["batch", "load", "batch", "--stale", "keep"],
    ["stats"],
    ["stats", "--json"],
    ["stats", "--format", "prometheus"],
    ["doctor", "--texts"],
    ["doctor", "--json"],
    ["failures"],
    ["failures", "--json"],
    ["similar", "docs/a.txt", "--json"],
    ["pairs"],
    ["pairs", "--format", "jsonl", "-o", "pairs.jsonl"],
    ["compare", "id:a.txt", "id:b.txt"],
    ["diff", "id:a.txt", "id:b.txt"],
    ["schemes"],
    ["evaluate", "--schemes", "simhash", "--jobs", "1"],
    ["report", "-o", "report.html"],
    ["report", "--format", "json", "-o", "report.json"],
    ["show", "a.txt"],
    ["history", "a.txt"],
    ["index", "docs", "--scheme", "passages", "--jobs", "1", "--id-from", "name"],
    ["passages"],
    ["serve"],
    ["prune", "--dry-run"],
    ["prune"],
    ["prune", "--delete", "--yes"],
    ["delete", "c.txt", "not-there"],
    ["setup", "--repair"],
    ["setup", "--remove", "--yes"],
]


def test_the_flow_has_every_command() -> None:
    assert {words[0] for words in FLOW} | {"annotate", "follow", "mcp", "undo"} | STORELESS == set(COMMANDS)


def served(url: str) -> str:
    """All that a service says from its start, by way of a question, to its end."""
    command = [sys.executable, "-m", "indexer", "--debug", "serve", "--store", url, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        said = ""
        while not (ready := re.search(r"answers at (https?://\S+)", said)):
            line = process.stderr.readline()
            assert line, said
            said += line
        body = json.dumps({"documents": [{"text": prose(1)}]}).encode()
        asked = urllib.request.Request(f"{ready[1]}/similar", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            said += str(answer.read(), "utf-8")
        process.terminate()
        return said + process.stderr.read()


@contextlib.contextmanager
def secret_given(way: str, leaks: Leaks, place: str) -> Iterator[str]:
    """What to call the engine at a place while the secret is given by this way."""
    secret = SHAPES["plain"] + SHAPES["slash"] + SHAPES["quotes"] + SHAPES["not-ascii"]
    with pytest.MonkeyPatch.context() as patched:
        if way == "url":
            yield f"http://elastic:{urllib.parse.quote(secret, safe='')}@{place}"
        elif way == "environment":
            patched.setenv("NEARDUP_USERNAME", "elastic")
            patched.setenv("NEARDUP_PASSWORD", secret)
            yield f"http://{place}"
        else:
            said = f'username = "elastic"\npassword = {json.dumps(secret, ensure_ascii=False)}\n'
            leaks.give(Path("credentials.toml").resolve(), said)
            patched.setenv("NEARDUP_CREDENTIALS", "credentials.toml")
            yield f"http://{place}"


# Each command gets the next way; a whole day of each one takes long.
@pytest.mark.parametrize("ways", [WAYS, *(pytest.param((way,), marks=every) for way in WAYS)], ids="-".join)
def test_a_whole_day(server: Server, index_name: str, leaks: Leaks, ways: tuple[str, ...]) -> None:
    by_turns = itertools.cycle(ways)
    place = f"127.0.0.1:{server.port}"
    Path("docs").mkdir()
    for name, text in {"a": prose(1), "b": changed(prose(1)), "c": prose(2)}.items():
        Path(f"docs/{name}.txt").write_text(text)
    Path("docs/bad.pdf").write_bytes(b"%PDF-1.4\nnothing\n%%EOF")
    for words in FLOW:
        with secret_given(next(by_turns), leaks, place) as engine:
            url = f"{engine}/{index_name}"
            if words == ["serve"]:
                leaks.search(served(url), "service")
                continue
            code, said = leaks.run("--debug", *words, "--store", url)
            assert code in {"delete": (5,), "doctor": (0, 7)}.get(words[0], (0,)), (words, said)
    fill(server, f"{index_name}-owned", {"1": {"body": prose(3)}, "2": {"body": prose(4)}})
    words = ["--field", "body", "--jobs", "1", "--json"]
    for more in (["--dry-run"], ["--to", f"{index_name}-aside"], []):
        with secret_given(next(by_turns), leaks, place) as engine:
            code, said = leaks.run("--debug", "annotate", "--store", f"{engine}/{index_name}-owned", *words, *more)
            assert code == 0, said
    for path in ("/_search?size=1000", "", "/_settings"):
        found = server.request("GET", f"/*{index_name}*{path}")
        leaks.search(json.dumps(found, ensure_ascii=False), path)
