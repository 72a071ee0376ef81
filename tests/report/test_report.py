"""The report's figures against a store whose duplicates are known, and its page against hostile documents."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import indexer
from indexer import open_store
from indexer.clustering.clusters import cluster
from indexer.clustering.common_passages import ClusterOnPassages, RepeatedPassage
from indexer.errors import UsageError
from indexer.ingest.indexing import store_info
from indexer.model import DECLARED, Failure, Record, Ref
from indexer.report.contents import (
    ReportContents,
    ShownCluster,
    ShownMember,
    build_report,
    report_csv,
    report_json,
    report_markdown,
)
from indexer.report.figures import Amount, NamedShare
from indexer.report.html import report_html
from indexer.report.limits import ReportLimits
from indexer.report.passages import OriginTable, ShownPassages, ShownResting
from indexer.stores import Store
from tests.cli.command import write
from tests.cli.written import prose
from tests.report.reported import HOSTILE, ONE_BIT, RULE, TWO_BITS, after_loading, known, record, store

__all__ = ["store"]

TEN_MB = 10_000_000


def test_figures_of_known_duplicates(store: Store) -> None:
    figures = build_report(store, "known").figures
    assert (figures.documents, figures.repeating.documents, figures.repeating.share) == (8, 3, 0.375)
    # Their texts were never there.
    assert figures.undecided == figures.repeating
    assert (figures.fingerprinted, figures.short, figures.unclustered) == (7, 1, 0)
    assert (figures.clusters, figures.in_clusters) == (2, 5)
    assert figures.spanning == 1
    # d3 is the earliest of its three, so the others are measured from it.
    assert [(step.label, step.least, step.documents) for step in figures.similarities] == [
        ("0", 1.0, 1),
        ("1", ONE_BIT, 1),
        ("2", TWO_BITS, 1),
    ]
    assert figures.rule == RULE.written(whole=True)
    assert [(size.label, size.clusters, size.documents) for size in figures.cluster_sizes] == [("2", 1, 2), ("3", 1, 3)]
    assert {share.name: (share.documents, share.repeating) for share in figures.by_format} == {
        "html": (7, 2),
        "pdf": (1, 1),
    }
    assert {share.name: (share.documents, share.repeating) for share in figures.by_source} == {
        "/data/a": (5, 1),
        "/data/b": (2, 1),
        "host.example": (1, 1),
    }
    assert [share.name for share in figures.by_time] == ["2026-01-05T00", "2026-02-05T00", "2026-03-05T00"]
    for shares in (figures.by_format, figures.by_source, figures.by_time):
        assert sum(share.documents for share in shares) == 8
        assert sum(share.could_go_bytes for share in shares) == figures.could_go.bytes


def test_clusters_that_are_not_shown_are_counted(store: Store) -> None:
    report = build_report(store, "known", ReportLimits(clusters=0, pairs=0, sample=9))
    assert (report.figures.clusters, report.figures.repeating.documents, report.clusters) == (2, 3, ())
    assert report.sample
    assert report.sample.documents == 3


def test_largest_clusters_come_first(store: Store) -> None:
    clusters = build_report(store, "known", ReportLimits(clusters=1, members=2)).clusters
    assert [(each.size, len(each.members), each.least) for each in clusters] == [(3, 2, TWO_BITS)]
    assert [(each.record.ref.id, each.similarity) for each in clusters[0].members] == [("d3", 1.0), ("d2", ONE_BIT)]


def test_what_repeats_comes_first_then_what_was_not_compared(store: Store, tmp_path: Path) -> None:
    torn = [Failure(Ref(f"f{n}"), f"/scans/{HOSTILE}{n}.pdf", "malformed", "torn", "") for n in range(30)]
    store.put_failures([*torn, Failure(Ref("again"), "/copies/again.html", "duplicate", "of d1", "")])
    list(store.put([record(n, n, source=f"/scans/{n}.pdf", short=n > 21) for n in range(20, 24)]))
    list(store.put([replace(record(n, 0), sketches={}) for n in range(30, 32)]))
    report = build_report(store, "known")
    counts = {each.reason: (each.documents, len(each.names)) for each in report.figures.left_out}
    assert counts == {"malformed": (30, 20), "no-text": (3, 3), "too-short": (3, 3), "duplicate": (1, 1)}
    assert report.figures.not_compared == 36
    page = report_html(report, "1")
    shown = dict(re.findall(r"<div><dt>(.*?)</dt><dd>(.*?)</dd></div>", page, re.DOTALL))
    assert list(shown)[:6] == [
        "Repeat another document",
        "Could go without loss",
        "Same work, in another format or frame",
        "Differ: forms, reworded, corrected",
        "Not decided: no text could be read",
        "Not compared",
    ]
    assert re.sub("<[^>]+>", "", shown["Not compared"]) == "3630 malformed, 3 too-short, 3 no-text"
    assert re.sub("<[^>]+>", "", shown["Repeat another document"]).startswith("21.4%3 of 14 documents, ")
    assert page.index('id="left-out"') < page.index('id="where"')
    assert "and 10 more" in page
    assert "/copies/again.html" in page
    assert "<img" not in page
    value = json.loads(report_json(report))
    assert value["not_compared"] == 36
    assert value["left_out"][-1] == {"reason": "duplicate", "documents": 1, "names": ["/copies/again.html"]}
    assert "Not compared: 36 documents." in report_markdown(report)
    assert "left_out,malformed,documents,30" in report_csv(report)


def test_time_by_a_field_of_the_metadata(store: Store) -> None:
    by_time = build_report(store, "known", ReportLimits(time_field="published")).figures.by_time
    assert {share.name: share.documents for share in by_time} == {"1999-12-31": 1, "unknown": 7}


def test_time_by_the_dates_of_documents_mails_and_files(store: Store, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    os.utime(tmp_path / "a.txt", (10**9, 10**9))
    dated = [
        record(1, 1, source=str(tmp_path / "a.txt")),
        record(2, 2, source=str(tmp_path / "a.txt"), metadata={"date": "2011-05-06T07:08:09Z"}),
        record(3, 3, metadata={DECLARED: {"published": "1987-06-05"}, "date": "2011-05-06"}),
        record(4, 4, metadata={DECLARED: {"published": "soon"}}),
    ]
    list(store.put(dated))
    times = build_report(store, "known").figures.by_time
    found = {share.name: share.documents for share in times}
    assert {"1987-06-05", "2001-09-09", "2011-05-06", "unknown"} <= found.keys()
    # Some say no hour, so what says one is counted by its day.
    assert {name for name in found if "T" in name} == set()
    assert sum(found.values()) == 8


def test_documents_that_came_since_are_counted(store: Store) -> None:
    # A clustering remembers when it was made: what came before it and is alone has been looked at.
    list(store.put([record(9, 5, indexed_at="9999-01-01T00:00:00Z")]))
    assert build_report(store, "known").figures.unclustered == 1


def test_a_store_without_documents_has_a_report(tmp_path: Path) -> None:
    with open_store(tmp_path / "new.neardup", create=store_info("landmarks")) as made:
        assert build_report(made, "new").figures.documents == 0


def test_a_store_without_clusters_says_what_to_do(tmp_path: Path) -> None:
    with open_store(tmp_path / "new.neardup", create=store_info("landmarks")) as made:
        list(made.put(known()))
        with pytest.raises(UsageError, match="neardup cluster"):
            build_report(made, "new")


def test_many_folders_are_counted_together(tmp_path: Path) -> None:
    with open_store(tmp_path / "many.neardup", create=store_info("landmarks")) as made:
        list(made.put(record(n, n << 20, source=f"/data/{n % 100}/{n}.html") for n in range(300)))
        cluster(made, RULE)
        by_source = build_report(made, "many").figures.by_source
    assert len(by_source) == 25
    assert by_source[-1].name == "others"
    assert sum(share.documents for share in by_source) == 300


def texts(_: Store, of: Record) -> str:
    return f"{HOSTILE} the same words in both, and one of {of.ref.id} <b>bold</b>"


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[ReportContents]:
    with open_store(tmp_path / f"{'<i>'}.neardup", create=store_info("landmarks")) as made:
        list(
            made.put(
                replace(each, title=HOSTILE, source=f"/{HOSTILE}/{each.ref.id}", format=HOSTILE[:30])
                for each in known()
            )
        )
        cluster(made, RULE)
        yield build_report(made, HOSTILE, ReportLimits(sample=0), text_of=texts)


class Page(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_hostile_text_stays_text(hostile: ReportContents) -> None:
    page = report_html(hostile, "1")
    elements = Page(page).found
    tags = {tag for tag, _ in elements}
    assert "script" in tags
    assert not tags & {"img", "link", "iframe", "object", "base", "form", "i", "b"}
    names = {name for _, attributes in elements for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in ("src", "style")}
    assert all((attributes.get("href") or "#").startswith("#") for _, attributes in elements)
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069]", page)
    assert "<ins>d" in page
    assert "secret" not in json.dumps([share.name for share in hostile.figures.by_source])


def test_the_policy_names_the_page_s_own_style_and_script(hostile: ReportContents) -> None:
    page = report_html(hostile, "1")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'")
    assert "unsafe" not in policy[1]
    for tag in ("style", "script"):
        [text] = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]


def test_every_table_has_a_caption_and_every_picture_words(hostile: ReportContents) -> None:
    page = report_html(hostile, "1")
    assert page.count("<table") == page.count("<caption>")
    pictures = [attributes for tag, attributes in Page(page).found if tag == "svg"]
    assert pictures
    assert all(each["role"] == "img" and each["aria-label"] for each in pictures)


@pytest.mark.parametrize(
    ("template", "address"),
    [
        ("https://example.org/read?d={id}", "https://example.org/read?d=a%2F%26%22%3Cb%3E"),
        ("https://example.org/{page.number}/{id}", "https://example.org/7%20x/a%2F%26%22%3Cb%3E"),
        ("{page.url}", "https://host.example/a?b=1&c=2"),
        # What is no page, and what a document lacks, is no link.
        ("{page.script}", ""),
        ("{page.script}{id}", ""),
        ("https://example.org/{nosuch}", ""),
    ],
)
def test_links_lead_to_documents(template: str, address: str, store: Store) -> None:
    about = {"url": "https://host.example/a?b=1&c=2", "number": "7 x", "script": "javascript:alert(1)//"}
    one = record(20, 0x0F0F0F0F0F0F0F0F, source="", title="", metadata={"page": about})
    list(store.put([replace(one, ref=Ref('a/&"<b>')), record(21, 0x0F0F0F0F0F0F0F0F)]))
    cluster(store, RULE)
    page = report_html(build_report(store, "known", ReportLimits(link=template)), "0")
    links = {html.unescape(link) for link in re.findall(r'<bdi class="title"><a href="([^"]*)"', page)}
    assert address in links if address else not links
    assert '<bdi class="path">a/&amp;&#34;&lt;b&gt;</bdi>' in page
    assert "javascript:" not in re.sub(r'"name":"[^"]*"', "", page)


@pytest.mark.parametrize("template", ["https://example.org/", "javascript:{id}", "ftp://example.org/{id}", "//{id}"])
def test_a_link_that_is_no_address_of_a_page_is_refused(template: str, store: Store) -> None:
    with pytest.raises(UsageError, match="write an address with"):
        build_report(store, "known", ReportLimits(link=template))


def test_hostile_titles_in_a_browser(hostile: ReportContents, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(report_html(hostile, "1"), "utf-8")
    page, said = after_loading(path, tmp_path / "profile")
    assert re.search("<title>Near-duplicates in ", page)
    assert "<title>taken" not in page
    # The page's own script ran: heads are buttons now.
    assert re.search("<th[^>]*><button", page)
    assert "Refused" not in said
    assert "Content Security Policy" not in said


def test_a_foreign_script_is_refused_by_the_policy(hostile: ReportContents, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(
        report_html(hostile, "1").replace("</main>", "<script>document.title='taken'</script></main>"), "utf-8"
    )
    page, _ = after_loading(path, tmp_path / "profile")
    assert "<main>" in page
    assert "<title>taken" not in page


NARROW = """
<body style="margin:0"><iframe id="phone" style="width:390px;height:844px;border:0"></iframe><script>
const phone = document.getElementById("phone");
phone.onload = function () {
  const page = phone.contentDocument;
  for (const details of page.querySelectorAll("details")) details.open = true;
  const every = Array.from(page.querySelectorAll("body *"));
  const room = page.documentElement.clientWidth;
  document.title = page.documentElement.scrollWidth > room ? "too wide" : "fits into " + phone.clientWidth;
  const wide = every.filter((each) => each.getBoundingClientRect().right > room + 0.5);
  console.log(wide.slice(-3).map((each) => each.outerHTML).join());
};
phone.srcdoc = PAGE;
</script></body>
"""


def test_a_telephone_shows_it_without_scrolling_sideways(store: Store, tmp_path: Path) -> None:
    """Ids, folders, titles, reasons and words without a place to break them, all as long as they come."""
    endless = "averyveryverylongnamewithoutanyplacetobreakit" * 9
    names = [f"{endless}{letter}" for letter in "abcdefgh"]
    list(
        store.put(
            replace(
                each,
                ref=Ref(name),
                title=name if each.ref.id != "d4" else "",
                source=f"/{endless[:60]}{name[-1]}/{name}",
                format=name[-40:],
            )
            for each, name in zip(known(), names, strict=True)
        )
    )
    store.delete([each.ref for each in known()])
    cluster(store, RULE)
    store.put_failures([Failure(Ref(endless), endless, endless, endless, "")])
    report = build_report(store, endless, text_of=lambda _, of: f"{endless} {endless * 3} 1,234 {of.ref.id}")
    numbers = report.figures
    many = NamedShare(endless, 10**9, 10**9 - 1, 1.0, 10**9 - 2, 10**15, 10**15 - 1)
    amount = Amount(10**9, 1.0, 10**15)
    figures = replace(
        numbers, documents=10**9, by_format=(*numbers.by_format, many), clusters=10**9, unclustered=10**9,
        repeating=amount, could_go=amount, same_work=amount, differ=amount, undecided=amount,
    )  # fmt: skip
    common = RepeatedPassage(endless * 3, 10**9, 10**9, 100, 0, 9, 0, np.zeros(2, dtype=np.int64))
    table = OriginTable((endless,) * 8, ((10**9,) * 8,) * 8, 10**6)
    passages = ShownPassages(50, 10**9, 10**12, 10**12, 9, 10**9, ((common, endless),) * 3, table)
    resting = (ShownResting(ClusterOnPassages("c", 10**9, 0.5, common), endless),)
    page = report_html(replace(report, figures=figures, passages=passages, resting=resting), "1")
    path = tmp_path / "phone.html"
    page = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    path.write_text(NARROW.replace("PAGE", json.dumps(page).replace("</", "<\\/")), "utf-8")
    shown, said = after_loading(path, tmp_path / "profile")
    assert "<title>fits into 390</title>" in shown, said


USE = """
const table = document.getElementById("clusters");
table.tHead.rows[0].cells[0].firstChild.click();
const search = document.getElementById("search");
search.value = "TITLE 4";
search.dispatchEvent(new Event("input"));
const shown = Array.from(table.tBodies[0].rows, (row) => row.cells[0].textContent + (row.hidden ? "hidden" : "shown"));
document.title = "used: " + shown.join() + " " + table.tHead.rows[0].cells[0].getAttribute("aria-sort");
document.getElementById("theme").click();
document.getElementById("theme").click();
"""


def test_sorting_searching_and_dark(store: Store, tmp_path: Path) -> None:
    page = report_html(build_report(store, "known"), "1")
    # Without its policy, so that the test's own script may use it as a reader would.
    open_page = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    path = tmp_path / "report.html"
    path.write_text(open_page.replace("</body>", f"<script>{USE}</script></body>"), "utf-8")
    used, _ = after_loading(path, tmp_path / "profile")
    assert "<title>used: 2shown,3hidden ascending</title>" in used
    assert re.search('<html[^>]*data-theme="light"', used)
    assert "1 of 2 clusters" in used


def test_the_page_stays_small(hostile: ReportContents) -> None:
    """A hundred thousand clusters, ten thousand asked for, each text as long and as costly to escape as can be."""
    worst = replace(known()[0], title="\u202e&" * 250, source="/" + "\x1b<" * 2000)
    member = ShownMember(worst, 1.0, repeats=True, relation="edited")
    many = tuple(ShownCluster(f"c{n}", 11, 61 / 64, (member,) * 11) for n in range(10_000))
    figures = replace(hostile.figures, clusters=100_000)
    pairs = hostile.pairs * 100
    page = report_html(replace(hostile, clusters=many, figures=figures, pairs=pairs), "1")
    assert 500_000 < len(page.encode()) < TEN_MB
    assert re.search(r"Shown are the [\d,]+ largest of 100,000 clusters", page)
    assert re.search(r"Left out, to keep this file small: [\d,]+ clusters", page)


def test_json(hostile: ReportContents) -> None:
    value = json.loads(report_json(hostile))
    assert (value["documents"], value["repeating"]["documents"], value["clusters"]) == (8, 3, 2)
    assert value["rule"] == "simhash-doc@3bits"
    assert value["similarities"] == [
        {"label": "0", "least": 1.0, "documents": 1},
        {"label": "1", "least": ONE_BIT, "documents": 1},
        {"label": "2", "least": TWO_BITS, "documents": 1},
    ]
    assert value["largest"][0]["size"] == 3
    assert value["largest"][0]["members"][0]["title"] == HOSTILE
    assert report_json(hostile).isascii()


def test_csv(hostile: ReportContents) -> None:
    formula = replace(
        hostile, figures=replace(hostile.figures, by_format=(NamedShare("=1+1", 8, 3, 0.375, 0, 800, 0),))
    )
    rows = list(csv.DictReader(io.StringIO(report_csv(formula))))
    overall = {row["name"] or row["measure"]: row["value"] for row in rows if row["section"] == "overall"}
    assert overall["documents"] == "8"
    assert [row["value"] for row in rows if row["name"] == "repeating"] == ["3", "0.375", "300"]
    assert {row["name"] for row in rows if row["section"] == "format"} == {"'=1+1"}
    assert "\u202e" not in report_csv(hostile)


def test_markdown(hostile: ReportContents) -> None:
    text = report_markdown(hostile)
    assert "| Repeat another document | 3 | 37.5% |" in text
    assert "\n2 clusters with 5 documents" in text
    assert not re.search(r"(?<!\\)<", text)
    for line in text.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (3, 4, 5, 6)


def test_passages_and_clusters_that_rest_on_them(tmp_path: Path) -> None:
    """A menu in twelve short pages, a release of one folder in an article of another, and a text that is code."""
    menu, release = prose(1, 150), f"{HOSTILE} {prose(2, 120)}"
    folder = tmp_path / "docs"
    write(folder, {f"manual/{number:02}.txt": f"{menu}\n\n{prose(10 + number, 30)}" for number in range(12)})
    write(folder, {"manual/index.txt": f"{menu}\n\n{prose(30, 900)}"})
    write(folder, {"wire/a.txt": release, "paper/b.txt": f"{prose(40, 200)} {release}"})
    with indexer.open(tmp_path / "docs.neardup") as collection:
        collection.index([folder / "wire"])
        collection.index([folder / "manual", folder / "paper"])
        collection.cluster()
        found = collection.report(passages=1).contents
        usual = collection.report().contents
    [resting] = found.resting
    assert (resting.cluster.size, resting.cluster.passage.words) == (12, 150)
    assert [each.cluster.size for each in usual.resting] == [12]
    assert usual.passages is None
    passages = found.passages
    assert passages is not None
    assert (passages.documents, passages.found, len(passages.passages)) == (15, 2, 1)
    table = passages.origins
    cells = {
        (table.names[row].rpartition("/")[2], table.names[column].rpartition("/")[2]): words
        for row, line in enumerate(table.words)
        for column, words in enumerate(line)
        if words
    }
    assert cells.keys() == {("manual", "manual"), ("wire", "paper")}
    assert cells["manual", "manual"] == 12 * 150
    page = report_html(replace(found, passages=replace(passages, passages=passages.passages * 2)), "1")
    assert "Shown are the 2 in most documents" not in page
    assert " ".join(menu.split())[:200] in page
    assert "<script>document" not in page
    assert "neardup report --passages 20" in report_html(usual, "1")


def test_many_long_passages_leave_the_page_small(store: Store) -> None:
    common = RepeatedPassage('<&"' * 40_000, 9, 2, 1, 0, 9, 0, np.zeros(2, dtype=np.int64))
    many = ShownPassages(50, 9, 9, 9, 1, 10**6, ((common, "<" * 9000),) * 1000, OriginTable((), (), 0))
    page = report_html(replace(build_report(store, "known"), passages=many), "1")
    assert len(page.encode()) < TEN_MB
    assert "Left out, to keep this file small: " in page
    assert "1 could not be read again, and are not counted" in page


def test_relations_are_counted_and_forms_show_their_slots(tmp_path: Path) -> None:
    frame = prose(7)
    files = {
        f"in/{number}.txt": f"Invoice {1000 + number} <b>to</b> {frame} total {number}.50 EUR" for number in range(14)
    }
    write(tmp_path, {**files, "in/copy.txt": files["in/0.txt"].replace(" ", "\n"), "other.txt": prose(8)})
    with indexer.open(tmp_path / "store.neardup") as collection:
        collection.index([tmp_path / "in", tmp_path / "other.txt"])
        collection.cluster(relation=False)
        unknown = collection.report()
        assert {each.relation: each.documents for each in unknown.figures.relations} == {"": 13, "identical": 1}
        collection.cluster(relation=True)
        made = collection.report()
    assert {each.relation: each.documents for each in made.figures.relations} == {"form": 13, "identical": 1}
    [form] = made.contents.forms
    assert (form.size, form.read) == (15, 11)
    number, total = form.slots
    assert number.before == "Invoice"
    assert number.after.startswith("<b>to</b>")
    assert len(number.fills) == form.forms + 1
    assert all(re.match(r"\d+", fill) for fill in total.fills)
    page = made.to_html()
    assert "<mark>1000</mark>" in page
    assert "&lt;b&gt;to&lt;/b&gt;" in page
    assert not {"b"} & {tag for tag, _ in Page(page).found}
    assert "| form | 13 |" in made.to_markdown()
    assert "relation,form,documents,13" in made.text("csv")
