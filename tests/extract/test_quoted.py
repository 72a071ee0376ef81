"""The own words of mails in HTML, as the programs write them that people use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.extract import Limits, Options
from indexer.extract.base import Extractor
from indexer.extract.document import read_document
from indexer.extract.markup.quoted import own_html
from tests.extract.folded import folded

MAILS = {
    "gmail": (
        '<div dir="ltr">Yes, it is.</div><br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">On Mon, Jan 5, '
        '2026 at 10:00 AM Ann &lt;ann@example.org&gt; wrote:<br></div><blockquote class="gmail_quote"><div>Is it so?'
        "</div></blockquote></div>",
        "Yes, it is.",
    ),
    "gmail, some years ago": (
        'Yes<br><div class="gmail_quote">On Monday Ann wrote:<br><blockquote class="gmail_quote">So</blockquote></div>',
        "Yes",
    ),
    "answers between the lines": (
        '<div class="gmail_quote"><div class="gmail_attr">On Mon Ann wrote:<br></div><blockquote class="gmail_quote">'
        'Is it?</blockquote><div>It is.</div><blockquote class="gmail_quote">And?</blockquote><div>No.</div></div>',
        "It is. No.",
    ),
    "forwarded": (
        '<div>See below<br><div class="gmail_quote"><div class="gmail_attr">---------- Forwarded message ---------<br>'
        "From: <b>Ann</b><br>Date: Mon<br>Subject: Ferries<br></div><br><div>The ferry leaves.</div></div></div>",
        "See below",
    ),
    "thunderbird": (
        '<p>Yes.</p><div class="moz-cite-prefix">On 05/01/2026, Ann wrote:<br></div><blockquote type="cite"><p>So?</p>'
        '</blockquote><p>Bye</p><div class="moz-signature">-- <br>Bo</div>',
        "Yes. Bye",
    ),
    "apple": (
        "<div>Yes.</div><div><br><blockquote type=cite><div>On 5 Jan 2026, Ann wrote:</div><div>So?</div></blockquote>",
        "Yes.",
    ),
    "outlook": (
        "<div class=WordSection1><p>Yes.</p><div><div style='border:none;border-top:solid #E1E1E1'><p><b>From:</b> "
        "Ann<br><b>Sent:</b> Monday<br><b>Subject:</b> Ferries</p></div></div><p>Is it so?</p></div>",
        "Yes.",
    ),
    "outlook on the web": (
        '<div>Yes.</div><div id="appendonsend"></div><hr><div id="divRplyFwdMsg"><b>From:</b> Ann</div><div>So?</div>',
        "Yes.",
    ),
    "outlook in German": (
        '<p>Ja.</p><div style="border-top: solid #B5C4DF"><p><b>Von:</b> Ann<br><b>Gesendet:</b> Montag</p></div>So?',
        "Ja.",
    ),
    # What only resembles it stays.
    "all is quoted": ("<blockquote type=cite>Everything here</blockquote>", "Everything here"),
    "a poem": ("<p>He wrote:<blockquote>Shall I compare thee</blockquote>", "He wrote: Shall I compare thee"),
    "a box": (
        '<p>News</p><div style="border-top:solid 1px">Price: 5 EUR only today</div><p>More news</p>',
        "News Price: 5 EUR only today More news",
    ),
    "nothing follows": ("<p>Mine</p><div id=appendonsend></div><p>Ann</p>", "Mine Ann"),
}


@pytest.mark.parametrize("extractor", ["fast", "reference"])
@pytest.mark.parametrize("name", MAILS)
def test_a_mail_in_html_has_its_own_words(name: str, extractor: Extractor) -> None:
    source, own = MAILS[name]
    found = read_document(source.encode(), "", Options(format="mail", extractor=extractor), Limits())
    assert folded(found).text == own
    # Each word is the mail's own or quoted.
    whole = read_document(source.encode(), "", Options(format="html", extractor=extractor), Limits())
    quoted = [text for kind, text in found.left_out if kind == "quoted"]
    assert sorted(" ".join([own, *quoted]).split()) == sorted(whole.text.split())


def test_a_page_keeps_what_it_quotes() -> None:
    source, _ = MAILS["thunderbird"]
    assert "So?" in read_document(source.encode(), "", Options(format="html"), Limits()).text


PIECES = [
    "<blockquote type=cite>",
    "</blockquote>",
    "<div class=gmail_attr>",
    "<div style='border-top:solid'>",
    "</div>",
]


@given(st.lists(st.sampled_from([*PIECES, "<br>", "From: a\n", "Sent: b\n", "a wrote:", "c", "<p>", "<table>"])))
def test_of_a_mail_with_words_some_are_left(parts: list[str]) -> None:
    source = "".join(parts).encode()
    whole, own = (
        read_document(each, "", Options(format="html", content="full"), Limits()).text.split()
        for each in (source, own_html(source)[0])
    )
    assert bool(own) == bool(whole)
    assert len(own) <= len(whole)
