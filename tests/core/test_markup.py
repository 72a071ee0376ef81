"""The tags of a page and its white space: the C core against regular expressions."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from indexer.core.markup import (
    BLOCK_END,
    CELL_END,
    ENDS_LINES,
    ENDS_WORD,
    PAGE_END,
    ROW_END,
    Names,
    Needles,
    collapsed,
    scanned,
)
from indexer.errors import UsageError
from indexer.extract.text import printable

BLOCKS = ["p", "div", "h1", "figcaption", "td"]
OTHERS = ["nav", "annotation-xml", "head", "svg"]
NAMES = Names(dict.fromkeys(BLOCKS, ENDS_WORD), OTHERS, ["nav", "toc", "bd-"])
# Within a tag, too: whatever looks like one.
OPENS = re.compile(rb"<(?=([a-z][^\t\n\f\r />]*)[\t\n\f\r />])", re.IGNORECASE)
BLOCK = re.compile(rb"(?<=\S)<(?=/?(?:p|div|h1|figcaption|td)[\t\n\f\r />])", re.IGNORECASE)
PIECES = st.sampled_from(
    [
        *(
            "<p>",
            "</p>",
            "<DIV class=x>",
            "</div >",
            "<h1/>",
            "<figcaption\n>",
            "<td",
            "<",
            "</",
            "<>",
            ">",
            "\v",
            "\0",
        ),
        *("<annotation-xml>", "<annotation-xml-x>", "<nav>", "</nav>", "<hEAd ", "<!-- <svg>", "<a<p>", "<p", "<p/"),
        *(" ", "\n", "\f", "<td>", " </TD\n>", "word", "é", "\u2003", "\x1f", "&nbsp;", "class=", "id = '", '"'),
    ]
)
SOUP = st.one_of(st.lists(PIECES).map("".join).map(str.encode), st.binary())


@given(SOUP)
def test_a_space_stands_before_the_tags_of_blocks(page: bytes) -> None:
    assert scanned(page, NAMES).page == BLOCK.sub(b" <", page).replace(b"\f", b" ")


@given(SOUP)
def test_a_mark_stands_before_the_tags_of_cells_in_the_place_of_white_space(page: bytes) -> None:
    feed = page.replace(b"\f", b"\x01")
    marked = re.sub(rb"(?i)(?:[\t-\r ]|(?<=[^\t-\r ]))<(?=/?td[\t\n\f\r />])", b"\f\t<", feed)
    found = scanned(feed, Names({"td": CELL_END}, [], [])).page
    assert found == marked


def test_lines_count_within_preformatted_text_alone() -> None:
    names = Names({"pre": ENDS_LINES}, [], [])
    found = scanned(b"a\nb<pre id='\n'>c\n d\f</pre>e\nf", names).page
    assert found == b"a\nb\f\n<pre id='\f\n'>c\f\n d\f\n</pre>e\nf"


@given(SOUP)
def test_elements_that_open_are_found(page: bytes) -> None:
    opened = {name.lower() for name in OPENS.findall(page)}
    assert scanned(page, NAMES).elements == {name for name in (*BLOCKS, *OTHERS) if name.encode() in opened}


@given(SOUP)
def test_the_depth_is_how_far_opening_tags_are_ahead(page: bytes) -> None:
    depth = deepest = 0
    for tag in re.finditer(rb"<(/?)[A-Za-z]", page):
        depth = max(0, depth - 1) if tag[1] else depth + 1
        deepest = max(deepest, depth)
    assert scanned(page, NAMES).depth == deepest


@pytest.mark.parametrize(
    ("page", "classes", "ids"),
    [
        (b"<p class=navbar>", [b"navbar"], []),
        (b"<p CLASS = 'x\nNavBar\tbd-toc y' ID=\"toc-1\">", [b"NavBar", b"bd-toc"], [b"toc-1"]),
        (b"<p a='b'class=nav/id=toc>", [b"nav/id=toc"], []),
        (b"<p/id=toc/class=nav>", [], [b"toc/class=nav"]),
        (b"<p class='it\"s nav' id='toc", [b"nav"], [b"toc"]),
        (b"<p data-class=nav xid=toc grid=nav>", [], []),
        (b"class=nav id=toc na class id=na>", [], [b"toc"]),
        (b"<p class=x id=>", [], []),
    ],
)
def test_names_with_a_beginning_are_found(page: bytes, classes: list[bytes], ids: list[bytes]) -> None:
    found = scanned(page, NAMES)
    assert (found.classes.split(), found.ids.split()) == (classes, ids)


@pytest.mark.parametrize("piece", [b" id=", b"\"id='", b"'id=\"", b"/id=/", b"<", b"<p", b" class=nav", b"=", b"id = "])
def test_a_hostile_page_is_read_once(piece: bytes) -> None:
    # Ten megabytes: what reads them again for each attribute or tag does not come to an end.
    found = scanned(piece * (10_000_000 // len(piece)), NAMES)
    assert len(found.classes) + len(found.ids) <= 3 * 10_000_000


def test_names_that_do_not_fit_are_refused() -> None:
    for names in ((["a" * 17], []), ([f"a{number}" for number in range(256)], []), ([], ["navi"])):
        with pytest.raises(UsageError):
            Names({}, *names)


@given(st.text(st.one_of(st.sampled_from(" \n\t\x1c\x85\xa0\u1680\u2003\u205f\u3000ab\u2060é"), st.characters())))
def test_white_space_collapses_as_python_has_it(text: str) -> None:
    # Sequences for terminals are of plain text alone.
    assume(not {"\x1b", "\x9b"} & {*text})
    assert collapsed(text) == " ".join(printable(text).split())


@given(st.lists(st.sampled_from([BLOCK_END, CELL_END, ROW_END, PAGE_END, " ", "\n", "\t", "\f", "a", "\u3000"])))
def test_the_strongest_mark_of_white_space_is_kept(pieces: list[str]) -> None:
    ranks = {PAGE_END: "\f", ROW_END: "\n", CELL_END: "\t", BLOCK_END: "\n"}
    expected = re.sub(
        r"\s+",
        lambda run: next((seen for mark, seen in ranks.items() if mark in _marks(run[0])), " "),
        "".join(pieces),
    )
    assert collapsed("".join(pieces), marks=True) == expected.strip()


def _marks(run: str) -> list[str]:
    return re.findall(r"\f[\f\n\t ]", run)


def test_every_character_is_white_space_or_not() -> None:
    # Without what begins a sequence for terminals. A difference of millions of characters can't be shown.
    text = "".join(f"a{chr(code)}b " for code in range(sys.maxunicode + 1) if code not in (0x1B, 0x9B))
    is_same = collapsed(text) == " ".join(printable(text).split())
    assert is_same


MARKS = ("<p", "<pre", "class", "ss", "-x", "s=")


@given(st.lists(PIECES | st.sampled_from([*MARKS, "CLASS", "\x1cp", "\rx", "clas", "-X"])).map("".join))
def test_marks_are_found_in_letters_of_either_case(text: str) -> None:
    page = text.encode()
    assert Needles(*MARKS).within(page) == {mark for mark in MARKS if mark.encode() in page.lower()}


def test_too_many_marks_and_single_letters_are_refused() -> None:
    assert Needles(*(f"m{number:02}" for number in range(16))).within(b"m03 M15") == {"m03", "m15"}
    for marks in ([f"m{number}" for number in range(17)], ["p"], [""]):
        with pytest.raises(UsageError):
            Needles(*marks)
