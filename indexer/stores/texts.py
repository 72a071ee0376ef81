"""The fields of documents that hold their texts."""

from __future__ import annotations

from dataclasses import dataclass


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
