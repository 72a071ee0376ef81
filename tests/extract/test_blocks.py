"""Where blocks, cells and pages end in the text of a document; and that nothing else of it depends on these ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.core.markup import ENDS_WORD, Names
from indexer.extract import pdf, pdfium, running
from indexer.extract.base import Extractor, Limits, Options
from indexer.extract.document import read_document
from indexer.extract.markup import boilerplate, html, xml
from indexer.extract.markup.man import extract_man
from indexer.extract.paragraphs import PageLine, of_text, with_ends
from indexer.extract.text import cleaned
from tests.extract.made_pdf import make_pdf

EXTRACTORS: tuple[Extractor, ...] = ("fast", "reference")


def text_of(data: bytes, name: str, extractor: Extractor = "fast") -> str:
    return read_document(data, name, Options(extractor=extractor), Limits(seconds=20)).text


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<h1>Tea</h1>\n<p>One\n\tpot of <b>black</b> tea.<p>Two", "Tea\nOne pot of black tea.\nTwo"),
        ("a<ul><li>b<li>c<ul><li>d</ul></ul>e", "a\nb\nc\nd\ne"),
        (
            "<table><tr><th>Who</th>\n<th>Many</th></tr>\n<tr><td><p>Ann</p></td><td><div>12</div></td></tr></table>x",
            "Who\tMany\nAnn\t12\nx",
        ),
        ("<p>words <img src=x> around<br>a picture", "words around\na picture"),
        ("x\ny<pre>a  b\n  c\n\nd</pre>e\nf", "x y\na b\nc\nd\ne f"),
        ("form\ffeeds are<p>\tspaces", "form feeds are\nspaces"),
    ],
)
def test_pages(page: str, text: str, extractor: Extractor) -> None:
    assert text_of(page.encode(), "a.html", extractor) == text


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<r><n>a</n> <n>b</n>\n<n><m>c</m><m>d</m></n></r>", "a\nb\nc\nd"),
        # Words beside an element say that it stands within a line, also those behind it.
        ("<r><p><n>a</n> and <n>b</n></p><p>c <n><m>d</m><m>e</m></n></p></r>", "a and b\nc\nd\ne"),
        ("<r><row><entry>a</entry><entry><p>b</p></entry></row><row><entry>c</entry></row></r>", "a\tb\nc"),
        ("<rss><item><title>a</title><description>&lt;p>b&lt;/p>&lt;p>c</description></item></rss>", "a\nb\nc"),
    ],
)
def test_xml(source: str, text: str, extractor: Extractor) -> None:
    assert text_of(source.encode(), "a.xml", extractor) == text


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_paragraph_of_a_pdf_is_one_line(extractor: Extractor) -> None:
    full = "Nine plain words fill a line of this page"
    pages = [
        [full, full, "and end.", f"{full} now", f"{full}.", "- an item is here to end.", "- an item"],
        [full, full],
    ]
    text = text_of(make_pdf(pages, numbered=False), "", extractor)
    assert text == f"{full} {full} and end.\n{full} now {full}.\n- an item is here to end.\n- an item\f{full} {full}"


def test_gaps_indents_bullets_and_blank_lines_end_paragraphs() -> None:
    long = "words " * 8 + "end."
    lines = [PageLine(long), PageLine(long, 9, 12), PageLine(long, 0, 12), PageLine(long, 0, 20), PageLine(long, 0, 12)]
    assert [line.endswith("\f") for line in with_ends(lines)] == [True, False, True, False, True]
    assert with_ends([PageLine("words " * 8), PageLine("• item " * 7)])[0].endswith("\f")
    assert with_ends([]) == []
    assert of_text("a line of words\n\n\nof more words than\nthe line before it") == [
        *("a line of words\f", "of more words than", "the line before it\f")
    ]


def test_lines_of_a_manual_page_that_are_filled_are_one() -> None:
    page = ".TH SPIN 1\n.SH NAME\nspin \\- turn\na wheel\n.PP\nMore\n.B words\n.nf\none\ntwo\n.fi\n.TP\n-f\nfast"
    assert extract_man(page.encode()).text == "NAME\nspin - turn a wheel\nMore words\none\ntwo\n-f fast"


def test_text_keeps_its_own_lines() -> None:
    assert text_of(b"a\n\n  b\tc\n", "a.txt") == "a\n\n  b\tc\n"


def test_ends_change_nothing_else_of_real_documents(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        *sorted((shared_data / "html" / "mixed").rglob("*.html"))[::60],
        *sorted((shared_data / "html" / "udhr").rglob("*.html"))[::60],
        *sorted((shared_data / "jose").rglob("*.pdf"))[::6],
        *sorted((shared_data / "xml").rglob("*.xml"))[::8],
    ]
    marked = [[text_of(path.read_bytes(), path.name, each) for each in EXTRACTORS] for path in found]
    names = [name for names in html._ENDS for name in names.split()]
    words_alone = Names(dict.fromkeys(names, ENDS_WORD), boilerplate.ELEMENTS, boilerplate.BEGINNINGS)
    monkeypatch.setattr(html, "_NAMES", words_alone)
    for module in (html, xml, running):
        monkeypatch.setattr(module, "in_blocks", cleaned)
    for module in (pdf, pdfium):
        monkeypatch.setattr(module, "with_ends", lambda lines: [line.text for line in lines])
    monkeypatch.setattr(running, "BLOCK_END", "\n")
    for path, texts in zip(found, marked, strict=True):
        for each, text in zip(EXTRACTORS, texts, strict=True):
            assert " ".join(text.split()) == text_of(path.read_bytes(), path.name, each).replace("\f", " "), path
        # Real documents have many blocks.
        assert any("\n" in text for text in texts), path
