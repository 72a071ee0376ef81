"""Forms are kept apart in an index as in a file, also as documents come."""

from __future__ import annotations

from pathlib import Path

import indexer
from tests.engines.servers import Server
from tests.forms_apart import PAGES, TOGETHER


def test_each_form_is_in_a_cluster_of_its_own_with_its_copies(server: Server, index_name: str, tmp_path: Path) -> None:
    for name, text in PAGES.items():
        (tmp_path / f"{name}.txt").write_text(text)
    names = [f"{tmp_path}/{name}.txt" for name in PAGES]
    with indexer.open(f"{server.url}/{index_name}") as collection:
        collection.index(names[:4])
        collection.cluster(apart="form")
        collection.index(names[4:], cluster=True)
        found = {frozenset(Path(name).stem for name in each.members) for each in collection.clusters(least=1)}
        assert found == TOGETHER
        again = collection.cluster()
        assert (again.apart, again.changed, again.written.documents, again.written.clusters) == (9, "", 0, 0)
