"""Options and arguments for files; whoever opens a file reports its errors."""

from __future__ import annotations

import click

A_PATH = click.Path(readable=False)
A_FILE = click.Path(dir_okay=False, readable=False)
A_FOLDER = click.Path(file_okay=False, readable=False)
