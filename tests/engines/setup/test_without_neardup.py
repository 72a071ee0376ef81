"""The requests of the page for applications without neardup, on real engines; its programs, by published vectors."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import indexer
from indexer.schemes import interchange
from tests.cli.written import changed, prose
from tests.engines.annotated import neardup
from tests.engines.fleet import Servers
from tests.engines.servers import Server
from tests.pages import DOCS, blocks
from tests.warm import run_script

PAGE = DOCS / "how-to" / "without-neardup.md"
# The Elasticsearch of the tests has neither.
NOT_EVERYWHERE = re.compile(r"script_score|_search/template")
NEAR = ["1", "2", "3"]


@pytest.fixture
def articles(server: Server, clean: None) -> Iterator[Server]:
    """An engine with articles of an owner's: three versions of one text, a pair, and ten others."""
    del clean
    texts = [prose(0), changed(prose(0)), prose(0), prose(1), changed(prose(1)), *map(prose, range(2, 12))]
    for number, text in enumerate(texts, 1):
        url, date = f"https://{'ab'[number % 2]}.example/{number}", f"2026-01-{20 - number:02}"
        server.request("PUT", f"/articles/_doc/{number}", {"body": text, "url": url, "published": date})
    server.request("POST", "/articles/_refresh")
    yield server
    server.request("DELETE", "/articles,articles-*,neardup-articles-*?ignore_unavailable=true")
    for kind in ("similar", "cluster"):
        server.request("DELETE", f"/_scripts/neardup-{kind}-articles")


def run(script: str, server: Server, folder: Path) -> str:
    if not shutil.which("curl"):
        pytest.skip(f"NEEDS curl: the requests of {PAGE.name} were not sent")
    return run_script(script, folder, CLUSTER=server.url)


def hits(answer: Any) -> list[str]:
    return [hit["_id"] for hit in answer["hits"]["hits"]]


def is_there(server: Server, name: str) -> bool:
    """True if the engine has a stored script of this name."""
    return bool(server.request("GET", f"/_scripts/{name}").get("found"))


def test_the_requests_answer_what_the_page_says(articles: Server, tmp_path: Path) -> None:
    setting_up, more_like_this, lookup, verify, script, by_source, first, templates = blocks(PAGE, "sh")
    run(setting_up + more_like_this, articles, tmp_path)
    with indexer.open(f"{articles.url}/articles") as collection:
        near = {match.id: match.similarity for match in collection.similar(id="1", limit=None)}
    assert set(near) == set(NEAR) - {"1"}
    answer = json.loads((tmp_path / "similar.json").read_text())
    assert hits(answer)[0] in ("1", "3")
    assert set(hits(answer)) == set(NEAR)
    if shutil.which("node"):
        (tmp_path / "near.mjs").write_text(blocks(PAGE, "js")[0])
        lines = dict(line.split() for line in run(verify, articles, tmp_path).splitlines())
        assert {name: float(value) for name, value in lines.items()} == {
            "1": 1.0, **{name: pytest.approx(value, abs=0.0006) for name, value in near.items()}
        }  # fmt: skip
    by_keys = json.loads(run(lookup, articles, tmp_path))["hits"]["hits"]
    assert [hit["_score"] for hit in by_keys if hit["_id"] in ("1", "3")] == [16.0, 16.0]
    assert {hit["_id"] for hit in by_keys} <= set(NEAR)
    sources = json.loads(run(by_source, articles, tmp_path))["aggregations"]["source"]["buckets"]
    assert {each["key"]: each["doc_count"] for each in sources} == {"a.example": 2, "b.example": 3}
    assert sum(each["removable"]["doc_count"] for each in sources) == 1, "only equal texts go"
    assert hits(json.loads(run(first, articles, tmp_path))) == ["5", "3"]
    if articles.name == "elasticsearch":
        return
    scored = json.loads(run(script, articles, tmp_path))["hits"]["hits"]
    assert {hit["_id"]: hit["_score"] for hit in scored} == {
        "1": 1.0, **{name: pytest.approx(value, abs=1e-4) for name, value in near.items()}
    }  # fmt: skip
    answers = run(templates, articles, tmp_path).replace('}{"took"', '}\n{"took"').splitlines()
    similar, cluster = map(json.loads, answers)
    assert set(hits(similar)) == set(NEAR)
    assert set(hits(cluster)) == set(NEAR)
    canonical = [hit["_source"]["neardup"]["cluster"]["is_canonical"] for hit in cluster["hits"]["hits"]]
    assert canonical == [True, False, False]


def test_search_templates_come_and_go(servers: Servers) -> None:
    server = servers.get("opensearch")
    store, name = f"{server.url}/articles", "neardup-similar-articles"
    try:
        planned = neardup("setup", "--store", store, "--search-templates", "--dry-run").stdout
        assert f"PUT /_scripts/{name}" in planned
        assert not is_there(server, name)
        neardup("setup", "--store", store, "--search-templates")
        assert "all is set up" in neardup("setup", "--store", store, "--search-templates").stderr
        # Alone they go without anything else.
        neardup("setup", "--store", store, "--search-templates", "--remove")
        assert not is_there(server, name)
        assert "_meta" in json.dumps(server.request("GET", "/articles/_mapping"))
        owners = {"script": {"lang": "mustache", "source": {"query": {"match_all": {}}}}}
        server.request("PUT", f"/_scripts/{name}", owners)
        refused = neardup("setup", "--store", store, "--search-templates", code=2)
        assert "belongs to the owner" in refused.stderr
        server.request("DELETE", f"/_scripts/{name}")
        neardup("setup", "--store", store, "--search-templates")
        server.request("PUT", f"/_scripts/{name}", owners)
        neardup("setup", "--store", store, "--remove", "--yes")
        assert is_there(server, name)
        assert not is_there(server, "neardup-cluster-articles")
    finally:
        server.request("DELETE", f"/_scripts/{name}")
        server.request("DELETE", "/articles,articles-*,neardup-articles-*?ignore_unavailable=true")


def test_an_engine_without_search_templates_is_left_as_it_was(servers: Servers) -> None:
    server = servers.get("elasticsearch")
    refused = neardup("setup", "--store", f"{server.url}/articles", "--search-templates", code=3)
    assert "can't put the search template" in refused.stderr
    assert not server.request("GET", "/_index_template/neardup-*")["index_templates"]
    assert "articles" not in server.request("GET", "/*/_mapping")


@pytest.mark.parametrize(
    ("program", "kind", "file", "command"),
    [
        ("java", "java", "Share.java", ["java", "Share.java"]),
        ("go", "go", "share.go", ["go", "run", "share.go"]),
    ],
)
def test_the_programs_agree_with_the_published_vectors(
    tmp_path: Path, program: str, kind: str, file: str, command: list[str]
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"NEEDS {program}: the program in {PAGE.name} did not run")
    lines = (DOCS / "vectors" / "mh3.tsv").read_text("utf-8").splitlines()
    forms = [form for line in lines if (form := line.split("\t")[1]) != "-"]
    pairs = [*combinations(forms[:24], 2), (forms[0], forms[0])]
    sketches = [base64.b64encode(interchange.parse(form)[1]).decode() for pair in pairs for form in pair]
    (tmp_path / file).write_text(blocks(PAGE, kind)[0], "utf-8")
    environment = {**os.environ, "GOCACHE": str(tmp_path / "cache"), "GO111MODULE": "off"}
    done = subprocess.run(
        [*command, *sketches], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert [float(line) for line in done.stdout.split()] == [
        pytest.approx(interchange.similarity(one, other)) for one, other in pairs
    ]
