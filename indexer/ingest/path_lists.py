"""Lists of paths that a user's other programs write."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from indexer.errors import NotFoundError, UsageError
from indexer.ingest.sources import STDIN
from indexer.model import own_files
from indexer.model.paths import printable_path


def list_of_paths(name: str) -> Iterator[str]:
    """The paths in a file ("-": standard input), one a line, or ended by NUL where the first block holds one."""
    try:
        file = sys.stdin.buffer if name == STDIN else open(name, "rb", opener=own_files.reader)  # noqa: SIM115 - closed below
    except OSError as error:
        raise NotFoundError(f"{printable_path(name)}: the list of paths can't be read: {error.strerror}") from None
    with file:
        block = file.read(1 << 16)
        end = b"\0" if b"\0" in block else b"\n"
        rest = b""
        while block:
            *whole, rest = (rest + block).split(end)
            yield from (os.fsdecode(path) for path in whole if path)
            if len(rest) > 1 << 20:
                raise UsageError(f"{printable_path(name)}: a path of more than a million bytes; is it a list of paths?")
            block = file.read(1 << 16)
        if rest:
            yield os.fsdecode(rest)
