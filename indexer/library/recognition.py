"""OCR on this machine: its program, and the pages kept."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from indexer.extract.ocr import kept, tesseract

NEEDED = tesseract.INSTALL
"""The names of all that OCR needs, for messages."""


@dataclass(frozen=True, slots=True)
class OcrState:
    """The program for scanned pages on this machine, and the pages kept."""

    version: Annotated[str, "The version of tesseract; empty if it is not installed"]
    languages: Annotated[tuple[str, ...], "The languages with data"]
    pillow: Annotated[bool, "True if Pillow is installed, too"]
    needs: Annotated[str, "The missing installations"]
    folder: Annotated[str, "The folder of the pages kept, readable by the user only"]
    documents: Annotated[int, "The documents with kept pages"]
    bytes: Annotated[int, "Their size"]
    most_bytes: Annotated[int, "The size at which the least recently used entries are removed"]
    removed: Annotated[int, "The documents with pages removed now"]


def ocr_state(*, clear: bool = False) -> OcrState:
    """The program for scanned pages on this machine, and the pages kept; `clear` removes them."""
    removed = kept.clear() if clear else 0
    sizes = []
    for entry in kept.kept_files():
        with suppress(OSError):
            sizes.append(entry.stat(follow_symlinks=False).st_size)
    return OcrState(
        version=tesseract.version(),
        languages=tesseract.installed_languages(),
        pillow=tesseract.has_pillow(),
        needs=NEEDED,
        folder=kept.folder(),
        documents=len(sizes),
        bytes=sum(sizes),
        most_bytes=kept.MOST_BYTES,
        removed=removed,
    )
