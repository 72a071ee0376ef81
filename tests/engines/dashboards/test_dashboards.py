"""What the panels ask is answered by real engines, and says what `neardup report` says."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from indexer.clustering.annotations import repeated_by, stored_clusters
from indexer.library.opening import open_store
from indexer.model import Record, size_class
from indexer.model.origins import origin_of
from indexer.relations.relation import WORDS, verdict_of
from tests.cli.written import prose
from tests.engines import annotated, downloads
from tests.engines.dashboards.dashboard_library import PLACES, SIZES, copied, failures, fill, records
from tests.engines.dashboards.dashboard_requests import DATES, Panels, counts
from tests.engines.servers import Server
from tests.stores.made import INFO

NAME = "library-of-dashboards"
# The versions of the lines that Kibana 8 and 9 and OpenSearch Dashboards 2.6 and later have.
VEGA = ("vega@5.33.1", "vega-lite@5.23.0")


class Library(Panels):
    """The panels over a filled index, and what the report says of it."""

    report: dict[str, Any]
    url: str


@pytest.fixture(scope="module")
def library(server: Server) -> Iterator[Library]:
    found = Library(server, NAME)
    found.url = f"{server.url}/{NAME}"
    with open_store(found.url, create=INFO) as store:
        fill(store)
    give_dates(server)
    command = [sys.executable, "-m", "indexer", "report", "--store", found.url, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found.report = json.loads(done.stdout)
    yield found
    server.request("DELETE", f"/{NAME},neardup-{NAME}-clusters,neardup-{NAME}-failures,neardup-{NAME}-passages")


def give_dates(server: Server) -> None:
    """Give each document a date of its owner's, which is another one than that of indexing; one document is new."""
    server.request("PUT", f"/{NAME}/_mapping", {"properties": {DATES: {"type": "date"}}})
    lines: list[dict[str, Any]] = []
    for each in records():
        lines += [{"update": {"_id": each.ref.id}}, {"doc": {DATES: published(each)}}]
    assert not server.request("POST", f"/{NAME}/_bulk?refresh=true", lines=lines)["errors"]
    server.request("PUT", f"/{NAME}/_doc/unread?refresh=true", {DATES: "2026-01-01"})


def published(record: Record) -> str:
    """The owner's date of a document."""
    return f"{int(record.indexed_at[:4]) - 1}{record.indexed_at[4:10]}"


def test_the_collection_has_something_of_everything(library: Library) -> None:
    report = library.report
    assert report["clusters"] == sum(count for size, count in SIZES.items() if size > 1)
    assert report["largest"][0]["size"] == max(SIZES)
    assert len(report["by_format"]) == 4
    assert len(report["by_source"]) == 7
    assert len(report["by_time"]) > 12
    assert len(report["similarities"]) > 3


def test_every_panel_is_answered_and_not_empty(library: Library) -> None:
    names = library.names()
    assert len(names) == 31
    for name in names:
        assert library.ask(name)["hits"]["total"]["value"] > 0, name


def ranges(answer: dict[str, Any]) -> dict[float, int]:
    """Documents by the lower end of each range that has some."""
    return {
        round(each["from"], 2): each["doc_count"]
        for each in answer["aggregations"]["2"]["buckets"]
        if each["doc_count"]
    }


def metrics(answer: dict[str, Any]) -> tuple[int, float]:
    """Documents, and the one number beside."""
    return answer["hits"]["total"]["value"], answer["aggregations"]["2"]["value"]


def test_the_numbers_at_the_top(library: Library) -> None:
    report = library.report
    assert metrics(library.ask("documents-metric")) == (report["documents"], report["bytes"])
    assert metrics(library.ask("clusters-metric")) == (report["clusters"], report["largest"][0]["size"])
    assert metrics(library.ask("redundant-metric")) == (report["could_go"]["documents"], report["could_go"]["bytes"])
    [part] = library.ask("share")["aggregations"]["parts"]["buckets"]
    assert (part["doc_count"], part["going"]["doc_count"]) == (report["documents"], report["could_go"]["documents"])


