"""RTF, the documents of Microsoft Office, mails of Outlook: real ones, damaged ones, none without the library."""

from __future__ import annotations

import io
import random
import sys
import zipfile
from typing import Any

import pytest

from indexer.errors import ExtractionError
from indexer.extract import WorkerPool
from indexer.extract.base import Item, Limits, Options
from indexer.extract.document import read_document
from indexer.extract.formats import MICROSOFT
from indexer.extract.microsoft import _FIELD_CODE, _library
from indexer.model import Document
from tests.extract.folded import folded
from tests.extract.real_office import names, real

RTF = rb"""{\rtf1\ansi\ansicpg1252{\info{\title Tea and rye}}{\*\generator none;}
\pard A pot of tea, \b four\b0  minutes: gr\'fc\'dfe, \u1095?\u1072?\u1081?.\par Then pour it.\par}"""


def read(data: bytes, name: str = "") -> Document:
    return folded(read_document(data, name, Options(), Limits()))


def outcomes(items: list[Item[Any]]) -> list[Any]:
    with WorkerPool(1, Options(), Limits(seconds=20, memory=1 << 30)) as pool:
        return list(pool.outcomes(items))


def test_rtf() -> None:
    found = read(RTF)
    assert (found.format, found.text) == ("rtf", "A pot of tea, four minutes: grüße, чай. Then pour it.")
    assert found.title == "Tea and rye"
    assert found.extractor.startswith("kreuzberg ")


def test_what_is_left_out_of_rtf_stands_beside_it() -> None:
    found = read(
        rb"{\rtf1\ansi{\headerl{\pict 0a}Bill 4711}A pot of tea{\*\footnote\pard caf\'e9 \u8217's {\*\fldinst PAGE}"
        rb"\uc0\u8364 5{\i  best\par}\uc1\u-10179?\u-8704\'3f}.{\*\annotation\pard too dear\par}\par}",
        "a.rtf",
    )
    left_out = [part for part in found.left_out if part[1] not in found.text]
    assert left_out == [("footnote", "café ’s €5 best 😀"), ("comment", "too dear")]
    assert "Bill 4711" in f"{found.text} {found.left_out}"


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("testWORD_various.doc", "doc", "Suddenly some Japanese text: ゾルゲと尾崎"),
        ("testPPT_various.ppt", "ppt", "Suddenly some Japanese text: ゾルゲと尾崎"),
        ("testPPT_various.pptx", "pptx", "Suddenly some Japanese text: ゾルゲと尾崎"),
        ("testEXCEL.xls", "xls", "Sample Excel Worksheet"),
        ("testEXCEL_5.xls", "xls", "Sample Excel Worksheet"),
        ("testEXCEL_WORKBOOK_in_capitals.xls", "xls", ""),
        ("testEXCEL.xlsx", "xlsx", "Sample Excel Worksheet"),
        ("testMSG.msg", "msg", "As discussed, I've been working on making the type detection code more modular"),
        ("testMSG_att_msg.msg", "msg", ""),
        ("testRTFVarious.rtf", "rtf", "Suddenly some Japanese text: ゾルゲと尾崎"),
    ],
)
def test_real_files_are_known_by_their_content(name: str, kind: str, words: str) -> None:
    found = read(real(name))
    assert found.format == kind
    assert found.text
    assert words in found.text


def test_the_header_of_a_mail_is_no_text_and_its_subject_the_title() -> None:
    found = read(real("testMSG.msg"))
    assert found.title == "MIME registry use cases"
    assert found.text.startswith("Hi, As discussed")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("testWORD_boldHyperlink.doc", "This is a bold hyper link; bold, I say. hyper link"),
        ("testWORD_various.doc", "This is a hyperlink"),
        ("testControlCharacters.doc", "1. Introduzione 2"),
        ("testWORD_various.doc", "Figure 1 This is"),
        ("testWORD_embeded.doc", "The Alfresco logo is above this"),
        ("testWPSAttachment.doc", ""),
        ("Doc1_ole.doc", ""),
    ],
)
def test_the_codes_of_fields_are_no_words(name: str, words: str) -> None:
    text = read(real(name)).text
    assert words in text
    for code in ("HYPERLINK", "PAGEREF", "TOC", "_Toc", "SEQ ", "EMBED ", "MERGEFORMAT"):
        assert code not in text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("2023/02/18\n SHAPE \nTable", "2023/02/18\n\nTable"),
        ("Next\t\t SHAPE \n", "Next\t\t\n"),
        ("The SHAPE OF THINGS\nIN GOOD SHAPE \n", "The SHAPE OF THINGS\nIN GOOD SHAPE \n"),
        ('a  EMBED Word.Document.12 \\s\nb', "a  b"),
        ('Table  SEQ Table \\* ARABIC 1: of EMBED and SEQ alone', "Table  1: of EMBED and SEQ alone"),
    ],
)  # fmt: skip
def test_codes_are_told_from_words(text: str, left: str) -> None:
    assert _FIELD_CODE.sub("", text) == left


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("testEXCEL.xls", "testEXCEL.xlsx"),
        ("testEXCEL.xls", "testEXCEL_5.xls"),
        ("testEXCEL_headers_footers.xls", "testEXCEL_headers_footers.xlsx"),
        ("test-columnar.xls", "test-columnar.xlsx"),
    ],
)
def test_a_sheet_in_two_formats_is_one_text(left: str, right: str) -> None:
    assert read(real(left)).text.split() == read(real(right)).text.split()


