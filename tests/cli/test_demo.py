"""The demonstration on a folder of one's own; the one on fetched documents is `make demo`."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.cli.command import Neardup, mixed_folder
from tests.pages import ROOT
from tests.warm import clean_environment

# Notes what each process imports, the extracting ones too.
NOTING = """import os, sys
beside = os.path.join(os.path.dirname(__file__), "imported")
noted, log = set(), os.open(beside, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
def note(event, about):
    if event == "import" and about[0] not in noted:
        noted.add(about[0])
        os.write(log, about[0].partition(".")[0].encode() + b"\\n")
sys.addaudithook(note)
"""
# What a plain installation brings for other uses: lists of stop-words, a search engine's client.
OTHER_USES = {"elasticsearch", "stopwordsiso"}


def needed(name: str) -> set[str]:
    """The packages that a plain installation of this one needs by itself."""
    wanted = map(Requirement, requires(name) or ())
    return {canonicalize_name(each.name) for each in wanted if not each.marker or each.marker.evaluate({"extra": ""})}


def closure(name: str) -> set[str]:
    """Those, and what they need."""
    found, open_ = {name}, [name]
    while open_:
        new = needed(open_.pop()) - found
        found |= new
        open_ += new
    return found


def test_the_demonstration_on_a_folder(neardup: Neardup) -> None:
    """It imports what a plain installation brings, and what that brings is imported."""
    mixed_folder(neardup.folder)
    # What the fast extractors find no text in goes to the others.
    (neardup.folder / "docs" / "menu.html").write_text("<nav></nav>", "utf-8")
    (neardup.folder / "docs" / "torn.xml").write_text("<text>no end &", "utf-8")
    (neardup.folder / "sitecustomize.py").write_text(NOTING, "utf-8")
    for folder, code, words in (
        (
            "docs",
            0,
            ["$ neardup index docs", "$ neardup similar --id=", "100%", "docs/broken.pdf", "report.html, "],
        ),
        ("nowhere", 5, ["no such file or folder"]),
    ):
        done = subprocess.run(
            [sys.executable, str(ROOT / "docker" / "demo.py"), folder],
            cwd=neardup.folder,
            env={**clean_environment(), "PYTHONPATH": str(neardup.folder)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, done.stderr
        for word in words:
            assert word in done.stdout + done.stderr
    brought_by = packages_distributions()
    names = set((neardup.folder / "imported").read_text("utf-8").split())
    used = {canonicalize_name(each) for name in names for each in brought_by.get(name, ())}
    assert used <= closure("neardup")
    assert needed("neardup") - used <= OTHER_USES


def test_make_demo_makes_a_plain_installation(tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "--dry-run", "demo", f"VENV={tmp_path}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert re.findall(r"pip install (.*)", done.stdout) == ["--quiet --editable ."]