def test_clusters_by_size(library: Library) -> None:
    buckets = library.ask("sizes")["aggregations"]["parts"]["buckets"]
    found = {
        int(each["from"]): (each["doc_count"], each["documents"]["value"]) for each in buckets if each["doc_count"]
    }
    known = {each["low"]: (each["clusters"], each["documents"]) for each in library.report["cluster_sizes"]}
    assert found == {low: pair for low, pair in known.items() if pair[0]}


def test_similarities(library: Library) -> None:
    known: Counter[float] = Counter()
    for each in library.report["similarities"]:
        known[round(int(each["least"] * 20 + 1e-6) / 20, 2)] += each["documents"]
    assert ranges(library.ask("similarities")) == known


def test_a_click_leaves_what_the_bar_stands_for(library: Library) -> None:
    bars = {name: library.buckets(name) for name in library.names()}
    assert sum(map(bool, bars.values())) == 16
    for name, found in bars.items():
        for clicks, count in found:
            assert library.left_by(name, clicks) == count, (name, clicks)


@pytest.mark.parametrize(
    "panel", ["relations", "similarities", "whom", "going", "going-bytes", "origins", "clusters-here"]
)
def test_a_click_leaves_the_clusters_of_the_documents_it_leaves(library: Library, panel: str) -> None:
    """By documents the clusters of those left, and by the documents of clusters the same, and maybe more.

    A field of a cluster has what all its members have: two fields that are asked for may be those of two members.
    """
    clicks = library.buckets(panel)
    assert len(clicks) > 3
    for asked, count in clicks:
        index, body = library.request("clusters-here", {})
        body["query"]["bool"]["filter"].append(asked)
        [terms] = [each for each in body["aggs"].values() if "terms" in each]
        terms["terms"]["size"] = 10_000
        [table] = [
            each["buckets"]
            for each in library.server.request("POST", f"/{index}/_search", body)["aggregations"].values()
            if "buckets" in each
        ]
        by_documents = {each["key"] for each in table}
        by_clusters = library.ids_left("largest", asked)
        assert by_documents <= by_clusters, (panel, asked)
        parts = asked["bool"]["filter"]
        if len(parts) == 1:
            assert by_documents == by_clusters, (panel, asked)
        assert count == 0 or by_documents or not library.left_by("members", asked)


def test_a_click_on_a_relation_leaves_its_clusters(library: Library) -> None:
    with open_store(library.url, read_only=True) as store:
        known = {
            word: {each.id for each in stored_clusters(store, least=2) if word in each.relations} for word in WORDS
        }
    for word, ids in known.items():
        asked = {"bool": {"filter": [{"match_phrase": {"neardup.cluster.relation": word}}]}}
        assert library.ids_left("largest", asked) == ids != set()


def test_a_relation_that_nobody_read_is_unknown_and_can_be_clicked(server: Server, index_name: str) -> None:
    url, panels = f"{server.url}/{index_name}", Panels(server, index_name)
    text = prose(1)
    bodies = {"first": text, "same": text, "edit": f"{text} One more sentence stands here.", "other": prose(2)}
    annotated.fill(server, index_name, {name: {"body": body} for name, body in bodies.items()})
    annotated.annotate(url, "--field", "body")
    for flag in ("--no-relation", "--relation"):
        annotated.neardup("cluster", "--store", url, flag)
        with open_store(url, read_only=True) as store:
            known = store.stats().relations
            assert (known["identical"], len(known), "" in known) == (1, 2, flag == "--no-relation")
            [cluster] = store.clusters()
            assert dict(cluster.relations) == known
            noted = [fields["cluster"].get("relation") for _, fields in store.scan_annotations(clustered=True)]
        assert Counter(noted) == Counter([None, *(word or None for word in known)])
        bars = panels.buckets("relations")
        assert len(bars) == len(known)
        for asked, count in bars:
            assert (panels.left_by("members", asked), len(panels.ids_left("largest", asked))) == (count, 1)


