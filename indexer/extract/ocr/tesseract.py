"""The program tesseract: its installation, and its reading of a page."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import BinaryIO, NamedTuple

from indexer.errors import ExtractionError, UsageError
from indexer.extract.ending import end_with_parent

INSTALL = "tesseract (Debian and Ubuntu: apt install tesseract-ocr) and Pillow (pip install 'neardup[ocr]')"
"""The names of all that OCR needs, for messages."""

_PROGRAM = "tesseract"
_LANGUAGES = re.compile(r"[A-Za-z0-9_]+(?:/[A-Za-z0-9_]+)?(?:\+[A-Za-z0-9_]+(?:/[A-Za-z0-9_]+)?)*")
_MOST_TEXT = 1 << 20


def require_ocr(languages: str) -> None:
    """Raise UsageError unless tesseract, Pillow and the languages (as in "eng+deu") are installed."""
    if not _LANGUAGES.fullmatch(languages):
        raise UsageError(f"--ocr {languages!r}: name languages as tesseract does, such as eng or eng+deu")
    known = installed_languages()
    if not known or not has_pillow():
        raise UsageError(f"--ocr needs {INSTALL}")
    if lacking := [name for name in languages.split("+") if name not in known]:
        raise UsageError(
            f"--ocr {languages}: tesseract has no data for {', '.join(lacking)}, only for {', '.join(known)}; in "
            f"Debian and Ubuntu: apt install tesseract-ocr-{lacking[0].lower().replace('_', '-')}"
        )


def has_pillow() -> bool:
    return importlib.util.find_spec("PIL") is not None


@functools.cache
def installed_languages() -> tuple[str, ...]:
    return tuple(_asked("--list-langs")[1:])


@functools.cache
def version() -> str:
    lines = _asked("--version")
    return lines[0].rpartition(" ")[2] if lines else ""


def _asked(option: str) -> list[str]:
    if (program := shutil.which(_PROGRAM)) is None:
        return []
    try:
        done = subprocess.run([program, option], capture_output=True, timeout=30, check=True)  # noqa: S603 - found on PATH
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.decode("utf-8", "replace").splitlines()


class Picture(NamedTuple):
    width: int
    height: int
    pixels: bytes
    dots: int = 0


class Recognition:
    def __init__(self, picture: Picture, languages: str) -> None:
        self._text, given, complaints = _memory(), _memory(), _memory()
        with given, complaints:
            # The simplest form of an image (Netpbm's PGM), so that tesseract's own decoders read nothing hostile.
            given.write(b"P5 %d %d 255\n" % (picture.width, picture.height))
            given.write(picture.pixels)
            given.seek(0)
            dots = ["--dpi", str(picture.dots)] if picture.dots else []
            try:
                self._process = subprocess.Popen(  # noqa: S603 - the languages are checked
                    [shutil.which(_PROGRAM) or _PROGRAM, "stdin", "stdout", "-l", languages, *dots],
                    stdin=given,
                    stdout=self._text,
                    stderr=complaints,
                    # Pages are read beside each other; threads for one page gain little.
                    env={**os.environ, "OMP_THREAD_LIMIT": "1"},
                    preexec_fn=end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - one call of the kernel
                )
            except OSError as error:
                self._text.close()
                raise ExtractionError("malformed", f"tesseract can't be started here: {error.strerror}") from None

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def text(self) -> str | None:
        if self._process.wait():
            return None
        self._text.seek(0)
        return self._text.read(_MOST_TEXT).decode("utf-8", "replace")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._text.close()


def _memory() -> BinaryIO:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("page"), "w+b")
    return tempfile.TemporaryFile()
