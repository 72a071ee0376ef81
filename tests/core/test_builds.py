"""The C tests, built plain and under the sanitizers, and the same answers from every build."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from indexer.core.sketches import fingerprint
from tests.core.builds import build, features_of

FUZZ_SECONDS = os.environ.get("NEARDUP_FUZZ_SECONDS", "5")


@pytest.mark.parametrize("options", [("-DND_PLAIN=ON",), ("-DCMAKE_BUILD_TYPE=Debug", "-DND_SANITIZE=ON"), ()])
def test_c_tests_and_equal_answers(tmp_path: Path, texts: list[Path], options: tuple[str, ...]) -> None:
    program = build(tmp_path, *options, targets=["test_core", "test_pairs"]) / "test_core"
    for tests in (program, tmp_path / "test_pairs"):
        done = subprocess.run([str(tests)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    printed = subprocess.run([str(program), *map(str, texts)], check=True, capture_output=True, text=True).stdout
    for line, path in zip(printed.splitlines(), texts, strict=True):
        status, value, tokens, *features = line.split()
        found = fingerprint(path.read_bytes())
        assert (found is None) == (status == "1"), path.read_text("utf-8")[:80]
        assert found is None or (f"{found[0]:016x}", str(found[1])) == (value, tokens)
        assert features == features_of(path.read_bytes())


def test_fuzzing_finds_nothing(tmp_path: Path) -> None:
    compiler = os.environ.get("NEARDUP_FUZZ_CC", "")
    options = ("-DND_SANITIZE=ON", *([f"-DCMAKE_C_COMPILER={compiler}"] if compiler else []))
    program = build(tmp_path, *options, targets=["fuzz_core"]) / "fuzz_core"
    arguments = [f"-max_total_time={FUZZ_SECONDS}", "-max_len=4096", "-verbosity=0"] if compiler else [FUZZ_SECONDS]
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
