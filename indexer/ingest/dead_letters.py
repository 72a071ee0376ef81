"""Documents that a store refused, as JSON lines that `neardup index` takes again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from indexer import own_files
from indexer.errors import StoreError
from indexer.ingest.readers.base import json_text
from indexer.model import REASON_KEY


class DeadLetters:
    """A file of refused documents, made at the first one and only readable by its owner; a context manager.

    Every line is on the disk when write() returns, so that a kill loses none. StoreError where it can't be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._descriptor: int | None = None

    def write(
        self,
        name: str,
        reason: str,
        text: str,
        *,
        html: bool = False,
        title: str = "",
        url: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a document under its id with the reason, and with all that `neardup index` would read of it."""
        known = {"title": title, "url": url}
        line = {"id": name, **{key: value for key, value in known.items() if value}, "html" if html else "text": text}
        line = {**(metadata or {}), **line, REASON_KEY: reason}
        try:
            if self._descriptor is None:
                self._descriptor = own_files.writer(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            # Escapes alone, so that text that is no Unicode is a line all the same.
            data = json_text(line).encode("ascii") + b"\n"
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise StoreError(f"{self.path}: a refused document can't be written: {error.strerror}") from error
        self.count += 1

    def close(self) -> None:
        """Close the file."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
