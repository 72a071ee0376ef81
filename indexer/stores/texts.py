"""Texts in the fields of documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from indexer.extract.fields import FieldFormat
from indexer.extract.formats import Format
from indexer.model import Record, Ref

OUTDATED = "was changed after it was fingerprinted; run neardup annotate, or neardup follow"
"""The words about a text that its owner has changed, and the commands that mend it."""


@dataclass(frozen=True, slots=True)
class TextFields:
    """The fields, in order, in which `neardup annotate` found the texts of an index, and their format.

    `source` and `title` name the fields with a document's origin and title; empty for none.
    """

    names: tuple[str, ...]
    format: FieldFormat = "text"
    source: str = ""
    title: str = ""

    def is_as(self, other: TextFields) -> bool:
        return (self.names, self.format) == (other.names, other.format)

    def options(self) -> str:
        return " ".join(
            [
                *(f"--field {name}" for name in self.names),
                *([f"--format {self.format}"] if self.format != "text" else []),
            ]
        )


@dataclass(frozen=True, slots=True)
class StoredText:
    """The current text of a document in its fields, and its format; `data` is None without text.

    `exact` are the bytes of its source digest. If nothing can be read, `missing` names the document or its fields.
    `remark` is added to the extractor's name.
    """

    exact: bytes = b""
    data: bytes | None = None
    format: Format = "text"
    missing: Literal["", "document", "fields"] = ""
    remark: str = ""


class DocumentForm(ABC):
    """The form of an index's documents for their senders: the place of their text, and their fingerprints."""

    @abstractmethod
    def holds(self, index: str) -> bool:
        """True if documents sent to this index, or without an index, have the form."""

    @abstractmethod
    def read(self, document: Mapping[str, Any]) -> tuple[StoredText, str, str]:
        """The text of a document, its source, and its title, each empty if it names none."""

    @abstractmethod
    def with_fields(self, line: bytes, record: Record) -> bytes:
        """The JSON of a document on one line, with the fields of its record; everything else stays to the byte.

        Raises NeardupError for a record that can't be stored.
        """


def metadata_of(place: Ref) -> dict[str, Any]:
    return {"index": place.index, "id": place.id, "routing": place.routing}


def document_of(record: Record) -> Ref | None:
    about: Mapping[str, Any] = record.metadata
    if set(about) != {"index", "id", "routing"} or not isinstance(about["routing"], str | None):
        return None
    return Ref(str(about["id"]), str(about["index"]), about["routing"])
