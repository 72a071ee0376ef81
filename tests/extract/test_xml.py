"""What counts as text of an XML document, by both extractors alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.errors import ExtractionError
from indexer.extract.base import Extractor, Options
from indexer.extract.document import Limits, read_document
from indexer.extract.markup.xml import extract_xml
from indexer.ingest.sketching import read_digest_of
from indexer.model import Document
from tests.extract.folded import folded

EXTRACTORS: list[Extractor] = ["fast", "reference"]


def read(source: str | bytes, extractor: Extractor = "fast") -> Document:
    data = source if isinstance(source, bytes) else source.encode()
    return folded(read_document(data, "a.xml", Options(extractor=extractor, format="xml"), Limits()))


JATS = """<?xml version="1.0"?><!DOCTYPE article PUBLIC "-//NLM//DTD JATS v1.2//EN" "none.dtd">
<article xmlns:mml="http://www.w3.org/1998/Math/MathML"><front><journal-meta><journal-title>gone</journal-title>
</journal-meta><article-meta><article-id>gone</article-id><title-group><article-title>On <italic>E.
coli</italic></article-title><alt-title>gone</alt-title>
</title-group><contrib-group><contrib><name>
<surname>gone</surname></name></contrib></contrib-group><aff>gone</aff><permissions><license>gone</license></permissions>
<abstract><p>We show.</p></abstract><kwd-group><kwd>gone</kwd></kwd-group></article-meta></front>
<body><sec><title>Results</title><p>H<sub>2</sub>O<xref>1</xref>
<inline-formula><alternatives><tex-math>gone</tex-math>
<mml:math><mml:mi>x</mml:mi></mml:math></alternatives></inline-formula></p>
<fig><object-id>gone</object-id><caption><p>Caption</p></caption></fig>
<table><tr><td>a</td><td>b</td></tr></table></sec></body>
<back><ref-list><ref><element-citation publication-type="article-journal"><person-group><name><surname>Doe</surname>
<given-names>Jean-Luc de</given-names></name></person-group><source>Journal</source>
<publisher-name>gone</publisher-name>
</element-citation></ref></ref-list></back></article>"""

TEI = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt>
<title>A play</title><author>gone</author></titleStmt>
<publicationStmt><p>gone</p></publicationStmt></fileDesc><profileDesc><abstract><p>About.</p></abstract>
<langUsage>gone</langUsage></profileDesc></teiHeader><text><body><fw>gone</fw><p>It was <hi>ne</hi>ver
<choice><sic>gone</sic><corr>right</corr></choice> ex<lb break="no"/>ample<lb/>line</p></body></text></TEI>"""

DOCBOOK = """<!DOCTYPE article PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "none.dtd"><article><articleinfo>
<title>Manual</title><author>gone</author><abstract><para>Short.</para></abstract></articleinfo>
<sect1><title>One</title><para>Use <command>ls</command>s<indexterm>gone</indexterm>.</para></sect1></article>"""

