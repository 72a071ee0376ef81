"""Version numbers and dates in paths, URLs and titles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from indexer.relations.versions.numbers import MOST_DIGITS, PATTERN, Number, number_of
from indexer.text.dates import Day, dates_in

# Of a name only so much is looked at, and so many numbers and dates in it.
_LONGEST, _MOST_SLOTS = 1000, 6
# Before a number, what makes it one of a version, and what makes it anything else.
_MARKS = "version|ver|v|revision|rev|release|rel|r|edition|ed"
_MARKED = re.compile(rf"(?<![A-Za-z0-9])(?:{_MARKS})[-_. =]?{PATTERN}(?![A-Za-z0-9]|\.[0-9])", re.IGNORECASE)
_DOTTED = re.compile(rf"(?<![0-9.])(?=[0-9]+\.[0-9]){PATTERN}(?:\.x)?(?![A-Za-z0-9]|\.[0-9])", re.IGNORECASE)
_DRAFT = re.compile(r"(?<![A-Za-z0-9])draft-[a-z0-9-]{3,100}-(?P<number>[0-9]{2})(?P<stage>)(?P<step>)(?![A-Za-z0-9-])")
# A bill of the United States Congress at a stage of its way: https://www.govinfo.gov/help/bills
_BILL = re.compile(
    r"(?<![A-Za-z0-9])(?P<named>BILLS-[0-9]{2,3})?(?P<type>hr|hres|hconres|hjres|h|hc|hj|s|sres|sconres|sjres|sc|sj|sr)[0-9]{1,5}_?"
    r"(?P<number>(?P<action>i|rf|rd|r|pc|e|cp|at|ea)(?P<chamber>[hs])|enr)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_WAY = {"i": 1, "rf": 2, "rd": 2, "r": 3, "pc": 4, "e": 5, "cp": 5, "at": 5, "ea": 6}
# A whole number alone is a version only in such a folder, or first on such a host.
_FOLDER = re.compile(
    r"(?:/(?:docs?|documentation|manuals?|releases?|versions?|refman|guides?|api)|^docs?\.[^/]{1,100})/"
    r"(?P<number>[0-9]{1,3})(?P<stage>)(?P<step>)(?=/)",
    re.IGNORECASE,
)
_WORDS = re.compile(r"(?<=/)(?:(?P<latest>latest|current)|dev|devel|main|master|trunk|nightly)(?=/)", re.IGNORECASE)
_OTHER = re.compile(
    r"(?<![A-Za-z])(?:section|sec|chapter|chap|ch|figure|fig|table|tab|part|page|item|step|lesson|exercise|appendix|"
    r"annex|note|change|changelog|what'?s-?new|new|announce(?:ment)?|port|licen[cs]e|gpl|lgpl|agpl|mpl|cc|by|sa)s?"
    r"[-_. (/]*$|[$€£¥§]\s?$",
    re.IGNORECASE,
)
_NOTES = re.compile(
    r"(?:^|/)(?:releases?|release-?notes|relnotes|changes|changelogs?|what'?s-?new|news|announce(?:ment)?s?)/[^/]*$",
    re.IGNORECASE,
)
# Beside a date, what says that it is the date of a version and not of what happened on it.
_OF_VERSION = re.compile(
    r"(?:rev|revision|version|ver|v|draft|snapshot|dump|backup|archive|as-?of|updated?)[-_. /]*$", re.IGNORECASE
)
_STAMP = re.compile(r"[0-9]{14}")

SlotKind = Literal["number", "date"]
# In place of a slot; no name has this character.
GAP = "\0"

_DIGIT = re.compile(r"\d")


class Slot(NamedTuple):
    """A version number or date in a name, between `start` and `end`, as it is `shown`.

    `sure` is False for a date possibly of an event: a daily report is no version of another.
    """

    kind: SlotKind
    value: Number | Day
    shown: str
    start: int
    end: int
    sure: bool = True


class Frame(NamedTuple):
    text: str
    slot: Slot


# Above all numbers, and beyond what is released.
LATEST, _DEVELOPMENT = Number((10**MOST_DIGITS,)), Number((10**MOST_DIGITS, 1))


def frames_of_place(source: str) -> list[Frame]:
    path = source[:_LONGEST]
    begin = 0
    if "://" in path[:20]:
        try:
            parts = urlsplit(path)
        except ValueError:
            return []
        path = f"{parts.netloc.lower()}{unquote(parts.path)}" + (f"?{parts.query}" if parts.query else "")
        begin = len(parts.netloc)
    return _frames(path.replace(GAP, ""), begin, place=True)


def is_note(source: str) -> bool:
    return bool(_NOTES.search(source[:_LONGEST]))


def frames_of_title(title: str) -> list[Frame]:
    # Most titles have no digit, and so no number.
    return _frames(title[:_LONGEST].replace(GAP, ""), 0, place=False) if _DIGIT.search(title) else []


def _frames(name: str, begin: int, *, place: bool) -> list[Frame]:
    slots = sorted(_slots(name, place=place), key=lambda slot: slot.start)
    slots = [slot for slot in slots if slot.start >= begin][:_MOST_SLOTS]
    return [Frame(_without(name, slots, slot), slot) for slot in slots]


def _without(name: str, slots: list[Slot], gap: Slot) -> str:
    parts, end = [], 0
    for slot in slots:
        if slot.kind == gap.kind and slot.shown.lower() == gap.shown.lower():
            parts += [name[end : slot.start], GAP]
            end = slot.end
    # Projects change how they write their names from one release to the next.
    return "".join([*parts, name[end:]]).lower()


def _is_numbering(name: str, start: int, end: int) -> bool:
    heads = start == 0 or name[start - 1] == "/"
    parts = name[start:end].split(".")
    return (
        (heads and name[end : end + 1] != "/")
        or (len(parts) == 4 and all(part.isdecimal() and int(part) < 256 for part in parts))
        or name[end : end + 2].lstrip()[:1] in ("%", "€", "$", "£")
    )


def _slots(name: str, *, place: bool) -> Iterator[Slot]:
    taken: list[tuple[int, int]] = []

    def free(start: int, end: int) -> bool:
        if any(start < last and end > first for first, last in taken):
            return False
        taken.append((start, end))
        return True

    for day, start, end in dates_in(name.replace("_", "-")) if place else ():
        if free(start, end):
            sure = bool(_STAMP.fullmatch(name[start:end]) or _OF_VERSION.search(name[:start]))
            yield Slot("date", day, str(day), start, end, sure)
    patterns = (_DRAFT, _MARKED, _DOTTED, _FOLDER) if place else (_MARKED, _DOTTED)
    for pattern in patterns if _DIGIT.search(name) else ():
        for match in pattern.finditer(name):
            start, end = match.start("number"), match.end()
            before = name[:start]
            noted = place and pattern is not _FOLDER and _NOTES.search(before)
            numbered = pattern is _DOTTED and _is_numbering(name, start, end)
            if not noted and not numbered and not _OTHER.search(before) and free(start, end):
                yield Slot("number", number_of(match), name[start:end], start, end)
    for match in _BILL.finditer(name) if place else ():
        # Elsewhere it may be a language.
        is_bill = match["named"] or name[match.end() :].lower() == ".xml"
        if is_bill and free(match.start("number"), match.end()):
            yield Slot("number", _stage(match), match["number"].lower(), match.start("number"), match.end())
    for match in _WORDS.finditer(name) if place else ():
        if free(match.start(), match.end()):
            value = LATEST if match["latest"] else _DEVELOPMENT
            yield Slot("number", value, match[0].lower(), match.start(), match.end())


def _stage(match: re.Match[str]) -> Number:
    if not match["action"]:
        return Number((40,))
    action, elsewhere = match["action"].lower(), match["chamber"].lower() != match["type"][0].lower()
    # A chamber amends its own bill again once the other one has.
    return Number((_WAY[action] + (20 if action == "ea" and not elsewhere else 10 * elsewhere),))
