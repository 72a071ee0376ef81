"""The pipeline as a library: what it counts, what it leaves behind when it is broken off, what digests depend on."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from indexer.clustering.arrivals import Arrivals, rule_for
from indexer.clustering.clusters import cluster
from indexer.errors import IncompatibleStoreError
from indexer.extract import declared
from indexer.extract.base import Limits, Options
from indexer.ingest import indexing, outcomes
from indexer.ingest.digests import source_digest
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Input, Rejected
from indexer.library.opening import open_store
from indexer.model import SIMHASH_DOC, Ref
from indexer.model.counts import IndexingSummary
from indexer.stores import PutResult, Store
from indexer.stores.sqlite.rows import StoredRow
from indexer.stores.sqlite.store import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as opened:
        yield opened


def texts(count: int, words: int = 30) -> Iterator[Input]:
    for number in range(count):
        text = " ".join(f"word{number}x{place}" for place in range(words))
        yield Input(str(number), "somewhere", data=text.encode(), format="text", metadata={"number": number})


@pytest.mark.parametrize("jobs", [0, 2])
def test_a_text_that_breaks_what_looks_for_dates_ends_no_run(
    store: Store, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    """As a month written with a long s once did: short texts are read in this process."""
    names = declared._names

    def breaks(text: str) -> Mapping[str, Any]:
        return {}["a month"] if "word7x0" in text else names(text)

    monkeypatch.setattr(declared, "_names", breaks)
    summary = index(texts(20), store, Settings(jobs=jobs))
    assert (summary.indexed, summary.failed) == (19, {"malformed": 1})
    [failure] = store.failures()
    assert failure.ref == Ref("7")
    assert failure.detail == "what the text says of its version can't be read: KeyError: 'a month'"


def test_every_input_is_counted_once(store: Store) -> None:
    inputs: list[Input | Rejected] = [
        *texts(100),
        Input("short", "s", data=b"too few words", format="text"),
        Input("empty", "s", data=b" \n", format="text"),
        Input("binary", "s", data=bytes(range(256)) * 10),
        Input("gone", "s", path="/no/such/file"),
        Rejected("bad", "s", "malformed", "said the source"),
        Input("copy", "s", data=next(texts(1)).data, format="text"),
    ]
    summary = index(inputs, store, Settings(jobs=2))
    assert (summary.indexed, summary.short, summary.empty, summary.reused) == (103, 1, 1, 1)
    assert summary.failed == {"unsupported": 1, "unreadable": 1, "malformed": 1}
    assert summary.done == len(inputs)
    assert {failure.ref.id for failure in store.failures()} == {"binary", "gone", "bad"}
    [record] = store.get([Ref("7")])
    assert record is not None
    assert record.fingerprint is not None
    assert record.fingerprint.tokens == 30
    assert record.metadata == {"number": 7}

    again = index(inputs, store, Settings())
    assert (again.unchanged, again.failed_before, again.failures) == (103, 1, 2)
    assert again.done == len(inputs)


def test_a_row_that_was_written_before_another_one_of_its_id_came_is_named(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "BATCH_RECORDS", 1)
    monkeypatch.setattr(indexing, "_MOST_GROUP_ITEMS", 1)
    rows = [replace(row, number=number) for number, row in enumerate(texts(40), 1)]
    inputs = [*rows, replace(rows[0], data=b"another text", number=41)]
    summary = index(inputs, store, Settings(jobs=0))
    assert (summary.indexed, summary.replaced) == (40, 1)
    assert (summary.same_id, summary.same_ids) == (1, ["0: somewhere:41 instead of somewhere"])
    # The file has changed.
    again = index([replace(rows[1], data=b"an edited text")], store)
    assert (again.replaced, again.same_id) == (1, 0)


def test_keys_are_those_of_the_scheme(store: Store) -> None:
    from indexer.schemes import simhash

    index(texts(3), store)
    # A second look, by the way that reuses what is stored.
    index((replace(item, id=f"copy-{item.id}") for item in texts(3)), store)
    for record in store.scan():
        assert record.fingerprint
        assert record.sketches[SIMHASH_DOC].keys == simhash.keys(record.fingerprint)


class BrokenError(Exception):
    """Something that goes wrong in the source."""


def breaking_off(items: Iterable[Input], error: BaseException) -> Iterator[Input]:
    yield from items
    raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BrokenError()])
def test_what_is_done_is_written_when_the_run_breaks_off(store: Store, error: BaseException) -> None:
    summary = IndexingSummary()
    with pytest.raises(type(error)):
        index(breaking_off(texts(300), error), store, summary=summary)
    assert summary.indexed == store.stats().documents > 0
    assert index(texts(300), store).unchanged == summary.indexed
    assert store.stats().documents == 300


def test_a_run_can_be_told_to_stop(store: Store) -> None:
    stop = threading.Event()

    def stopping() -> Iterator[Input]:
        for number, item in enumerate(texts(10_000)):
            if number == 500:
                stop.set()
            yield item

    summary = IndexingSummary()
    with pytest.raises(KeyboardInterrupt):
        index(stopping(), store, summary=summary, stop=stop)
    assert 0 < summary.indexed < 1000
    assert summary.indexed == store.stats().documents


def test_what_the_store_refuses_is_a_failure(store: Store) -> None:
    good, bad = texts(2)
    summary = index([replace(bad, metadata={"long": "x" * (17 << 20)}), good], store)
    assert (summary.indexed, summary.failed) == (1, {"refused": 1})
    [failure] = store.failures()
    assert (failure.ref.id, failure.reason) == ("1", "refused")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    arrivals=st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 4)), max_size=40),
    batch=st.integers(1, 6),
    delays=st.lists(st.sampled_from((0.0, 0.002)), min_size=40, max_size=40),
)
def test_batches_that_are_still_being_written_are_known(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    arrivals: list[tuple[str, int]],
    batch: int,
    delays: list[float],
) -> None:
    data = [*(item.data for item in texts(4)), b"too long " * 1000]
    # Those that fail have ids of their own.
    arrivals = [(name.upper() if number == 4 else name, number) for name, number in arrivals]
    inputs = [Input(name, "s", data=data[number], format="text") for name, number in arrivals]
    path = tmp_path_factory.mktemp("behind") / "c.neardup"
    waits, write = iter(delays), SqliteStore._put_batch

    def slow(store: SqliteStore, rows: list[StoredRow | PutResult]) -> list[PutResult]:
        time.sleep(next(waits, 0.0))
        return write(store, rows)

    with monkeypatch.context() as patched, open_store(path, create=store_info("landmarks")) as store:
        patched.setattr(SqliteStore, "_put_batch", slow)
        patched.setattr(outcomes, "BATCH_RECORDS", batch)
        patched.setattr(indexing, "_MOST_GROUP_ITEMS", 2)
        summary = index(inputs, store, Settings(jobs=0, limits=Limits(input_bytes=5000)))
        assert summary.done == len(inputs)
        options = Options(format="text")
        last = {name: source_digest(data[number], store.info, options) for name, number in arrivals if number < 4}
        assert {record.ref.id: record.source_digest for record in store.scan()} == last
        assert {failure.ref.id for failure in store.failures()} == {name for name, _ in arrivals} - last.keys()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    coming=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 3), st.booleans()), max_size=30),
    batch=st.integers(1, 8),
)
# A document that came first and comes again stands for its cluster, whatever came in between.
@example(coming=[(0, 1, 0, False), (0, 0, 0, False), (0, 0, 0, False), (0, 1, 0, False)], batch=1)
# What was to replace a near document is refused in the same batch.
@example(coming=[(0, 0, 0, False)] * 25 + [(1, 1, 0, False), (1, 0, 0, False), (1, 1, 0, True)], batch=1)
@example(
    coming=[(0, 0, 0, False)] * 4 + [(0, 2, 0, False), (0, 0, 0, False), (0, 1, 0, True), (0, 2, 1, False)], batch=4
)
@example(
    coming=[(0, 0, 0, False)] * 6 + [(0, 1, 0, True), (0, 2, 0, False), (0, 0, 0, False), (0, 2, 0, False)], batch=4
)
def test_of_each_family_something_is_stored_whatever_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    coming: list[tuple[int, int, int, bool]],
    batch: int,
) -> None:
    family = [" ".join(f"word{number}x{place}" for place in range(100)) for number in range(3)]
    inputs = [
        Input(f"{number}{name}", "s", data=f"{family[number]} {change}".encode(), format="text",
              metadata={"x": float("inf")} if bad else {})
        for number, name, change, bad in coming
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("skipping") / "c.neardup"
    with monkeypatch.context() as patched, open_store(path, create=store_info("landmarks")) as store:
        patched.setattr(outcomes, "BATCH_RECORDS", batch)
        patched.setattr(indexing, "_MOST_GROUP_ITEMS", 2)
        arrivals = Arrivals(store, rule_for(store), skip=True)
        summary = index(inputs, store, Settings(jobs=0, retry_failed=True), arrivals=arrivals)
        assert summary.done == len(inputs)
        stored = {record.ref.id for record in store.scan()}
        failures = {failure.ref.id: failure for failure in store.failures()}
        assert stored | failures.keys() == {item.id for item in inputs}
        # What is stored has its cluster, also where something of its batch was refused.
        assert cluster(store, arrivals.rule, dry_run=True).changes.documents == 0
        for name, failure in failures.items():
            if failure.reason == "duplicate":
                assert failure.detail.split()[-1] in stored, (name, failure)
        for number in range(3):
            # A refused version of what is stored leaves that, and does not take another's place.
            kept = [name for name in stored if name[0] == str(number)]
            good = [item.id for item in inputs if item.id[0] == str(number) and not item.metadata]
            last = {item.id: bool(item.metadata) for item in inputs if item.id[0] == str(number)}
            assert bool(kept) or all(last[name] for name in good), (kept, good)


def test_a_store_for_other_fingerprints_is_refused(store: Store) -> None:
    with pytest.raises(IncompatibleStoreError, match="content"):
        index(texts(1), store, Settings(options=Options(content="full")))


def test_limits_hold(store: Store, tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_text("word " * 1000)
    inputs = [Input("file", "s", path=str(tmp_path / "large.txt")), Input("line", "s", data=b"word " * 1000)]
    summary = index(inputs, store, Settings(limits=Limits(input_bytes=1000)))
    assert summary.failed == {"too-large": 2}


def test_the_digest_depends_on_all_that_the_fingerprint_depends_on() -> None:
    info, options = store_info("landmarks"), Options()
    base = source_digest(b"octets", info, options)
    others = [
        source_digest(b"octet", info, options),
        source_digest(b"octets", replace(info, scheme="another"), options),
        source_digest(b"octets", replace(info, content="full"), options),
        source_digest(b"octets", replace(info, extractor="0"), options),
        source_digest(b"octets", replace(info, unicode="1.1"), options),
        source_digest(b"octets", info, replace(options, extractor="reference")),
        source_digest(b"octets", info, replace(options, format="xml")),
        source_digest(b"octets", info, options, name="a.html"),
        source_digest(b"octets", info, options, title="Title"),
    ]
    assert len({base, *others}) == 1 + len(others)
    # Not on the folder, the case of the suffix, the compression, or the version of the program.
    assert source_digest(b"octets", info, options, name="x/A.HTML.gz") == source_digest(
        b"octets", info, options, name="b.html"
    )
    assert source_digest(b"octets", replace(info, version="9"), options) == base
    rules = "\0".join([info.scheme, info.unicode, info.extractor, "landmarks", "auto", "", ""])
    assert base == hashlib.sha256(rules.encode() + b"\0\0octets").hexdigest()[:32]
