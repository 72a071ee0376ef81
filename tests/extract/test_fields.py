"""HTML and text in the values of fields."""

from __future__ import annotations

import pytest

from indexer.errors import UsageError
from indexer.extract.fields import field_format_asked, format_of, is_html

HTML = {
    "paragraphs": "<p>The ferry leaves at nine.</p><p>It comes back at noon, if the sea is calm.</p>",
    "a list with attributes": '<ul class="stops"><li>Harbour<li>Mill <a href="/lock">Lock</a></ul>',
    "lines with <br>": "Dear members,<br><br>the pool is closed in winter.<br />Your board",
    "lines with <br> and line ends": "Dear members,<br />\nthe pool is closed in winter.<br />\nYour board",
    "open paragraphs": "The hall opens at eight.<p>Bring your own towel.<p>The key is at the bar.",
    "a whole page": "<!DOCTYPE html>\n<title>Ferry</title>\nThe ferry leaves at nine.",
    "an element alone": "<b>Closed on Monday</b>",
    "with a comment": "<div><!-- <menu> > --><p>The mill is open.</p></div>",
    "a picture drawn in it": '<p>The way to the mill.</p><svg><g><path d="M0 0"/></g><text>mill</text></svg>',
    "custom elements": "<news-item><p>The mill is open again.</p></news-item>",
    "spaces around a tag": "<p>The mill <b> is open </b> again, <br> and the bakery, the shop and the inn as well.</p>",
}
TEXT = {
    "plain": "The ferry leaves at nine. 5 < 7 and 9 > 8, as a<b shows.",
    "about tags": "The <p> tag opens a paragraph and should be closed by </p> at its end.",
    "about tags in quotes": 'Write "<p>" before and "</p>" after each paragraph, `<br>` in a line.',
    "about breaks": "Is <br> better than <br/> or <p> in a mail?",
    "a list of tags": "<br>, <hr>, <p>: tags without an end",
    "a question with code": "Why does this page show nothing?\n\n<div><p>Hello</p></div>\n\nI have tried two browsers.",
    "Markdown with a picture": '<p align="center"><img src="a.png"></p>\n\n# Mill\n\nA tool for **millers** who grind.',
    "addresses": "Write to <ann@example.org> or see <https://example.org/p>, wrote <b@example.org>",
    "generic types": "Map<String, List<Integer>> of = new HashMap<>(); List<b> more;",
    "XML": "<?xml version='1.0'?><body><p>A paragraph of another vocabulary</p></body>",
    "XML of unknown elements": "<order><item>Flour</item><price>3.20</price></order>",
    "a template": "{% for each in mills %} name: {{ each }} <b>open</b> {% endfor %} until nine in the evening",
    "a tag left open": "<p>The mill is open. <b>The bakery is not.",
    "escaped": "&lt;p&gt;The mill is open.&lt;/p&gt;",
    "nothing": "",
}


@pytest.mark.parametrize("name", HTML)
def test_html_is_certain(name: str) -> None:
    assert is_html(HTML[name].encode())


@pytest.mark.parametrize("name", TEXT)
def test_text_is_never_taken_for_html(name: str) -> None:
    assert not is_html(TEXT[name].encode())


def test_only_auto_looks_at_values() -> None:
    page, words = HTML["paragraphs"].encode(), TEXT["plain"].encode()
    assert [format_of(given, data) for given in ("text", "html", "auto") for data in (page, words)] == [
        *("text", "text"), *("html", "html"), *("html", "text"),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="'pdf' is none of text, html, auto"):
        field_format_asked("pdf")


@pytest.mark.parametrize("piece", ["<b>", "</b>", "<!--", "<a ", "<p> ", "<b></i>", "<", "<p>\n"])
def test_hostile_values_take_linear_time(piece: str) -> None:
    assert is_html((piece * 300_000).encode()) in (True, False)
