"""The results about what stands in several documents, declared as those in `indexer.library.records`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from indexer.library.records import Unread
from indexer.library.resting import RestingCluster
from indexer.library.rows import Rows


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that stands in two documents or more, and that no word can be added to without losing one of them.

    Attributes:
        text: What it says in the document that came first
        words: The number of its words
        documents: How many documents it stands in
        origins: How many hosts or folders these are from
        boilerplate: True if it stands in ten documents or more for each of their origins
        first: The document that came first
        first_indexed_at: When that one came; ISO 8601 in UTC
        longest: The words of the longest of its variants, or its own
        variants: How many passages mostly lie in this one and are not listed, with other limits and in other documents
        held_by: The documents that it stands in; empty unless asked for
    """

    table: ClassVar[tuple[str, ...]] = ("documents", "origins", "words", "longest", "boilerplate", "first", "text")

    text: str
    words: int
    documents: int
    origins: int
    boilerplate: bool
    first: str
    first_indexed_at: str
    longest: int
    variants: int
    held_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CopiedWords:
    """The words of documents of one origin that stood first in documents of another, or of the same.

    Attributes:
        origin: The host or folder whose documents came first
        by: The host or folder whose documents came later
        words: The words of passages in the later documents
    """

    origin: str
    by: str
    words: int


@dataclass(frozen=True, slots=True)
class PartlyCopied:
    """A document that has passages in common with others.

    Attributes:
        id: The name of the document
        source: The path or URL that it came from
        words: The number of its words
        in_passages: How many of them lie in passages that stand in another document too
        share: Their share (0 to 1)
    """

    id: str
    source: str
    words: int
    in_passages: int
    share: float


@dataclass(frozen=True, slots=True)
class Repetition:
    """The passages of a collection that stand in several documents.

    Attributes:
        least: The words that a passage has at least
        documents: The documents that were read
        words: Their words
        in_passages: Those of them that lie in passages
        unread: The documents that could not be read again, so that their passages are not known
        passages: The passages, those in most documents first, of those that mostly overlap one
        copied: The words that each origin has of what stood first in another, most first
        partly_copied: The documents with passages, those with the largest share first
        resting: The clusters whose documents are near for such passages, the largest first
        written: How many rows were written for dashboards; 0 unless asked for
    """

    least: int
    documents: int
    words: int
    in_passages: int
    unread: tuple[Unread, ...]
    passages: Rows[Passage]
    copied: Rows[CopiedWords]
    partly_copied: Rows[PartlyCopied]
    resting: Rows[RestingCluster]
    written: int = 0
