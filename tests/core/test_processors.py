"""The C core on other processors, big-endian and of 32 bits too: cross-compiled, and run by an emulator.

apt-get install qemu-user gcc-s390x-linux-gnu libc6-dev-s390x-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-i686-linux-gnu libc6-dev-i386-cross
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from indexer.core.sketches import fingerprint
from tests.core.builds import ROOT, build, features_of

# The emulator of each, by the name of its compiler.
EMULATORS = {
    "s390x-linux-gnu": "qemu-s390x",
    "arm-linux-gnueabihf": "qemu-arm",
    "aarch64-linux-gnu": "qemu-aarch64",
    "i686-linux-gnu": "qemu-i386",
}
# Big-endian, and of 32 bits: what the others are is like one of these, or like the machine of most developers.
ALWAYS = {"s390x-linux-gnu", "arm-linux-gnueabihf"}
ALL = bool(os.environ.get("NEARDUP_ALL"))
# Zig's names of what a release is built for and no machine of ours runs.
TARGETS = ["x86_64-macos", "aarch64-macos", "x86_64-windows-gnu", "aarch64-windows-gnu", "x86_64-linux-musl"]


def emulated(compiler: str) -> str:
    """The emulator; a skip that says what is missing."""
    if compiler not in ALWAYS and not ALL:
        pytest.skip("only with NEARDUP_ALL")
    emulator = EMULATORS[compiler]
    missing = [program for program in (f"{compiler}-gcc", emulator) if not shutil.which(program)]
    if missing:
        pytest.skip(f"NOT RUN ON ANOTHER PROCESSOR: {' and '.join(missing)} not installed; see {Path(__file__).name}")
    return emulator


def cross_built(folder: Path, compiler: str, *targets: str) -> Path:
    options = ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_C_COMPILER={compiler}-gcc", "-DCMAKE_EXE_LINKER_FLAGS=-static"]
    return build(folder, *options, targets=targets)


@pytest.mark.parametrize("compiler", EMULATORS)
def test_the_same_answers_on_every_processor(tmp_path: Path, texts: list[Path], compiler: str) -> None:
    emulator = emulated(compiler)
    program = str(cross_built(tmp_path, compiler, "test_core") / "test_core")
    done = subprocess.run([emulator, program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([emulator, program, *map(str, texts)], capture_output=True, text=True, check=True)
    for line, path in zip(done.stdout.splitlines(), texts, strict=True):
        status, value, tokens, *features = line.split()
        found = fingerprint(path.read_bytes())
        assert (found is None) == (status == "1"), path.read_text("utf-8")[:80]
        assert found is None or (f"{found[0]:016x}", str(found[1])) == (value, tokens)
        assert features == features_of(path.read_bytes())


@pytest.mark.skipif(not ALL, reason="only with NEARDUP_ALL")
@pytest.mark.parametrize("compiler", EMULATORS)
def test_pairs_and_fuzzing_on_every_processor(tmp_path: Path, compiler: str) -> None:
    emulator = emulated(compiler)
    folder = cross_built(tmp_path, compiler, "test_pairs", "fuzz_core")
    for command in ([folder / "test_pairs"], [folder / "fuzz_core", "5"]):
        done = subprocess.run([emulator, *map(str, command)], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not ALL, reason="only with NEARDUP_ALL")
@pytest.mark.parametrize("target", TARGETS)
def test_it_compiles_for_systems_that_are_not_here(tmp_path: Path, target: str) -> None:
    pytest.importorskip("ziglang", reason="NOT COMPILED FOR OTHER SYSTEMS: pip install ziglang")
    sources = sorted(str(path) for path in (ROOT / "cffi_build").rglob("*.c") if path.parent.name != "tests")
    # The compiler keeps what it has made, for all projects of the user; here for the length of the test.
    cache = {"ZIG_LOCAL_CACHE_DIR": str(tmp_path / "local"), "ZIG_GLOBAL_CACHE_DIR": str(tmp_path / "global")}
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
    for source in sources:
        output = str(tmp_path / f"{Path(source).stem}.o")
        command = [sys.executable, "-m", "ziglang", "cc", "-target", target, *flags, "-c", source, "-o", output]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **cache})
        assert done.returncode == 0, f"{Path(source).name}: {done.stderr[-3000:]}"
