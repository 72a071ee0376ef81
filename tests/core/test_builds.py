"""The C tests, built plain and under the sanitizers, and the same answers from every build."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from indexer import core, core_sketch

ROOT = Path(__file__).resolve().parents[2]
FUZZ_SECONDS = os.environ.get("NEARDUP_FUZZ_SECONDS", "5")


def build(folder: Path, *options: str, targets: Sequence[str] = ()) -> Path:
    """Build in this folder, everything where no targets are named."""
    configure = ["cmake", "-S", str(ROOT / "cffi_build"), "-B", str(folder), *options]
    for command in (configure, ["cmake", "--build", str(folder), "--parallel", "2", "--target", *(targets or ["all"])]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("texts")
    vectors = json.loads((ROOT / "tests" / "vectors" / "simhash-doc.json").read_text("utf-8"))["vectors"]
    paths = []
    every = "".join(chr(code) + "a " for code in range(0x20, 0x30000) if not 0xD800 <= code < 0xE000)
    for number, text in enumerate(
        [*(vector["text"] for vector in vectors), "all of them " * 5000, "中文 naïve x@y.zz " * 999, every]
    ):
        path = folder / str(number)
        path.write_text(text, "utf-8", newline="")
        paths.append(path)
    return paths


def features_of(text: bytes) -> list[str]:
    """What the C test prints of a text's shingles, sketch and folded form, by the extension."""
    folded = f"{core.lookup8(core_sketch.folded_text(text)):016x}"
    both = core_sketch.fingerprint_and_minhash(text)
    sketch = [f"{core.lookup8(both.packed):016x}", str(both.shingles), str(both.keys[15])] if both else []
    shingles = core.shingle_hashes(text, 5)
    signature, projection = core.minhash(shingles, 2), core.random_projection(shingles, 1)
    samples = core.weighted_minhash(shingles, 1 + np.arange(shingles.size) % 7, 2)
    if signature is None or projection is None or samples is None:
        return [*sketch, folded]
    keys = core.band_keys(np.concatenate([signature, samples]), 1, 4)
    return [f"{int(projection[0]):016x}", f"{int(keys[0]):016x}", *sketch, folded]


@pytest.mark.parametrize("options", [("-DND_PLAIN=ON",), ("-DCMAKE_BUILD_TYPE=Debug", "-DND_SANITIZE=ON"), ()])
def test_c_tests_and_equal_answers(tmp_path: Path, texts: list[Path], options: tuple[str, ...]) -> None:
    program = build(tmp_path, *options) / "test_core"
    for tests in (program, tmp_path / "test_pairs"):
        done = subprocess.run([str(tests)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    printed = subprocess.run([str(program), *map(str, texts)], check=True, capture_output=True, text=True).stdout
    for line, path in zip(printed.splitlines(), texts, strict=True):
        status, value, tokens, *features = line.split()
        found = core.fingerprint(path.read_bytes())
        assert (found is None) == (status == "1"), path.read_text("utf-8")[:80]
        assert found is None or (f"{found[0]:016x}", str(found[1])) == (value, tokens)
        assert features == features_of(path.read_bytes())


def test_fuzzing_finds_nothing(tmp_path: Path) -> None:
    compiler = os.environ.get("NEARDUP_FUZZ_CC", "")
    options = ("-DND_SANITIZE=ON", *([f"-DCMAKE_C_COMPILER={compiler}"] if compiler else []))
    program = build(tmp_path, *options) / "fuzz_core"
    arguments = [f"-max_total_time={FUZZ_SECONDS}", "-max_len=4096", "-verbosity=0"] if compiler else [FUZZ_SECONDS]
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
