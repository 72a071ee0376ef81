"""Failed tests are run once more, each alone: one that passes then is named and fails no run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAKY = """
import pathlib
def test_at_first():
    seen = pathlib.Path("seen")
    passes = seen.exists()
    seen.touch()
    assert passes, "nobody was here"
"""
BROKEN = "import pytest\n@pytest.mark.parametrize('n', range({}))\ndef test_of(n):\n    assert not n\n"
SKIPPED = """
import pathlib, pytest
def test_skipped():
    seen = pathlib.Path("skipped")
    if seen.exists():
        pytest.skip("no engine")
    seen.touch()
    assert False
"""


@pytest.mark.parametrize(
    ("files", "code", "said"),
    [
        ({"flaky": FLAKY}, 0, "FLAKY test_flaky.py::test_at_first"),
        ({"flaky": FLAKY, "broken": BROKEN.format(2)}, 1, "FLAKY test_flaky.py::test_at_first"),
        ({"skipped": SKIPPED}, 1, "1 skipped"),
        ({"broken": BROKEN.format(7)}, 1, "6 tests failed, exit code 1: nothing is run again"),
        ({"broken": "import nothing_of_this_name\n"}, 1, "exit code 2: nothing is run again"),
    ],
)
def test_only_what_passes_alone_is_forgiven(tmp_path: Path, files: dict[str, str], code: int, said: str) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_terminal_summary\n")
    for name, text in files.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q"]
    assert subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True).returncode
    again = [sys.executable, ROOT / ".ci/again.py"]
    done = subprocess.run(again, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, said in done.stdout) == (code, True), done.stdout
    if code == 0:
        assert "nobody was here" in done.stdout.partition(said)[2]
