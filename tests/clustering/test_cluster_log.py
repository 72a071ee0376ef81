"""Clusters are written once no scan is open, so that the write-ahead log of an embedded store stays small."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from indexer.ingest.indexing import store_info
from indexer.model import Ref
from indexer.stores.sqlite.store import SqliteStore
from tests.clustered import cluster_store
from tests.made_records import records


class Watched(SqliteStore):
    """Notes after each write how much of the log could not be brought into the file, because a reader needs it."""

    views: list[int]

    def annotate(self, annotations: Iterable[tuple[Ref, Mapping[str, Any]]], **options: Any) -> int:
        count = super().annotate(annotations, **options)
        with closing(sqlite3.connect(self.path)) as other:
            _, pages, done = other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        self.views.append(pages - done)
        return count


def test_no_scan_is_open_while_documents_are_written(tmp_path: Path) -> None:
    values = np.random.default_rng(1).integers(0, 1 << 64, 2500, dtype=np.uint64).repeat(2)
    with Watched(tmp_path / "store.neardup", create=store_info("landmarks"), read_only=False, wait=1) as store:
        store.views = []
        assert sum(1 for _ in store.put(records(values, 0))) == 5000
        found = cluster_store(store)
        assert (found.changes.documents, found.changes.clusters) == (5000, 2500)
        assert len(store.views) > 2
        assert not any(store.views)
        assert cluster_store(store).changes.documents == 0
