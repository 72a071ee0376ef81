"""Builds of the C core by other compilers, and the texts that they are tried with."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from indexer._core import ffi, lib

from indexer.core.one_pass import Forms, MinhashForm, PassagesForm, features_of_texts
from indexer.core.sketches import band_keys, minhash, random_projection, weighted_minhash
from indexer.core.text import lookup8, shingle_hashes

ROOT = Path(__file__).resolve().parents[2]


def build(folder: Path, *options: str, targets: Sequence[str] = ()) -> Path:
    """Build in this folder, everything where no targets are named."""
    configure = ["cmake", "-S", str(ROOT / "cffi_build"), "-B", str(folder), *options]
    for command in (configure, ["cmake", "--build", str(folder), "--parallel", "2", "--target", *(targets or ["all"])]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def features_of(text: bytes) -> list[str]:
    """What the C test prints of a text's shingles, sketch and folded form, by the extension."""
    plain = bytearray(text)
    plain = plain[: lib.nd_without_layout(ffi.from_buffer(plain), len(plain))]
    folded = f"{lookup8(bytes(plain)):016x}"
    made = features_of_texts([text], Forms(MinhashForm(), PassagesForm()))
    last = made.passages.values[-1] if made.passages.values.size else 0
    packed = f"{lookup8(made.packed.tobytes()):016x}"
    sketch = [packed, str(made.shingles[0]), str(made.keys[0, 15]), str(last)]
    shingles = shingle_hashes(text, 5)
    signature, projection = minhash(shingles, 2), random_projection(shingles, 1)
    samples = weighted_minhash(shingles, 1 + np.arange(shingles.size) % 7, 2)
    if signature is None or projection is None or samples is None:
        return [*sketch, folded]
    keys = band_keys(np.concatenate([signature, samples]), 1, 4)
    return [f"{int(projection[0]):016x}", f"{int(keys[0]):016x}", *sketch, folded]
