"""The command lines of neardup in a document or a script, and whether the command takes them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click

from indexer.cli import cli


def command_lines(text: str) -> Iterator[str]:
    """Every command line of neardup's, alone, behind another program or behind `run --rm`, up to a pipe."""
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        found = re.search(r"(?:^|[|;&(]|\brun --rm )\s*(neardup\s[^|;&>)]*)", line)
        if found:
            yield found[1].strip()


def parse(line: str) -> click.Context:
    """Read a command line as the command does, without doing it; click's UsageError says what it does not take."""
    _, name, *words = shlex.split(line, comments=True)
    command = cli.commands.get(name)
    if command is None:
        raise click.UsageError(f"no such command: {name}")
    while isinstance(command, click.Group) and words and words[0] in command.commands:
        name = words.pop(0)
        command = command.commands[name]
    with command.make_context(name, words) as context:
        return context
