"""The texts that builds of the C core are tried with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.core.builds import ROOT


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
