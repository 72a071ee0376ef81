"""What extraction leaves out of the text is there beside it, so that nothing that was read is lost."""

from __future__ import annotations

import email
import io
import zipfile
import zlib

import pytest

from indexer.extract.base import Extractor, Limits, Options
from indexer.extract.document import read_document
from indexer.extract.mails import MailParts
from indexer.extract.packages.office import parts_beside
from indexer.extract.packages.parts import PackageParts
from indexer.model import Document
from tests.extract.made_office import docx
from tests.extract.made_pdf import make_pdf

EXTRACTORS: tuple[Extractor, ...] = ("fast", "reference")


def read(data: bytes | str, name: str, extractor: Extractor = "fast") -> Document:
    given = data.encode() if isinstance(data, str) else data
    return read_document(given, name, Options(extractor=extractor), Limits())


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_page_keeps_its_furniture_and_its_fields_beside_the_text(extractor: Extractor) -> None:
    page = (
        "<body><h1>Flat</h1><nav>Home<script>var a</script></nav><form><input name=q value=Ann>"
        "<input type=hidden value=gone><select><option>a<option selected>b</select></form><div hidden>secret</div>"
        "<footer>page of Ann</footer><div role=dialog>cookies</div><div class=navbar><a href=a>more</a></div>"
    )
    found = read(page, "a.html", extractor)
    assert found.text == "Flat"
    assert sorted(found.left_out) == [
        ("dialog", "cookies"),
        ("field", "Ann"),
        ("field", "b"),
        ("footer", "page of Ann"),
        ("form", "a b"),
        ("hidden", "secret"),
        ("menu or banner", "more"),
        ("navigation", "Home"),
    ]


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    ("page", "text", "left_out"),
    [
        ("<p>It has 10<sup>6</sup> stars<sup>a</sup>", "It has 10^6 starsa", ()),
        ("<p>It is <del>not</del> valid", "It is […] valid", (("deleted", "not"),)),
        ("<p>A <math><mfrac><mn>1</mn><mn>2</mn></mfrac> of <msup><mi>x</mi><mn>2</mn></msup>", "A 1/2 of x^2", ()),
        ("<p><input type=checkbox checked> tea <input type=radio> rye", "[x] tea [ ] rye", ()),
    ],
)
def test_what_text_alone_would_not_say_is_written_out(
    page: str, text: str, left_out: tuple[tuple[str, str], ...], extractor: Extractor
) -> None:
    found = read(page, "a.html", extractor)
    assert (found.text, found.left_out) == (text, left_out)


