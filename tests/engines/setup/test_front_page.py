"""README's first screen on a real engine: the search before and after, the commands, and what it promises an owner."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.engines.servers import Server
from tests.pages import README, blocks, section
from tests.warm import run_script

REPORT = (
    "The old harbour bridge will close to all traffic on the first of March and stay closed for two years, the port "
    "authority said on Tuesday. Engineers who examined the bridge in the autumn found cracks in nine of its forty "
    "main girders. Until the work is done, cars and lorries have to take the tunnel at Westerhaven, which adds twenty "
    "minutes to a journey between the two halves of the town. A ferry for people on foot and on bicycles will cross "
    "the harbour every quarter of an hour between six in the morning and midnight, free of charge. Shopkeepers on the "
    "southern quay fear for their trade and demand that the authority pay for what they lose. The mayor promised a "
    "meeting with them before the end of the month. The bridge was opened in 1931 and last repaired forty years ago."
)
# The same report as eight sites printed it, each in its own frame: title, site, text.
COPIES = [
    ("Old harbour bridge to close for two years", "agency.example", "From our harbour desk\n\n" + REPORT),
    ("Harbour bridge: closed until 2026", "morning.example", f"By Ada Kent\n\n{REPORT}\n\nShare this article"),
    ("Cracks in harbour bridge", "coast.example", "Coast and harbour\n\n" + REPORT),
    ("Two years without the bridge", "evening.example", "By our correspondent\n\n" + REPORT),
    ("Bridge shut for repairs", "radio.example", "WESTERHAVEN (agency) - " + REPORT),
    ("Harbour bridge to close", "portal.example", f"Local news\n\n{REPORT}\n\nRead more: ferries, tunnel, tolls"),
    ("Old bridge closes in March", "weekly.example", "The week in town\n\n" + REPORT),
    ("Tunnel the only way across", "traffic.example", f"Traffic\n\n{REPORT}\n\nPrint this page"),
]
OTHERS = [
    (
        "A bridge and its builder",
        "history.example",
        "When the harbour bridge was opened in 1931, its builder did not come. He had quarrelled with the council "
        "over the colour of the rails, and spent the day fishing in a boat below, from where, his daughter told us, "
        "he saw more of the bridge than all the guests together. Her house is full of drawings that show what the "
        "harbour might have looked like, had he been given the money for a second arch.",
    ),
    (
        "Letter: keep the bridge open at night",
        "letters.example",
        "Sir, nobody needs the harbour bridge by day, when the tunnel is near and buses run. It is the nurses and "
        "bakers of the northern side who cross it at four in the morning. Let the engineers work while the sun "
        "shines, and give us half of a lane when it is dark. I have written to the port authority three times about "
        "this and had one answer, which concerned a different bridge.",
    ),
    (
        "Ferry timetable",
        "ferries.example",
        "From the first of March two ferries cross the harbour while the bridge is under repair. The Anna leaves the "
        "northern pier on the hour and at half past, the Maria a quarter later. Dogs travel with their owners, cargo "
        "bicycles pay nothing before nine. In storms both boats stay in port, and a bus through the tunnel takes "
        "their place; a sign at the pier says so, as does the telephone number printed below.",
    ),
    (
        "Peregrines nest on the bridge",
        "nature.example",
        "For the third spring a pair of falcons has settled on the western tower of the harbour bridge. Volunteers "
        "who watch them from the quay counted four eggs last week. The birds hunt pigeons above the market and "
        "starlings over the marsh, and are not disturbed by lorries. What hammers will do nobody knows; the nest "
        "could be moved to the church, says the warden, but only after the young have flown.",
    ),
]
QUERY = {
    "query": {"multi_match": {"query": "harbour bridge closed", "fields": ["title", "body"], "type": "most_fields"}},
    "sort": ["_score", {"site": "asc"}],
}
COLLAPSED = {**QUERY, "collapse": {"field": "neardup.cluster.work_id", "inner_hits": {"name": "copies", "size": 0}}}
HOST = "https://host:9200/news"


def shown(answer: dict[str, Any]) -> str:
    """The hits as README prints them."""
    lines = []
    for place, hit in enumerate(answer["hits"]["hits"], 1):
        copies = hit["inner_hits"]["copies"]["hits"]["total"]["value"] - 1 if "inner_hits" in hit else 0
        site = hit["_source"]["site"].removesuffix(".example")
        lines += [f"{place:>2}  {site:<9}{hit['_source']['title']}", *([f"{'':13}+{copies} copies"] if copies else [])]
    return "\n".join(lines) + "\n"


@pytest.fixture
def news(server: Server, index_name: str) -> str:
    """The URL of an index with the twelve documents, by their owner's mapping."""
    fields = {"title": {"type": "text"}, "body": {"type": "text"}, "site": {"type": "keyword"}}
    server.request("PUT", f"/{index_name}", {"mappings": {"properties": fields}})
    for number, (title, site, body) in enumerate([*COPIES, *OTHERS]):
        document = {"title": title, "site": site, "body": body}
        server.request("PUT", f"/{index_name}/_doc/{number}?refresh=true", document)
    return f"{server.url}/{index_name}"


def everything(server: Server, index: str) -> dict[str, dict[str, Any]]:
    """Every document of an index, without what neardup wrote."""
    hits = server.request("POST", f"/{index}/_search?size=100", {"query": {"match_all": {}}})["hits"]["hits"]
    return {hit["_id"]: {name: value for name, value in hit["_source"].items() if name != "neardup"} for hit in hits}


def test_the_first_screen(server: Server, index_name: str, news: str, tmp_path: Path) -> None:
    top = README.read_text("utf-8").split("\n## ")[0] + section(README, "On an index you have")
    before, after = re.findall(r"^```text\n(.*?)^```$", top, re.MULTILINE | re.DOTALL)[:2]
    commands = next(block for block in blocks(README, "sh") if HOST in block)
    untouched = everything(server, index_name)
    settings = server.request("GET", f"/{index_name}/_settings")

    first = server.request("POST", f"/{index_name}/_search", QUERY)
    assert shown(first) == before
    titles = {title for title, _, _ in COPIES}
    assert sum(hit["_source"]["title"] in titles for hit in first["hits"]["hits"]) == 8

    run_script(commands.replace(HOST, news), tmp_path)
    assert "<html" in (tmp_path / "report.html").read_text("utf-8")
    assert shown(server.request("POST", f"/{index_name}/_search", COLLAPSED)) == after

    # Below one field and beside the index, nothing else; and what removal leaves.
    assert everything(server, index_name) == untouched
    assert server.request("GET", f"/{index_name}/_settings") == settings
    assert list(server.request("GET", f"/{index_name}*/_settings")) == [index_name]
    assert server.request("GET", f"/neardup-{index_name}-*/_settings")
    run_script(f"neardup setup --remove --yes --store {news}", tmp_path)
    server.request("POST", f"/{index_name}/_refresh")
    hits = server.request("POST", f"/{index_name}/_search?size=100", {})["hits"]["hits"]
    assert {hit["_id"]: {key: hit["_source"][key] for key in ("title", "site", "body")} for hit in hits} == untouched
    assert not any(hit["_source"].get("neardup") for hit in hits)
    assert "neardup" in server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]["properties"]
