"""Signs of a document's place in time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

from indexer.model import CANONICAL_URL, DECLARED, Record
from indexer.relations.versions.names import GAP, LATEST, Frame, frames_of_place, frames_of_title, is_note
from indexer.relations.versions.numbers import Number, read_number
from indexer.text.dates import Day, read_day, valid

# What metadata of users, and of the files that documents come from, calls the dates and numbers of a version.
_MODIFIED = "modified updated last_modified lastmod date_modified dateModified updated_at modified_at last_updated"
_PUBLISHED = "published date_published datePublished pubdate published_at issued date"
_VERSION = "version revision release edition"
_KEYS = {"modified": _MODIFIED.split(), "published": _PUBLISHED.split(), "version": _VERSION.split()}
# Most metadata has none of these.
_GIVEN = frozenset(key for keys in _KEYS.values() for key in keys)
# A title of fewer letters beside its number says too little.
_LEAST_LETTERS = 4
_MOST_NAMES, _LONGEST_NAME = 20, 500
_OTHERS = ("replaces", "replaced_by", "updates")

_DRAFT = "draft-"

# A file of many documents says nothing of one of them.
_MANY = re.compile(
    r"\.(?:jsonl?|ndjson|csv|tsv|parquet|warc|wet|wacz|arrow|feather|rss|atom)(?:\.(?:gz|bz2|xz|zst))?$", re.IGNORECASE
)

Channel = tuple[str, ...]
"""The channel of a sign, whose first part is its kind; only signs of the same one can be compared."""
# How far the signs of a kind are to be trusted, from 0 to 1.
TRUST: Mapping[str, float] = {
    "replaces": 0.98,
    "path": 0.95,
    "title": 0.9,
    "captured": 0.9,
    "number": 0.9,
    "canonical": 0.85,
    "stamp": 0.9,
    "modified": 0.85,
    "published": 0.8,
    "dated": 0.75,
    "day": 0.6,
}


class Sign(NamedTuple):
    value: Number | Day
    shown: str
    place: str


@dataclass(frozen=True, slots=True)
class Signs:
    """All signs of a document.

    `frames` are the channels of its path or URL, the outermost first: documents sharing one are versions of each other;
    so are documents sharing one of the `works`. `points` are its sortable signs. `names` are those others replace it
    by, `replaces`, `replaced_by` and `updates` those of others.
    """

    frames: tuple[Channel, ...] = ()
    works: tuple[Channel, ...] = ()
    points: Mapping[Channel, Sign] = ()  # type: ignore[assignment]
    names: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    replaced_by: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()

    @property
    def tells(self) -> bool:
        return bool(self.points or self.names)


def signs_of(record: Record, published: Any = None) -> Signs:
    metadata = record.metadata if isinstance(record.metadata, Mapping) else {}
    declared = metadata.get(DECLARED)
    declared = declared if isinstance(declared, Mapping) else {}
    place = "in the URL" if "://" in record.source[:20] else "in the path"
    frames = [] if _MANY.search(record.source) else frames_of_place(record.source)
    points = {_channel(frame): Sign(frame.slot.value, frame.slot.shown, place) for frame in frames}
    # A title counts where the place says nothing: two pages of one release may have one title.
    told = is_note(record.source) or any(frame.slot.kind == "number" for frame in frames)
    titles = [] if told else _titles(record.title)
    host = _host(record.source)
    points |= {
        ("title", host, frame.text): Sign(frame.slot.value, frame.slot.shown, "in the title") for frame in titles
    }
    works: list[Channel] = [("title", host, frame.text) for frame in titles]
    # The name of an Internet-Draft is that of one document, other words before a number are those of many.
    if str(declared.get("version_of")).startswith(_DRAFT):
        works.append(("number", str(declared["version_of"])))
    page = record.source.startswith(("http://", "https://"))
    if page:
        works.append(("source", record.source))
    if canonical := _beside(record.source, metadata.get(CANONICAL_URL)):
        works.append(("canonical", canonical))
        if sign := _beside_canonical(record.source, canonical, frames, place):
            points["canonical", canonical] = sign
    if metadata:
        points |= dict(_declared(declared, "that they declare", record.arrived_at))
        points |= dict(_given(metadata, record.arrived_at))
    if (day := read_day(published)) and not _after(day, record.arrived_at):
        points["published",] = Sign(day, str(day), "in the field of dates")
    own = [*_names(declared.get("name")), _url(record.source, record.source) if page else ""]
    others = [tuple(_urls(record.source, declared[name])) if name in declared else () for name in _OTHERS]
    return Signs(tuple(map(_channel, frames)), tuple(works), points, tuple(filter(None, own)), *others)


def _channel(frame: Frame) -> Channel:
    if frame.slot.kind == "number":
        return ("path", frame.text)
    return ("stamp" if frame.slot.sure else "day", frame.text)


def _titles(title: str) -> list[Frame]:
    return [
        frame
        for frame in frames_of_title(title)
        if sum(map(str.isalpha, frame.text.replace(GAP, ""))) >= _LEAST_LETTERS
    ]


def _beside_canonical(source: str, canonical: str, frames: list[Frame], place: str) -> Sign | None:
    numbers = [frame.slot for frame in frames if frame.slot.kind == "number"]
    if len(numbers) == 1:
        return Sign(numbers[0].value, numbers[0].shown, place)
    if not frames and _url(source, source) == canonical:
        return Sign(LATEST, "the canonical page", place)
    return None


def _declared(declared: Mapping[str, Any], place: str, arrived: str) -> Iterator[tuple[Channel, Sign]]:
    text = declared.get("version")
    if isinstance(text, str) and (number := read_number(text)):
        yield ("number", str(declared.get("version_of") or "")), Sign(number, text.strip(), place)
    for kind in ("modified", "published", "dated"):
        day = read_day(declared.get(kind))
        if day and not _after(day, arrived):
            yield (kind,), Sign(day, str(day), place)


def _given(metadata: Mapping[str, Any], arrived: str) -> Iterator[tuple[Channel, Sign]]:
    if metadata.keys().isdisjoint(_GIVEN):
        return
    captured = "warc_type" in metadata
    for kind, keys in _KEYS.items():
        value = next((metadata[key] for key in keys if isinstance(metadata.get(key), str | int | float)), None)
        if kind == "version":
            if value is not None and not isinstance(value, bool) and (number := read_number(str(value))):
                yield ("number", "metadata"), Sign(number, str(value).strip(), "in the metadata")
        elif (day := read_day(value)) and not _after(day, arrived):
            of = "captured" if captured and kind == "published" else kind
            yield (of,), Sign(day, str(day), "in the metadata")


def _after(day: Day, arrived: str) -> bool:
    """True if a document claims a day after its arrival; clocks and time zones differ by one."""
    latest = read_day(arrived) or Day(9999)
    known = valid(day.year, day.month or 1, day.day or 1) or day
    return known > (latest.year, latest.month, latest.day + 2)


def _url(source: str, value: Any) -> str:
    if not isinstance(value, str) or not value or len(value) > _LONGEST_NAME:
        return ""
    try:
        return urldefrag(urljoin(source, value) if "://" in source[:20] else value)[0]
    except ValueError:
        return ""


def _host(source: str) -> str:
    try:
        return urlsplit(source).netloc.lower() if "://" in source[:20] else ""
    except ValueError:
        return ""


def _beside(source: str, value: Any) -> str:
    url = _url(source, value)
    return url if _host(url) == _host(source) else ""


def _names(value: Any) -> list[str]:
    return [value] if isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME else []


def _urls(source: str, value: Any) -> Iterator[str]:
    for name in value[:_MOST_NAMES] if isinstance(value, list) else []:
        if isinstance(name, str) and (one := name if name.isalnum() else _beside(source, name)):
            yield one
