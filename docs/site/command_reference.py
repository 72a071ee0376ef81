"""The command as docs/reference/commands.md shows it: mkdocs-click leaves out the text below the options.

So the examples follow each command's description here, as Markdown.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Iterator

import click

from indexer.cli import cli

_SPECIAL = re.compile(r"([\\*_<>\[\]#|])")


def _described(command: click.Command) -> click.Command:
    """A copy with the epilog in its description, and in those of its commands."""
    shown = copy.copy(command)
    texts = (inspect.cleandoc(each or "") for each in (command.help, command.epilog))
    shown.help = "\n\n".join(_markdown("\n\n".join(texts)))
    shown.epilog = None
    if isinstance(shown, click.Group):
        shown.commands = {name: _described(each) for name, each in shown.commands.items()}
    return shown


def _markdown(text: str) -> Iterator[str]:
    """The paragraphs of a help text; after \\b the lines below its heading stay as they are."""
    for paragraph in re.split(r"\n\s*\n", text):
        if not paragraph.startswith("\b"):
            yield _SPECIAL.sub(r"\\\1", paragraph)
            continue
        lines = inspect.cleandoc(paragraph.removeprefix("\b")).splitlines()
        while lines and not lines[0].startswith(" ") and lines[0].endswith(":"):
            yield lines.pop(0)
        yield "\n".join(("```text", *inspect.cleandoc("\n".join(("", *lines))).splitlines(), "```"))


neardup = _described(cli)
