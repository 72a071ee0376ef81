"""The canonical document by a field of an owner's documents, in their index or beside it."""

from __future__ import annotations

from typing import Any

import pytest

from indexer.library.opening import open_store
from tests.cli.written import prose
from tests.engines.annotated import annotate, fill, neardup, run, sources, write
from tests.engines.servers import Server

MAPPINGS: dict[str, Any] = {
    "properties": {
        "body": {"type": "text"},
        "meta": {"properties": {"published": {"type": "date"}, "rank": {"type": "long"}}},
        "issued": {"type": "alias", "path": "meta.published"},
    }
}
TEXT = prose(1)
DOCUMENTS: dict[str, Any] = {
    "copy": {"body": TEXT, "meta": {"published": "2026-03-02T00:30:00+02:00", "rank": 20}},
    "first": {"body": TEXT, "meta": {"published": "2026-02-01", "rank": 3}},
    "late": {"body": TEXT, "meta": [{"published": "2026-03-01T23:00:00Z", "rank": 100}]},
    "undated": {"body": TEXT},
    "other": {"body": prose(2)},
}


@pytest.fixture(params=["in place", "beside"])
def url(request: pytest.FixtureRequest, server: Server, index_name: str) -> str:
    """An annotated index whose documents have dates, or the index beside it."""
    owned, beside = f"{server.url}/{index_name}", f"{index_name}-beside"
    fill(server, index_name, DOCUMENTS, MAPPINGS)
    annotate(owned, "--field", "body", *(["--to", beside] if request.param == "beside" else []))
    return f"{server.url}/{beside}" if request.param == "beside" else owned


def canonical(url: str, *flags: str) -> tuple[str, str]:
    """The canonical document of the one cluster, and what was said when it was made."""
    said = neardup("cluster", "--store", url, *flags).stderr
    with open_store(url, read_only=True) as store:
        [cluster] = store.clusters()
        [record] = store.get([cluster.canonical])
        assert record
        return str(record.metadata.get("id") or cluster.canonical.id), said


def test_the_first_by_an_owners_date(url: str) -> None:
    _, said = canonical(url)
    assert "the first that annotate met; --time-field goes by a date of yours: meta.published" in said
    name, said = canonical(url, "--time-field", "meta.published")
    assert name == "first"
    assert "of 4 documents in clusters 1 without meta.published, which come last" in said
    assert "that annotate met" not in said
    assert canonical(url)[0] == canonical(url, "--time-field", "issued")[0] == "first"
    stays = neardup("prune", "--store", url, "--dry-run", "--remove", "identical").stdout
    assert "undated" in stays
    assert "late" in stays


def test_the_smallest_and_the_largest_of_an_owners_field(url: str) -> None:
    assert canonical(url, "--canonical", "field:meta.rank")[0] == "first"
    assert canonical(url, "--canonical", "field:meta.rank:desc")[0] == "late"
    name, said = canonical(url, "--canonical", "field:meta.published")
    assert name == "first"
    assert "1 without meta.published" in said


def test_a_field_that_no_document_has_is_refused(server: Server, index_name: str, url: str) -> None:
    canonical(url)
    before = sources(server, f"*{index_name}*")
    for flags in (("--canonical", "field:nosuch"), ("--time-field", "meta.rank.x")):
        said = neardup("cluster", "--store", url, *flags, code=2).stderr
        assert "of 5 documents none has" in said
        assert "fields with dates: meta.published" in said
    assert sources(server, f"*{index_name}*") == before


@pytest.mark.parametrize("url", ["in place"], indirect=True)
def test_the_report_and_what_comes_go_by_the_remembered_field(server: Server, index_name: str, url: str) -> None:
    canonical(url, "--time-field", "meta.published")
    text = neardup("report", "--store", url, "--format", "md", "--output", "-").stdout
    assert "2026-02" in text
    write(server, index_name, "before", {"body": TEXT, "meta": {"published": "2025-01-01"}}, refresh="true")
    annotate(url, "--cluster")
    assert canonical(url)[0] == "before"


def test_a_remark_names_the_option_for_the_field_of_sources(server: Server, index_name: str) -> None:
    documents = {
        name: {"body": prose(number), "url": f"https://example.org/{name}"} for number, name in enumerate("ab")
    }
    fill(server, index_name, documents, {"properties": {"body": {"type": "text"}, "url": {"type": "keyword"}}})
    owned = f"{server.url}/{index_name}"
    remark = "--source-field names a field with their URL"
    assert remark in run(owned, "--field", "body").stderr
    # Nothing was new.
    assert remark not in run(owned).stderr
    assert remark not in run(owned, "--field", "body", "--to", f"{index_name}-beside").stderr
    assert remark not in run(owned, "--source-field", "url").stderr
    assert {each["neardup"]["origin"] for each in sources(server, index_name).values()} == {"example.org"}
