"""Metrics are what the store holds, and in a form that Prometheus's own parser reads."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

import indexer
from indexer import open_store
from indexer.clustering.clusters import cluster
from indexer.ingest.indexing import store_info
from indexer.matching.rule import parse_rule
from indexer.model import Failure, Fingerprint, Record, Ref
from indexer.report.metrics import Metric, exposition, metrics_of
from indexer.schemes import registry, simhash
from indexer.stores import Store
from tests.cli.command import Neardup
from tests.cli.written import prose

# Names that begin with two underscores are Prometheus's own.
NAMES = st.from_regex(r"(?!__)[a-z_][a-z0-9_]{0,9}", fullmatch=True)
# What UTF-8 can hold.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.floats(allow_nan=False) | st.integers(0, 1 << 53)

Read = dict[str, list[tuple[Mapping[str, str], float]]]


def read(text: str) -> Read:
    """By metric the labels and the value of each sample; a metric is a gauge with a sentence."""
    metrics: Read = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge"
        assert family.documentation
        metrics[family.name] = [(sample.labels, sample.value) for sample in family.samples]
    return metrics


@given(st.lists(st.tuples(st.dictionaries(NAMES, TEXTS, min_size=1, max_size=3), VALUES), min_size=1, max_size=4))
def test_whatever_the_labels_hold_is_read_back(samples: list[tuple[dict[str, str], float]]) -> None:
    text = exposition([Metric("neardup_any", "Any \\ of\nthem.", samples), Metric("neardup_none", "None.", [])])
    assert read(text) == {"neardup_any": samples}


def values(store: Store) -> dict[str, float]:
    """The metrics with one value."""
    metrics = read(exposition(metrics_of(store, "here")))
    return {name: samples[0][1] for name, samples in metrics.items() if len(samples) == 1}


def stored(number: int, at: str, **about: object) -> Record:
    fingerprint = Fingerprint(number * 0x9E37_79B9_7F4A, 300)
    return Record(Ref(f"d{number}"), simhash.sketched(fingerprint), indexed_at=at, **about)  # type: ignore[arg-type]


def test_they_are_what_the_store_holds(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.neardup", create=store_info("landmarks", [registry.scheme("minhash")])) as store:
        assert values(store)["neardup_documents"] == 0
        assert "neardup_last_indexed_timestamp_seconds" not in values(store)
        assert "neardup_clustering_finished" not in values(store)
        put = store.put([stored(1, "2024-05-01T00:00:00Z", format="pdf"), stored(2, "2024-05-02T00:00:00Z")])
        assert len(list(put)) == 2
        store.put_failures([Failure(Ref(name), name, "timeout", "", "", "") for name in "ab"])
        store.put_failures([Failure(Ref("c"), "c", "crashed", "", "", "")])
        metrics = read(exposition(metrics_of(store, 'a "store"\\ in C:\\new')))
        here = {"store": 'a "store"\\ in C:\\new'}
        assert metrics["neardup_documents"] == [(here, 2)]
        assert metrics["neardup_failures"] == [({**here, "reason": "crashed"}, 1), ({**here, "reason": "timeout"}, 2)]
        assert metrics["neardup_documents_by_format"] == [({**here, "format": ""}, 1), ({**here, "format": "pdf"}, 1)]
        assert metrics["neardup_documents_without_sketch"] == [({**here, "scheme": "minhash"}, 2)]
        assert metrics["neardup_last_indexed_timestamp_seconds"] == [(here, 1714608000)]
        [(labels, one)] = metrics["neardup_store_info"]
        assert (labels["unicode"], labels["engine"], one) == (store.info.unicode, "SQLite", 1)
        began = int(time.time())
        cluster(store, parse_rule("simhash-doc@3bits"))
        now = values(store)
        assert now["neardup_clustering_finished"] == 1
        assert began <= now["neardup_last_clustering_timestamp_seconds"] <= time.time()
        [note] = store.clustering_notes().values()
        store.put_clustering_note(type(note)(note.rule, finished=False, at=note.at))
        assert values(store)["neardup_clustering_finished"] == 0


def test_documents_that_repeat_others_are_counted_by_their_relation(tmp_path: Path) -> None:
    one, other = prose(1, 120), prose(2, 120)
    texts = {"a": one, "b": f"{one}\n", "c": other, "d": f"{other} And some words more."}
    with indexer.open(tmp_path / "s.neardup") as collection:
        collection.add_many(list(texts.items()))
        collection.cluster()
        counted = read(collection.metrics())["neardup_repeating_documents"]
    assert [(labels["relation"], value) for labels, value in counted] == [("identical", 1), ("unverified", 1)]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_command_writes_them_whatever_the_terminal_can_show(tmp_path: Path, encoding: str) -> None:
    neardup = Neardup(tmp_path)
    (tmp_path / "a.txt").write_text("one and two and three")
    neardup("index", "a.txt", "--store", "größe\n.neardup")
    out = neardup("stats", "--store", "größe\n.neardup", "--format", "prometheus", PYTHONIOENCODING=encoding).out
    [(labels, documents)] = read(out)["neardup_documents"]
    assert (labels["store"], documents) == ("größe\n.neardup", 1)
    both = [neardup("stats", "--store", "größe\n.neardup", *asked).out for asked in (["--json"], ["--format", "json"])]
    assert both[0] == both[1]
