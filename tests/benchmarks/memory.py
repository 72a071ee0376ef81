"""Peak memory of every command on a store made from JSON lines: the command with its workers, without mapped files.

Run as `python -m tests.benchmarks memory [--documents N] [--store URL]`; URL is a new index in a search cluster, which
is deleted afterwards. One document in twenty is a copy of another with a few words changed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from indexer.errors import NeardupError
from tests.benchmarks.large import remove

DOCUMENTS = 100_000
WANTED = 1_000_000_000
_WORDS, _VOCABULARY, _SEED = 300, 20_000, 20_261_122
_BY_TEXT = "simhash-doc@3bits/minhash@0.6+text@0.6"


def run(documents: int = DOCUMENTS, *, url: str | None = None, directory: str | None = None) -> dict[str, int]:
    """Run every command on as many documents; gives the peak bytes of each."""
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        lines = Path(folder, "all.jsonl")
        write(lines, documents)
        print(f"{documents:,} documents of {_WORDS} words, {lines.stat().st_size / 1e6:,.0f} MB of JSON lines")
        try:
            return _measure(Path(folder), lines, url or str(Path(folder, "store.neardup")))
        finally:
            if url:
                remove(url)


def write(path: Path, documents: int) -> None:
    """Documents as JSON lines, with the ids d0, d1 and so on."""
    chance = random.Random(_SEED)
    vocabulary = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=3 + n % 8)) for n in range(_VOCABULARY)]
    last: list[str] = []
    with path.open("w", encoding="utf-8") as file:
        for number in range(documents):
            if number % 20 == 19:
                words = list(last)
                for place in chance.sample(range(_WORDS), 5):
                    words[place] = chance.choice(vocabulary)
            else:
                words = last = chance.choices(vocabulary, k=_WORDS)
            line = {"id": f"d{number}", "title": " ".join(words[:5]), "text": " ".join(words), "lang": "en"}
            file.write(json.dumps(line) + "\n")


def _measure(folder: Path, lines: Path, store: str) -> dict[str, int]:
    if "://" in store:
        subprocess.run([sys.executable, "-m", "indexer", "setup", "--store", store], check=True)
    nowhere, found = ["--output", str(folder / "found")], dict[str, int]()
    for command in (
        ["index", str(lines)],
        ["index", str(lines)],
        ["index", str(lines), "--cluster"],
        ["stats"],
        ["similar", "--id", "d18"],
        ["similar", "--id", "d18", "--match", _BY_TEXT],
        ["compare", "id:d18", "id:d19"],
        ["diff", "id:d18", "id:d19"],
        ["evaluate"],
        ["corpus", "--scheme", "i-match", str(lines)],
        ["corpus", "--scheme", "i-match", "--from-store"],
        ["pairs", *nowhere],
        ["pairs", "--match", _BY_TEXT, *nowhere],
        ["cluster"],
        ["cluster"],
        ["cluster", "--match", _BY_TEXT],
        ["report", *nowhere],
        ["prune", "--dry-run"],
        ["prune", "--verify", "text", "--dry-run"],
        ["prune"],
        ["failures"],
        ["show", "d18"],
        ["delete", "d18"],
        ["schemes", "--store", store],
    ):
        words = command if "--store" in command else [*command, "--store", store]
        seconds, peak = _child([sys.executable, "-m", "indexer", *words])
        shown = " ".join(Path(word).name if word.startswith("/") else word for word in command)
        over = "  MORE THAN WANTED" if peak > WANTED else ""
        print(f"{peak / 1e6:7,.0f} MB  {seconds:7,.1f} s  {shown}{over}", flush=True)
        found[shown] = max(peak, found.get(shown, 0))
    return found


def _child(command: list[str]) -> tuple[float, int]:
    """Seconds and peak bytes of a command and its workers together; NeardupError where it fails."""
    begin, peak = time.perf_counter(), 0
    with tempfile.TemporaryFile() as said, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said) as child:
        while child.poll() is None:
            peak = max(peak, sum(map(_anonymous, _family(child.pid))))
            time.sleep(0.05)
        said.seek(0)
        if child.returncode:
            words = said.read(2000).decode(errors="replace")
            raise NeardupError(f"neardup {command[3]} ended with exit code {child.returncode}: {words}")
    return time.perf_counter() - begin, peak


def _family(process: int) -> list[int]:
    """A process and its children."""
    children: list[int] = []
    # One that has ended meanwhile has none.
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            children += map(int, (task / "children").read_text().split())
    return [process, *children]


def _anonymous(process: int) -> int:
    with suppress(OSError):
        found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
        return int(found[1]) * 1024 if found else 0
    return 0


def main(arguments: Sequence[str]) -> None:
    """Run with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks memory", description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=DOCUMENTS, metavar="N")
    parser.add_argument("--store", metavar="URL", help="a new index in a search cluster")
    parser.add_argument("--directory", help="where the files are made for the time of the run")
    options = parser.parse_args(arguments)
    run(options.documents, url=options.store, directory=options.directory)


if __name__ == "__main__":
    main(sys.argv[1:])