RFC = """<rfc><front><title abbrev="x">Protocol</title><author><organization>gone</organization></author><date/>
<workgroup>gone</workgroup><abstract><t>It <bcp14>MUST</bcp14>.</t></abstract></front><middle><section>
<name>Start</name>
<t>a</t><t>b</t></section></middle><back><references><reference anchor="OTHER"><front><title>Other</title><author>
<organization>Kept</organization></author></front></reference></references></back></rfc>"""


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    ("source", "vocabulary", "title", "text"),
    [
        (JATS, "JATS", "On E. coli", "On E. coli We show. Results H2O1 x Caption a b Doe J.-L. de Journal"),
        (TEI, "TEI", "A play", "A play About. It was never right example line"),
        (DOCBOOK, "DocBook", "Manual", "Manual Short. One Use lss."),
        (RFC, "RFC XML", "Protocol", 'Protocol It MUST. 1. Start a b [OTHER] Kept, "Other".'),
        ("<r><title>T</title><a>x</a><b>y</b><c>z</c></r>", "unknown vocabulary", "T", "T x y z"),
        ("<r><![CDATA[a < b]]>&#233;&lt;</r>", "unknown vocabulary", "", "a < bé<"),
        ("<r><!-- gone --><?gone gone?>near<em>d</em>up</r>", "unknown vocabulary", "", "neardup"),
    ],
)
def test_vocabularies(source: str, vocabulary: str, title: str, text: str, extractor: Extractor) -> None:
    document = read(source, extractor)
    assert (document.title, document.text) == (title, text)
    assert document.extractor.endswith(f"({vocabulary})")


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_rfc_xml_says_what_its_pages_show(extractor: Extractor) -> None:
    source = """<rfc><front><title>Gates</title></front><middle>
<section title="Locks" anchor="locks"><t>See <xref target="A1"/>,
<xref target="A1" section="2.1" sectionFormat="comma"/>,
<xref target="oil"/> and <xref target="rust" format="counter"/>, or <xref target="oil">the oil</xref>.</t>
<section title="Oil" anchor="oil"><t hangText="whale">Rare</t><figure anchor="can" title="A can"/></section></section>
<section numbered="false"><name>Thanks</name><t>To <contact fullname="Ben Cole"/>,
<xref target="A1" format="none">all</xref> at
<eref target="http://a.example"/> for <xref target="can"/>, <xref target="nowhere"/></t></section></middle>
<back><displayreference target="A1" to="ONE"/><references title="Sources">
<reference anchor="A1" target="http://b.example"><front><title>On gates</title><author fullname="Anna Meyer"/>
<author initials="C" surname="Lund" role="editor"/>
<author><organization>Harbour</organization></author><date month="May" year="2031"/></front>
<seriesInfo name="RFC" value="12"/></reference></references>
<section anchor="rust"><name>Rust</name></section></back></rfc>"""
    assert read(source, extractor).text == (
        "Gates 1. Locks See [ONE], [ONE], Section 2.1, Section 1.1 and A, or the oil (Section 1.1). "
        "1.1. Oil whale Rare Figure 1: A can Thanks To Ben Cole, all at <http://a.example> for Figure 1, [nowhere] "
        'Sources [ONE] Meyer, A., Lund, C., Ed., and Harbour, "On gates", RFC 12, May 2031, <http://b.example>. A. Rust'
    )


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    "source",
    [
        "<article><front/><body><p>The gate<fn><label>1</label><p>It is old.</p></fn> was open.</p>"
        "<p>So be it.</p></body></article>",
        "<article><title/><para>The gate<footnote><para>1 It is old.</para></footnote> was open.</para>"
        "<para>So be it.</para></article>",
        "<TEI><text><p>The gate<note>1 It is old.</note> was open.</p><p>So be it.</p></text></TEI>",
    ],
)
def test_notes_stand_behind_the_text(source: str, extractor: Extractor) -> None:
    assert read(source, extractor).text == "The gate was open. So be it. 1 It is old."


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_declared_entities_are_never_expanded_and_count_as_read(extractor: Extractor) -> None:
    def page(value: str, references: str = "&never; b na&iuml;ve c&nbsp;d &unknown; e &all;") -> Document:
        words = f'<!ENTITY never "{value}"><!ENTITY all "&never;&never;"><!ENTITY unused "x">'
        return read(f"<!DOCTYPE r [{words}]><r>a {references}</r>", extractor)

    first = page("<b>MUST NOT</b>")
    assert first.text == "a b naïve c d e"
    references = "&never; &never; &never; &unknown; &all;"
    values = ["never: <b>MUST NOT</b>", "all: &never;&never;"]
    assert first.left_out == tuple(("entity", each) for each in (references, *values))
    digests = {read_digest_of(each) for each in (first, page("MUST"), page("MUST", "&all; b naïve c d e &never;"))}
    assert len(digests) == 3


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_external_entities_are_never_read(tmp_path: Path, extractor: Extractor) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    doctypes = [
        f'<!DOCTYPE r [<!ENTITY e SYSTEM "{secret.as_uri()}">]>',
        f'<!DOCTYPE r [<!ENTITY % p SYSTEM "{secret.as_uri()}"> %p;]>',
        f'<!DOCTYPE r SYSTEM "{secret.as_uri()}">',
    ]
    for doctype in doctypes:
        assert read(f"{doctype}<r>a &e; b</r>", extractor).text == "a b"
    include = f'<r xmlns:xi="http://www.w3.org/2001/XInclude">a<xi:include href="{secret.as_uri()}" parse="text"/></r>'
    assert read(include, extractor).text == "a"


def test_the_encoding_is_declared_or_marked() -> None:
    assert read("<?xml version='1.0' encoding='iso-8859-2'?><r>żółw</r>".encode("iso-8859-2")).text == "żółw"
    for codec in ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"):
        assert read("<?xml version='1.0'?><r>żółw and more</r>".encode(codec)).text == "żółw and more"


def test_what_is_not_well_formed_is_read_in_recovery() -> None:
    source = b"<r><a>one</a><b>two</c> three & four"
    with pytest.raises(ExtractionError, match="malformed"):
        read(source, "fast")
    document = read_document(source, "a.xml", Options(format="xml"), Limits())
    assert document.text.split()[:2] == ["one", "two"]
    assert document.extractor.startswith("lxml ")
    assert any("the fast extractor failed" in note for note in document.notes)


def test_feeds_without_their_metadata() -> None:
    rss = (
        "<rss><channel><title>News</title><link>https://example.org/</link><ttl>60</ttl><item><title>One</title>"
        "<description>&lt;p&gt;some &lt;b&gt;wo&lt;/b&gt;rds&lt;/p&gt;&lt;p&gt;more</description>"
        "<guid>g1</guid></item></channel></rss>"
    )
    atom = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><id>urn:1</id><updated>2024</updated><entry>'
        '<title>One</title><id>urn:2</id><content type="xhtml"><div><p>some words</p><p>more</p></div></content>'
        "</entry></feed>"
    )
    for source in (rss, atom):
        for extractor in ("fast", "reference"):
            found = extract_xml(source.encode(), extractor)
            assert (found.title, found.text.split()) == ("News", ["News", "One", "some", "words", "more"])
