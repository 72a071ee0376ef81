"""The golden vectors: made by the oracle, met by the core, on every Python at hand."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from indexer.model import parse_fingerprint
from indexer.schemes import simhash
from indexer.schemes.keys.simhash64 import SIMHASH64_LAYOUT

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
DOCUMENT = json.loads((VECTORS / "simhash-doc.json").read_text("utf-8"))


def test_the_oracle_still_writes_the_same_file() -> None:
    from tests.vectors import make_vectors

    assert make_vectors.render() == (VECTORS / "simhash-doc.json").read_text("utf-8")


@pytest.mark.parametrize("vector", DOCUMENT["vectors"], ids=lambda vector: vector["name"])
def test_vector(vector: dict[str, Any]) -> None:
    from indexer.core.text import lookup8, normalise, tokenise

    found = tokenise(vector["text"])
    assert normalise(vector["text"]).decode() == vector["normalised"]
    assert [token.decode() for token in found.tokens] == vector["tokens"]
    assert [f"{lookup8(token):016x}" for token in found.tokens] == vector["hashes"]
    fingerprint = simhash.fingerprint(vector["text"])
    if vector["value"] is None:
        assert fingerprint is None
        return
    assert fingerprint is not None
    assert f"{fingerprint.value:016x}" == vector["value"]
    assert fingerprint.base32 == vector["base32"]
    assert str(fingerprint) == vector["string"]
    assert str(fingerprint.bits) == vector["bits"]
    assert parse_fingerprint(vector["string"].upper(), fingerprint.tokens) == fingerprint
    unpacked = [SIMHASH64_LAYOUT.unpack(key) for key in simhash.keys(fingerprint)]
    assert [table for table, _ in unpacked] == list(range(16))
    assert [SIMHASH64_LAYOUT.term(key) for _, key in unpacked] == vector["keys"]


CHECK = """
import json, sys
sys.path.insert(0, sys.argv[1])
from _core import ffi, lib
for vector in json.load(open(sys.argv[2], encoding="utf-8"))["vectors"]:
    text, out = vector["text"].encode(), ffi.new("uint64_t[2]")
    status = lib.nd_fingerprint(text, len(text), out, out + 1)
    found = f"{out[0]:016x}" if status == lib.ND_OK else None
    assert found == vector["value"], vector["name"]
print(sys.version_info[:2])
"""


def other_pythons() -> list[str]:
    """One interpreter of each version from 3.11 on: those on the PATH and those that pyenv keeps."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    candidates += sorted(map(str, kept.glob("3.*/bin/python")))
    found = {}
    for python in filter(None, candidates):
        asked = subprocess.run(
            [python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True
        )
        if asked.returncode == 0 and tuple(map(int, asked.stdout.split())) >= (3, 11):
            found[asked.stdout] = python
    return list(found.values())


def test_the_stable_extension_meets_the_vectors_on_other_pythons(tmp_path: Path) -> None:
    import indexer._core as extension

    assert extension.__file__ is not None
    if "abi3" not in extension.__file__:
        pytest.skip("NEEDS A BUILD FOR THE STABLE ABI (a wheel); this one is for the running Python only")
    shutil.copy(extension.__file__, tmp_path / Path(extension.__file__).name)
    met = set()
    for number, python in enumerate(other_pythons()):
        venv = tmp_path / f"venv{number}"
        subprocess.run([python, "-m", "venv", "--without-pip", str(venv)], check=True, capture_output=True)
        own = str(venv / "bin" / "python")
        pip = [sys.executable, "-m", "pip", "--python", own]
        subprocess.run([*pip, "install", "-q", "cffi"], check=True, capture_output=True)
        command = [own, "-c", CHECK, str(tmp_path), str(VECTORS / "simhash-doc.json")]
        met.add(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
    assert met
    print("the vectors are met on", sorted(met))