def test_clusters_and_documents_say_the_same(library: Library) -> None:
    hits = library.server.request("POST", f"/{NAME}/_search", {"size": 10_000, "_source": ["neardup"]})["hits"]["hits"]
    of_documents: dict[str, list[dict[str, Any]]] = {}
    sources = {hit["_id"]: hit["_source"]["neardup"] for hit in hits if "neardup" in hit["_source"]}
    for fields in sources.values():
        cluster = {name: value for name, value in fields["cluster"].items() if value is not None}
        repeats = cluster.get("repeats")
        assert cluster["verdict"] == verdict_of(cluster.get("relation", "") if repeats else None)
        assert cluster.get("repeats_origin") == (sources[repeats]["origin"] if repeats else None)
        of_documents.setdefault(cluster["id"], []).append(cluster)
    clusters = [hit["_source"]["neardup"]["cluster"] for hit in library.ask("largest")["hits"]["hits"]]
    assert len(clusters) > 100
    for each in clusters:
        members = of_documents[each["id"]]
        for name in ("verdict", "relation", "repeats_origin"):
            assert each[name] == sorted({member[name] for member in members if name in member}), name
        shares = {member["repeats_similarity"] for member in members if "repeats" in member}
        assert each["repeats_similarity"] == sorted({int(share * 20 + 1e-6) / 20 for share in shares})


def test_who_repeats_whom(library: Library) -> None:
    with open_store(library.url, read_only=True) as store:
        known: Counter[tuple[str, str]] = Counter()
        there = {record.ref: origin_of(record.source) for record in store.scan(sketches=False)}
        for ref, fields in store.scan_annotations(clustered=True):
            if other := repeated_by(ref, fields):
                known[there[ref], there[other]] += 1
    found = counts(library.ask("whom"))
    assert {(one, other): count for one, each in found.items() for other, count in each.items()} == known
    assert sum(known.values()) == sum(each["documents"] for each in library.report["relations"])
    going = counts(library.ask("going"))
    assert sum(sum(each.values()) for each in going.values()) == library.report["could_go"]["documents"]
    size = sum(each["1"]["value"] for each in library.ask("going-bytes")["aggregations"]["2"]["buckets"])
    assert size == library.report["could_go"]["bytes"]


def test_relations(library: Library) -> None:
    known = {each["relation"]: each["documents"] for each in library.report["relations"]}
    assert counts(library.ask("relations")) == {word: {verdict_of(word): count} for word, count in known.items()}


def test_documents_by_source(library: Library) -> None:
    found = counts(library.ask("origins"))
    shares = {name: (sum(each.values()), each.get("could go", 0)) for name, each in found.items()}
    assert shares == {each["name"]: (each["documents"], each["could_go"]) for each in library.report["by_source"]}


def test_documents_over_time_go_by_the_owners_date(library: Library) -> None:
    made = {each.ref: published(each) for each in records()}
    known: dict[str, Counter[str]] = {}
    with open_store(library.url, read_only=True) as store:
        for ref, fields in store.scan_annotations():
            day = date.fromisoformat(made[ref])
            cluster = fields.get("cluster", {})
            verdict = verdict_of(cluster.get("relation", "") if "repeats" in cluster else None)
            known.setdefault((day - timedelta(days=day.weekday())).isoformat(), Counter())[verdict] += 1
    assert {week[:10]: parts for week, parts in counts(library.ask("times")).items()} == known
    assert sum(each["could go"] for each in known.values()) == library.report["could_go"]["documents"]


