"""What a batch keeps: no two of it are near, each removed document is near a kept one, and all ways to it agree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import indexer
from indexer.batch.clusters import grouping, partitioning
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.clusters import cluster as cluster_store
from indexer.clustering.prune import Pruning
from indexer.errors import UsageError
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Sources
from indexer.library.opening import open_store
from indexer.library.rows import Rows
from indexer.library.texts import TextPair
from indexer.matching.rule import default_rule
from indexer.schemes import registry
from tests.batch.batched import LONGEST, MINHASH, sketched
from tests.batch.choices import EARLIEST, FORM, Decided, batch, chosen, decided_in, drifting, mixed
from tests.cli.written import prose


def greedy(pairs: Rows[TextPair], texts: Sequence[str], order: Sequence[int]) -> Decided:
    """The slow oracle, from all pairs that are near: in this order, each is kept unless it is near a kept one."""
    near: dict[int, dict[int, float]] = {place: {} for place in range(len(texts))}
    for pair in pairs:
        near[pair.left][pair.right] = near[pair.right][pair.left] = pair.similarity
    found: Decided = {}
    kept: dict[int, int] = {}
    for rank, place in enumerate(order):
        if not near[place].keys() & kept.keys():
            kept[place] = rank
    for place in range(len(texts)):
        found[f"t{place}"] = (True, None, None)
        if place not in kept:
            _, _, of = min(
                (-similarity, kept[other], other) for other, similarity in near[place].items() if other in kept
            )
            found[f"t{place}"] = (False, f"t{of}", pytest.approx(near[place][of], abs=6e-5))
    return found


@pytest.mark.parametrize("rule", [None, "minhash@0.6", "minhash@0.4", "simhash-doc@6bits+minhash@0.5"])
@pytest.mark.parametrize("texts", [drifting(12), mixed()], ids=["drifting", "mixed"])
def test_as_the_oracle_chooses_in_any_parts(
    texts: list[str], rule: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, pairs = batch(tmp_path, texts), indexer.pairs_of(texts, rule)
    expected = greedy(pairs, texts, range(len(texts)))
    assert 5 < sum(kept for kept, _, _ in expected.values()) < len(texts) - 5
    monkeypatch.setattr(grouping, "_TOGETHER", 40)
    monkeypatch.setattr(partitioning, "_MOST_PARTS", 5000)
    # Whole, in parts, and where a component is larger than a part, verified bucket by bucket.
    for parts, most in ((1, None), (2, None), (7, 3)):
        assert chosen(out, rule=rule, parts=parts, most_grouped=most) == expected
    # However wide a component may be, and where it is cut.
    for bound in (1.0, 0.2):
        assert chosen(out, rule=rule, bound=bound) == expected


def test_families_that_drift_leave_no_pair_and_lose_nothing(tmp_path: Path) -> None:
    texts = drifting(200, words=60)
    out = batch(tmp_path, texts)
    found = chosen(out, parts=2)
    assert found == greedy(indexer.pairs_of(texts), texts, range(len(texts)))
    kept = [place for place in range(len(texts)) if found[f"t{place}"][0]]
    assert 200 < len(kept) < 1600
    assert len(list(indexer.pairs_of([texts[place] for place in kept]))) == 0
    deduped = indexer.dedupe(texts, verify="sketch")
    assert [f"t{place}" for place in deduped.kept.tolist()] == [f"t{place}" for place in kept]


@pytest.mark.parametrize("texts", [drifting(6), mixed(7, 80)], ids=["drifting", "mixed"])
def test_a_store_would_remove_the_same_for_the_same(texts: list[str], tmp_path: Path) -> None:
    found, schemes = chosen(batch(tmp_path, texts)), [registry.scheme(MINHASH)]
    info = store_info("landmarks", schemes)
    with open_store(tmp_path / "first.neardup", create=info) as store:
        index(Sources([str(tmp_path / "in")]), store, Settings(jobs=1, schemes=schemes))
        records = [replace(record, indexed_at=f"{int(record.ref.id[1:]):09}") for record in store.scan()]
    with open_store(tmp_path / "second.neardup", create=info) as store:
        assert len(list(store.put(records))) == len(texts)
        cluster_store(store, default_rule(store), canonical=EARLIEST, threads=1)
        surplus = {each.record.ref.id: each.repeats.id for each in Pruning(store).surplus() if not each.kept}
    assert surplus == {name: of for name, (kept, of, _) in found.items() if not kept}


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 999), st.integers(2, 60), st.sampled_from([1, 2, 7]))
def test_as_the_oracle_chooses_at_random(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int, parts: int
) -> None:
    texts = mixed(seed, count)
    out = batch(tmp_path_factory.mktemp("random"), texts, files=parts)
    assert chosen(out, parts=parts) == greedy(indexer.pairs_of(texts), texts, range(len(texts)))


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_of_equally_long_texts_the_first_to_arrive_stands_for_all(parts: int, tmp_path: Path) -> None:
    # By files and rows, and not by ids: t10 comes before t9 there.
    words = [f"word{place}" for place in range(80)]
    texts = [" ".join([*words[:-1], f"own{place}"]) for place in range(12)]
    out = batch(tmp_path, texts[2:] + texts[:2], files=4, time=False)
    found = chosen(out, LONGEST, parts=parts)
    assert {of for _, of, _ in found.values()} == {None, "t0"}
    [first] = {row["canonical"] for path in (out / "clusters").iterdir() for row in pq.read_table(path).to_pylist()}
    assert first == "t0"


def test_what_an_older_batch_kept_stays_and_what_it_removed_stands_for_nothing(tmp_path: Path) -> None:
    words = [f"word{place}" for place in range(300)]
    chain = [" ".join(words[place * 8 : place * 8 + 60]) for place in range(6)]
    # Each is near its neighbours alone. Of the older ones t0 stays and t1, near it, goes.
    old = batch(tmp_path / "a", [chain[1], chain[2]])
    assert chosen(old, rule="minhash@0.6") == {
        "t0": (True, None, None),
        "t1": (False, "t0", pytest.approx(0.77, abs=0.1)),
    }
    given = tmp_path / "b" / "in"
    given.mkdir(parents=True)
    rows = [{"id": f"n{place}", "text": chain[place], "seen": "0"} for place in (0, 3, 4)]
    pq.write_table(pa.Table.from_pylist(rows), given / "n.parquet")
    new = tmp_path / "b" / "out"
    sketched(given, new, FORM)
    for parts in (1, 3):
        found = chosen(new, rule="minhash@0.6", against=str(old), parts=parts)
        # The first one comes before the older ones by its time, and yet goes; the one near the removed one stays.
        assert {name: (kept, of) for name, (kept, of, _) in found.items()} == {
            "n0": (False, "t0"), "n3": (True, None), "n4": (False, "n3"),
        }  # fmt: skip
        assert decided_in(new, "clusters-before") == decided_in(old)


def test_a_page_that_is_declared_canonical_stands_for_the_others(tmp_path: Path) -> None:
    text = " ".join(f"word{place}" for place in range(60))
    urls = [f"https://example.org/{name}" for name in ("print", "mobile", "article", "plain")]
    heads = ["<link rel=canonical href=/article>"] * 3 + [""]
    rows = [
        {"id": str(place), "url": url, "html": f"<html><head>{head}</head><body><p>{text}</p></body></html>"}
        for place, (url, head) in enumerate(zip(urls, heads, strict=True))
    ]
    declared = CanonicalRule("declared")
    for name in ("parquet", "jsonl"):
        given = tmp_path / name / "in"
        given.mkdir(parents=True)
        if name == "jsonl":
            (given / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            pq.write_table(pa.Table.from_pylist(rows), given / "a.parquet")
        sketched(given, tmp_path / name / "out", FORM)
        expected = {"0": (False, "2"), "1": (False, "2"), "2": (True, None), "3": (False, "2")}
        found = chosen(tmp_path / name / "out", declared, parts=2)
        assert {each: (kept, of) for each, (kept, of, _) in found.items()} == expected
        with open_store(tmp_path / name / "s.neardup", create=store_info("landmarks")) as store:
            sources = Sources([str(given)])
            assert index(sources, store, Settings(jobs=1)).indexed == 4
            assert index(Sources([str(given)]), store, Settings(jobs=1)).unchanged == 4
            cluster_store(store, default_rule(store), canonical=declared, threads=1)
            surplus = {each.record.ref.id: each.repeats.id for each in Pruning(store, unverified=True).surplus()}
        assert surplus == {each: of for each, (kept, of) in expected.items() if not kept}


TIMES: list[list[object]] = [
    [10, 9], ["10", "9"], [1e22, 10**21], [-9, -10], [0.5, "0.25"], [10**30 + 1, 10**30],
    ["2026-01-05T10:00:00+02:00", "2026-01-05T09:00:00+03:00"], ["2026-01-05T10:00", "2026-01-05T09:59:59.5Z"],
    ["2026-01-05", "2026-01-04T23:59:59"],
]  # fmt: skip


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
@pytest.mark.parametrize("times", TIMES, ids=str)
def test_the_earliest_is_told_by_numbers_and_times(kind: str, times: list[object], tmp_path: Path) -> None:
    text = prose(3, 60)
    rows = [{"id": f"t{place}", "text": text, "seen": str(time)} for place, time in enumerate(times)]
    (tmp_path / "in").mkdir()
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in" / "a.parquet")
    else:
        lines = (json.dumps({**row, "seen": time}) + "\n" for row, time in zip(rows, times, strict=True))
        (tmp_path / "in" / "a.jsonl").write_text("".join(lines))
    sketched(tmp_path / "in", tmp_path / "out", FORM)
    assert chosen(tmp_path / "out")["t0"] == (False, "t1", 1.0)
    by_field = CanonicalRule("field", "seen")
    assert chosen(tmp_path / "out", by_field)["t0"] == (False, "t1", 1.0)
    last = CanonicalRule("field", "seen", descending=True)
    assert chosen(tmp_path / "out", last)["t1"] == (False, "t0", 1.0)


def test_times_that_can_not_be_compared_are_refused(tmp_path: Path) -> None:
    text = prose(3, 60)
    for name, time in (("a", "9"), ("b", "2026-01-05")):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{name}.csv").write_text(f"id,text,seen\n{name},{text},{time}\n")
    sketched(tmp_path / "in", tmp_path / "out", FORM)
    with pytest.raises(UsageError, match="'9' is a number and '2026-01-05' is an ISO 8601 time"):
        chosen(tmp_path / "out")
    (tmp_path / "in" / "c.csv").write_text(f"id,text,seen\nc,{text},lately\n")
    with pytest.raises(UsageError, match="'lately' is neither a number nor an ISO 8601 time"):
        sketched(tmp_path / "in", tmp_path / "out2", FORM)
