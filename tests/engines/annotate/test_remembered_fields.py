"""An index remembers the fields that annotate was given: others are refused, and texts are read from them again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.written import changed, prose
from tests.engines.annotated import annotate, fill, neardup, owners, run, sources, write
from tests.engines.proxy import Handler, Proxy, refuse
from tests.engines.servers import Server

MAPPING: dict[str, Any] = {
    "_meta": {"owner": {"team": "search"}},
    "properties": {name: {"type": "text"} for name in ("title", "body", "url")},
}
DOCUMENTS = {
    "a": {"title": "The first", "body": prose(1), "url": "https://one.example/a"},
    "b": {"title": "The second", "body": changed(prose(1)), "url": "https://one.example/b"},
    "c": {"title": "The third", "body": changed(prose(1), 30), "url": "https://two.example/c"},
    "d": {"title": "Alone", "body": prose(2), "url": "Reuters"},
}


def remembered(server: Server, index: str) -> Any:
    return server.request("GET", f"/{index}/_mapping")[index]["mappings"]["_meta"]["neardup"].get("texts")


@pytest.mark.parametrize("aside", [False, True])
def test_others_than_the_fields_before_are_refused(server: Server, index_name: str, aside: bool) -> None:
    fill(server, index_name, DOCUMENTS, MAPPING)
    url, kept = f"{server.url}/{index_name}", f"{index_name}-aside" if aside else index_name
    to = ("--to", kept) if aside else ()
    assert "--field NAME" in run(url, *to, code=2).stderr
    run(url, "--field", "title", "--field", "body", "--dry-run", *to)
    assert "neardup" not in server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]["_meta"]
    assert annotate(url, "--field", "title", "--field", "body", *to)["annotated"] == 4
    of = index_name if aside else ""
    assert remembered(server, kept) == {of: {"fields": ["title", "body"], "format": "text"}}
    before = sources(server, kept)
    body = ["--field", "body"]
    for other in (body, [*body, "--field", "title"], [*body, "--format", "html"]):
        for flags in ([], ["--dry-run"]):
            refused = run(url, *other, *flags, *to, code=2).stderr
            assert "--field title --field body" in refused
            assert "--fields-changed" in refused
    assert sources(server, kept) == before
    # Without fields, those that are remembered.
    assert annotate(url, *to)["unchanged"] == 4
    # A wrong name is answered with the owner's, and a new source is no new text.
    assert "fields: body, title, url\n" in run(url, "--source-field", "link", *to, code=2).stderr
    counts = annotate(url, "--source-field", "url", "--all", *to)
    assert (counts["annotated"], counts["renewed"], counts["stale"], counts["missing"]) == (4, 4, 0, 0)
    assert annotate(url, "--field", "body", "--fields-changed", *to)["stale"] == 4
    assert remembered(server, kept)[of]["fields"] == ["body"]
    assert annotate(url, "--field", "body", *to)["unchanged"] == 4
    if not aside:
        meta = server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]["_meta"]
        assert meta["owner"] == {"team": "search"}
        assert neardup("setup", "--store", url, "--remove").returncode == 0
        assert server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]["_meta"] == MAPPING["_meta"]


@pytest.mark.parametrize("aside", [False, True])
def test_sources_and_titles_come_from_fields(server: Server, index_name: str, aside: bool) -> None:
    fill(server, index_name, DOCUMENTS, MAPPING)
    before = sources(server, index_name)
    url, to = f"{server.url}/{index_name}", ["--to", f"{index_name}-aside"] if aside else []
    store = url + ("-aside" if aside else "")
    prefix = f"{index_name}/" if aside else ""
    fields = ["--field", "body"]
    assert annotate(url, *fields, *to)["annotated"] == 4
    fields += ["--source-field", "url", "--title-field", "title"]
    assert annotate(url, *fields, *to)["annotated"] == 4
    assert annotate(url, *to)["unchanged"] == 4
    neardup("cluster", "--store", store)
    report = json.loads(neardup("report", "--store", store, "--format", "json", "-o", "-").stdout)
    assert {each["name"]: each["documents"] for each in report["by_source"]} == {
        "one.example": 2, "two.example": 1, "Reuters": 1
    }  # fmt: skip
    [cluster] = report["largest"]
    assert {each["title"] for each in cluster["members"]} == {"The first", "The second", "The third"}
    page = neardup("report", "--store", store, "-o", "-").stdout
    assert "can" not in page.partition("unreadable")[1]
    found = json.loads(neardup("diff", f"id:{prefix}a", f"id:{prefix}b", "--store", store, "--json").stdout)
    assert found["same"] > 50
    # Another title or source alone is taken up.
    write(server, index_name, "a", {**DOCUMENTS["a"], "title": "Renamed"}, refresh="true")
    if aside:
        assert annotate(url, *to)["annotated"] == 1
        shown = json.loads(neardup("show", f"{prefix}a", "--store", store, "--json").stdout)
        assert shown["title"] == "Renamed"
    else:
        assert annotate(url)["annotated"] == 1
        before[f"{index_name}/a"]["title"] = "Renamed"
        assert owners(sources(server, index_name)) == before


def test_a_source_is_never_taken_for_a_file_here(server: Server, index_name: str, tmp_path: Any) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("a b c d e f secret words of this machine")
    document = {"title": "t", "body": prose(1), "url": str(secret)}
    fill(server, index_name, {"a": document, "b": {**document, "body": prose(2)}}, MAPPING)
    url = f"{server.url}/{index_name}"
    annotate(url, "--field", "body", "--source-field", "url")
    server.request("POST", f"/{index_name}/_update/a?refresh=true", {"doc": {"body": None}})
    found = neardup("corpus", "--scheme", "i-match", "--from-store", "--store", url, "--json")
    counted = json.loads(found.stdout)
    assert (counted["documents"], counted["failed"]) == (1, 1)


def test_a_new_index_behind_a_name_is_as_the_others(server: Server, index_name: str) -> None:
    """And one beside two others with other fields each knows which are whose."""
    both = [f"{index_name}-1", f"{index_name}-2"]
    for index in both:
        fill(server, index, DOCUMENTS, MAPPING)
        server.request("POST", "/_aliases", {"actions": [{"add": {"index": index, "alias": f"{index}-alias"}}]})
    aside = f"{index_name}-aside"
    annotate(f"{server.url}/{both[0]}-alias", "--field", "body", "--to", aside)
    annotate(f"{server.url}/{both[1]}-alias", "--field", "title", "--field", "body", "--to", aside)
    assert len(remembered(server, aside)) == 2
    found = neardup(
        "corpus", "--scheme", "i-match", "--from-store", "--store", f"{server.url}/{aside}", "--json"
    )  # fmt: skip
    assert json.loads(found.stdout)["documents"] == 8


def test_a_filter_by_a_nested_field_is_refused_and_not_empty(server: Server, index_name: str) -> None:
    parts = {"type": "nested", "properties": {"text": {"type": "text"}}}
    mapping = {"properties": {**MAPPING["properties"], "parts": parts, "also": {**parts, "include_in_root": True}}}
    documents = {
        name: {**document, "parts": [{"text": "inner"}], "also": [{"text": "inner"}]}
        for name, document in DOCUMENTS.items()
    }
    fill(server, index_name, documents, mapping)
    url = f"{server.url}/{index_name}"
    annotate(url, "--field", "body")
    asked = ("similar", "--id", "a", "--store", url, "--json", "--filter")
    assert "parts.text lies in a nested object" in neardup(*asked, "parts.text:inner", code=2).stderr
    assert json.loads(neardup(*asked, "also.text:inner").stdout)["total"] == 2
    # What was checked: without the refusal the answer would be empty.
    found = server.request("POST", f"/{index_name}/_search", {"query": {"query_string": {"query": "parts.text:inner"}}})
    assert found["hits"]["hits"] == []


@pytest.mark.parametrize("flags", [["--scheme", "spotsigs"], ["--scheme", "i-match"], ["--scheme", "nonsense"]])
def test_a_scheme_that_can_not_be_added_leaves_no_field(server: Server, index_name: str, flags: list[str]) -> None:
    """The mapping has room for what a first annotate adds, and not for the scheme too."""
    fill(server, index_name, DOCUMENTS, MAPPING)
    url = f"{server.url}/{index_name}"

    def limited(count: int) -> None:
        server.request("PUT", f"/{index_name}/_settings", {"index.mapping.total_fields.limit": count})

    limited(5)
    said = run(url, "--field", "body", code=2).stderr
    have, adds = (int(word) for word in said.replace(",", " ").split() if word.isdigit() and word != "5")
    limited(have + adds)
    before = server.request("GET", f"/{index_name}/_mapping")
    for more in (["--dry-run"], []):
        assert run(url, "--field", "body", *flags, *more, code=2).stderr
        assert server.request("GET", f"/{index_name}/_mapping") == before
    assert annotate(url, "--field", "body")["annotated"] == 4


def no_mapping(handler: Handler, body: bytes) -> bool:
    """The user may write documents and change no mapping."""
    return handler.command == "PUT" and "_mapping" in handler.path and refuse(403)(handler, body)


def test_an_owner_who_lets_nobody_change_the_mapping_is_obeyed(server: Server, index_name: str) -> None:
    fill(server, index_name, DOCUMENTS, MAPPING)
    url = f"{server.url}/{index_name}"
    neardup("setup", "--store", url)
    between = Proxy(server.url)
    between.always = no_mapping
    try:
        done = run(f"{between.url}/{index_name}", "--field", "body")
    finally:
        between.close()
    assert "does not remember the fields; name them with --field" in done.stderr
    assert remembered(server, index_name) is None
    assert "name them with --field" in neardup("diff", "id:a", "id:b", "--store", url, code=6).stderr
    assert annotate(url, "--field", "body")["unchanged"] == 4
    assert remembered(server, index_name) == {"": {"fields": ["body"], "format": "text"}}
    assert json.loads(neardup("diff", "id:a", "id:b", "--store", url, "--json").stdout)["same"] > 50
