"""One manual as five formats print it, each with its own marks, its own front and back matter."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.relations.labelled import Writer


class Manual(NamedTuple):
    """A manual: its name, its version and its sections; `{page 3}` refers to a page, `{not}` is stressed."""

    name: str
    version: str
    sections: tuple[tuple[str, tuple[str, ...]], ...]

    def corrected(self, old: str, new: str) -> Manual:
        """The same manual with other words in one place of its third section."""
        title, (first, *rest) = self.sections[2]
        assert first.count(old) == 1
        changed = (title, (first.replace(old, new), *rest))
        return self._replace(sections=(*self.sections[:2], changed, *self.sections[3:]))


def manual(seed: int) -> Manual:
    """A manual of five sections."""
    writer = Writer("en", seed)
    sections = []
    for number in range(5):
        told = (
            f"{writer.sentence()} See {{boats {number + 1}}} and {{sails {number + 3}}} for more of it. "
            f"A gate of {number + 21} feet is {{not}} left open at night. {writer.sentence()}",
            *(" ".join(writer.sentence() for _ in range(5)) for _ in range(3)),
        )
        sections.append((f"How to keep the {writer.words().split(' (')[0]}", told))
    return Manual(f"harbour-{'abcdefgh'[seed % 8] * 3}", f"v{seed + 2}.1.0", tuple(sections))


def _printed(told: str, reference: str, stress: str) -> str:
    told = re.sub(r"\{(\w+) (\d)\}", reference, told)
    return re.sub(r"\{(\w+)\}", stress, told)


def as_page(given: Manual) -> str:
    """A page of a site: a menu, numbered headings, history in a table, a foot."""
    parts = ["Home\nManuals\nSearch", f"{given.name}(7) Manual Page"]
    for number, (title, told) in enumerate(given.sections, 1):
        history = (
            f"History\nVersion\tChanges\nv9.{number}.0\tThe gate has two locks.\nv8.{number}.0\tAdded in: v8.{number}.0"
        )
        parts += [f"{number}. {title}", history, *(_printed(each, r"\1(\2)", r"\1") for each in told)]
    return "\n\n".join((*parts, "Last changed on a rainy day\nShare this page"))


def as_markdown(given: Manual) -> str:
    """A source in Markdown: marks of emphasis and links, history in comments, the oldest change first."""
    parts = [f"# {given.name}(7)"]
    for number, (title, told) in enumerate(given.sections, 1):
        history = (
            f"<!-- YAML\nadded: v8.{number}.0\nchanges:\n  - version: v9.{number}.0\n    The gate has two locks.\n-->"
        )
        parts += [f"## {title}", history, *(_printed(each, r"[`\1(\2)`][]", r"_\1_") for each in told)]
    return "\n\n".join(parts)


def as_source(given: Manual) -> str:
    """A source with directives and references in square brackets."""
    parts = [f"{given.name}(7)\n==========="]
    for number, (title, told) in enumerate(given.sections, 1):
        parts += [f"{title}\n-----------", f"include::history-{number}.txt[]"]
        parts += [_printed(each, r"linkpage:\1[\2]", r"*\1*") for each in told]
    return "\n\n".join((*parts, "HARBOUR\n-------\nPart of the linkpage:harbour[1] suite"))


def as_pages(given: Manual) -> str:
    """Text of a PDF: contents with page numbers, wrapped lines with hyphens, marks of notes."""
    contents = [f"{number} {title} . . . . . . . {number + 4}" for number, (title, _) in enumerate(given.sections, 1)]
    parts = [given.name.upper(), "Contents", *contents]
    for number, (title, told) in enumerate(given.sections, 1):
        parts.append(f"{number} {title}")
        parts += [textwrap.fill(_printed(each, "\\1(\\2)\u00b9", r"\1"), 66).replace("fi", "\ufb01") for each in told]
    return "\n\n".join(parts)


def as_terminal(given: Manual) -> str:
    """Text of a terminal: one name at the head and at the foot, indented lines."""
    head = f"{given.name.upper()}(7)          Harbour Manual          {given.name.upper()}(7)"
    parts = [head]
    for title, told in given.sections:
        parts.append(title.upper())
        parts += [
            textwrap.fill(_printed(each, r"\1(\2)", r"\1"), 72, initial_indent=" " * 7, subsequent_indent=" " * 7)
            for each in told
        ]
    return "\n\n".join((*parts, f"Harbour {given.version}        a winter day        {given.name.upper()}(7)"))


FORMATS: tuple[Callable[[Manual], str], ...] = (as_page, as_markdown, as_source, as_pages, as_terminal)


def in_two_formats(left: Manual, right: Manual) -> Iterator[tuple[str, str]]:
    """Two manuals in each two formats."""
    for place, one in enumerate(FORMATS):
        for other in FORMATS[place + 1 :]:
            yield one(left), other(right)
