"""The precision of clusters by judgments of a sample: what counts, what does not, and which threshold fits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from indexer.clustering.clusters import cluster
from indexer.errors import UsageError
from indexer.library.collection import Collection
from indexer.library.opening import open_store
from indexer.library.options import RemovalRequest
from indexer.matching.rule import parse_rule
from tests.clustered import INFO, record
from tests.judged import judgments_of

KEPT = 0x0123456789ABCDEF


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    """120 documents that repeat one: 100 whose simhash equals its own, and 20 that differ in two bits."""
    with open_store(tmp_path / "s.neardup", create=INFO) as store:
        names = ["a", *(f"same{number}" for number in range(100)), *(f"far{number}" for number in range(20))]
        records = [
            record(name, KEPT ^ (3 << (2 * place % 60) if name.startswith("far") else 0), text_digest=f"{place:032x}")
            for place, name in enumerate(names)
        ]
        list(store.put(records))
        cluster(store, parse_rule("simhash-doc@2bits"))
        yield Collection(store, "s", ())


def saved(collection: Collection, folder: Path, wrong: str = "far") -> Path:
    path = folder / "judgments.json"
    path.write_text(judgments_of(collection.store, lambda name: not name.startswith(wrong)))
    return path


def test_strata_have_their_weights_and_a_threshold_fits(collection: Collection, tmp_path: Path) -> None:
    made = collection.judge(saved(collection, tmp_path))
    assert (made.documents, made.sampled, made.judged, made.needed) == (120, 60, 60, 60)
    near, one_bit, far = (each for each in made.shares if each.of == "all")
    assert (near.documents, near.precision, one_bit.documents, far.documents) == (100, 1.0, 100, 120)
    # Of the sample more than a third are far, of the documents a sixth.
    assert far.judged - far.right > 15
    assert far.precision == pytest.approx(100 / 120)
    assert far.low is not None
    assert far.low < far.precision < (far.high or 0)
    assert made.fits == pytest.approx(63 / 64)
    assert collection.judge(saved(collection, tmp_path), precision=0.8).fits == pytest.approx(62 / 64)
    assert collection.judge(saved(collection, tmp_path, wrong="")).fits is None
    assert "83.3% are right" in made.says[1]


def test_a_judgment_of_what_is_no_more_as_it_was_is_named_and_not_counted(
    collection: Collection, tmp_path: Path
) -> None:
    path = saved(collection, tmp_path)
    drawn = [each["documents"][0]["id"] for each in json.loads(path.read_text())["sample"]["judged"]]
    changed, gone = drawn[:2]
    store = collection.store
    [old] = [each for each in store.scan() if each.ref.id == changed]
    list(store.put([replace(old, text_digest="f" * 32)]))
    collection.delete(gone)
    made = collection.judge(path)
    said = {each.id: each.reason for each in made.not_counted}
    assert "changed" in said[changed]
    assert "no document of this id" in said[gone]
    # Those are two too few, and so are a few that another seed would draw.
    assert made.judged >= 55
    assert not made.shares
    assert "too few" in made.says[-1]
    other = tmp_path / "other.json"
    seed = json.loads(path.read_text())["sample"]["seed"]
    other.write_text(path.read_text().replace(seed, "0" * 32))
    assert any("not in the sample" in each.reason for each in collection.judge(other).not_counted)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"size": 60', '"size": 0', "size must be a number from 1 to 1,000"),
        ('"size": 60', '"size": true', "size must be a number"),
        ('"seed": "', '"seed": "x', "seed must be 32 hexadecimal digits"),
        ('"sample"', '"samples"', "unknown field 'samples'"),
        ('"choice": "keep"', '"choice": "drop"', "both to keep or both apart"),
        ('"judged": [', '"judged": [7, ', "judgment 1: must be an object"),
    ],
)
def test_a_hostile_file_is_refused(collection: Collection, tmp_path: Path, old: str, new: str, says: str) -> None:
    path = saved(collection, tmp_path, wrong="-")
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(UsageError, match=says):
        collection.judge(path)


def test_decisions_are_no_judgments_and_judgments_decide_nothing(collection: Collection, tmp_path: Path) -> None:
    path = saved(collection, tmp_path)
    assert not collection.prune(RemovalRequest(decisions=str(path)), dry_run=True).surplus
    path.write_text('{"form": "neardup decisions 1", "clusters": []}')
    with pytest.raises(UsageError, match="no judgments of a sample"):
        collection.judge(path)