def test_the_largest_clusters_come_first_with_their_canonical_document(library: Library) -> None:
    hits = [hit["_source"] for hit in library.ask("largest")["hits"]["hits"]]
    known = {each["id"]: each for each in library.report["largest"]}
    with open_store(library.url, read_only=True) as store:
        removable = {
            each.id: sum(verdict_of(word) == "could go" for word in each.relations)
            for each in stored_clusters(store, least=2)
        }
    order = [(hit["redundant"], hit["size"]) for hit in hits]
    assert order == sorted(order, reverse=True)
    assert {hit["id"]: hit["size"] for hit in hits} == {name: each["size"] for name, each in known.items()}
    for hit in hits:
        assert hit["canonical"]["id"] == known[hit["id"]]["members"][0]["id"]
        assert hit.get("title", "") == known[hit["id"]]["members"][0]["title"]
        assert hit["least_similarity"] == known[hit["id"]]["least_similarity"]
        assert hit["redundant"] == removable[hit["id"]]
        assert hit["origins"] == len(set(hit["neardup"]["origin"]))
    assert sum(hit["redundant"] for hit in hits) == library.report["could_go"]["documents"]
    assert sum(hit["redundant_octets"] for hit in hits) == library.report["could_go"]["bytes"]


def test_the_members_of_a_cluster(library: Library) -> None:
    with open_store(library.url, read_only=True) as store:
        cluster = max(stored_clusters(store), key=lambda each: len(each.members))
    index, body = library.request("members", {})
    body["query"]["bool"]["filter"].append({"match_phrase": {"neardup.cluster.id": cluster.id}})
    hits = library.server.request("POST", f"/{index}/_search", body)["hits"]["hits"]
    assert {hit["_id"] for hit in hits} == {ref.id for ref in cluster.members}
    assert hits[0]["_id"] == cluster.canonical.id
    said = [hit["_source"]["neardup"]["cluster"] for hit in hits]
    verdicts = [each["verdict"] for each in said]
    assert verdicts == sorted(verdicts, reverse=True)
    assert len(set(verdicts)) == 3
    shares = [each["repeats_similarity"] for each in said if each["verdict"] == "could go"]
    assert shares == sorted(shares, reverse=True)
    assert all(hit["_source"]["neardup"]["cluster"]["size_class"] == "over 100" for hit in hits)


def test_a_control_narrows_documents_and_clusters(library: Library) -> None:
    [html_part] = [each for each in library.report["by_format"] if each["name"] == "html"]
    assert metrics(library.ask("documents-metric", format="html")) == (html_part["documents"], html_part["bytes"])
    redundant = (html_part["could_go"], html_part["could_go_bytes"])
    assert metrics(library.ask("redundant-metric", format="html")) == redundant
    with open_store(library.url, read_only=True) as store:
        by_format = sum(
            any(record and record.format == "html" for record in store.get(each.members))
            for each in stored_clusters(store, least=2)
        )
    assert metrics(library.ask("clusters-metric", format="html"))[0] == by_format
    [place] = [each for each in library.report["by_source"] if each["name"] == "archive/2024/reports"]
    assert metrics(library.ask("documents-metric", origin=place["name"]))[0] == place["documents"]
    classes: Counter[str] = Counter()
    for size, count in SIZES.items():
        classes[size_class(size)] += count
    for name in ("2", "3-5", "6-10", "11-100", "over 100"):
        inside = [size for size in SIZES if size_class(size) == name]
        documents = sum(size * SIZES[size] for size in inside)
        assert metrics(library.ask("clusters-metric", size_class=name)) == (classes[name], max(inside))
        assert library.ask("documents-metric", size_class=name)["hits"]["total"]["value"] == documents
        assert library.ask("members", size_class=name)["hits"]["total"]["value"] == documents


