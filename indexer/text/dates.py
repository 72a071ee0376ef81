"""Days and months as documents write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

# What no document of a collection is dated before, and none can be from after.
FIRST_YEAR, LAST_YEAR = 1900, 2100

# The beginnings of the names of months in several languages, in which no two months have the same.
_MONTHS = {
    1: "jan gen ene",
    2: "feb fév fev",
    3: "mar mär mrt maart",
    4: "apr avr abr",
    5: "may mai mag mei",
    6: "jun juin giu",
    7: "jul juil lug",
    8: "aug aoû aou ago",
    9: "sep set",
    10: "oct okt ott out",
    11: "nov",
    12: "dec dez déc dic",
}
_MONTH_OF = {name: number for number, names in _MONTHS.items() for name in names.split()}
_NAME = "(?P<month>" + "|".join(sorted(_MONTH_OF, key=len, reverse=True)) + r")[^\W\d_]{0,9}\.?"
_YEAR = r"(?P<year>(?:19|20)[0-9]{2})"
# No word before it, which is asked for last: an expression that begins with digits is searched for faster.
_FIRST = r"(?P<year>(?:19|20)(?<![\w.]..)[0-9]{2})"
_DAY = r"(?P<day>[0-3]?[0-9])"
_FORMS = [
    rf"{_FIRST}(?P<sign>[-/._])(?P<number>[01]?[0-9])(?P=sign){_DAY}(?![0-9])",
    rf"{_FIRST}(?P<number>[01][0-9])(?P<day>[0-3][0-9])(?:[0-9]{{6}})?(?![0-9])",
    rf"{_FIRST}\s?[年년]\s?(?P<number>[01]?[0-9])\s?[月월](?:\s?{_DAY}\s?[日일])?",
    rf"{_DAY}(?:st|nd|rd|th|\.|º|er)?(?:\s+|-)(?:of\s+|de\s+)?{_NAME},?(?:\s+|-)(?:of\s+|de\s+)?{_YEAR}(?![0-9])",
    rf"{_NAME}\s+{_DAY}(?:st|nd|rd|th)?,?\s+(?:[0-9:]{{5,8}}\s+(?:[A-Z]{{2,5}}\s+)?)?{_YEAR}(?![0-9])",
    rf"{_NAME},?\s+{_YEAR}(?![0-9])",
    rf"{_FIRST}-(?P<number>[01][0-9])(?![0-9-])",
]
_PATTERNS = [re.compile(form if form.startswith(_FIRST) else rf"(?<![\w.]){form}", re.IGNORECASE) for form in _FORMS]
_WITHOUT_NAMES = [pattern for pattern in _PATTERNS if "month" not in pattern.groupindex]
# Every form has one, and most texts have none.
_SOME_YEAR = re.compile("(?:19|20)[0-9]{2}")


class Day(NamedTuple):
    """A date: year, month (1 to 12) and day (1 to 31), 0 for an unknown part."""

    year: int
    month: int = 0
    day: int = 0

    def __str__(self) -> str:
        """ISO 8601, as far as it is known."""
        return "-".join([f"{self.year:04d}"] + [f"{part:02d}" for part in self[1:] if part])


class Dated(NamedTuple):
    day: Day
    start: int
    end: int


def dates_in(text: str) -> Iterator[Dated]:
    """The valid dates in a text, in order.

    A date of numbers alone must begin with the year, because 4/5 is in April or in May.
    """
    found: list[Dated] = []
    if not _SOME_YEAR.search(text):
        return
    small = text.lower()
    for pattern in _PATTERNS if any(map(small.__contains__, _MONTH_OF)) else _WITHOUT_NAMES:
        for match in pattern.finditer(text):
            if (day := _day(match.groupdict())) and all(
                match.end() <= each.start or match.start() >= each.end for each in found
            ):
                found.append(Dated(day, match.start(), match.end()))
    yield from sorted(found, key=lambda each: each.start)


def _day(parts: dict[str, str | None]) -> Day | None:
    named, number = parts.get("month"), parts.get("number")
    # Expressions take letters for equal that have other small ones, as a long s and an s.
    month = _MONTH_OF.get(named.lower(), -1) if named else int(number or 0)
    return valid(int(parts["year"] or 0), month, int(parts.get("day") or 0))


def valid(year: int, month: int = 0, day: int = 0) -> Day | None:
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return None
    try:
        date(year, month or 1, day or 1)
    except ValueError:
        return None
    return Day(year, month, day)


def read_day(value: Any) -> Day | None:
    """The date at the start of a metadata value: ISO 8601, of a mail, or of a PDF; None for anything else."""
    if not isinstance(value, str):
        return None
    text = value[:60].strip().removeprefix("D:")
    first = next(dates_in(text), None)
    # A weekday may stand before it.
    return first.day if first and first.start <= len("Wednesday, ") else None


def compared(one: Day, other: Day) -> int:
    for left, right in zip(one, other, strict=True):
        if not left or not right:
            return 0
        if left != right:
            return -1 if left < right else 1
    return 0
