"""A collection whose files are moved and linked, and what is there before and after."""

from __future__ import annotations

from pathlib import Path

from indexer.library.clusters import Clusters
from indexer.library.collection import Collection
from indexer.library.options import RemovalRequest

STORE = "s.neardup"


def tree(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Each file with its bytes, its rights and its time."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith((STORE, "acts", "err"))
    }


def left(collection: Clusters, asked: RemovalRequest = RemovalRequest(), **way: object) -> dict[str, str]:
    """Why each document is left, empty where something would be done."""
    found = collection.relocate(asked, dry_run=True, **way)  # type: ignore[arg-type]
    return {one.id: one.left for one in found.files}


def source(collection: Collection, name: str) -> str:
    """Where the store knows a document's file."""
    known = collection.get(name)
    assert known
    return known.source
