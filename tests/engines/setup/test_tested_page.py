"""The page on what is tested where: what it says of the engines' test builds is what these can do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.engines.downloads import ELASTICSEARCHES, OPENSEARCHES
from tests.engines.servers import Server
from tests.pages import DOCS, section

PAGE = DOCS / "reference" / "tested.md"
COLUMNS = {"elasticsearch": 1, "opensearch": 2}


def rows() -> dict[str, list[str]]:
    """The cells of the table on engines, by feature."""
    lines = [line.strip("|").split("|") for line in section(PAGE, "Engines").splitlines() if line.startswith("| ")]
    return {cells[0].strip(): [cell.strip() for cell in cells] for cells in lines[1:]}


def put(server: Server, index: str, mapping: Mapping[str, Any]) -> Any:
    return server.request("PUT", f"/{index}", {"mappings": {"properties": {"x": mapping}}})


def stream(server: Server, name: str) -> Any:
    template = {"index_patterns": [name], "data_stream": {}, "priority": 900}
    made = server.request("PUT", f"/_index_template/{name}", template)
    try:
        return made if "error" in made else server.request("PUT", f"/_data_stream/{name}")
    finally:
        server.request("DELETE", f"/_data_stream/{name}")
        server.request("DELETE", f"/_index_template/{name}")


def pipeline(server: Server, name: str) -> Any:
    processors = [{"set": {"field": "x", "value": 1}}]
    made = server.request("PUT", f"/_ingest/pipeline/{name}", {"processors": processors})
    server.request("DELETE", f"/_ingest/pipeline/{name}")
    return made


def filled(server: Server, name: str) -> str:
    server.request("PUT", f"/{name}/_doc/1?refresh=true", {"x": 1})
    return name


# By the first words of a row what shows whether a build has it: an answer without an error.
ASKED: dict[str, Callable[[Server, str], Any]] = {
    "Nested": lambda server, name: put(server, name, {"type": "nested"}),
    "Dense vectors": lambda server, name: put(server, name, {"type": "dense_vector", "dims": 3}),
    "Join": lambda server, name: put(server, name, {"type": "join", "relations": {"a": "b"}}),
    "Painless": lambda server, name: server.request(
        "POST", f"/{filled(server, name)}/_update/1", {"script": "ctx._source.x = 2"}
    ),
    "Ingest": pipeline,
    "The owner's update by query": lambda server, name: server.request(
        "POST", f"/{filled(server, name)}/_update_by_query"
    ),
    "The owner's reindex": lambda server, name: server.request(
        "POST", "/_reindex", {"source": {"index": filled(server, name)}, "dest": {"index": f"{name}-again"}}
    ),
    "Data streams": stream,
}


@pytest.mark.parametrize("feature", ASKED)
def test_a_build_has_what_the_page_says(server: Server, index_name: str, feature: str) -> None:
    [cells] = [cells for name, cells in rows().items() if name.startswith(feature)]
    answer = ASKED[feature](server, index_name)
    assert ("error" not in answer) == (cells[COLUMNS[server.name]] == "yes"), answer


def test_pages_name_the_versions_that_tests_run_on() -> None:
    newest = [next(iter(ELASTICSEARCHES)), next(iter(OPENSEARCHES)).removesuffix(".0")]
    oldest = [list(ELASTICSEARCHES)[-1], list(OPENSEARCHES)[-1].removesuffix(".0")]
    tested, root = PAGE.read_text(), PAGE.parents[2]
    assert f"| feature | Elasticsearch {newest[0]} | OpenSearch {newest[1]} |" in tested
    assert f"Elasticsearch {oldest[0]} and OpenSearch {oldest[1]}" in tested
    short = [version.rpartition(".")[0] for version in (newest[0], oldest[0], newest[1], oldest[1])]
    readme = " ".join((root / "README.md").read_text().split())
    assert "Elasticsearch {} and {}, OpenSearch {} and {}.".format(*short) in readme
    for engine, version in zip(("elasticsearch", "opensearch"), newest, strict=True):
        images = re.findall(r"image: \S+:(\d\S+)", (root / "docker" / f"compose-{engine}.yml").read_text())
        assert set(images) == {version}


def test_the_tests_that_the_page_names_are_there() -> None:
    for cells in rows().values():
        assert {cells[1], cells[2]} <= {"yes", "no"}
        for name in re.findall(r"`(test_\w+\.py)`", cells[3]):
            assert list(PAGE.parents[2].glob(f"tests/engines/*/{name}")), name
