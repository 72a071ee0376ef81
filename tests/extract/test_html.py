"""What counts as text of an HTML page, by both extractors alike."""

from __future__ import annotations

import importlib.util

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.core.markup import scanned
from indexer.extract.base import Content, Extractor, Options
from indexer.extract.document import Limits, read_document
from indexer.extract.markup import boilerplate, html
from indexer.model import Document
from tests.extract.folded import folded

EXTRACTORS: list[Extractor] = ["fast", "reference"]


def read(page: str | bytes, extractor: Extractor = "fast", content: Content = "landmarks") -> Document:
    data = page if isinstance(page, bytes) else page.encode()
    return folded(read_document(data, "page.html", Options(content, extractor, "html"), Limits()))


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<table><tr><td>a</td><td>b</td></tr><tr><th>c<th>d</table>", "a b c d"),
        ("<TABLE><TR><TD>a</TD><TD>b</TD></TR></TABLE>", "a b"),
        ("<b>near</b>dup", "neardup"),
        ("<p>a<span>b</span><a href=x>c</a><code>d</code><x-y>e</x-y></p>f", "abcde f"),
        ("one<br>two<br/>three<hr>four", "one two three four"),
        ("long<wbr>word", "longword"),
        ("near<!-- <p> -->dup", "neardup"),
        ("<ul><li>a<li>b<ul><li>c</ul></ul>d", "a b c d"),
        ("<div>a</div>b<div>c</div>", "a b c"),
        ("<dl><dt>a<dd>b</dl><pre>c\nd</pre>", "a b c d"),
        ("a<img alt=x>b", "a b"),
        ("<figure><img><figcaption>caption</figcaption></figure><blockquote>quote</blockquote>", "caption quote"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>字", "漢字"),
        ("x &amp; y &lt;p&gt; &nbsp; z &#233;", "x & y <p> z é"),
        ("<details><summary>sum</summary>more</details>", "sum more"),
        ("<math><mi>x</mi><annotation>\\frac</annotation></math>", "x"),
    ],
)
def test_blocks_end_words_and_inline_elements_do_not(page: str, text: str, extractor: Extractor) -> None:
    assert read(page, extractor).text == text


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize("content", ["landmarks", "full"])
@pytest.mark.parametrize(
    "gone",
    [
        "<script>gone()</script>",
        "<style>gone {}</style>",
        "<template><p>gone</template>",
        "<noscript>gone</noscript>",
        "<p hidden>gone</p>",
        "<P HIDDEN>gone</P>",
        "<div style='color:red; DISPLAY : none'><p>gone</p></div>",
        "<div style=visibility:hidden>gone</div>",
        "<svg><title>gone</title><text>gone</text></svg>",
        "<iframe>gone</iframe>",
        "<!-- gone -->",
    ],
)
def test_what_no_reader_sees_is_no_text(gone: str, content: Content, extractor: Extractor) -> None:
    page = f"<title>T</title><meta name=description content=gone><p>a</p>{gone}<p>b"
    assert read(page, extractor, content).text == "a b"


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    "gone",
    [
        "<nav>gone</nav>",
        "<NAV><ul><li>gone</ul></NAV>",
        "<header><a href=/>gone</a></header>",
        "<footer><p>gone</footer>",
        "<aside>gone</aside>",
        "<aside><p>gone</aside>",
        "<section><aside class=box><p>gone</aside></section>",
        "<article><aside><a href=/>gone</a></aside></article>",
        "<article><aside><p><a href=/>gone</a></aside></article>",
        "<dialog open>gone</dialog>",
        "<form>gone<input></form>",
        "<search>gone</search>",
        "<button>gone</button>",
        "<select><option>gone</select>",
        "<div role=navigation>gone</div>",
        "<div role='Banner'>gone</div>",
        "<div role='none contentinfo'>gone</div>",
        "<div role=complementary>gone</div>",
        "<div role=dialog>gone</div>",
        "<div role=search>gone</div>",
    ],
)
def test_landmarks_are_left_out_unless_asked_for(gone: str, extractor: Extractor) -> None:
    page = f"<p>a</p>{gone}<p>b"
    assert read(page, extractor).text == "a b"
    assert read(page, extractor, "full").text == "a gone b"


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    "kept",
    [
        "<article><header><h1>kept</h1></header></article>",
        "<section><footer>kept</footer></section>",
        "<aside role=doc-footnote>kept</aside>",
        "<aside role=note>kept</aside>",
        "<section><p>a</p><aside id=note><p>Note: the mark is kept</aside></section>",
        "<article><aside><p>Twelve words were kept, as <a href=/>the third part</a> of the book says</aside></article>",
        "<form><main>kept</main></form>",
        "<div role=main>kept</div>",
        f"<header><p>kept{' and more' * 40}</header>",
    ],
)
def test_what_belongs_to_the_text_stays(kept: str, extractor: Extractor) -> None:
    assert "kept" in read(f"<p>a</p>{kept}<p>b", extractor).text


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    "gone",
    [
        "<div class=footer>gone</div>",
        "<div class='wide page-footer'><p>gone, all rights reserved</div>",
        "<p class=legal-copy>gone</p>",
        "<DIV CLASS='NAVHEADER'>gone</DIV>",
        "<table id=nav_bar><tr><td>gone</table>",
        "<div id='nav-path' class=navpath><ul><li>gone</ul></div>",
        "<div class=menu><a href=a>gone</a> to</div>",
        "<ul class='sub-menu-2'><li><a href=a>gone</a><li><a href=b>too</a></ul>",
        "<div class=sidebar><h2>On</h2><ul><li><a href=a>gone</a><li><a href=b>too</a></ul></div>",
        "<div id=docs-sidebar><a href=a>gone</a> 2.0</div>",
        "<div class=footer>gone<script>let long = 1;</script></div>".replace("long", "long" * 300),
        "<div class=breadcrumbs><div class=navbar><a href=a>gone</a></div> more</div>",
        "<div id=tocframe><h4><a href=a>gone</a></h4><ul class=toc><li><a href=b>1. One</a></ul></div>",
        "<dl class=TOC><dt><a href=a>gone</a><dt><a href=b>too</a></dl>",
        "<div class='bd-toc table-of-contents'>Contents <a href=a>gone and on</a></div>",
    ],
)
def test_what_is_named_as_boilerplate_is_left_out_unless_asked_for(gone: str, extractor: Extractor) -> None:
    page = f"<p>a</p>{gone}<p>b"
    assert read(page, extractor).text == "a b"
    assert "gone" in read(page, extractor, "full").text


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    "kept",
    [
        # What the names of boilerplate are part of.
        "<div class=grid-for-nav>kept</div>",
        "<div class=footnotes>kept</div>",
        "<p class=menuitem>kept</p>",
        # What a manual says of menus, and what it calls its own sections.
        "<p>Choose <span class=menu>kept</span>",
        "<section id=menu><h2>Menu</h2>kept</section>",
        "<h2 id=navigation>kept</h2>",
        "<section class=copyright>kept</section>",
        # Boxes of the text.
        f"<div class=sidebar><p>kept{' and more' * 40}</div>",
        "<div class=tabs><a href=#1>One</a><div id=1>kept, as the first tab's own text</div></div>",
        "<ul class=menu><li>kept: soup of the day<li>fish</ul>",
        "<h3 class=toc>kept</h3>",
        "<div id=toc>kept: what each of <a href=a>these</a> is about, in a sentence or two</div>",
        "<div class=contents><a href=a>kept</a></div>",
        "<div class=footer><h1>kept</h1></div>",
        "<div id=footer><div role=main>kept</div></div>",
        "<div class=copyright role=note>kept</div>",
        f"<div class=navbar>kept{' and more' * 40}</div>",
        f"<div class=footer>kept{' and more' * 200}</div>",
        "<body class=nav>kept",
        "<a class=nav href=a>kept</a>",
    ],
)
def test_a_name_alone_makes_no_boilerplate(kept: str, extractor: Extractor) -> None:
    assert "kept" in read(f"<p>a</p>{kept}<p>b", extractor).text


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_more_names_than_anyone_gives_are_all_looked_at(extractor: Extractor) -> None:
    page = "<p>a" + "".join(f"<div class=footer{number}>gone</div>" for number in range(2000))
    assert read(page, extractor).text == "a"


