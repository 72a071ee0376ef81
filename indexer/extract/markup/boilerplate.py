"""Leave content never shown, and boilerplate, out of HTML.

HTML elements and roles mark boilerplate, and so do the classes and ids authors use. A name alone decides nothing: a
menu holds mostly links, a banner is short, a footer is no chapter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Protocol, Self, TypeVar

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


class Element(Protocol):
    """An element for these decisions, from either extractor."""

    @property
    def tag(self) -> str: ...

    @property
    def attributes(self) -> Mapping[str, Any]: ...

    @property
    def text(self) -> str: ...

    @property
    def own_text(self) -> str:
        """The text in it outside other elements."""

    def children(self) -> Iterable[Self]: ...

    @property
    def gone(self) -> bool: ...

    def remove(self) -> None: ...

    def replace(self, text: str) -> None: ...

    def prepend(self, text: str) -> None: ...

    def ancestors(self) -> Iterable[str]: ...

    def inside(self, selector: str) -> Iterable[str]: ...

    def holds(self, selector: str) -> bool: ...


Kind = TypeVar("Kind", bound=Element)


def selector(page: Scan, content: Content) -> str:
    found = ["head", "[hidden]"] + ["[style]"] * page.styles
    found += (name for name in (*_NEVER_SHOWN, *_WRITTEN) if name in page.elements)
    found += ["option[selected]"] * ("option" in page.elements)
    if content == "landmarks":
        found += (name for name in _FURNITURE if name in page.elements)
        found += ["[role]"] * page.roles + _named(page)
    return ",".join(dict.fromkeys(found))


def remove(found: Iterable[Element], page: Scan, content: Content) -> tuple[tuple[str, str], ...]:
    elements, stay = [], []
    aside: list[tuple[str, str]] = []
    for element in found:
        # What stood in something left out is gone already.
        says_more = element.tag in _SAYS_MORE and not element.gone
        if says_more and element.tag in _ALWAYS_OUT:
            if element.tag not in _NO_WORDS and (said := cleaned(element.text)):
                aside.append((element.tag, said))
            element.remove()
            continue
        elements.append(element)
        aside += _written_out(element) if says_more else ()
    text = ",".join([name for name in _TEXT if name in page.elements] + [*_TEXT_ROLES] * page.roles)
    for element in elements:
        if not element.gone:
            # A banner is known by its buttons, which are left out themselves.
            if left_out(element, content):
                aside.append((_kind_of(element), cleaned(element.text)))
                element.remove()
            elif content == "landmarks" and asks_for_consent(element, text):
                aside.append(("cookie banner", cleaned(element.text)))
                element.remove()
            else:
                stay.append(element)
    if content == "landmarks":
        # From the innermost outwards, so that a box is judged by what is left in it.
        for element in reversed(stay):
            if not element.gone and (said := named_boilerplate(element, text)):
                aside.append(("menu or banner", cleaned(said)))
                element.remove()
    return tuple((kind, said) for kind, said in aside if said)


def _written_out(element: Element) -> Iterator[tuple[str, str]]:
    tag = element.tag
    if tag == "input":
        attributes = element.attributes
        kind = _plain(attributes.get("type")).lower()
        if kind in ("checkbox", "radio"):
            element.replace("[x]" if "checked" in attributes else "[ ]")
        elif kind not in _NO_FIELDS:
            yield "field", cleaned(_plain(attributes.get("value")))
    elif tag == "option":
        yield "field", cleaned(element.text)
    elif tag in _RAISED or tag == _FRACTION:
        last = element if tag == "sup" else [element, *element.children()][-1]
        if tag == _FRACTION:
            last.prepend("/")
        elif last.text.strip()[:1].isdigit():
            last.prepend("^")
    elif tag in _DELETED:
        yield DELETED, cleaned(element.text)
        element.replace(DELETION)


def _kind_of(element: Element) -> str:
    roles = [role for role in _plain(element.attributes.get("role")).lower().split() if role in _OUT_ROLES]
    if roles or element.tag == "nav":
        return (roles or ["navigation"])[0]
    return element.tag if element.tag in _OUT or element.tag in _LANDMARKS or element.tag == "form" else "hidden"


def left_out(element: Element, content: Content) -> bool:
    if element.tag in _ALWAYS_OUT:
        return True
    if element.tag in _PAGE:
        return False
    attributes = element.attributes
    if "hidden" in attributes or _STYLE_HIDES.search(_plain(attributes.get("style"))):
        return True
    if content == "full":
        return False
    role = _plain(attributes.get("role")).lower()
    if not _OUT_ROLES.isdisjoint(role.split()):
        return True
    return _is_boilerplate(element) and not _KEPT_ROLE.match(role)


def _is_boilerplate(element: Element) -> bool:
    if element.tag in ("header", "footer"):
        if not _SECTIONS.isdisjoint(element.ancestors()):
            return False
        # A banner has a name, a motto and links; a header with running text is the beginning of the document.
        return element.tag == "footer" or all(len(text) < _PROSE for text in element.inside("p"))
    if element.tag == "form":
        # Some frameworks wrap the whole page in one form.
        return not element.holds(_TEXT_IN_FORM)
    return element.tag in _OUT and not (element.tag == "aside" and _is_note(element))


def _is_note(element: Element) -> bool:
    """True for paragraphs with few links in a section of a text; sidebars and boxes have a class."""
    if element.attributes.get("class") or _SECTIONS.isdisjoint({*element.ancestors()} - {"main", "nav", "aside"}):
        return False
    said, linked = (sum(map(_length, element.inside(name))) for name in ("p", "a[href]"))
    return said >= _length(element.text) > 2 * linked


def wrapper(body: Kind) -> Kind | None:
    shown = [child for child in body.children() if child.tag not in _ALWAYS_OUT and child.tag not in _EMPTY]
    alone = len(shown) == 1 and not body.own_text.strip()
    return shown[0] if alone and shown[0].tag not in _LANDMARKS and shown[0].text.strip() else None


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


def asks_for_consent(element: Element, text_of_page: str) -> bool:
    if element.tag in _NO_BANNERS:
        return False
    attributes = element.attributes
    if not _names_consent(f"{_plain(attributes.get('class'))} {_plain(attributes.get('id'))}"):
        return False
    text = element.text
    if len(text) > _LONGEST or len(text.split()) >= _CONSENT_WORDS or not element.holds(_PRESSED):
        return False
    return not text_of_page or not element.holds(text_of_page)


def named_boilerplate(element: Element, text_of_page: str) -> str:
    if element.tag not in _BOXES:
        return ""
    attributes = element.attributes
    most = _most_of_names(_plain(attributes.get("class")), _plain(attributes.get("id")))
    if most is None or _KEPT_ROLE.match(_plain(attributes.get("role")).lower()):
        return ""
    text = element.text
    if len(text) > _LONGEST or not text.strip():
        return ""
    if len(text) > most:
        linked = sum(map(_length, element.inside("a[href]")))
        if _length(text) - linked > max(linked, most):
            return ""
    return "" if text_of_page and element.holds(text_of_page) else text


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
