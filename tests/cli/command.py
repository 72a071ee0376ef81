"""The command as a user runs it: a process of its own, in a folder of its own."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tests import warm
from tests.cli.written import changed, html, pdf, prose, xml

COMMAND = [sys.executable, "-m", "indexer"]


def bound_by_permissions() -> None:
    """Take from root, before another program begins, that it may read whatever there is (capabilities(7))."""
    if os.geteuid() == 0:
        for capability in (1, 2):
            assert ctypes.CDLL(None, use_errno=True).prctl(24, capability, 0, 0, 0) == 0, os.strerror(
                ctypes.get_errno()
            )


def leaves(group: click.Group, *path: str) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by what is typed."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, *path, name)
        else:
            yield " ".join((*path, name)), command


@dataclass
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The answer of a command with --json."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The answers of a command that prints one JSON object a line."""
        return [json.loads(line) for line in self.out.splitlines()]


class Neardup:
    """Runs `neardup` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str | Path, code: int = 0, stdin: str | bytes = b"", **environment: str) -> Ended:
        """Run to the end; fails the test unless the exit code is the one expected."""
        words, env = list(map(str, arguments)), {**warm.clean_environment(), **environment}
        given = stdin.encode() if isinstance(stdin, str) else stdin
        if all(name.startswith("NEARDUP") for name in environment):
            done = warm.run(words, cwd=self.folder, env=env, stdin=given)
        else:
            # What steers Python itself needs a Python that starts with it.
            command = [*COMMAND, *words]
            done = subprocess.run(command, cwd=self.folder, env=env, input=given, capture_output=True, timeout=120)
        out, err = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == code, f"exit code {done.returncode}, expected {code}\n{out}\n{err}"
        assert "Traceback" not in err, err
        return Ended(done.returncode, out, err)

    def start(self, *arguments: str | Path, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start in a process group of its own and come back at once."""
        return subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=self.folder,
            env=warm.clean_environment(),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )


def write(folder: Path, files: dict[str, bytes | str]) -> None:
    """Write files below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


# The near ones of it.
ALIKE = ["docs/a.html", "docs/b.pdf", "docs/deep/c.xml", "docs/deep/d.txt", "docs/near.txt"]


def mixed_folder(folder: Path) -> None:
    """Documents of every format: the same text four times, a near-copy, another, a short, an empty and a broken one."""
    text = prose(1)
    write(
        folder,
        {
            "docs/a.html": html(text),
            "docs/b.pdf": pdf(text),
            "docs/deep/c.xml": xml(text),
            "docs/deep/d.txt": text,
            "docs/near.txt": changed(text),
            "docs/other.html": html(prose(2), "Another"),
            "docs/short.txt": "only a few words here",
            "docs/empty.txt": "",
            "docs/broken.pdf": b"%PDF-1.4\nnothing that could be read\n%%EOF",
            "docs/picture.png": b"\x89PNG\r\n\x1a\n" + bytes(20),
        },
    )


Records = dict[str, dict[str, Any]]


def contents(neardup: Neardup, store: str | Path = "collection.neardup") -> tuple[Records, Records]:
    """All that a store holds, records and failures by id, without the times at which it was written."""
    from indexer import open_store
    from indexer.library.results import stored_members
    from indexer.model import SIMHASH_DOC

    with open_store(neardup.folder / store, read_only=True) as source:
        records = {
            record.ref.id: {
                **stored_members(record),
                "keys": record.sketches[SIMHASH_DOC].keys if record.has_words else (),
                "indexed_at": None,
                "first_indexed_at": None,
            }
            for record in source.scan()
        }
        failures = {
            failure.ref.id: {"reason": failure.reason, "source": failure.source, "digest": failure.source_digest}
            for failure in source.failures()
        }
    return records, failures