@given(st.one_of(*(st.from_regex(pattern, fullmatch=True) for pattern, _ in boilerplate._NAMES)))
def test_every_name_of_boilerplate_is_found(name: str) -> None:
    for page, selector in (
        (f"<div class=x><p id='{name}'>", f"#{name}"),
        (f'<DIV CLASS = "a\n{name}">', f".{name}"),
        (f"<div title='id=x'class={name}>", f".{name}"),
    ):
        assert boilerplate._named(scanned(page.encode(), html._NAMES)) == [selector]


NAMES = st.sampled_from(["footer", "nav-bar", "menu", "sidebar", "tabs", "copyright", "text", "main-2", "MENU"])


@given(
    st.recursive(
        st.just("word <a href=x>link</a>"),
        lambda inner: st.builds(
            lambda name, kind, parts: f"<{kind} class={name}>{''.join(parts)}</{kind}>",
            NAMES,
            st.sampled_from(["div", "ul", "section", "main", "h1"]),
            st.lists(inner, max_size=3),
        ),
    )
)
def test_both_engines_leave_out_the_same(page: str) -> None:
    assert read(f"<p>a</p>{page}").text == read(f"<p>a</p>{page}", "reference").text


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_page_of_landmarks_only_keeps_them_and_says_so(extractor: Extractor) -> None:
    document = read("<nav>one</nav><aside>two</aside>", extractor)
    assert document.text == "one two"
    assert "it was kept" in document.notes[0]


