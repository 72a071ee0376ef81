"""From the lines of a PDF's pages to running text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import ExtractionError
from indexer.extract.base import Extractor, Options
from indexer.extract.document import Limits, read_document
from indexer.extract.running import running_text
from indexer.extract.text import cleaned
from indexer.model import Document
from tests.extract.folded import folded
from tests.extract.made_pdf import make_pdf

EXTRACTORS: list[Extractor] = ["fast", "reference"]


def read(data: bytes, extractor: Extractor = "fast", limits: Limits = Limits()) -> Document:  # noqa: B008
    return folded(read_document(data, "a.pdf", Options(extractor=extractor), limits))


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_the_text_of_a_pdf(extractor: Extractor) -> None:
    words = [f"Sentence {n} of this page names the {animal}." for n, animal in enumerate(("cow", "dog", "owl", "emu"))]
    document = read(
        make_pdf([[word, f"The {word[-4:]} again."] for word in words], header="The running header"), extractor
    )
    assert document.text == " ".join(f"{word} The {word[-4:]} again." for word in words)
    assert document.format == "pdf"


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["inclu-", "ding"], "including"),
        (["inclu\u2010", "ding"], "including"),
        (["inclu\u00ad", "ding"], "including"),
        (["inclu\x02ding"], "including"),
        (["inclu\ufffeding"], "including"),
        (["COVID-", "19, Anglo-", "Saxon"], "COVID-19, Anglo-Saxon"),
        (["near-duplicate and near-", "duplicate"], "near-duplicate and near-duplicate"),
        (["a data-", "driven way: data is driven"], "a data-driven way: data is driven"),
        (["something for some-", "thing: some thing"], "something for something: some thing"),
        (["3 -", "4"], "3 - 4"),
        (["dash -", "word"], "dash - word"),
        (["see https://example.org/a-", "b/c and"], "see https://example.org/a-b/c and"),
        (["see doi:10.1000/abc-", "9 and"], "see doi:10.1000/abc-9 and"),
        (["either/", "or"], "either/ or"),
        (["ﬁne"], "ﬁne"),
        ([], ""),
    ],
)
def test_words_broken_over_lines(lines: list[str], text: str) -> None:
    assert running_text([lines])[0] == text


def test_a_word_broken_over_pages() -> None:
    pages = [["Title", "one inclu-", "1"], ["Title", "ding two", "2"]]
    assert running_text(pages)[0] == "one including two"


def test_pages_begin_where_their_first_words_do() -> None:
    pages = [["Title", "one inclu-", "1"], ["Title", "ding two", "2"], ["Title", "3"], ["Title", "three \x02", "4"]]
    text, begins, _ = running_text(pages)
    assert text == "one including two\fthree"
    assert [text[begin:] for begin in begins] == ["one including two\fthree", "ding two\fthree", "\fthree", "three"]
    document = read(make_pdf([[f"page {c * 4} has words", "a second line"] for c in "abc"]))
    assert [document.text[begin:].split()[1] for begin in document.pages] == ["aaaa", "bbbb", "cccc"]


@given(st.lists(st.lists(st.text("ab- \x02\x01/\n\u00ad", min_size=1).filter(str.strip), max_size=4), max_size=6))
def test_pages_change_nothing_of_the_text(pages: list[list[str]]) -> None:
    text, begins, _ = running_text(pages)
    assert " ".join(text.split()) == cleaned(text)
    assert len(text) == len(cleaned(text))
    assert len(begins) == len(pages)
    assert list(begins) == sorted(begins)


def test_running_lines_differ_on_left_and_right_pages() -> None:
    pages = [
        [
            f"Chapter {1 + n // 6}" if n % 2 else "The book",
            f"the longer text of page {'abcdefghijkl'[n]}",
            f"page {n} of 12",
            "xii",
        ]
        for n in range(12)
    ]
    assert running_text(pages)[0] == "\f".join(f"the longer text of page {c}" for c in "abcdefghijkl")


def test_lines_within_a_page_stay_however_often_they_repeat() -> None:
    pages = [[f"start {c * 3}", "the same line", "the same line", f"end {c * 3}"] for c in "abcdef"]
    assert running_text(pages)[0].count("the same line") == 12


def test_pages_much_alike_stay() -> None:
    pages = [["Certificate", f"No. {n}", "awarded to somebody", "with thanks"] for n in range(5)]
    assert running_text(pages)[0].count("awarded to somebody") == 5


def test_a_turkish_i_without_a_dot_counts_no_pages() -> None:
    pages = [[f"B\u00f6l\u00fcm {mark}", f"the words of page {c * 3}"] for mark, c in zip("i\u0131", "ab", strict=True)]
    assert running_text(pages)[0].count("\u0131") == 1


def test_one_page_loses_nothing() -> None:
    assert running_text([["1", "Title", "text", "1"]])[0] == "1 Title text 1"


def test_no_text_is_no_error() -> None:
    document = read_document(make_pdf([[], []], numbered=False), "", Options(), Limits())
    assert document.text == ""
    assert "perhaps scanned" in document.notes[0]


def test_a_truncated_pdf_gives_what_is_left_or_a_reason() -> None:
    whole = make_pdf([[f"page {c * 4} has words"] for c in "abcdefgh"])
    for size in (10, 200, len(whole) // 2, len(whole) - 30):
        try:
            text = read_document(whole[:size], "a.pdf", Options(), Limits()).text
        except ExtractionError as error:
            text = error.reason
        assert text == "malformed" or "has words" in text


def test_text_over_the_limit_is_refused() -> None:
    data = make_pdf([["word " * 15] * 50] * 40)
    with pytest.raises(ExtractionError, match="too-large"):
        read(data, limits=Limits(input_bytes=len(data) + 1000))


BODY = ["The first line of the text", "The second line of the text"]


@pytest.mark.parametrize(
    ("large", "outline", "title"),
    [
        (["On the tides of", "the northern sea"], "", "On the tides of the northern sea"),
        (["On the tides"], "Introduction", "On the tides"),
        ([], "", ""),
        ([], "The first line", ""),
        ([], "The first line of the text", "The first line of the text"),
        ([], "Introduction", ""),
        # What may not be meant as a title, or isn't one.
        (["T"], "", ""),
        (["2019-04-25"], "", ""),
        (["1. Introduction"], "", ""),
        (["DRAFT"], "", ""),
        (["www.example.org for all"], "", ""),
        (["a line", "that is", "only some", "of a", "large text"], "", ""),
    ],
)
def test_a_title_is_what_the_first_page_sets_apart(large: list[str], outline: str, title: str) -> None:
    document = read(make_pdf([BODY, BODY], large=large, outline=outline))
    assert document.title == title
    # It says nothing of the text, which stays as the lines have it.
    assert document.text == " ".join([*large, *BODY, "1", *BODY, "2"])


def test_text_of_one_size_and_text_that_grows_have_no_title() -> None:
    assert read(make_pdf([BODY], header="A running header")).title == ""
    assert read(make_pdf([[]], large=["All that there is"], numbered=False)).title == ""


def test_titles_of_real_papers_are_those_of_their_metadata(shared_data: Path) -> None:
    """The titles as the first pages set them, of papers that also name them in metadata."""
    import pypdfium2

    from indexer.extract.pdfium import handle_of, title_on_page

    papers = sorted((shared_data / "jose").glob("*/*.pdf"))
    found = 0
    for paper in papers:
        document = pypdfium2.PdfDocument(paper)
        named = document.get_metadata_value("Title")
        page = document[0].get_textpage()
        title = title_on_page(document, handle_of(page))
        document.close()
        assert title in ("", named.replace("'", "\u2019"), named)
        found += title != ""
    assert found > 0.9 * len(papers) > 20
