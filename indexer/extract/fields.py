"""Tell HTML from text in the values of fields: they have no name that tells it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal, get_args

from indexer.errors import UsageError
from indexer.extract.formats import Format

FieldFormat = Literal["text", "html", "auto"]
"""The format of a field's values: "auto" for HTML where a value is certainly HTML, else text."""

_NAMES = (
    "a abbr acronym address article aside audio b bdi bdo big blockquote body button canvas caption center cite code "
    "colgroup data datalist dd del details dfn dialog dir div dl dt em fieldset figcaption figure font footer form "
    "frameset h1 h2 h3 h4 h5 h6 head header hgroup html i iframe ins kbd label legend li main map mark menu meter nav "
    "nobr noscript object ol optgroup option output p picture pre progress q rp rt ruby s samp script search section "
    "select slot small span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead "
    "time title tr tt u ul var video"
)
_ELEMENTS = frozenset(_NAMES.split())
_VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source"))
_READ_AS_TEXT = "; HTML read as text, of the field "
_BREAKS = ("br", "hr", "p")
_TAG = re.compile(r"<(/?)([a-z][\w:-]*)(?:[\s/][^<>]*)?>", re.IGNORECASE)
_ROOT = re.compile(rb"\s*(?:<\?xml[^<>]*>\s*)?<(?:!doctype\s+)?html[\s>]", re.IGNORECASE)
# A text about HTML sets tags between spaces or in quotes, as it does with words.
_BEFORE, _AFTER = frozenset(" \t`'\"\u201c\u2018\u00ab(,"), frozenset(" \t`'\"\u201d\u2019\u00bb),.;:")
_NEAR = 40
_MOST_SHARE, _LEAST_BREAKS = 0.1, 2

AUTO: FieldFormat = "auto"


def field_format(given: object) -> FieldFormat:
    return "html" if given == "html" else "auto" if given == "auto" else "text"


def field_format_asked(given: str) -> FieldFormat:
    """The same format. Raises UsageError for another word."""
    if given != field_format(given):
        raise UsageError(f"format: {given!r} is none of {', '.join(get_args(FieldFormat))}")
    return field_format(given)


def format_of(given: FieldFormat, data: bytes) -> Format:
    """The format of one value, in UTF-8."""
    return "html" if given == "html" or (given == "auto" and is_html(data)) else "text"


def is_html(data: bytes) -> bool:
    """True if nine of ten words stand in closed elements of HTML, or all line ends are tags; linear in the size."""
    if _ROOT.match(data):
        return True
    if b"<" not in data or data.lstrip().startswith(b"<?xml"):
        return False
    head, *commented = data.decode("utf-8", "replace").split("<!--")
    return _Elements(head + "".join(each.partition("-->")[2] for each in commented)).are_certain()


def remark_on(field: str, kind: Format | FieldFormat | None, data: bytes) -> str:
    """An addition to the extractor's name for a field's value that is HTML and was read as text; else empty."""
    return f"{_READ_AS_TEXT}{field}" if field and kind == "text" and is_html(data) else ""


def field_read_as_text(extractor: str) -> str:
    """The field of such a remark; empty without one."""
    return extractor.partition(_READ_AS_TEXT)[2]


def remarked(extractor: str, remark: str) -> str:
    """An extractor's name with this remark, instead of another one."""
    return extractor.partition(_READ_AS_TEXT)[0] + remark


class _Elements:
    """The words of a text in closed elements, as ranges of their numbers, and what speaks against elements."""

    def __init__(self, text: str) -> None:
        self.words = self.tags = self.breaks = self.line_ends = self.against = 0
        self._open: list[tuple[str, int]] = []
        self._is_open = Counter[str]()
        self.ranges: list[tuple[int, int]] = []
        end = 0
        for tag in _TAG.finditer(text):
            between, end = text[end : tag.start()].strip(), tag.end()
            self._add(between)
            self._take(tag[2].lower(), is_loose=_is_loose(text, tag), is_end=bool(tag[1]))
        self._add(text[end:].strip())

    def are_certain(self) -> bool:
        if not self.tags or self.against > _MOST_SHARE * self.tags:
            return False
        inside = sum(last - first for first, last in self.ranges)
        if self.ranges and self.words - inside <= _MOST_SHARE * self.words:
            return True
        return self.breaks >= _LEAST_BREAKS and not self.line_ends and self.words > self.breaks

    def _add(self, between: str) -> None:
        self.words += len(between.split())
        self.line_ends += between.count("\n")

    def _take(self, name: str, *, is_loose: bool, is_end: bool) -> None:
        self.tags += 1
        is_known = name in _ELEMENTS or name in _VOID or not {"-", ":"}.isdisjoint(name) or self._is_open["svg"] > 0
        self.against += (is_loose and name not in _VOID and not self._open) or not is_known
        if is_loose:
            return
        self.breaks += name in _BREAKS and not is_end
        if not is_end and name in _ELEMENTS:
            self._open.append((name, self.words))
            self._is_open[name] += 1
        while is_end and self._is_open[name]:
            last, first = self._open.pop()
            self._is_open[last] -= 1
            if last == name:
                while self.ranges and self.ranges[-1][0] >= first:
                    self.ranges.pop()
                self.ranges.append((first, self.words))
                break


def _is_loose(text: str, tag: re.Match[str]) -> bool:
    before, after = text[max(0, tag.start() - _NEAR) : tag.start()], text[tag.end() : tag.end() + 1]
    is_in_line = not before.rstrip(" \t").endswith(("\n", ">"))
    return before[-1:] in _BEFORE and after in _AFTER and is_in_line
