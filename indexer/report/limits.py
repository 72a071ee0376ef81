"""The contents of a report that are asked for; nothing else is loaded here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from indexer.model.declared import Option


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """The limits of a report, and the field to count by over time; `link` is as in links.py."""

    heading = "What is shown"

    clusters: Annotated[int, Option("Show the N largest clusters.", least=0, most=10_000)] = 1000
    members: Annotated[int, Option("Show this many members of each cluster.", least=1, most=1000,
        goes_with=["format=html", "format=json"])] = 10  # fmt: skip
    pairs: Annotated[int, Option("Show this many differences of two texts, from the least similar of the clusters.",
        least=0, most=200, goes_with=["format=html"])] = 25  # fmt: skip
    passages: Annotated[int, Option("Show the N passages common to most documents, and who copies from whom. Reads all "
        "documents again.", least=0, most=1000, goes_with=["format=html"])] = 0  # fmt: skip
    sample: Annotated[int, Option("Offer a random sample of N removable documents, to be judged. evaluate needs 60 "
        "judgments.", least=0, most=400, goes_with=["format=html"])] = 60  # fmt: skip
    time_field: Annotated[str, Option("The field with the date for counts over time, in the metadata or the documents "
        "of an index.  [default: as in the last clustering, or the date of the document, its mail or its file, or else "
        "the time of indexing]", metavar="NAME")] = ""  # fmt: skip
    link: Annotated[str, Option("The address of a document, with {id}, {source} or {FIELD}, a field of its index or "
        "its metadata: 'https://example.org/{id}', or '{url}' for a field with the address.", metavar="TEMPLATE",
        goes_with=["format=html"])] = ""  # fmt: skip
