"""What every store must say of its documents, and do when it is opened and closed; a part of the contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from indexer.errors import IncompatibleStoreError, StoreError
from indexer.model import Failure, Ref
from indexer.model.kinds import DOCUMENTS, KIND_NAMES
from indexer.schemes.keys.layout import KeyLayout
from indexer.schemes.keys.simhash64 import probes
from indexer.stores import Store, StoreInfo
from tests.stores.asked import documents_with_keys
from tests.stores.made import INFO, cluster, put, record


class OpeningContract:
    """Inherited by the whole contract, which has the fixtures `opened` and `store`."""

    def test_stats_count(self, store: Store) -> None:
        put(
            store,
            record("a", 1, format="html", indexed_at="2024-05-01T10:00:00Z"),
            record("b", 1, format="html", short=True, indexed_at="2025-01-31T23:59:59Z"),
            record("c", 2, format="pdf", indexed_at="2024-12-31T00:00:00Z"),
            record("d", None, format="pdf"),
        )
        stats = store.stats()
        assert store.count() == stats.documents
        assert stats.last_indexed_at == "2025-01-31T23:59:59Z"
        assert (stats.documents, stats.fingerprinted, stats.distinct, stats.short, stats.empty) == (4, 3, 2, 1, 1)
        assert stats.formats == {"html": 2, "pdf": 2}
        assert stats.bytes_on_disk > 0

    def test_what_was_stored_is_there_after_opening_again(self, opened: Callable[..., Store]) -> None:
        kept = [record(f"{number:04d}", number * 0x9E37_79B9 << 20, title=f"t{number}") for number in range(2100)]
        with opened(create=INFO) as store:
            put(store, *kept)
            store.annotate([(Ref("0001"), {"x": 1})])
        with opened() as store:
            assert store.info == INFO
            assert sorted(store.scan(), key=lambda r: r.ref) == kept
            assert store.annotations([Ref("0001")]) == [{"x": 1}]
            for each in kept[::100]:
                assert each.fingerprint
                value = each.fingerprint.value
                assert documents_with_keys(store, probes(value ^ 0b111, 3))[each.ref] == value

    def test_a_store_that_is_not_there_is_not_made_by_reading(self, opened: Callable[..., Store]) -> None:
        for options in ({}, {"read_only": True}, {"read_only": True, "create": INFO}):
            with pytest.raises(StoreError, match="no store"):
                opened(**options)

    def test_a_store_opened_to_be_read_refuses_to_write(self, opened: Callable[..., Store]) -> None:
        with opened(create=INFO) as store:
            put(store, record("a", 1))
        with opened(read_only=True) as store:
            assert store.get([Ref("a")]) == [record("a", 1)]
            for write in (
                lambda: put(store, record("b", 2)),
                lambda: store.delete([Ref("a")]),
                lambda: store.annotate([(Ref("a"), {"x": 1})]),
                lambda: store.put_failures([Failure(Ref("f"), "", "r", "", "")]),
                lambda: store.put_clusters([cluster("c")]),
                lambda: store.delete_clusters(["c"]),
            ):
                with pytest.raises(StoreError, match="read-only"):
                    write()
        with opened() as store:
            assert store.stats().documents == 1

    @pytest.mark.parametrize(
        ("field", "other", "words"),
        [
            ("scheme", "minhash", "scheme"),
            ("layout", KeyLayout(tables=20, bits=30), "20 tables of 30 bits"),
            ("content", "full", "content mode landmarks in the store, full asked for"),
            ("extractor", "2", "extraction rules"),
            ("unicode", "99.0.0", "Unicode version"),
            ("kind", "short", "kind of texts documents in the store, short asked for"),
        ],
    )
    def test_stores_are_not_mixed(self, opened: Callable[..., Store], field: str, other: Any, words: str) -> None:
        opened(create=INFO).close()
        settings = {name: getattr(INFO, name) for name in INFO.__slots__} | {field: other}
        for read_only in (False, True):
            with pytest.raises(IncompatibleStoreError, match=words):
                opened(create=StoreInfo(**settings), read_only=read_only)
        opened(create=INFO).close()

    @pytest.mark.parametrize("kind", [kind for kind in KIND_NAMES if kind != DOCUMENTS])
    def test_the_kind_of_texts_is_kept(self, opened: Callable[..., Store], kind: str) -> None:
        made = replace(INFO, kind=kind)
        with opened(create=made) as store:
            assert store.info == made
        with opened(read_only=True) as store:
            assert store.info.kind == kind
        with pytest.raises(IncompatibleStoreError, match=f"kind of texts {kind} in the store, documents asked for"):
            opened(create=INFO)

    def test_another_version_of_neardup_may_go_on(self, opened: Callable[..., Store]) -> None:
        opened(create=INFO).close()
        settings = {name: getattr(INFO, name) for name in INFO.__slots__} | {"version": "9.9.9"}
        assert opened(create=StoreInfo(**settings)).info == INFO

    def test_a_closed_store_says_so(self, store: Store) -> None:
        store.close()
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.get([Ref("a")])
        with pytest.raises(StoreError, match="closed"):
            list(store.scan())
