"""Shared by extractors: the reasons of failure, the limits and the options."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Generic, Literal, TypeVar, get_args

from indexer.errors import ExtractionError, UsageError
from indexer.extract.brought import require_format
from indexer.model import Document
from indexer.text.counts import counted

Content = Literal["landmarks", "full", "main"]
Extractor = Literal["auto", "fast", "reference"]
Key = TypeVar("Key")
Made = TypeVar("Made")

_CHOICES = (
    ("content", get_args(Content)),
    ("extractor", get_args(Extractor)),
)

LEAST_MEMORY = 64 << 20
"""The bytes that the extractors themselves take, with room for a small document."""

# Raised whenever the same bytes may give another text: fingerprints made under different versions don't mix.
EXTRACTOR_VERSION = "4"

PartsLeftOut = tuple[tuple[str, str], ...]
"""The parts of a document that are not in its text, each with its kind."""
QUOTED = "quoted"
"""The kind of what a mail repeats of another one, and of signatures; no digest covers it."""
BYTES = "bytes"
"""The kind of what is known of a document without text: the SHA-256 of its bytes."""
COMMENTER = "commenter"
"""The kind of the names of those who wrote comments."""

ENTITY = "entity"
"""The kind of references to entities of an XML document, and of their values."""

NEEDS_OCR = "needs-ocr"
"""The reason of failure of an image where no OCR is asked for."""

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "encrypted": "The document is encrypted and does not open with an empty password.",
        "too-large": "The document, its decompressed form or its text is larger than the limit on input size.",
        "timeout": "Extraction took longer than the time limit; the worker was stopped.",
        "out-of-memory": "Extraction needed more memory than the limit.",
        "crashed": "The worker process died while it read the document.",
        "malformed": "Every extractor tried found the document too damaged.",
        "unreadable": "The file can't be opened or read.",
        "unsupported": "The content has no known format.",
        NEEDS_OCR: "The document is an image; give --ocr to read it.",
        "task-failed": "The text was extracted, but its fingerprint could not be made.",
    }
)

_WHY_LEFT_OUT = {
    "hidden": "the page hides it",
    "menu or banner": "its class or id names a menu, a banner or a footer",
    "cookie banner": "it asks for consent and has a button",
    "deleted": "it was deleted; [\u2026] stands in its place",
    "comment": "it is a remark on the text",
    COMMENTER: "it says who wrote a comment",
    "book author": "it is said of the book, not in it",
    "chart": "it stands in a picture",
    "diagram": "it stands in a picture",
    "drawn sign": "it is drawn in a plot, without a character; the numbers may be negative",
    QUOTED: "it is quoted from another mail, or a signature",
    "svg": "it stands in a picture",
    "canvas": "it stands for a picture",
    "noscript": "it stands for what scripts show",
    "template": "scripts show it",
    **dict.fromkeys(("object", "iframe", "audio", "video"), "it stands for what is shown there"),
    "rt": "it says how to read the word before it",
    "annotation": "it writes a formula once more",
    "datalist": "it is offered for a field",
    "note": "it is a remark in the subtitles",
    "speaker": "it says who speaks in the subtitles",
    "table of contents": "it is made of the headings",
    "page margin": "it stands on every page",
    "page header": "it stands on every page",
    "page footer": "it stands on every page",
    "list level": "it says how deep an item stands in a list",
    "subject": "it is the title of the mail",
    "whole page": "it stands beside the main block",
    "table cell": "an empty cell stands before it, and a text has no columns",
    ENTITY: "entities are never expanded",
    BYTES: "the document has no text; this is the SHA-256 of its bytes",
}


def why_left_out(kind: str) -> str:
    if kind.startswith("field"):
        return "it is the value of a form field"
    if "/@" in kind:
        return "it is an attribute"
    return _WHY_LEFT_OUT.get(kind, "the document marks it as such")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for one document: `seconds` of wall-clock time; `memory` in bytes of address space, on top of an idle
    worker's; `input_bytes` for the input, its decompressed form and its text in UTF-8 alike.
    """

    seconds: float = 60.0
    memory: int = 2 << 30
    input_bytes: int = 200_000_000

    def __post_init__(self) -> None:
        if self.memory < LEAST_MEMORY:
            raise UsageError(
                f"a memory limit of {counted(self.memory, 'byte')} is too low to read any document; the least is "
                f"{LEAST_MEMORY >> 20} MiB"
            )


@dataclass(frozen=True, slots=True)
class Options:
    """The choice of text to keep, and of its reader.

    `content`: "landmarks" leaves out navigation, banners, footers, asides, dialogs and forms marked by HTML element or
    ARIA role; "full" keeps them; "main" keeps the main block only (needs the extra `main-content`). `extractor`:
    "fast", "reference", or "auto": fast first, reference if fast fails or finds no text. `format`: a Format, or a
    format of another package; None finds it from the content, then from the name. `ocr`: the languages (as in
    "eng+deu") for tesseract to read images and scanned pages; empty to leave these out.
    """

    content: Content = "landmarks"
    extractor: Extractor = "auto"
    format: str | None = None
    ocr: str = ""

    def __post_init__(self) -> None:
        for name, known in _CHOICES:
            if (value := getattr(self, name)) not in known:
                raise UsageError(f"{name}={value!r}: there are {', '.join(known)}")
        if self.format is not None:
            require_format(self.format)


@dataclass(frozen=True, slots=True)
class Item(Generic[Key]):
    """The bytes of a document to extract; `key` is the caller's own, `name` and `format` help to recognise its kind.

    `extractor` overrides the usual one; `told` are more bytes for the task.
    """

    key: Key
    data: bytes
    name: str = ""
    format: str | None = None
    extractor: Extractor | None = None
    told: bytes | None = None

    def options(self, usual: Options) -> Options:
        if not (self.format or self.extractor):
            return usual
        return replace(usual, format=self.format or usual.format, extractor=self.extractor or usual.extractor)


@dataclass(frozen=True, slots=True)
class Extracted(Generic[Key, Made]):
    """A document, without its text unless asked for, and the task's result."""

    key: Key
    document: Document
    made: Made


@dataclass(frozen=True, slots=True)
class Failed(Generic[Key]):
    """The failure of a document; `reason` is a short fixed word to count by."""

    key: Key
    reason: str
    detail: str


def too_large(what: str, size: int, limits: Limits) -> ExtractionError:
    return ExtractionError(
        "too-large", f"{what} is {counted(size, 'byte')} or more; the limit is {limits.input_bytes:,}"
    )


def require_main_content() -> None:
    if importlib.util.find_spec("trafilatura") is None:
        raise UsageError(
            "the content mode `main` needs trafilatura, which is not installed: pip install 'neardup[main-content]'"
        )
