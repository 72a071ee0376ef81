"""What the tests of the command can ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Neardup, mixed_folder


@pytest.fixture
def neardup(tmp_path: Path) -> Neardup:
    """The command, in an empty folder."""
    return Neardup(tmp_path)


@pytest.fixture
def indexed(neardup: Neardup) -> Neardup:
    """A store of documents in every format, five of them alike, without clusters."""
    mixed_folder(neardup.folder)
    neardup("index", "docs")
    return neardup
