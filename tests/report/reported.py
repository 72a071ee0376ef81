"""Documents of a report, and the page as a browser has it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from indexer import open_store
from indexer.clustering.clusters import cluster
from indexer.ingest.indexing import store_info
from indexer.matching.rule import parse_rule
from indexer.model import Fingerprint, Record, Ref
from indexer.schemes import simhash
from indexer.stores import Store

HOSTILE = (
    '</title></script><script>document.title="taken"</script>'
    '<img src=x onerror=\'document.title="taken"\'>\u202e\x1b[31m&"'
)
RULE = parse_rule("simhash-doc@3bits")
# Similarities are stored to the fourth place.
ONE_BIT, TWO_BITS = round(63 / 64, 4), round(62 / 64, 4)


def record(number: int, value: int, **about: object) -> Record:
    fingerprint = Fingerprint(value, 300)
    made = Record(
        Ref(f"d{number}"),
        simhash.sketched(fingerprint),
        source=f"/data/a/{number}.html",
        title=f"Title {number}",
        format="html",
        size=100,
        indexed_at=f"2026-0{number % 3 + 1}-05T00:00:00Z",
    )
    return replace(made, **about)  # type: ignore[arg-type]


def known() -> list[Record]:
    """Three near each other, two the same, one alone, one too short, one without a fingerprint."""
    one, two, three = 0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x00FF00FF55AA55AA
    return [
        record(1, one),
        record(2, one ^ 1, source="https://user:secret@Host.example/a", format="pdf"),
        record(3, one ^ 3, size=1000),
        record(4, two, source="/data/b/4.html"),
        record(5, two, source="/data/b/5.html"),
        record(6, three, metadata={"published": "1999-12-31"}),
        record(7, three, short=True),
        replace(record(8, three), sketches={}),
    ]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "known.neardup", create=store_info("landmarks")) as made:
        list(made.put(known()))
        cluster(made, RULE)
        yield made


def browser() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("NEEDS CHROMIUM: no browser on the path; the page was not tried in one")
    return found


def after_loading(page: Path, profile: Path, *options: str) -> tuple[str, str]:
    """The page as the browser has it when its scripts have run, and what the browser said."""
    # Where many share a machine, a browser without a screen now and then never ends.
    for attempt in range(3):
        try:
            done = subprocess.run(
                [
                    *(browser(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
                    *("--disable-background-networking", "--disable-component-update", "--enable-logging=stderr"),
                    *(f"--user-data-dir={profile}-{attempt}", "--virtual-time-budget=2000", *options),
                    *("--dump-dom", page.as_uri()),
                ],
                capture_output=True,
                timeout=40,
            )
        except subprocess.TimeoutExpired:
            continue
        return done.stdout.decode(), done.stderr.decode()
    raise AssertionError("the browser did not end in three attempts of 40 seconds")
