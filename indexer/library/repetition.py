"""The results about repeated passages, declared as in `neardup.library.records`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from indexer.library.records import Unread
from indexer.library.resting import RestingCluster
from indexer.library.rows import Rows


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of two documents or more; no further word is common to all of them.

    Attributes:
        text: Its text in the first document
        words: The number of its words
        documents: The number of documents with it
        origins: The number of their hosts or folders
        boilerplate: True if it is in ten documents or more for each of their origins
        first: The first document
        first_indexed_at: The time of the first document; ISO 8601 in UTC
        longest: The words of the longest of its variants, or its own
        variants: The number of unlisted passages mostly in this one, with other limits and in other documents
        held_by: The documents with it; empty unless asked for
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
    """The words one origin took over from another one's documents, or repeats itself.

    Attributes:
        origin: The host or folder of the earlier documents
        by: The host or folder of the later documents
        words: The words of passages in the later documents
    """

    origin: str
    by: str
    words: int


@dataclass(frozen=True, slots=True)
class PartlyCopied:
    """A document with passages in common with others.

    Attributes:
        id: The name of the document
        source: The path or URL that it came from
        words: The number of its words
        in_passages: The number of its words in passages found in another document too
        share: Their share (0 to 1)
    """

    id: str
    source: str
    words: int
    in_passages: int
    share: float


@dataclass(frozen=True, slots=True)
class Repetition:
    """The passages found in several documents of a collection.

    Attributes:
        least: The least number of words of a passage
        documents: The documents read
        words: Their words
        in_passages: The number of words in passages
        unread: The documents that could not be read again, with unknown passages
        passages: The passages, those in most documents first, one for each group of overlapping ones
        copied: The words each origin has from another's earlier documents, most first
        partly_copied: The documents with passages, those with the largest share first
        resting: The clusters held together by such passages, the largest first
        written: The number of rows written for dashboards; 0 unless asked for
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
