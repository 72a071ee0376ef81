"""The index in memory gives what a store gives, after whatever was put in and taken out; its file is checked."""

from __future__ import annotations

import random
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import indexer
from indexer import MemoryIndex
from indexer.errors import StoreError, UsageError
from indexer.library import memory
from tests.cli.written import changed, prose

RULES = [None, "minhash@0.5", "simhash-doc@6bits", "supershingles@0.5", "simhash-doc@7bits+minhash@0.5", "spotsigs@0.5"]


def texts_of(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    words = [prose(number, 60).split() for number in range(6)]
    found = []
    for _ in range(count):
        text = list(draw.choice(words))
        for _ in range(draw.choice((0, 1, 2, 4, 8))):
            text[draw.randrange(len(text))] = f"w{draw.randrange(9)}"
        # A scheme that goes by stop-words needs some.
        found.append(" the ".join(" ".join(text[place : place + 5]) for place in range(0, len(text), 5)))
    return found


@pytest.fixture
def sorted_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are sorted, and places given away, after a few."""
    monkeypatch.setattr(memory, "_SORTED_AFTER", 100)
    monkeypatch.setattr(memory, "_FEW_GONE", 10)


@pytest.mark.usefixtures("sorted_early")
@pytest.mark.parametrize("match", RULES)
def test_it_answers_as_a_store(match: str | None, tmp_path: Path) -> None:
    texts = texts_of(1, 120)
    index = MemoryIndex(match)
    needed = [name for name in index.rule.schemes if name != "simhash-doc"]
    with indexer.open(tmp_path / "a.neardup", schemes=needed) as collection:
        assert index.insert_many(((str(number), text) for number, text in enumerate(texts)), threads=2) == 120
        collection.add_many((str(number), text) for number, text in enumerate(texts))
        draw = random.Random(2)
        for step in range(3):
            gone = draw.sample(sorted(index), 30 if step else 0)
            assert all(index.remove(name) for name in gone)
            assert collection.delete(gone).deleted == len(gone)
            if gone:
                index.insert(gone[0], texts[0])
                collection.add(gone[0], texts[0])
            assert sorted(index) == sorted(document.id for document in collection)
            for text in texts[::7]:
                for at_least in (None, 0.3):
                    ours = index.query(text, limit=None, at_least=at_least)
                    theirs = collection.similar(
                        text, match=index.rule, limit=None, at_least=at_least, include_short=True
                    )
                    assert {each.id: each.similarity for each in ours} == {
                        each.id: pytest.approx(each.similarity) for each in theirs
                    }
                    values = [each.similarity for each in ours]
                    assert values == sorted(values, reverse=True)


def test_a_document_takes_the_place_of_one_with_its_id() -> None:
    index = MemoryIndex()
    index.insert("a", prose(1))
    index.insert("a", prose(2))
    assert len(index) == 1
    assert not index.query(prose(1))
    assert [each.id for each in index.query(changed(prose(2)))] == ["a"]
    assert index.remove("a")
    assert not index.remove("a")
    assert "a" not in index
    assert not index.query(prose(2))


def test_ids_are_strings_or_integers() -> None:
    index = MemoryIndex()
    index.insert(7, prose(1))
    index.insert("7", prose(1))
    assert list(index) == [7, "7"]
    for wrong in (None, 1.5, True, ("a",)):
        with pytest.raises(UsageError, match="an id is"):
            index.insert(wrong, prose(2))  # type: ignore[arg-type]


def test_as_many_as_asked_for_the_most_similar_first() -> None:
    index = MemoryIndex()
    far = changed(changed(changed(prose(1)), 50), 100)
    index.insert_many([("far", far), ("near", changed(prose(1), 100)), ("same", prose(1))])
    assert [each.id for each in index.query(prose(1))] == ["same", "near", "far"]
    assert [each.id for each in index.query(prose(1), limit=1)] == ["same"]
    assert [list(map(str, each.column("id"))) for each in index.query_many([prose(1), prose(2)], limit=2)] == [
        ["same", "near"],
        [],
    ]


@pytest.mark.usefixtures("sorted_early")
@pytest.mark.parametrize("match", RULES)
def test_what_is_saved_is_there_again(match: str | None, tmp_path: Path) -> None:
    index = MemoryIndex(match)
    texts = texts_of(3, 40)
    index.insert_many(enumerate([*texts, "", "!"]))
    index.insert("\ud800 odd\n", texts[0])
    for number in range(0, 40, 3):
        index.remove(number)
    before = [index.query(text, limit=None) for text in texts]
    index.save(tmp_path / "index")
    again = MemoryIndex.load(tmp_path / "index")
    assert list(again) == list(index)
    assert str(again.rule) == str(index.rule)
    assert [again.query(text, limit=None) for text in texts] == before
    again.insert(0, texts[0])
    assert again.remove(1)
    assert 0 in [each.id for each in again.query(texts[0], limit=None)]
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
    again.save(tmp_path / "index")


def test_an_empty_index_is_saved_too(tmp_path: Path) -> None:
    MemoryIndex().save(tmp_path / "index")
    assert len(MemoryIndex.load(tmp_path / "index")) == 0


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    index = MemoryIndex("minhash@0.6")
    index.insert_many(enumerate(texts_of(4, 20)))
    index.save(tmp_path / "index")
    whole = (tmp_path / "index").read_bytes()
    draw = random.Random(5)
    damaged = [b"", b"x", whole[:50], whole[: len(whole) // 2], whole[:-30]]
    for _ in range(40):
        content = bytearray(whole)
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        damaged.append(bytes(content))
    taken = 0
    for content in damaged:
        (tmp_path / "index").write_bytes(content)
        with suppress(StoreError):
            # A bit may stand for nothing, as in the time of a member.
            assert [each.id for each in MemoryIndex.load(tmp_path / "index").query(texts_of(4, 1)[0])]
            taken += 1
    assert taken <= 15


def arrays(path: Path) -> dict[str, Any]:
    with np.load(path) as found:
        return dict(found)


def test_a_hostile_file_is_refused(tmp_path: Path) -> None:
    index = MemoryIndex("minhash@0.6")
    index.insert_many(enumerate(texts_of(4, 5)))
    index.save(tmp_path / "good")
    good = arrays(tmp_path / "good")
    payloads, offsets = good["minhash.payloads"], good["minhash.offsets"]
    keys, owners = good["minhash.keys"], good["minhash.owners"]
    header = good["header"].tobytes()
    bad: list[dict[str, Any]] = [
        {"minhash.offsets": offsets * 1000},
        {"minhash.offsets": offsets[::-1].copy()},
        {"minhash.offsets": offsets - 1},
        {"minhash.offsets": offsets.astype(np.float64)},
        {"minhash.payloads": payloads[:-1]},
        {"minhash.payloads": payloads[: payloads.size // 2], "minhash.offsets": offsets // 2},
        {"minhash.owners": owners + 1000},
        {"minhash.owners": owners - 1000},
        {"minhash.owners": owners.astype(np.float64)},
        {"minhash.owners": owners[1:]},
        {"minhash.keys": keys.reshape(-1, 1)},
        {"minhash.keys": np.array([object()] * keys.size)},
        {"header": np.frombuffer(header.replace(b'"ids": [0, 1', b'"ids": [1, 1'), dtype=np.uint8)},
        {"header": np.frombuffer(header.replace(b'"ids": [0', b'"ids": [{}'), dtype=np.uint8)},
        {"header": np.frombuffer(header.replace(b"minhash", b"nothing"), dtype=np.uint8)},
        {"header": np.frombuffer(b"[" * 100_000, dtype=np.uint8)},
        {"header": np.frombuffer(b"[]", dtype=np.uint8)},
    ]
    for number, change in enumerate(bad):
        path = tmp_path / f"bad{number}"
        with path.open("wb") as file:
            np.savez(file, **{**good, **change})
        with pytest.raises(StoreError, match=f"bad{number}"):
            MemoryIndex.load(path)
    with zipfile.ZipFile(tmp_path / "zip", "w") as file:
        file.writestr("other.txt", "")
    for name in ("zip", "none"):
        with pytest.raises(StoreError, match=name):
            MemoryIndex.load(tmp_path / name)


def test_a_store_is_not_written_over(tmp_path: Path) -> None:
    with indexer.open(tmp_path / "a.neardup"):
        pass
    with pytest.raises(StoreError, match="store is"):
        MemoryIndex().save(tmp_path / "a.neardup")
    assert sorted(path.name for path in tmp_path.glob(".*.part")) == []


@pytest.mark.usefixtures("sorted_early")
def test_threads_may_share_an_index() -> None:
    index = MemoryIndex()

    def work(number: int) -> int:
        for n in range(30):
            index.insert(f"{number}-{n}", prose(100 * number + n, 60))
            if n % 3 == 0:
                assert index.remove(f"{number}-{n}")
        return sum(len(index.query(prose(100 * number + n, 60))) for n in range(30))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [20] * 4
    assert len(index) == 80


def test_it_says_what_it_is() -> None:
    index = MemoryIndex("minhash@0.6")
    index.insert(1, prose(1))
    assert repr(index) == "MemoryIndex('minhash@0.6'): 1 document"
    with pytest.raises(UsageError, match="without a store"):
        MemoryIndex("minhash@0.5+text")