def test_the_health_of_ingestion(library: Library) -> None:
    made, broken, report = records(), failures(), library.report
    parts = library.ask("health-metric")["aggregations"]["2"]["buckets"]
    assert {label: each["doc_count"] for label, each in parts.items()} == {
        "indexed": report["documents"],
        "short": report["short"],
        "without text": report["documents"] - report["fingerprinted"],
        "in no cluster": report["documents"] - report["in_clusters"],
    }
    [unread] = library.ask("unannotated")["aggregations"]["parts"]["buckets"]
    assert unread["doc_count"] == 1
    assert library.ask("failures-metric")["hits"]["total"]["value"] == len(broken)
    assert counts(library.ask("reasons")) == Counter(each.reason for each in broken)
    failing = counts(library.ask("failing"))
    assert {month[:7]: sum(each.values()) for month, each in failing.items()} == Counter(
        each.failed_at[:7] for each in broken
    )
    assert {month[:7]: parts for month, parts in counts(library.ask("rate")).items()} == {
        each["name"]: Counter(record.format for record in made if record.indexed_at.startswith(each["name"]))
        for each in report["by_time"]
    }
    extractors = counts(library.ask("extractors"))
    assert {name: sum(each.values()) for name, each in extractors.items()} == Counter(each.extractor for each in made)
    assert sum(each["without text"] for each in extractors.values()) == report["documents"] - report["fingerprinted"]
    thin = counts(library.ask("thin"))
    assert sum(each["short"] for each in thin.values()) == report["short"]
    latest = [hit["_source"]["failed_at"] for hit in library.ask("latest-failures")["hits"]["hits"]]
    assert latest == sorted((each.failed_at for each in broken), reverse=True)


def test_what_is_copied_in_part(library: Library) -> None:
    of = {kind: [row for row in copied() if row.kind == kind] for kind in ("passage", "document", "origins")}
    boilerplate = sum(row.numbers["boilerplate"] for row in of["passage"])
    parts = library.ask("passages-metric")["aggregations"]["2"]["buckets"]
    assert {label: each["doc_count"] for label, each in parts.items()} == {
        "copied": len(of["passage"]) - boilerplate,
        "boilerplate": boilerplate,
    }
    asked = library.ask("copied-metric")
    assert asked["hits"]["total"]["value"] == len(of["document"])
    for number, name in (("2", "words"), ("3", "in_passages")):
        assert asked["aggregations"][number]["value"] == sum(row.numbers[name] for row in of["document"])
    shares = Counter(round(int(row.numbers["share"] * 10 + 1e-6) / 10, 2) for row in of["document"])
    assert ranges(library.ask("copied-shares")) == shares
    for panel, kind, names in (
        ("passages-list", "passage", ("documents", "words")),
        ("copied-origins", "origins", ("words",)),
        ("copied-documents", "document", ("share", "words")),
    ):
        hits = library.ask(panel)["hits"]["hits"]
        assert [hit["_id"] for hit in hits] == [
            row.id for row in sorted(of[kind], key=lambda row: [-row.numbers[name] for name in names])
        ]


def test_a_source_narrows_what_is_copied(library: Library) -> None:
    kinds = {"passages-list": "passage", "copied-documents": "document", "copied-origins": "origins"}
    for place in sorted({origin_of(each) for each in PLACES}):
        there = [row for row in copied() if place in row.origins]
        for panel, kind in kinds.items():
            hits = library.ask(panel, origin=place)["hits"]["hits"]
            assert {hit["_id"] for hit in hits} == {row.id for row in there if row.kind == kind}
        [part] = library.ask("copied-of-all", origin=place)["aggregations"]["parts"]["buckets"]
        [known] = [row.numbers for row in there if row.kind == "origin"]
        for name in ("words", "in_passages"):
            assert part[name]["value"] == known[name]


