"""RSS and Atom: each item one document."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from indexer.ingest.readers import BadEntry, FileEntry, ReaderOptions, reader_of

RSS = """<?xml version="1.0" encoding="iso-8859-1"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>The channel</title>
<item><title>One</title><link>https://example.org/1</link><guid>g1</guid><pubDate>Tue, 02 Jan 2024</pubDate>
<description>&lt;p&gt;short</description><content:encoded><![CDATA[<p>the whole café]]></content:encoded></item>
<item><title>Two</title><link>https://example.org/2</link><description>&lt;b&gt;words&lt;/b&gt;</description></item>
<item><description>no name</description></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>The feed</title><id>feed</id>
<entry><id>urn:1</id><title>One</title><link rel="self" href="https://example.org/self"/>
<link href="https://example.org/1"/><updated>2024-01-02T03:04:05Z</updated><summary>short</summary>
<content type="xhtml"><div><p>first</p><p>second</p></div></content></entry></feed>"""


def entries(text: str, limit: int = 10_000) -> list[FileEntry | BadEntry]:
    reader = reader_of("a.rss")
    assert reader is not None
    return list(reader.entries(io.BytesIO(text.encode("latin-1")), "a.rss", ReaderOptions(limit)))


def test_items_of_rss() -> None:
    one, two, three = (entry for entry in entries(RSS) if isinstance(entry, FileEntry))
    assert (one.id, one.title, one.url, one.format) == ("g1", "One", "https://example.org/1", "html")
    assert one.data.decode("utf-8-sig") == "<p>the whole café"
    assert one.metadata == {"date": "Tue, 02 Jan 2024"}
    assert (two.id, two.data.decode("utf-8-sig")) == ("https://example.org/2", "<b>words</b>")
    assert (three.id, three.number) == ("", 3)


def test_entries_of_atom() -> None:
    [one] = entries(ATOM)
    assert isinstance(one, FileEntry)
    assert (one.id, one.title, one.url) == ("urn:1", "One", "https://example.org/1")
    assert one.data.decode("utf-8-sig").split() == ["first", "second"]
    assert one.metadata == {"date": "2024-01-02T03:04:05Z"}


def test_items_before_the_damage_are_read() -> None:
    *good, bad = entries(RSS[: RSS.index("no name")])
    assert len(good) == 2
    assert isinstance(bad, BadEntry)
    assert bad.reason == "malformed"
    [bad] = entries(RSS, limit=100)
    assert isinstance(bad, BadEntry)
    assert bad.reason == "too-large"


def test_entities_are_never_expanded() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    [one] = entries(
        f'<!DOCTYPE rss [<!ENTITY l0 "ha"><!ENTITY x SYSTEM "file:///etc/passwd">{laughs}]>'
        "<rss><channel><item><description>before &l11; &x; after</description></item></channel></rss>"
    )
    assert isinstance(one, FileEntry)
    assert one.data.decode("utf-8-sig").split() == ["before", "after"]


@given(st.text(st.sampled_from("<>/itemlnk &;\"'"), max_size=60))
def test_nothing_escapes(text: str) -> None:
    for each in (text, f"<rss><item>{text}</item></rss>"):
        assert all(isinstance(entry, FileEntry | BadEntry) for entry in entries(each))
