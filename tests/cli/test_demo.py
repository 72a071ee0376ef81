"""The demonstration on a folder of one's own; the one on fetched documents is `make demo`."""

from __future__ import annotations

import subprocess
import sys

from command import Neardup, clean_environment, mixed_folder
from pages import ROOT


def test_the_demonstration_on_a_folder(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
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
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, done.stderr
        for word in words:
            assert word in done.stdout + done.stderr
