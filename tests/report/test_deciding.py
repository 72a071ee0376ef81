"""The page on which somebody decides: in a real browser, against hostile documents, and up to what is dropped."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from indexer.clustering.decision_file import parsed_decisions
from indexer.library.collection import Collection
from indexer.library.collection import open as open_collection
from indexer.library.options import RemovalRequest
from indexer.model import Record, Ref
from indexer.report.contents import ShownCluster, ShownMember, build_report
from indexer.report.deciding import decisions_data, titled
from indexer.report.html import report_html
from indexer.report.limits import ReportLimits
from indexer.stores import Store
from indexer.text.differences import word_difference
from tests.cli.command import write
from tests.cli.written import html, prose
from tests.report.reported import HOSTILE, after_loading, record, store

__all__ = ["store"]

DRIVER = """
<body style="margin:0"><iframe id="page" style="width:WIDTHpx;height:800px;border:0" src="report.html"></iframe>
<pre id="answer"></pre><script>
const frame = document.getElementById("page");
frame.onload = async function () {
  let page, view, saved = null;
  function take() {
    page = frame.contentDocument;
    view = frame.contentWindow;
    view.URL.createObjectURL = (blob) => { saved = blob; return "#"; };
  }
  function reload() {
    return new Promise(function (done) {
      frame.onload = () => { take(); done(); };
      view.location.reload();
    });
  }
  take();
  const pressed = (key) => new view.KeyboardEvent("keydown", {key, bubbles: true});
  const press = (row, key) => { row.focus(); row.dispatchEvent(pressed(key)); };
  const cards = () => Array.from(page.querySelectorAll("#decide-list article"));
  const rows = (card) => Array.from(card.querySelectorAll("li.document"));
  const answer = {};
  STEPS
  page.getElementById("decide-save").click();
  answer.status = page.getElementById("decide-status").textContent;
  answer.wide = page.documentElement.scrollWidth > page.documentElement.clientWidth;
  answer.title = page.title;
  answer.saved = saved && await saved.text();
  document.getElementById("answer").textContent = encodeURIComponent(JSON.stringify(answer));
};
</script>
"""


def driven(folder: Path, page: str, steps: str, *, width: int = 1280) -> Mapping[str, Any]:
    """What a page answers after some steps in a browser, with the file that it saves."""
    (folder / "report.html").write_text(page, "utf-8")
    driver = folder / "driver.html"
    driver.write_text(DRIVER.replace("WIDTH", str(width)).replace("STEPS", steps), "utf-8")
    shown, said = after_loading(driver, folder / "profile", "--allow-file-access-from-files")
    found = re.search('<pre id="answer">(.+?)</pre>', shown)
    assert found, said
    answer: Mapping[str, Any] = json.loads(unquote(found[1]))
    return answer


def decided(answer: Mapping[str, Any]) -> list[dict[str, str]]:
    """The choices in the file that a page saved, as prune reads it."""
    decisions = parsed_decisions(answer["saved"].encode())
    return [{one.id: one.choice for one in decision.documents} for decision in decisions]


def test_choices_by_mouse_and_by_keys_are_saved_and_remembered(tmp_path: Path) -> None:
    texts: dict[str, bytes | str] = {
        f"docs/{name}.html": html(prose(1), title=f"Title of {name}") for name in ("a", "b")
    }
    texts |= {"docs/c.txt": prose(2), "docs/d.txt": prose(2).upper(), "docs/e.txt": prose(3)}
    write(tmp_path, texts)
    with open_collection(tmp_path / "s.neardup") as collection:
        collection.index(tmp_path / "docs")
        collection.cluster(relation=True)
        page = collection.report().to_html()
        answer = driven(
            tmp_path,
            page,
            """
            answer.cards = cards().length;
            const [first, second] = rows(cards()[0]);
            answer.names = [first, second].map((row) => row.querySelector(".name").textContent);
            answer.link = first.querySelector("a").href;
            press(first, "k"); press(first, "ArrowDown");
            answer.focus = page.activeElement === second;
            press(second, "d");
            cards()[1].querySelectorAll(".head button")[1].click();
            answer.before = page.getElementById("decide-status").textContent;
            await reload();
            """,
            width=390,
        )
        assert answer["cards"] == 2
        assert answer["focus"]
        assert answer["link"].startswith("file:///")
        assert answer["status"].startswith("2 of 2 clusters decided")
        choices = decided(answer)
        assert sorted(choices[0].values()) == ["drop", "keep"]
        assert set(choices[1].values()) == {"apart"}
        # The page was loaded anew, and the browser knows what was chosen.
        assert answer["before"] == answer["status"]
        assert not answer["wide"]
        path = tmp_path / "decisions.json"
        path.write_text(answer["saved"])
        [dropped] = [name for name, choice in choices[0].items() if choice == "drop"]
        assert [one.id for one in collection.prune(RemovalRequest(decisions=str(path)), dry_run=True).surplus] == [
            dropped
        ]
        assert collection.prune(RemovalRequest(decisions=str(path)), delete=True).deleted == 1
        assert collection.decide(path).kept == 1
        collection.cluster()
        assert not collection.clusters()


def test_a_link_opens_the_file_that_a_document_lies_in(tmp_path: Path) -> None:
    mail = f"From: a@b\nSubject: of {{}}\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n\n{prose(1)}\n"
    between = "From a@b Mon Jan  1 00:00:00 2024\n"
    write(
        tmp_path,
        {
            "docs/one.eml": mail.format("tea"),
            "docs/all.mbox": between + mail.format("tea") + "\n" + between + mail.format("milk"),
            "docs/page one.html": html(prose(1)),
        },
    )
    with zipfile.ZipFile(tmp_path / "docs" / "more.zip", "w") as archive:
        archive.writestr("deep/page.html", html(prose(1)))
    with open_collection(tmp_path / "s.neardup") as collection:
        collection.index(tmp_path / "docs")
        collection.cluster()
        page = collection.report().to_html()
    data, _ = re.findall('<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    [cluster] = json.loads(data)["clusters"]
    opened = sorted(Path(unquote(urlsplit(member["href"]).path)).name for member in cluster["members"])
    assert opened == ["all.mbox", "all.mbox", "more.zip", "one.eml", "page one.html"]
    in_sample = re.findall('class="name" href="(file:[^"]+)"', page)
    assert in_sample
    assert all(Path(unquote(urlsplit(link).path)).is_file() for link in in_sample)


def test_what_may_say_more_is_not_proposed_to_go(tmp_path: Path) -> None:
    more = f"{prose(1)}\n\nA paragraph that an editor has added to the text later on.\n"
    write(tmp_path, {"docs/a.txt": prose(1), "docs/b.txt": prose(1).upper(), "docs/c.txt": more})
    with open_collection(tmp_path / "s.neardup") as collection:
        collection.index(tmp_path / "docs")
        collection.cluster(relation=True)
        page = collection.report()
        answer = driven(
            tmp_path,
            page.to_html(),
            """
            cards()[0].querySelectorAll(".head button")[0].click();
            answer.proposed = rows(cards()[0]).map((row) => row.dataset.chosen);
            const facts = rows(cards()[0]).map((row) => row.querySelector(".facts").textContent);
            answer.facts = facts.map((said) => said.split(" \u00b7 ").slice(0, 2).join(": "));
            """,
        )
        [kept] = [one for one in collection.prune(dry_run=True).surplus if one.kept]
    assert kept.id == "docs/c.txt"
    assert dict(zip(answer["facts"], answer["proposed"], strict=True))["differs: sentences missing or moved"] == ""
    assert dict(zip(answer["facts"], answer["proposed"], strict=True))["could go: same text"] == "drop"
    numbers = page.contents.figures
    assert (numbers.could_go.documents, numbers.differ.documents) == (1, 1)


@contextmanager
def bills(folder: Path) -> Iterator[Collection]:
    """A collection of a bill, of one of another amount, and of a copy of that."""
    one, other = (f"{prose(1)}\n\nPlease pay {amount} euros by the end of May.\n" for amount in ("120.00", "135.50"))
    write(folder, {"docs/a.txt": one, "docs/b.txt": other, "docs/c.txt": other.replace(" ", "\n")})
    with open_collection(folder / "s.neardup") as collection:
        collection.index(folder / "docs")
        collection.cluster()
        yield collection


def test_a_copy_of_a_form_names_the_document_that_says_the_same(tmp_path: Path) -> None:
    with bills(tmp_path) as collection:
        page = collection.report().to_html()
    data = re.findall('<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    members = {
        each["id"]: each["facts"].split(" \u00b7 ")[:3] for each in json.loads(data[0])["clusters"][0]["members"]
    }
    assert members["docs/a.txt"][0] == "stays"
    assert members["docs/b.txt"][1] == "same form, other facts"
    assert members["docs/b.txt"][2].startswith("shares ")
    assert members["docs/c.txt"][:2] == ["could go", "same text, beside docs/b.txt"]


def test_a_copy_is_decided_with_the_document_it_repeats(tmp_path: Path) -> None:
    with bills(tmp_path) as collection:
        page = collection.report().to_html()
        steps = "cards()[0].querySelectorAll('.head button')[0].click(); press(rows(cards()[0])[1], 'k');"
        answer = driven(tmp_path, page, steps)
        path = tmp_path / "decisions.json"
        path.write_text(answer["saved"])
        [listed] = collection.prune(RemovalRequest(decisions=str(path)), dry_run=True).surplus
    assert decided(answer) == [{"docs/a.txt": "keep"}, {"docs/b.txt": "keep", "docs/c.txt": "drop"}]
    assert (listed.id, listed.repeats) == ("docs/c.txt", "docs/b.txt")


def test_a_sample_is_judged_and_says_how_right_the_rule_is(tmp_path: Path) -> None:
    texts: dict[str, bytes | str] = {f"docs/{number}.txt": prose(number) for number in range(60)}
    texts |= {f"docs/{number}-again.txt": prose(number).upper() for number in range(59)}
    texts |= {"docs/hostile.txt": f"{prose(59)} {HOSTILE}"}
    write(tmp_path, texts)
    with open_collection(tmp_path / "s.neardup") as collection:
        collection.index(tmp_path / "docs")
        collection.cluster()
        answer = driven(
            tmp_path,
            collection.report().to_html(),
            """
            const shown = () => Array.from(page.querySelectorAll("#sample-section article:not([hidden])"));
            const section = page.getElementById("sample-section");
            answer.shown = shown().length;
            answer.links = Array.from(shown()[0].querySelectorAll("a"), (link) => link.href);
            answer.text = shown()[0].textContent;
            answer.disabled = page.getElementById("sample-save").disabled;
            for (let at = 0; at < 59; at++) press(section, "s");
            press(section, "s"); press(section, "x");
            await reload();
            answer.before = page.getElementById("sample-status").textContent;
            answer.last = shown()[0].id;
            page.querySelector("#sample-section button[data-choice=apart]").click();
            answer.after = page.getElementById("sample-status").textContent;
            page.getElementById("sample-save").click();
            """,
            width=390,
        )
        path = tmp_path / "judgments.json"
        path.write_text(answer["saved"])
        made = collection.judge(path)
    assert answer["shown"] == 1
    assert all(link.startswith("file:///") for link in answer["links"])
    assert "%" not in answer["text"]
    assert answer["disabled"]
    assert answer["before"].startswith("Pair 60 of 60; 59 judged")
    assert answer["after"].startswith("Pair 60 of 60; 60 judged")
    assert answer["last"] == "sample-59"
    assert not answer["wide"]
    assert answer["title"].startswith("Near-duplicates in ")
    assert (made.documents, made.judged, len(made.not_counted)) == (60, 60, 0)
    whole = made.shares[4]
    assert (whole.right, whole.low) == (59, pytest.approx(59 / 60))


def test_no_pair_of_a_sample_is_left_out(store: Store) -> None:
    """A pair that does not fit loses its texts, and is asked about all the same."""
    report = build_report(store, "known", ReportLimits(sample=60))
    assert report.sample
    [pair, *_] = report.sample.pairs
    long = word_difference(HOSTILE * 300, f"{HOSTILE * 200} more", limit=20_000)
    pairs = (replace(pair, difference=long),) * 200
    page = report_html(replace(report, sample=replace(report.sample, pairs=pairs)), "1")
    assert len(re.findall('<article class="cluster" id="sample-', page)) == 200
    assert len(page.encode()) < 2_000_000
    assert HOSTILE not in page


def test_the_page_says_where_nothing_is_kept_and_proposes_no_form(tmp_path: Path) -> None:
    write(tmp_path, {"docs/a.txt": prose(1), "docs/b.txt": prose(1).upper(), "docs/c.txt": prose(1) + " on 7 May 2021"})
    with open_collection(tmp_path / "s.neardup") as collection:
        collection.index(tmp_path / "docs")
        collection.cluster(relation=True)
        answer = driven(
            tmp_path,
            collection.report().to_html(),
            """
            cards()[0].querySelectorAll(".head button")[0].click();
            answer.proposed = rows(cards()[0]).map((row) => row.dataset.chosen);
            answer.before = cards()[0].querySelector(".warning").textContent;
            for (const row of rows(cards()[0])) if (row.dataset.chosen !== "drop") press(row, "d");
            answer.after = cards()[0].querySelector(".warning").textContent;
            """,
        )
    assert sorted(answer["proposed"]) in (["", "drop", "keep"], ["drop", "drop", "keep"])
    assert not answer["before"]
    assert answer["after"].startswith("No document is to be kept")
    assert "1 without a document to keep" in answer["status"]


def test_hostile_documents_are_shown_and_not_obeyed(store: Store, tmp_path: Path) -> None:
    report = build_report(store, HOSTILE, ReportLimits(sample=0))
    names = [f"{HOSTILE}{number}\udc80" for number in range(2)]
    about = {"title": HOSTILE, "source": f"javascript:{HOSTILE}", "metadata": {"date": HOSTILE}}
    hostile = [
        replace(record(number, 1, **about), ref=Ref(name), text_digest=f"{number:032x}")
        for number, name in enumerate(names)
    ]
    noted = zip(hostile, (False, True), ("", HOSTILE), names, strict=True)
    cluster = ShownCluster("c" * 26, 2, 1.0, tuple(ShownMember(one, 1.0, *said) for one, *said in noted))
    page = report_html(replace(report, clusters=(cluster,), pairs=()), "1")
    data = re.findall('<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert len(data) == 1
    assert json.loads(data[0])["clusters"][0]["members"][0]["id"] == names[0]
    steps = (
        "for (const row of rows(cards()[0])) press(row, 'n'); answer.links = cards()[0].querySelectorAll('a').length;"
    )
    answer = driven(tmp_path, page, steps)
    assert answer["title"].startswith("Near-duplicates in ")
    assert answer["links"] == 0
    # What is saved is what the store knows, half a surrogate pair too.
    assert decided(answer) == [dict.fromkeys(names, "apart")]


def test_ten_thousand_clusters_are_paged(store: Store, tmp_path: Path) -> None:
    report = build_report(store, "known")
    clusters = tuple(
        ShownCluster(
            f"{number:026d}",
            2,
            1.0,
            tuple(
                ShownMember(
                    record(2 * number + at, 1, title="", text_digest=f"{2 * number + at:032x}"), 1.0, at > 0, word
                )
                for at, word in enumerate(("", "identical"))
            ),
        )
        for number in range(10_000)
    )
    page = report_html(replace(report, clusters=clusters, pairs=()), "1")
    assert len(page.encode()) < 10_000_000
    answer = driven(
        tmp_path,
        page,
        """
        answer.cards = cards().length;
        answer.pages = page.querySelector(".pager span").textContent;
        cards()[0].querySelectorAll(".head button")[0].click();
        page.querySelectorAll(".pager button")[1].click();
        cards()[0].querySelectorAll(".head button")[0].click();
        const shown = page.getElementById("decide-show");
        shown.value = "done"; shown.dispatchEvent(new view.Event("change"));
        answer.done = cards().length;
        """,
    )
    assert (answer["cards"], answer["pages"], answer["done"]) == (20, "Page 1 of 500", 2)
    assert answer["status"] == "2 of 10000 clusters decided"
    assert len(decided(answer)) == 2


@pytest.mark.parametrize(
    ("title", "source", "shown"),
    [
        ("A title", "/data/x.pdf", "A title"),
        ("", "/data/x.pdf", "x.pdf"),
        ("/data/x.pdf", "/data/x.pdf", "x.pdf"),
        ("x.pdf", "/data/x.pdf", "x.pdf"),
        ("", "https://host.example/a/b/", "b"),
        ("", "", "an-id"),
    ],
)
def test_a_document_is_named_once(title: str, source: str, shown: str) -> None:
    name, below = titled(Record(Ref("an-id"), title=title, source=source))
    assert name == shown
    assert below == (f"an-id \u00b7 {source}" if source else "an-id")


def test_what_does_not_fit_is_counted(store: Store) -> None:
    report = build_report(store, "known")
    whole, count = decisions_data(report, 10**6)
    assert count == 2
    cut, fewer = decisions_data(report, len(whole) - 10)
    assert fewer == 1
    assert len(json.loads(cut)["clusters"]) == 1