LINKS = "<p>kept</p><a href=a>as a page</a> <a href=b>of links</a>"


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize("content", ["landmarks", "full"])
@pytest.mark.parametrize(
    "page",
    [
        # Hidden until a script or a style shows it.
        "<body hidden>@",
        "<html hidden><body>@",
        "<body style='display:none'>@<script>document.body.style.display = '';</script>",
        "<html style='visibility: hidden'><body onload='show()'>@",
        "<html class=async-hide><style>.async-hide{opacity:0 !important}</style><body style='opacity:0'>@",
        "<html ⚡><style amp-boilerplate>body{visibility:hidden}</style><noscript><style>body{visibility:visible}"
        "</style></noscript><body style='visibility:hidden'>@",
        "<body aria-hidden=true unresolved>@",
        "<body><noscript>gone</noscript><div id=app v-cloak style='display:none'>@</div><script>show()</script>",
        "<body hidden>\n<div hidden><!-- all --><main style='display:none'>@</main></div><link rel=x>",
        # Named after what the page has.
        "<body class=sidebar>@",
        "<html id=footer><body class='menu toc'>@",
        "<body role=navigation>@",
        "<html role=dialog><body role='none form'>@",
        "<body><div class=sidebar>@</div>",
        "<body><div id=wrapper><div role=menu class=footer>@</div></div><script>gone()</script>",
        "<body><form id=aspnetForm><div class=page-footer>@</div></form>",
    ],
)
def test_what_holds_the_whole_page_is_no_boilerplate(page: str, content: Content, extractor: Extractor) -> None:
    document = read(page.replace("@", f"<nav>menu</nav>{LINKS}"), extractor, content)
    assert document.text == ("menu " if content == "full" else "") + "kept as a page of links"
    assert document.notes == ()


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    "page",
    [
        # The shell of a page that a script fills: what it says where it can't is on thousands of others too.
        "<body><noscript>gone</noscript><div id=root></div><div id=unsupported style='display:none'>gone</div>",
        "<div hidden>gone</div><div hidden>gone</div>",
        "<div><template>gone</template><script>gone()</script></div>",
    ],
)
def test_what_is_hidden_beside_others_stays_hidden(page: str, extractor: Extractor) -> None:
    assert read(page, extractor).text == ""


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_the_title_is_no_text(extractor: Extractor) -> None:
    document = read("<title>Site |\n Page</title><h1>Heading</h1><p>x", extractor)
    assert (document.title, document.text) == ("Site | Page", "Heading x")
    assert read("<h1>Heading</h1>x", extractor).title == "Heading"


def test_two_designs_of_an_article_have_the_same_text() -> None:
    article = "<h1>The thing</h1><p>It <em>works</em>.</p><table><tr><td>1</td><td>2</td></tr></table>"
    old = f"<HTML><TITLE>A</TITLE><BODY><DIV ROLE=navigation>Home</DIV>{article}<DIV ROLE=contentinfo>(c)</DIV>"
    new = (
        f"<!doctype html><title>B</title><header><nav>Start</nav></header><main>\n{article}\n</main>"
        "<aside>More</aside><footer>(c) B</footer>"
    )
    assert read(old).text == read(new).text == "The thing It works. 1 2"


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_xhtml_with_empty_elements(extractor: Extractor) -> None:
    page = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a"/></head>'
    assert read(page + "<body><p>text</p></body></html>", extractor).text == "text"


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        ("<meta charset=windows-1251>", "cp1251"),
        ("<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=koi8-r'>", "koi8-r"),
        ("<?xml version='1.0' encoding='iso-8859-5'?>", "iso-8859-5"),
        ("<meta charset=utf-16>", "utf-8"),
        ("<!-- <meta charset=koi8-r> --><meta charset=utf-8>", "utf-8"),
        ("", "utf-8"),
        ("", "utf-16"),
        ("<meta charset=koi8-r>", "utf-16"),
        ("<meta charset=nonsense>", "utf-8"),
        ("", "cp1251"),
    ],
)
def test_the_encoding_is_found_as_a_browser_does(head: str, codec: str) -> None:
    words = ("Все люди рождаются свободными и равными в своём достоинстве и правах. " * 8).strip()
    page = f"{head}<p>{words}" if head.startswith("<?") else f"<html>{head}<p>{words}"
    assert read(page.encode(codec)).text == words