CELLS = (("table cell", "column 1: tea, column 3: x"),)


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    ("row", "left_out"),
    [
        ("<tr><td>tea</td><td></td><td>x</td></tr>", CELLS),
        ("<tr>\n<td><p>tea</p></td>\n<td>&nbsp;</td>\n<th>x</th>\n</tr>", CELLS),
        ("<tr><td></td><td>x</td></tr>", (("table cell", "column 2: x"),)),
        ("<tr><td>tea</td><td>x</td><td></td></tr>", ()),
        ("<tr><td>tea<td>x</tr>", ()),
    ],
)
def test_the_column_of_a_cell_behind_an_empty_one_counts(
    row: str, left_out: tuple[tuple[str, str], ...], extractor: Extractor
) -> None:
    table = f"<table><tr><th>drink<th>yes<th>no</tr>{row}</table>"
    assert read(f"<body><p>Tick a box.</p>{table}<p>Thank you.</p>", "a.html", extractor).left_out == left_out


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_the_column_of_a_cell_counts_in_other_formats(extractor: Extractor) -> None:
    cells = [f"<w:tc><w:p><w:r><w:t>{said}</w:t></w:r></w:p></w:tc>" for said in ("tea", "", "x")]
    letter = docx(f"<w:tbl><w:tr>{''.join(cells)}</w:tr></w:tbl>")
    assert CELLS[0] in read(letter, "a.docx", extractor).left_out
    rows = "<row><entry>tea</entry><entry/><entry>x</entry></row>"
    table = f"<informaltable><tgroup><tbody>{rows}</tbody></tgroup></informaltable>"
    article = f"<article><para>Tick a box.</para>{table}</article>"
    assert read(article, "a.xml", extractor).left_out == CELLS


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_attributes_of_data_are_kept_and_those_of_markup_are_not(extractor: Extractor) -> None:
    found = read(
        '<bill xml:lang="en"><line price="12">tea</line><line price="13">rye</line></bill>', "a.xml", extractor
    )
    assert (found.text, found.left_out) == ("tea\nrye", (("line/@price", "12"), ("line/@price", "13")))
    text = "<article><front><journal-meta>Tea</journal-meta></front><body><p id='p1'>a<sup>2</sup></p></body></article>"
    found = read(text, "a.xml", extractor)
    assert (found.text, found.left_out) == ("a^2", (("journal-meta", "Tea"),))


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_running_line_is_margin_if_only_page_numbers_differ(extractor: Extractor) -> None:
    words = ["ferry", "valley", "honey"]
    pages = [[f"Bill 4711 page {n}", f"a {word} is here", f"and a {word} there"] for n, word in enumerate(words, 7)]
    found = read(make_pdf(pages, numbered=False), "a.pdf", extractor)
    assert found.left_out == (("page margin", "Bill 4711 page #"),)
    assert "Bill" not in found.text
    # Here another number differs, so that it is text.
    pages = [[f"Amount {n * 10}", *page[1:]] for n, page in enumerate(pages, 7)]
    found = read(make_pdf(pages, numbered=False), "a.pdf", extractor)
    assert found.left_out == ()
    assert found.text.count("Amount") == 3


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_values_of_a_form_in_a_pdf_are_read(extractor: Extractor) -> None:
    made = make_pdf([["Name of the guest"]], numbered=False).replace(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[<</FT/Tx/T(guest)/V(Ann)/Type/Annot/Subtype/Widget"
        b"/Rect[9 9 99 29]/F 4>>]>>>>",
    )
    # The page names the field too.
    made = made.replace(
        b"/MediaBox", b"/Annots[<</FT/Tx/T(guest)/V(Ann)/Type/Annot/Subtype/Widget/Rect[9 9 99 29]>>]/MediaBox"
    )
    found = read(made, "a.pdf", extractor)
    assert ("field guest", "Ann") in found.left_out


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_remarks_on_a_pdf_are_read(extractor: Extractor) -> None:
    remarks = (
        b"/Annots[<</Type/Annot/Subtype/Highlight/Rect[9 9 99 29]/Contents(too dear)>>"
        b"<</Type/Annot/Subtype/Text/Rect[9 9 99 29]/Contents(ask Ann)>>"
        b"<</Type/Annot/Subtype/Link/Rect[9 9 99 29]/Contents(a link)>>]/MediaBox"
    )
    made = make_pdf([["Twelve beds"]], numbered=False)
    found = read(made.replace(b"/MediaBox", remarks), "a.pdf", extractor)
    assert (found.text, found.left_out) == ("Twelve beds", (("comment", "too dear"), ("comment", "ask Ann")))


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_minus_drawn_in_a_plot_is_named(extractor: Extractor) -> None:
    made = make_pdf([["1.5 0.5"]], numbered=False)
    drawn = made.replace(b"/Resources<<", b"/Resources<</XObject<</F1-DejaVuSans-minus 3 0 R>>")
    assert read(drawn, "a.pdf", extractor).left_out == (("drawn sign", "minus"),)
    assert read(made, "a.pdf", extractor).left_out == ()


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("written", [b"(too dear)", b" <746f6f2064656172>", b" " * 99 + b"(too dear)", b" 6 0 R"])
def test_remarks_on_a_pdf_are_read_however_they_are_written(written: bytes, compressed: bool) -> None:
    remark = b"<</Type/Annot/Subtype/Text/Rect[9 9 99 29]/Contents%s>>" % written
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Annots[5 0 R]/Contents 4 0 R>>",
        b"<</Length 0>>stream\n\nendstream",
        b"null" if compressed else remark,
        b"(too dear)",
    ]
    if compressed:
        packed = zlib.compress(b"5 0 " + remark)
        objects.append(
            b"<</Type/ObjStm/N 1/First 4/Filter/FlateDecode/Length %d>>stream\r\n%s\nendstream" % (len(packed), packed)
        )
    out, places = b"%PDF-1.5\n", []
    for number, body in enumerate(objects, 1):
        places.append(b"\x01%s\0" % len(out).to_bytes(4, "big"))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    if compressed:
        places[4] = b"\x02\0\0\0\x07\0"
    table = b"\0" * 6 + b"".join(places)
    out += b"9 0 obj\n<</Type/XRef/W[1 4 1]/Size %d/Root 1 0 R/Length %d>>stream\n%s\nendstream\nendobj\n" % (
        len(places) + 1,
        len(table),
        table,
    )
    out += b"startxref\n%d\n%%%%EOF\n" % out.rindex(b"9 0 obj")
    assert read(out, "a.pdf").left_out[:1] == (("comment", "too dear"),)


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_words_that_no_reader_of_a_page_sees_stand_beside_it(extractor: Extractor) -> None:
    page = (
        "<h1>Tea</h1><svg><text>East</text></svg><noscript>Turn scripts on</noscript><video>No film</video>"
        "<ruby>\u6771<rp>(</rp><rt>higashi</rt><rp>)</rp></ruby><script>var a</script><style>p {}</style>"
    )
    left_out = (("svg", "East"), ("noscript", "Turn scripts on"), ("video", "No film"), ("rt", "higashi"))
    assert read(page, "a.html", extractor).left_out == left_out


