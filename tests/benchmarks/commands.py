"""Processor time of the commands beside those of another revision of the project, on the same texts and pages.

Run as `python -m tests.benchmarks commands [--beside REVISION] [--rounds N] [--texts N] [--cluster URL]`. Both
revisions are built into environments of their own and run each command in turn, the other one first in every second
round; the median of the rounds is printed: processor time of a command with its workers, and relative to the other
revision's. With a cluster, in which two indices are made and deleted again, it is `annotate` alone that is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from indexer.engine.client.bulk import Action
from indexer.engine.client.connection import connect
from indexer.errors import NeardupError
from tests.benchmarks.engines import store_all
from tests.benchmarks.memory import write

BESIDE = "cd5e091"
ROUNDS, TEXTS, FILES, PAGES, ASKED = 5, 20_000, 2_000, 600, 100
_ROOT = Path(__file__).resolve().parents[2]
# What a command is called in the figures, its words, and the store that it goes by.
COMMANDS = (
    ("start", ["--version"], ""),
    ("index, texts", ["index", "{texts}"], "texts"),
    ("index, nothing new", ["index", "{texts}"], "texts"),
    ("index, text files", ["index", "{files}"], "files"),
    ("index, HTML", ["index", "{pages}"], "pages"),
    ("stats", ["stats"], "texts"),
    ("similar, stored", ["similar", "--id", "d18"], "texts"),
    ("similar, 100 files", ["similar", "{asked}"], "pages"),
    ("pairs, texts", ["pairs"], "texts"),
    ("pairs, HTML", ["pairs"], "pages"),
    ("cluster, texts", ["cluster"], "texts"),
    ("cluster, unchanged", ["cluster"], "texts"),
    ("cluster, HTML", ["cluster"], "pages"),
    ("hash, 100 files", ["hash", "{asked}"], ""),
)
ANNOTATE = (
    ("annotate", ["annotate", "--field", "text"], "engine"),
    ("annotate, nothing new", ["annotate"], "engine"),
)


def run(
    shared_data: Path, beside: str = BESIDE, rounds: int = ROUNDS, texts: int = TEXTS, cluster: str = ""
) -> dict[str, float]:
    """Measure and print; gives the share of each command. `cluster` is the URL of an engine, for annotate."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archive = subprocess.run(["git", "archive", beside], cwd=_ROOT, capture_output=True, check=False)
        if archive.returncode:
            print(f"needs the revision {beside}, which this copy of the project does not have: not measured")
            return {}
        subprocess.run(["tar", "-x", "-C", _made(folder / "source")], input=archive.stdout, check=True)
        sides = [_built(folder / "new", _ROOT), _built(folder / "old", folder / "source")]
        write(folder / "texts.jsonl", texts)
        _write_files(folder)
        pages = sorted((shared_data / "html").rglob("*.html"))
        for into, some in (("pages", pages[:: len(pages) // PAGES]), ("asked", pages[1 :: len(pages) // ASKED])):
            for number, page in enumerate(some):
                shutil.copy(page, _made(folder / into) / f"{number:04}{page.name}")
        print(
            f"{texts:,} texts, {len(pages[:: len(pages) // PAGES])} pages; median of {rounds} rounds, beside {beside}"
        )
        return _measure(folder, sides, rounds, cluster)


def _write_files(folder: Path) -> None:
    """Some of the texts as files, each in one of several folders."""
    _made(folder / "files")
    with (folder / "texts.jsonl").open("rb") as lines:
        for number, line in enumerate(islice(lines, FILES)):
            place = _made(folder / "files" / f"{number // 100}") / f"{number}.txt"
            place.write_text(json.loads(line)["text"], "utf-8")


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def _built(environment: Path, source: Path) -> Path:
    """The interpreter of an environment with the project of a folder, and what it needs from the one that runs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    # Only as a path, so that an editable installation of the project there stays out.
    packages = next(environment.glob("lib/python*/site-packages"))
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, str(source)], check=True)
    return python


def _measure(folder: Path, sides: Sequence[Path], rounds: int, cluster: str) -> dict[str, float]:
    spent: dict[str, list[tuple[float, float]]] = {}
    for number in range(rounds):
        stores = [f"{cluster}/neardup-bench-commands-{side}" if cluster else f"{number}-{side}" for side in (0, 1)]
        for url in stores if cluster else ():
            _fill(url, folder / "texts.jsonl")
        for name, words, store in ANNOTATE if cluster else COMMANDS:
            seconds = [0.0, 0.0]
            for side in (0, 1) if number % 2 else (1, 0):
                place = stores[side] if cluster else str(folder / f"{store}{stores[side]}.neardup")
                given = [each for word in words for each in _given(folder, word)]
                if given == ["cluster"] and not side:
                    # Earlier it told no relations; what these take is measured by `relations`.
                    given.append("--no-relation")
                command = [str(sides[side]), "-m", "indexer", *given, *(["--store", place] if store else [])]
                seconds[side] = processor_time(command, folder)
            spent.setdefault(name, []).append((seconds[0], seconds[1]))
        for url in stores if cluster else ():
            _drop(url)
    shares = {}
    for name, both in spent.items():
        shares[name] = statistics.median(new / old for new, old in both)
        print(f"{name:24} {statistics.median(new for new, _ in both):8.2f} s  {shares[name]:5.2f} x", flush=True)
    return shares


def _fill(url: str, lines: Path) -> None:
    """Make an index of these documents."""
    _drop(url)
    client, index = connect(url), url.rpartition("/")[2]
    try:
        text = {"properties": {"text": {"type": "text"}}}
        client.request("PUT", f"/{index}", {"settings": {"number_of_replicas": 0}, "mappings": text})
        with lines.open("rb") as file:
            store_all(client, (Action("index", index, json.loads(line)["id"], None, line.rstrip()) for line in file))
        client.request("POST", f"/{index}/_refresh")
    finally:
        client.close()


def _drop(url: str) -> None:
    client, index = connect(url), url.rpartition("/")[2]
    try:
        client.request("DELETE", f"/{index}", ignore_unavailable="true")
    finally:
        client.close()


def _given(folder: Path, word: str) -> list[str]:
    """The arguments that a word of a command stands for."""
    if word == "{asked}":
        return sorted(map(str, (folder / "asked").iterdir()))
    return [word.format(texts=folder / "texts.jsonl", files=folder / "files", pages=folder / "pages")]


def processor_time(command: list[str], folder: Path) -> float:
    """Seconds of processor that a command and its workers took; NeardupError where it fails."""
    with (folder / "said").open("w+b") as said:
        child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            said.seek(0)
            raise NeardupError(
                f"{' '.join(command[2:5])} ended with exit code {child.returncode}: {said.read(2000).decode()}"
            )
    return used.ru_utime + used.ru_stime


def main(arguments: Sequence[str]) -> None:
    """Run with the options of the command line."""
    from tests.benchmarks.__main__ import SHARED_DATA

    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks commands", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--beside", default=BESIDE, metavar="REVISION", help="the other revision (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    parser.add_argument("--texts", type=int, default=TEXTS, metavar="N")
    parser.add_argument("--cluster", default="", metavar="URL", help="measures annotate there, in place of the others")
    options = parser.parse_args(arguments)
    run(SHARED_DATA, options.beside, options.rounds, options.texts, options.cluster)


if __name__ == "__main__":
    main(sys.argv[1:])
