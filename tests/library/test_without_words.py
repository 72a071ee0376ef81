"""Two files without words beside each other: identical where they are the same, and else nothing to compare."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.errors import ExtractionError
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Sources
from indexer.library.comparing import compare
from indexer.library.opening import open_store
from tests.extract.made_pdf import make_pdf

TABLE = "12 17 4\n3,5 8 -2\n"


@pytest.mark.parametrize("content", [TABLE.encode(), b"7", b"***\n---\n", make_pdf([[]], numbered=False)])
def test_equal_bytes_are_identical(tmp_path: Path, content: bytes) -> None:
    names = [tmp_path / name for name in ("a.txt", "b.txt")]
    for name in names:
        name.write_bytes(content)
    found = compare(*names)
    assert (found.near, found.identical, found.relation, found.similarity) == (True, True, "identical", 1.0)
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as store:
        index(Sources(list(map(str, names))), store, Settings(jobs=1))
        stored = compare(f"id:{names[0]}", f"id:{names[1]}", store=store)
    assert (stored.near, stored.identical, stored.relation) == (True, True, "identical")


def test_others_are_not_compared(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TABLE)
    (tmp_path / "b.txt").write_text(TABLE.replace("17", "18"))
    (tmp_path / "c.txt").write_text("")
    for other in ("b.txt", "c.txt"):
        with pytest.raises(ExtractionError, match="no words"):
            compare(tmp_path / "a.txt", tmp_path / other)