def test_what_a_mail_quotes_stands_beside_its_words() -> None:
    head = "From: Ann <ann@example.org>\nMessage-ID: <1@example.org>\nSubject: Tea\n"
    wrote = "On 3 May 2026 at 12:10, ben@example.org wrote:"
    said = f"Fine by me.\n\n{wrote}\n> Twelve crowns\n> a pot\n\nAnn\n-- \nThe tea house\n"
    quoted = f"{wrote} > Twelve crowns > a pot -- The tea house"
    encoded = f"{head}MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\n"
    found = read(f"{encoded}{said}\n--b--\n", "letter")
    assert found.text.split() == ["Fine", "by", "me.", "Ann"]
    assert found.left_out == (("quoted", quoted), ("subject", "Tea"))


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_headers_and_deletions_of_a_letter_stand_beside_its_text(extractor: Extractor) -> None:
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    raised = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>6</w:t></w:r>'
    body = (
        f"<w:document {space}><w:body><w:p><w:pPr><w:numPr><w:ilvl w:val='1'/></w:numPr></w:pPr>"
        f"<w:r><w:t>10</w:t></w:r>{raised}<w:del><w:r><w:delText>not</w:delText></w:r></w:del>"
        "<w:r><w:sym w:font='Wingdings' w:char='2611'/></w:r></w:p></w:body></w:document>"
    )
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("word/document.xml", body)
        archive.writestr("word/header1.xml", f"<w:hdr {space}><w:p><w:r><w:t>Bill 4711</w:t></w:r></w:p></w:hdr>")
    found = read(data.getvalue(), "a.docx", extractor)
    assert found.text == "10^6[…]☑"
    assert found.left_out == (("list level", "1"), ("deleted", "not"), ("page header", "Bill 4711"))


def test_the_text_of_a_mail_is_no_placeholder() -> None:
    def body(plain: str) -> list[bool]:
        mail = email.message_from_string(
            "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\n"
            f"{plain}\n--b\nContent-Type: text/html\n\n<style>{'p {color: red} ' * 9}</style><p>"
            f"{'A ferry. ' * 30}\n--b--\n"
        )
        return [piece.is_html for piece in MailParts().body(mail)]

    assert body("Your reader shows no HTML.") == [True]
    assert body("A ferry. " * 30) == [False]


