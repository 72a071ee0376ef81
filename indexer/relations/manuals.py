"""Manual pages: what each is of, and the words that only one of two formats shows, such as the title again."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from indexer.relations.wording import Wording

# "LS(1)   User Commands   LS(1)" stands above a page that was made ready for a terminal, a version and a date below.
_HEAD = r"\s*(?P<title>\S{1,100}\(\d\w{0,3}\))[ \t]{1,200}(?:\S[^\n]{0,200}[ \t])?(?P=title)[ \t]*\n"
# In a source of AsciiDoc the title stands before it.
_FIRST_HEADING = re.compile(rf"(?:{_HEAD}|\s*\S+\(\d\w{{0,3}}\)[ \t]*\n=+\s*\n)?\s*NAME\s*\n")
_RUNNING_HEAD = re.compile(rf"{_HEAD}(?=\s*NAME\s*\n)")
# A list of what "[1]" stands for: its number, its words, and an address.
_NOTES = re.compile(r"\n[ \t]*NOTES[ \t]*\n")
_NOTE = re.compile(
    r"^[ \t]*(\d{1,3})\.(?:[ \t]+\d\n|[ \t]+)([^\n]{1,200}?(?:\n[^\n]{1,200}?)?)\n[^\n]*:/", re.MULTILINE
)
# What a manual page is of stands behind that, up to a dash.
_NAMED = re.compile(
    rf"(?:{_HEAD})?" r"\s*NAME\s*\n\s*(?P<of>[^\n]{1,200}?(?:\n[^\n]{1,200}?)?)\s+(?:--?|[\u2010-\u2015])\s"
)
_SECTION = re.compile(r"[1-9][a-z]{0,3}")
_LONGEST_TITLE = 10

WordPlaces = Sequence[int]


def differing_names(left: Wording, right: Wording) -> tuple[str, str] | None:
    """The names of what two manual pages are of, where these differ; None where not both are manual pages."""
    one, other = (_NAMED.match(wording.text) for wording in (left, right))
    if not one or not other:
        return None
    mine, yours = " ".join(one["of"].split()), " ".join(other["of"].split())
    return (mine, yours) if mine.casefold() != yours.casefold() else None


class PageOfTerminal(NamedTuple):
    """A manual page as it was made ready for a terminal: what stands between its margins, and the words below.

    Above it stands its title twice, and below a version and a date.
    """

    body: Wording
    foot: Wording

    @classmethod
    def of(cls, wording: Wording) -> PageOfTerminal | None:
        """The parts of a text; None where it is no such page."""
        if not (head := _RUNNING_HEAD.match(wording.text)):
            return None
        text = wording.text.rstrip()
        last = text.rfind("\n") + 1
        if last <= head.end() or not text[last:].endswith(head["title"]):
            last = len(text)
        return cls(Wording(text[head.end() : last]), Wording(text[last:]))

    def lost_beside(self, other: Wording) -> list[str]:
        """The words below the page that another text never says."""
        said = {*other.hashes.tolist()}
        return [self.foot.word(place) for place, value in enumerate(self.foot.hashes.tolist()) if value not in said]


class ManualBesidePage:
    """A manual page beside the same page in another format, such as the HTML that is made of the same source.

    The manual says the section behind each name, "ls(1)", and the number of a note behind the words of a link, "the
    guide[1]", has NAME for its first heading, writes titles of several
    words with underscores, and also behind the words themselves, "DROP TABLE (DROP_TABLE(7))". The other one has its
    title twice, or "Manual Page" behind the first.
    """

    def __init__(self, left: Wording, right: Wording, *, left_is_manual: bool) -> None:
        self._left_is_manual = left_is_manual
        self._manual, self._page = (left, right) if left_is_manual else (right, left)
        self._sections, self._echoes = _sections(self._manual)
        self._sections |= _marks_of_notes(self._manual)
        self._heading = _heading(self._page)
        self._title = range(_title_length(self._page))

    @classmethod
    def of(cls, left: Wording, right: Wording) -> ManualBesidePage | None:
        """Of two texts; None where not exactly one of them is a manual page."""
        one, other = (bool(_FIRST_HEADING.match(wording.text)) for wording in (left, right))
        return cls(left, right, left_is_manual=one) if one != other else None

    def without_marks(self, ours: WordPlaces, theirs: WordPlaces) -> tuple[list[int], list[int]]:
        """The places of words that stand for each other, without those that only the one format shows."""
        manual, page = (ours, theirs) if self._left_is_manual else (theirs, ours)
        starts = 0 in manual and 0 in page
        manual, page = _without(manual, self._echoes), _without(page, self._heading)
        if not any(map(str.isdigit, self._said(self._page, page))):
            manual = _without(manual, self._sections)
        if starts:
            manual, page = _without(manual, (0,)), _without(page, self._title)
        if self._said(self._manual, manual).replace("_", " ") == self._said(self._page, page):
            manual, page = [], []
        return ([*manual], [*page]) if self._left_is_manual else ([*page], [*manual])

    @staticmethod
    def _said(wording: Wording, places: WordPlaces) -> str:
        return " ".join(map(wording.folded, places))


def _without(places: WordPlaces, others: Collection[int]) -> WordPlaces:
    return [place for place in places if place not in others]


def _sections(manual: Wording) -> tuple[set[int], set[int]]:
    """The places of the sections behind names, and of those and names that repeat the words in front of them."""
    sections, echoes = set[int](), set[int]()
    for place in range(1, len(manual)):
        if manual.before(place) != "(" or manual.behind(place) != ")" or not _SECTION.fullmatch(manual.word(place)):
            continue
        sections.add(place)
        said = manual.folded(place - 1).split("_")
        before = range(max(0, place - 1 - len(said)), place - 1)
        if manual.before(place - 1).strip() == "(" and [*map(manual.folded, before)] == said:
            echoes |= {place - 1, place}
    return sections, echoes


def _marks_of_notes(manual: Wording) -> set[int]:
    """The places of the numbers of notes behind the words that these are on."""
    if not (heading := _NOTES.search(manual.text)):
        return set()
    notes = {note[1]: Wording(note[2]) for note in _NOTE.finditer(manual.text, heading.end() - 1)}
    found = set[int]()
    for place in range(1, len(manual)):
        note = notes.get(manual.word(place))
        if note is None or not len(note) <= place or manual.before(place) != "[" or manual.behind(place) != "]":
            continue
        if (manual.hashes[place - len(note) : place] == note.hashes).all():
            found.add(place)
    return found


def _heading(page: Wording) -> range:
    """The places of "ls(1) Manual Page" where NAME and the same title follow."""
    words = [page.word(place) for place in range(min(2 * _LONGEST_TITLE, len(page)))]
    for at in range(2, min(_LONGEST_TITLE, len(words) - 2)):
        if words[at : at + 3] == ["Manual", "Page", "NAME"] and words[: at - 1] == words[at + 3 : 2 * at + 2]:
            return range(at + 2)
    return range(0)


def _title_length(page: Wording) -> int:
    """The number of words that a page begins with twice."""
    for length in range(min(_LONGEST_TITLE, len(page) // 2), 0, -1):
        if (page.hashes[:length] == page.hashes[length : 2 * length]).all():
            return length
    return 0
