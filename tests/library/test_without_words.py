"""Documents without words: identical if their bytes or their numbers and signs are equal, else nothing to compare."""

from __future__ import annotations

from pathlib import Path

import pytest

import neardup
from indexer.errors import ExtractionError
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Sources
from indexer.library.comparing import compare
from indexer.library.opening import open_store
from tests.extract.made_pdf import make_pdf

TABLE = "12 17 4\n3,5 8 -2\n"
SCAN, OTHER_SCAN = (make_pdf([[]] * pages, numbered=False) for pages in (1, 2))
FOUND = {"a.txt": TABLE, "b.csv": TABLE, "c.txt": "8 8", "7.txt": "7", "7-too.log": "7", "empty": "", "empty-too": ""}
SCANS = {"scan.pdf": SCAN, "scan-copy.pdf": SCAN, "other.pdf": OTHER_SCAN}
GROUPS = [{"7.txt", "7-too.log"}, {"a.txt", "b.csv"}, {"scan.pdf", "scan-copy.pdf"}]


@pytest.mark.parametrize("content", [TABLE.encode(), b"7", b"***\n---\n", SCAN])
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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FOUND.items():
        (tmp_path / name).write_text(text)
    for name, data in SCANS.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def _clusters(collection: neardup.Collection) -> list[set[str]]:
    found = [{_name(member) for member in cluster.members} for cluster in collection.clusters()]
    return sorted(found, key=min)


@pytest.mark.parametrize("arriving", [False, True])
def test_equal_ones_make_clusters_and_can_go(folder: Path, arriving: bool) -> None:
    names = [folder / name for name in (*FOUND, *SCANS)]
    with neardup.open(folder / "c.neardup") as collection:
        for some in (names[::2], names[1::2]) if arriving else (names,):
            collection.index(some, cluster=arriving, jobs=1)
        if not arriving:
            collection.cluster()
        assert _clusters(collection) == GROUPS
        assert {frozenset(map(_name, (pair.left, pair.right))) for pair in collection.pairs()} == set(
            map(frozenset, GROUPS)
        )
        [match] = collection.similar(path=folder / "scan.pdf")
        assert (_name(match.id), match.similarity, match.identical) == ("scan-copy.pdf", 1.0, True)
        surplus = collection.prune(dry_run=True).surplus
        assert [each.relation for each in surplus if not each.kept] == ["identical"] * 3
        assert collection.prune(delete=True).deleted == 3
        copies = collection.delete_copies(str(folder / "other.pdf"), dry_run=True).documents
        assert [_name(each.id) for each in copies] == ["other.pdf"]


def test_equal_ones_are_skipped(folder: Path) -> None:
    with neardup.open(folder / "c.neardup") as collection:
        collection.index([folder / "scan.pdf", folder / "a.txt"], jobs=1)
        coming = [folder / name for name in ("scan-copy.pdf", "b.csv", "other.pdf")]
        collection.index(coming, jobs=1, skip_duplicates=True)
        assert {_name(each.id) for each in collection} == {"scan.pdf", "a.txt", "other.pdf"}
        assert {_name(each.id) for each in collection.failures()} == {"scan-copy.pdf", "b.csv"}


def _name(identity: str) -> str:
    return Path(identity).name