def zipped(parts: dict[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return data.getvalue()


def test_comments_charts_and_margins_of_office_are_read() -> None:
    points = "".join(f"<c:pt><c:v>{value}</c:v></c:pt>" for value in (12, 13))
    chart = f"<c:chart xmlns:c='c' xmlns:a='a'><a:t>Sales</a:t>{points}</c:chart>"
    slide = (
        '<p:sld xmlns:p="p" xmlns:a="a"><p:sp><p:nvPr><p:ph type="ftr"/></p:nvPr><a:t>Bill 4711</a:t></p:sp>'
        "<p:sp><a:t>Tea</a:t></p:sp></p:sld>"
    )
    sheet = (
        '<worksheet><headerFooter><oddHeader>&amp;L&amp;"Arial"Bill 4711&amp;R</oddHeader></headerFooter></worksheet>'
    )
    made = zipped(
        {
            "ppt/comments/comment1.xml": "<p:cmLst xmlns:p='p'><p:cm><p:text>Too dear</p:text></p:cm></p:cmLst>",
            "ppt/charts/chart1.xml": chart,
            "ppt/slides/slide1.xml": slide,
            "xl/worksheets/sheet1.xml": sheet,
            "ppt/commentAuthors.xml": "<p:cmAuthorLst xmlns:p='p'><p:cmAuthor id='0' name='Ann'/></p:cmAuthorLst>",
            "xl/comments1.xml": "<comments><authors><author>Ben</author></authors><commentList>"
            "<comment authorId='0'><text><t>Why?</t></text></comment></commentList></comments>",
            "xl/persons/person.xml": "<personList><person displayName='Eve'/></personList>",
            "word/comments.xml": "<w:a xmlns:w='w'><w:comment w:author='Dan'><w:t>Hm</w:t></w:comment></w:a>",
        }
    )
    with PackageParts(made, Limits()) as parts:
        assert parts_beside(parts, "ppt", "fast") == [
            ("commenter", "Ann"), ("comment", "Too dear"), ("chart", "Sales 12 13"), ("page footer", "Bill 4711"),
        ]  # fmt: skip
        assert parts_beside(parts, "xl", "fast") == [
            ("commenter", "Ben"), ("comment", "Why?"), ("commenter", "Eve"), ("page header", "Bill 4711"),
        ]  # fmt: skip
        assert parts_beside(parts, "word", "fast") == [("commenter", "Dan"), ("comment", "Hm")]


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_raised_digits_of_open_documents_are_exponents(extractor: Extractor) -> None:
    made = zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": "<o:doc xmlns:o='o' xmlns:s='s' xmlns:t='t'><s:style s:name='T1'><s:text-properties "
            "s:text-position='super 58%'/></s:style><t:p>10<t:span t:style-name='T1'>6</t:span> "
            "<t:span t:style-name='T2'>7</t:span></t:p></o:doc>",
        }
    )
    assert read(made, "a.odt", extractor).text == "10^6 7"


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_struck_words_and_objects_of_open_documents_stand_beside_the_text(extractor: Extractor) -> None:
    made = zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": "<o:doc xmlns:o='o' xmlns:s='s' xmlns:t='t'><s:style s:name='T1'><s:text-properties "
            "s:text-line-through-style='solid'/></s:style><t:p>It is <t:span t:style-name='T1'>not</t:span> "
            "<t:span t:style-name='T2'>valid</t:span></t:p></o:doc>",
            "Object 1/content.xml": "<math><mi>E</mi><mo>=</mo><mn>4</mn></math>",
        }
    )
    found = read(made, "a.odt", extractor)
    assert (found.text, found.left_out) == ("It is […] valid", (("deleted", "not"), ("object", "E=4")))


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    ("body", "text", "left_out"),
    [
        (
            "<r><rPr><strike/></rPr><t>not</t></r><r><rPr><dstrike/></rPr><t>at all</t></r>"
            "<r><rPr><strike val='0'/></rPr><t> valid</t></r>",
            "[…] valid",
            (("deleted", "not at all"),),
        ),
        ("<pPr><rPr><strike/></rPr></pPr><r><t>valid</t></r>", "valid", ()),
        ("<f><num><r><t>1</t></r></num><den><r><t>2</t></r></den></f>", "1/2", ()),
        ("<sSup><e><r><t>x</t></r></e><sup><r><t>2</t></r></sup></sSup><r><t>y</t></r>", "x^2y", ()),
        ("<d><dPr/><e><r><t>a</t></r></e><e><d><e><r><t>b</t></r></e></d></e></d>", "(a|(b))", ()),
        ("<d><dPr><begChr val='['/><endChr val=']'/></dPr><e><rad><e><r><t>4</t></r></e></rad></e></d>", "[√4]", ()),
    ],
)
def test_struck_words_and_formulas_of_word_are_written_out(
    body: str, text: str, left_out: tuple[tuple[str, str], ...], extractor: Extractor
) -> None:
    made = zipped({"word/document.xml": f"<document><body><p>{body}</p></body></document>"})
    found = read(made, "a.docx", extractor)
    assert (found.text, found.left_out) == (text, left_out)
