"""Many documents are asked about in one call, with the answers that each has alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import indexer
from indexer.errors import ExtractionError, NotFoundError, UsageError
from indexer.library.records import Match
from indexer.library.rows import Rows
from tests.cli.written import changed, prose

COUNT = 120


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[indexer.Collection]:
    with indexer.open(tmp_path / "collection.neardup") as opened:
        opened.add_many((f"d{number}", prose(number % 60)) for number in range(COUNT))
        yield opened


def test_texts_rows_and_ids_have_the_answers_of_each_alone(collection: indexer.Collection) -> None:
    texts = [changed(prose(number)) for number in range(70)]
    alone = [collection.similar(text) for text in texts]
    assert sum(map(len, alone)) == COUNT
    assert [each.matches for each in collection.similar_each(texts)] == alone
    ids = [f"d{number}" for number in range(COUNT)]
    found = list(collection.similar_each(ids, by="ids"))
    assert [each.name for each in found] == ids
    assert [each.matches for each in found] == [collection.similar(id=name) for name in ids]
    # A row is no answer to itself.
    rows = [{"key": "d3", "body": prose(3)}, {"key": "d999", "body": prose(3)}]
    one, other = collection.similar_each(rows, fields={"id": "key", "text": "body"}, limit=1)
    assert ([match.id for match in one.matches], one.matches.note) == (["d63"], "")
    assert ([match.id for match in other.matches], other.matches.note) == (["d3"], "the nearest 1 of 2")
    strict = collection.similar_each(texts[:1], match="minhash@1")
    assert [len(each.matches) for each in strict] == [0]
    lax = collection.similar_each(texts[:1], match="minhash@1", at_least=0.5)
    assert [len(each.matches) for each in lax] == [2]


def test_passages_are_the_same_for_one_as_for_many(collection: indexer.Collection) -> None:
    texts = [changed(prose(number)) for number in range(3)]
    alone = [collection.similar(text, passages=True) for text in texts]
    assert [each.matches for each in collection.similar_each(texts, passages=True)] == alone
    # Rows of add_many have no place that they could be read again from, which is no reason to leave them out.
    assert all(match.passages_total is None and not match.passages for matches in alone for match in matches)
    assert sum(map(len, alone)) == 6


def test_passages_are_a_column_of_json_in_arrow(collection: indexer.Collection, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "one.txt").write_text(prose(200), "utf-8")
    collection.index(tmp_path / "one.txt", jobs=1)
    found = collection.similar(prose(200), passages=True)
    [passages] = json.loads(found.to_arrow().column("passages")[0].as_py())
    assert passages["query"]["start"] == 0
    assert found.column("longest")[0] == passages["words"]
    assert len(collection.similar(prose(1), passages=True).to_arrow()) == 2


def test_files_and_what_can_t_be_asked_about(collection: indexer.Collection, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.html").write_text(f"<title>A</title><p>{prose(1)}</p>", "utf-8")
    (docs / "b.xml").write_text("<a>", "utf-8")
    (docs / "c.jsonl").write_text(json.dumps({"id": "row", "text": prose(2)}) + "\n", "utf-8")
    collection.index(docs, jobs=1)
    page, broken, row = collection.similar_each(docs, by="paths")
    assert {match.id for match in page.matches} == {"d1", "d61"}
    assert (row.name, {match.id for match in row.matches}) == ("row", {"d2", "d62"})
    assert isinstance(broken.error, ExtractionError)
    assert (broken.name, broken.error.reason, broken.matches) == (str(docs / "b.xml"), "malformed", Rows(Match))
    assert str(broken.error) == broken.matches.note
    known, missing = collection.similar_each(["d1", "nowhere"], by="ids")
    assert known.error is None
    assert isinstance(missing.error, NotFoundError)
    with pytest.raises(NotFoundError, match="no such file or folder"):
        collection.similar_each([docs / "none"], by="paths")
    for wrong in ("ids", "nothing"):
        with pytest.raises(UsageError, match=r"ask by documents, paths|similar\(id="):
            collection.similar_each("d1", by=wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="put it into a list"):
        list(collection.similar_each("one text"))


def test_threads_ask_at_once(collection: indexer.Collection) -> None:
    ids = [f"d{number}" for number in range(COUNT)]
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(lambda _: list(collection.similar_each(ids, by="ids")), range(3)):
            assert [[match.id for match in each.matches] for each in found] == [
                [f"d{(number + 60) % COUNT}"] for number in range(COUNT)
            ]
