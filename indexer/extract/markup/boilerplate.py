"""Leave content never shown, and boilerplate, out of HTML.

HTML elements and roles mark boilerplate, and so do the classes and ids authors use. A name alone decides nothing: a
menu holds mostly links, a banner is short, a footer is no chapter. Elements are nodes of selectolax, or look like them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from selectolax.lexbor import LexborNode

from indexer.core.markup import Scan
from indexer.extract.base import Content
from indexer.extract.text import DELETED, DELETION, cleaned


def words(names: str) -> list[str]:
    return names.split()


# What no reader sees as text of the page; form controls and their like are no part of it either.
_NEVER_SHOWN = words(
    "head title script style noscript template svg object iframe audio video canvas rt rp datalist annotation "
    "annotation-xml"
)
_FURNITURE = words("nav header footer aside form dialog search button select textarea amp-sidebar amp-consent")
# What says more than the text in it.
_DELETED = ("del", "s", "strike")
_RAISED, _FRACTION = ("sup", "msup"), "mfrac"
_WRITTEN = ("input", *_RAISED, _FRACTION, *_DELETED)
_SAYS_MORE = frozenset((*_WRITTEN, "option", *_NEVER_SHOWN))
# The fields whose values nobody enters, or nobody may see.
_NO_FIELDS = frozenset(words("hidden submit button reset image file password"))
ELEMENTS = [*_NEVER_SHOWN, *_FURNITURE, *_RAISED, _FRACTION, *_DELETED]
_ALWAYS_OUT = frozenset(_NEVER_SHOWN)
_NO_WORDS = frozenset(("head", "title", "script", "style", "rp", "annotation-xml"))
# The page itself: scripts hide it until they show it, and its classes name what the page has, such as "sidebar".
_PAGE = frozenset(("html", "body"))
_OUT = frozenset(words("nav aside dialog search button select textarea amp-sidebar amp-consent"))
_LANDMARKS = _OUT | {"header", "footer"}
_OUT_ROLES = frozenset(
    words(
        "navigation banner contentinfo complementary dialog alertdialog form search menu menubar toolbar doc-toc "
        "doc-pagelist doc-index"
    )
)
# Roles that say of an aside, header or footer that it belongs to the text (ARIA 1.3, DPUB-ARIA 1.1).
_KEPT_ROLE = re.compile(r"\s*(?:note|main|article|region|group|figure|definition|doc-)")
# A header or footer within one of these is not the page's banner or content information (HTML-AAM 1.0).
_SECTIONS = frozenset(("article", "aside", "main", "nav", "section"))
# Besides what is never shown: elements that hold no text of the page, and so stand beside what holds all of it.
_EMPTY = frozenset(("link", "meta", "base", "br", "hr"))
_STYLE_HIDES = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
# Characters of a paragraph that is no motto.
_PROSE = 200
_TEXT_IN_FORM = "main,article,h1,h2,[role=main],[role=article]"
# What is in no boilerplate that a name tells of: the text of the page.
_TEXT = ("main", "article", "h1")
_TEXT_ROLES = ("[role=main]", "[role=article]")

# Names of classes and ids, without hyphens, underlines and digits, by how many characters may stand in the element
# beside its links; where the links hold more, as many as they. Boxes of the text are called menus and sidebars too.
_MENUS = (
    r"(?:main|sub|top|side|left|right|bottom|site|page|nav|drop|dropdown)?menu(?:bar)?"
    r"|(?:sphinx|left|right|nav|docs?|fixed|site)?sidebar(?:wrapper)?|tabs|pager|pagination|toolbar|navbox"
    # Of the whole book on each of its pages, or of the page itself.
    r"|(?:page|local|global|main|sub|side|left|right|site|doc|book|fancy|bd|g)?"
    r"toc(?:frame|bar|nav|box|list|menu|wrapper|container|section|sidebar|set|view)?|tableofcontents"
)
_BANNERS = (
    r"(?:main|sub|top|side|left|right|bottom|fixed|site|page|doc|global|spirit|foot|skip)?"
    r"nav(?:bar|igation|igationbar|list|links|path|row|flow|header|footer|settop|setbottom)?"
    r"|(?:bread)?crumbs?|(?:site|page)?banner|masthead|titlearea|topbar|skiplinks?"
)
_FOOTERS = r"(?:site|page|main|doc|global|copyright)?footer(?:text|container|wrapper|bar|links)?|copyright|legalcopy"
_NAMES = ((re.compile(_MENUS), 0), (re.compile(_BANNERS), _PROSE), (re.compile(_FOOTERS), 1000))
# What asks for consent to cookies: by what it is, and as the products call it that make it. Of fewer words, and with a
# button or a link, so that it is no text about cookies.
_CONSENT = re.compile(
    r"(?:eu|moovegdpr|cmplz|iubenda|cky)?(?:cookies?|gdpr|ccpa|consent|cs)(?:law|info|policy|consent|compliance|cookies?)*"
    r"(?:consent|banner|bar|notice|notification|popup|modal|dialog|message|overlay|prompt|layer|manager|hint)"
    r"|onetrust(?:banner|consent)sdk|cybotcookiebotdialog|cc(?:window|banner)|qccmp2(?:container|ui)|didomi(?:host|popup|notice)"
    r"|fcconsentroot|osanocmwindow|ampsidebar"
)
_CONSENT_WORDS = 100
_PRESSED = "a[href],button,[role=button],input[type=button],input[type=submit]"
_NO_BANNERS = frozenset(("html", "body", "main", "article"))
# Elements that authors make boxes of. A section is none: its id is often made from its heading, which may be "Menu".
_BOXES = frozenset(words("div ul ol dl li table tbody tr td th p address center header footer hr"))
# How the names begin, so that most classes and ids are passed over.
BEGINNINGS = words(
    "amp ban bd- bdt boo bot bre cc- ccp cky cml con coo cop cru cyb did doc dro eu- fan fc- fix foo gdp glo gto iub "
    "lef leg loc mai mas men moo nav one osa pag qc- rig sid sit ski sph spi sub tab tit toc too top"
)
# Looking for one more name takes as long as looking at every element that has any.
_MANY_NAMES = 40
# Characters; no boilerplate is as long, and boxes within boxes would have a long text read over and over.
_LONGEST = 100_000
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
MAX_DEPTH = 512
"""The parser's cost grows with the square of the depth; browsers stop here too."""


