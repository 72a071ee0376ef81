"""OCR on this machine: its program, and the pages that are kept."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from indexer.extract.ocr import kept, tesseract

NEEDED = tesseract.INSTALL
"""The names of all that OCR needs, for messages."""


@dataclass(frozen=True, slots=True)
class OcrState:
    """The program that reads scanned pages on this machine, and the pages that are kept.

    Attributes:
        version: The version of tesseract; empty where it is not installed
        languages: The languages that it has data for
        pillow: True if Pillow is installed, too
        needs: What has to be installed
        folder: The folder of the pages that are kept, which only the user can read
        documents: The documents of which pages are kept
        bytes: Their size
        most_bytes: The size from which on those used least lately are removed
        removed: The documents whose pages were removed now
    """

    version: str
    languages: tuple[str, ...]
    pillow: bool
    needs: str
    folder: str
    documents: int
    bytes: int
    most_bytes: int
    removed: int


def ocr_state(*, clear: bool = False) -> OcrState:
    """The program that reads scanned pages on this machine, and the pages that are kept; with `clear` none stays."""
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
