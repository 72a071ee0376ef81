"""Documents with equal texts that differ in what stands beside these: none of them goes from a batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import indexer
from indexer.batch.clusters.clustering import cluster
from indexer.batch.form import Form
from tests.batch.batched import MINHASH, sketched
from tests.batch.beside import BESIDE, decided, letter, mail, options, page, row, written

KINDS = [("pdf", page), ("docx", letter), ("eml", mail), ("jsonl", row)]


@pytest.mark.parametrize(("ending", "made"), KINDS, ids=[kind for kind, _ in KINDS])
def test_what_differs_beside_the_text_stays(ending: str, made: Callable[[str], bytes], tmp_path: Path) -> None:
    given, out = written(tmp_path / "in", ending, made), tmp_path / "out"
    sketched(given, out, Form((MINHASH,)), id_from="relative")
    said = cluster(str(out), str(out), options())
    found = decided(out)
    assert (said["removed"], said["relations"]) == (1, {"identical": 1})
    told = "1 fact differs: subject Invoice for the mill / Invoice for the quay" if ending == "eml" else BESIDE
    assert found["c"] == (True, "form", told)


@pytest.mark.parametrize(("ending", "made"), KINDS[:3], ids=[kind for kind, _ in KINDS[:3]])
def test_what_differs_beside_the_text_is_not_left_out(
    ending: str, made: Callable[[str], bytes], tmp_path: Path
) -> None:
    given = written(tmp_path / "in", ending, made)
    with indexer.open(tmp_path / "a.neardup") as store:
        came = store.index(given, id_from="relative", skip_duplicates=True)
        assert (came.indexed, came.duplicates) == (2, 1)