@pytest.mark.parametrize(
    "name", ["testEXCEL_protected_passtika.xls", "protectedFile.xlsx", "testPPT_protected_passtika.pptx"]
)
def test_what_has_a_password_is_encrypted(name: str) -> None:
    with pytest.raises(ExtractionError, match="has a password") as caught:
        read(real(name))
    assert caught.value.reason == "encrypted"


def test_every_real_file_is_read_or_recorded_with_its_reason() -> None:
    items = [
        Item(name, real(name), name)
        for suffix in (".rtf", ".doc", ".ppt", ".pptx", ".xls", ".xlsx", ".msg")
        for name in names(suffix)
    ]
    assert len(items) > 150
    reasons = dict.fromkeys(item.key for item in items)
    for made in outcomes(items):
        reasons[made.key] = getattr(made, "reason", "") or made.document.format
    assert set(reasons.values()) <= {*MICROSOFT, "encrypted", "malformed", "unsupported"}
    assert sum(kind in MICROSOFT for kind in reasons.values()) > 0.9 * len(items)


@pytest.mark.parametrize("name", ["testWORD.doc", "testPPT.ppt", "testEXCEL.xls", "testPPT.pptx", "testMSG.msg"])
def test_damage_costs_one_document(name: str) -> None:
    data, chance = real(name), random.Random(3)
    items = [Item(("cut", at), data[:at]) for at in sorted(chance.sample(range(len(data)), 12))]
    for number in range(12):
        harmed = bytearray(data)
        for _ in range(40):
            harmed[chance.randrange(len(harmed))] = chance.randrange(256)
        items.append(Item(("harmed", number), bytes(harmed)))
    ended = {made.key for made in outcomes(items)}
    assert ended == {item.key for item in items}


def test_groups_without_end_and_much_of_nothing_cost_one_document() -> None:
    items = [
        Item("deep", b"{\\rtf1 " + b"{" * 2_000_000),
        Item("long", b"{\\rtf1 " + b"\\u8364? " * 2_000_000 + b"}"),
        Item("binary", b"{\\rtf1 {\\pict\\bin999999999 " + b"a" * 1000 + b"}}"),
        Item("after", RTF),
    ]
    made = {each.key: each for each in outcomes(items)}
    assert set(made) == {"deep", "long", "binary", "after"}
    assert not hasattr(made["after"], "reason")


def test_a_slide_that_unpacks_to_more_than_memory_costs_one_document() -> None:
    bomb = io.BytesIO(real("testPPT.pptx"))
    with (
        zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("ppt/slides/slide9.xml", "w") as slide,
    ):
        for _ in range(1500):
            slide.write(b"<a:t>" + b" " * 1_000_000)
    made = {each.key: each for each in outcomes([Item("bomb", bomb.getvalue()), Item("after", RTF)])}
    assert set(made) == {"bomb", "after"}
    assert not hasattr(made["after"], "reason")


@pytest.mark.parametrize("fill", ["", "<p:blipFill><a:blip/></p:blipFill>"])
def test_a_picture_without_data_costs_no_slide(fill: str) -> None:
    made, given = io.BytesIO(), zipfile.ZipFile(io.BytesIO(real("testPPT_various.pptx")))
    with zipfile.ZipFile(made, "w") as archive:
        for name in given.namelist():
            archive.writestr(
                name, given.read(name).replace(b"</p:spTree>", f"<p:pic>{fill}</p:pic></p:spTree>".encode())
            )
    found = read(made.getvalue())
    assert found.text == read(real("testPPT_various.pptx")).text
    assert "read without its pictures: " in found.notes[0]


def test_without_the_library_the_failure_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kreuzberg", None)
    _library.cache_clear()
    with pytest.raises(ExtractionError, match=r"pip install 'neardup\[formats\]'") as caught:
        read(RTF)
    assert caught.value.reason == "unsupported"
    monkeypatch.undo()
    assert read(RTF).text
