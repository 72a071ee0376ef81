"""The checked-in tables are what their generator writes."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[2] / "cffi_build" / "text"


@pytest.fixture(scope="module")
def generator() -> Path:
    sys.path.insert(0, str(BUILD))
    try:
        from make_unicode_tables import PINNED
    except ImportError as error:
        pytest.skip(f"NEEDS THE GENERATOR'S PACKAGES: {error}; the Unicode tables were not made again")
    finally:
        sys.path.remove(str(BUILD))
    for package, wanted in PINNED.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            found = "nothing"
        if found != wanted:
            pytest.skip(f"NEEDS {package} {wanted}, found {found}; the Unicode tables were not made again")
    return BUILD / "make_unicode_tables.py"


def test_made_again_the_tables_are_the_same(generator: Path, tmp_path: Path) -> None:
    again = tmp_path / "tables.c"
    subprocess.run([sys.executable, str(generator), "--output", str(again)], check=True)
    assert again.read_bytes() == (BUILD / "unicode_tables.c").read_bytes()
