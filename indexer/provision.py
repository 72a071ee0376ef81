"""The mapping files that travel with the package."""

from __future__ import annotations

from pathlib import Path

from indexer.errors import NotFoundError

PACKAGE = Path(__file__).resolve().parent


def mappings_directory() -> Path:
    """The folder of the mapping files: inside the installed package, or at the top of a checkout.

    Raises NotFoundError where neither is there.
    """
    for folder in (PACKAGE / "mappings", PACKAGE.parent / "mappings"):
        if (folder / "component-template.json").is_file():
            return folder
    raise NotFoundError(f"the mapping files are neither in {PACKAGE} nor beside it; install the package again")
