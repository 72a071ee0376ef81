"""The page about the service can be pasted and shows what really comes out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import indexer
from tests.pages import DOCS, steps
from tests.service.process import serving

PAGE = DOCS / "how-to" / "serve.md"
# What goes on to an engine is asked in tests/engines/annotate/test_bulk_requests.py.
ASKING = [step for step in steps(PAGE) if "localhost:8600" in step[0] and "_bulk" not in step[0]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    [documents, *_] = steps(DOCS / "tutorial.md")
    subprocess.run(["bash", "-ec", documents[0]], cwd=folder, check=True, capture_output=True)
    return folder / "tutorial"


def test_what_is_asked_is_answered_so(folder: Path) -> None:
    with indexer.open(folder / "texts.neardup") as collection:
        collection.index([folder / "docs"])
    assert len(ASKING) == 4
    with serving(folder) as url:
        for commands, shown in ASKING:
            here = commands.replace("localhost:8600", url.removeprefix("http://"))
            done = subprocess.run(["bash", "-ec", here], cwd=folder, capture_output=True, text=True, check=True)
            assert done.stdout == shown
