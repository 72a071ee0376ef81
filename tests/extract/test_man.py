"""Manual pages: what a reader sees of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.extract import extract
from indexer.extract.base import Limits, Options
from indexer.extract.document import read_document
from indexer.extract.markup.man import extract_man
from indexer.model import Document

PREAMBLE = r""".\" Made by a generator
.de Vb \" Begin verbatim text
.ft CW
..
.ie n \{\
.    ds L" ""
.    if (\n(.H=4u) .ds -- \(*W
'br\}
.el\{\
.    ds L" ``
'br\}
.if \nF \{\
.        de IX
.        tm Index:\\$1
..
.        if !\nF==2 \{\
.            nr F 2
.        \}
.\}
.nh
"""


def read(text: str) -> Document:
    return read_document(text.encode(), "a.1", Options(), Limits())


def test_a_manual_page_is_read_without_what_it_defines() -> None:
    page = (
        PREAMBLE
        + r""".IX Title "SPIN 1"
.TH SPIN 1 "2026-01-01" "version 2"
.SH "NAME"
spin \- turn a \fIwheel\fR \(em or not\&.
.SS "See ""Also"" here"
.BR wheel (1), \" a comment
\fBaxle\fP(8)
.Vb 2
\&    spin \-\-fast
.Ve
"""
    )
    document = read(page)
    assert (document.format, document.title) == ("man", "SPIN(1)")
    words = 'NAME spin - turn a wheel \u2014 or not. See "Also" here wheel(1), axle(8) spin --fast'
    assert document.text.split() == words.split()


def test_how_far_a_paragraph_is_moved_in_is_no_word() -> None:
    page = '.TH SPIN 1\n.SH NAME\nspin\n.IP " 1." 4\nfirst\n.IP \\(bu 2\nsecond\n.TP 8\n.B \\-f 9\nthird\n'
    assert " ".join(read(page).text.split()) == "NAME spin 1. first \u2022 second -f 9 third"


def test_a_page_of_mdoc_is_read_without_the_names_of_macros() -> None:
    document = read(
        '.\\" License\n.Dd May 1, 2026\n.Dt SPIN 1\n.Os\n.Sh NAME\n.Nm spin\n.Nd turn a wheel\n'
        ".Bl -tag -width Ds\n.It Fl f Ar file\nTakes it from\n.Ar file .\n.El\n"
    )
    assert (document.format, document.title) == ("man", "SPIN(1)")
    assert " ".join(document.text.split()) == "NAME spin turn a wheel f file Takes it from file ."


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        (r"a\-b \e \\fB", r"a-b \ \fB"),
        (r"caf\['e] na\(:ive \[u00DF] \[uD800]\[nosuch]", "café naïve ß"),
        (r"\s-1SMALL\s0 \f[CW]code\fP \m[blue]blue\m[]", "SMALL code blue"),
        ("C\\*(C+ \\*(L\"x\\*(R\" \\*[nosuch]\\*x", "CC++ \u201cx\u201d"),
        (r"\h'-1p'moved\v'.1v' \n(.g\nFcount", "moved count"),
        (r"no end \[", "no end"),
        ("a\\", "a\\"),
    ],
)  # fmt: skip
def test_escapes_are_what_they_show(written: str, seen: str) -> None:
    document = read(f".TH A 1\n.SH NAME\n{written}\n")
    assert document.text.split() == ["NAME", *seen.split()]


def test_definitions_without_an_end_cost_their_line_only() -> None:
    document = read(".TH A 1\n.de Xx\n.if n \\{\\\nThe text goes on\n" + "and on\n" * 600)
    assert document.text.split()[:4] == ["The", "text", "goes", "on"]


@pytest.mark.parametrize("text", [".TH and so on\n", ".hidden files\nand others\n", "'TH' it says\n", "a\n.TH A 1\n"])
def test_what_names_no_page_is_plain_text(text: str) -> None:
    assert read(text).format == ("man" if text.startswith(".TH ") else "text")


@given(st.text(alphabet=st.sampled_from("\\.'\"()[]*fnshuD8eC \nabTHdgi{}-"), max_size=300))
def test_any_text_is_read(text: str) -> None:
    found = extract_man(f".TH A 1\n{text}".encode())
    assert found.title.startswith("A")
    assert found.text == extract_man(f".TH A 1\n{text}".encode()).text


def test_pages_of_one_generator_have_only_their_own_passages() -> None:
    pages = [f"{PREAMBLE}.TH {name} 1\n.SH NAME\n{name} turns\n" for name in ("ONE", "TWO")]
    assert [read(page).text.split() for page in pages] == [["NAME", "ONE", "turns"], ["NAME", "TWO", "turns"]]


def test_a_hostile_page_ends_soon() -> None:
    page = b".TH A 1\n" + b"\\[" * 500_000 + b"\n" + b".de x\n" * 20_000 + b".if n \\{" * 20_000
    assert extract(page).format == "man"
