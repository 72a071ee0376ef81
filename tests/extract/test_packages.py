"""EPUB, DOCX and OpenDocument files: what is read of them, and what damaged and hostile ones cost."""

from __future__ import annotations

import contextlib
import io
import random
import zipfile
from collections.abc import Callable

import pytest

from indexer.errors import ExtractionError
from indexer.extract import extract
from indexer.extract.base import Extractor, Limits, Options
from indexer.extract.document import read_document
from tests.extract.folded import folded
from tests.extract.made_office import W, docx, zipped

ODT = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
LAUGHS = (
    '<!DOCTYPE x [<!ENTITY l0 "ha">' + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12)) + "]>"
)
OPF = """<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>A book</dc:title><dc:title>other</dc:title><dc:creator>Ann</dc:creator></metadata><manifest>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="two" href="text/two%20.xhtml" media-type="application/xhtml+xml"/>
<item id="one" href="text/one.xhtml#top" media-type="application/xhtml+xml"/>
<item id="out" href="../../../etc/passwd" media-type="application/xhtml+xml"/>
<item id="style" href="a.css" media-type="text/css"/>
</manifest><spine><itemref idref="nav"/><itemref idref="one"/><itemref idref="out"/><itemref idref="two"/>
<itemref idref="one"/><itemref idref="none"/></spine></package>"""


def epub(**more: str | bytes) -> bytes:
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfile full-path="OPS/book.opf"/></container>',
            "OPS/book.opf": OPF,
            "OPS/nav.xhtml": "<html><body>table of contents</body></html>",
            "OPS/text/one.xhtml": "<html><head><title>t</title></head><body><p>first</p><p>page</p></body></html>",
            "OPS/text/two .xhtml": "<html><body><p>second page</p></body></html>",
            **more,
        }
    )