def selector(page: Scan, content: Content) -> str:
    found = ["head", "[hidden]"] + ["[style]"] * page.styles
    found += (name for name in (*_NEVER_SHOWN, *_WRITTEN) if name in page.elements)
    found += ["option[selected]"] * ("option" in page.elements)
    if content == "landmarks":
        found += (name for name in _FURNITURE if name in page.elements)
        found += ["[role]"] * page.roles + _named(page)
    return ",".join(dict.fromkeys(found))


def remove(found: Iterable[LexborNode], page: Scan, content: Content) -> tuple[tuple[str, str], ...]:
    nodes, stay = [], []
    aside: list[tuple[str, str]] = []
    for node in found:
        # What stood in something left out is gone already.
        says_more = node.tag in _SAYS_MORE and not _is_gone(node)
        if says_more and node.tag in _ALWAYS_OUT:
            if node.tag not in _NO_WORDS and (said := cleaned(_text(node))):
                aside.append((node.tag, said))
            node.decompose()
            continue
        nodes.append(node)
        aside += _written_out(node) if says_more else ()
    text = ",".join([name for name in _TEXT if name in page.elements] + [*_TEXT_ROLES] * page.roles)
    for node in nodes:
        if _is_gone(node):
            continue
        # The parser makes them anew each time.
        attributes = node.attributes
        # A banner is known by its buttons, which are left out themselves.
        if _is_left_out(node, attributes, content):
            aside.append((_kind_of(node, attributes), cleaned(_text(node))))
            node.decompose()
        elif content == "landmarks" and _asks_for_consent(node, attributes, text):
            aside.append(("cookie banner", cleaned(_text(node))))
            node.decompose()
        else:
            stay.append((node, attributes))
    if content == "landmarks":
        # From the innermost outwards, so that a box is judged by what is left in it.
        for node, attributes in reversed(stay):
            if not _is_gone(node) and (said := _named_boilerplate(node, attributes, text)):
                aside.append(("menu or banner", cleaned(said)))
                node.decompose()
    return tuple((kind, said) for kind, said in aside if said)


def _is_gone(node: LexborNode) -> bool:
    return node.parent is None


def _text(node: LexborNode) -> str:
    return node.text_lexbor() or ""


def _children(node: LexborNode) -> Iterator[LexborNode]:
    # Comments and the like have names that begin with a hyphen.
    return (child for child in node.iter() if not (child.tag or "-").startswith("-"))


def _inside(node: LexborNode, selector: str) -> Iterator[str]:
    return map(_text, node.css(selector))


def _holds(node: LexborNode, selector: str) -> bool:
    return node.css_first(selector) is not None


def _ancestors(node: LexborNode) -> Iterator[str]:
    parent = node.parent
    for _ in range(MAX_DEPTH):
        if parent is None:
            return
        yield parent.tag or ""
        parent = parent.parent


def _written_out(node: LexborNode) -> Iterator[tuple[str, str]]:
    tag = node.tag or ""
    if tag == "input":
        attributes = node.attributes
        kind = _plain(attributes.get("type")).lower()
        if kind in ("checkbox", "radio"):
            node.replace_with("[x]" if "checked" in attributes else "[ ]")
        elif kind not in _NO_FIELDS:
            yield "field", cleaned(_plain(attributes.get("value")))
    elif tag == "option":
        yield "field", cleaned(_text(node))
    elif tag in _RAISED or tag == _FRACTION:
        last = node if tag == "sup" else [node, *_children(node)][-1]
        if tag == _FRACTION:
            last.insert_before("/")
        elif _text(last).strip()[:1].isdigit():
            last.insert_before("^")
    elif tag in _DELETED:
        yield DELETED, cleaned(_text(node))
        node.replace_with(DELETION)


