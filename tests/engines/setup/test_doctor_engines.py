"""`neardup doctor` on real engines: what is wrong with an index is found, and what to do about it helps."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from indexer.engine.index import mapping
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.matching.store_schemes import schemes_of_new
from tests import warm
from tests.engines.servers import Server
from tests.engines.setup.index_settings import loading

TEXTS = {f"d{number}": " ".join(f"word{number}x{place}" for place in range(40)) for number in range(3)}


def neardup(url: str, *words: str, code: int = 0) -> str:
    """What the command answers."""
    done = warm.run_text(*words, "--store", url)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def found(url: str, *words: str, code: int = 7) -> Mapping[str, tuple[str, str, str]]:
    """By what was looked at the level, the sentence and the advice."""
    told = json.loads(neardup(url, "doctor", *words, "--json", code=code))
    assert told["healthy"] == (code == 0)
    return {each["check"]: (each["level"], each["says"], each["advice"]) for each in told["findings"]}


def only(findings: Mapping[str, tuple[str, str, str]], check: str, level: str) -> tuple[str, str]:
    """What is said of a check, and its advice, where all others are ok."""
    assert {name: value[0] for name, value in findings.items() if value[0] != "ok"} == {check: level}
    return findings[check][1:]


@pytest.fixture
def owned(server: Server, index_name: str) -> str:
    """The URL of an owner's index whose documents are annotated and clustered."""
    fields = {"properties": {"body": {"type": "text"}}}
    server.request("PUT", f"/{index_name}", {"mappings": fields})
    lines: list[dict[str, Any]] = []
    for name, text in TEXTS.items():
        lines += [{"index": {"_id": name}}, {"body": text}]
    server.request("POST", f"/{index_name}/_bulk?refresh=true", lines=lines)
    url = f"{server.url}/{index_name}"
    neardup(url, "annotate", "--field", "body", "--jobs", "1")
    neardup(url, "cluster")
    return url


def test_documents_of_an_owner(server: Server, owned: str, clean: None) -> None:
    name = owned.rpartition("/")[2]
    findings = found(owned, "--texts", code=0)
    product = {"elasticsearch": "Elasticsearch", "opensearch": "OpenSearch"}[server.name]
    assert findings["engine"][1].startswith(f"{product} {server.version}; client elasticsearch 9")
    assert findings["texts"][1].startswith("3 documents as when")
    asked = {"elasticsearch": "asks for no credentials", "opensearch": "does not tell a user's privileges"}
    assert asked[server.name] in findings["privileges"][1]
    metrics = neardup(owned, "stats", "--format", "prometheus")
    assert f'neardup_documents{{store="{owned}"}} 3\n' in metrics
    assert f'neardup_clustering_finished{{store="{owned}"}} 1\n' in metrics

    server.request("PUT", f"/{name}/_doc/d0?refresh=true", {"body": "something else " + TEXTS["d0"]})
    says, advice = only(found(owned), "documents", "warning")
    assert says.startswith("1 document of the index without a fingerprint")
    assert advice == f"run neardup annotate --store {owned}"
    server.request("POST", f"/{name}/_doc/d1/_update?refresh=true", {"doc": {"body": "changed"}})
    server.request("POST", f"/{name}/_update/d1?refresh=true", {"doc": {"body": "changed"}})
    findings = found(owned, "--texts")
    assert {check for check, value in findings.items() if value[0] != "ok"} == {"documents", "texts"}
    assert findings["texts"][1].startswith("1 document changed")
    neardup(owned, "annotate", "--jobs", "1")
    neardup(owned, "cluster")
    found(owned, "--texts", code=0)


def test_sketches_and_clusters(server: Server, owned: str, clean: None) -> None:
    name = owned.rpartition("/")[2]
    lines: list[dict[str, Any]] = [{"update": {"_id": "d2"}}, {"doc": {"neardup": {"minhash": None}}}]
    server.request("POST", f"/{name}/_bulk?refresh=true", lines=lines)
    says, advice = only(found(owned), "sketches", "warning")
    assert says.startswith("1 document without the sketch by minhash")
    assert advice == "index or annotate them again"
    neardup(owned, "annotate", "--jobs", "1")
    neardup(owned, "cluster")
    with open_store(owned) as store:
        [note] = store.clustering_notes().values()
        store.put_clustering_note(type(note)(note.rule, note.bound, note.canonical, finished=False, at=note.at))
    says, advice = only(found(owned), "clusters", "error")
    assert "was not finished" in says
    assert advice.endswith(f"run neardup cluster --store {owned} again")
    neardup(owned, "cluster")
    found(owned, code=0)


def test_mappings(server: Server, index_name: str, clean: None) -> None:
    info = store_info("landmarks", schemes_of_new())
    neardup(f"{server.url}/{index_name}-whole", "setup")
    body = mapping.new_index(info)
    del body["mappings"]["properties"]["neardup"]["properties"]["text_digest"]
    server.request("PUT", f"/{index_name}-part", body)
    url = f"{server.url}/{index_name}-part"
    assert "add neardup's fields to the mapping" in found(url)["mapping"][1]
    neardup(url, "setup")
    assert found(url)["mapping"][0] == "ok"

    server.request("PUT", f"/{index_name}-bare", {})
    for each in ("whole", "bare"):
        server.request("PUT", f"/{index_name}-{each}/_alias/{index_name}-all")
    says, advice = only(found(f"{server.url}/{index_name}-all"), "mapping", "error")
    assert says.startswith(f"the index {index_name}-bare is without neardup's fields")
    assert advice == f"run neardup setup --store {server.url}/{index_name}-all"
    assert found(f"{server.url}/{index_name}-whole,{index_name}-bare")["mapping"][0] == "error"

    bare = warm.run_text("doctor", "--store", f"{server.url}/{index_name}-bare", "--json")
    assert bare.returncode == 3
    assert [each["check"] for each in json.loads(bare.stdout)["findings"]] == ["neardup", "engine", "privileges"]
    assert "without neardup's fields" in bare.stderr


def test_settings_that_a_killed_load_has_left_behind(
    server: Server, index_name: str, tmp_path: Path, clean: None
) -> None:
    url = f"{server.url}/{index_name}"
    neardup(url, "setup")
    with loading(server, index_name, tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    says, advice = only(found(url), "settings", "error")
    assert says.startswith(index_name)
    assert f"neardup setup --store {url} --repair" in advice or "neardup setup --repair" in advice
    neardup(url, "setup", "--repair")
    found(url, code=0)
