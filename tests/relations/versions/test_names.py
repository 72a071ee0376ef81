"""Version numbers and dates in names, also in those that were made to mislead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.relations.versions.names import frames_of_place, frames_of_title
from indexer.relations.versions.numbers import read_number
from indexer.text.dates import Day, dates_in, read_day


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("/x/docs/3.11/library/os.html", ["3.11"]),
        ("/x/commons-csv-1.10.0/a/B.html", ["1.10.0"]),
        ("https://docs.python.org/3/library/os.html", ["3"]),
        ("/d/foo-1.2rc1.html", ["1.2rc1"]),
        ("/d/Jinja2-3.0.3/api.rst", ["3.0.3"]),
        ("https://web.archive.org/web/20190405123456/http://e.org/p", ["2019-04-05"]),
        ("/a/report_2019-04-05.html", ["2019-04-05"]),
        ("/p/guide_v3.pdf", ["3"]),
        ("/p/docs/latest/a.html", ["latest"]),
        ("/p/docs/15/sql.html", ["15"]),
        ("/y/draft-ietf-quic-http-34.txt", ["34"]),
        ("/django-4.2/releases/1.8.html", ["4.2"]),
    ],
)
def test_the_version_in_a_place(place: str, shown: list[str]) -> None:
    assert [frame.slot.shown for frame in frames_of_place(place)] == shown


@pytest.mark.parametrize(
    "place",
    [
        "/a/section-1.2.html",
        "/a/2.1-introduction.html",
        "/a/chapters/2.1/index.html",
        "/a/1.2.3.4.5.6/x",
        "/a/10.0.0.1/x",
        "/a/99999-01-01/x",
        "/a/2019-13-41/x",
        "/a/v99999999999/x",
        "/a/GPL-3.0.txt",
        "https://1.2.example.org/x",
        "http://[bad/1.2/x",
        "/a/invoice-17.html",
        "/a/3.5mm.html",
        "/a/١٫٢/x",
        "",
    ],
)
def test_what_is_no_version(place: str) -> None:
    assert frames_of_place(place) == []


def test_a_date_in_a_name_may_be_that_of_an_event() -> None:
    [report], [draft] = frames_of_place("/a/report-2019-04-05.html"), frames_of_place("/a/draft-2019-04-05.html")
    assert (report.slot.sure, draft.slot.sure) == (False, True)


def test_equal_numbers_in_a_name_are_one() -> None:
    first, _ = frames_of_place("/a/foo-1.2/foo-1.2.html")
    assert first.text == "/a/foo-\0/foo-\0.html"
    outer, inner = frames_of_place("/version_2/docs/2.0/a.html")
    assert (outer.text, inner.text) == ("/version_\0/docs/2.0/a.html", "/version_2/docs/\0/a.html")
    assert inner.text == frames_of_place("/version_2/docs/1.0/a.html")[1].text


def test_a_title_has_numbers_behind_its_name_only() -> None:
    assert [frame.slot.shown for frame in frames_of_title("CSVFormat (Commons CSV 1.10.0 API)")] == ["1.10.0"]
    assert frames_of_title("2.1 Introduction") == []
    assert frames_of_title("Widget $19.99") == []


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2019-04-05", Day(2019, 4, 5)),
        ("5 April 2019", Day(2019, 4, 5)),
        ("April 5, 2019", Day(2019, 4, 5)),
        ("Apr 05, 2019", Day(2019, 4, 5)),
        ("5. April 2019", Day(2019, 4, 5)),
        ("5 de abril de 2019", Day(2019, 4, 5)),
        ("2019年4月5日", Day(2019, 4, 5)),
        ("June 2014", Day(2014, 6)),
        ("Fri, 05 Apr 2019 10:00:00 GMT", Day(2019, 4, 5)),
        ("D:20190405101112+02'00'", Day(2019, 4, 5)),
        ("2019-04-05T10:11:12Z", Day(2019, 4, 5)),
        ("04/05/2019", None),
        ("2019-02-30", None),
        ("99999-01-01", None),
        ("0000-00-00", None),
        ("\u202e2019-04-05", Day(2019, 4, 5)),
        ("soon", None),
    ],
)
def test_dates(text: str, day: Day | None) -> None:
    assert read_day(text) == day


def test_releases_come_in_order() -> None:
    written = ["1.0.dev1", "1.0a1", "1.0b2", "1.0rc1", "1.0", "1.0.post1", "1.9", "1.10", "2", "2.0.1"]
    numbers = [read_number(text) for text in written]
    assert None not in numbers
    assert numbers == sorted(numbers, key=lambda number: number or ())
    assert read_number("1.0") == read_number("1.0.0")
    assert read_number("1.2.3.4.5") is None


@given(st.text(max_size=300))
def test_any_name_and_text_is_read(text: str) -> None:
    for frame in [*frames_of_place(text), *frames_of_title(text)]:
        assert frame.text.count("\0") >= 1
        assert frame.slot.shown.isprintable()
    assert all(1900 <= dated.day.year <= 2100 for dated in dates_in(text))
