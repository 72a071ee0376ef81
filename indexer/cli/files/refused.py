"""Documents that a store refused: kept with their text and the reason, in a file that `neardup index` takes again."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from indexer import own_files
from indexer.cli.terminal.output import about, say
from indexer.errors import ExtractionError, UsageError
from indexer.ingest.dead_letters import DeadLetters
from indexer.ingest.sources import UnreadableError, read_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from indexer.extract.base import Limits, Options
    from indexer.ingest.sources import Input
    from indexer.model import Record

# What the default files are called; folders are walked without them.
PATTERN = "neardup-refused-*.jsonl"


def letters_path(asked: str | None, inputs: Iterable[str]) -> Path:
    """The file for refused documents: the one asked for, or one of this run's own in the current folder.

    Raises UsageError for a file that is to be read in the same run, and for one that belongs to a store.
    """
    if asked is None:
        # The time to the microsecond, so that a run that reads an earlier one's file never takes it for its own.
        return Path(PATTERN.replace("*", datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ") + f"-{os.getpid()}"))
    if any(_is_same(asked, name) for name in inputs):
        raise UsageError(f"--dead-letters {asked}: this file is read in the same run; name another one")
    try:
        own_files.require_free(asked)
    except own_files.OwnFileError as error:
        raise UsageError(f"--dead-letters {asked}: {error.strerror}") from None
    return Path(asked)


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


class Refused(DeadLetters):
    """The file of one run; called with each document that the store refused."""

    def __init__(self, path: Path, options: Options, limits: Limits) -> None:
        super().__init__(path)
        self._options, self._limits = options, limits

    def __call__(self, item: Input, record: Record, reason: str) -> None:
        """Write a document; what is no text yet is read again for it."""
        html, title = False, item.title
        if item.path or item.format not in ("text", "html"):
            from indexer.extract import extract

            try:
                data = read_file(item.path, self._limits.input_bytes) if item.path else item.data
                document = extract(data, name=item.path or item.name, options=self._options, limits=self._limits)
            except (ExtractionError, UnreadableError) as error:
                text = f"{item.source}: was refused ({reason}), and can't be read again for {self.path}: {error}"
                say(text, level="warning", **about(error))
                return
            text, title = document.text, title or document.title
        else:
            html = item.format == "html"
            text = item.data.decode("utf-8-sig" if html else "utf-8")
        self.write(record.ref.id, reason, text, html=html, title=title, url=item.source, metadata=item.metadata)
