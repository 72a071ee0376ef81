"""Options and arguments that name files: whoever opens one says what is wrong with it, and with which exit code."""

from __future__ import annotations

import click

A_PATH = click.Path(readable=False)
A_FILE = click.Path(dir_okay=False, readable=False)
A_FOLDER = click.Path(file_okay=False, readable=False)