def _kind_of(node: LexborNode, attributes: Mapping[str, Any]) -> str:
    roles = [role for role in _plain(attributes.get("role")).lower().split() if role in _OUT_ROLES]
    tag = node.tag or ""
    if roles or tag == "nav":
        return (roles or ["navigation"])[0]
    return tag if tag in _OUT or tag in _LANDMARKS or tag == "form" else "hidden"


def _is_left_out(node: LexborNode, attributes: Mapping[str, Any], content: Content) -> bool:
    if node.tag in _ALWAYS_OUT:
        return True
    if node.tag in _PAGE:
        return False
    if "hidden" in attributes or _STYLE_HIDES.search(_plain(attributes.get("style"))):
        return True
    if content == "full":
        return False
    role = _plain(attributes.get("role")).lower()
    if not _OUT_ROLES.isdisjoint(role.split()):
        return True
    return _is_boilerplate(node, attributes) and not _KEPT_ROLE.match(role)


def _is_boilerplate(node: LexborNode, attributes: Mapping[str, Any]) -> bool:
    if node.tag in ("header", "footer"):
        if not _SECTIONS.isdisjoint(_ancestors(node)):
            return False
        # A banner has a name, a motto and links; a header with running text is the beginning of the document.
        return node.tag == "footer" or all(len(text) < _PROSE for text in _inside(node, "p"))
    if node.tag == "form":
        # Some frameworks wrap the whole page in one form.
        return not _holds(node, _TEXT_IN_FORM)
    return node.tag in _OUT and not (node.tag == "aside" and _is_note(node, attributes))


def _is_note(node: LexborNode, attributes: Mapping[str, Any]) -> bool:
    """True for paragraphs with few links in a section of a text; sidebars and boxes have a class."""
    if attributes.get("class") or _SECTIONS.isdisjoint({*_ancestors(node)} - {"main", "nav", "aside"}):
        return False
    said, linked = (sum(map(_length, _inside(node, name))) for name in ("p", "a[href]"))
    return said >= _length(_text(node)) > 2 * linked


def wrapper(body: LexborNode) -> LexborNode | None:
    shown = [child for child in _children(body) if child.tag not in _ALWAYS_OUT and child.tag not in _EMPTY]
    alone = len(shown) == 1 and not body.text(deep=False).strip()
    return shown[0] if alone and shown[0].tag not in _LANDMARKS and _text(shown[0]).strip() else None


def _named(page: Scan) -> list[str]:
    found = [
        sign + name
        for sign, values in ((".", page.classes), ("#", page.ids))
        for value in set(values.split())
        if (name := _telling_name(value))
    ]
    return found if len(found) <= _MANY_NAMES else ["[class],[id]"]


@lru_cache(maxsize=1 << 14)
def _telling_name(value: bytes) -> str:
    """The name of a class or id if it says boilerplate, else empty."""
    name = value.decode("latin-1")
    return name if _most_beside_links(name) is not None or _names_consent(name) else ""


@lru_cache(maxsize=1 << 14)
def _names_consent(names: str) -> bool:
    return any(_CONSENT.fullmatch(_bare(name)) for name in names.split())


def _asks_for_consent(node: LexborNode, attributes: Mapping[str, Any], text_of_page: str) -> bool:
    if node.tag in _NO_BANNERS:
        return False
    if not _names_consent(f"{_plain(attributes.get('class'))} {_plain(attributes.get('id'))}"):
        return False
    text = _text(node)
    if len(text) > _LONGEST or len(text.split()) >= _CONSENT_WORDS or not _holds(node, _PRESSED):
        return False
    return not text_of_page or not _holds(node, text_of_page)


def _named_boilerplate(node: LexborNode, attributes: Mapping[str, Any], text_of_page: str) -> str:
    if node.tag not in _BOXES:
        return ""
    most = _most_of_names(_plain(attributes.get("class")), _plain(attributes.get("id")))
    if most is None or _KEPT_ROLE.match(_plain(attributes.get("role")).lower()):
        return ""
    text = _text(node)
    if len(text) > _LONGEST or not text.strip():
        return ""
    if len(text) > most:
        linked = sum(map(_length, _inside(node, "a[href]")))
        if _length(text) - linked > max(linked, most):
            return ""
    return "" if text_of_page and _holds(node, text_of_page) else text


@lru_cache(maxsize=1 << 14)
def _most_of_names(classes: str, identity: str) -> int | None:
    limits = [limit for limit in map(_most_beside_links, f"{classes} {identity}".split()) if limit is not None]
    return max(limits, default=None)


@lru_cache(maxsize=1 << 14)
def _most_beside_links(name: str) -> int | None:
    if not _NAME.fullmatch(name):
        return None
    bare = _bare(name)
    return next((limit for pattern, limit in _NAMES if pattern.fullmatch(bare)), None)


@lru_cache(maxsize=1 << 14)
def _bare(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").rstrip("0123456789")


def _length(text: str) -> int:
    return len(" ".join(text.split()))


def _plain(value: Any) -> str:
    return " ".join(value) if isinstance(value, list) else value or ""
