"""Formats of other packages: their file names, and their readers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from indexer.errors import ExtractionError, UsageError
from indexer.extract.formats import IMAGE_SUFFIXES, MAIL_NAMES, SUFFIXES, Format
from indexer.model import Document

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# Where packages say which formats they bring: a name is the format's, what it leads to has `endings` and `read`.
ENTRY_POINTS = "neardup.formats"
OWN = frozenset(get_args(Format))
_OWN_ENDINGS = frozenset((*SUFFIXES, *MAIL_NAMES, *IMAGE_SUFFIXES, *(f".{name}" for name in OWN)))
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_ENDING = re.compile(r"\.[^./\\\s]+")
# How a record's extractor begins that is such a format.
_READ_BY = re.compile(r"plug-in ([a-z0-9-]+) \(")
_MAX_DETAIL = 300
_PARTS = (str, str, Mapping)


class BroughtFormat(NamedTuple):
    """A format of another package: `package` names it with its version; `read` is its function of bytes."""

    name: str
    package: str
    endings: tuple[str, ...]
    read: Callable[[bytes], Any]

    def __str__(self) -> str:
        return f"plug-in {self.name} ({self.package})"

    def document(self, data: bytes) -> Document:
        """The document read by the plug-in.

        Raises ExtractionError with the plug-in's name, whatever it raises or returns instead.
        """
        from indexer.extract.text import cleaned, printable
        from indexer.text.dates import read_day

        try:
            given = self.read(data)
        except MemoryError:
            raise ExtractionError("out-of-memory", f"{self} needed more memory than the limit") from None
        except ExtractionError as error:
            raise ExtractionError(error.reason, f"{self}: {error.detail}") from None
        except (Exception, SystemExit) as error:
            # Another's code may raise whatever it likes.
            raise ExtractionError("malformed", f"{self}: {type(error).__name__}: {error}"[:_MAX_DETAIL]) from None
        parts = given if isinstance(given, tuple) else (given,)
        text, title, dates = (*parts, *("", "", {})[len(parts) :]) if 0 < len(parts) <= len(_PARTS) else (None,) * 3
        if not all(map(isinstance, (text, title, dates), _PARTS)):
            found = type(given).__name__
            raise ExtractionError(
                "malformed", f"{self} gave neither a text nor a tuple of text, title and dates, but {found}"
            )
        days = {kind: read_day(str(dates[kind])) for kind in ("modified", "published") if dates.get(kind)}
        declared = {kind: str(day) for kind, day in days.items() if day}
        return Document(printable(text), cleaned(title), extractor=str(self), declared=declared)


@cache
def brought_names() -> list[str]:
    return sorted({each.name for each in _entry_points()} - OWN)


def brought_by(kind: str | None, name: str) -> BroughtFormat | None:
    """A document's format of another package, by the requested format or by its name.

    None for one of neardup's own. Raises UsageError for an unknown format, and for plug-ins that can't be used.
    """
    if kind:
        return None if kind in OWN else _loaded(kind)
    ending = os.path.splitext(name.lower().removesuffix(".gz"))[1]
    return None if not ending or ending in _OWN_ENDINGS else _by_ending().get(ending)


def require_format(kind: str) -> None:
    brought_by(kind, "")


def named_again(extractor: str) -> str | None:
    read_by = _READ_BY.match(extractor)
    return read_by[1] if read_by else None


def missing(extractor: str) -> str:
    kind = named_again(extractor)
    if not kind or kind in brought_names():
        return ""
    return f"it was read by the {extractor}, which is not installed here"


def _entry_points() -> Iterable[EntryPoint]:
    # Imported when it is needed: it takes as long as all else that a command imports.
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)


@cache
def _by_ending() -> Mapping[str, BroughtFormat]:
    found: dict[str, BroughtFormat] = {}
    for name in sorted({each.name for each in _entry_points()}):
        made = _loaded(name)
        for ending in made.endings:
            if ending in found:
                raise UsageError(f"files ending in {ending} are read by two plug-ins: {found[ending]}, {made}")
            found[ending] = made
    return found


@cache
def _loaded(name: str) -> BroughtFormat:
    packages = {each.value: each for each in _entry_points() if each.name == name}
    if not packages:
        known = ", ".join((*get_args(Format), *brought_names()))
        raise UsageError(f"format={name!r}: no installed package brings this format; there are {known}")
    if len(packages) > 1:
        raise UsageError(f"{name}: several packages bring a format of this name ({', '.join(sorted(packages))})")
    [(place, entry)] = packages.items()
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"
    where = f"the format {name} of {package}, {place},"
    if name in OWN or not _NAME.fullmatch(name):
        raise UsageError(
            f"{where} can't have this name: it has lower-case letters, digits and hyphens between them, and is none of "
            "neardup's own"
        )
    try:
        made = entry.load()
        endings, read = tuple(made.endings), made.read
    except (Exception, SystemExit) as error:
        raise UsageError(f"{where} can't be used: {error!r}; mend the package or uninstall it") from error
    if isinstance(made.endings, str) or not endings or not all(map(_is_ending, endings)) or not callable(read):
        raise UsageError(
            f"{where} needs `endings`, a tuple of lower-case ends of names, such as .ipynb, of none of neardup's own "
            "formats, and `read`, a function of bytes; mend the package or uninstall it"
        )
    return BroughtFormat(name, package, endings, read)


def _is_ending(ending: Any) -> bool:
    return (
        isinstance(ending, str)
        and bool(_ENDING.fullmatch(ending))
        and ending == ending.lower()
        and ending not in _OWN_ENDINGS
    )
