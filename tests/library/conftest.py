"""A collection of three files of one text, to be moved and linked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.library.collection import Collection
from indexer.library.collection import open as open_collection
from tests.cli.command import write
from tests.cli.written import prose
from tests.library.relocated import STORE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the test works in."""
    monkeypatch.chdir(tmp_path)
    return Path(os.path.realpath(tmp_path))


@pytest.fixture
def docs(folder: Path) -> Path:
    """Three files of one text, two of them of the same bytes, in the order in which they are kept."""
    write(folder, {"docs/a.txt": prose(1), "docs/sub/b.txt": prose(1), "docs/c.txt": prose(1) + "\n\n"})
    (folder / "docs/sub/b.txt").chmod(0o640)
    os.utime(folder / "docs/sub/b.txt", ns=(10**18, 10**18))
    return folder / "docs"


@pytest.fixture
def collection(docs: Path) -> Iterator[Collection]:
    """A store of them, in clusters."""
    with open_collection(docs.parent / STORE) as made:
        made.index(docs / "a.txt")
        made.index(docs)
        made.cluster()
        yield made
