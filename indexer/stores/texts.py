"""Texts that stand in the documents of a store itself, or of the index that it stands beside: fields and values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from indexer.model import Record, Ref

OUTDATED = "was changed after it was fingerprinted; run neardup annotate, or neardup follow"
"""The words about a text that its owner has changed, and the commands that mend it."""


@dataclass(frozen=True, slots=True)
class TextFields:
    """The fields, in order, in which `neardup annotate` found the texts of an index, and whether they hold HTML.

    `source` and `title` are the fields that say where a document came from and what it is called; empty for none.
    """

    names: tuple[str, ...]
    html: bool = False
    source: str = ""
    title: str = ""

    def is_as(self, other: TextFields) -> bool:
        """True if fingerprints made from the one are those made from the other."""
        return (self.names, self.html) == (other.names, other.html)

    def options(self) -> str:
        """The options of the command that name these fields."""
        return " ".join([*(f"--field {name}" for name in self.names), *(["--html"] if self.html else [])])


@dataclass(frozen=True, slots=True)
class StoredText:
    """The text of a document as it stands in its fields now; HTML where `html` says so, `data` is None without text.

    `exact` are the bytes that its source digest is made of. Where nothing can be read `missing` says what is missing:
    the document, or the names of its fields.
    """

    exact: bytes = b""
    data: bytes | None = None
    html: bool = False
    missing: Literal["", "document", "fields"] = ""


class DocumentForm(ABC):
    """The form of an index's documents, for who sends them there: where their text stands, and their fingerprints."""

    html: bool
    """True if the text is HTML."""

    @abstractmethod
    def holds(self, index: str) -> bool:
        """True if documents that are sent to this index, or to none that is named, have the form."""

    @abstractmethod
    def read(self, document: Mapping[str, Any]) -> tuple[StoredText, str, str]:
        """The text of a document, its source, and its title, each empty where it names none."""

    @abstractmethod
    def with_fields(self, line: bytes, record: Record) -> bytes:
        """The JSON of a document on one line, with the fields of its record; all else stays to the byte.

        Raises NeardupError for a record that can't be stored.
        """


def metadata_of(place: Ref) -> dict[str, Any]:
    """The metadata of a record that is kept in another index than the document at this place, whose record it is."""
    return {"index": place.index, "id": place.id, "routing": place.routing}


def document_of(record: Record) -> Ref | None:
    """The document of another index whose record this is; None for a record of its own index, or of a file."""
    about: Mapping[str, Any] = record.metadata
    if set(about) != {"index", "id", "routing"} or not isinstance(about["routing"], str | None):
        return None
    return Ref(str(about["id"]), str(about["index"]), about["routing"])
