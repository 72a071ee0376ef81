"""The files inside a ZIP file, in memory alone, within one limit."""

from __future__ import annotations

import io
import zipfile
import zlib
from types import TracebackType
from typing import Self

from indexer.errors import ExtractionError
from indexer.extract.base import Limits, too_large

_ENCRYPTED = 0x1


class PackageParts:
    """Reads parts of a ZIP file; a context manager. Nothing is ever written, so a part's path leads nowhere."""

    def __init__(self, data: bytes, limits: Limits) -> None:
        self._limits, self._size = limits, 0
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise ExtractionError("malformed", f"a damaged ZIP file: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()

    def __contains__(self, name: str) -> bool:
        return name in self._archive.NameToInfo

    def names(self, *beginnings: str) -> list[str]:
        return sorted(name for name in self._archive.NameToInfo if name.startswith(beginnings))

    def read(self, name: str) -> bytes:
        """The bytes of a part.

        Raises ExtractionError: "too-large" if all parts read exceed the limit, "encrypted", or "malformed".
        """
        info = self._archive.NameToInfo.get(name)
        if info is None:
            raise ExtractionError("malformed", f"the document lacks its part {name}")
        if info.flag_bits & _ENCRYPTED:
            raise ExtractionError("encrypted", f"the part {name} is encrypted")
        left = self._limits.input_bytes - self._size
        try:
            with self._archive.open(info) as part:
                data = part.read(left + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
            raise ExtractionError("malformed", f"the part {name} is damaged: {error}") from None
        self._size += len(data)
        if self._size > self._limits.input_bytes:
            raise too_large("the decompressed document", self._size, self._limits)
        return data
