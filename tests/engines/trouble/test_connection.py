"""URLs, several hosts, and how long is waited."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.engine.client.errors import retry_after
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.client.urls import parse_url
from indexer.engine.store.store import open_search_store
from tests.engines.servers import Server, free_port
from tests.stores.made import INFO, put, record


@pytest.mark.parametrize(
    ("url", "engine", "hosts", "name"),
    [
        ("https://host:9200/docs", "", ("https://host:9200",), "docs"),
        ("https://host/docs", "", ("https://host:443",), "docs"),
        ("http://a:1,b:2/docs", "", ("http://a:1", "http://b:2"), "docs"),
        ("elasticsearch+https://h:1/p/q/docs", "elasticsearch", ("https://h:1/p/q",), "docs"),
        ("OpenSearch+HTTP://h:1/docs-*", "opensearch", ("http://h:1",), "docs-*"),
        ("https://us%40er:p%3Aw@h:1/docs", "", ("https://h:1",), "docs"),
    ],
)
def test_what_a_url_names(url: str, engine: str, hosts: tuple[str, ...], name: str) -> None:
    target = parse_url(url)
    assert (target.engine, target.hosts, target.name) == (engine, hosts, name)
    assert "@" not in target.shown
    if "@" in url:
        assert (target.user, target.password) == ("us@er", "p:w")
        assert "p:w" not in repr(target)


@given(st.integers(0, 1000), st.none() | st.floats(0, 1e9), st.floats(0.01, 1), st.floats(1, 60))
def test_waits_grow_are_jittered_and_hear_the_server(
    attempt: int, asked: float | None, first: float, longest: float
) -> None:
    retry = RetryPolicy(limit=100, first=first, longest=longest)
    wait = retry.wait(attempt, asked)
    doubled = min(longest, first * 2.0 ** min(attempt, 16))
    assert doubled / 2 <= wait
    assert wait >= min(asked or 0, 100)
    assert wait <= max(doubled, min(asked or 0, 100))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("2", 2.0), ("0.5", 0.5), ("-1", 0.0), ("Fri, 31 Dec 1999 23:59:59 GMT", None)],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds


def test_a_dead_host_among_several_costs_a_try(server: Server, index_name: str) -> None:
    url = f"http://127.0.0.1:{free_port()},127.0.0.1:{server.port}/{index_name}"
    with open_search_store(url, INFO, retry=RetryPolicy(limit=30, first=0.01, longest=0.1)) as store:
        put(store, *[record(str(number), number) for number in range(30)])
        assert store.stats().documents == 30
