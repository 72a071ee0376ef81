"""The order in time of documents that are versions of each other."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from indexer.extract.declared import declared_in_text
from indexer.model import Record, Ref
from indexer.relations.versions.order import SURE, Order, by_contents, compared, lineages
from indexer.relations.versions.signs import signs_of


def record(source: str = "", title: str = "", **metadata: Any) -> Record:
    return Record(
        Ref(source or title), source=source, title=title, indexed_at="2026-01-01T00:00:00Z", metadata=metadata
    )


def order(one: Record, other: Record) -> Order:
    return compared(signs_of(one), signs_of(other))


def steps(*records: Record) -> list[list[list[str]]]:
    found = lineages([signs_of(each) for each in records])
    return [[[records[place].ref.id for place in step] for step in each.steps] for each in found]


def test_numbers_in_the_path() -> None:
    names = ["/d/1.10/a.html", "/d/1.9/a.html", "/d/2.0rc1/a.html", "/d/2.0/a.html"]
    assert steps(*map(record, names)) == [[[names[1]], [names[0]], [names[2]], [names[3]]]]
    found = order(record("/d/1.10/a.html"), record("/d/1.9/a.html"))
    assert found == ("newer", 0.95, "version 1.9 < 1.10 in the path")


def test_other_pages_of_the_same_releases_are_works_of_their_own() -> None:
    names = ["/d/1.1/a.html", "/d/1.2/a.html", "/d/1.1/b.html", "/d/1.2/b.html"]
    assert steps(*map(record, names)) == [[[names[0]], [names[1]]], [[names[2]], [names[3]]]]


def test_the_outermost_number_that_differs_is_the_version() -> None:
    names = ["/x/python3.11/d/1.1/a", "/x/python3.11/d/1.2/a"]
    assert steps(*map(record, names)) == [[[names[0]], [names[1]]]]
    releases = ["/d-4.1/r-1.8/a", "/d-4.2/r-1.8/a", "/d-4.2/r-1.9/a"]
    assert steps(*map(record, releases)) == [[[releases[0]], [releases[1]]]]


def test_reports_of_different_days_are_no_versions_but_one_is_newer() -> None:
    one = record("/a/report-2019-04-05.html", declared={"published": "2019-04-05"})
    other = record("/a/report-2019-04-06.html", declared={"published": "2019-04-06"})
    assert steps(one, other) == []
    assert order(other, one).word == "newer"
    assert order(other, one).confidence < SURE


def test_titles_are_names_where_each_release_has_them_once() -> None:
    made = [record(title=f"Tree (Guide {number} API)") for number in ("1.2", "1.3")]
    assert len(steps(*made)) == 1
    assert steps(*made, record(title="Tree (Guide 1.3 API)")) == []


def test_names_are_the_same_in_capitals() -> None:
    assert len(steps(record("/Jinja2-3.0.3/docs/api.rst"), record("/jinja2-3.1.4/docs/api.rst"))) == 1


def test_announcements_of_releases_are_no_versions_of_each_other() -> None:
    names = [f"/docs/announce/release-8.{number}.rst" for number in range(3)]
    assert steps(*(record(name, title=name[-15:-4]) for name in names)) == []


def test_what_says_nothing_is_unknown() -> None:
    assert order(record("/a/x.html"), record("/b/x.html")) == Order()
    assert (
        steps(record("/a/x.html"), record("/b/x.html"), record("/a/invoice-1.html"), record("/a/invoice-2.html")) == []
    )


def test_what_replaces_another() -> None:
    old, new = (
        record("/r/rfc2616.txt", declared={"name": "rfc2616"}),
        record("/r/rfc7230.txt", declared={"name": "rfc7230", "replaces": ["rfc2145", "rfc2616"]}),
    )
    assert order(new, old) == ("newer", 0.98, "replaces rfc2616")
    assert order(old, new).word == "older"
    circle = record("/r/rfc2616.txt", declared={"name": "rfc2616", "replaces": ["rfc7230"]})
    assert steps(circle, new) == []


def test_an_update_is_newer_and_replaces_nothing() -> None:
    old = record("/r/rfc2817.txt", declared={"name": "rfc2817"})
    new = record("/r/rfc7230.txt", declared={"name": "rfc7230", "updates": ["rfc2817"]})
    assert order(new, old).word == "newer"
    assert steps(old, new) == []


def test_lines_of_different_length_have_each_a_latest() -> None:
    replaced = {"a": [], "b": ["a"], "c": ["b"], "d": ["a"]}
    made = [record(f"/{name}", declared={"name": name, "replaces": of}) for name, of in replaced.items()]
    [found] = lineages([signs_of(each) for each in made])
    assert found.latest == {2, 3}


def test_captures_of_one_page() -> None:
    made = [record("https://e.org/a", warc_type="response", date=f"20{year}-01-01T00:00:00Z") for year in (19, 21, 20)]
    [found] = lineages([signs_of(each) for each in made])
    assert found.steps == ((0,), (2,), (1,))


def test_rows_of_one_file_are_no_versions() -> None:
    assert steps(record("/a/rows-1.2.jsonl"), record("/a/rows-1.3.jsonl")) == []
    assert steps(record("/a/rows.csv", date="2019-01-01"), record("/a/rows.csv", date="2020-01-01")) == []


def test_pages_that_name_the_same_canonical_one() -> None:
    url = "https://e.org/docs/a"
    names = [f"https://e.org/docs/{number}/a" for number in ("1.2", "1.10")]
    made = [record(name, canonical_url=url) for name in (*names, url)]
    assert steps(*made) == [[[names[0]], [names[1]], [url]]]
    assert steps(record("https://evil.example/99.0/a", canonical_url=url), *made[:1]) == []


def test_a_date_that_has_not_come_does_not_count() -> None:
    url = "https://e.org/a"
    made = [record(url, declared={"modified": day}) for day in ("2099-01-01", "2020-01-01")]
    assert steps(*made) == []


def test_signs_that_disagree() -> None:
    url = "https://e.org/a"
    agree = [record(url, declared={"modified": f"{year}-01-01", "published": f"{year}-01-01"}) for year in (2019, 2020)]
    disagree = [
        record(url, declared={"modified": "2019-01-01", "published": "2020-01-01"}),
        record(url, declared={"modified": "2020-01-01", "published": "2019-01-01"}),
    ]
    assert len(steps(*agree)) == 1
    assert steps(*disagree) == []


def test_drafts_are_named_in_their_texts() -> None:
    texts = [
        f"Internet-Draft: 1 May {year}\nA protocol\n  draft-doe-http-{number}"
        for year, number in ((2020, "02"), (2019, "10"))
    ]
    made = [record(title="Internet-Draft", declared=declared_in_text(text)) for text in texts]
    [found] = lineages([signs_of(each) for each in made])
    assert (found.steps, found.evidence) == (((0,), (1,)), ("version 02 < 10 that they declare",))
    assert (
        steps(made[0], record(title="Internet-Draft", declared=declared_in_text(texts[1].replace("doe", "roe")))) == []
    )


def test_stages_of_a_bill() -> None:
    names = [
        "BILLS-118hr5ih.xml",
        "BILLS-118hr5eh.xml",
        "BILLS-118hr5pcs.xml",
        "BILLS-118hr5eas.xml",
        "BILLS-118hr5enr.xml",
    ]
    assert steps(*map(record, names)) == [[[name] for name in names]]
    assert steps(record("S13_IS.XML"), record("s13_es.xml")) == [[["S13_IS.XML"], ["s13_es.xml"]]]
    assert steps(record("BILLS-118hr5ih.xml"), record("BILLS-118hr6eh.xml")) == []
    assert steps(record("/a/h1.html"), record("/a/h2.html"), record("/a/s3_is.txt"), record("/a/s3_es.txt")) == []


def test_a_text_that_contains_another_and_adds_a_passage_may_be_newer() -> None:
    found = by_contents(80, 2)
    assert found == ("newer", found.confidence, "contains the other text and adds 80 words")
    assert 0.5 < found.confidence < SURE
    assert by_contents(2, 80) == ("older", found.confidence, "is contained in the other text, which adds 80 words")
    for pair in ((0, 0), (49, 0), (80, 5), (80, 80)):
        assert by_contents(*pair) == Order()


_VALUES = st.sampled_from(
    ["1.2", "1.10", "2.0rc1", "99999999.1", "2019-04-05", "2019", "v3", "latest", "\u202e1.2", ""]
)
_DAYS = st.sampled_from(["2019-01-01", "2019-02", "2020", "99999-01-01", "2099-01-01", "", "\u202e2018-01-01"])
_NAMES = st.sampled_from(["a", "b", "c", "rfc1", "https://e.org/1.2/x"])


@st.composite
def records(draw: st.DrawFn) -> Record:
    form = draw(st.sampled_from(["/d/{}/a.html", "https://e.org/{}/x", "https://e.org/x", "/d/a-{}/{}.txt", ""]))
    declared: dict[str, Any] = {
        "modified": draw(_DAYS), "published": draw(_DAYS), "version": draw(_VALUES), "name": draw(_NAMES),
        "replaces": draw(st.lists(_NAMES, max_size=2)), "replaced_by": draw(st.lists(_NAMES, max_size=1)),
    }  # fmt: skip
    for name in draw(st.lists(st.sampled_from(sorted(declared)), max_size=6)):
        declared.pop(name, None)
    return record(
        form.format(draw(_VALUES), draw(_VALUES)),
        draw(st.sampled_from(["", "Guide 1.2", "Guide 2"])),
        declared=declared,
    )


@given(records(), records())
def test_the_order_of_two_is_antisymmetric(one: Record, other: Record) -> None:
    assert order(one, other) == order(other, one).reversed
    assert order(one, one).word == "unknown"


@given(st.lists(records(), max_size=6))
def test_the_order_of_many_has_no_circle_and_does_not_depend_on_theirs(made: list[Record]) -> None:
    found = lineages([signs_of(each) for each in made])
    places = [place for each in found for step in each.steps for place in step]
    assert len(places) == len({*places})
    for each in found:
        assert len(each.steps) == len(each.evidence) + 1 >= 2
        assert SURE <= each.confidence < 1
        assert each.latest
        assert each.latest >= {*each.steps[-1]}
    turned = list(range(len(made)))[::-1]
    again = lineages([signs_of(made[place]) for place in turned])
    assert {tuple(frozenset(step) for step in each.steps) for each in found} == {
        tuple(frozenset(turned[place] for place in step) for step in each.steps) for each in again
    }


def test_every_order_of_three_gives_the_same() -> None:
    made = [record(f"/d/{number}/a.html") for number in ("1.2", "1.3", "2.0")]
    assert len({str(sorted(map(str, steps(*each)))) for each in permutations(made)}) == 1
