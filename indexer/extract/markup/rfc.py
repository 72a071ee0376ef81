"""RFC XML: what its renderers write of titles, numbers, cross references and the documents that are cited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

# How a section of another document is cited, by `sectionFormat`, and by `x:fmt` of an older tool.
_CITED = {
    "of": "{section} of {cited}",
    "comma": "{cited}, {section}",
    "parens": "{cited} ({section})",
    "bare": "{section}",
}
_FORMATS = {",": "comma", "()": "parens", "sec": "bare", "number": "bare"}
_COUNTED = {"figure": "Figure", "texttable": "Table", "table": "Table"}
# Deeper sections have no number, so that numbers of nested sections don't grow.
_DEEPEST = 20
# A title, or the words of a reference, are read as far as this, so that nested ones take no longer.
_MOST_PARTS = 200


class RfcWords:
    """Writes into the parts of a text what elements of RFC XML say in attributes, or leave to their renderer."""

    def __init__(self, parts: list[str]) -> None:
        self._parts = parts
        self._levels = [0]
        self._in_back = False
        self._number = ""
        self._counts = Counter[str]()
        self._places: dict[str, str] = {}
        self._cited: dict[str, str] = {}
        self._open: list[tuple[int, Mapping[str, str], bool]] = []
        self._reference: _Reference | None = None

    def heading(self, name: str, attributes: Mapping[str, str]) -> str:
        """The line that an element begins with."""
        title = attributes.get("title", "")
        if name == "section":
            self._number = self._next_number(attributes)
            return f"{self._number}{title}" if title else ""
        if attributes and (label := _COUNTED.get(name)):
            self._counts[label] += 1
            self._places[attributes.get("anchor", "")] = numbered = f"{label} {self._counts[label]}"
            return f"{numbered}: {title}" if title else ""
        return title if name in ("references", "note") else ""

    def beginning(self, name: str, attributes: Mapping[str, str]) -> str:
        """The words before the content of an element, in its line."""
        if name == "back":
            self._in_back, self._levels = True, [0]
        elif name == "displayreference":
            self._cited[attributes.get("target", "")] = attributes.get("to", "")
        elif name in ("reference", "referencegroup"):
            self._cited.setdefault(attributes.get("anchor", ""), attributes.get("anchor", ""))
            if name == "reference":
                self._reference = _Reference(attributes, len(self._parts))
                self._parts.append("")
        elif self._reference:
            self._reference.begins(name, attributes)
        elif name == "name":
            number, self._number = self._number, ""
            return number
        elif hanging := attributes.get("hangText", ""):
            return f"{hanging} "
        return ""

    def ended(self, name: str, attributes: Mapping[str, str], begun: int) -> str:
        """The words behind the content of an element, which began at a part."""
        if name == "section":
            self._levels.pop()
        elif name == "reference" and self._reference:
            self._reference.write(self._parts, self._cited)
            self._reference = None
        elif self._reference:
            self._reference.ends(name, self._content(begun))
        elif name in ("xref", "relref", "eref"):
            has_content = bool(self._content(begun))
            if name == "eref":
                return "" if has_content else f"<{attributes.get('target', '')}>"
            self._open.append((len(self._parts), attributes, has_content))
            return f"[{attributes.get('target', '')}]"
        elif name == "contact":
            return attributes.get("fullname", "")
        return ""

    def _content(self, begun: int) -> str:
        return " ".join("".join(self._parts[begun : begun + _MOST_PARTS]).split())

    def finish(self) -> None:
        """Write the cross references, whose targets are known now."""
        for place, attributes, has_content in self._open:
            words = self._reference_to(attributes.get("target", ""), attributes, has_content=has_content)
            self._parts[place] = f" {words}" if has_content and words else words

    def _next_number(self, attributes: Mapping[str, str]) -> str:
        number = ""
        if attributes.get("numbered") not in ("false", "no") and len(self._levels) <= _DEEPEST:
            self._levels[-1] += 1
            first, *rest = self._levels
            number = ".".join(map(str, (chr(64 + first) if self._in_back and first <= 26 else first, *rest)))
            self._places[attributes.get("anchor", "")] = f"{'Appendix' if self._in_back else 'Section'} {number}"
        self._levels.append(0)
        return f"{number}. " if number else ""

    def _reference_to(self, target: str, attributes: Mapping[str, str], *, has_content: bool) -> str:
        own = {name.rpartition("}")[2].rpartition(":")[2]: value for name, value in attributes.items()}
        if own.get("format") == "none":
            return ""
        if target in self._cited:
            cited = f"[{own.get('derivedContent') or self._cited[target]}]"
            if not (section := own.get("section") or own.get("sec")):
                return cited
            section = f"{'Appendix' if section[0].isalpha() else 'Section'} {section}"
            kind = own.get("sectionFormat") or own.get("fmt", "of")
            return _CITED.get(_FORMATS.get(kind, kind), _CITED["of"]).format(section=section, cited=cited)
        words = own.get("derivedContent") or self._places.get(target) or ("" if has_content else f"[{target}]")
        if own.get("format") == "counter":
            words = words.rpartition(" ")[2]
        return f"({words})" if has_content and words else words


class _Reference:
    def __init__(self, attributes: Mapping[str, str], place: int) -> None:
        self._attributes, self._place = attributes, place
        self._authors: list[tuple[str, str, str]] = []
        self._title = ""
        self._series: list[str] = []
        self._date = ""

    def begins(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "author":
            initials, editor = attributes.get("initials", ""), ", Ed." if attributes.get("role") == "editor" else ""
            initials = initials if initials.endswith(".") or not initials else f"{initials}."
            given, _, surname = attributes.get("fullname", "").rpartition(" ")
            initials = initials or (f"{given[0]}." if given else "")
            self._authors.append((attributes.get("surname", surname), initials, editor))
        elif name == "date":
            self._date = " ".join(filter(None, (attributes.get("month"), attributes.get("year"))))
        elif name == "seriesInfo":
            self._series.append(f"{attributes.get('name', '')} {attributes.get('value', '')}".strip())

    def ends(self, name: str, content: str) -> None:
        if name == "title":
            self._title = content
        elif name == "organization" and self._authors and not self._authors[-1][0]:
            self._authors[-1] = (content, "", "")
        elif name == "refcontent":
            self._series.append(content)

    def write(self, parts: list[str], cited: Mapping[str, str]) -> None:
        anchor, target = self._attributes.get("anchor", ""), self._attributes.get("target", "")
        said = [self._names(), f'"{self._title}"', *self._series, self._date, f"<{target}>" if target else ""]
        # The parts keep their number: those of cross references are written last.
        parts[self._place :] = [""] * (len(parts) - self._place)
        parts[self._place] = f"[{cited.get(anchor, anchor)}] {', '.join(filter(None, said))}. "

    def _names(self) -> str:
        names = [", ".join(filter(None, (surname, initials))) + editor for surname, initials, editor in self._authors]
        if len(names) < 2:
            return "".join(names)
        surname, initials, editor = self._authors[-1]
        last = " ".join(filter(None, (initials, surname))) + editor
        return f"{', '.join(names[:-1])}{',' if len(names) > 2 else ''} and {last}"
