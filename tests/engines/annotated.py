"""Indices of other people's documents, `neardup annotate` run on them, and what is seen of it."""

from __future__ import annotations

import json
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

import pytest

import indexer
from indexer import open_store
from indexer.library.bulk_requests import FingerprintedRequest
from indexer.schemes import simhash
from tests import warm
from tests.cli.written import changed, prose
from tests.engines.servers import Server
from tests.stores.asked import documents_with_keys

OWNERS_MAPPING: dict[str, Any] = {
    "_meta": {"owner": {"team": "search"}},
    "dynamic": "strict",
    "properties": {
        "body": {"type": "text", "fields": {"raw": {"type": "keyword", "ignore_above": 20_000}}},
        "heading": {"type": "text"},
        "lang": {"type": "keyword"},
        "date": {"type": "date"},
        "place": {"type": "geo_point"},
        "also": {"type": "alias", "path": "body"},
        "parts": {"type": "nested", "properties": {"text": {"type": "text"}}},
        "loose": {"type": "object", "dynamic": False},
    },
}


def neardup(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    done = warm.run_text(*arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def run(url: str, *flags: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run `neardup annotate` on an index."""
    return neardup("annotate", "--store", url, "--jobs", "1", *flags, code=code)


def annotate(url: str, *flags: str) -> dict[str, Any]:
    """Run the command, and what it counted."""
    counts: dict[str, Any] = json.loads(run(url, *flags, "--json").stdout)
    return counts


def fill(server: Server, index: str, documents: dict[str, Any], mappings: dict[str, Any] | None = None) -> None:
    """Make an index with these documents."""
    made = server.request("PUT", f"/{index}", {"mappings": mappings or OWNERS_MAPPING})
    assert "error" not in made, made
    for name, document in documents.items():
        write(server, index, name, document)
    server.request("POST", f"/{index}/_refresh")


def write(server: Server, index: str, name: str, document: dict[str, Any], **params: str) -> None:
    query = urllib.parse.urlencode(params)
    answer = server.request("PUT", f"/{index}/_doc/{name}?{query}", document)
    assert "error" not in answer, answer


def require_type(server: Server, index: str, field: dict[str, Any]) -> None:
    """Skip where the engine at hand has no such fields."""
    answer = server.request("PUT", f"/{index}-type", {"mappings": {"properties": {"field": field}}})
    if "error" in answer:
        pytest.skip(f"NOT IN THIS {server.name}: {answer['error']['reason']}")


def sources(server: Server, index: str) -> dict[str, dict[str, Any]]:
    """Every document's `_source` by "index/id"."""
    server.request("POST", f"/{index}/_refresh")
    hits = server.request("POST", f"/{index}/_search", {"size": 1000})["hits"]["hits"]
    return {f"{hit['_index']}/{hit['_id']}": hit["_source"] for hit in hits}


def owners(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The same without what is neardup's."""
    return {
        name: {field: value for field, value in source.items() if field != "neardup"} for name, source in found.items()
    }


def near(url: str, text: str) -> set[str]:
    """The ids that a lookup finds for a text."""
    return found_by_keys(url, {"": text})[""]


def left_by_removal(server: Server) -> dict[str, None]:
    """What removal leaves in a document's `_source`: nothing, but in this Elasticsearch, which runs no scripts."""
    return {} if server.name == "opensearch" else {"neardup": None}


def found_by_keys(url: str, texts: Mapping[str, str]) -> dict[str, set[str]]:
    """The ids that a lookup finds for each of several texts."""
    found = {}
    with open_store(url, read_only=True) as store:
        for name, text in texts.items():
            fingerprint = simhash.fingerprint(text)
            assert fingerprint
            found[name] = {ref.id for ref in documents_with_keys(store, simhash.keys(fingerprint))}
    return found


def lines_of(*lines: object) -> bytes:
    return b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)


def made(url: str, *lines: object, **options: Any) -> FingerprintedRequest:
    with indexer.open(url, read_only=True) as collection:
        return collection.fingerprint_lines(lines_of(*lines), **options)


def send(server: Server, index: str, lines: str) -> None:
    request = urllib.request.Request(
        f"{server.url}/{index}/_bulk?refresh=true", lines.encode(), {"Content-Type": "application/x-ndjson"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        done = json.load(answer)
    assert not done["errors"], done


def searches(server: Server, index: str) -> list[Any]:
    """What searches on each field of the owner's find."""
    queries = [
        {"match": {"body": prose(1).split()[3]}},
        {"term": {"body.raw": "one two"}},
        {"match": {"heading": "first"}},
        {"term": {"lang": "en"}},
        {"range": {"date": {"gte": "2026-01-02"}}},
        {"geo_distance": {"distance": "10km", "place": {"lat": 1, "lon": 2}}},
        {"nested": {"path": "parts", "query": {"match": {"parts.text": "inner"}}}},
        {"match": {"also": "one"}},
    ]
    found = []
    for query in queries:
        hits = server.request("POST", f"/{index}/_search", {"query": query, "sort": ["date"]})["hits"]["hits"]
        found.append((query, [hit["_id"] for hit in hits]))
    assert all(names for _, names in found), found
    return found


DOCUMENTS: dict[str, Any] = {
    "a": {"body": prose(1), "lang": "en", "date": "2026-01-01", "heading": "the first"},
    "b": {"body": changed(prose(1)), "lang": "en", "date": "2026-01-02", "place": {"lat": 1, "lon": 2}},
    "c": {
        "body": [prose(2), prose(3)],
        "lang": "de",
        "date": "2026-01-03",
        "parts": [{"text": "inner"}, {"text": "x"}],
    },
    "short": {"body": "one two", "lang": "en", "date": "2026-01-04", "loose": {"any": [1, {"x": None}]}},
    "empty": {"body": "", "date": "2026-01-05"},
    "none": {"lang": "fr", "date": "2026-01-06"},
}
