"""The metadata and inline elements of XML vocabularies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from indexer.extract.formats import names


class Vocabulary(NamedTuple):
    """The parts to leave out of one vocabulary, by local names.

    `out`: left out everywhere. `only`: the only children kept of an element; if the first item is not empty, only under
    a parent of this name. `inline`: does not end a word. `empty`: an empty element possible within a word, such as a
    line's beginning. `citations`: references in fields, not in their visible form. `html`: holds HTML as text.
    `notes`: stand in a sentence and are shown behind the text.
    """

    name: str
    out: frozenset[str] = frozenset()
    only: Mapping[str, tuple[str, frozenset[str]]] = {}
    inline: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    citations: frozenset[str] = frozenset()
    html: frozenset[str] = frozenset()
    notes: frozenset[str] = frozenset()


# Formatting that many vocabularies name alike; in one that nobody knows, everything else ends a word. Names of one
# letter are often fields.
INLINE = names("em strong small big tt sub sup span font italic bold underline")
# The source forms beside presentation MathML; scripts and styles of embedded HTML and SVG.
NEVER = names("annotation annotation-xml script style")

# What no citation style prints of a journal's article, and the types that mark one.
NOT_OF_ARTICLES = names("publisher-name publisher-loc")
ARTICLE_TYPES = names("article-journal journal")

UNKNOWN = Vocabulary("unknown vocabulary")

_JATS = Vocabulary(
    "JATS",
    out=names("journal-meta processing-meta permissions object-id alt-title tex-math contrib-id issn isbn"),
    only={
        **dict.fromkeys(
            ("article-meta", "front-stub", "book-meta", "collection-meta"),
            ("", names("title-group book-title-group abstract trans-abstract")),
        ),
        "book-part-meta": ("", names("title-group abstract trans-abstract")),
    },
    inline=names(
        "monospace sc overline strike roman sans-serif styled-content named-content xref ext-link email uri "
        "abbrev inline-formula private-char fixed-case ruby rb year volume issue"
    ),
    citations=names("element-citation nlm-citation"),
    notes=names("fn"),
)

_TEI = Vocabulary(
    "TEI",
    out=names("fw rt"),
    only={
        "teiHeader": ("", names("fileDesc profileDesc")),
        "fileDesc": ("", names("titleStmt")),
        "titleStmt": ("", names("title")),
        "profileDesc": ("", names("abstract")),
        # Of two readings of the same words, the edited one.
        "choice": ("", names("corr reg expan unclear seg choice")),
    },
    inline=names(
        "hi emph ref g seg add del corr sic reg orig expan ex abbr am supplied unclear damage subst choice foreign "
        "persName placeName orgName name rs term mentioned soCalled date num c pc w"
    ),
    empty=names("lb pb cb milestone"),
    notes=names("note"),
)

_DOCBOOK = Vocabulary(
    "DocBook",
    out=names("indexterm remark toc lot index"),
    only=dict.fromkeys(
        names(
            "info articleinfo bookinfo chapterinfo partinfo prefaceinfo appendixinfo sectioninfo refentryinfo setinfo "
            "sect1info sect2info sect3info sect4info sect5info refsectioninfo docinfo"
        ),
        ("", names("title subtitle abstract")),
    ),
    inline=names(
        "emphasis phrase literal code command filename link ulink xref subscript superscript quote function "
        "parameter varname constant classname methodname type option replaceable userinput computeroutput prompt "
        "envar application acronym abbrev firstterm glossterm foreignphrase citetitle email uri symbol tag markup "
        "guilabel guibutton guimenu keycap productname trademark"
    ),
    notes=names("footnote"),
)

RFC = Vocabulary(
    "RFC XML",
    out=names("boilerplate toc iref cref link"),
    only={"front": ("rfc", names("title abstract note"))},
    inline=names("spanx bcp14 xref eref relref contact"),
)

_RSS = Vocabulary(
    "RSS",
    out=names(
        "guid pubDate link docs generator category cloud ttl image textInput skipHours skipDays lastBuildDate "
        "managingEditor webMaster language copyright comments author creator date enclosure"
    ),
    html=names("description encoded"),
)

_ATOM = Vocabulary(
    "Atom",
    out=names("id updated published author contributor category link generator icon logo rights source"),
    html=names("content summary"),
)

_ROOTS = {
    "rfc": RFC,
    "rss": _RSS,
    "feed": _ATOM,
    **dict.fromkeys(("TEI", "TEI.2", "teiCorpus"), _TEI),
    **dict.fromkeys(("book-part-wrapper", "collection-meta"), _JATS),
}
# Both JATS and DocBook have articles and books; their children tell which it is.
_SHARED_ROOTS = names("article book sub-article response part chapter section sect1 refentry set preface appendix")
_JATS_CHILDREN = names("front front-stub book-meta processing-meta collection-meta")
_DOCBOOK_CHILDREN = names("title info subtitle articleinfo bookinfo chapterinfo refmeta refentryinfo para sect1")


def vocabulary_of(parent: str, name: str) -> Vocabulary:
    if name in _ROOTS:
        return _ROOTS[name]
    if parent in _SHARED_ROOTS:
        if name in _JATS_CHILDREN:
            return _JATS
        if name in _DOCBOOK_CHILDREN:
            return _DOCBOOK
    return UNKNOWN
