"""What every test can ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real documents with truth that stands beside the checkout."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"NEEDS REAL DOCUMENTS: {SHARED_DATA} is absent; the tests over it did not run")
    return SHARED_DATA
