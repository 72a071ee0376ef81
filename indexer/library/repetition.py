"""The results about repeated passages, declared as in `neardup.library.records`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from indexer.library.records import RestingCluster, Unread
from indexer.library.rows import Rows


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of two documents or more; no further word is common to all of them."""

    table: ClassVar[tuple[str, ...]] = ("documents", "origins", "words", "longest", "boilerplate", "first", "text")

    text: Annotated[str, "Its text in the first document"]
    words: Annotated[int, "The number of its words"]
    documents: Annotated[int, "The number of documents with it"]
    origins: Annotated[int, "The number of their hosts or folders"]
    boilerplate: Annotated[bool, "True if it is in ten documents or more for each of their origins"]
    first: Annotated[str, "The first document"]
    first_indexed_at: Annotated[str, "The time of the first document; ISO 8601 in UTC"]
    longest: Annotated[int, "The words of the longest of its variants, or its own"]
    variants: Annotated[int, "The number of unlisted passages mostly in this one, with other limits and in other "
        "documents"]  # fmt: skip
    held_by: Annotated[tuple[str, ...], "The documents with it; empty unless asked for"] = ()


@dataclass(frozen=True, slots=True)
class CopiedWords:
    """The words one origin took over from another one's documents, or repeats itself."""

    origin: Annotated[str, "The host or folder of the earlier documents"]
    by: Annotated[str, "The host or folder of the later documents"]
    words: Annotated[int, "The words of passages in the later documents"]


@dataclass(frozen=True, slots=True)
class PartlyCopied:
    """A document with passages in common with others."""

    id: Annotated[str, "The name of the document"]
    source: Annotated[str, "The path or URL that it came from"]
    words: Annotated[int, "The number of its words"]
    in_passages: Annotated[int, "The number of its words in passages found in another document too"]
    share: Annotated[float, "Their share (0 to 1)"]


@dataclass(frozen=True, slots=True)
class Repetition:
    """The passages found in several documents of a collection."""

    least: Annotated[int, "The least number of words of a passage"]
    documents: Annotated[int, "The documents read"]
    words: Annotated[int, "Their words"]
    in_passages: Annotated[int, "The number of words in passages"]
    unread: Annotated[tuple[Unread, ...], "The documents that could not be read again, with unknown passages"]
    passages: Annotated[Rows[Passage], "The passages, those in most documents first, one for each group of overlapping "
        "ones"]  # fmt: skip
    copied: Annotated[Rows[CopiedWords], "The words each origin has from another's earlier documents, most first"]
    partly_copied: Annotated[Rows[PartlyCopied], "The documents with passages, those with the largest share first"]
    resting: Annotated[Rows[RestingCluster], "The clusters held together by such passages, the largest first"]
    written: Annotated[int, "The number of rows written for dashboards; 0 unless asked for"] = 0