# Drawn by a browser


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Vega and Vega-Lite as one script each, from the registry, kept for the next time."""
    found = []
    for package in VEGA:
        name = package.partition("@")[0]
        kept = downloads.CACHE / f"{package.replace('@', '-')}.min.js"
        if not kept.is_file():
            folder = tmp_path_factory.mktemp(name)
            npm = shutil.which("npm")
            command = [npm or "npm", "pack", package, "--pack-destination", str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120) if npm else None
            if done is None or done.returncode:
                pytest.skip(f"NEEDS {package}: no npm, or it can't be fetched; the Vega panels were not drawn")
            with tarfile.open(next(folder.glob("*.tgz"))) as opened:
                member = opened.extractfile(f"package/build/{name}.min.js")
                assert member
                kept.parent.mkdir(parents=True, exist_ok=True)
                part = kept.with_suffix(f".{folder.name}")
                part.write_bytes(member.read())
                part.replace(kept)
        found.append(kept.read_text("utf-8").replace("</script", "<\\/script"))
    return found


DRAW = """
const told = [];
const tell = (...each) => { told.push(each.join(" ")); return logger; };
const quiet = () => logger;
const logger = {warn: tell, error: tell, info: quiet, debug: quiet, level: quiet};
const compiled = vegaLite.compile(SPEC, {logger}).spec;
new vega.View(vega.parse(compiled), {renderer: "none", logger}).runAsync().then((view) => view.toSVG()).then((svg) => {
  document.getElementById("drawn").innerHTML = svg;
  document.title = "drawn";
  document.getElementById("told").textContent = told.join("; ");
});
"""


def drawn(library: Library, panel: str, scripts: list[str], folder: Path) -> str:
    """The SVG that a browser makes of a panel and the engine's answer; nothing may be warned of."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("NEEDS CHROMIUM: no browser on the path; the Vega panels were not drawn")
    specification = json.loads(json.loads(library.find(panel)["attributes"]["visState"])["params"]["spec"])
    size = {"width": 400, "height": 200, "autosize": {"type": "fit", "contains": "padding"}}
    data = {"values": library.ask(panel), "format": specification["data"]["format"]}
    spec = json.dumps({**specification, "data": data, **size}).replace("</", "<\\/")
    page = folder / "page.html"
    loaded = "".join(f"<script>{each}</script>" for each in scripts)
    body = f"<div id=drawn></div><div id=told>?</div>{loaded}<script>{DRAW.replace('SPEC', spec, 1)}</script>"
    page.write_text(f"<!doctype html><meta charset=utf-8><title>not yet</title>{body}", "utf-8")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync")
    quiet = ("--disable-background-networking", "--disable-component-update", "--virtual-time-budget=5000")
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [browser, *flags, *quiet, profile, "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = re.search("<div id=.drawn.>(.*)</div><div id=.told.>(.*?)</div>", done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    assert "<title>drawn</title>" in done.stdout
    assert not found[2]
    return found[1]


def test_the_shares_are_drawn(library: Library, scripts: list[str], tmp_path: Path) -> None:
    picture = drawn(library, "share", scripts, tmp_path)
    assert f">{library.report['could_go']['share']:.1%}<" in picture
    rows = [row.numbers for row in copied() if row.kind == "origin"]
    share = sum(row["in_passages"] for row in rows) / sum(row["words"] for row in rows)
    assert f">{share:.1%}<" in drawn(library, "copied-of-all", scripts, tmp_path)


def test_the_sizes_are_drawn(library: Library, scripts: list[str], tmp_path: Path) -> None:
    picture = drawn(library, "sizes", scripts, tmp_path)
    labels = re.findall(r'aria-label="members: ([^;"]*); clusters: (\d+); documents: ([\d,]+)"', html.unescape(picture))
    known = [each for each in library.report["cluster_sizes"] if each["clusters"]]
    found = [(int(clusters), int(documents.replace(",", ""))) for _, clusters, documents in labels]
    assert found == [(each["clusters"], each["documents"]) for each in known]
    assert [name.replace(",", "").split(" ")[0] for name, _, _ in labels] == [str(each["low"]) for each in known]
