"""Mails that came before their last lines were known to be frame, in an engine."""

from __future__ import annotations

from pathlib import Path

import indexer
from tests.engines.servers import Server
from tests.ingest.disclaimed import mail, near, written


def test_late_mails_are_sketched_anew_in_an_engine(server: Server, index_name: str, tmp_path: Path) -> None:
    with indexer.open(f"{server.url}/{index_name}") as store:
        for first in range(0, 24, 4):
            folder = written(tmp_path / "in", [mail(number) for number in range(first, first + 4)], first)
            store.index(folder, id_from="relative")
            if first == 0:
                assert len(near(store)) == 6
        assert near(store) == set()
        assert store.cluster().clusters == 0