def test_latin1_is_windows_1252() -> None:
    assert read("<meta charset=iso-8859-1><p>“naïve” – €".encode("cp1252")).text == "“naïve” – €"


@pytest.mark.skipif(importlib.util.find_spec("trafilatura") is None, reason="the extra main-content is not installed")
def test_main_content() -> None:
    body = "".join(
        f"<p>Paragraph {n} tells a story of some length, with a word or two about the sea.</p>" for n in range(9)
    )
    page = (
        f"<title>T</title><div class=menu><a href=1>Home</a></div><article>{body}<p hidden>gone</article>"
        "<div class=footer>x</div>"
    )
    document = read(page, content="main")
    assert document.text.startswith("Paragraph 0 tells")
    assert "Paragraph 8" in document.text
    assert "gone" not in document.text
    assert (document.title, document.content) == ("T", "main")
    assert document.extractor.startswith("trafilatura ")


WORDS = st.lists(st.text("abcxyz", min_size=1, max_size=5), min_size=1, max_size=20)


@given(WORDS, st.randoms(use_true_random=False))
def test_words_in_cells_come_back_whatever_the_case_and_space(words: list[str], chance: object) -> None:
    tags = ["td", "TD", "p", "Li", "div", "h1"]
    pick = getattr(chance, "choice")  # noqa: B009 - hypothesis gives a random.Random
    parts = []
    for word in words:
        tag, space = pick(tags), pick(["", " ", "\n"])
        parts.append(f"<{tag}>{space}{word}{space}</{tag}>")
    assert read("".join(parts)).text.split() == words


@given(st.binary(max_size=2000))
def test_no_bytes_are_too_odd(data: bytes) -> None:
    for extractor in EXTRACTORS:
        assert "<p>" not in read(b"<p>" + data.replace(b"&", b""), extractor).text


@pytest.mark.parametrize("extractor", ["fast", "reference"])
@pytest.mark.parametrize(
    "attribute", [' STYLE = "display:none"', '/style="display:none"', ' id="x"Role=navigation', " ROLE='search'"]
)
def test_attributes_that_hide_are_found_however_they_are_written(attribute: str, extractor: Extractor) -> None:
    page = f"<body><p>Read me.</p><div{attribute}>Away.</div></body>"
    assert html.extract_html(page.encode(), "landmarks", extractor).text.split() == ["Read", "me."]


ASKED = "We and our 12 partners store crumbs on your device. <button>Accept all</button>"


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    "banner",
    [
        f"<div class='wide cookie-consent'>{ASKED}</div>",
        f"<div id=cookie_banner>{ASKED}</div>",
        f"<section class=CookieNotice>{ASKED}</section>",
        f"<div class=gdpr-banner><p>{ASKED}</p></div>",
        f"<div id=onetrust-banner-sdk><div>{ASKED}</div></div>",
        f"<div id=CybotCookiebotDialog>{ASKED}</div>",
        "<div class=cc-window role=region>We store crumbs. <a href=/more>More</a></div>",
        "<div class=consent-popup>We store crumbs. <input type=submit value=Yes></div>",
        "<div class=amp-sidebar><a href=/>Home</a> <a href=/n>News</a></div>",
        "<amp-sidebar id=s><ul><li><a href=/>Home</a></ul></amp-sidebar>",
    ],
)
def test_banners_on_cookies_and_sidebars_of_amp_are_left_out(banner: str, extractor: Extractor) -> None:
    page = f"<p>one</p>{banner}<p>two"
    assert read(page, extractor).text.split() == ["one", "two"]
    assert len(read(page, extractor, "full").text.split()) > 2


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    "kept",
    [
        # No button and no link; as many words as a text; of the page itself; and other names.
        "<div class=cookie-consent>kept crumbs</div>",
        f"<div class=cookie-consent>kept{' crumbs' * 100}<button>Yes</button></div>",
        f"<article class=cookie-banner>kept {ASKED}</article>",
        f"<main id=cookie-consent>kept {ASKED}</main>",
        f"<div class=cookie-consent><h1>kept</h1>{ASKED}</div>",
        f"<div class='tag-cookie-banner category-cookie-consent'>kept {ASKED}</div>",
        f"<div class=cookie-recipe>kept {ASKED}</div>",
        f"<div class=cookie-policy>kept {ASKED}</div>",
        f"<div class=content-layer>kept {ASKED}</div>",
    ],
)
def test_what_is_no_banner_stays(kept: str, extractor: Extractor) -> None:
    assert "kept" in read(f"<p>one</p>{kept}<p>two", extractor).text


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_page_whose_body_is_called_so_stays(extractor: Extractor) -> None:
    page = f"<html class=cookie-consent><body class='cookie-consent gdpr-banner'><p>kept</p><p>{ASKED}</p>"
    assert "kept" in read(page, extractor).text
