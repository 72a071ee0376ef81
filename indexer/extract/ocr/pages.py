"""Read pages by OCR, several at a time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from indexer.errors import ExtractionError
from indexer.extract.base import Limits
from indexer.extract.ocr.names import read_by
from indexer.extract.ocr.tesseract import Picture, Recognition, version
from indexer.text.counts import counted

with suppress(ImportError):
    # Not on Windows, where no document is read from a file.
    import fcntl

_PAUSE = 0.005

Render = Callable[[], Picture | None]
"""Draws a page when it is its turn; None for one that can't be drawn."""


@dataclass(frozen=True, slots=True)
class Slots:
    """The pages a pool's workers may read at a time: locks in a shared file.

    A POSIX lock (`fcntl`) ends with its process, however it ends.
    """

    file: int
    count: int

    def take(self, held: Collection[int]) -> int | None:
        for place in range(self.count):
            if place not in held:
                try:
                    fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                except OSError:
                    continue
                return place
        return None

    def free(self, place: int) -> None:
        fcntl.lockf(self.file, fcntl.LOCK_UN, 1, place)


class PageReader:
    """Reads the pages of a document in these languages, each within the limit on time.

    `known` are the texts of pages by their number, from 0, from an earlier run; `told` is called with the number and
    text of each page read now, None for a failure. At least one page is read at a time, more by free `slots`.
    """

    def __init__(
        self,
        languages: str,
        limits: Limits,
        *,
        known: Mapping[int, str] | None = None,
        told: Callable[[int, str | None], None] | None = None,
        slots: Slots | None = None,
    ) -> None:
        self.languages, self._seconds, self._late = languages, limits.seconds, False
        self._known, self._told, self._slots = known or {}, told, slots

    def read(self, pages: Mapping[int, Render]) -> dict[int, str]:
        found = {number: self._known[number] for number in pages if number in self._known}
        waiting = deque(number for number in pages if number not in found)
        running: list[_Running] = []
        try:
            while waiting or running:
                held = {one.slot for one in running if one.slot is not None}
                slot = self._slots.take(held) if self._slots and waiting else None
                if waiting and (slot is not None or not running):
                    number = waiting.popleft()
                    if picture := pages[number]():
                        end = time.monotonic() + self._seconds
                        running.append(_Running(number, Recognition(picture, self.languages), slot, end))
                    elif self._slots and slot is not None:
                        self._slots.free(slot)
                    continue
                time.sleep(_PAUSE)
                for one in [one for one in running if one.is_over]:
                    running.remove(one)
                    text = one.page.text() if one.page.ended else None
                    self._late |= not one.page.ended
                    self._end(one)
                    if text is not None:
                        found[one.number] = text
                    if self._told:
                        self._told(one.number, text)
        finally:
            for one in running:
                self._end(one)
        return found

    def _end(self, one: _Running) -> None:
        one.page.close()
        if self._slots and one.slot is not None:
            self._slots.free(one.slot)

    def failure(self, pages: int) -> ExtractionError:
        many = counted(pages, "scanned page")
        if self._late:
            return ExtractionError("timeout", f"tesseract read none of {many} within {self._seconds:g} seconds")
        return ExtractionError("malformed", f"tesseract can read none of {many}")

    def said(self, pages: Mapping[int, Render], found: Mapping[int, str]) -> str:
        failed = len(pages) - len(found)
        return read_by(len(found), version(), self.languages) + (
            f"; {counted(failed, 'scanned page')} that tesseract can't read" if failed else ""
        )


@dataclass(frozen=True, slots=True)
class _Running:
    number: int
    page: Recognition
    slot: int | None
    end: float

    @property
    def is_over(self) -> bool:
        return self.page.ended or time.monotonic() > self.end
