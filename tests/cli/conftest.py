"""What the tests of the command can ask for."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Neardup


@pytest.fixture
def neardup(tmp_path: Path) -> Neardup:
    """The command, in an empty folder."""
    return Neardup(tmp_path)