def odt(**more: str | bytes) -> bytes:
    text = f"""<office:document-content {ODT}><office:body><office:text><text:tracked-changes><text:p>deleted</text:p>
        </text:tracked-changes><text:h>Head</text:h><text:p>wo<text:span>rd</text:span><text:s/>next<text:note>
        <text:note-citation>1</text:note-citation><text:note-body><text:p>a note</text:p></text:note-body></text:note>
        in line</text:p>
        <office:annotation><text:p>a comment</text:p></office:annotation></office:text></office:body>
        </office:document-content>"""
    meta = f"<office:document-meta {ODT}><office:meta><dc:title>A paper</dc:title></office:meta></office:document-meta>"
    return zipped(
        {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": text, "meta.xml": meta, **more}
    )


SLIDE = """<draw:page><draw:frame><draw:text-box><text:p>Tea</text:p></draw:text-box></draw:frame>
<text:list><text:list-item><text:p>Four minutes.</text:p></text:list-item></text:list></draw:page>
<draw:page><text:p>And rye</text:p></draw:page>"""
SHEET = """<table:table table:name="Stock 2026"><table:table-row>
<table:table-cell><text:p>tea</text:p></table:table-cell><table:table-cell>
<text:p>4</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>rye</text:p>
</table:table-cell><table:table-cell><text:p>3.5</text:p></table:table-cell></table:table-row></table:table>"""


def open_document(kind: str, body: str) -> bytes:
    names = ODT + ' xmlns:draw="urn:draw" xmlns:table="urn:table"'
    body = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    content = f"<office:document-content {names}>{body}</office:document-content>"
    return odt(mimetype=f"application/vnd.oasis.opendocument.{kind}", **{"content.xml": content})


@pytest.mark.parametrize("extractor", ["fast", "reference"])
@pytest.mark.parametrize(
    ("data", "kind", "title", "text"),
    [
        (epub(), "epub", "A book", "first page second page"),
        (docx(), "docx", "A letter", "One word […]in line cell a note"),
        (odt(), "odt", "A paper", "Head word next in line a note"),
        (open_document("presentation", SLIDE), "odp", "A paper", "Tea Four minutes. And rye"),
        (open_document("spreadsheet", SHEET), "ods", "A paper", "Stock 2026 tea 4 rye 3.5"),
        # The names of tables in texts are seen by nobody.
        (open_document("text", SHEET), "odt", "A paper", "tea 4 rye 3.5"),
    ],
)
def test_what_is_read(data: bytes, kind: str, title: str, text: str, extractor: str) -> None:
    document = folded(read_document(data, "", Options(extractor=extractor), Limits()))  # type: ignore[arg-type]
    assert (document.format, document.title, document.text) == (kind, title, text)


@pytest.mark.parametrize("extractor", ["fast", "reference"])
def test_where_blocks_cells_and_pages_end(extractor: Extractor) -> None:
    found = [
        read_document(data, "", Options(extractor=extractor), Limits()).text
        for data in (docx(), open_document("spreadsheet", SHEET), epub())
    ]
    assert found == ["One word\n[…]in line\ncell\na note", "Stock 2026\ntea\t4\nrye\t3.5", "first\npage\fsecond page"]


@pytest.mark.parametrize("extractor", ["fast", "reference"])
def test_the_author_of_a_book_stands_beside_its_text(extractor: Extractor) -> None:
    found = read_document(epub(), "", Options(extractor=extractor), Limits())
    assert found.left_out == (("table of contents", "table of contents"), ("book author", "Ann"))


STYLES = f"""<w:styles {W}><w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>
<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>"""


def written(*paragraphs: tuple[str, str]) -> bytes:
    """A DOCX file of paragraphs with styles, as Word in German writes it, without a title in its metadata."""
    body = "".join(
        f"<w:p><w:pPr><w:pStyle w:val='{style}'/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
        for style, text in paragraphs
    )
    text = f"<w:document {W}><w:body><w:p/>{body}</w:body></w:document>"
    return docx(**{"word/document.xml": text, "word/styles.xml": STYLES, "docProps/core.xml": "<cp/>"})


def set_in(*paragraphs: tuple[str, str]) -> bytes:
    """An ODT file of paragraphs, which begin with what is h, T or P in the first of each pair."""
    tags = {
        "berschrift1": ("text:h text:outline-level='1'", "text:h"),
        "Titel": ("text:p text:style-name='P1'", "text:p"),
        "": ("text:p text:style-name='P2'", "text:p"),
    }
    body = "".join(f"<{tags[style][0]}>{text}</{tags[style][1]}>" for style, text in paragraphs)
    styles = """<office:automatic-styles><style:style style:name="P1" style:parent-style-name="Title"/>
        <style:style style:name="P2" style:parent-style-name="Standard"/></office:automatic-styles>"""
    content = f"""<office:document-content {ODT} xmlns:style="urn:style">{styles}<office:body><office:text>{body}
        </office:text></office:body></office:document-content>"""
    return odt(**{"content.xml": content, "meta.xml": "<m/>"})


@pytest.mark.parametrize("extractor", ["fast", "reference"])
@pytest.mark.parametrize("made", [written, set_in])
@pytest.mark.parametrize(
    ("paragraphs", "title"),
    [
        ([("Titel", "On the tides"), ("", "Text.")], "On the tides"),
        ([("Titel", "On the"), ("Titel", "tides"), ("", "Text."), ("Titel", "Other")], "On the tides"),
        ([("", "March 2019"), ("Titel", "On the tides"), ("berschrift1", "Seas")], "On the tides"),
        ([("berschrift1", "On the tides"), ("", "Text.")], "On the tides"),
        # Names of sections, and what stands too late.
        ([("berschrift1", "Seas"), ("", "Text."), ("berschrift1", "Rivers")], ""),
        ([("", "On the tides"), ("berschrift1", "Seas")], ""),
        ([("berschrift1", "1. Introduction"), ("", "Text.")], ""),
        ([*[("", "Text.")] * 20, ("Titel", "On the tides")], ""),
        ([("Titel", "x" * 201)], ""),
        ([("", "On the tides")], ""),
        ([], ""),
    ],
)
def test_a_title_is_what_its_style_says(
    made: Callable[..., bytes], paragraphs: list[tuple[str, str]], title: str, extractor: str
) -> None:
    document = folded(read_document(made(*paragraphs), "", Options(extractor=extractor), Limits()))  # type: ignore[arg-type]
    assert document.title == title
    assert document.text.removesuffix("a note").strip() == " ".join(text for _, text in paragraphs)


def test_a_presentation_is_called_as_its_first_slide() -> None:
    def slides(*titles: str) -> str:
        frame = '<draw:page><draw:frame class="{}"><text:p>{}</text:p></draw:frame></draw:page>'
        made = open_document(
            "presentation", "".join(frame.format("title" if title else "subtitle", title or "x") for title in titles)
        )
        with zipfile.ZipFile(io.BytesIO(made)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist() if name != "meta.xml"}
        return read_document(zipped(parts), "", Options(), Limits()).title

    assert slides("On the tides", "Seas") == "On the tides"
    assert slides("", "Seas") == ""


def test_damaged_styles_cost_the_title_alone() -> None:
    data = docx(**{"word/styles.xml": "<styles", "docProps/core.xml": "<cp/>"})
    document = folded(read_document(data, "", Options(extractor="fast"), Limits()))
    assert (document.title, document.text) == ("", "One word […]in line cell a note")


def reason(data: bytes, limit: int = 200_000) -> str:
    with pytest.raises(ExtractionError) as caught:
        read_document(data, "", Options(), Limits(input_bytes=limit))
    return caught.value.reason


def test_bombs() -> None:
    spaces = " " * 5_000_000
    assert reason(epub(**{"OPS/text/one.xhtml": f"<p>{spaces}"})) == "too-large"
    assert reason(docx(spaces)) == "too-large"
    assert reason(odt(**{"content.xml": f"<a>{spaces}</a>"})) == "too-large"
    # Many parts, each within the limit.
    pages = {f"OPS/{n}.xhtml": "<p>" + " " * 100_000 for n in range(10)}
    items = "".join(f'<item id="i{n}" href="{n}.xhtml" media-type="text/html"/>' for n in range(10))
    spine = "".join(f'<itemref idref="i{n}"/>' for n in range(10))
    package = f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>"
    assert reason(epub(**{"OPS/book.opf": package}, **pages)) == "too-large"


def test_entities_are_never_expanded() -> None:
    document = read_document(
        docx(**{"word/document.xml": f"{LAUGHS}<w:d {W}><w:t>before &l11; after</w:t></w:d>"}), "", Options(), Limits()
    )
    assert document.text.split() == ["before", "after", "a", "note"]
    book = OPF.replace("A book", "A &l11; book")
    assert read_document(epub(**{"OPS/book.opf": LAUGHS + book}), "", Options(), Limits()).title == "A book"


def test_encrypted_documents() -> None:
    locked = '<encryption><CipherReference URI="OPS/text/one.xhtml"/></encryption>'
    assert reason(epub(**{"META-INF/encryption.xml": locked})) == "encrypted"
    font = locked.replace("text/one.xhtml", "font.otf")
    assert read_document(epub(**{"META-INF/encryption.xml": font}), "", Options(), Limits()).text
    assert reason(odt(**{"META-INF/manifest.xml": "<manifest:encryption-data/>"})) == "encrypted"
    data = bytearray(docx())
    place = data.find(b"PK\x01\x02", data.find(b"PK\x01\x02") + 1)
    data[place + 8] |= 1
    assert reason(bytes(data)) == "encrypted"


def test_what_lacks_its_parts() -> None:
    assert reason(zipped({"mimetype": "application/epub+zip", "a": "b"})) == "malformed"
    assert reason(zipped({"mimetype": "application/vnd.oasis.opendocument.text"})) == "malformed"
    assert reason(zipped({"a.txt": "words"})) == "unsupported"
    assert reason(zipped({"mimetype": "application/vnd.oasis.opendocument.graphics"})) == "unsupported"


@pytest.mark.parametrize("make", [epub, docx, odt])
def test_damage_costs_the_document_only(make: object) -> None:
    assert callable(make)
    whole = make()
    chance = random.Random(2)
    for number in range(60):
        data = bytearray(whole)
        if number % 2:
            del data[chance.randrange(len(data)) :]
        for _ in range(6):
            if data:
                data[chance.randrange(len(data))] = chance.randrange(256)
        # Any other error would go through.
        with contextlib.suppress(ExtractionError):
            read_document(bytes(data), "", Options(), Limits())


def test_a_worker_reads_them() -> None:
    assert extract(epub(), limits=Limits(seconds=20)).text == "first\npage\fsecond page"
