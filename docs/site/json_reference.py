"""The sections of docs/reference/json.md on answers, made from their declarations.

`python docs/site/json_reference.py` writes them into the page; tests/cli/test_json_reference.py compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from indexer.cli import cli
from indexer.cli.options.commands import Answering
from indexer.library.records import Described, Stored
from indexer.model import declared

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "json.md"
RECORD = "A stored document"
_WHOLE = f"the members of [a stored document](#{RECORD.lower().replace(' ', '-')})"


def declared_sections() -> dict[str, str]:
    """The text below each heading of the page, from the declarations."""
    found = {RECORD: _section(Described, whole=True)}
    for name, command in _commands(cli):
        if isinstance(command, Answering) and name != "show":
            found[name] = "\n".join(_section(kind, f"{heading}: ") for heading, kind in command.results())
    return found


def _commands(group: click.Group, front: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield front + name, command
        if isinstance(command, click.Group):
            yield from _commands(command, f"{front}{name} ")


def page(text: str) -> str:
    """The page with these sections."""
    sections = declared_sections()
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    for place in range(1, len(parts), 2):
        parts[place + 1] = f"\n{sections[parts[place]]}\n" if parts[place] in sections else parts[place + 1]
        parts[place] = f"## {parts[place]}\n"
    return "".join(parts).rstrip("\n") + "\n"


def _section(kind: type, heading: str = "", *, whole: bool = False) -> str:
    description = declared.description(kind)
    if heading:
        description = heading + description[0].lower() + description[1:]
    lines = [description, "", "| member | what it is |", "|---|---|"]
    lines += [f"| {name} | {meaning} |" for name, meaning in _rows(kind, "", whole=whole)]
    return "\n".join(lines) + "\n"


def _rows(kind: type, front: str, *, whole: bool = False) -> Iterator[tuple[str, str]]:
    included = issubclass(kind, Stored) and not whole
    for member in declared.members(kind):
        if included and member.of is Stored:
            continue
        name = front + member.name
        yield f"`{name}`", member.meaning.replace("|", "\\|")
        if member.kind:
            yield from _rows(member.kind, f"{name}[]." if member.many else f"{name}.")
    if included:
        yield (f"`{front}…`" if front else "and"), _WHOLE


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
