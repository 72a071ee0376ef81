"""Plain text: what is in order is taken as it is, and what no text keeps becomes a space, however it is found."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from indexer.extract.base import Limits, Options
from indexer.extract.document import read_document
from indexer.extract.text import decode, extract_text, printable

# The bounds of what is taken away, and bytes that are no UTF-8.
_BYTES = st.sampled_from(
    [b"\x08", b"\t", b"\r\n", b"\x0e", b"\x1f", b" ", b"\x7f", b"\xc3\xbc", b"\xef\xbf\xbe", b"\xff"]
)


@given(st.lists(_BYTES | st.text(max_size=5).map(lambda text: text.encode("utf-8", "surrogatepass"))).map(b"".join))
@example(b"\xc0\x80")
@example(b"\xed\xa0\x80")
@example(b"\xef\xbb\xbfa\x00b")
def test_a_text_that_is_not_searched_is_the_same(data: bytes) -> None:
    assert extract_text(data).text == printable(decode(data)[0])


@pytest.mark.parametrize("odd", ["\0", "\x08", "\x0e", "\x1f", "\x7f", "\ufffe", "\uffff"])
def test_what_no_text_keeps_is_a_space(odd: str) -> None:
    assert extract_text(f"a\tb{odd}{odd}c\n".encode()).text == "a\tb c\n"


def test_the_title_is_the_first_line_with_words() -> None:
    assert extract_text(b"\n-----  ---\n * * *\n\n  The harbour \nbridge").title == "The harbour"
    assert extract_text(b"***\n").title == ""


def test_marks_of_markdown_are_no_text_of_files_with_its_name() -> None:
    page = b"## Ferry\n\nIt is **very** *late*, 2*3*4 and * dear.\n\n```\n# not = 1\n```\n#1 of all\n"
    found = read_document(page, "a.md", Options(), Limits())
    assert found.text == "Ferry\n\nIt is very late, 2*3*4 and * dear.\n\n\n# not = 1\n\n#1 of all\n"
    assert found.title == "Ferry"
    assert read_document(page, "a.txt", Options(), Limits()).text == page.decode()
    assert read_document(page, "a.md", Options(format="text"), Limits()).text == page.decode()
    for piece in ("# ", "*a", "* a", "**", "*a "):
        read_document((piece * 20_000).encode(), "a.md", Options(), Limits())
